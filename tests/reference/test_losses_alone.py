"""Losses, Go-Back-N and marks of the slow reference simulator against closed forms, without xoff."""

import pytest
from reference.flow import ALL_OF_IT, Flow
from reference.simulator import Drop, simulate
from tests.reference.stars import (
    ACK_PS,
    DELAY_PS,
    HOP_PS,
    PACKET_PS,
    SWITCH_PS,
    WIRE_BYTES,
    arrivals,
    departures,
    flow,
    narrowing,
    star,
)

# A packet and an acknowledgement on the link of half the rate.
SLOW_PS = 2 * PACKET_PS
SLOW_ACK_PS = 2 * ACK_PS
# The first packet is at the switch, and starts on the slow link.
FIRST_PS = HOP_PS + SWITCH_PS
# From a packet's last bit at the receiver to its acknowledgement at the sender.
ANSWER_PS = SLOW_ACK_PS + DELAY_PS + SWITCH_PS + ACK_PS + DELAY_PS
# The path of a packet without waiting.
WAY_PS = FIRST_PS + SLOW_PS + DELAY_PS


@pytest.mark.parametrize("room", [1, 3, 10])
def test_a_gap_costs_the_way_back_and_the_way_there(room: int) -> None:
    # Packet 2 × room is the first to find the queue full. The last packet, behind it, finds room and shows the gap.
    lost, packets = 2 * room, 2 * room + 2
    result = simulate(narrowing(packets, buffer={"per_port": f"{room * WIRE_BYTES}B"}))
    assert result.drops == [Drop(FIRST_PS + lost * PACKET_PS, "s", 1, 0, lost)]
    # All preceding packets and the last packet leave the switch without a pause.
    gap_ps = FIRST_PS + (lost + 1) * SLOW_PS + DELAY_PS
    assert arrivals(result.trace, "host0", "nack", 0) == [gap_ps + ANSWER_PS]
    # Both are retransmitted, one behind the other, and the second waits for the slow link.
    assert departures(result.trace, "host0", "data", 0)[packets:] == [
        gap_ps + ANSWER_PS,
        gap_ps + ANSWER_PS + PACKET_PS,
    ]
    assert result.flows[0].fct_ps == gap_ps + ANSWER_PS + WAY_PS + SLOW_PS
    assert result.flows[0].fct_acked_ps == gap_ps + ANSWER_PS + WAY_PS + SLOW_PS + ANSWER_PS
    assert (result.flows[0].sent, result.flows[0].retransmitted) == (packets + 2, 2)


@pytest.mark.parametrize("rto_us", [10, 100, 4000])
def test_a_lost_tail_costs_a_timeout_after_the_last_news(rto_us: int) -> None:
    room = 3
    lost, packets = 2 * room, 2 * room + 1
    scenario = narrowing(packets, buffer={"per_port": f"{room * WIRE_BYTES}B"})
    if rto_us != 4000:  # which needs no saying
        scenario["host"] = {"transport": {"go_back_n": {"rto": f"{rto_us}us"}}}
    result = simulate(scenario)
    assert [drop.seq for drop in result.drops] == [lost]
    news_ps = FIRST_PS + lost * SLOW_PS + DELAY_PS + ANSWER_PS
    assert arrivals(result.trace, "host0", "ack", 0)[lost - 1] == news_ps
    assert departures(result.trace, "host0", "data", 0)[packets:] == [news_ps + rto_us * 10**6]
    assert result.flows[0].fct_ps == news_ps + rto_us * 10**6 + WAY_PS
    assert result.flows[0].retransmitted == 1
    assert not arrivals(result.trace, "host0", "nack", 0)


def test_a_packet_sent_restarts_the_timeout_of_its_flow_alone() -> None:
    # No acknowledgement arrives in time, and each flow goes back after its own last packet.
    rto_ps = 1_500_000
    scenario = star(3, [flow(0, 1, 1), flow(0, 2, 5)])
    scenario["host"] = {"transport": {"go_back_n": {"rto": f"{rto_ps}ps"}}}
    result = simulate(scenario)
    assert departures(result.trace, "host0", "data", 0)[:2] == [0, rto_ps]
    assert departures(result.trace, "host0", "data", 1)[4:6] == [5 * PACKET_PS, 5 * PACKET_PS + rto_ps]


