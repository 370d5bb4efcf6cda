"""C.5: CI's high threshold of 600 KB in place of 300 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (third):
"only change the CI high threshold". ECN's curve without CI therefore stays at 300 KB, and without CI nothing changes:
one run stands for both. Queues have 2 MB in both, which by C.3 changes nothing for 300 KB: with 600 KB a burst is
isolated late, and the 250 KB that a queue of 1 MB has above XOFF do not suffice in some runs. Ours: 128 servers. An
effect must be beyond chance, over the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.experiments.congestion_isolation import _change
from xoff.experiments.congestion_isolation._fabric import Case
from xoff.experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff.experiments.congestion_isolation._runs import Runs, judged
from xoff.reproduce import Part, given
from xoff.results import Result

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (CI high)"

_USUAL, _HIGHER = "high 300 KB", "high 600 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judges CI with the higher threshold against CI with the usual threshold."""
    return _change.judge(runs, "C.5", _USUAL, _HIGHER)


JUDGED = judged(
    statements=_change.statements("C.5", "CI high 300 → 600 KB"),
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, high_kb=600)},
    judge=judge,
    readings=_change.READINGS,
    reasons={
        "C.5-large": (
            "Elephants gain 1.3 ± 1.3 %, and mice lose 25 ± 5 %. A trace with the draws of version 0.1.0 "
            "shows why: PFC holds an elephant for 18 µs instead of 30, of a mean of 5,957, in which DCQCN "
            "paces it for 3,600. Of the 0.94 µs more that a mouse takes 0.93 are behind other packets at "
            "switches: the non-congested queue is up to 600 KB long before every flow is isolated."
        ),
    },
)
PARAMETERS = [*_SHARED, given("high of CI", "300 and 600 KB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class, by how much the higher threshold lowers it, and pauses and CNPs."""
    _change.figure(results, path, _USUAL, _HIGHER)
