"""Hosts with a port in each of several planes: twice the bandwidth, and half of it after a failure."""

from itertools import product
from random import Random
from typing import Any

import pytest

import xoff
from xoff.conformance.runs import WAYS, same_however_it_runs

FRAME_PS = 80_000
"""A frame of 1000 B at 100 Gb/s; links take 1 us."""
WAY_PS = 2 * (FRAME_PS + 1_000_000)
PACKETS = 1000
CUT_PS = 10_000_001


def planes(
    count: int | None,
    faults: list[dict[str, Any]] | None = None,
    failover: dict[str, str] | None = None,
    *,
    transport: str = "raw",
    flows: int = 2,
) -> dict[str, Any]:
    """Equal flows from host 0 to host 1, each plane a switch without a delay; two leave by different planes."""
    network: dict[str, Any] = {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}}
    if count is not None:
        network["planes"] = count
    if failover:
        network["failover"] = failover
    return {
        "seed": 3,
        "network": network,
        "framing": {"payload": "952B", "header": "48B", "control_frame_size": "64B"},
        "host": {"transport": {transport: {}}},
        "workload": [{"flows": [{"src": "host0", "dst": "host1", "size": f"{PACKETS * 952}B"}] * flows}],
        "fault": faults or [],
    }


def sent_by_plane(result: xoff.Result) -> list[int]:
    """Data packets sent by host 0 through each of its ports."""
    rows = sorted((row["port"], row["data_packets"]) for row in result.links.to_pylist() if row["node"] == "host0")
    return [packets for _, packets in rows]


def switch_of(result: xoff.Result, flow: int) -> str:
    """The switch by which a flow goes."""
    via: str = result.flows["via"][flow].as_py()
    return via


def test_two_planes_carry_twice_what_one_does() -> None:
    one, two = xoff.run(planes(None)), xoff.run(planes(2))
    assert {switch_of(two, 0), switch_of(two, 1)} == {"p0.switch0", "p1.switch0"}
    assert one.flows["fct_ps"].to_pylist()[1] == 2 * PACKETS * FRAME_PS + WAY_PS - FRAME_PS
    assert two.flows["fct_ps"].to_pylist() == [PACKETS * FRAME_PS + WAY_PS - FRAME_PS] * 2


def test_one_plane_is_the_network_itself() -> None:
    assert xoff.run(planes(1)).fingerprint == xoff.run(planes(None)).fingerprint


