"""Time to stability against the degree again, with limiters that start at what their sources send.

Source: as `degree.py`, with one choice made otherwise: nothing in the document says what a limiter starts at. Here it
is 20 / N Gb/s, as if the source had been measured, so that each has to come down by half. A run ends 30 ms and 1.5 ms a
flow after it began.
"""

from __future__ import annotations

import math
from dataclasses import replace

from experiments.bcn._degree import Sweep
from experiments.bcn._network import DEFAULT, HOT_GBPS, LINE_GBPS, Setting

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability', limiters from the rate that is sent"

REASONS = {
    "B.2": "Nearly: up to 65 flows B is a line (R² of 0.995). Beyond, drift works against the cuts: without it 80 "
    "flows are stable after 52 ms in A and 50 in B, where 44 are expected, instead of after 70 and 77.",
    "B.3": "As with limiters that start at the line: the hot link is full in A and in B, and blocking at edge switches "
    "has nothing to shorten. A is stable sooner but for 60 and 70 flows, where its samples beat with PAUSE.",
    "B.4": "They are further apart with many flows than with few.",
}


def _setting(degree: int) -> Setting:
    return replace(DEFAULT, initial_gbps=HOT_GBPS / degree)


def _until_ms(degree: int) -> float:
    return 30 + 1.5 * degree


def _cuts(_: int) -> float:
    return math.log(HOT_GBPS / LINE_GBPS)


SWEEP = Sweep("sent", _setting, _until_ms, _cuts, "expected, N ln 2", REASONS)
CLAIMS, claims = SWEEP.judged.listed, SWEEP.judged.claims
scenarios, figure = SWEEP.scenarios, SWEEP.figure
