"""Collective operations against the alpha-beta model: to the picosecond on a star, where nobody waits for others.

A message of k packets takes k + 1 packet times, of which the last is the switch's, and two links of 1 us. Frames are
raw where times are exact: acknowledgements would share the links with data.
"""

from math import log2
from typing import Any

import pytest

import xoff
from xoff.insight.job_path import jobs
from xoff.study.metrics import metrics, possible

PACKET_PS = 83_840
"""1048 bytes at 100 Gb/s."""
LINKS_PS = 2_000_000
SIZE = {"size": "8MB"}
ALL_REDUCE: dict[str, Any] = {"operation": "all_reduce", **SIZE}


def star(ranks: int, collective: dict[str, Any], host: dict[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    return {
        "network": {"star": {"hosts": ranks, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B", "header": "48B", "preamble_and_ifg": "0B", "control_frame_size": "64B"},
        "host": host or {"transport": {"raw": {}}},
        "workload": [{"collective": collective, **workload}],
    }


def measured(scenario: dict[str, Any]) -> dict[str, Any]:
    [row] = xoff.run(scenario).collectives.to_pylist()
    return dict(row)


def messages_ps(*packets: int) -> int:
    """Messages in sequence, each waiting for the preceding message."""
    return sum((count + 1) * PACKET_PS + LINKS_PS for count in packets)


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        # 14 messages of 1 MB: 1202.9 us.
        (ALL_REDUCE, messages_ps(*14 * [1000])),
        ({"operation": "reduce_scatter", **SIZE}, messages_ps(*7 * [1000])),
        ({"operation": "all_gather", **SIZE}, messages_ps(*7 * [1000])),
        # The same bytes in 6 messages, and in 3.
        ({**ALL_REDUCE, "algorithm": "halving_doubling"}, 2 * messages_ps(4000, 2000, 1000)),
        ({"operation": "reduce_scatter", **SIZE, "algorithm": "halving_doubling"}, messages_ps(4000, 2000, 1000)),
        ({"operation": "all_gather", **SIZE, "algorithm": "halving_doubling"}, messages_ps(1000, 2000, 4000)),
        # Two groups of four: three messages of a quarter, two of an eighth, three of a quarter.
        ({**ALL_REDUCE, "algorithm": "hierarchical", "group": 4}, messages_ps(2000, 2000, 2000, 1000) * 2),
        ({**ALL_REDUCE, "algorithm": "hierarchical", "group": 2}, messages_ps(4000) * 2 + messages_ps(*6 * [1000])),
        # All at once the links never rest; in rounds each message waits for the last.
        ({"operation": "all_to_all", **SIZE}, messages_ps(7000)),
        ({"operation": "all_to_all", **SIZE, "algorithm": "rounds"}, messages_ps(*7 * [1000])),
    ],
)
@pytest.mark.parametrize("connections", ["persistent", "per_message"])
def test_times_are_those_of_arithmetic(collective: dict[str, Any], expected: int, connections: str) -> None:
    row = measured(star(8, collective, connections=connections))
    assert row["time_ps"] == expected
    assert (row["start_ps"], row["ranks"], row["size_bytes"]) == (0, 8, 8_000_000)
    assert row["algorithm_bps"] == pytest.approx(8_000_000 * 8 / (expected * 1e-12))
    bus = (2 if collective["operation"] == "all_reduce" else 1) * 7 / 8
    assert row["bus_bps"] == pytest.approx(bus * row["algorithm_bps"])


@pytest.mark.parametrize(("ranks", "times"), [(2, [1, 1]), (4, [2, 1, 1, 2])])
def test_trees_of_few_ranks_are_those_of_arithmetic(ranks: int, times: list[int]) -> None:
    """Half of the data a tree. Of four ranks two leaves send to one rank, up and down; two ranks send down to two."""
    row = measured(star(ranks, {**ALL_REDUCE, "algorithm": "double_tree"}))
    assert row["time_ps"] == messages_ps(*(4000 * time for time in times))


def test_pieces_hide_all_latencies_but_one() -> None:
    """Before its last piece has left, a rank has the next message's first piece: the rank's link never rests."""
    for chunk in ("500KB", "100KB"):
        assert measured(star(8, {**ALL_REDUCE, "chunk": chunk}))["time_ps"] == messages_ps(14_000)


@pytest.mark.parametrize("ranks", [8, 16])
def test_trees_with_pieces_send_all_data_twice(ranks: int) -> None:
    """Each rank sends its data twice at most; on top comes the way of a piece up and down, of two children each."""
    row = measured(star(ranks, {**ALL_REDUCE, "algorithm": "double_tree", "chunk": "20KB"}))
    twice = 2 * 8000 * PACKET_PS
    assert twice < row["time_ps"] < twice + 2 * log2(ranks) * (LINKS_PS + 2 * 2 * 20 * PACKET_PS) + 0.05 * twice
    # Without pieces each level waits for the level below.
    whole = measured(star(ranks, {**ALL_REDUCE, "algorithm": "double_tree"}))
    assert whole["time_ps"] > 1.5 * row["time_ps"]


def test_a_tree_is_quicker_where_latency_is_all() -> None:
    """At 64 ranks and a packet a rank: 126 messages in a ring, 12 up and down a tree."""
    ring, tree = (
        measured(star(64, {"operation": "all_reduce", "size": "64KB", "algorithm": algorithm}))["time_ps"]
        for algorithm in ("ring", "double_tree")
    )
    assert ring == messages_ps(*126 * [1])
    assert tree < ring / 3


def test_channels_share_the_data() -> None:
    """Four connections a link, and their last packets one after another: equal bytes and equal completion times."""
    for connections, flows in (("persistent", 4 * 8), ("per_message", 4 * 14 * 8)):
        result = xoff.run(star(8, {**ALL_REDUCE, "channels": 4}, connections=connections))
        assert len(result.flows) == flows
        assert sum(row["size_bytes"] for row in result.flows.to_pylist()) == 14 * 8_000_000
        assert len(result.messages) == (4 * 14 * 8 if connections == "persistent" else 0)
        [row] = result.collectives.to_pylist()
        assert messages_ps(14_000) <= row["time_ps"] <= messages_ps(*14 * [1000])


def test_messages_of_a_connection_are_delivered_in_order_and_tell_what_they_waited_for() -> None:
    """A ring: one connection to the next rank; the k-th message goes on when the k-th of the rank before has come."""
    result = xoff.run(star(4, {**ALL_REDUCE, "size": "4001B"}))
    assert sum(row["size_bytes"] for row in result.flows.to_pylist()) == 6 * 4001
    messages = result.messages.to_pylist()
    assert [row["fct_ps"] for row in messages] == [row["ideal_fct_ps"] for row in messages]
    of = {row["message"]: row for row in messages}
    for row in messages:
        ended = row["start_ps"] + row["fct_ps"]
        if row["released_by"] == "begun":
            assert (row["start_ps"], row["released_by_message"]) == (0, None)
        else:
            before = of[row["released_by_message"]]
            assert (before["dst"], before["start_ps"] + before["fct_ps"]) == (row["src"], row["start_ps"])
        assert row["start_ps"] <= row["left_ps"] < ended
    operations = result.operations.to_pylist()
    assert sorted(row["rank"] for row in operations) == [0, 1, 2, 3]
    for row in operations:
        assert (row["name"], row["start_ps"], row["released_by"]) == ("all_reduce", 0, "start")
        last = of[row["ended_by_message"]]
        at = last["start_ps"] + last["fct_ps"] if row["ended_by"] == "arrived" else last["left_ps"]
        assert at == row["end_ps"]
    [row] = result.collectives.to_pylist()
    assert row["time_ps"] == max(row["end_ps"] for row in operations)


@pytest.mark.parametrize(
    ("host", "routing"),
    [
        ({"transport": {"go_back_n": {}}}, None),
        ({"transport": {"selective": {}}}, {"spray": {}}),
        ({"transport": {"irn": {}}}, None),
        ({"congestion_control": {"dcqcn": {}}}, None),
    ],
)
def test_connections_lose_no_message_where_packets_are_lost(host: dict[str, Any], routing: Any) -> None:
    """Messages of a connection are delivered in order, each once, despite losses and retransmissions."""
    scenario = star(8, {"operation": "all_to_all", "size": "807KB", "chunk": "9KB"}, host)
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario["network"] = {"leaf_spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": link}}
    scenario["switch"] = {"buffer": {"per_queue": "20KB"}, "flow_control": {}} | (
        {"routing": routing} if routing else {}
    )
    scenario["audits"] = {"loss": "record"}
    result = xoff.run(scenario)
    assert result.summary["drops"] > 0
    ends: dict[int, list[tuple[int, int]]] = {}
    for row in result.messages.to_pylist():
        ends.setdefault(row["flow"], []).append((row["start_ps"] + row["fct_ps"], row["message"]))
    assert len(ends) == 8 * 7
    sizes = {row["flow"]: row["size_bytes"] for row in result.flows.to_pylist()}
    for flow, delivered in ends.items():
        numbers = [number for _, number in delivered]
        assert numbers == sorted(set(numbers)), "each once, and in order"
        assert delivered == sorted(delivered)
        assert sum(row["size_bytes"] for row in result.messages.to_pylist() if row["flow"] == flow) == sizes[flow]


def test_what_congestion_control_has_learned_stays_with_a_connection() -> None:
    """Two rings share a link: fresh flows begin at line rate with each message, a connection does not."""
    marked = {}
    for connections in ("persistent", "per_message"):
        scenario = star(8, {**ALL_REDUCE, "hosts": [0, 1, 2, 3]}, {"congestion_control": {"dctcp": {}}})
        link = {"rate": "100Gbps", "delay": "1us"}
        scenario["network"] = {"leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": link}}
        scenario["switch"] = {"ecn": {"step": {"threshold": "30KB"}}}
        scenario["workload"] = [
            {"collective": {**ALL_REDUCE, "channels": 4, "hosts": hosts}, "connections": connections}
            for hosts in ([0, 4, 1, 5], [2, 6, 3, 7])
        ]
        result = xoff.run(scenario)
        marked[connections] = result.summary["ecn"]["marked"]
    assert 0 < marked["persistent"] < marked["per_message"]


