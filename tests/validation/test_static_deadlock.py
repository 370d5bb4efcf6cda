"""`check` warns before the run of cyclic buffer dependencies on the routes in use, and of no others."""

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
