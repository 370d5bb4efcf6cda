"""Open choices of the document on Congestion Isolation, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "above High": Factor("the line goes on", "certainty", {"above": "certain"}),
        "marks": Factor("every isolated packet", "in both queues by ECN's curve, too", {"mark": "both"}),
    },
)
