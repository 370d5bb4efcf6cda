"""Open choices of the document on SFC's proxy mode, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "alpha": Factor("1/2", "1/8", {"alpha": 0.125}),
        "incast load": Factor("8 %, the document's", "0.8 %", {"incast_share": 0.008}),
        "a message while all queues of a NIC are paused": Factor(
            "takes the first", "takes the shortest", {"nic_fallback": "shortest"}
        ),
    }
)
