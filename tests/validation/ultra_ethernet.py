"""Networks of Ultra Ethernet's public reference simulator: its sizes, queues and marks."""

from math import ceil
from typing import Any

import xoff

PAYLOAD, WIRE, CONTROL = 4086, 4150, 64
"""Bytes of a packet and of an answer."""


def wire_us(frames: float, size: int) -> float:
    """The time of frames on a link of 100 Gb/s."""
    return frames * size * 8 / 100_000


ROUND_TRIP_US = 12 + 6 * (wire_us(1, WIRE) + wire_us(1, CONTROL))
"""Six links of 1 us both ways, and a packet and its ACK on each."""
PRODUCT = ROUND_TRIP_US * 12_500


def packets(products: float) -> str:
    """Whole packets of the given number of BDPs, in bytes."""
    return f"{ceil(products * PRODUCT / WIRE) * WIRE}B"


def fabric(*workload: dict[str, Any], k: int = 4, **switch: Any) -> dict[str, Any]:
    """A fat tree of three levels with queues that trim packets at one BDP, and mark between a fifth and four fifths.

    Headers practically always go first (100,000 to 1 in the reference).
    """
    red = {"kmin": packets(0.2), "kmax": packets(0.8), "pmax": 1.0}
    return {
        "network": {"fat_tree": {"k": k, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{WIRE - PAYLOAD}B", "control_frame_size": f"{CONTROL}B"},
        "switch": {
            "trimming": {"limit": packets(1), "turns": 255},
            "ecn": {"red": red},
            "routing": {"spray": {}},
            **switch,
        },
        "host": {"transport": {"selective": {}}, "congestion_control": {"nscc": {}}},
        "workload": list(workload),
    }


def acknowledged_us(result: xoff.Result) -> list[float]:
    """Arrival of each flow's last ACK, in order."""
    return sorted(row["fct_acked_ps"] / 1e6 for row in result.flows.to_pylist())