@pytest.mark.parametrize("interval_ps", [0, 1, SLOW_PS, SLOW_PS + 1, 3 * SLOW_PS, 4_000_000])
def test_a_gap_is_reported_once_an_interval(interval_ps: int) -> None:
    # Once full, the queue has room for every second packet: of 2 × room + 1 + 2n, n arrive behind the gap, all before
    # the first NACK is back.
    room, behind = 3, 10
    scenario = narrowing(2 * room + 1 + 2 * behind, buffer={"per_port": f"{room * WIRE_BYTES}B"})
    scenario["host"] = {"transport": {"go_back_n": {"nack_interval": f"{interval_ps}ps"}}}
    result = simulate(scenario)
    gap_ps = FIRST_PS + (2 * room + 1) * SLOW_PS + DELAY_PS
    nacks = [time for time in departures(result.trace, "host1", "nack", 0) if time < gap_ps + ANSWER_PS]
    step = max(1, -(-interval_ps // SLOW_PS))
    assert nacks == [gap_ps + i * SLOW_PS for i in range(0, behind, step)]
    assert result.flows[0].fct_acked_ps is not None


@pytest.mark.parametrize("times_ps", [-1, 0, 1])
def test_a_timeout_of_the_moment_of_an_acknowledgement_comes_after_it(times_ps: int) -> None:
    round_trip_ps = 2 * HOP_PS + SWITCH_PS + 2 * (ACK_PS + DELAY_PS) + SWITCH_PS
    scenario = star(2, [flow(0, 1, 1)])
    scenario["host"] = {"transport": {"go_back_n": {"rto": f"{round_trip_ps + times_ps}ps"}}}
    result = simulate(scenario)
    assert result.flows[0].fct_acked_ps == round_trip_ps
    assert result.flows[0].sent == (2 if times_ps < 0 else 1)


@pytest.mark.parametrize("rto_ps", [1_000_000, 1_300_000, 3_000_000])
def test_what_comes_after_the_end_of_a_flow_is_acknowledged_to_its_end(rto_ps: int) -> None:
    round_trip_ps = 2 * HOP_PS + SWITCH_PS + 2 * (ACK_PS + DELAY_PS) + SWITCH_PS
    scenario = star(2, [flow(0, 1, 1)])
    scenario["host"] = {"transport": {"go_back_n": {"rto": f"{rto_ps}ps"}}}
    result = simulate(scenario)
    times = -(-round_trip_ps // rto_ps)
    assert departures(result.trace, "host0", "data", 0) == [k * rto_ps for k in range(times)]
    answers = [r.seq for r in result.trace if (r.node, r.event, r.kind) == ("host1", "depart", "ack")]
    assert answers == [1] + [ALL_OF_IT] * (times - 1)
    # The sender reacts to the first NACK; the flow is over when the others arrive.
    assert result.flows[0].fct_ps == 2 * HOP_PS + SWITCH_PS
    assert result.flows[0].fct_acked_ps == round_trip_ps


def test_a_flow_that_comes_back_during_a_frame_goes_before_the_flow_on_the_wire() -> None:
    # Flow 0 times out in the middle of a frame of flow 1, and goes back.
    rto_ps = 10 * PACKET_PS + PACKET_PS // 2
    scenario = star(3, [flow(0, 1, 1), flow(0, 2, 100)])
    scenario["host"] = {"transport": {"go_back_n": {"rto": f"{rto_ps}ps"}}}
    result = simulate(scenario | {"until": "1us"})
    sent = [r.flow for r in result.trace if r.node == "host0" and r.event == "depart"]
    assert sent[:13] == [0] + [1] * 10 + [0, 1]


def test_a_flow_that_goes_back_during_its_only_packet_is_listed_at_once() -> None:
    # The timeout of flow 0 is in the middle of its only packet, and flow 1 starts after the timeout.
    late_ps = PACKET_PS * 3 // 4
    scenario = star(3, [flow(0, 1, 1), flow(0, 2, 1, start=f"{late_ps}ps")])
    scenario["host"] = {"transport": {"go_back_n": {"rto": f"{PACKET_PS // 2}ps"}}}
    result = simulate(scenario | {"until": f"{4 * PACKET_PS}ps"})
    sent = [(r.time_ps, r.flow) for r in result.trace if r.node == "host0" and r.event == "depart"]
    # Flow 0 had no more packets when its frame started, and therefore precedes flow 1, which starts later.
    assert sent[:4] == [(0, 0), (PACKET_PS, 0), (2 * PACKET_PS, 1), (3 * PACKET_PS, 0)]


def test_the_receiver_takes_packets_in_order() -> None:
    received = Flow(0, "a", "b", 4000, 0, packets=4)
    steps = [
        (0, 1000, ("ack", 1)),
        (2, 2000, ("nack", 1)),
        (3, 2999, None),
        (3, 3000, ("nack", 1)),
        (1, 3001, ("ack", 2)),
        (0, 3002, ("ack", 2)),
        (3, 3003, ("nack", 2)),
        (2, 3004, ("ack", 3)),
        (3, 3005, ("ack", 4)),
        (3, 3006, ("ack", ALL_OF_IT)),
    ]
    for seq, now_ps, answer in steps:
        assert received.on_data(seq, now_ps, nack_interval_ps=1000) == answer


def test_the_sender_goes_on_from_what_the_receiver_has() -> None:
    sending = Flow(0, "a", "b", 9000, 0, packets=9)
    assert [sending.take_next() for _ in range(5)] == [0, 1, 2, 3, 4]
    assert sending.on_ack(2)
    assert not sending.on_ack(2)
    sending.on_timeout()
    assert [sending.take_next() for _ in range(2)] == [2, 3]
    # The first transmissions arrived after all.
    assert sending.on_ack(5)
    assert sending.take_next() == 5
    sending.on_nack(5)
    assert sending.take_next() == 5
    assert (sending.sent, sending.retransmitted) == (9, 3)
    assert sending.on_ack(ALL_OF_IT)
    assert sending.is_over()
    assert not sending.has_more()


def test_memory_belongs_to_outputs_without_pfc_and_to_inputs_with_it() -> None:
    # Two hosts send to a third, a packet each at a time, and the switch forwards one. After k packets of each host, the
    # queue holds k packets, of which host 1, with the second turn, has (k + 1) // 2.
    def first_drop(**switch: object) -> Drop:
        scenario = star(3, [flow(0, 2, 60), flow(1, 2, 60)], **{"buffer": {"per_port": "2000B"}, **switch})
        return simulate(scenario | {"until": "20us"}).drops[0]

    assert first_drop() == Drop(FIRST_PS + PACKET_PS, "s", 2, 1, 1)
    far = {"pfc": {"xoff": "1MB", "xon": "0B"}}
    assert first_drop(flow_control=far) == Drop(FIRST_PS + 3 * PACKET_PS, "s", 2, 1, 3)


def test_nothing_happens_after_the_end_that_is_set() -> None:
    scenario = star(2, [flow(0, 1, 50)])
    everything = simulate(scenario).trace
    for until_ps in (0, FIRST_PS, FIRST_PS + 1, 5_000_000):
        trace = simulate(scenario | {"until": f"{until_ps}ps"}).trace
        assert trace == [row for row in everything if row.time_ps <= until_ps]


@pytest.mark.parametrize("ecn", ["step", "red"])
@pytest.mark.parametrize("packets", [1, 10, 50])
@pytest.mark.parametrize("threshold", [0, 1, 4, 20])
def test_what_leaves_more_than_the_threshold_behind_is_marked(packets: int, threshold: int, ecn: str) -> None:
    size = f"{threshold * WIRE_BYTES}B"
    scenario = narrowing(
        packets, ecn={"step": {"threshold": size}} if ecn == "step" else {"red": dict.fromkeys(("kmin", "kmax"), size)}
    )
    result = simulate(scenario)
    # Packet j leaves behind the j packets that arrived during the preceding j packets, or all remaining packets.
    marked = [j for j in range(packets) if min(j, packets - 1 - j) > threshold]
    assert result.marked["s", 1, 0] == len(marked) == max(0, packets - 2 * (threshold + 1))
    assert result.marked["s", 0, 0] == 0
    # Without DCQCN marks have no effect.
    assert not arrivals(result.trace, "host0", "cnp", 0)
