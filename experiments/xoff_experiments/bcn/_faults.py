"""Planted faults: runs and settings with which the statements of the BCN deck fail (`xoff.reproduce.faults`)."""

from __future__ import annotations

from collections.abc import Mapping

from xoff.reproduce.faults import Fault, matching, setting

NEVER_SLOWED = setting("host.congestion_control.bcn.gd", "0.000001", "limiters never slow a source down")
FAULTS: Mapping[str, Fault] = {
    "B.2": matching(r"^A/\d+/", "A/10/", "degree 10 in place of every degree of topology A"),
    "B.3": matching(r"^B/(\d+)/", r"A/\1/", "topology A in place of B, at the same degree"),
    "B.4": matching(r"^A/\d+/", "A/10/", "degree 10 in place of every degree of topology A"),
    # The quick variants have other degrees.
    "B.5": Fault("22 flows in place of 80", lambda name: name.replace("/80/", "/22/").replace("/25/", "/10/")),
    "B.1": NEVER_SLOWED,
    "B.1-throughput": NEVER_SLOWED,
    "B.1-pause": NEVER_SLOWED,
}
"""By statement."""
