"""DCQCN of the slow reference simulator against closed forms, without xoff."""

from typing import Any

import pytest
from reference.dcqcn import Limiter, read_values
from reference.simulator import Simulator, simulate
from tests.reference.stars import (
    ACK_PS,
    DCQCN,
    DELAY_PS,
    HOP_PS,
    PACKET_PS,
    SWITCH_PS,
    departures,
    flow,
    narrowing,
    star,
)

LINE = 100e9


def limiter(**values: Any) -> Limiter:
    return Limiter(read_values(DCQCN | values), LINE)


def test_one_notification_doubles_the_gap_of_the_packets_that_follow() -> None:
    packets, threshold = 200, 3
    scenario = narrowing(packets, ecn={"step": {"threshold": f"{threshold}KB"}})
    scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "paper", **DCQCN}}}
    result = simulate(scenario)
    assert result.flows[0].notified == 1
    # Packet threshold + 1 is the first marked packet. Its CNP leaves behind its acknowledgement.
    marked_ps = HOP_PS + SWITCH_PS + (threshold + 2) * 2 * PACKET_PS + DELAY_PS
    assert departures(result.trace, "host1", "cnp", 0) == [marked_ps + 2 * ACK_PS]
    cut_ps = marked_ps + 2 * 2 * ACK_PS + DELAY_PS + SWITCH_PS + ACK_PS + DELAY_PS
    # The part of a packet sent by then is done; the rest, and later packets, take twice as long.
    assert departures(result.trace, "host0", "data", 0) == [
        k * PACKET_PS + max(0, k * PACKET_PS - cut_ps) for k in range(packets)
    ]


def test_a_packet_that_waits_goes_when_the_rate_has_risen() -> None:
    # 10,000 bits: at 1 Gb/s 10 us, of which a time step after 4 us makes 4 us and 6,000 bits at half of 1 and 100 Gb/s.
    limited = limiter(increase_interval="4us", fast_recovery_steps=5)
    for _ in range(20):
        limited.on_notification(1_000_000)
    limited.target = LINE
    limited.on_sent(1250, 1_000_000)
    assert limited.due_ps() == 1_000_000 + 4_000_000 + int(6000 * 1e12 / 50.5e9)
    # A notification before expiry restarts the timer.
    limited.on_notification(2_000_000)
    limited.target = LINE
    assert limited.due_ps() == 2_000_000 + 4_000_000 + int(5000 * 1e12 / 50.5e9)


@pytest.mark.parametrize("interval_us", [0, 1, 50])
def test_a_flow_is_notified_once_an_interval(interval_us: int) -> None:
    # With the highest minimum a cut has no effect, so that the queue grows as without DCQCN.
    packets, threshold = 200, 3
    scenario = narrowing(packets, ecn={"step": {"threshold": f"{threshold}KB"}})
    values = DCQCN | {"minimum_rate": "100Gbps", "cnp_interval": f"{interval_us}us"}
    scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "paper", **values}}}
    result = simulate(scenario)
    marked = packets - 2 * (threshold + 1)
    assert result.marked["s", 1, 0] == marked
    # Marked packets arrive one behind the other, every 160 ns.
    every = max(1, -(-interval_us * 10**6 // (2 * PACKET_PS)))
    assert result.flows[0].notified == -(-marked // every)


def test_each_notification_halves_the_rate_down_to_the_minimum() -> None:
    limited = limiter()
    for cuts in range(1, 10):
        limited.on_notification(cuts)
        assert limited.alpha == 1
        assert limited.rate == max(LINE / 2**cuts, 1e9)


def test_fast_recovery_halves_the_distance_and_alpha_fades() -> None:
    limited = limiter(increase_interval="10us", alpha_interval="4us", fast_recovery_steps=5)
    limited.on_notification(1_000_000)
    for steps in range(1, 6):
        limited.run_timers(1_000_000 + steps * 10_000_000 - 1)
        assert limited.rate == LINE * (1 - 0.5**steps)
        limited.run_timers(1_000_000 + steps * 10_000_000)
        assert limited.rate == LINE * (1 - 0.5 ** (steps + 1))
    assert limited.alpha == 0.5 ** (50 // 4)
    # The next cut is as deep as alpha says, and then alpha rises again.
    before, alpha = limited.rate, limited.alpha
    limited.on_notification(51_000_000)
    assert limited.target == before
    assert limited.rate == before * (1 - alpha / 2)
    assert limited.alpha == alpha / 2 + 0.5


def test_increases_are_additive_after_fast_recovery_by_one_count_and_hyper_by_both() -> None:
    # Two steps of fast recovery; a byte step with every 1000 bytes, and two time steps at 20 us.
    limited = limiter(byte_counter="1000B", increase_interval="10us")
    limited.on_notification(0)
    limited.on_notification(0)
    target, rate = LINE / 2, LINE / 4
    for byte_steps in range(1, 5):
        limited.on_sent(1000, byte_steps)
        target += 1e9 if byte_steps >= 2 else 0
        rate = (rate + target) / 2
        assert (limited.target, limited.rate) == (target, rate)
    for time_steps in range(1, 5):
        limited.run_timers(time_steps * 10_000_000)
        target += 4e9 * (time_steps - 1) if time_steps >= 2 else 1e9
        rate = (rate + target) / 2
        assert (limited.target, limited.rate) == (target, rate)


def test_bytes_beyond_the_counter_count_for_the_next_step() -> None:
    limited = limiter(byte_counter="2500B")
    limited.on_sent(1000, 0)
    assert limited.bytes == 0
    limited.on_notification(0)
    steps = []
    for _ in range(6):
        limited.on_sent(1000, 0)
        steps.append(limited.byte_steps)
    assert steps == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("allowed_gbps", "every"), [(50, 2), (40, 3), (25, 4), (20, 5), (10, 10)])
def test_a_paced_flow_beside_one_at_line_rate_gets_what_it_is_allowed(allowed_gbps: int, every: int) -> None:
    # The due flow precedes the flow with the frame on the wire at the due time: at 40 Gb/s in the middle of a frame.
    scenario = star(3, [flow(0, 1, 200), flow(0, 2, 200)])
    scenario["host"] = {"congestion_control": {"dcqcn": {"preset": "paper", **DCQCN}}}
    simulator = Simulator(scenario | {"until": f"{100 * PACKET_PS}ps"})
    paced = simulator.flows[1].limiter
    assert paced is not None
    paced.rate = allowed_gbps * 1e9
    trace = simulator.run().trace
    assert departures(trace, "host0", "data", 1) == [k * PACKET_PS for k in range(1, 101, every)]
    assert len(departures(trace, "host0", "data", 0) + departures(trace, "host0", "data", 1)) == 101


def test_a_rate_within_a_bit_of_the_line_is_the_line() -> None:
    limited = limiter(increase_interval="1us")
    limited.on_notification(0)
    limited.run_timers(100_000_000)
    assert limited.rate == limited.target == LINE
