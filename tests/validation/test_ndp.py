"""NDP against arithmetic: a first window, and then a packet for each pull.

Pulls leave at the spacing of a packet on the receiver's line, 83.84 ns in these tests.
"""

from itertools import pairwise
from statistics import mean
from typing import Any

import pytest
from tests.validation.long_flows import CONTROL, WIRE, delivered_gbps, to_one
from tests.validation.test_delays import parts
from tests.validation.test_trimming import LIMIT, incast, slowest_us, wire_us
from tests.validation.traces import events

import xoff
from xoff.insight import breakdowns

PULL_US = wire_us(1, WIRE)
AWAY_US = 2 + 2 * wire_us(1, WIRE)
"""From the start of a packet to its arrival, over two links of 1 us."""


def ndp(scenario: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return scenario | {"host": {"transport": {"ndp": {"rate": 1.0} | settings}}}


def summed(result: xoff.Result) -> int:
    """The number of packets sent by sources, retransmissions included."""
    return sum(row["packets_sent"] for row in result.flows.to_pylist())


def alone_ps(packets: int, window: int) -> list[int]:
    """Returns the starts of a lone flow's packets: the first window back to back, each later packet at its pull.

    Pull n leaves once packet n has arrived and a spacing has passed since the preceding pull. A frame on the wire, the
    acknowledgement of a packet, goes first. The pull crosses two links.
    """
    packet, control, spacing = (round(us * 1e6) for us in (wire_us(1, WIRE), wire_us(1, CONTROL), PULL_US))
    away, back = 2_000_000 + 2 * packet, 2_000_000 + 2 * control
    starts = [packet * n for n in range(min(packets, window))]
    due = 0
    for n in range(packets - len(starts)):
        due = max(starts[n] + away, due + spacing)
        answers = (start + away for start in starts)
        pulled = next((at + control for at in answers if at <= due < at + control), due)
        starts.append(max(pulled + back, starts[-1] + packet))
    return starts


@pytest.mark.parametrize(
    ("packets", "window"), [(15, 15), (16, 15), (45, 15), (100, 7), (3, 1), (300, 30), (1000, 48), (1000, 100)]
)
def test_a_lone_flow_goes_when_it_is_pulled(packets: int, window: int) -> None:
    """To the picosecond: windows follow a round trip after one another, or fill the round trip."""
    expected = alone_ps(packets, window)[-1] / 1e6 + AWAY_US
    result = xoff.run(ndp(incast(1, packets), window=window))
    assert slowest_us(result) == pytest.approx(expected, abs=1e-7)
    # Remaining pulls are dropped at the last packet.
    assert packets - window <= result.summary["ndp"]["pulls"] < packets


def test_pulls_keep_their_distance_and_flows_take_turns() -> None:
    """To the picosecond, at the receiver; of two flows each is pulled once before the other."""
    probe = {"packets": True}
    result = xoff.run(ndp(incast(2, 100, probe=probe), window=60))
    pulls = [event for event in events(result, "host0", "pull") if event.event == "depart"]
    # Pulls start at the timer, or after an acknowledgement on the wire, which takes 5.12 ns.
    gaps = [second.time_ps - first.time_ps for first, second in pairwise(pulls)]
    middle = pulls[20:100]
    assert {event.flow for event in middle} == {0, 1}
    assert all(first.flow != second.flow for first, second in pairwise(middle))
    assert all(abs(gap - round(PULL_US * 1e6)) <= wire_us(1, CONTROL) * 1e6 for gap in gaps[20:100])
    exact = round(PULL_US * 1e6)
    assert sum(gaps[20:100]) == pytest.approx(80 * exact, abs=wire_us(1, CONTROL) * 1e6)
    # Pull numbers are cumulative per flow, from one on.
    for flow in (0, 1):
        numbers = [event.seq for event in pulls if event.flow == flow]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_burst_keeps_the_link_busy_until_all_is_there() -> None:
    """All packets leave unasked; trimmed packets are pulled, and the last arrives when all have passed.

    Pulls leave time for the headers of trimmed packets.
    """
    senders, packets = 2, 300
    result = xoff.run(ndp(incast(senders, packets), window=packets, rate=WIRE / (WIRE + CONTROL)))
    trimmed = result.summary["trimming"]["trimmed"]
    assert trimmed > packets
    expected = 2 + wire_us(1 + senders * packets, WIRE) + wire_us(trimmed, CONTROL)
    assert slowest_us(result) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("senders", [1, 4, 32])
def test_pulled_packets_fill_the_link(senders: int) -> None:
    scenario = ndp(to_one(senders, 1, switch={"trimming": {"limit": f"{LIMIT * WIRE}B"}}), window=100)
    found = delivered_gbps(scenario, 400, 800)
    assert found == pytest.approx(100, rel=1e-3)


@pytest.mark.parametrize("rate", [0.99, 0.5])
def test_a_host_pulls_no_more_than_its_share(rate: float) -> None:
    scenario = ndp(to_one(2, 1, switch={"trimming": {"limit": f"{LIMIT * WIRE}B"}}), window=100, rate=rate)
    assert delivered_gbps(scenario, 400, 800) == pytest.approx(100 * rate, rel=2e-3)


@pytest.mark.parametrize("senders", [2, 16, 64])
def test_what_is_cut_is_pulled_again_and_nothing_else(senders: int) -> None:
    """Sent = delivered + cut; packets of the first windows go unasked, and each other has a pull of its own."""
    packets, window = 60, 15
    result = xoff.run(ndp(incast(senders, packets), window=window))
    summary = result.summary
    trimmed = summary["trimming"]["trimmed"]
    assert summary["drops"] == summary["transport"]["spurious_retransmissions"] == summary["trimming"]["bounced"] == 0
    assert summary["retransmitted"] == trimmed > 0
    assert summed(result) == packets * senders + trimmed
    assert summed(result) - window * senders <= summary["ndp"]["pulls"] <= summed(result)
    assert max(row["max_bytes"] for row in result.queues.to_pylist()) <= LIMIT * WIRE


def crowded(**trimming: Any) -> dict[str, Any]:
    """Sixty-three first windows into a queue of eight packets, where 25 headers find room."""
    switch = {"trimming": {"limit": f"{LIMIT * WIRE}B", "headers": f"{25 * CONTROL}B", **trimming}}
    return ndp(incast(63, 30, switch=switch), rto="1ms")


def test_headers_go_back_only_where_that_is_on() -> None:
    """Without return to sender headers are lost, and a timeout recovers; with return to sender every loss is known."""
    back, gone = xoff.run(crowded(return_to_sender=True)), xoff.run(crowded())
    trimming = back.summary["trimming"]
    assert 0 < trimming["bounced"] < trimming["trimmed"]
    assert back.summary["drops"] == back.summary["transport"]["spurious_retransmissions"] == 0
    # The headers of trimmed packets arrived or returned to the sender: sent = delivered + trimmed.
    assert summed(back) == 63 * 30 + trimming["trimmed"]
    assert back.summary["retransmitted"] == trimming["trimmed"]
    assert slowest_us(back) < 1000
    assert gone.summary["trimming"]["bounced"] == 0 < gone.summary["drops"]
    assert slowest_us(gone) > 1000
    # Headers with room do not return.
    roomy = xoff.run(crowded(return_to_sender=True, headers="1MB"))
    assert roomy.summary["trimming"]["bounced"] == 0 < roomy.summary["trimming"]["trimmed"]


def test_what_comes_back_does_not_come_again_at_once() -> None:
    """Senders that resend each returned packet at once would make a second burst; waiting for pulls avoids trimming."""
    waits = xoff.run(crowded(return_to_sender=True))
    selective = xoff.run(crowded(return_to_sender=True) | {"host": {"transport": {"selective": {"rto": "1ms"}}}})
    assert waits.summary["trimming"]["bounced"] < selective.summary["trimming"]["bounced"] / 2


def test_a_sprayed_permutation_fills_a_fat_tree() -> None:
    """Packets of 9 KB and queues of eight, as in the paper, which reports 92 %. With hashing, flows share links."""
    wire = 8936 + 48
    shares = {}
    routings: dict[str, dict[str, Any]] = {"sprayed": {"spray": {}}, "by flow": {}}
    for name, routing in routings.items():
        found = []
        for seed in (1, 2, 3):
            scenario = {
                "seed": seed,
                "network": {"fat_tree": {"k": 4, "link": {"rate": "100Gbps", "delay": "500ns"}}},
                "framing": {"payload": "8936B"},
                "switch": {"trimming": {"limit": f"{LIMIT * wire}B"}, "routing": routing},
                "workload": [{"permutation": {"size": f"{600 * 8936}B"}}],
            }
            rows = xoff.run(ndp(scenario, window=40)).flows.to_pylist()
            found += [wire_us(600, wire) / (row["fct_ps"] / 1e6) for row in rows]
        shares[name] = mean(found)
    assert shares["sprayed"] > 0.9
    assert shares["by flow"] < 0.75


def test_time_without_a_pull_has_its_name() -> None:
    """A flow of two windows: the flow sends its first window, and waits for pulls in the remaining time."""
    packets, window = 30, 15
    scenario = ndp(incast(1, packets, probe={"delays": "all"}), window=window)
    [breakdown] = breakdowns(xoff.run(scenario))
    time = {kind: ps for _, kind, _, ps in parts(breakdown) if kind in ("transmission", "awaiting_pull")}
    sent_ps = round(wire_us(packets - 1, WIRE) * 1e6)
    assert time == {"transmission": sent_ps, "awaiting_pull": alone_ps(packets, window)[-1] - sent_ps}


def test_lost_packets_go_again_after_a_timeout() -> None:
    """Without trimming, dropped packets are not pulled: after its timeout a flow sends a first window again."""
    switch = {"buffer": {"per_queue": f"{LIMIT * WIRE}B"}}
    result = xoff.run(ndp(incast(4, 60, switch=switch), rto="200us"))
    assert result.summary["drops"] > 0
    assert result.summary["flows"]["completed"] == 4
    assert slowest_us(result) > 200
    assert set(result.audits.values()) == {"ok"}
    [warning] = [one for one in xoff.check(ndp(incast(4, 60, switch=switch)))["warnings"] if "ndp" in one["path"]]
    assert "switch.trimming" in warning["message"]


@pytest.mark.parametrize(
    ("host", "switch", "why"),
    [
        ({"transport": {"ndp": {"window": 0}}}, {}, "host.transport.ndp.window: must be above zero"),
        ({"transport": {"ndp": {"rate": 1.5}}}, {}, "host.transport.ndp.rate: 1.5 is out of range"),
        ({"transport": {"ndp": {"rto": "1ns"}}}, {}, "host.transport.ndp.rto: must be"),
        (
            {"transport": {"ndp": {}}, "congestion_control": {"dctcp": {}}},
            {},
            "host.congestion_control: dctcp is not allowed with ndp, whose receivers",
        ),
        (
            {},
            {"trimming": {"limit": "9KB", "return_to_sender": True}},
            "switch.trimming.return_to_sender: needs a limit",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(host: dict[str, Any], switch: dict[str, Any], why: str) -> None:
    with pytest.raises(xoff.InputError, match=why):
        xoff.check(incast(2, 3, host=host, switch=switch))
