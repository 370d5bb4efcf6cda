"""Credits of links against arithmetic: the knee of the window, and the throughput of smaller windows.

A packet's credits return after its transmission, propagation, the switch's latency, and the return of an update of 8 B.
With n packets in a window, n packets leave in each such round trip, or all packets once n packets take as long as the
round trip.
"""

from typing import Any

import pytest
from tests.validation.long_flows import CONTROL, WIRE, delivered_gbps, to_one, until
from tests.validation.test_audits import recorded, ring, violations

import xoff
from xoff.insight import Forest, breakdowns

PS_A_BYTE = 80
"""At 100 Gb/s."""
PACKET_PS = WIRE * PS_A_BYTE
UPDATE_PS = 8 * PS_A_BYTE
BLOCK = {"absolute": 64, "cbfc": 128}
# Of a full packet of 1048 B.
BLOCKS = {"absolute": 17, "cbfc": 9}
# Counters never wrap to an earlier value in these runs.
QUIET: dict[str, Any] = {"refresh_interval": "1s"}
RAW: dict[str, Any] = {"transport": {"raw": {}}}


def window(packets: int, scheme: str = "absolute") -> str:
    """Room for the given number of full packets."""
    return f"{packets * BLOCKS[scheme] * BLOCK[scheme]}B"


def lone(packets: int, *, delay_us: float = 1.0, switch_ns: int = 0, lose: int = 0, **credits: Any) -> dict[str, Any]:
    """One flow from host 1 to host 0 through a switch."""
    switch: dict[str, Any] = {"forwarding_latency": f"{switch_ns}ns", "flow_control": {"credits": credits}}
    switch["faults"] = {"lose_credit_updates": lose}
    scenario = to_one(1, delay_us, switch=switch)
    return scenario | {"workload": [{"flows": [{"src": 1, "dst": 0, "size": f"{packets * 1000}B"}]}]}


def credit_round_trip_ps(delay_us: float = 1.0, switch_ns: int = 0) -> int:
    return PACKET_PS + 2 * round(delay_us * 1e6) + switch_ns * 1000 + UPDATE_PS


def fct_ps(scenario: dict[str, Any]) -> int:
    (row,) = xoff.run(scenario).flows.to_pylist()
    return int(row["fct_ps"])


def expected_ps(packets: int, in_window: int, delay_us: float = 1.0, switch_ns: int = 0) -> int:
    """The start of the last packet, and its path: n packets one after another in each round trip of credits."""
    rounds, place = divmod(packets - 1, in_window)
    period = max(in_window * PACKET_PS, credit_round_trip_ps(delay_us, switch_ns))
    way = 2 * (PACKET_PS + round(delay_us * 1e6)) + switch_ns * 1000
    return rounds * period + place * PACKET_PS + way


@pytest.mark.parametrize("scheme", ["absolute", "cbfc"])
@pytest.mark.parametrize("in_window", [1, 2, 3, 10, 23, 24, 25, 26, 60])
def test_the_knee_is_where_a_window_takes_as_long_as_its_credits(scheme: str, in_window: int) -> None:
    """2084.48 ns are 24.9 packets: 24 of them wait, and 25 never do; the moment is exact on either side.

    A thousand packets are 17,000 blocks of 64 B: the counters of 12 bits go round four times.
    """
    assert 24 * PACKET_PS < credit_round_trip_ps() < 25 * PACKET_PS
    credits: dict[str, Any] = {
        "scheme": scheme,
        "window": window(in_window, scheme),
        "update_interval_bytes": "0B",
        **QUIET,
    }
    result = xoff.run(lone(1000, **credits))
    (row,) = result.flows.to_pylist()
    assert row["fct_ps"] == expected_ps(1000, in_window)
    # The sender waits after each window's last packet. The switch never waits, since its packets arrive no faster.
    paused = {row["node"] for row in result.pauses.to_pylist() if row["end_ps"] > row["start_ps"] + PACKET_PS}
    assert paused == ({"host1"} if in_window < 25 else set())


