"""ConWeave: flows leave late paths, and hosts see no reordering.

Go-Back-N goes back for every out-of-order packet. A run without loss and without retransmissions is therefore a run in
which hosts saw no reordering.
"""

import json
from typing import Any

import pytest
from tests.validation.test_reps import HOSTS, two_leaves

import xoff
from xoff import _core
from xoff.running import prepare

LINK = {"rate": "100Gbps", "delay": "1us"}
RED = {"red": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
BASE_US = 4.18
"""Two links of 1 us each way, a packet of 1048 bytes and a frame of 64 on both."""
SLACK_US = 4.0


def fabric(routing: dict[str, Any], seed: int = 1, load: float = 0.6, **more: Any) -> dict[str, Any]:
    """Hadoop's sizes over leaves and spines, oversubscribed 2:1, under PFC with DCQCN."""
    return {
        "seed": seed,
        "network": {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "link": LINK}},
        "framing": {"payload": "1000B", "header": "48B", "control_frame_size": "64B"},
        "switch": {
            "buffer": {"shared": {"total": "9MB"}},
            "flow_control": {"pfc": {}},
            "ecn": RED,
            "routing": routing,
        },
        "host": {"congestion_control": {"dcqcn": {"preset": "conweave", "window": "104KB"}}},
        "workload": [{"poisson": {"load": load / 2, "sizes": "hadoop", "duration": "1ms"}}],
        "until": "6ms",
        **more,
    }


def slowdowns(result: xoff.Result) -> list[float]:
    return sorted(row["fct_ps"] / row["ideal_fct_ps"] for row in result.flows.to_pylist())


