"""Runs with fast-forward have the same results as full runs, byte for byte.

The cases are every mechanism alone, and random scenarios as in `test_conformance.py`. All have long flows that start
one after another, wait for one another and are cut off, so that periods recur and are interrupted.
"""

import json
from random import Random
from typing import Any, cast

import pytest
from tests.validation.fault_drawing import with_faults
from tests.validation.test_conformance import OPTIONS

import xoff
from params import first_fast
from xoff.conformance.drawing import draw_scenario
from xoff.conformance.loads import RECORDED, lean, lengthen
from xoff.conformance.runs import FORWARDED, compared

DRAWS = 4
PFC: dict[str, Any] = {"flow_control": {"pfc": {}}}
CUT: dict[str, Any] = {"ecn": {"step": {"threshold": "100KB"}}, "trimming": {"limit": "200KB"}}
LINK = {"rate": "100Gbps", "delay": "1us"}
STAR: dict[str, Any] = {"star": {"hosts": 8, "link": LINK}}
RING = [{"collective": {"operation": "all_gather", "algorithm": "ring", "size": "40MB"}}]
# Messages of 200 packets, and not a byte more.
STEPS = [{"collective": {"operation": "all_reduce", "algorithm": "ring", "size": "3200000B"}}]
STEPPING: dict[str, Any] = {"network": {"star": {"hosts": 16, "link": LINK}}, "workload": STEPS}
INCAST = [{"incast": {"senders": [0, 1, 2], "receiver": 3, "size": "20MB"}}]


def rails(servers: int, gpus: int) -> dict[str, Any]:
    """Servers joined by slow rails."""
    scale_up, rail = {"rate": "400Gbps", "delay": "25ns"}, {"rate": "100Gbps", "delay": "500ns"}
    return {"rail": {"servers": servers, "gpus_per_server": gpus, "scale_up": scale_up, "rail": rail}}


