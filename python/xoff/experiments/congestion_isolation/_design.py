"""Open choices of the document on Congestion Isolation, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "marks": Factor("in both queues by ECN's curve", "the selecting packet alone", {"mark": "selecting"}),
        "order": Factor("a flow's packets keep theirs", "they may overtake", {"preserve_order": False}),
        "DCQCN": Factor("that of adapters", "that of its paper", {"dcqcn": "paper"}),
        "queue memory": Factor("1 MB", "2 MB", {"queue_mb": 2}),
        "load": Factor("60 %", "30 %", {"load": 0.3}),
    },
)
