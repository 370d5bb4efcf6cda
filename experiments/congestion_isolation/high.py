"""C.5: CI's high threshold of 600 KB in place of 300 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (third):
"only change the CI high threshold". ECN without CI keeps 300 KB, so that there is one run without CI for both. Ours:
128 servers. The summary's "threshold setting seems critical for the congested flows, but not for the non-congested
flows" is what C.4-large and C.5-large judge: large flows are those that are isolated.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.congestion_isolation import _change
from experiments.congestion_isolation._fabric import Case
from experiments.congestion_isolation._runs import Runs, judged

from xoff.reproduce import Part
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (CI high)"

_USUAL, _HIGHER = "high 300 KB", "high 600 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judge CI with the higher threshold against CI with the usual one."""
    return _change.judge(runs, "C.5", _USUAL, _HIGHER)


_JUDGED = judged(
    statements={
        "C.5": "CI high 300 → 600 KB: performance improves because fewer pause and CNP frames are triggered; still "
        "large flows are affected more than small flows",
        "C.5-large": "The mean FCT of flows above 10 MB falls, and by a larger share than that of flows below 100 KB "
        "changes",
        "C.5-frames": "There are fewer PFC pauses and fewer notifications (CNPs)",
    },
    cases={_USUAL: Case(), _HIGHER: Case(high_kb=600)},
    judge=judge,
    choices=("4 ms alone", "load 80 %", "PFC by egress queue", "DCQCN preset mellanox"),
    reasons={
        "C.5-large": (
            "Elephants are selected with either threshold, and their mean stays within its interval. What gains are "
            "flows of 100 KB to 10 MB, of which fewer come upon a queue that isolates every flow."
        ),
        "C.5-frames": (
            "A burst passes 600 KB as it passes 300 KB, so that flows are isolated about as often or oftener. But when "
            "they are, the queues already hold more, stay filled for longer, and mark and pause more."
        ),
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class, by how much the higher threshold lowers it, and pauses and notifications."""
    _change.figure(results, path, _USUAL, _HIGHER)
