"""`check` warns before the run of cyclic buffer dependencies on the routes in use, and of no others."""

from itertools import combinations
from random import Random
from typing import Any

import pytest
from tests.validation.test_audits import ring

import xoff

_LINK = {"rate": "100Gbps", "delay": "1us"}
_POISSON = {"poisson": {"load": 0.5, "sizes": "websearch", "flows": 10}}


def cycles(scenario: dict[str, Any]) -> list[str]:
    """The cycles reported by `check`."""
    warnings = [w["message"] for w in xoff.check(scenario)["warnings"] if "can deadlock" in w["message"]]
    return [message.partition("cyclic buffer dependency: ")[2].partition("; flows")[0] for message in warnings]


@pytest.mark.parametrize("switches", [3, 4, 5])
def test_the_ring_that_deadlocks_is_warned_of_port_by_port(switches: int) -> None:
    ports = [f"s{i} port {1 if i == 0 else 2} (to s{(i + 1) % switches}), class 0" for i in range(switches)]
    assert cycles(ring(switches)) == [" → ".join(ports)]
    # The flows that close the cycle belong to the scenario, and close the cycle in a scenario of their own.
    found = xoff.check(ring(switches))["deadlock"]
    assert sorted((flow["src"], flow["dst"]) for flow in found["flows"]) == sorted(
        (f"h{i}", f"h{(i + 2) % switches}") for i in range(switches)
    )
    assert xoff.run(found["scenario"]).audits["deadlock"].startswith("recorded")


@pytest.mark.parametrize(("queues", "really"), [(1, True), (32, False)])
def test_flows_that_share_queues_of_bfc_can_wait_for_one_another(queues: int, *, really: bool) -> None:
    """With one queue a port BFC is PFC; with a queue for each flow the possible cycle does not close."""
    scenario = ring()
    scenario["switch"] |= {"flow_control": {"bfc": {"queues": queues}}, "buffer": "unlimited"}
    scenario["audits"] = dict.fromkeys(["completion", "deadlock", "pauses"], "record")
    assert cycles(scenario) == cycles(ring())
    assert xoff.run(scenario).audits["deadlock"].startswith("recorded") == really
    leaf_spine = {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "link": _LINK}}
    assert cycles(scenario | {"network": leaf_spine, "workload": [_POISSON]}) == []


def test_no_warning_where_nothing_can_wait_in_a_circle() -> None:
    lossy = ring()
    lossy["switch"]["flow_control"] = {}
    open_ring = ring()
    open_ring["workload"][0]["flows"].pop()
    # Neighbours have one shortest path, without a third switch.
    neighbours = ring() | {"workload": [_POISSON]}
    # Each class has separate queues: a cycle needs all of its flows in one class.
    split = ring()
    split["switch"]["classes"] = 2
    flows = split["workload"][0]["flows"]
    split["workload"] = [{"flows": flows[:2]}, {"flows": flows[2:], "class": 1}]
    for scenario in (lossy, open_ring, neighbours, split):
        assert cycles(scenario) == []


@pytest.mark.parametrize("traffic", [_POISSON, {"all_to_all": {"size": "1KB"}}, {"permutation": {"size": "1KB"}}])
@pytest.mark.parametrize(
    "network",
    [
        {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "parallel": 2, "link": _LINK}},
        {"fat_tree": {"k": 4, "link": _LINK}},
        {"star": {"hosts": 4, "link": _LINK}},
        {"line": {"switches": 5, "link": _LINK}},
    ],
)
def test_networks_in_levels_are_not_warned_of(network: dict[str, Any], traffic: dict[str, Any]) -> None:
    assert cycles({"network": network, "switch": {"flow_control": {"pfc": {}}}, "workload": [traffic]}) == []


def test_random_traffic_may_take_every_shortest_path() -> None:
    # Opposite switches of a ring of four are joined both ways around.
    assert len(cycles(ring(4) | {"workload": [_POISSON]})) == 1


def test_paths_of_the_first_host() -> None:
    network = {"leaf_spine": {"leaves": 4, "spines": 3, "hosts_per_leaf": 2, "parallel": 2, "link": _LINK}}
    assert xoff.check({"network": network})["paths"] == [
        {"from": "host0", "to": "host1", "hosts": 1, "links": 2, "paths": 1, "propagation": "2us"},
        {"from": "host0", "to": "host2", "hosts": 6, "links": 4, "paths": 12, "propagation": "4us"},
    ]