def test_connections_are_of_collectives_alone() -> None:
    scenario = star(4, ALL_REDUCE)
    scenario["workload"] = [{"flows": [{"src": 0, "dst": 1, "size": "1KB"}], "connections": "persistent"}]
    with pytest.raises(xoff.InputError, match=r"workload\[0\]\.connections: `flows` has no messages"):
        xoff.check(scenario)


CONTROLS: list[dict[str, Any]] = [{}, {"dcqcn": {"preset": "conweave"}}, {"dctcp": {}}, {"timely": {}}]


def test_where_nothing_queues_no_control_of_congestion_acts() -> None:
    """One flow a link: acknowledgements take their share of the link, and every control sends at the remaining rate."""
    times = []
    for control in CONTROLS:
        scenario = star(8, ALL_REDUCE, {"congestion_control": control} if control else {"transport": {"go_back_n": {}}})
        scenario["switch"] = {"ecn": {"step": {"threshold": "100KB"}}}
        result = xoff.run(scenario)
        assert max(row["max_bytes"] for row in result.queues.to_pylist()) <= 1048
        times.append(result.collectives.to_pylist()[0]["time_ps"])
    assert len(set(times)) == 1
    # A step takes 1000 packets and about as many answers of 64 B.
    assert times[0] == pytest.approx(messages_ps(*14 * [1000]) * 1112 / 1048, rel=0.005)