def test_a_failed_plane_is_left_and_half_the_bandwidth_stays() -> None:
    whole = xoff.run(planes(2))
    gone = switch_of(whole, 1)
    cut = {"link": f"host0-{gone}", "state": "down", "at": f"{CUT_PS}ps"}
    result = xoff.run(planes(2, [cut], {"local_repair_delay": "5us"}))
    # Packets of flow 1 started before its link went down; the other plane carries the rest, and is never idle.
    before = -(-CUT_PS // FRAME_PS)
    rest = 2 * PACKETS - before
    assert sorted(sent_by_plane(result)) == [before, rest]
    # Flow 0 has its line alone until then, and half of its line afterwards.
    left_ps = CUT_PS + 5_000_000
    halved = PACKETS - left_ps / FRAME_PS
    half_ps = left_ps + 2 * halved * FRAME_PS + WAY_PS - FRAME_PS
    assert result.flows["fct_ps"][0].as_py() == pytest.approx(half_ps, abs=2 * FRAME_PS)
    assert result.audits["conservation"] == "ok"
    # Packets on the link are lost; a frame is on the link from its start until the arrival of its last bit.
    assert result.summary["fault"]["lost"] == before - (CUT_PS - FRAME_PS - 1_000_000) // FRAME_PS - 1
    same_however_it_runs(planes(2, [cut], {"local_repair_delay": "5us"}), result, WAYS)


def test_a_flow_goes_back_to_its_plane() -> None:
    gone = switch_of(xoff.run(planes(2)), 1)
    cut = {"link": f"host0-{gone}", "state": "down", "at": f"{CUT_PS}ps", "duration": "20us"}
    result = xoff.run(planes(2, [cut], {"local_repair_delay": "5us"}))
    # For 20 us, from 5 us after the cut to 5 us after the repair, two flows take turns at one port.
    moved = 20_000_000 / FRAME_PS / 2
    own, other = sorted(sent_by_plane(result))
    assert other - PACKETS == pytest.approx(moved, abs=1)
    assert own + other == 2 * PACKETS
    # Without failover the packet waits at its port.
    waits = xoff.run(planes(2, [cut]))
    assert sent_by_plane(waits) == [PACKETS] * 2


@pytest.mark.parametrize("end", ["host0", "host1"])
def test_all_hosts_leave_a_plane_that_fails_far_away_when_all_know(end: str) -> None:
    gone = switch_of(xoff.run(planes(2)), 1)
    cut = {"link": f"{end}-{gone}", "state": "down", "at": f"{CUT_PS}ps"}
    result = xoff.run(planes(2, [cut], {"convergence_time": "20us"}))
    by_plane = sorted(sent_by_plane(result))
    known_ps = CUT_PS + (0 if end == "host0" else 20_000_000)
    assert by_plane[0] == -(-known_ps // FRAME_PS)
    assert sum(by_plane) == 2 * PACKETS
    # Behind the switch all is lost until then.
    lost = result.summary["fault"]["lost"]
    assert lost == by_plane[0] - (CUT_PS - (1 if end == "host0" else 2) * (FRAME_PS + 1_000_000)) // FRAME_PS - 1
    same_however_it_runs(planes(2, [cut], {"convergence_time": "20us"}), result, WAYS)


@pytest.mark.parametrize("transport", ["go_back_n", "irn", "selective", "ndp"])
def test_flows_that_are_moved_complete_with_every_transport(transport: str) -> None:
    cut = {"link": "host0-p1.switch0", "state": "down", "at": "10us"}
    scenario = planes(2, [cut], {"local_repair_delay": "5us", "convergence_time": "50us"}, transport=transport, flows=8)
    result = xoff.run(scenario)
    assert result.summary["flows"]["completed"] == 8
    assert set(result.audits.values()) == {"ok"}
    same_however_it_runs(scenario, result, WAYS)


def test_a_plane_is_named_in_overrides_faults_and_errors() -> None:
    slow = planes(2)
    slow["network"]["overrides"] = [{"link": "host*-p1.*", "rate": "10Gbps"}]
    rates = {row["node"]: row["rate_bps"] for row in xoff.run(slow).links.to_pylist() if row["node"] != "host0"}
    assert (rates["p0.switch0"], rates["p1.switch0"]) == (100_000_000_000, 10_000_000_000)
    result = xoff.run(planes(2, [{"node": "p1.switch0", "state": "down", "at": "10us"}], {"local_repair_delay": "1us"}))
    assert result.summary["fault"]["lost"] > 0
    for count in (0, 65):
        with pytest.raises(xoff.InputError, match=r"network\.planes.*allowed are 1 to 64"):
            xoff.check(planes(count))
    relays = planes(2)
    relays["network"] = {"ndc": {"n": 2, "k": 1, "link": {"rate": "100Gbps", "delay": "1us"}}, "planes": 2}
    with pytest.raises(xoff.InputError, match=r"network\.planes.*relays"):
        xoff.check(relays)


LINK_PS_PER_BYTE = {"100Gbps": 80, "50Gbps": 160, "40Gbps": 200}


def over(rates: list[str], size_bytes: int, delays: list[str] | None = None, **flow: Any) -> dict[str, Any]:
    """Two hosts, joined by a switch for each rate."""
    delays = delays or ["500ns"] * len(rates)
    names = [f"s{i}" for i in range(len(rates))]
    nodes = [{"name": name, "kind": "host"} for name in ("a", "b")] + [{"name": s, "kind": "switch"} for s in names]
    links = [
        {"a": host, "b": switch, "rate": rate, "delay": delay}
        for switch, rate, delay in zip(names, rates, delays, strict=True)
        for host in ("a", "b")
    ]
    flows = [{"src": "a", "dst": "b", "size": f"{size_bytes}B", **flow}]
    return {
        "network": {"explicit": {"nodes": nodes, "links": links}},
        "framing": {"payload": "1000B", "header": "48B"},
        "workload": [{"flows": flows}],
    }


def ideal(scenario: dict[str, Any]) -> int:
    """Returns the ideal of the only flow, which is the same on the path taken and on the best."""
    row = xoff.run(scenario).flows.to_pylist()[0]
    assert row["ideal_fct_ps"] == row["best_path_ideal_fct_ps"]
    return int(row["ideal_fct_ps"])


PATH_PS = 2 * 500_000 + 83_840
"""Two links of 100 Gb/s and 500 ns, and the second transmission of a packet of 1,048 B."""


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        # 12,500 of 100,000 packets on each port.
        (["100Gbps"] * 8, 12_500 * 83_840 + PATH_PS),
        # One port is dead: 14,286 packets on the busiest.
        (["100Gbps"] * 7, 14_286 * 83_840 + PATH_PS),
        # A plane at half the rate: seven ports carry 13,334 packets each, and the slow one the 6,662 that are left.
        (["100Gbps"] * 7 + ["50Gbps"], 13_334 * 83_840 + PATH_PS),
    ],
)
def test_the_ideal_uses_all_ports(rates: list[str], expected: int) -> None:
    """The closed form of a flow over n ports: 100 MB, eight planes (docs/models/results.md)."""
    scenario = over(rates, 100_000_000)
    assert ideal(scenario) == expected
    # On one port the flow takes longer than its ideal by the ratio of their packets.
    row = xoff.run(scenario).flows.to_pylist()[0]
    assert row["slowdown"] == row["fct_ps"] / expected > 6


