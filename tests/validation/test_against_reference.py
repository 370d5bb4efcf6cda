"""xoff and the slow reference simulator agree packet by packet, to the picosecond, on random small networks."""

import os
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.simulator import Row, canonical, simulate
from tests.validation.random_cases import plain_star, random_star, random_two_tier

import xoff

SEEDS = range(40)
DRAW = {"star": random_star, "two-tier": random_two_tier}


def draw(shape: str, seed: int) -> dict[str, Any]:
    return DRAW[shape](Random(seed))


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
    flows = result.flows.select(["flow", "src", "dst", "size_bytes", "start_ps", "fct_ps", "fct_acked_ps"]).to_pylist()
    assert sorted(flows, key=lambda row: row["flow"]) == [
        {
            "flow": flow.index,
            "src": flow.src,
            "dst": flow.dst,
            "size_bytes": flow.size_bytes,
            "start_ps": flow.start_ps,
            "fct_ps": flow.fct_ps,
            "fct_acked_ps": flow.fct_acked_ps,
        }
        for flow in expected.flows
    ]


def test_sources_whose_pinned_paths_have_the_same_ports_agree() -> None:
    # Seen from either host the way there is port 0, then port 2; the ways back differ.
    compare(plain_star(3, [(0, 2, 5, "0ns"), (1, 2, 5, "0ns")]), threads=1)


def test_send_decisions_of_one_instant_are_taken_in_port_order() -> None:
    # A packet for host 1 comes to the switch at the instant at which port 0 sends a packet that came by port 1. The
    # resume that follows goes out of port 1 first, although that packet is the last arrival and its port is idle.
    flows = [(1, 0, 4, "0ns"), (2, 0, 4, "0ns"), (3, 1, 3, "320ns")]
    compare(plain_star(4, flows, pfc={"xoff": "2000B", "xon": "1000B"}), threads=1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", DRAW)
def test_fixed_seeds_agree(shape: str, seed: int) -> None:
    compare(draw(shape, seed), threads=1 + seed % 3)


@given(rng=st.randoms(use_true_random=False), shape=st.sampled_from(sorted(DRAW)), threads=st.integers(1, 3))
@settings(
    max_examples=100,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_random_cases_agree(rng: Random, shape: str, threads: int) -> None:
    compare(DRAW[shape](rng), threads)


@pytest.mark.parametrize("shape", DRAW)
def test_the_cases_are_not_trivial(shape: str) -> None:
    # An agreement on networks in which nothing queues or pauses would say little.
    results = [simulate(draw(shape, seed)) for seed in SEEDS]
    with_pauses = [result for result in results if any(row.kind == "pfc" for row in result.trace)]
    assert len(with_pauses) >= len(SEEDS) // 3
    assert all(flow.fct_acked_ps is not None for result in results for flow in result.flows)