# Each scenario with the least share of fast-forwarded packet-hops.
REPEATS: dict[str, tuple[float, dict[str, Any]]] = {
    "ring": (0.9, {"workload": RING}),
    "ring, raw": (0.9, {"workload": RING, "host": {"transport": {"raw": {}}}}),
    "ring, a connection for each message": (0.9, {"workload": [{**RING[0], "connections": "per_message"}]}),
    "ring, PFC and IRN": (0.9, {"workload": RING, "switch": PFC, "host": {"transport": {"irn": {}}}}),
    "ring, DCQCN at rest": (0.9, {"workload": RING, "switch": PFC, "host": {"congestion_control": {"dcqcn": {}}}}),
    "ring, DRILL": (
        0.7,
        {"workload": RING, "switch": {**PFC, "routing": {"drill": {}}}, "host": {"transport": {"selective": {}}}},
    ),
    "incast, PFC": (0.6, {"workload": INCAST, "switch": PFC}),
    "incast, PFC of egress, virtual output queues": (
        0.5,
        {"workload": INCAST, "switch": {"queueing": "voq", "flow_control": {"pfc": {"xoff": "40KB"}}}},
    ),
    # The start is not repeated: the shares of 20, 40 and 80 MB are 0.90, 0.95 and 0.97.
    "incast, BFC": (
        0.9,
        {
            "workload": [{"incast": {**INCAST[0]["incast"], "size": "40MB"}}],
            "switch": {"flow_control": {"bfc": {}}},
        },
    ),
    # The timer runs in step with packets: it fires every 100 packets and at its own frames.
    "incast, credits": (
        0.6,
        {"workload": INCAST, "switch": {"flow_control": {"credits": {"refresh_interval": "8384640ps"}}}},
    ),
    "incast, credits, each packet": (
        0.2,
        {
            "workload": [{"incast": {**INCAST[0]["incast"], "size": "8MB"}}],
            "switch": {"flow_control": {"credits": {"refresh_interval": "8384640ps"}}},
            "probe": {"packets": True},
        },
    ),
    "incast, PortFC": (0.9, {"workload": INCAST, "switch": {"flow_control": {"portfc": {}}}}),
    "incast, PFC, depths of queues": (0.5, {"workload": INCAST, "switch": PFC, "probe": {"queues": "83840ps"}}),
    # Packets take longer than the time between two checkpoints.
    "steps, slow links": (
        0.85,
        {
            "network": {"star": {"hosts": 8, "link": {"rate": "100Mbps", "delay": "1us"}}},
            "workload": STEPS,
            "switch": PFC,
        },
    ),
    # Some nodes are idle for a while, and record their samples later.
    "a flow over a rail, depths of queues": (
        0.2,
        {
            "network": rails(2, 4),
            "workload": [
                {
                    "collective": {
                        "operation": "all_gather",
                        "algorithm": "ring",
                        "size": "512000B",
                        "channels": 3,
                        "chunk": "10000B",
                    }
                },
                {"flows": [{"src": 3, "dst": 4, "size": "2593KB", "start": "86us"}]},
            ],
            "switch": {"queueing": "voq", **PFC},
            # No queue grows or empties for long.
            "host": {"first_hop": "highest"},
            "probe": {"queues": "83840ps"},
        },
    ),
    "incast, PFC, each packet": (
        0.3,
        {"workload": [{"incast": {**INCAST[0]["incast"], "size": "8MB"}}], "switch": PFC, "probe": {"packets": True}},
    ),
    "incast, cut through": (0.5, {"workload": INCAST, "switch": {**PFC, "cut_through": {}}}),
    "incast, NDP": (0.9, {"workload": INCAST, "switch": CUT, "host": {"transport": {"ndp": {"window": 8}}}}),
    "ring, NDP": (0.4, {"workload": RING, "switch": CUT, "host": {"transport": {"ndp": {}}}}),
    "a flow, RCCC": (
        0.8,
        {
            "workload": [{"incast": {"senders": [0], "receiver": 3, "size": "200MB"}}],
            "host": {"transport": {"selective": {}}, "congestion_control": {"rccc": {}}},
        },
    ),
    # Until the flow gives up, after 100 ms.
    "incast that loses what it sends again": (
        0.9,
        {
            "network": {"star": {"hosts": 4, "link": {"rate": "10Gbps", "delay": "150ns"}}},
            "workload": [{"incast": {"senders": [1, 2, 3], "receiver": 0, "size": "5MB"}}],
            "switch": {"queueing": "voq", "buffer": {"per_port": "20KB"}},
            "audits": RECORDED,
        },
    ),
    # Within a message of 200 packets almost no stretch recurs; a step of the ring recurs.
    "steps of a ring": (0.7, STEPPING),
    "steps of a ring, PFC and IRN": (
        0.7,
        {
            **STEPPING,
            "switch": PFC,
            "host": {"transport": {"irn": {}}},
        },
    ),
    "steps of a ring, each packet": (
        0.5,
        {**STEPPING, "probe": {"packets": True}},
    ),
    "steps of a ring, raw": (
        0.7,
        {
            **STEPPING,
            "host": {"transport": {"raw": {}}},
        },
    ),
    "steps of a ring, a link that fails and one that changes": (
        0.3,
        {
            **STEPPING,
            "workload": [{"collective": {**STEPS[0]["collective"], "size": "12800000B"}}],
            "fault": [
                {"link": "host1-switch0", "state": "down", "at": "1ms", "duration": "50us"},
                {"link": "host2 -> switch0", "rate": "25Gbps", "at": "2ms", "duration": "100us"},
            ],
        },
    ),
    "ring, a link that fails and one that changes": (
        0.2,
        {
            "workload": RING,
            "fault": [
                {"link": "host1-switch0", "state": "down", "at": "900us", "duration": "150us"},
                {"link": "host2 -> switch0", "rate": "25Gbps", "at": "6ms", "duration": "500us"},
            ],
        },
    ),
    "ring, routes that change": (
        0.3,
        {
            "network": {
                "leaf_spine": {
                    "leaves": 2,
                    "spines": 2,
                    "hosts_per_leaf": 2,
                    "link": {"rate": "100Gbps", "delay": "1us"},
                },
                "failover": {"convergence_time": "200us"},
            },
            "workload": RING,
            "fault": [{"link": "leaf0-spine0", "state": "down", "at": "1ms", "duration": "3ms"}],
        },
    ),
    "steps of rings on rails": (
        0.6,
        {
            "network": rails(16, 2),
            "workload": [
                {"name": f"rail{rail}", "collective": {**STEPS[0]["collective"], "hosts": list(range(rail, 32, 2))}}
                for rail in range(2)
            ],
        },
    ),
    "rails": (
        0.2,
        {
            "network": rails(4, 4),
            "workload": [
                {"collective": {"operation": "all_reduce", "algorithm": "hierarchical", "size": "64MB", "group": 4}}
            ],
        },
    ),
}