def test_routing_may_leave_one_port() -> None:
    """A pinned path, a rule for the first port, or a destination with one port."""
    one = 1_000 * 83_840 + PATH_PS
    scenario = over(["100Gbps"] * 2, 1_000_000)
    assert ideal(scenario) == 500 * 83_840 + PATH_PS
    assert ideal(over(["100Gbps"] * 2, 1_000_000, via=["s1"])) == one
    assert ideal(scenario | {"host": {"first_hop": "lowest"}}) == one
    explicit = over(["100Gbps"] * 2, 1_000_000)["network"]["explicit"]
    for link in explicit["links"]:
        link["b"] = link["b"] if link["a"] == "a" else "s0"
    explicit["links"][3] = {"a": "s1", "b": "s0", "rate": "100Gbps", "delay": "500ns"}
    explicit["links"].append({"a": "a", "b": "s0", "rate": "100Gbps", "delay": "500ns"})
    assert ideal(scenario | {"network": {"explicit": explicit}}) == one


def time_of(packets: list[int], rate: str, delay_ps: int) -> int:
    """Returns the arrival of the last of some packets over two equal links, store and forward."""
    first = second = 0
    for packet_bytes in packets:
        first += packet_bytes * LINK_PS_PER_BYTE[rate]
        second = max(second, first + delay_ps) + packet_bytes * LINK_PS_PER_BYTE[rate]
    return second + delay_ps


@pytest.mark.parametrize("seed", range(60))
def test_the_ideal_is_the_best_split_of_the_packets(seed: int) -> None:
    """All splits of a few packets over two or three ports, of which the ports send full packets before the last."""
    rng = Random(seed)
    count = rng.choice([2, 2, 3])
    rates = [rng.choice(list(LINK_PS_PER_BYTE)) for _ in range(count)]
    delays_ns = [rng.choice([10, 500, 900]) for _ in range(count)]
    if rng.random() < 0.3:
        rates, delays_ns = rates[:1] * count, delays_ns[:1] * count
    packets, last = rng.randint(1, 9), rng.choice([1, 16, 500, 1000])
    best = min(
        max(
            time_of([1048] * full + ([max(64, last + 48)] if port == owner else []), rate, 1000 * delay)
            for port, (full, rate, delay) in enumerate(zip(split, rates, delays_ns, strict=True))
            if full or port == owner
        )
        for split in product(range(packets), repeat=count)
        if sum(split) == packets - 1
        for owner in range(count)
    )
    assert ideal(over(rates, (packets - 1) * 1000 + last, [f"{delay}ns" for delay in delays_ns])) == best


def test_planes_that_are_too_many_are_refused_with_their_cause() -> None:
    link = {"rate": "400Gbps", "delay": "100ns"}
    shape = {"leaves": 1024, "spines": 4, "hosts_per_leaf": 32, "link": link}
    document = planes(2) | {"network": {"leaf_spine": shape, "planes": 2}, "workload": []}
    with pytest.raises(xoff.InputError, match=r"network\.planes: 32768 hosts with several links each need") as told:
        xoff.check(document)
    assert "like 2056 switches: 34824 nodes need" in str(told.value)
    assert "simulate one plane with its share of the traffic" in str(told.value)
