"""C.2: three queues, mice first.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Review: Previous Data With 3
Queue Model". Mice are flows below 100 KB (ours), recognised from their first packet, and served strictly before both
other queues, with and without CI. "Not improved obviously" is a mean FCT that is about the same. The document shows the
other classes only in figures, which are lost; the claim of a gain for the other classes is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff.reproduce import ABOUT_THE_SAME, Part, all_of, chosen, positive
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import CLASSES, MICE, SIZES, Case
from xoff_experiments.congestion_isolation._figures import bars
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import SMALLEST, Runs, judged
from xoff_experiments.congestion_isolation.scales import THREE, TORS, TWO

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Review: Previous Data With 3 Queue Model"


def judge(runs: Runs) -> dict[str, Part]:
    """Judges at 128 servers that the mean FCT of mice is about the same, and the mean FCT of other flows lower."""
    mice: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for tors, label in THREE.items():
        if label not in runs:
            continue
        compared = runs.compared(label)
        for size in CLASSES:
            (mice if size == MICE else others).update({key: value for key, value in compared.items() if size in key})
        if TWO[tors] in runs:
            mice[f"{TWO[tors]}, two queues, {MICE}: gain"] = str(runs.gain(TWO[tors], MICE))
    gained = {size: runs.gains(THREE[SMALLEST], size) for size in SIZES}
    small = [ABOUT_THE_SAME - abs(share) for share in gained[MICE]]
    return {
        "C.2": Part(positive(small), mice),
        "C.2-others": Part(all_of(*(positive(gained[size]) for size in SIZES if size != MICE)), others),
    }


JUDGED = judged(
    statements={
        "C.2": "Three queues: with mice prioritisation on both sides, CI does not obviously improve the mice",
        "C.2-others": "Ours, for lost figures: in the three other size classes CI's mean FCT is lower",
    },
    cases={
        **{label: Case(tors=tors, queues=3) for tors, label in THREE.items()},
        # For comparison.
        TWO[TORS[0]]: Case(),
    },
    judge=judge,
    reasons={
        "C.2-others": (
            "As with two queues (C.1-lower): what is isolated is throttled, and elephants take 18.9 ± 2.3 % longer."
        ),
    },
    ours=("C.2-others",),
)
PARAMETERS = [
    *_SHARED,
    chosen("mice of the third queue", "flows below 100 KB, from their first packet", "the document's smallest class"),
]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class and scale."""
    bars(results, path, {label: f"{tors * tors // 2}" for tors, label in THREE.items()}, "servers")