def stepping(rng: Random) -> dict[str, Any]:
    """Draws collectives with equal or nearly equal steps: shares may differ by a byte, halves by the relayed data."""
    ranks = rng.choice([8, 12, 16])
    link = {"rate": "100Gbps", "delay": rng.choice(["100ns", "1us", "5us"])}
    spines = {"leaves": 2, "spines": rng.choice([1, 2]), "hosts_per_leaf": ranks // 2, "link": link}
    network = {"leaf_spine": spines} if rng.random() < 0.3 else {"star": {"hosts": ranks, "link": link}}
    collectives: list[dict[str, Any]] = []
    for number in range(rng.choice([1, 1, 1, 2])):
        operation = rng.choice([*["all_reduce", "all_gather", "reduce_scatter"] * 3, "all_to_all", "broadcast"])
        algorithm = {"all_to_all": "rounds", "broadcast": "chain"}.get(operation, "ring")
        size = ranks * rng.choice([20_000, 64_000, 200_000, 400_000]) + rng.choice([0, 0, 0, 0, 1, 777])
        collective: dict[str, Any] = {"operation": operation, "algorithm": algorithm, "size": f"{size}B"}
        if algorithm == "ring" and rng.random() < 0.3:
            collective["channels"] = 2
        if algorithm != "rounds" and rng.random() < 0.2:
            collective["chunk"] = rng.choice(["10KB", "30KB"])
        spread = {"connections_per_channel": 2} if rng.random() < 0.2 else {}
        collectives.append({"name": f"c{number}", "collective": collective, **spread})
    flow = {"src": 0, "dst": ranks - 1, "size": f"{rng.randint(50, 900)}KB", "start": f"{rng.randint(0, 300)}us"}
    flows: list[dict[str, Any]] = [{"flows": [flow]}] if rng.random() < 0.3 else []
    transport = rng.choice(["go_back_n", "raw", "irn", "selective"])
    return {
        "network": network,
        "workload": collectives + flows,
        "switch": rng.choice([{}, PFC, {"queueing": "voq", **PFC}]),
        "host": {"transport": {transport: {}}},
        "audits": RECORDED,
        "until": rng.choice(["20ms", "20ms", "20ms", "777us"]),
    }


ALL = "packet_hops"
"""All fast-forwarded packet-hops."""


def skipped(scenario: dict[str, Any], plan: dict[str, Any], *which: str) -> float:
    """Compares a fast-forwarded run with a full run, and returns the share of fast-forward, or of some kinds."""
    _, whole, performance = compared(scenario, plan)
    hops: int = performance["data_packet_hops"]
    assert hops == whole["data_packet_hops"]
    assert whole["fast_forward"]["packet_hops"] == 0
    forward = performance["fast_forward"]
    assert sum(forward["by_kind"].values()) == forward["packet_hops"]
    packet_hops = forward["by_kind"] | {kind: forward[kind] for kind in (ALL, "packet_hops_in_components")}
    return float(sum(packet_hops[kind] for kind in which or [ALL]) / max(hops, 1))


@pytest.mark.parametrize("name", REPEATS)
def test_what_repeats_itself_is_fast_forwarded(name: str) -> None:
    least, scenario = REPEATS[name]
    shares = [skipped({"network": STAR, **scenario}, plan) for plan in FORWARDED]
    # With shorter windows, searches are more frequent and fail more often at first.
    assert min(shares[:-1]) > least, shares


def losing(rng: Random) -> dict[str, Any]:
    """Draws an incast with Go-Back-N retransmissions: some flows complete at last, some give up."""
    hosts = rng.choice([4, 6])
    rows = [
        {"src": src, "dst": 0 if rng.random() < 0.7 else src % (hosts - 1) + 1, "size": f"{rng.randint(1, 4)}MB"}
        | {"start": f"{rng.randint(0, 900)}ns"}
        for src in range(1, hosts)
    ]
    faults = [{"link": "host1-switch0", "state": "down", "at": f"{rng.randint(1, 150)}ms", "duration": "9ms"}]
    timers = {"rto": rng.choice(["100us", "1ms", "4ms"]), "nack_interval": rng.choice(["1us", "4us"])}
    return {
        "network": {"star": {"hosts": hosts, "link": {"rate": "10Gbps", "delay": rng.choice(["150ns", "1us"])}}},
        "switch": {"queueing": rng.choice(["voq", "oq"]), "buffer": {"per_port": f"{rng.randint(5, 120)}KB"}},
        "host": {"transport": {"go_back_n": timers}},
        "workload": [{"flows": rows}],
        "audits": RECORDED,
    } | ({"fault": faults} if rng.random() < 0.3 else {})


@pytest.mark.parametrize("group", first_fast(range(4), 1))
def test_what_is_given_up_is_given_up_at_the_same_moment(group: int) -> None:
    rngs = [Random(f"given up {group} {number}") for number in range(12)]
    shares = [skipped(losing(rng), rng.choice(FORWARDED)) for rng in rngs]
    assert max(shares) > 0.5, shares


@pytest.mark.parametrize("group", first_fast(range(4), 2))
def test_steps_are_skipped_as_far_as_they_are_alike(group: int) -> None:
    shares = []
    for number in range(60):
        rng = Random(f"steps {group} {number}")
        scenario = stepping(rng)
        try:
            shares.append(skipped(scenario, rng.choice(FORWARDED)))
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise
    assert max(shares) > 0.3, shares


def test_a_run_is_over_with_its_flows_whenever_timers_would_look_again() -> None:
    """With IRN's timers: one timer is left at `until` after fast-forward, and no timer without."""
    link = {"rate": "100Gbps", "delay": "100ns"}
    collective = {"operation": "all_reduce", "algorithm": "hierarchical", "size": "4000777B", "group": 2}
    scenario: dict[str, Any] = {
        "network": {"leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": link}},
        "workload": [{"collective": collective}],
        "switch": PFC,
        "host": {"transport": {"irn": {}}},
        "until": "777us",
    }
    assert skipped(scenario, FORWARDED[0]) > 0.5
    assert xoff.run(scenario).summary["simulated_ps"] < 777_000_000


