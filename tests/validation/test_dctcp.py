"""DCTCP against arithmetic: windows bound the queue, marks keep the queue at the threshold, and the line is full.

A window is a BDP of payload at most, so that N flows first queue (N − 1) BDPs: with a threshold of two BDPs two flows
are never marked. A control with a rate and without a window would be marked.
"""

from math import sqrt
from typing import Any

import pytest
from tests.validation.long_flows import WIRE, delivered_gbps, queues, round_trip_us, to_one, until

THRESHOLD = 300_000
DELAY_US = 3
PRODUCT = (4 * DELAY_US + 2 * WIRE * 8 / 100_000) * 12_500
"""Bytes of the line and the round trip that the windows are made for: four propagations and a packet on each link."""
PIPE = round_trip_us(DELAY_US) * 12_500
"""Bytes in flight outside queues."""


def dctcp(senders: int, **settings: Any) -> dict[str, Any]:
    """Long flows with the marks of 100 Gb/s."""
    switch = {"ecn": {"step": {"threshold": f"{THRESHOLD}B"}}}
    return to_one(senders, DELAY_US, switch=switch, host={"congestion_control": {"dctcp": settings}})


def test_two_windows_stand_below_the_threshold_unmarked() -> None:
    """Both windows are in flight, and bytes beyond the pipe wait."""
    window = (PRODUCT // 1000 + 1) * WIRE
    found = queues(dctcp(2), 300, 600)
    assert max(found) - min(found) <= 2 * WIRE
    assert found[0] == pytest.approx(2 * window - PIPE, abs=3 * WIRE)
    assert until(dctcp(2), 600).summary["ecn"]["marked"] == 0


@pytest.mark.parametrize("senders", [4, 10])
def test_marks_keep_the_queue_at_the_threshold(senders: int) -> None:
    """Sawtooth of N flows whose windows are (product + threshold)/N and rise by a step each round trip.

    At rest α is √(2·step/window), the top is the threshold and a step of each flow, and a cut takes α/2 of the windows.
    """
    step = WIRE
    window = (PIPE + THRESHOLD) / senders
    alpha = sqrt(2 * step / window)
    top = THRESHOLD + senders * step
    found = queues(dctcp(senders), 4000, 6000)
    assert max(found) == pytest.approx(top, rel=0.15)
    assert min(found) == pytest.approx(top - senders * window * alpha / 2, rel=0.2)
    assert min(found) > 0


def test_the_line_is_full() -> None:
    assert delivered_gbps(dctcp(10), 4000, 6000) == pytest.approx(100, rel=1e-4)


def test_flows_share_the_line() -> None:
    """Jain's index of the bytes sent by ten flows after a transient."""
    sent = []
    for us in (4000, 12_000):
        rows = until(dctcp(10), us).links.to_pylist()
        sent.append([row["data_bytes"] for row in rows if row["peer"] == "switch0" and row["node"] != "host0"])
    gained = [after - before for before, after in zip(*sent, strict=True)]
    assert sum(gained) ** 2 / len(gained) / sum(g * g for g in gained) > 0.95


def test_a_mark_halves_a_new_flow() -> None:
    """α is 1 at first: with a threshold of zero the first ACKs halve both rates, and soon the queue is empty."""
    scenario = dctcp(2)
    scenario["switch"]["ecn"]["step"]["threshold"] = "0B"
    assert max(queues(scenario, 40, 45)) < max(queues(scenario, 0, 15)) / 4
