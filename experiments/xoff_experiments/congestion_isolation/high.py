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

from xoff.reproduce import Part, given
from xoff.results import Result
from xoff_experiments.congestion_isolation import _change
from xoff_experiments.congestion_isolation._fabric import Case
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import Runs, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (CI high)"

_USUAL, _HIGHER = "high 300 KB", "high 600 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judges CI with the higher threshold against CI with the usual threshold."""
    return _change.judge(runs, "C.5", _USUAL, _HIGHER)


JUDGED = judged(
    statements=_change.statements("C.5", "CI high 300 → 600 KB"),
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, high_kb=600)},
    judge=judge,
    reasons={
        "C.5-large": (
            "Elephants gain 1.8 ± 1.2 %, 120 µs, and mice take 47 ± 7 % longer, 1.9 µs. By shares no combination of "
            "the search has it: what is not selected waits in the queue of the mice, which a higher High lets grow. "
            "In µs, as the slide on static latency compares (1.2 and 200 µs), large flows are affected more, and this "
            "part holds."
        ),
        "C.5-pauses": (
            "There are 64 ± 18 % more: what is isolated later comes in larger bursts. Without the set-up, where "
            "certainty begins at High, there are fewer."
        ),
        "C.5-cnps": ("There are 5.2 ± 1.7 % more, for the same cause."),
    },
    readings=_change.READINGS,
)
PARAMETERS = [*_SHARED, given("high of CI", "300 and 600 KB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class, by how much the higher threshold lowers it, and pauses and CNPs."""
    _change.figure(results, path, _USUAL, _HIGHER)
