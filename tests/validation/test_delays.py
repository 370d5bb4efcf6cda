"""Completion times cut into parts, in small cases by hand; the conformance harness holds the sums everywhere.

Frames have 1000 B, which take 80 ns at 100 Gb/s; links take 1 µs, switches nothing.
"""

from typing import Any

import pytest
from tests.validation.breakdown import delays_add_up

import xoff
from xoff.insight import Breakdown, Forest, breakdowns, repeated

FRAME_PS = 80_000
LINK_PS = 1_000_000
LINK = {"rate": "100Gbps", "delay": "1us"}


def star(flows: list[dict[str, Any]], hosts: int = 4, **more: Any) -> dict[str, Any]:
    switch = {"forwarding_latency": "0ns", "buffer": "unlimited", **more.pop("switch", {})}
    return {
        "network": {"star": {"hosts": hosts, "link": LINK}},
        "framing": {"payload": "952B", "header": "48B"},
        "switch": switch,
        "workload": [{"flows": flows}],
        "probe": {"delays": "all"},
        **more,
    }


def flow(src: int, dst: int, packets: int, **more: Any) -> dict[str, Any]:
    return {"src": src, "dst": dst, "size": f"{952 * packets}B", **more}


def parts(breakdown: Breakdown) -> list[tuple[int, str, int | None, int]]:
    """Returns hop, kind, blocking flow, and picoseconds, in path order."""
    assert breakdown.total_ps == breakdown.flow["fct_ps"]
    return [(part.hop, part.kind, part.flow, part.ps) for part in breakdown.parts]


def on_links(hops: int) -> list[tuple[int, str, int | None, int]]:
    links = range(hops)
    return [
        (hop, kind, None, ps) for hop in links for kind, ps in (("serialization", FRAME_PS), ("propagation", LINK_PS))
    ]


def test_a_flow_alone_sends_and_travels() -> None:
    [breakdown] = breakdowns(xoff.run(star([flow(1, 0, 10)])))
    assert parts(breakdown) == [(0, "transmission", None, 9 * FRAME_PS), *on_links(2)]
    assert breakdown.worst is None


def test_of_two_flows_into_one_the_second_waits_behind_the_first() -> None:
    # Frames leave the switch as a0 b0 a1 b1 …, the first as it arrives. The last pair comes as the tenth frame starts:
    # before a9 go b4 a5 … b8, and before b9 also a9.
    first, second = breakdowns(xoff.run(star([flow(1, 0, 10), flow(2, 0, 10)])))
    sending, way = (0, "transmission", None, 9 * FRAME_PS), on_links(2)
    assert parts(first) == [
        sending, *way[:2], (1, "queueing", 0, 4 * FRAME_PS), (1, "queueing", 1, 5 * FRAME_PS), *way[2:]
    ]  # fmt: skip
    assert parts(second) == [
        sending, *way[:2], (1, "queueing", 0, 5 * FRAME_PS), (1, "queueing", 1, 5 * FRAME_PS), *way[2:]
    ]  # fmt: skip
    assert second.worst is not None
    assert (second.worst.kind, second.worst.ps, second.worst.flow) == ("queueing", 10 * FRAME_PS, None)


def test_flows_of_one_host_take_turns() -> None:
    # a0 b0 a1 b1 a2: before a2 two packets of its own and two of the other have left.
    first, second = breakdowns(xoff.run(star([flow(1, 0, 3), flow(1, 2, 2)])))
    sending = [(0, "transmission", None, 2 * FRAME_PS), (0, "queueing", 1, 2 * FRAME_PS)]
    assert parts(first) == [*sending, *on_links(2)]
    assert parts(second) == [(0, "transmission", None, FRAME_PS), (0, "queueing", 0, 2 * FRAME_PS), *on_links(2)]


def test_a_lost_packet_costs_a_timeout() -> None:
    # Three simultaneous packets: two fit, and the third finds no room.
    scenario = star([flow(source, 0, 1) for source in (1, 2, 3)], switch={"buffer": {"per_queue": "2000B"}})
    lost = list(breakdowns(xoff.run(scenario)))[2]
    timeout_ps = 4_000_000_000
    assert lost.flow["retransmitted"] == 1
    assert parts(lost) == [
        (0, "transmission", None, FRAME_PS), (0, "awaiting_ack", None, timeout_ps - FRAME_PS), *on_links(2)
    ]  # fmt: skip


