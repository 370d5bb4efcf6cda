"""Time to stability against the degree of the hot spot, for one, five and ten flows of each kind an edge switch.

Source: the BCN hot spot deck, "Hotspot Degree vs Time To Stability" and the three slides after it. The senders together
offer 20 Gb/s to 10, from 5 ms on; PAUSE is on, BCN(0,0) and BCN(max) are off. The document has one run a point.

Ours: innocents of an edge switch together offer 2.5 Gb/s to the next edge switch; a run ends 70 ms and 1.5 ms a flow
after it began; N = 2 in topology A saturates its links, and is drawn but not judged. Every switch has congestion
points, PAUSE goes by the bytes of each input, and nothing drifts: the deck lists no drift, and does not say the rest.
This reading was found by a scan of settings after a first result, which `degree_core.py` has. Further choices are in
`_network.py`.

What to expect of it. While PAUSE holds the edge switches the hot link is full, so that 10 Gb/s arrive, one frame in 100
to 105 KB is sampled, and a sample comes every 82 µs, whatever the sources do. The queue is far above Qeq and hardly
changes, so that a sample cuts one limiter by Gd Qeq = 9.75 %. A limiter starts at the line's 10 Gb/s and is in the way
of nothing until it is near 10 / N: after ln N / 0.1026 cuts. All together that takes N · 82 µs · ln N / 0.1026, which
the figure shows as a dotted line. If limiters started at what their sources send, 20 / N, it would be N · 82 µs ·
ln 2 / 0.1026, a straight line: `degree_sent.py` has that.
"""

from __future__ import annotations

import math

from experiments.bcn._degree import Sweep
from experiments.bcn._network import DEFAULT, until_ms
from experiments.bcn._parameters import hot_spot

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability'"

REASONS: dict[str, str] = {}
SWEEP = Sweep("", lambda _: DEFAULT, until_ms, math.log, "expected, N ln N", REASONS)
PARAMETERS = hot_spot("2 to 80")
CLAIMS, claims = SWEEP.judged.listed, SWEEP.judged.claims
scenarios, figure = SWEEP.scenarios, SWEEP.figure
