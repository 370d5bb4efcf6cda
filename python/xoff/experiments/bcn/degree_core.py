"""Time to stability against the degree once more, with congestion points at the core alone.

Source: as `degree.py`, with three choices made otherwise: the hot queue itself pauses all edge switches, it alone has a
congestion point, and limiters gain 1 Mb/s each millisecond. It is what this page had as its main reading at first. A
run ends 40 ms and 3.5 ms a flow after it began, 7.5 ms later for each flow above 58, and at 430 ms at the latest.

What to expect of it. While PAUSE holds the edge switches the hot link is full, so that 10 Gb/s arrive, one frame in 100
to 105 KB is sampled, and a sample comes every 82 µs, whatever the sources do. The queue is far above Qeq and hardly
changes, so that a sample cuts one limiter by Gd Qeq = 9.75 %. A limiter starts at the line's 10 Gb/s and is in the way
of nothing until it is near 10 / N: after ln N / 0.1026 cuts. All together that takes N · 82 µs · ln N / 0.1026, which
the figure shows as a dotted line. If limiters started at what their sources send, 20 / N, it would be N · 82 µs ·
ln 2 / 0.1026, a straight line: `degree_sent.py` has that.
"""

from __future__ import annotations

import math

from xoff.experiments.bcn._degree import COARSE, Sweep
from xoff.experiments.bcn._network import CORE_ALONE
from xoff.experiments.bcn._parameters import hot_spot
from xoff.experiments.bcn._runs import SEEDS

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability', congestion points at the core alone"

_BEAT = (
    "In A each of N edge switches sends one frame between one XON and the next, so that the queue rises and falls by N "
    "frames. One sample in 67 to 70 frames meets that cycle at places that move slowly, and what Qdelta adds does not "
    "average out: in the first 35 ms the mean cut a sample is 2.0 times what the level of the queue asks for with 40 "
    "flows and 0.8 times with 66; in B with 40 flows 1.1 times. From 60 flows on it takes 1.3 to 1.5 times as long as "
    "expected."
)
REASONS = {
    "B.2": "B and C grow as expected above up to 65 flows, nearly in a line; beyond, drift works against the cuts. A "
    "does not: it is stable sooner with 40 flows than with 30. " + _BEAT,
    "B.3": "PAUSE keeps the hot link full in A and in B, so that samples come as often in both, and blocking at edge "
    "switches has nothing to shorten. Which of the two is stable first changes with the degree; from 60 flows on it is "
    "B. " + _BEAT,
    "B.4": "B and C are together, but A is not: with 30 flows all are within 3 %, from 60 on A is later by a fifth to "
    "a quarter. " + _BEAT,
}


def _until_ms(degree: int) -> float:
    return min(430, 40 + 3.5 * degree + 7.5 * max(0, degree - 58))


SWEEP = Sweep(
    "core", lambda _: CORE_ALONE, _until_ms, math.log, "expected, N ln N", REASONS, degrees=COARSE, seeds=SEEDS[:2]
)
PARAMETERS = hot_spot("10 to 80")
CLAIMS, claims = SWEEP.judged.listed, SWEEP.judged.claims
scenarios, figure = SWEEP.scenarios, SWEEP.figure