def test_halving_and_doubling_sends_the_least_across_a_narrow_core() -> None:
    """Two leaves of four ranks, 2:1: the steps of distance four take twice as long, and carry an eighth of the data."""
    scenario = star(8, {**ALL_REDUCE, "algorithm": "halving_doubling"})
    link = {"rate": "100Gbps", "delay": "1us"}
    core = {"rate": "200Gbps", "delay": "1us"}
    scenario["network"] = {
        "leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": link, "fabric_link": core}
    }
    expected = 2 * (messages_ps(4000, 2000, 2 * 1000) + LINKS_PS + PACKET_PS)
    assert measured(scenario)["time_ps"] == pytest.approx(expected, rel=0.001)


def test_ranks_are_in_the_order_of_hosts() -> None:
    scenario = star(8, {**ALL_REDUCE, "size": "6MB", "hosts": [6, 0, 3]})
    result = xoff.run(scenario)
    pairs = {(row["src"], row["dst"]) for row in result.flows.to_pylist()}
    assert pairs == {("host6", "host0"), ("host0", "host3"), ("host3", "host6")}
    [row] = result.collectives.to_pylist()
    assert row["time_ps"] == messages_ps(*4 * [2000])


def test_a_collective_that_is_cut_short_has_no_time() -> None:
    rows = [
        measured({**star(8, ALL_REDUCE), "until": until, "audits": {"completion": "record"}})
        for until in ("1202us", "1203us")
    ]
    assert [row["time_ps"] for row in rows] == [None, messages_ps(*14 * [1000])]
    assert [row["bus_bps"] is None for row in rows] == [True, False]


