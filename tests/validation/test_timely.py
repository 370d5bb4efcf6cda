"""TIMELY: no equilibrium, but bounds. A window keeps the first queue short.

Unit tests in the crate cover TIMELY's steps. This file tests three bounds: a flow without a queue keeps its line, a
queue above `t_high` shrinks, and a window bounds the queue of N flows.
"""

from typing import Any

import pytest
from tests.validation.long_flows import WIRE, delivered_gbps, queues, round_trip_us, to_one

DELAY_US = 3
PIPE = round_trip_us(DELAY_US) * 12_500


def timely(senders: int, **settings: Any) -> dict[str, Any]:
    """Long flows through one switch."""
    return to_one(senders, DELAY_US, host={"congestion_control": {"timely": settings}})


def test_a_flow_without_a_queue_keeps_its_line() -> None:
    assert delivered_gbps(timely(1), 100, 600) == pytest.approx(100, rel=1e-4)


def test_a_window_bounds_the_first_queue() -> None:
    """N flows begin at line rate: windows limit the queue to the bytes beyond the pipe; without, the queue doubles."""
    window = (PIPE // 1000 + 1) * WIRE
    assert max(queues(timely(8, window=True), 0, 400)) <= 8 * window - PIPE + 8 * WIRE
    assert max(queues(timely(8), 0, 400)) > 2 * 7 * PIPE
