"""xoff and the slow reference simulator agree packet by packet, to the picosecond, on random small networks."""

import os
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.simulator import Drop, Row, canonical, simulate
from tests.validation.random_cases import (
    plain_star,
    random_in_step,
    random_star,
    random_two_tier,
    with_changes,
    with_classes,
    with_cut_through,
    with_dcqcn,
    with_fixed_xoff,
    with_losses,
    with_marks,
    with_outages,
    with_outputs,
    with_port_scope,
    with_profiles,
    with_response,
    with_shared_memory,
)

import xoff

SEEDS = range(12)
MORE_SEEDS = range(12, 40)
DRAW: dict[str, Callable[[Random], dict[str, Any]]] = {"star": random_star, "two-tier": random_two_tier}
# Changes on top of a case: faults, or slower links.
TROUBLE: dict[str, list[Callable[[Random, dict[str, Any]], dict[str, Any]]]] = {
    "none": [],
    "losses": [with_losses],
    "losses and marks": [with_losses, with_marks],
    "dcqcn": [with_marks, with_dcqcn],
    "port scope and dcqcn": [with_marks, with_port_scope, with_dcqcn],
    "losses and dcqcn": [with_losses, with_marks, with_dcqcn],
    "cut-through": [with_cut_through],
    "cut-through, losses and dcqcn": [with_cut_through, with_losses, with_marks, with_dcqcn],
    "outages": [with_outages],
    "outages, losses and dcqcn": [with_losses, with_marks, with_dcqcn, with_outages],
    "other rates and delays": [with_changes],
    "outages, other rates and delays": [with_losses, with_marks, with_dcqcn, with_outages, with_changes],
    "outages and cut-through": [with_cut_through, with_losses, with_outages],
    "classes": [with_classes],
    "classes, losses and dcqcn": [with_losses, with_marks, with_dcqcn, with_classes],
    "classes, outages and cut-through": [with_cut_through, with_losses, with_outages, with_classes],
    "response": [with_losses, with_response],
    "response, classes, outages and cut-through": [
        with_cut_through,
        with_losses,
        with_outages,
        with_classes,
        with_response,
    ],
    "shared memory": [with_losses, with_shared_memory],
    "shared memory and response": [with_losses, with_classes, with_shared_memory, with_response],
    "shared memory and a fixed XOFF": [with_losses, with_classes, with_shared_memory, with_fixed_xoff],
    "shared memory, outputs": [with_losses, with_classes, with_shared_memory, with_outputs],
    "profiles": [with_losses, with_marks, with_dcqcn, with_classes, with_profiles],
    "shared memory, classes and dcqcn": [with_losses, with_marks, with_dcqcn, with_classes, with_shared_memory],
    "classes and port scope": [with_losses, with_marks, with_port_scope, with_classes],
}


def draw(shape: str, trouble: str, rng: Random) -> dict[str, Any]:
    case = DRAW[shape](rng)
    for change in TROUBLE[trouble]:
        case = change(rng, case)
    return case


def xoff_trace(result: xoff.Result) -> list[Row]:
    columns = result.table("packets").select(Row._fields).to_pydict()
    rows = [Row(*values) for values in zip(*columns.values(), strict=True)]
    # PFC frames belong to no flow, and have no sequence number.
    rows = [row._replace(flow=None, seq=None) if row.kind == "pfc" else row for row in rows]
    return sorted(rows, key=canonical)


