"""Time to stability against the degree again, with limiters that start at what their sources send.

Source: as `degree.py`, with one choice made otherwise: nothing in the document says what a limiter starts at. Here it
is 20 / N Gb/s, as if the source had been measured, so that each has to come down by half.
"""

from __future__ import annotations

import math
from dataclasses import replace

from xoff.experiments.bcn._degree import COARSE, Sweep
from xoff.experiments.bcn._network import DEFAULT, HOT_GBPS, LINE_GBPS, Setting, until_ms
from xoff.experiments.bcn._parameters import hot_spot
from xoff.experiments.bcn._runs import SEEDS

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability', limiters from the rate that is sent"

REASONS = {
    "B.3": "B is shorter at every degree, but no innocent pays: limiters come down by half before the queue of any "
    "input reaches XOFF, so that no host of theirs is held.",
    "B.4": (
        "With 80 flows A takes 45 ms, B 37 and C 30: the spread is 0.39 of the mean, and 0.58 with 40. It "
        "falls, and not to 0.15. The cause was not traced."
    ),
}


def _setting(degree: int) -> Setting:
    return replace(DEFAULT, initial_gbps=HOT_GBPS / degree)


def _cuts(_: int) -> float:
    return math.log(HOT_GBPS / LINE_GBPS)


SWEEP = Sweep("sent", _setting, until_ms, _cuts, "expected, N ln 2", REASONS, degrees=COARSE, seeds=SEEDS[:2])
PARAMETERS = hot_spot("10 to 80")
CLAIMS, claims = SWEEP.judged.listed, SWEEP.judged.claims
scenarios, figure = SWEEP.scenarios, SWEEP.figure
