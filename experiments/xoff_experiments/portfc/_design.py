"""Open choices of the PortFC paper, as factors of a screening."""

from __future__ import annotations

from xoff.reproduce import Design, Factor

DESIGN = Design(
    {
        "first hop": Factor("one order of digits", "by a hash", {"first_hop": "hash"}),
        "incasts": Factor("every 0.25 ms", "every 0.5 ms", {"period_ms": 0.5}),
        "IRN's window": Factor("50 KB", "104 KB", {"irn_kb": 104}),
        "thresholds": Factor("X_OFF 150, X_ON 100 KB", "75, 50 KB", {"xoff_kb": 75, "xon_kb": 50}),
        "DCQCN": Factor("those of HPCC's simulator", "those of adapters' firmware", {"preset": "mellanox"}),
        "ATE": Factor("Algorithm 5", "equation 3", {"raises": True}),
    }
)
