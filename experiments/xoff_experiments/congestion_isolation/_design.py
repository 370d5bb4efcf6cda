"""Open choices of the document on Congestion Isolation, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor
from xoff_experiments.congestion_isolation._fabric import PLAIN

DESIGN = Design(
    {
        "set-up": Factor(
            "the line goes on above High, every isolated packet is marked",
            "certainty above High, marks by ECN's curve in both queues",
            PLAIN,
        ),
    },
)
