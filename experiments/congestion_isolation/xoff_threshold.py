"""C.4: XOFF of 1500 KB in place of 750 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (second).
Queues have 2 MB in both, which by C.3 changes nothing for 750 KB. Judged for CI; without CI is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.congestion_isolation import _thresholds
from experiments.congestion_isolation._fabric import Case
from experiments.congestion_isolation._study import Part, Runs, Study

from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (XOFF)"

_USUAL, _HIGHER = "XOFF 750 KB", "XOFF 1500 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judge CI with the higher threshold against CI with the usual one."""
    return _thresholds.judge(runs, "C.4", _USUAL, _HIGHER)


_STUDY = Study(
    statements={
        "C.4": "XOFF 750 → 1500 KB: performance improves because fewer pause and CNP frames are triggered; large flows "
        "are affected more than small flows",
        "C.4-large": "The mean FCT of flows above 10 MB falls, and by a larger share than that of flows below 100 KB "
        "changes",
        "C.4-frames": "There are fewer PFC pauses and fewer CNPs",
    },
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, xoff_kb=1500)},
    judge=judge,
    choices=("4 ms alone", "load 80 %", "PFC by egress queue"),
)
CLAIMS = _STUDY.published
scenarios = _STUDY.scenarios
claims = _STUDY.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class."""
    _STUDY.bars(results, path, {label: label for label in (_USUAL, _HIGHER)})
