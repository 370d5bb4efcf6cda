"""Packet trimming and a transport that reacts to trimming, against arithmetic.

A header leaves in place of its packet, so that a receiver's link is never idle while packets are outstanding: an incast
ends when all packets and all headers have passed the link. Trimmed packets equal retransmissions.
"""

from statistics import mean
from typing import Any

import pytest
from tests.validation.long_flows import CONTROL, WIRE, delivered_gbps

import xoff

LIMIT = 8
"""Packets of a queue, as of NDP."""


def incast(senders: int, packets: int, **more: Any) -> dict[str, Any]:
    """All begin at once, at line rate and without a window."""
    return {
        "network": {"star": {"hosts": senders + 1, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B"},
        "switch": {"trimming": {"limit": f"{LIMIT * WIRE}B"}},
        "host": {"transport": {"selective": {}}},
        "workload": [{"incast": {"senders": list(range(1, senders + 1)), "receiver": 0, "size": f"{packets * 1000}B"}}],
        **more,
    }


def wire_us(frames: int, size: int) -> float:
    """The time of frames on a link of 100 Gb/s."""
    return frames * size * 8 / 100_000


def slowest_us(result: xoff.Result) -> float:
    """Arrival of the last flow in µs."""
    return float(max(row["fct_ps"] for row in result.flows.to_pylist())) / 1e6


@pytest.mark.parametrize("senders", [2, 4])
def test_the_receivers_link_is_never_idle(senders: int) -> None:
    """From the first arrival to the last it carries all packets and all headers: to the picosecond."""
    packets = 300
    result = xoff.run(incast(senders, packets))
    trimmed = result.summary["trimming"]["trimmed"]
    assert trimmed > packets
    first = 2 + wire_us(1, WIRE)
    expected = first + wire_us(senders * packets, WIRE) + wire_us(trimmed, CONTROL)
    assert slowest_us(result) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("turns", [1, 10, 255])
def test_headers_leave_data_its_turns(turns: int) -> None:
    """Sixteen senders at line rate forever: with 15 headers before a packet, 15 of each 16 packets are trimmed.

    Beyond 15 turns, headers arrive faster than headers leave, until acknowledgements are missing; data still has its
    share.
    """
    switch = {"trimming": {"limit": f"{LIMIT * WIRE}B", "turns": turns}}
    scenario = incast(16, 1_000_000, switch=switch)
    found = delivered_gbps(scenario, 50, 150)
    assert found >= 100 * WIRE / (WIRE + turns * CONTROL) * 0.99
    if turns == 10:
        assert found == pytest.approx(100 * WIRE / (WIRE + turns * CONTROL), rel=0.02)


def test_senders_that_do_not_slow_down_are_served_all_the_same() -> None:
    """Small packets on short links, and headers a quarter of their size: with all headers first no flow would end."""
    scenario = incast(9, 10)
    scenario["network"]["star"]["link"] = {"rate": "40Gbps", "delay": "2500ps"}
    scenario["framing"] = {"payload": "300B", "header": "0B", "preamble_and_ifg": "20B"}
    scenario["switch"] = {"trimming": {"limit": "960B"}}
    assert xoff.run(scenario).summary["flows"]["completed"] == 9


@pytest.mark.parametrize("senders", [2, 16])
def test_what_is_cut_is_sent_again_and_nothing_else(senders: int) -> None:
    """Every loss is known: sent = delivered + trimmed, without a timeout."""
    result = xoff.run(incast(senders, 40))
    summary = result.summary
    flows = result.flows.to_pylist()
    assert summary["drops"] == 0
    assert summary["retransmitted"] == summary["trimming"]["trimmed"] > 0
    assert sum(row["packets_sent"] for row in flows) == 40 * senders + summary["trimming"]["trimmed"]
    assert summary["transport"]["spurious_retransmissions"] == 0
    assert max(row["max_bytes"] for row in result.queues.to_pylist()) <= LIMIT * WIRE


def test_the_first_burst_is_cut_as_a_fluid_is() -> None:
    """Rounds of a packet from each sender, in the time of one packet on the link: all is known before any answer.

    The link serves s packets and the headers of what is cut in that time, s·1048 + cut·64 = rounds·1048, and the queue
    keeps eight: cut = N·rounds − s − 8, as long as headers go first.
    """
    senders, rounds = 10, 20
    first_us, all_us = 2 + 2 * wire_us(1, WIRE), wire_us(rounds, WIRE)
    switch = {"trimming": {"limit": f"{LIMIT * WIRE}B", "turns": 255}}
    result = xoff.run(incast(senders, rounds, switch=switch, until=f"{round((first_us + all_us) * 1000)}ns"))
    served = (rounds * WIRE - (senders * rounds - LIMIT) * CONTROL) / (WIRE - CONTROL)
    assert result.summary["trimming"]["trimmed"] == pytest.approx(senders * rounds - served - LIMIT, abs=2)


def test_the_buffer_may_set_the_limit() -> None:
    """Without a separate limit, a packet is trimmed if the buffer would drop it."""
    buffer = {"per_queue": f"{LIMIT * WIRE}B"}
    limited = xoff.run(incast(8, 40))
    cut = xoff.run(incast(8, 40, switch={"trimming": {}, "buffer": buffer}))
    dropped = xoff.run(incast(8, 40, switch={"buffer": buffer}))
    assert cut.fingerprint == limited.fingerprint
    assert (cut.summary["drops"], dropped.summary["trimming"]["trimmed"]) == (0, 0)
    assert dropped.summary["drops"] > 0
    assert slowest_us(cut) < slowest_us(dropped)


def test_headers_may_be_larger_than_answers() -> None:
    """The first round's headers of 256 B leave less of the link to packets."""
    sizes = [xoff.run(incast(4, 300, switch={"trimming": {"limit": "9KB", "size": f"{size}B"}})) for size in (64, 256)]
    for size, result in zip((64, 256), sizes, strict=True):
        expected = 2 + wire_us(1 + 4 * 300, WIRE) + wire_us(result.summary["trimming"]["trimmed"], size)
        assert slowest_us(result) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("transport", ["go_back_n", "irn"])
def test_other_transports_live_with_it(transport: str) -> None:
    """Go-Back-N treats a header as a gap; IRN finds the gap by later packets, or by its timeout."""
    result = xoff.run(incast(8, 40, host={"transport": {transport: {}}}))
    assert set(result.audits.values()) == {"ok"}
    assert result.summary["flows"]["completed"] == 8
    assert result.summary["retransmitted"] >= result.summary["trimming"]["trimmed"] > 0


def leaf_spine(transport: dict[str, Any], **switch: Any) -> dict[str, Any]:
    """A permutation over four paths, at most one flow a link: packets of a flow overtake one another."""
    link = {"rate": "100Gbps", "delay": "1us"}
    return {
        "network": {"leaf_spine": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "link": link}},
        "framing": {"payload": "1000B"},
        "switch": {"routing": {"spray": {}}, **switch},
        "host": {"transport": transport},
        "workload": [{"permutation": {"size": "500KB"}}],
    }


def test_disorder_costs_nothing() -> None:
    """Without losses nothing is retransmitted; IRN treats overtaken packets as lost."""
    selective, irn = xoff.run(leaf_spine({"selective": {}})), xoff.run(leaf_spine({"irn": {}}))
    assert selective.summary["retransmitted"] == 0 < irn.summary["retransmitted"]
    assert selective.summary["drops"] == irn.summary["drops"] == 0


def test_a_sprayed_permutation_fills_the_fabric() -> None:
    """Queues of eight packets, and unrestrained senders: random paths carry 85 % of the line and more.

    A hash of flows puts several flows on some links, and none on others.
    """
    sprayed = leaf_spine({"selective": {}}, trimming={"limit": f"{LIMIT * WIRE}B"})
    sprayed["workload"] = [{"permutation": {"size": "2MB"}}]
    by_flow = sprayed | {"switch": {"trimming": sprayed["switch"]["trimming"]}}
    flows = [xoff.run(scenario).flows.to_pylist() for scenario in (sprayed, by_flow)]
    shares = [wire_us(2000, WIRE) / mean(row["fct_ps"] / 1e6 for row in rows) for rows in flows]
    assert shares[0] > 0.85
    assert shares[1] < 0.75


@pytest.mark.parametrize("tolerance", [None, 3])
def test_a_loss_without_trimming_waits_for_the_timeout_or_for_what_comes_after(tolerance: int | None) -> None:
    """Short flows make a long flow lose packets; the long flow continues alone."""
    settings: dict[str, Any] = (
        {"rto": "500us"} if tolerance is None else {"rto": "500us", "reordering_threshold": tolerance}
    )
    buffer = {"per_queue": f"{LIMIT * WIRE}B"}
    scenario = incast(3, 1, switch={"buffer": buffer}, host={"transport": {"selective": settings}})
    short = [{"src": src, "dst": 0, "size": "30KB", "start": "5us"} for src in (1, 3)]
    scenario["workload"] = [{"flows": [{"src": 2, "dst": 0, "size": "900KB"}, *short]}]
    result = xoff.run(scenario)
    long = max(result.flows.to_pylist(), key=lambda row: row["size_bytes"])
    assert long["retransmitted"] > 0
    assert result.summary["drops"] > 0
    assert (long["fct_ps"] > 500_000_000) == (tolerance is None)


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (incast(2, 3, switch={"trimming": {"limit": "9KB", "turns": 0}}), "switch.trimming.turns: must be above zero"),
        (incast(2, 3, switch={"trimming": {}}), "switch.trimming.limit: missing"),
        (incast(2, 3, switch={"trimming": {"limit": "1000B"}}), "switch.trimming.limit: 1KB is too low"),
        (
            incast(2, 3, switch={"trimming": {"limit": "9KB"}, "flow_control": {"pfc": {"xoff": "9KB"}}}),
            "switch.trimming: mutually exclusive with pfc",
        ),
        (
            incast(2, 3, switch={"trimming": {"limit": "9KB", "size": "63B"}}),
            "switch.trimming.size: 63B is out",
        ),
        (incast(2, 3, switch={"trimming": {"limit": "9KB"}, "queueing": "iq"}), "switch.trimming: needs egress"),
        (incast(2, 3, host={"transport": {"raw": {}}}), "switch.trimming: host.transport.raw does not retransmit"),
    ],
)
def test_what_makes_no_sense_is_refused(scenario: dict[str, Any], why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(scenario)
