"""C.1: from 128 to 1152 servers, two queues.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "2 Queue Model", "Review:
Previous Data With 3 Queue Model" and "Summary". The figures of the document are lost; its scales between 128 and 1152
servers are ours.

"Performs even better" is said of two queues after three, and "especially for the mice": with two queues CI gains more
for mice, and for no other class less beyond chance. That CI's mean is lower in every class at every scale is ours: the
document says it by figures. Larger fabrics have one seed: there the direction of the mice's gain is judged alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from xoff.experiments.congestion_isolation._fabric import CLASSES, MICE, SIZES, VARIANTS, Case
from xoff.experiments.congestion_isolation._figures import bars
from xoff.experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff.experiments.congestion_isolation._runs import CHOICES, Gain, Runs, judged
from xoff.reproduce import Part, RunFailed, chosen
from xoff.results import Result
from xoff.statistics import interval

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, 2 Queue Model"

TORS = (16, 32, 48)
TWO = {tors: f"{tors * tors // 2} servers" for tors in TORS}
THREE = {tors: f"{tors * tors // 2} servers, three queues" for tors in TORS}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the means, the mice's gain against that of the others, and the gains of both models by class."""
    scales = [tors for tors in TORS if TWO[tors] in runs]
    measured: dict[str, Any] = {}
    shares: dict[str, Any] = {}
    models: dict[str, Any] = {}
    lower, mice, more = True, True, True
    for tors in scales:
        two, three = TWO[tors], THREE[tors]
        gains = {size: runs.gain(two, size) for size in CLASSES}
        apart = {size: _apart(runs, two, three, size) for size in CLASSES}
        lower &= all(found.share > 0 for found in gains.values())
        mice &= all(gains[MICE].share > gains[size].share for size in SIZES if size != MICE)
        more &= apart[MICE].share > 0 and (apart[MICE].is_sure or apart[MICE].half is None)
        more &= all(apart[size].share > 0 or not apart[size].is_sure for size in SIZES)
        measured |= runs.compared(two)
        shares[f"{two}: gain"] = {size: str(found) for size, found in gains.items() if size != "all"}
        for size in reversed(CLASSES):
            models[f"{two}, {size}: gain"] = {
                "two queues": str(gains[size]),
                "three queues": str(runs.gain(three, size)),
                "apart (points)": str(apart[size]).removesuffix(" %"),
            }
        for what, read in {
            "load carried while flows arrive": lambda run: round(run.carried, 3),
            "CNPs": lambda run: run.cnps,
            "PFC pauses": lambda run: run.pauses,
        }.items():
            measured[f"{two}: {what}"] = {text: runs.counts(two, one, read) for one, text in VARIANTS.items()}
    if not runs.choice:
        measured |= {f"{choice}: gain": found for choice in CHOICES if (found := _told(Runs(runs.results, choice)))}
    return {
        "C.1-lower": Part(lower, measured),
        "C.1-mice": Part(mice, shares),
        "C.1-more": Part(more, models),
    }


def _told(runs: Runs) -> dict[str, Any]:
    """Return what a page says of an open choice: gains and the load that is carried without CI."""
    label = TWO[TORS[0]]
    if label not in runs:
        return {}
    try:
        gains = {size: str(runs.gain(label, size)) for size in CLASSES}
    except RunFailed:
        return {"of no size": "a run lost packets"}
    return gains | {"load carried": runs.counts(label, "none", lambda run: run.carried).mean}


def _apart(runs: Runs, two: str, three: str, size: str) -> Gain:
    """Return by how much CI's gain with two queues is above that with three; the interval is over the seeds."""
    columns = [[run.fct_us[size] for run in runs.of(label, one)] for label in (two, three) for one in VARIANTS]
    found = []
    for none, ci, three_none, three_ci in zip(*columns, strict=True):
        if none:
            found.append(fmean(three_ci) / fmean(three_none) - fmean(ci) / fmean(none))
    apart = interval(found)
    return Gain(apart.mean, apart.margin)


_JUDGED = judged(
    statements={
        "C.1": "Two queues, no mice prioritisation: CI performs even better than with three queues; the mice benefit "
        "the most",
        "C.1-lower": "Ours, for lost figures: with two queues CI's mean FCT is lower in every size class, at every "
        "scale",
        "C.1-mice": "The mice benefit the most",
        "C.1-more": "CI performs even better than in the three-queue model, especially for the mice",
    },
    cases={
        **{TWO[tors]: Case(tors=tors) for tors in TORS},
        **{THREE[tors]: Case(tors=tors, queues=3) for tors in TORS},
    },
    judge=judge,
    choices=[choice for choice in CHOICES if choice not in {"ECN's high follows CI's", "load 80 %"}],
    ours=("C.1-lower",),
    reasons={
        "C.1-mice": (
            "Mice gain 43 ± 11 % at 128 servers, and flows of 100 KB to 1 MB, which wait in the same queues, 45 ± 27 "
            "%; at 512 servers mice gain the most, at 1152 flows of 100 KB to 1 MB. Which of the two gains more is "
            "within chance: the next larger class has a tenth of the flows."
        ),
    },
)
PARAMETERS = [
    *_SHARED,
    chosen("scales", "128, 512 and 1152 servers", "between those of the document", "128 alone with other choices"),
]
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean FCT by size class and scale."""
    bars(results, path, {TWO[tors]: f"{tors * tors // 2}" for tors in TORS}, "servers")
