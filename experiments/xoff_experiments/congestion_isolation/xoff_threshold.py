"""C.4: XOFF of 1500 KB in place of 750 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (second).
Queues have 2 MB in both, which by C.3 changes nothing for 750 KB. Judged for CI; without CI is shown beside it. Ours:
128 servers. An effect is one beyond chance, over the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, given
from xoff.results import Result
from xoff_experiments.congestion_isolation import _change
from xoff_experiments.congestion_isolation._fabric import Case
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import Runs, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (XOFF)"

_USUAL, _HIGHER = "XOFF 750 KB", "XOFF 1500 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judges CI with the higher threshold against CI with the usual threshold."""
    return _change.judge(runs, "C.4", _USUAL, _HIGHER)


JUDGED = judged(
    statements=_change.statements("C.4", "XOFF 750 → 1500 KB"),
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, xoff_kb=1500)},
    judge=judge,
    reasons={
        "C.4-large": (
            "Elephants change within chance (0.6 ± 1.0 % slower), and so do all other flows above 100 KB, by shares "
            "and in µs. The pauses that a higher XOFF saves (83 %) cost nothing: while PFC holds a source, the "
            "bottleneck that it feeds goes on sending, and what PFC no longer holds DCQCN paces, see C.4-cnps. No "
            "combination of the search has it."
        ),
        "C.4-cnps": (
            "There are 5.5 ± 2.7 % more. A source that PFC no longer stops goes on sending into queues that are long, "
            "and more of its packets are isolated and marked. Fewer pauses and fewer CNPs exclude one another, unless "
            "only few of the packets beyond XOFF are marked."
        ),
    },
    readings=_change.READINGS,
)
PARAMETERS = [*_SHARED, given("XOFF", "750 and 1500 KB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class, by how much the higher threshold lowers it, and pauses and CNPs."""
    _change.figure(results, path, _USUAL, _HIGHER)
