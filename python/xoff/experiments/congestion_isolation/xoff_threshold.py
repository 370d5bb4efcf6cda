"""C.4: XOFF of 1500 KB in place of 750 KB.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Memory Sensitivity" (second).
Queues have 2 MB in both, which by C.3 changes nothing for 750 KB. Judged for CI; without CI is shown beside it. Ours:
128 servers. An effect is one beyond chance, over the seeds.
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

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Memory Sensitivity (XOFF)"

_USUAL, _HIGHER = "XOFF 750 KB", "XOFF 1500 KB"


def judge(runs: Runs) -> dict[str, Part]:
    """Judges CI with the higher threshold against CI with the usual threshold."""
    return _change.judge(runs, "C.4", _USUAL, _HIGHER)


JUDGED = judged(
    statements=_change.statements("C.4", "XOFF 750 → 1500 KB"),
    cases={_USUAL: Case(queue_mb=2), _HIGHER: Case(queue_mb=2, xoff_kb=1500)},
    judge=judge,
    readings=_change.READINGS,
    reasons={
        "C.4-large": (
            "Elephants change within chance (0.8 ± 1.1 % longer), and so do all others. A trace with the "
            "draws of version 0.1.0 shows why: PFC holds an elephant for 30 µs of a mean of 5,952, so there "
            "is half a percent to gain, and with XOFF of 1500 KB for none; but DCQCN then paces it for 3,742 "
            "µs instead of 3,554, see C.4-cnps."
        ),
        "C.4-cnps": (
            "There are 9.6 ± 2.8 % more. A sender that PFC no longer stops goes on sending into queues above "
            "300 KB, where ECN marks every packet. With the selecting packet alone marked, or with the "
            "parameters of DCQCN's paper, which make a tenth of the CNPs, there are fewer."
        ),
    },
)
PARAMETERS = [*_SHARED, given("XOFF", "750 and 1500 KB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class, by how much the higher threshold lowers it, and pauses and CNPs."""
    _change.figure(results, path, _USUAL, _HIGHER)
