"""Swift against its fixed point: round trips at the target, which flow scaling lifts for small windows.

N flows with a window of w packets fill a line C and its queue: w = C·RTT/(N·packet), and at rest the round trip is the
target, base + hop + fs(w). Both together are one equation in w.
"""

from math import sqrt
from typing import Any

import pytest
from tests.validation.long_flows import WIRE, delivered_gbps, mean_round_trip_us, queues, round_trip_us, to_one

BASE_US, HOP_US, RANGE_US = 20.0, 3.053, 100.0


def swift(senders: int, delay_us: float, rates: dict[str, int], **settings: Any) -> dict[str, Any]:
    """Long flows through one switch."""
    return to_one(senders, delay_us, **rates, host={"congestion_control": {"swift": settings}})


def scaling_us(window: float) -> float:
    """Target added by flow scaling, between 0.1 and 100 packets."""
    few, many = 1 / sqrt(100), 1 / sqrt(0.1)
    alpha = RANGE_US / (many - few)
    return min(max(alpha / sqrt(window) - alpha * few, 0), RANGE_US)


def at_rest(senders: int, gbps: int) -> tuple[float, float]:
    """Round trip and window that solve the equation: the left side rises with w, the right side falls."""
    low, high = 1e-3, 1e5
    while high / low > 1 + 1e-9:
        window = sqrt(low * high)
        target = BASE_US + HOP_US + scaling_us(window)
        low, high = (window, high) if window * senders * WIRE * 8 / (gbps * 1000) < target else (low, window)
    return BASE_US + HOP_US + scaling_us(low), low


def test_a_lone_flow_keeps_the_base_target() -> None:
    """The flow's window is above 100 packets, so that nothing scales; steps are a packet, and cuts are smaller."""
    rates = {"gbps": 100, "last_gbps": 40}
    round_trip, window = at_rest(1, 40)
    assert window > 100
    assert round_trip == BASE_US + HOP_US
    found = queues(swift(1, 3, rates), 3000, 4000)
    waits = [round_trip_us(3, **rates) + bytes_ * 8 / 40_000 for bytes_ in found]
    assert max(waits) - min(waits) < 4 * WIRE * 8 / 40_000
    assert sum(waits) / len(waits) == pytest.approx(round_trip, abs=2 * WIRE * 8 / 40_000)
    assert delivered_gbps(swift(1, 3, rates), 3000, 4000) == pytest.approx(40, rel=1e-4)


@pytest.mark.parametrize("senders", [2, 8, 32])
def test_flow_scaling_lifts_the_target_of_many_flows(senders: int) -> None:
    """The queue is that of the fixed point within half a packet of each flow, which are sent whole."""
    round_trip, _ = at_rest(senders, 100)
    found = mean_round_trip_us(swift(senders, 3, {}), round_trip_us(3), 100, 3000, 5000)
    assert found == pytest.approx(round_trip, abs=0.02 * round_trip + senders * WIRE * 8 / 100_000 / 2)


def test_a_target_below_the_round_trip_leaves_the_line_idle() -> None:
    """Then every delay is too long; windows fall until less than a packet is under way for each round trip."""
    settings = {"base_target": "5us", "hop_target": "0ns", "scaling_range": "0ns"}
    assert delivered_gbps(swift(2, 3, {}, **settings), 3000, 4000) < 5


def test_windows_below_a_packet_are_paced() -> None:
    """A hundred flows at 10 Gb/s: at rest each has less than a packet under way, and the line is full.

    With whole packets the queue is at least a packet of each.
    """
    round_trip, window = at_rest(100, 10)
    assert 0.5 < window < 1
    rates = {"gbps": 10}
    paced = swift(100, 0.5, rates)
    assert delivered_gbps(paced, 10_000, 20_000) > 9.5
    base = round_trip_us(0.5, 10)
    assert mean_round_trip_us(paced, base, 10, 10_000, 20_000) == pytest.approx(round_trip, rel=0.15)
    whole = swift(100, 0.5, rates, minimum_window=1)
    assert mean_round_trip_us(whole, base, 10, 10_000, 20_000) > 100 * WIRE * 8 / 10_000 * 0.98
