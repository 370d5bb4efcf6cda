"""Open choices of the BCN document, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "congestion points": Factor("at every switch", "at the core alone", {"edges": False}),
        "PAUSE goes by": Factor("the bytes of each input", "the queue of the output", {"accounting": "egress"}),
        "innocents": Factor("2.5 Gb/s", "5 Gb/s", {"innocents_gbps": 5.0}),
        "drift of a limiter": Factor("none", "1 Mb/s a millisecond", {"drift_mbps": 1.0}),
    }
)