def test_hosts_see_no_reordering_and_tails_are_shorter() -> None:
    """Flows move, none of their packets is sent again, and each hold belongs to a move; tails are below ECMP's."""
    tails: list[tuple[float, float]] = []
    for seed in (1, 2, 3):
        result, ecmp = xoff.run(fabric({"conweave": {}}, seed)), xoff.run(fabric({}, seed))
        assert set(result.audits.values()) == {"ok"}
        found = result.summary["conweave"]
        assert found["flushed_early"] == found["reorder_queue_exhausted"] == 0
        assert result.summary["retransmitted"] == 0
        assert 0 < found["held_flows"] <= found["moved"]
        assert found["held_flows"] <= found["held_packets"]
        ours, theirs = slowdowns(result), slowdowns(ecmp)
        tails.append((ours[len(ours) * 99 // 100], theirs[len(theirs) * 99 // 100]))
    assert sum(our for our, _ in tails) < 0.9 * sum(their for _, their in tails)


def test_packets_of_a_path_that_is_late_are_overtaken_and_put_in_order() -> None:
    """Without holds, packets of the new path overtake packets on the old path, and Go-Back-N retransmits.

    A flush slack of zero and packets expected at once release held packets before their TAIL.
    """
    kept = xoff.run(fabric({"conweave": {}}))
    let_go = xoff.run(fabric({"conweave": {"flush_slack": "0ns", "flush_default": "0ns"}}))
    assert kept.summary["retransmitted"] == 0 == kept.summary["conweave"]["flushed_early"]
    assert let_go.summary["conweave"]["flushed_early"] > 0
    assert let_go.summary["retransmitted"] > 0


def one_slow(slow: str, host: str, flows: int, seed: int = 1, **more: Any) -> dict[str, Any]:
    """Flows of 2 MB between two leaves with four spines, of which the first may be slow; nothing is lost."""
    network = two_leaves({}, slow)["network"]
    for link in network["explicit"]["links"]:
        if link["a"].startswith("host"):
            link["rate"] = host
    return {
        "seed": seed,
        "network": network,
        "framing": {"payload": "1000B", "header": "48B", "control_frame_size": "64B"},
        "switch": {"routing": {"conweave": {}}, "ecn": {"step": {"threshold": "20KB"}}},
        "workload": [{"flows": [{"src": i, "dst": HOSTS + i, "size": "2MB"} for i in range(flows)]}],
        **more,
    }


def test_no_flow_moves_where_answers_are_in_time() -> None:
    """Three flows of 20 Gb/s have room on any path, so that round trips are no longer than without queues."""
    found = xoff.run(one_slow("100Gbps", "20Gbps", 3)).summary
    assert found["conweave"]["moved"] == found["conweave"]["held_packets"] == 0
    # 2 MB take 838 us, of which each epoch takes a round trip and the gap to the next packet: an answer for each.
    assert found["conweave"]["messages"] == pytest.approx(3 * 838 / (BASE_US + 0.42 / 2), rel=0.1)


def test_a_flow_leaves_a_slow_path_within_a_round_trip_and_the_deadline() -> None:
    """One of four spines has a quarter of the rate: a flow at line rate that begins there gets late replies.

    The first reply may be in time, because queues are still empty. The flow moves with the first packet after the
    deadline of the second reply, and stays on the new path, where no reply is late.
    """
    left = 0
    for seed in range(1, 13):
        result = xoff.run(one_slow("25Gbps", "100Gbps", 1, seed, probe={"packets": True}))
        found = result.summary["conweave"]
        arrivals = [row for row in result.packets.to_pylist() if row["event"] == "arrive" and row["kind"] == "data"]
        slow = {row["seq"] for row in arrivals if row["node"] == "spine0"}
        times = [row["time_ps"] / 1e6 for row in arrivals if row["node"] == "leaf0" and row["seq"] in slow]
        assert found["moved"] == found["held_flows"] == bool(slow)
        assert found["flushed_early"] == found["reorder_queue_exhausted"] == result.summary["retransmitted"] == 0
        if slow:
            left += 1
            assert slow == set(range(len(slow)))
            assert BASE_US + SLACK_US < times[-1] - times[0] <= 2 * (BASE_US + SLACK_US)
    assert left > 0


@pytest.mark.parametrize("seed", range(1, 7))
def test_flows_that_meet_on_slow_paths_keep_their_order(seed: int) -> None:
    """Three flows at line rate over three fast paths and a slow path: hundreds of packets wait for a TAIL.

    On a slow path with a tenth of the rate, packets may be later than any prediction.
    """
    for slow in ("25Gbps", "10Gbps"):
        result = xoff.run(one_slow(slow, "100Gbps", 3, seed))
        found = result.summary["conweave"]
        assert found["held_flows"] <= found["moved"]
        assert found["reorder_queue_exhausted"] == 0
        assert (result.summary["retransmitted"] > 0) == (found["flushed_early"] > 0)
        assert found["flushed_early"] == 0 or slow == "10Gbps"


@pytest.mark.parametrize("plan", [{"threads": 2}, {"threads": 3}, {"threads": 1, "partitions": 5}])
def test_it_does_not_depend_on_threads(plan: dict[str, Any]) -> None:
    scenario = fabric({"conweave": {}}, load=0.9)
    prepared = prepare(scenario)
    output = _core.run(prepared.resolved, prepared.tables, **plan)
    result = xoff.run(scenario)
    assert result.summary["conweave"]["held_packets"] > 0
    assert json.loads(output.summary)["fingerprint"] == result.fingerprint


def test_delays_add_up_and_name_what_held_a_packet() -> None:
    """Packets that wait for their TAIL are paused by ConWeave; the audit compares the sum of parts to the time."""
    result = xoff.run(fabric({"conweave": {}}, probe={"delays": "all"}))
    assert result.audits["delays"] == "ok"
    rows = result.table("delays").to_pylist()
    assert {row["kind"] for row in rows if row["cause"] == "conweave"} == {"paused"}


def test_paths_in_a_fat_tree_have_two_choices() -> None:
    """Of a fat tree with k = 4 both switches up choose; order is kept, and nothing moves within a rack."""
    scenario = fabric({"conweave": {}}) | {
        "network": {"fat_tree": {"k": 4, "link": LINK}},
        "workload": [{"permutation": {"size": "1MB"}}],
    }
    result = xoff.run(scenario)
    found = result.summary["conweave"]
    assert result.summary["retransmitted"] == found["flushed_early"] == 0
    assert found["moved"] > 0
    assert found["held_flows"] <= found["moved"]
    used = {(row["node"], row["peer"]) for row in result.links.to_pylist() if row["data_packets"]}
    assert sum(node.startswith("core") for node, _ in used) == 16


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("queues", 0, "1 to 64"),
        ("queues", 65, "1 to 64"),
        ("expiry", "2s", "up to 1s"),
        ("flush_slack", "2s", "up to 1s"),
    ],
)
def test_what_makes_no_sense_is_refused(key: str, value: object, said: str) -> None:
    with pytest.raises(xoff.InputError, match=said) as refused:
        xoff.check(fabric({"conweave": {key: value}}))
    assert str(refused.value).startswith(f"switch.routing.conweave.{key}")


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ({"queueing": "voq"}, "set switch.queueing = "),
        ({"telemetry": {}}, "writes onto packets, as does"),
        ({"flow_control": {"bfc": {}}}, "chooses queues for packets, as does"),
        ({"flow_control": {"pfc": {"xoff": "50KB", "accounting": "egress"}}}, "pfc.accounting"),
        (
            {"flow_control": {"pfc": {}, "sfc": {"threshold": "200KB", "pause": "10us"}}},
            "moves packets between the queues",
        ),
    ],
)
def test_what_it_cannot_be_beside(switch: dict[str, Any], said: str) -> None:
    scenario = fabric({"conweave": {}})
    scenario["switch"] = {"routing": {"conweave": {}}, **switch}
    scenario["host"] = {}
    with pytest.raises(xoff.InputError, match=said):
        xoff.check(scenario)


