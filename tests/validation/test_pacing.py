"""A waiting packet at a change of its flow's rate: the rule of each congestion control's source."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.validation.traces import departures

import xoff

_FRAME_BITS = 1048 * 8
_SENDERS = 15


def _longest_gap_ps(dcqcn: dict[str, Any]) -> int:
    """Returns the longest time between two packets of one flow, of many that meet at one host without pauses."""
    result = xoff.run(
        {
            "network": {"star": {"hosts": _SENDERS + 1, "link": {"rate": "400Gbps", "delay": "1us"}}},
            "switch": {"ecn": {"red": {"kmin": "5KB", "kmax": "200KB", "pmax": 0.5}}},
            "host": {"congestion_control": {"dcqcn": dcqcn}},
            "workload": [{"incast": {"senders": list(range(1, _SENDERS + 1)), "receiver": 0, "size": "1MB"}}],
            "probe": {"packets": True},
        }
    )
    assert set(result.audits.values()) == {"ok"}
    starts = [departures(result, f"host{flow + 1}", flow) for flow in range(_SENDERS)]
    return max(later - sooner for times in starts for sooner, later in pairwise(times))


def test_no_flow_waits_longer_than_its_limiter_recovers() -> None:
    # At the worst a cut takes rate and target to the minimum as a packet starts. Then 300 us at 1 Mb/s, 300 us more
    # after fast recovery, 300 us at 3.5 Mb/s, and the rest of the 8384 bits at 29.75 Mb/s.
    assert _longest_gap_ps({"preset": "mellanox"}) <= 900_000_000 + 6734 / 29.75 * 1e6


def test_a_gap_that_is_settled_may_be_as_long_as_the_minimum_rate_makes_it() -> None:
    """The gap that the limiter prevents appears in the same run, so that the test above proves something."""
    assert _longest_gap_ps({"preset": "mellanox", "pacing": "gap"}) == _FRAME_BITS * 10**6
    assert _longest_gap_ps({"preset": "conweave"}) == _FRAME_BITS * 10**4
