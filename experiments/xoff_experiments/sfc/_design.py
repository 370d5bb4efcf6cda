"""Open choices of the document on Source Flow Control, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "switch": Factor("virtual output queues", "output queues", {"architecture": "oq"}),
        "who signals": Factor("the receiver's switch", "every switch", {"signals": "all"}),
        "round trip": Factor("with storing and forwarding", "that of the formulas", {"stores": False}),
        "starts": Factor("within 1 µs", "within 20 µs", {"start_us": 20}),
    }
)