def compare(scenario: dict[str, Any], threads: int) -> None:
    expected = simulate(scenario)
    result = xoff.run({**scenario, "probe": {"packets": True}}, threads=threads)
    trace = xoff_trace(result)
    for place, (got, wanted) in enumerate(zip(trace, expected.trace, strict=False)):
        assert got == wanted, f"row {place} of the trace"
    assert len(trace) == len(expected.trace)
    drops = sorted(Drop(*row.values()) for row in result.drops.select(Drop._fields).to_pylist())
    assert drops == expected.drops
    queues = result.queues.to_pylist()
    assert {(q["node"], q["port"], q["class"]): q["marked"] for q in queues if q["marked"]} == {
        place: marked for place, marked in expected.marked.items() if marked
    }
    # A loss on a link belongs to no queue.
    assert "fault" in scenario or sum(q["dropped"] for q in queues) == len(expected.drops)
    columns = ["flow", "src", "dst", "size_bytes", "start_ps", "fct_ps", "fct_acked_ps"]
    flows = result.flows.select([*columns, "packets_sent", "retransmitted", "notifications"]).to_pylist()
    assert sorted(flows, key=lambda row: row["flow"]) == [
        {
            "flow": flow.index,
            "src": flow.src,
            "dst": flow.dst,
            "size_bytes": flow.size_bytes,
            "start_ps": flow.start_ps,
            "fct_ps": flow.fct_ps,
            "fct_acked_ps": flow.fct_acked_ps,
            "packets_sent": flow.sent,
            "retransmitted": flow.retransmitted,
            "notifications": flow.notified,
        }
        for flow in expected.flows
    ]


def test_sources_whose_pinned_paths_have_the_same_ports_agree() -> None:
    # From either host the path starts at port 0, then port 2; the return paths differ.
    compare(plain_star(3, [(0, 2, 5, "0ns"), (1, 2, 5, "0ns")]), threads=1)


def test_send_decisions_of_one_instant_are_taken_in_port_order() -> None:
    # A packet for host 1 reaches the switch at the instant at which port 0 sends a packet of port 1. The resume that
    # follows leaves by port 1 first, although the other packet is the last arrival and its port is idle.
    flows = [(1, 0, 4, "0ns"), (2, 0, 4, "0ns"), (3, 1, 3, "320ns")]
    compare(plain_star(4, flows, pfc={"xoff": "2000B", "xon": "1000B"}), threads=1)


def test_a_frame_whose_link_failed_and_became_faster_is_lost() -> None:
    # The packet arrives at 51.2 ns. At the rate that the link had for an instant, the packet could have left after the
    # failure.
    case = plain_star(2, [(1, 0, 1, "0ns")])
    moment = {"link": "s-host1", "at": "1ps", "duration": "1ps"}
    case["fault"] = [{**moment, "state": "down"}, {**moment, "rate": "400Gbps"}]
    assert len(simulate(case).drops) == 1
    compare(case, threads=1)


def compare_all(cases: Iterable[tuple[int, dict[str, Any]]]) -> None:
    for seed, case in cases:
        try:
            compare(case, threads=1 + seed % 3)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("shape", DRAW)