def test_a_flow_that_is_to_come_later_waits_from_its_own_start_on() -> None:
    later = flow(2, 0, 1, start="100us")
    [_, breakdown] = breakdowns(xoff.run(star([flow(1, 0, 1), later])))
    assert parts(breakdown) == on_links(2)


def dumbbell(flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Hosts a, b and v at one switch, x and y at another; a link between both. PFC pauses at ten frames."""
    hosts, ends = ["a", "b", "v", "x", "y"], ["left"] * 3 + ["right"] * 2
    nodes = [{"name": name, "kind": "host"} for name in hosts]
    nodes += [{"name": name, "kind": "switch"} for name in ("left", "right")]
    links = [{"a": host, "b": switch, **LINK} for host, switch in zip(hosts, ends, strict=True)]
    slow = {"a": "x", "b": "right", "rate": "10Gbps", "delay": "1us"}
    links = [slow if link["a"] == "x" else link for link in links] + [{"a": "left", "b": "right", **LINK}]
    scenario = star(flows, switch={"flow_control": {"pfc": {"xoff": "10000B", "xon": "5000B"}}})
    return {**scenario, "network": {"explicit": {"nodes": nodes, "links": links}}}


def test_a_victim_pays_for_a_port_that_it_never_crosses() -> None:
    # Flow 0 fills the output to x, which takes a tenth of the rate; flow 1 has one packet for y, and waits for the link
    # between the switches.
    document = dumbbell(
        [
            {"src": "a", "dst": "x", "size": "95200B"},
            {"src": "v", "dst": "y", "size": "952B", "start": "8us"},
        ]
    )
    result = xoff.run(document)
    forest = Forest(result)
    _, victim = breakdowns(result, forest)
    [tree] = [tree for tree in forest.trees if tree.victims]
    right = {row["peer"]: row["port"] for row in result.links.to_pylist() if row["node"] == "right"}
    assert (tree.root.node, tree.root.port, tree.root.cause) == ("right", right["x"], "pfc")
    assert set(tree.contributors) == {0}

    # The lost time is the pause of the middle link while the packet waited for the link.
    left = {row["peer"]: row["port"] for row in result.links.to_pylist() if row["node"] == "left"}
    arrived = victim.flow["start_ps"] + FRAME_PS + LINK_PS
    waited = victim.flow["fct_ps"] - (arrived - victim.flow["start_ps"]) - 2 * (FRAME_PS + LINK_PS)
    pauses = [row for row in result.pauses.to_pylist() if (row["node"], row["port"]) == ("left", left["right"])]
    overlaps = [min(row["end_ps"], arrived + waited) - max(row["start_ps"], arrived) for row in pauses]
    lost = sum(overlap for overlap in overlaps if overlap > 0)
    assert lost > 10 * FRAME_PS
    assert tree.victims == {1: lost}
    assert victim.worst is not None
    assert (victim.worst.kind, victim.worst.ps, victim.worst.root) == ("paused", lost, tree.root)

    # The first switch pauses the sending host, since the host's bytes wait for a paused link.
    by_node = {pause.node: pause for pause in forest.pauses}
    assert (by_node["left"].depth, by_node["left"].parent) == (1, None)
    parent = by_node["a"].parent
    assert parent is not None
    assert (by_node["a"].depth, forest.pauses[parent].node, by_node["a"].root) == (2, "left", tree.root)
    assert forest.table().num_rows == result.pauses.num_rows


def test_a_flow_that_was_not_delivered_is_no_victim_of_where_it_goes() -> None:
    # All three flows are unfinished, and paused at their sources; v's flow, with the last number, has another
    # destination.
    flows = [{"src": source, "dst": dst, "size": "952000B"} for source, dst in (("a", "x"), ("v", "y"), ("b", "x"))]
    result = xoff.run(dumbbell(flows) | {"until": "40us"})
    assert result.flows["fct_ps"].null_count == 3
    forest = Forest(result)
    right = {row["peer"]: row["port"] for row in result.links.to_pylist() if row["node"] == "right"}
    [tree] = [tree for tree in forest.trees if (tree.root.node, tree.root.port) == ("right", right["x"])]
    assert set(tree.lost) == {0, 1, 2}
    assert set(tree.victims) == {2}


def test_bytes_of_a_pause_are_those_of_the_input_that_crossed_its_threshold() -> None:
    document = dumbbell([{"src": source, "dst": "x", "size": "95200B"} for source in ("a", "b")])
    rows = xoff.run(document).table("contributions").to_pylist()
    sums: dict[tuple[int, str, int], int] = {}
    for row in rows:
        key = (row["time_ps"], row["node"], row["in_port"])
        sums[key] = sums.get(key, 0) + row["bytes"]
    # At the threshold, to the packet: every frame has 1000 B.
    assert len(sums) > 3
    assert set(sums.values()) == {10_000}


@pytest.mark.parametrize("cause", ["pfc", "bfc", "portfc", "sfc"])
def test_what_pauses_cost_is_what_flows_lost(cause: str) -> None:
    controls: dict[str, dict[str, Any]] = {
        "pfc": {"pfc": {"xoff": "10000B"}},
        "bfc": {"bfc": {}},
        "portfc": {"portfc": {}},
        "sfc": {"pfc": {"xoff": "40000B"}, "sfc": {"threshold": "20000B", "hold": "queue", "pause": "10us"}},
    }
    flows = [flow(source, 0, 100) for source in (1, 2, 3)]
    result = xoff.run(star(flows, switch={"flow_control": controls[cause]}))
    forest = Forest(result)
    paused = [part for breakdown in breakdowns(result, forest) for part in breakdown.parts if part.kind == "paused"]
    assert {part.mechanism for part in paused} >= {cause}
    assert sum(part.ps for part in paused) == sum(tree.lost_ps for tree in forest.trees)
    assert sum(len(tree.pauses) for tree in forest.trees) == result.pauses.num_rows
    # All pauses begin at the senders' common switch, unless the mechanism does not name the root.
    roots = {(tree.root.node, tree.root.port) for tree in forest.trees if tree.root.cause == cause}
    assert roots == ({("switch0", 0)} if cause != "sfc" else {(f"host{source}", 0) for source in (1, 2, 3)})


def test_a_result_without_delays_is_repeated() -> None:
    document = star([flow(1, 0, 10), flow(2, 0, 10)])
    plain = xoff.run({**document, "probe": {"packets": True}})
    with pytest.raises(LookupError, match=r"probe\.delays"):
        plain.table("delays")
    again = repeated(plain, [1])
    assert again.fingerprint == plain.fingerprint
    assert {row["flow"] for row in again.table("delays").to_pylist()} == {1}
    assert repeated(again, [1]) is again
    assert repeated(again).scenario["probe"]["delays"] == "all"
    plain.summary["fingerprint"] = "0" * 16
    with pytest.raises(xoff.InputError, match="another fingerprint"):
        repeated(plain)


def test_a_flow_that_changes_its_class_waits_where_it_goes() -> None:
    """A host moves flows out of a class and back while either is paused: no time goes by for which nothing accounts."""
    control = {
        "pfc": {"xoff": "640B", "accounting": "egress"},
        "sfc": {"threshold": "640B", "pause": "500ns"},
        "congestion_isolation": {"low": "320B", "high": "640B", "cim_threshold": "320B", "max_flows": 1},
    }
    points = [[0, 0], [1000, 40], [20_000, 90], [100_000, 100]]
    document: dict[str, Any] = {
        # Both classes of a host are paused in this draw, and in most.
        "seed": 1,
        "network": {"star": {"hosts": 3, "link": {"rate": "10Gbps", "delay": "0ns"}}},
        "switch": {"classes": 2, "scheduler": {"drr": "320B"}, "flow_control": control},
        "workload": [{"poisson": {"load": 0.3, "flows": 2, "warm_start": 1.5, "cdf": points}, "class": 0}],
    }
    probed = delays_add_up({**document, "switch": {**document["switch"], "queueing": "oq"}}, xoff.run(document))
    assert {row["class"] for row in probed.pauses.to_pylist() if row["node"].startswith("host")} == {0, 1}