def faulty(leaves: int, spines: int, faults: list[dict[str, Any]], *, until: str = "2ms") -> dict[str, Any]:
    """All-to-all between leaves whose links fail, with failover."""
    shape = {"leaves": leaves, "spines": spines, "hosts_per_leaf": 4, "link": _LINK}
    failover = {"local_repair_delay": "1us", "convergence_time": "10us"}
    return {
        "until": until,
        "audits": dict.fromkeys(["completion", "deadlock", "pauses", "loss"], "record"),
        "network": {"leaf_spine": shape, "failover": failover},
        "fault": faults,
        "switch": {"buffer": {"per_port": "60KB"}, "flow_control": {"pfc": {"xoff": "20KB"}}},
        "workload": [{"all_to_all": {"size": "1MB"}, "start": "50us"}],
    }


def down(leaf: int, spine: int, at: str = "1us", **more: str) -> dict[str, Any]:
    return {"link": f"leaf{leaf}-spine{spine}", "state": "down", "at": at, **more}


@pytest.mark.parametrize(
    ("leaves", "spines", "failures", "expected"), [(4, 2, 1, 0), (4, 2, 2, 12), (3, 2, 2, 0), (4, 3, 2, 0)]
)
def test_failures_that_leave_valley_routes_are_warned_of(
    leaves: int, spines: int, failures: int, expected: int
) -> None:
    """Counts of Dally and Seitz's condition over all sets of failures, which a program of its own gave."""
    links = [(leaf, spine) for leaf in range(leaves) for spine in range(spines)]
    sets = combinations(links, failures)
    found = [xoff.check(faulty(leaves, spines, [down(*link) for link in links]))["deadlock"] for links in sets]
    assert sum(bool(one.get("since")) for one in found) == expected


def test_routes_after_faults_deadlock_as_warned() -> None:
    """leaf0-spine0 and leaf1-spine1 are down: leaves 0 and 1 reach one another over a third leaf."""
    scenario = faulty(4, 2, [down(0, 0), down(1, 1)])
    check = xoff.check(scenario)
    assert "the routes after the faults known at 11us form" in check["warnings"][-1]["message"]
    assert xoff.run(check["deadlock"]["scenario"]).audits["deadlock"].startswith("recorded")


def test_packets_that_meet_a_change_of_routes_are_warned_of() -> None:
    """No routes of one time form a cycle. A packet that spine 0 sent around the fault meets the repaired routes."""
    assert cycles(faulty(4, 2, [down(0, 0)])) == []
    check = xoff.check(faulty(4, 2, [down(0, 0, duration="200us")]))
    assert "packets that meet a change of routes form a cyclic" in check["warnings"][-1]["message"]
    found = check["deadlock"]
    assert (found["possible"], found["since"], found["scenario"], found["flows"]) == (True, None, None, [])
    assert found["cycle"] == ["spine0 port 1 (to leaf1), class 0", "leaf1 port 4 (to spine0), class 0"]


def draw_faults(rng: Random) -> dict[str, Any]:
    """Draws faults of links at different times, and flows between leaves: in half of the draws on their paths."""
    leaves, spines = rng.choice([(4, 2), (4, 2), (4, 3)])
    order = rng.sample(range(leaves), leaves)
    links = [(order[0], 0), (order[1], 1)] if rng.random() < 0.5 else []
    while len(links) < 2 or rng.random() < 0.2:
        links.append((rng.randrange(leaves), rng.randrange(spines)))
    lasting = {"duration": rng.choice(["30us", "400us"])} if rng.random() < 0.3 else {}
    starts = [rng.choice(["1us", "1us", "60us"]) for _ in links]
    faults = [
        down(leaf, spine, at=at, **(lasting if n else {}))
        for n, ((leaf, spine), at) in enumerate(zip(links, starts, strict=True))
    ]
    scenario = faulty(leaves, spines, faults, until="6ms")
    to = {order[0]: order[1], order[1]: order[0], order[2]: order[3], order[3]: order[2]}
    flows = [{"src": 4 * leaf + host, "dst": 4 * to[leaf] + host, "size": "4MB"} for leaf in to for host in range(4)]
    return scenario | {"workload": [{"flows": flows, "start": "50us"}]}


@pytest.mark.parametrize("seed", range(40))
def test_a_run_never_refutes_a_proof(seed: int) -> None:
    scenario = draw_faults(Random(seed))
    deadlock = xoff.check(scenario)["deadlock"]
    assert deadlock["possible"] or not xoff.run(scenario).audits["deadlock"].startswith("recorded")


def test_drawn_faults_prove_and_refute() -> None:
    scenarios = [draw_faults(Random(seed)) for seed in range(20)]
    proved = [not xoff.check(scenario)["deadlock"]["possible"] for scenario in scenarios]
    refuted = [xoff.run(scenario).audits["deadlock"].startswith("recorded") for scenario in scenarios]
    assert sum(proved) >= 2
    assert sum(refuted) >= 5