def spines(fast: str, slow: str, more: list[dict[str, Any]], **switch: Any) -> dict[str, Any]:
    """One flow between two leaves with two spines, and more links of its hosts."""
    names = ["leaf0", "leaf1", "fast", "slow"]
    nodes = [{"name": f"h{i}", "kind": "host"} for i in range(2)] + [{"name": n, "kind": "switch"} for n in names]
    rates = {"fast": fast, "slow": slow}
    links = [{"a": f"leaf{i}", "b": spine, "rate": rates[spine]} for spine in rates for i in range(2)]
    hosts = [{"a": f"h{i}", "b": f"leaf{i}", "rate": "100Gbps"} for i in range(2)]
    return {
        "network": {"explicit": {"nodes": nodes, "links": [{**link, "delay": "1us"} for link in hosts + links + more]}},
        "framing": {"payload": "1000B", "header": "48B", "control_frame_size": "64B"},
        "switch": {"routing": {"conweave": {}}, **switch},
        "workload": [{"flows": [{"src": 0, "dst": 1, "size": "2MB"}]}],
    }


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_flow_whose_tail_is_lost_moves_again(seed: int) -> None:
    """Trimming takes TAILs away; once the hold has been flushed the flow may leave its path as before."""
    scenario = spines("40Gbps", "20Gbps", [], trimming={"limit": "20KB"}) | {"seed": seed}
    found = xoff.run(scenario | {"host": {"transport": {"selective": {}}}}).summary["conweave"]
    assert found["flushed_early"] > 5
    assert found["held_flows"] <= found["moved"]
    assert found["moved"] > 10


def test_hosts_with_several_links_go_by_ecmp() -> None:
    """The reply to a flow could return by any switch with a route to the source."""
    for node, other in (("h0", "leaf1"), ("h1", "leaf0")):
        link = {"a": node, "b": other, "rate": "100Gbps"}
        scenario = spines("100Gbps", "10Gbps", [link])
        scenario["workload"][0]["flows"][0] |= {"size": "20KB"}
        assert xoff.run(scenario).summary["conweave"]["messages"] == 0
    assert xoff.run(spines("100Gbps", "10Gbps", [])).summary["conweave"]["messages"] > 0