@pytest.mark.parametrize(("delay_us", "switch_ns"), [(0.0, 0), (0.2, 0), (1.0, 700), (4.5, 0)])
def test_the_round_trip_of_credits_is_that_of_the_link_and_the_switch(delay_us: float, switch_ns: int) -> None:
    knee = -(-credit_round_trip_ps(delay_us, switch_ns) // PACKET_PS)
    for in_window in {max(knee - 1, 1), knee}:
        scenario = lone(500, delay_us=delay_us, switch_ns=switch_ns, window=window(in_window), **QUIET)
        # The link to host 0 has a round trip no longer than the link of host 1, and never waits.
        assert fct_ps(scenario) == expected_ps(500, in_window, delay_us, switch_ns)


@pytest.mark.parametrize("packets", [1, 4])
def test_a_window_counts_whole_blocks(packets: int) -> None:
    """All but a byte of another packet's blocks are worth nothing, and a byte less than a block is worth a packet."""
    assert fct_ps(lone(100, window=f"{(packets * 17 + 17) * 64 - 1}B", **QUIET)) == expected_ps(100, packets)
    if packets > 1:
        assert fct_ps(lone(100, window=f"{packets * 17 * 64 - 1}B", **QUIET)) == expected_ps(100, packets - 1)


def test_what_a_packet_takes_beside_its_bytes_is_counted() -> None:
    """1048 B and 40 B of overhead are 17 blocks of 64 B, with 41 B 18 blocks; ten packets of 17 are nine of 18."""
    credits: dict[str, Any] = {"window": f"{170 * 64}B", **QUIET}
    assert fct_ps(lone(100, overhead=40, **credits)) == expected_ps(100, 10)
    assert fct_ps(lone(100, overhead=41, **credits)) == expected_ps(100, 9)


def test_twelve_bits_are_too_few_for_a_long_fast_link() -> None:
    """2048 blocks of 64 B are 120 packets: at 400 Gb/s a link of 1.18 us carries line rate, and a link of 2 us 60 %."""
    packet_ps = WIRE * 20
    rates = []
    for delay_us in (1.18, 2.0):
        scenario = to_one(1, delay_us, gbps=400, switch={"flow_control": {"credits": QUIET}}, host=RAW)
        rates.append(delivered_gbps(scenario, 200, 600))
        warned = [w for w in xoff.check(scenario)["warnings"] if w["path"] == "switch.flow_control.credits.window"]
        assert [("128KiB" in w["message"]) for w in warned] == ([] if delay_us < 1.2 else [True])
    round_trip_ps = packet_ps + 2 * 2_000_000 + 8 * 20
    assert rates[0] == pytest.approx(400, rel=1e-3)
    assert rates[1] == pytest.approx(400 * 120 * packet_ps / round_trip_ps, rel=1e-2)


def test_counters_go_round() -> None:
    """With blocks of one byte 20 bits overflow after a thousand packets."""
    credits: dict[str, Any] = {"scheme": "cbfc", "block": "1B", "update_interval_bytes": "0B", **QUIET}
    for in_window in (3, 40):
        assert fct_ps(lone(5000, window=f"{in_window * WIRE}B", **credits)) == expected_ps(5000, in_window)


def test_the_computed_window_is_enough_both_ways_and_a_packet_less_is_not() -> None:
    """With the default window, data flows in both directions, so that updates wait behind packets."""
    scenario = to_one(1, 1.0, switch={"flow_control": {"credits": QUIET}}, host=RAW)
    both = [{"src": 1, "dst": 0, "size": "1GB"}, {"src": 0, "dst": 1, "size": "1GB"}]
    scenario["workload"] = [{"flows": both}]
    assert xoff.check(scenario)["warnings"] == []
    # 1048 B, twice, an update, and 2 us: 26 packets. Updates for every packet take 8 of 1056 bytes.
    assert delivered_gbps(scenario, 200, 1200) == pytest.approx(100 * WIRE / (WIRE + 8), rel=1e-3)
    scenario["switch"]["flow_control"]["credits"] = {"window": window(26), **QUIET}
    assert xoff.check(scenario)["warnings"] == []
    scenario["switch"]["flow_control"]["credits"] = {"window": window(25), **QUIET}
    (warning,) = xoff.check(scenario)["warnings"]
    assert warning["path"] == "switch.flow_control.credits.window"
    assert f"27200B is below the {26 * 17 * 64}B" in warning["message"]


def test_updates_keep_their_distance() -> None:
    """With 6400 B between updates there is one update for six packets, and the knee is later by as much."""
    scenario = to_one(1, 1.0, switch={"flow_control": {"credits": {"scheme": "cbfc", **QUIET}}}, host=RAW)
    result = until(scenario, 1000)
    # Two links, each with an update for 6400 B.
    assert result.summary["credits"]["updates"] == pytest.approx(2 * 1000 * 12_500 / 6400, rel=1e-2)
    assert delivered_gbps(scenario, 200, 1200) == pytest.approx(100, rel=1e-3)
    # 25 packets carry all with an update for each; the same in bursts wait for up to 512 ns more.
    few = {"scheme": "cbfc", "window": window(25, "cbfc"), **QUIET}
    less = to_one(1, 1.0, switch={"flow_control": {"credits": few}}, host=RAW)
    longest_ps = credit_round_trip_ps() + 6400 * PS_A_BYTE
    assert 100 * 25 * PACKET_PS / longest_ps < delivered_gbps(less, 200, 1200) < 99


def test_the_window_of_a_link_of_100_m_at_400_gbps_is_507_credits() -> None:
    """C·(2·500 ns + 6400 B/C) and two packets of 33 credits: 50,000 + 6400 + 2·4224 B.

    The window holds 15 packets. The throughput of ten packets is between the bounds set by the spacing of updates.
    """
    scenario = to_one(1, 0.5, gbps=400, switch={"flow_control": {}}, host=RAW, framing={"payload": "4102B"})

    def rate(credits: int) -> float:
        control = {"scheme": "cbfc", "window": f"{credits * 128}B", **QUIET}
        scenario["switch"]["flow_control"]["credits"] = control
        return delivered_gbps(scenario, 200, 700)

    packet_ps, spacing_ps = 4150 * 20, 6400 * 20
    round_trip_ps = packet_ps + 1_000_000 + 8 * 20
    assert 14 * packet_ps < round_trip_ps + spacing_ps < 15 * packet_ps
    assert rate(507) == pytest.approx(400, rel=1e-3)
    assert 400 * 10 * packet_ps / (round_trip_ps + spacing_ps) < rate(330) < 400 * 10 * packet_ps / round_trip_ps


@pytest.mark.parametrize("scheme", ["absolute", "cbfc"])
@pytest.mark.parametrize("in_window", [4, 40])
def test_the_next_update_says_what_a_lost_one_did(scheme: str, in_window: int) -> None:
    """Each node loses three updates. Counters are absolute, so that the fourth update returns all credits."""
    credits: dict[str, Any] = {
        "scheme": scheme,
        "window": window(in_window, scheme),
        "update_interval_bytes": "0B",
        **QUIET,
    }
    whole, lossy = fct_ps(lone(1000, **credits)), fct_ps(lone(1000, **credits, lose=3))
    # With a window of four the host has one packet left to send, and the packet's update carries the full count.
    assert 0 <= lossy - whole <= (0 if in_window == 40 else credit_round_trip_ps() + 4 * PACKET_PS)


def test_a_sender_without_credits_asks_again() -> None:
    """No update follows the lost update of a one-packet window: the host repeats its count, and gets a new update."""
    credits: dict[str, Any] = {"window": window(1), "refresh_interval": "10us"}
    whole, lossy = fct_ps(lone(100, **credits)), fct_ps(lone(100, **credits, lose=1))
    # Host 1 first sent at 0, so that its count leaves at 10 us. Toward host 0 credits have recovered by then.
    assert lossy - whole == 10_000_000 + 2 * (UPDATE_PS + 1_000_000) - credit_round_trip_ps()


@pytest.mark.parametrize("scheme", ["absolute", "cbfc"])
@pytest.mark.parametrize("switch_ns", [0, 700])
def test_credits_of_packets_that_were_lost_come_back(scheme: str, switch_ns: int) -> None:
    """Three packets vanish at an input: the window is smaller by three packets until the sender repeats its count.

    No more credits than the lost ones return, though data is in flight all the time: a count overtakes no data sent
    before the count. Afterwards flows take their usual time.
    """
    credits: dict[str, Any] = {
        "scheme": scheme,
        "window": window(8, scheme),
        "update_interval_bytes": "0B",
        "refresh_interval": "40us",
    }
    scenario = lone(3000, switch_ns=switch_ns, **credits)
    scenario["switch"]["faults"] = {"vanish": 3}
    later = {"src": 1, "dst": 0, "size": "500KB", "start": "50ms"}
    scenario["workload"][0]["flows"].append(later)
    result, failed = violations(scenario)
    assert list(failed) == ["conservation"]
    assert result.summary["credits"]["recovered"] == 3 * BLOCKS[scheme]
    assert result.summary["flows"]["completed"] == 2
    plain = xoff.run({**scenario, "switch": {**scenario["switch"], "faults": {}}})
    last, other = (next(r for r in each.flows.to_pylist() if r["start_ps"] > 0) for each in (result, plain))
    assert last["fct_ps"] == other["fct_ps"]


def test_a_lost_window_is_lost_until_the_count_is_repeated() -> None:
    """A window of one packet is empty when the packet vanishes: the next packet leaves after 40 us."""
    scenario = lone(1, window=window(1), refresh_interval="40us")
    scenario["switch"]["faults"] = {"vanish": 1}
    scenario["workload"][0]["flows"].append({"src": 1, "dst": 0, "size": "1000B", "start": "5us"})
    result, _ = violations(scenario)
    (second,) = (row for row in result.flows.to_pylist() if row["start_ps"] == 5_000_000)
    # The first packet starts at 0; at 40 us the count goes out, and the update comes back: 8 B each way.
    freed_ps = 40_000_000 + 2 * (UPDATE_PS + 1_000_000)
    assert second["start_ps"] + second["fct_ps"] == freed_ps + 2 * (PACKET_PS + 1_000_000)


FABRIC = {"leaf_spine": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": {"rate": "100Gbps", "delay": "1us"}}}
MIXED = [
    {"poisson": {"load": 0.6, "sizes": "hadoop", "flows": 300}},
    {"incast": {"senders": [5, 6, 7, 9, 10, 11], "receiver": 0, "size": "200KB"}},
]


@pytest.mark.parametrize("queueing", ["oq", "iq", "voq"])
@pytest.mark.parametrize(
    ("scheme", "classes", "per_port"), [("absolute", 1, 40_000), ("cbfc", 1, 40_000), ("absolute", 3, 60_000)]
)
def test_nothing_is_dropped_and_no_input_holds_more_than_its_window(
    scheme: str, classes: int, per_port: int, queueing: str
) -> None:
    """The whole buffer is the window: the buffer becomes full, never overflows, and needs no headroom of PFC."""
    workload = [{**MIXED[0], "class": classes - 1}, MIXED[1]]
    switch = {"classes": classes, "queueing": queueing, "buffer": {"per_port": f"{per_port}B"}}
    switch["flow_control"] = {"credits": {"scheme": scheme}}
    result = xoff.run({"network": FABRIC, "switch": switch, "workload": workload})
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["drops"] == 0
    peaks = [row["bytes"] for row in result.high_water.to_pylist() if row["kind"] == "ingress"]
    room = per_port // classes // BLOCK[scheme] * BLOCK[scheme]
    assert 0.8 * room < max(peaks) <= room
    pauses = result.pauses.to_pylist()
    assert {row["cause"] for row in pauses} == {"credits"}
    assert len(pauses) == result.summary["credits"]["waits"]
    assert sum(row["end_ps"] - row["start_ps"] for row in pauses) == result.summary["credits"]["paused_ps"]


def test_classes_have_credits_of_their_own() -> None:
    """A class without credits leaves the line to another; PFC's pauses would do the same."""
    scenario = to_one(3, 1.0, switch={"classes": 2, "flow_control": {"credits": {}}}, host=RAW)
    explicit = scenario["network"]["explicit"]
    explicit["nodes"].append({"name": "idle", "kind": "host"})
    explicit["links"].append({"a": "idle", "b": "switch0", "rate": "100Gbps", "delay": "1us"})
    scenario["workload"].append({"flows": [{"src": "host1", "dst": "idle", "size": "1MB"}], "class": 1})
    result = until(scenario, 500)
    (free,) = (row for row in result.flows.to_pylist() if row["dst"] == "idle")
    # The class is served first, so that the incast costs the class only packets in transmission, and updates.
    assert free["fct_ps"] == pytest.approx(1000 * PACKET_PS + 2_000_000, rel=0.02)
    (host,) = (row for row in result.links.to_pylist() if row["node"] == "host1")
    assert host["paused_ps"] > 100_000_000


def test_a_ring_without_enough_room_deadlocks_as_under_pfc() -> None:
    """Each link waits for credits of the next: `check` finds the cycle, and the run finds the deadlock."""
    scenario = ring(3)
    scenario["switch"] = {
        "forwarding_latency": "300ns",
        "buffer": {"per_port": "50KB"},
        "flow_control": {"credits": {}},
    }
    checked = xoff.check(scenario)
    assert checked["deadlock"]["possible"]
    assert any(w["message"].startswith("credits can deadlock") for w in checked["warnings"])
    result, failed = violations(scenario)
    assert list(failed) == ["deadlock"]
    assert "s0 port 1 (to s1), class 0 → s1" in failed["deadlock"]
    assert {row["cause"] for row in result.pauses.to_pylist() if row["end_ps"] is None} == {"credits"}
    # 50 KB are 781 blocks, and 48 packets of 1000 B take 16 each: the capacity of an input that never drains.
    peaks = [row["bytes"] for row in result.high_water.to_pylist() if row["kind"] == "ingress"]
    assert max(peaks) == 48_000
    _, carried = recorded(scenario | {"audits": {"deadlock": "record", "completion": "record"}, "until": "3ms"})
    assert "deadlock" in carried


def test_waiting_for_credits_is_a_pause_by_the_node_that_has_no_room() -> None:
    """Two hosts fill the switch toward a third: both wait for the switch's output."""
    scenario = to_one(2, 1.0, switch={"flow_control": {"credits": {}}})
    scenario["workload"] = [{"incast": {"senders": [1, 2], "receiver": 0, "size": "500KB"}}]
    result = xoff.run(scenario | {"probe": {"delays": "all"}})
    rows = [row for row in result.pauses.to_pylist() if row["node"] in ("host1", "host2")]
    assert rows
    assert {(row["cause"], row["origin"]) for row in rows} == {("credits", "switch0")}
    forest = Forest(result)
    for breakdown in breakdowns(result, forest):
        paused = [part for part in breakdown.parts if part.kind == "paused"]
        assert {part.mechanism for part in paused} == {"credits"}
        assert sum(part.ps for part in paused) > breakdown.total_ps / 4
    roots = {(tree.root.node, tree.root.port, tree.root.cause) for tree in forest.trees}
    assert roots == {("switch0", 0, "credits")}


@pytest.mark.parametrize(
    ("credits", "switch", "why"),
    [
        ({"block": "0B"}, {}, "credits.block: 0B is out of range"),
        ({"block": "1B", "scheme": "absolute"}, {}, r"credits.window: 20KB is out of range; .* 1048B, to 2KiB"),
        ({"window": "1000B"}, {}, "credits.window: 1KB is out of range; allowed are a packet's blocks, 1088B, to"),
        ({"window": "131136B"}, {}, "to 128KiB"),
        ({"overhead": 200}, {}, "credits.overhead: 200 is out of range"),
        ({"update_interval_bytes": "2MiB"}, {}, "credits.update_interval_bytes: 2MiB is out of range"),
        ({"refresh_interval": "1ns"}, {}, "credits.refresh_interval: 1ns is out of range"),
        ({}, {"flow_control": {"pfc": {}}}, "credits: mutually exclusive with pfc"),
        ({}, {"flow_control": {"bfc": {}}}, "bfc: mutually exclusive with credits"),
        ({}, {"flow_control": {"portfc": {}}}, "portfc: mutually exclusive with credits"),
        ({}, {"trimming": {"limit": "20KB"}}, "trimming: mutually exclusive with credits"),
        (
            {},
            {"flow_control": {"congestion_isolation": {"low": "1KB", "high": "2KB"}}, "classes": 2},
            "assigns other queues",
        ),
        ({}, {"buffer": {"shared": {"total": "1MB"}}}, "credits: not allowed with a shared switch.buffer"),
        ({}, {"buffer": {"per_port": "19999B"}}, "20KB exceeds the share of a class in the memory of the port"),
        ({"window": None}, {"buffer": {"per_port": "3KB"}, "classes": 3}, "is below a packet of 17 blocks of 64 B"),
    ],
)
def test_what_makes_no_sense_is_refused(credits: dict[str, Any], switch: dict[str, Any], why: str) -> None:
    table = {key: value for key, value in ({"window": "20000B"} | credits).items() if value is not None}
    control = {"credits": table, **switch.get("flow_control", {})}
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(to_one(2, 1, switch={**switch, "flow_control": control}))


def test_frames_are_eight_bytes_and_what_a_cbfc_sender_repeats_a_whole_one() -> None:
    sizes = {}
    for scheme in BLOCK:
        credits: dict[str, Any] = {"scheme": scheme, "window": window(2, scheme), "refresh_interval": "10us"}
        result = xoff.run(lone(50, **credits) | {"probe": {"packets": True}})
        sizes[scheme] = {row["bytes"] for row in result.table("packets").to_pylist() if row["kind"] == "credits"}
    assert sizes == {"absolute": {8}, "cbfc": {8, CONTROL}}
