"""Time to stability against the degree of the hot spot, for one, five and ten flows of each kind an edge switch.

Source: the BCN hot spot deck, "Hotspot Degree vs Time To Stability" and the three slides after it. The senders together
offer 20 Gb/s to 10, from 5 ms on; PAUSE is on, BCN(0,0) and BCN(max) are off. The document has one run a point.

Ours: innocents of an edge switch together offer 2.5 Gb/s to the next edge switch; a run ends 70 ms and 1.5 ms a flow
after it began; N = 2 in topology A saturates its links, and is drawn but not judged. Every switch has congestion
points, PAUSE goes by the bytes of each input, and nothing drifts: the deck lists no drift, and does not say the rest.
This reading was found by a scan of settings after a first result, which `degree_core.py` has. Further choices are in
`_network.py`.

Where PAUSE holds edge switches their own queues fill, and their congestion points cut contenders as well: more samples
a millisecond than the 12.2 of the hot link alone, which is what `degree_core.py` has and the figure's dotted line
expects. Time to stability is a third to a half of that, and grows in a line.
"""

from __future__ import annotations

import math

from xoff.experiments.bcn._degree import Sweep
from xoff.experiments.bcn._network import DEFAULT, until_ms
from xoff.experiments.bcn._parameters import hot_spot

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability'"

SWEEP = Sweep("", lambda _: DEFAULT, until_ms, math.log, "the core alone, N ln N", {})
PARAMETERS = hot_spot("2 to 80")
CLAIMS, claims = SWEEP.judged.listed, SWEEP.judged.claims
scenarios, figure = SWEEP.scenarios, SWEEP.figure
