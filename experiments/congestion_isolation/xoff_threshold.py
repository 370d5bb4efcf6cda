"""C.4: XOFF of 1500 KB in place of 750 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (second).
Queues have 2 MB in both, which by C.3 changes nothing for 750 KB. Judged for CI; without CI is shown beside it. Ours:
128 servers. CNPs are marks that acknowledgements carry back, as in the preset that all runs have.

The verdicts are on means, as everywhere; read the intervals. With `isolated` the difference is one pause in five seeds,
which is no effect that could be told from none. With `selecting` half of the pauses go, and elephants gain; but flows
of 100 KB to 10 MB lose a larger share than elephants gain, and all within the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.congestion_isolation import _change
from experiments.congestion_isolation._fabric import Case
from experiments.congestion_isolation._runs import Runs, judged

from xoff.reproduce import Part
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (XOFF)"

_USUAL, _HIGHER = "XOFF 750 KB", "XOFF 1500 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judge CI with the higher threshold against CI with the usual one."""
    return _change.judge(runs, "C.4", _USUAL, _HIGHER)


_JUDGED = judged(
    statements={
        "C.4": "XOFF 750 → 1500 KB: performance improves because fewer pause and CNP frames are triggered; large flows "
        "are affected more than small flows",
        "C.4-large": "The mean FCT of flows above 10 MB falls, and by a larger share than that of flows below 100 KB "
        "changes",
        "C.4-frames": "There are fewer PFC pauses and fewer notifications (CNPs)",
    },
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, xoff_kb=1500)},
    judge=judge,
    choices=("4 ms alone", "load 80 %", "PFC by egress queue", "DCQCN preset mellanox"),
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class, by how much the higher threshold lowers it, and pauses and notifications."""
    _change.figure(results, path, _USUAL, _HIGHER)