def test_collectives_beside_one_another_and_other_traffic_keep_their_rows() -> None:
    scenario = star(8, ALL_REDUCE)
    scenario["workload"] = [
        {"name": "first", "collective": {**ALL_REDUCE, "hosts": [0, 1]}},
        {"flows": [{"src": 4, "dst": 5, "size": "1MB"}]},
        {
            "name": "second",
            "start": "5us",
            "collective": {"operation": "all_to_all", "size": "3MB", "hosts": [2, 3, 6]},
        },
    ]
    rows = xoff.run(scenario).collectives.to_pylist()
    assert [(row["workload"], row["start_ps"], row["time_ps"]) for row in rows] == [
        ("first", 0, messages_ps(4000, 4000)),
        ("second", 5_000_000, messages_ps(2000)),
    ]


FAST = {"rate": "10Tbps", "delay": "1us"}
"""A switch that receives and sends faster than its ports."""


def reducing(collective: dict[str, Any], link: dict[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    """Eight ranks around a reducing switch."""
    scenario = star(8, {**collective, "algorithm": "in_network"}, **workload)
    scenario["network"]["reducers"] = [{"switches": "switch*", "link": link or FAST}]
    return scenario


@pytest.mark.parametrize("connections", ["persistent", "per_message"])
@pytest.mark.parametrize("chunk", [8000, 400, 40])
def test_a_switch_that_reduces_takes_the_data_up_once_and_down_once(chunk: int, connections: str) -> None:
    """Data up, the last piece down, two links each way: a ring would take 7/4 of the data, and 14 latencies."""
    row = measured(reducing({**ALL_REDUCE, "chunk": f"{chunk * 1000}B"}, connections=connections))
    expected = (8000 + chunk) * PACKET_PS + 2 * LINKS_PS
    # A packet of each rank, at the link of the reducer, in the way up and in the way down.
    most = 2 * PACKET_PS
    assert expected <= row["time_ps"] <= expected + most
    assert (row["algorithm"], row["ranks"]) == ("in_network", 8)
    assert row["bus_bps"] == pytest.approx(2 * 7 / 8 * row["algorithm_bps"])


@pytest.mark.parametrize(
    ("operation", "up", "down"),
    [
        ("all_reduce", 8 * [8000], 8 * [8000]),
        ("reduce_scatter", 8 * [8000], 8 * [1000]),
        ("all_gather", 8 * [1000], 8 * [7000]),
        ("broadcast", [8000, *7 * [0]], [0, *7 * [8000]]),
        ("reduce", 8 * [8000], [8000, *7 * [0]]),
    ],
)
def test_each_link_carries_the_data_once_each_way(operation: str, up: list[int], down: list[int]) -> None:
    result = xoff.run(reducing({"operation": operation, **SIZE, "chunk": "100KB"}))
    sent, received = [0] * 9, [0] * 9
    for row in result.messages.to_pylist():
        assert 8 in (row["rank"], row["to_rank"])
        sent[row["rank"]] += row["size_bytes"]
        received[row["to_rank"]] += row["size_bytes"]
    assert (sent[:8], received[:8]) == ([size * 1000 for size in up], [size * 1000 for size in down])
    assert (received[8], sent[8]) == (sum(sent[:8]), sum(received[:8]))
    assert xoff.check(result.scenario)["network"]["hosts"] == 8
    # The reducer is no rank and has no operations.
    assert sorted(result.operations["rank"].to_pylist()) == list(range(8))


def test_a_switch_reduces_no_faster_than_its_link() -> None:
    """At the rate of one port the switch receives the data of eight ranks one after another."""
    link = {"rate": "100Gbps", "delay": "1us"}
    time = measured(reducing({**ALL_REDUCE, "chunk": "80KB"}, link))["time_ps"]
    assert time == pytest.approx((8 * 8000 + 8 * 80) * PACKET_PS + 2 * LINKS_PS, abs=2 * PACKET_PS)


def test_the_nearest_switch_reduces_and_none_is_refused() -> None:
    link = {"rate": "100Gbps", "delay": "1us"}
    scenario = reducing({**ALL_REDUCE, "hosts": [4, 5, 6]})
    shape = {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "link": link, "fabric_link": link}
    scenario["network"] = {"leaf_spine": shape, "reducers": [{"switches": "*", "link": FAST}]}
    assert set(xoff.run(scenario).messages["dst"].to_pylist()) == {"leaf1.reducer", "host4", "host5", "host6"}
    scenario["workload"][0]["collective"]["hosts"] = [0, 5]
    assert "spine0.reducer" in set(xoff.run(scenario).messages["dst"].to_pylist())
    del scenario["network"]["reducers"]
    for connections in ("persistent", "per_message"):
        scenario["workload"][0]["connections"] = connections
        with pytest.raises(xoff.InputError, match=r"workload\[0\]\.collective\.algorithm: no reducer can be reached"):
            xoff.check(scenario)
    for reducers, why in [
        ([{"switches": "host*", "link": FAST}], r"network\.reducers\[0\]\.switches: no switch is called `host\*`"),
        (
            2 * [{"switches": "spine0", "link": FAST}],
            r"network\.reducers\[1\]\.switches: `spine0\.reducer` exists already",
        ),
    ]:
        scenario["network"]["reducers"] = reducers
        with pytest.raises(xoff.InputError, match=why):
            xoff.check(scenario)
    scenario["network"]["reducers"] = [{"switches": "spine0", "link": FAST}]
    scenario["workload"] = [{"flows": [{"src": 0, "dst": "spine0.reducer", "size": "1KB"}]}]
    with pytest.raises(xoff.InputError, match=r"flows\[0\]\.dst: `spine0\.reducer` reduces in a switch"):
        xoff.check(scenario)


def test_a_job_s_critical_path_goes_through_the_switch_that_reduces() -> None:
    result = xoff.run(reducing({**ALL_REDUCE, "chunk": "4MB"}))
    [job] = jobs(result)
    path = job.path()
    assert sum(step.ps for step in path) == job.total_ps == measured_of(result)["time_ps"]
    assert {step.message["to_rank"] for step in path if step.message} >= {8}


def test_the_groups_of_a_training_job_take_switches_that_reduce() -> None:
    """Replicas with ZeRO reduce and gather, tensor-parallel ranks sum up; a wrong choice is said with its key."""
    scenario = star(8, ALL_REDUCE)
    training: dict[str, Any] = {
        "model": {"layers": 2, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 100},
        "parallel": {"tensor": 2, "data": 4, "zero": 1},
        "compute": {"peak": 1e12},
        "collectives": {"tensor": "in_network", "data": "in_network"},
    }
    scenario["workload"] = [{"training": training}]
    with pytest.raises(xoff.InputError, match=r"training\.collectives\.tensor: no reducer can be reached"):
        xoff.check(scenario)
    scenario["network"]["reducers"] = [{"switches": "*", "link": FAST}]
    result = xoff.run(scenario)
    assert {row["algorithm"] for row in result.collectives.to_pylist()} == {"in_network"}
    assert {row["operation"] for row in result.collectives.to_pylist()} == {
        "all_reduce",
        "reduce_scatter",
        "all_gather",
    }
    assert result.summary["workloads"]["training"]["job"]["ranks"] == 8
    assert all(
        8 in pair for pair in zip(*(result.messages[end].to_pylist() for end in ("rank", "to_rank")), strict=True)
    )


def measured_of(result: xoff.Result) -> dict[str, Any]:
    return dict(result.collectives.to_pylist()[0])


@pytest.mark.parametrize(
    ("collective", "ranks", "why"),
    [
        ({**ALL_REDUCE, "algorithm": "halving_doubling"}, 6, "a power of two of ranks; 6 were given; use ring"),
        (
            {**ALL_REDUCE, "algorithm": "direct"},
            4,
            "all_reduce has no algorithm `direct`; allowed are ring, double_tree",
        ),
        ({**ALL_REDUCE, "algorithm": "hierarchical"}, 4, r"collective\.group: missing"),
        ({**ALL_REDUCE, "algorithm": "hierarchical", "group": 3}, 8, r"collective\.group: 3 is out of range; 8 ranks"),
        ({**ALL_REDUCE, "hosts": [1]}, 4, r"collective\.hosts: a collective needs two ranks or more"),
        ({**ALL_REDUCE, "size": "3B"}, 4, r"collective\.size: 3B is too small"),
        ({**ALL_REDUCE, "chunk": "0B"}, 4, r"collective\.chunk: 0 is out of range"),
        ({**ALL_REDUCE, "chunk": "1B", "size": "1TB"}, 4, "too many messages"),
    ],
)
def test_what_makes_no_sense_is_refused(collective: dict[str, Any], ranks: int, why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(star(ranks, collective))


def test_a_summary_says_how_fast_collectives_were() -> None:
    """By workload: the slowest of several collectives of one name, and no value for an unfinished collective."""
    rings = [{"name": "ring", "collective": {**ALL_REDUCE, "size": size}} for size in ("8MB", "80KB")]
    other = {"incast": {"receiver": 0, "senders": [1], "size": "1KB"}, "start": "10ms"}
    document = {**star(8, ALL_REDUCE), "workload": [rings[0], {**rings[1], "start": "5ms"}, other]}
    result = xoff.run(document)
    slow, fast = sorted(result.collectives.to_pylist(), key=lambda row: row["bus_bps"])
    assert slow["bus_bps"] < fast["bus_bps"]
    workloads = result.summary["workloads"]
    keys = ("time_ps", "algorithm_bps", "bus_bps", "algorithm", "protocol", "channels", "predicted_ps")
    assert workloads["ring"]["collective"] == {key: slow[key] for key in keys}
    assert "collective" not in workloads["incast"]
    found = metrics(result.summary)
    assert found["ring_collective_bus_bps"] == slow["bus_bps"]
    assert set(found) <= possible(result.scenario)
    assert "incast_collective_bus_bps" not in possible(result.scenario)
    assert f"{slow['bus_bps'] / 1e9:.1f} Gb/s" in dict(result.rows())["ring: time, bus bandwidth"]
    cut = xoff.run({**document, "until": "100us"})
    unfinished = cut.summary["workloads"]["ring"]["collective"]
    assert [unfinished[key] for key in ("time_ps", "algorithm_bps", "bus_bps")] == [None, None, None]
    assert dict(cut.rows())["ring: time, bus bandwidth"] == "not completed"