def test_what_keeps_a_run_from_repeating_itself_is_named() -> None:
    marks = {"ecn": {"red": {"kmin": "20KB", "kmax": "200KB", "pmax": 0.5}}, **PFC}
    scenario = {"network": STAR, "workload": INCAST, "switch": marks, "host": {"congestion_control": {"dcqcn": {}}}}
    assert xoff.run(scenario).summary["performance"]["fast_forward"]["blockers"] == ["dcqcn"]
    assert xoff.run({"network": STAR, "workload": RING}).summary["performance"]["fast_forward"]["blockers"] == []
    busy = {"poisson": {"load": 0.5, "duration": "60ms", "sizes": "websearch"}}
    scenario = {"network": STAR, "workload": [busy], "switch": PFC}
    assert xoff.run(scenario).summary["performance"]["fast_forward"]["blockers"] == ["flows"]
    # Queues at path segments shared by several flows grow and shrink forever.
    leaves = {"leaf_spine": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": LINK}}
    shared = {"network": leaves, "workload": [{"permutation": {"size": "80MB"}}], "switch": PFC}
    assert xoff.run(shared).summary["performance"]["fast_forward"]["blockers"] == ["traffic"]


def test_a_long_run_says_what_kept_it_from_repeating_itself() -> None:
    result = xoff.run({"network": STAR, "workload": [{"incast": {**INCAST[0]["incast"], "size": "1MB"}}]})
    performance = cast("dict[str, Any]", result.summary["performance"])
    performance.update(cpu_seconds=3.0)
    performance["fast_forward"].update(packet_hops=0, blockers=["hpcc"])
    assert "; kept from fast-forwarding by hpcc" in dict(result.rows())["performance"]
    performance.update(cpu_seconds=1.0)
    assert "kept from" not in dict(result.rows())["performance"]


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_what_is_skipped_is_what_would_have_happened(path: str, option: str) -> None:
    # One draw with as few other parts as possible, and one with more.
    equals_a_full_run(path, option, [0, DRAWS])


@pytest.mark.slow
@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path}={option}" for path, option in OPTIONS])
def test_more_of_what_is_skipped_is_what_would_have_happened(path: str, option: str) -> None:
    equals_a_full_run(path, option, [*range(1, DRAWS), *range(DRAWS + 1, 2 * DRAWS)])


