"""C.1: 128 and 1152 servers, two queues.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "2 Queue Model", "Review:
Previous Data With 3 Queue Model" and "Summary". The figures of the document are lost.

"Performs even better" is said of two queues after three, and "especially for the mice": with two queues CI gains more
over all flows, and for mice. "Benefit the most" is a larger gain than that of each other class. That CI's mean is lower
in every class is ours: the document says it by figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff.reproduce import Part, RunFailed, all_of, chosen, higher, positive
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.congestion_isolation._fabric import CLASSES, MICE, SIZES, VARIANTS, Case
from xoff_experiments.congestion_isolation._figures import bars
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import CHOICES, SMALLEST, Gain, Runs, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, 2 Queue Model"

TORS = (16, 48)
TWO = {tors: f"{tors * tors // 2} servers" for tors in TORS}
THREE = {tors: f"{tors * tors // 2} servers, three queues" for tors in TORS[:1]}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the means, the gain of mice against other flows, and the gains of both models, at 128 servers."""
    measured: dict[str, Any] = {}
    shares: dict[str, Any] = {}
    models: dict[str, Any] = {}
    for tors in TORS:
        if TWO[tors] not in runs:
            continue
        two, three = TWO[tors], THREE.get(tors)
        gains = {size: runs.gain(two, size) for size in CLASSES}
        measured |= runs.compared(two)
        shares[f"{two}: gain"] = {size: str(found) for size, found in gains.items() if size != "all"}
        if three is not None:
            models |= _models(runs, two, three, gains)
        for what, read in {
            "load carried while flows arrive": lambda run: round(run.carried, 3),
            "CNPs": lambda run: run.cnps,
            "PFC pauses": lambda run: run.pauses,
        }.items():
            measured[f"{two}: {what}"] = {text: runs.counts(two, one, read) for one, text in VARIANTS.items()}
    if not runs.choice:
        measured |= {f"{choice}: gain": found for choice in CHOICES if (found := _told(Runs(runs.results, choice)))}
    two, three = TWO[SMALLEST], THREE[SMALLEST]
    gained = {size: runs.gains(two, size) for size in CLASSES}
    others = [size for size in SIZES if size != MICE]
    return {
        "C.1-lower": Part(all_of(*map(positive, gained.values())), measured),
        "C.1-mice": Part(all_of(*(higher(gained[MICE], gained[size]) for size in others)), shares),
        "C.1-more": Part(
            all_of(positive(_apart(runs, two, three, MICE)), positive(_apart(runs, two, three, "all"))), models
        ),
    }


def _models(runs: Runs, two: str, three: str, gains: Mapping[str, Gain]) -> dict[str, Any]:
    """Returns the page's text for a scale: CI's gain with two queues and with three, by size class."""
    return {
        f"{two}, {size}: gain": {
            "two queues": str(gains[size]),
            "three queues": str(runs.gain(three, size)),
            "apart (points)": str(_mean_of(_apart(runs, two, three, size))).removesuffix(" %"),
        }
        for size in reversed(CLASSES)
    }


def _told(runs: Runs) -> dict[str, Any]:
    """Returns the page's text for an open choice: gains, and the load carried without CI."""
    label = TWO[TORS[0]]
    if label not in runs:
        return {}
    try:
        gains = {size: str(runs.gain(label, size)) for size in CLASSES}
    except RunFailed:
        return {"of no size": "a run lost packets"}
    return gains | {"load carried": runs.counts(label, "none", lambda run: run.carried).mean}


def _apart(runs: Runs, two: str, three: str, size: str) -> list[float]:
    """Returns by how much CI's gain with two queues is above that with three, of each seed."""
    return [one - other for one, other in zip(runs.gains(two, size), runs.gains(three, size), strict=True)]


def _mean_of(values: list[float]) -> Gain:
    found = interval(values)
    return Gain(found.mean, found.margin)


JUDGED = judged(
    statements={
        "C.1": "Two queues, no mice prioritisation: CI performs even better than with three queues; the mice benefit "
        "the most",
        "C.1-lower": "Ours, for lost figures: with two queues CI's mean FCT is lower in every size class",
        "C.1-mice": "The mice benefit the most",
        "C.1-more": "CI performs even better than in the three-queue model, especially for the mice",
    },
    cases={
        **{TWO[tors]: Case(tors=tors) for tors in TORS},
        **{label: Case(tors=tors, queues=3) for tors, label in THREE.items()},
    },
    judge=judge,
    reasons={
        "C.1-lower": (
            "Elephants take 18.4 ± 2.0 % longer, and all flows together 6.0 ± 2.8 %: every isolated packet is marked, "
            "so that sources of isolated flows get twice the CNPs (34,000 instead of 17,000) and DCQCN throttles "
            "them. Mice and flows of 100 KB to 1 MB gain 86 and 23 %."
        ),
    },
    choices=[choice for choice in CHOICES if choice != "load 80 %"],
    ours=("C.1-lower",),
)
PARAMETERS = [
    *_SHARED,
    chosen("scales", "128 and 1152 servers", "the ends of the document's range", "128 alone with other choices"),
]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT by size class and scale."""
    bars(results, path, {TWO[tors]: f"{tors * tors // 2}" for tors in TORS}, "servers")
