"""Marks by what packets leave behind, counted anew from the trace: in the queues of a class, or of a whole port."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from tests.validation.traces import events

import xoff

LINK = {"rate": "100Gbps", "delay": "1us"}
STAR = {"star": {"hosts": 5, "link": LINK}}
THRESHOLD = 20_000
STEP = {"step": {"threshold": f"{THRESHOLD}B"}}
ISOLATION = {"low": "5KB", "high": "30KB", "pmax": 0.1, "cim_threshold": "20KB"}


def incasts(size: str = "100KB") -> list[dict[str, Any]]:
    """Two incasts of two hosts each to a third, in two classes."""
    return [
        {"incast": {"senders": senders, "receiver": 0, "size": size}, "class": number}
        for number, senders in enumerate(([1, 2], [3, 4]))
    ]


def marked(result: xoff.Result) -> Counter[tuple[str, int]]:
    counts: Counter[tuple[str, int]] = Counter()
    for row in result.queues.to_pylist():
        counts[row["node"], row["port"]] += row["marked"]
    return +counts


def leaving_more(result: xoff.Result, class_of: dict[int, int], classes: set[int]) -> Counter[tuple[str, int]]:
    """Departures of packets of the classes that leave more than the threshold at their port, counting any class.

    Only packets that arrived at a node count, because hosts have no queue of arrived packets. A packet counts at the
    first node.
    """
    known: set[tuple[int, int]] = set()
    rows = events(result)
    output = {(row.node, row.flow): row.port for row in rows if row.event == "depart"}
    waiting: dict[tuple[str, int], int] = defaultdict(int)
    came: Counter[tuple[str, int]] = Counter()
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        port = output.get((row.node, row.flow))
        if port is None:
            continue
        place = (row.node, port)
        if row.event == "arrive":
            came[row.node, row.flow] += 1
            waiting[place] += row.bytes
        elif came[row.node, row.flow]:
            waiting[place] -= row.bytes
            packet = row.flow, row.seq
            if waiting[place] > THRESHOLD and class_of[row.flow] in classes and packet not in known:
                known.add(packet)
                counts[place] += 1
    return +counts


def run(scenario: dict[str, Any]) -> tuple[xoff.Result, dict[int, int]]:
    """Runs a scenario without reactions to marks, and say in which class its workloads put each flow."""
    result = xoff.run(scenario | {"probe": {"packets": True}})
    classes = {f"workload {one['class']}": one["class"] for one in scenario["workload"]}
    return result, {row["flow"]: classes[row["workload"]] for row in result.flows.to_pylist()}


def two_classes(queueing: str, **ecn: Any) -> dict[str, Any]:
    workloads = [{**one, "name": f"workload {one['class']}"} for one in incasts()]
    switch = {"classes": 2, "scheduler": "round_robin", "queueing": queueing, "ecn": STEP | ecn}
    return {"network": STAR, "switch": switch, "workload": workloads}


@pytest.mark.parametrize("queueing", ["oq", "voq"])
@pytest.mark.parametrize("classes", [[0, 1], [0], [1]])
def test_a_port_marks_by_all_that_waits_for_it(queueing: str, classes: list[int]) -> None:
    result, class_of = run(two_classes(queueing, scope="port", classes=classes))
    expected = leaving_more(result, class_of, set(classes))
    assert marked(result) == expected
    assert sum(expected.values()) > 50
    by_class = {row["class"] for row in result.queues.to_pylist() if row["marked"]}
    assert by_class == set(classes)


@pytest.mark.parametrize("queueing", ["oq", "voq"])
def test_a_queue_marks_by_its_class_alone(queueing: str) -> None:
    """Each class has half of the queue: at twice the threshold for both classes together, each begins to mark."""
    by_queue, _ = run(two_classes(queueing))
    by_port, _ = run(two_classes(queueing, scope="port"))
    assert 0 < by_queue.summary["ecn"]["marked"] < by_port.summary["ecn"]["marked"]
    some, _ = run(two_classes(queueing, classes=[1]))
    marks = {row["class"]: row["marked"] for row in by_queue.queues.to_pylist() if row["marked"]}
    assert {row["class"]: row["marked"] for row in some.queues.to_pylist() if row["marked"]} == {1: marks[1]}


def test_with_one_queue_a_port_both_scopes_are_one() -> None:
    made = {"network": STAR, "switch": {"ecn": STEP}, "workload": [{**incasts()[0], "class": 0}]}
    made["host"] = {"congestion_control": {"dcqcn": {"preset": "hpcc"}}}
    runs = [xoff.run(made | {"switch": {"ecn": STEP | {"scope": scope}}}) for scope in ("queue", "port")]
    assert runs[0].fingerprint == runs[1].fingerprint
    assert runs[0].summary["ecn"]["marked"] > 0


def portfc(**ecn: Any) -> dict[str, Any]:
    """Four-hop and two-hop flows to one node of an NDC; the last output has queues by next hop."""
    flows = {"senders": [1, 2, 5, 6, 9, 10], "receiver": 0, "size": "200KB"}
    more = {"senders": [1, 2, 5], "receiver": 12, "size": "200KB"}
    return {
        "network": {"ndc": {"n": 4, "link": LINK}},
        "switch": {"ecn": STEP | ecn, "flow_control": {"portfc": {"xoff": "150KB", "xon": "100KB"}}},
        "workload": [{"name": "workload 0", "incast": incast, "class": 0} for incast in (flows, more)],
    }


def test_a_port_of_portfc_marks_by_all_its_queues() -> None:
    by_port, class_of = run(portfc(scope="port"))
    by_queue, _ = run(portfc())
    expected = leaving_more(by_port, class_of, {0}).items()
    assert marked(by_port) == {place: count for place, count in expected if place[0].startswith("level")}
    assert 0 < by_queue.summary["ecn"]["marked"] < by_port.summary["ecn"]["marked"]


def test_ecn_stays_on_beside_isolation() -> None:
    """CI marks when it isolates; ECN of the port marks packets that leave more than the threshold in both queues."""
    workload = [{**incasts("300KB")[1], "name": "workload 1"}]
    control = {"congestion_isolation": ISOLATION | {"mark": "selecting"}}
    switch = {"classes": 2, "scheduler": "round_robin", "flow_control": control}
    scenario = {"network": STAR, "switch": switch, "workload": workload}
    alone, class_of = run(scenario)
    beside, _ = run(scenario | {"switch": switch | {"ecn": STEP | {"scope": "port"}}})
    expected = leaving_more(beside, class_of, {1})
    # A packet that both mark counts once.
    assert expected <= marked(beside) <= expected + marked(alone)
    assert sum(expected.values()) > 50
    assert beside.summary["congestion_isolation"]["isolated_flows"] > 0
    # Of the two queues of the class only the congested one, class 0, marks; without a reaction all else is the same.
    some, _ = run(scenario | {"switch": switch | {"ecn": STEP | {"scope": "port", "classes": [0]}}})
    assert {row["class"] for row in some.queues.to_pylist() if row["marked"]} == {0}
    assert alone.summary["ecn"]["marked"] < some.summary["ecn"]["marked"] < beside.summary["ecn"]["marked"]


def relayed(*, ecn: bool, **more: Any) -> dict[str, Any]:
    """Two hosts send through a relay with an egress as fast as one host; the relay also sends."""
    nodes = {"a": "host", "b": "host", "z": "host", "r": "relay", "s": "switch", "t": "switch"}
    links = [{"a": a, "b": b, **LINK} for a, b in [("a", "s"), ("b", "s"), ("s", "r"), ("r", "t"), ("t", "z")]]
    links[2]["rate"] = "400Gbps"
    flows = [{"src": src, "dst": "z", "size": "200KB"} for src in ("a", "b", "r")]
    return {
        "network": {"explicit": {"nodes": [{"name": n, "kind": k} for n, k in nodes.items()], "links": links}},
        "switch": {"ecn": STEP | more},
        "host": {"relay": {"ecn": ecn}},
        "workload": [{"name": "workload 0", "flows": flows, "class": 0}],
    }


@pytest.mark.parametrize("scope", ["queue", "port"])
def test_a_relay_marks_what_it_relays_if_it_is_to(scope: str) -> None:
    result, class_of = run(relayed(ecn=True, scope=scope))
    counts = leaving_more(result, class_of, {0})
    assert marked(result) == counts
    assert set(counts) == {("r", 1)}
    assert counts["r", 1] > 50
    assert not marked(xoff.run(relayed(ecn=False, scope=scope)))


def test_relays_of_an_ndc_mark_with_its_switches() -> None:
    scenario = portfc(scope="port")
    # From the fast level to the slow level packets wait in relays.
    scenario["network"]["ndc"]["levels"] = [LINK, LINK | {"rate": "400Gbps"}]
    nodes = {}
    for ecn in (False, True):
        result = xoff.run(scenario | {"host": {"relay": {"ecn": ecn}}})
        nodes[ecn] = {node for node, _ in marked(result)}
    assert nodes[False]
    assert all(node.startswith("level") for node in nodes[False])
    assert {node for node in nodes[True] if node.startswith("host")}


@pytest.mark.parametrize("isolation", [False, True], ids=["two switches", "two switches, isolation"])
def test_a_packet_that_several_parts_mark_counts_once(*, isolation: bool) -> None:
    """Congestion at a leaf's uplink and at the destination's leaf: the marks are the packets that arrive marked."""
    shape = {"leaves": 2, "spines": 1, "hosts_per_leaf": 6, "link": LINK}
    switch: dict[str, Any] = {"ecn": {"step": {"threshold": "20KB"}}, "buffer": "unlimited"}
    if isolation:
        # Classes of isolated flows are marked by both parts.
        switch |= {"classes": 2, "flow_control": {"pfc": {}, "congestion_isolation": {}}}
        switch["ecn"]["classes"] = [0, 1]
    flows = [{"src": src, "dst": 6, "size": "300KB"} for src in (0, 1, 7, 8)]
    workload = {"flows": flows, **({"class": 1} if isolation else {})}
    network = {"leaf_spine": shape}
    result = xoff.run({"network": network, "switch": switch, "workload": [workload], "probe": {"packets": True}})
    rows = result.table("packets").to_pylist()
    is_at_end = [row for row in rows if row["node"] == "host6" and row["event"] == "arrive" and row["kind"] == "data"]
    arrived = sum(row["marked"] for row in is_at_end)
    assert result.summary["ecn"]["marked"] == sum(row["marked"] for row in result.queues.to_pylist()) == arrived
    # Packets of hosts 0 and 1 meet a long queue at both leaves.
    assert 0 < arrived <= len(is_at_end) == 1200