def equals_a_full_run(path: str, option: str, numbers: list[int]) -> None:
    """Compares these draws with and without fast-forward."""
    for number in numbers:
        rng = Random(f"skip {path}={option} {number}")
        scenario = draw_scenario(rng, {path: option})
        try:
            scenario = lengthen(scenario, rng)
            if number < DRAWS:
                scenario = lean(scenario, path)
            skipped(scenario, rng.choice(FORWARDED))
        except Exception as error:
            error.add_note(f"draw {number}: {json.dumps(scenario)}")
            raise


@pytest.mark.parametrize("group", first_fast(range(4), 1))
def test_nothing_is_skipped_beyond_a_fault(group: int) -> None:
    shares = [beside_faults(number) for number in range(6 * group, 6 * group + 6)]
    # Without fast-forward between faults the test would prove little.
    assert max(shares) > 0.2, shares


def beside_faults(number: int) -> float:
    """Compares a ring or an incast while links fail and change; return the share that was skipped."""
    rng = Random(f"skip beside faults {number}")
    kinds: list[dict[str, Any]] = [
        {"state": "down"},
        {"state": "down", "queued": "wait"},
        {"rate": "25Gbps"},
        {"delay": "3us"},
        {"delay": "200ns"},
    ]
    switch = rng.choice([{}, PFC])
    if not switch:
        # A lost resume would pause forever.
        kinds.append({"bit_error_rate": 1e-6})
    faults = [
        {
            "link": f"host{rng.randrange(4)}-switch0",
            **rng.choice(kinds),
            "at": f"{rng.randint(1, 4000)}us",
            "duration": f"{rng.randint(1, 1000)}us",
        }
        for _ in range(rng.randint(1, 3))
    ]
    transport = rng.choice(["go_back_n", "irn", "selective"])
    scenario: dict[str, Any] = {"switch": switch, "host": {"transport": {transport: {}}}}
    scenario["workload"] = rng.choice([RING, INCAST])
    scenario |= {"network": STAR, "fault": faults, "audits": RECORDED}
    try:
        return skipped(scenario, rng.choice(FORWARDED))
    except Exception as error:
        error.add_note(f"draw {number}: {json.dumps(scenario)}")
        raise


def test_no_scenario_that_fails_is_skipped_too_far() -> None:
    # Few draws have recurring periods under faults; number 26 does.
    shares = []
    for number in (*range(9), 26):
        rng = Random(f"skip beside faults {number}")
        scenario = with_faults(rng, lengthen(draw_scenario(rng, {}), rng))
        try:
            shares.append(skipped(scenario, rng.choice(FORWARDED)))
        except Exception as error:
            error.add_note(json.dumps(scenario))
            raise
    assert max(shares) > 0.5, shares