def test_fixed_seeds_agree(shape: str, trouble: str) -> None:
    compare_all((seed, draw(shape, trouble, Random(seed))) for seed in SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("shape", DRAW)
def test_more_fixed_seeds_agree(shape: str, trouble: str) -> None:
    compare_all((seed, draw(shape, trouble, Random(seed))) for seed in MORE_SEEDS)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_fixed_seeds_in_step_agree(first: int) -> None:
    compare_all((seed, random_in_step(Random(seed))) for seed in range(first, first + 50))


@given(
    rng=st.randoms(use_true_random=False),
    shape=st.sampled_from(sorted(DRAW)),
    trouble=st.sampled_from(sorted(TROUBLE)),
    threads=st.integers(1, 3),
)
@settings(
    max_examples=200,
    derandomize="CI" in os.environ,
)
def test_random_cases_agree(rng: Random, shape: str, trouble: str, threads: int) -> None:
    compare(draw(shape, trouble, rng), threads)


@pytest.mark.parametrize("shape", DRAW)
def test_the_cases_are_not_trivial(shape: str) -> None:
    # Agreement on networks without queues or pauses would prove little.
    results = [simulate(draw(shape, "none", Random(seed))) for seed in SEEDS]
    with_pauses = [result for result in results if any(row.kind == "pfc" for row in result.trace)]
    assert len(with_pauses) >= len(SEEDS) // 3
    assert all(flow.fct_acked_ps is not None for result in results for flow in result.flows)


def test_the_cases_with_classes_are_not_trivial() -> None:
    # Pauses of a class beside losses of a class without PFC, and turns by weight.
    cases = [draw(shape, "classes, losses and dcqcn", Random(seed)) for shape in DRAW for seed in SEEDS]
    lossy_beside_pauses = weighted = 0
    for case in cases:
        result, switch = simulate(case), case["switch"]
        class_of = {flow.index: flow.class_number for flow in result.flows}
        under_pfc = switch.get("flow_control", {}).get("pfc", {}).get("classes", range(switch["classes"]))
        lossy = {class_of[drop.flow] for drop in result.drops} - {*under_pfc}
        lossy_beside_pauses += bool(lossy) and any(row.kind == "pfc" for row in result.trace)
        weighted += "weight" in str(switch["scheduler"])
    assert lossy_beside_pauses >= len(cases) // 20
    assert weighted >= len(cases) // 4


def test_the_cases_with_shared_memory_are_not_trivial() -> None:
    # Pauses at dynamic thresholds, losses, and headroom that saves packets: with none, more packets are lost.
    troubles = [one for one in TROUBLE if "shared" in one]
    cases = [draw(shape, one, Random(seed)) for one in troubles for shape in DRAW for seed in SEEDS]
    results = [simulate(case) for case in cases]
    enough = len(cases) // 8
    assert sum(bool(result.drops) for result in results) >= enough
    assert sum(any(row.kind == "pfc" for row in result.trace) for result in results) >= enough
    saved = 0
    for case, result in zip(cases, results, strict=True):
        shared = case["switch"]["buffer"]["shared"]
        if "headroom_pool" in shared:
            bare = {**case["switch"], "buffer": {"shared": shared | {"headroom_pool": "0B"}}}
            saved += simulate(case | {"switch": bare}).drops != result.drops
    assert saved >= len(cases) // 20


def test_the_cases_with_outputs_and_profiles_are_not_trivial() -> None:
    # Without the pools of outputs, and without the profiles, other packets are lost or marked.
    for trouble, key in (("shared memory, outputs", "egress"), ("profiles", "profiles")):
        changed = 0
        for shape in DRAW:
            for seed in SEEDS:
                case = draw(shape, trouble, Random(seed))
                result = simulate(case)
                switch = case["switch"]
                place = switch["buffer"]["shared"] if key == "egress" else switch["ecn"]
                del place[key]
                if switch.get("ecn") in ({}, {"scope": "port"}, {"scope": "queue"}):
                    # DCQCN needs marks: at a length that no queue reaches.
                    switch["ecn"] = {"step": {"threshold": "1GB"}}
                bare = simulate(case)
                changed += (bare.drops, bare.marked) != (result.drops, result.marked)
        assert changed >= len(DRAW) * len(SEEDS) // 4, (trouble, changed)


@pytest.mark.parametrize("shape", DRAW)
def test_the_cases_with_losses_and_dcqcn_are_not_trivial(shape: str) -> None:
    results = [simulate(draw(shape, "losses and dcqcn", Random(seed))) for seed in SEEDS]
    enough = len(SEEDS) // 5
    assert sum(bool(result.drops) for result in results) >= enough
    assert sum(any(result.marked.values()) for result in results) >= enough
    for kind in ("nack", "cnp", "pfc"):
        assert sum(any(row.kind == kind for row in result.trace) for result in results) >= enough
    # A retransmission without a NACK: a timeout.
    timed_out = [
        flow
        for result in results
        for flow in result.flows
        if flow.retransmitted and not any((row.kind, row.flow) == ("nack", flow.index) for row in result.trace)
    ]
    assert len(timed_out) >= enough
    # And most flows end all the same.
    flows = [flow for result in results for flow in result.flows]
    assert sum(flow.fct_acked_ps is not None for flow in flows) >= 0.8 * len(flows)
