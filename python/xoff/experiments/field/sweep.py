"""All mechanisms at all settings.

Three loads, two kinds of sizes, with and without incasts, oversubscribed 2:1 and not.

Flows arrive for 0.8 ms, two seeds: enough to rank mechanisms, not for third digits. Whether what is good at the main
setting is good elsewhere is told by Spearman's correlation of the ranks of all rows, by the 99th percentile of all
flows' slowdowns; 0.7 and more counts as alike. The statement is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import correlation
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LogNorm

from xoff.experiments.field._fabric import MAIN, scenarios_of
from xoff.experiments.field._mechanisms import QUIETER
from xoff.experiments.field._parameters import ARRIVALS, INCASTS, parameters
from xoff.experiments.field._runs import Runs, p99, told
from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Judged, Part, chosen
from xoff.results import Result

CITATION = "a comparison of our own"
_SETTINGS = [
    replace(MAIN, sizes=sizes, load=load, incast=incast, oversubscription=ratio, ms=0.8)
    for ratio in (2, 1)
    for sizes in ("hadoop", "websearch")
    for incast in (False, True)
    for load in (0.3, 0.5, 0.7)
]
CASES = {setting.name: setting for setting in _SETTINGS}
SEEDS = 2
QUICK = {
    setting.name: setting
    for setting in (replace(MAIN, ms=0.3), replace(MAIN, ms=0.3, load=0.3), replace(MAIN, ms=0.3, sizes="websearch"))
}
QUICK_ROWS = ("IRN", "PFC", "PFC + DCQCN", "PFC + HPCC", "BFC")
ALIKE = 0.7
DARKEST = 500
"""The slowdown from which on the figure is as dark as it gets."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by setting, row and seed."""
    return scenarios_of(QUICK, QUICK_ROWS, 1) if quick else scenarios_of(CASES, QUIETER, SEEDS)


def judge(runs: Runs) -> dict[str, Part]:
    """Judge whether ranks at each setting are those of the main one."""
    rows = runs.rows(MAIN.name)
    tails = {case: [runs.of(case, row, p99("all")) for row in rows] for case in runs.cases}
    found = {
        case: round(correlation(_ranks(values), _ranks(tails[MAIN.name])), 2)
        for case, values in tails.items()
        if case != MAIN.name
    }
    return {"2.1": Part(min(found.values()) >= ALIKE, {"correlation of ranks with the main setting": found})}


JUDGED = Judged(
    document="field",
    statements={"2.1": "What is good at the main setting is good at every other: ranks agree by 0.7 and more"},
    runs=Runs,
    judge=judge,
    ours=["2.1"],
    reasons={
        "2.1": (
            "Ranks agree by 0.58 to 0.98: by 0.8 and more wherever there are incasts, and by less than 0.7 for seven "
            "of the twelve settings without, where queues are short and what PFC costs does not decide."
        ),
    },
)
PARAMETERS = parameters(
    [
        INCASTS,
        *ARRIVALS,
        chosen("left out", "Go-Back-N without PFC", "it repeats for tens of milliseconds what it lost"),
        chosen("arrivals; seeds", "0.8 ms; two", "864 runs a seed: all of it within half an hour on two cores"),
    ]
)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Return the 99th percentile of all flows' slowdowns by row and setting, in the order of the main setting."""
    runs = Runs(results)
    made = [["p99 slowdown", *runs.cases]]
    made += [[row, *(told(runs.values(case, row, p99("all"))) for case in runs.cases)] for row in _ranked(runs)]
    return {"p99": made}


def _ranks(values: Sequence[float]) -> list[int]:
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(place) for place in range(len(values))]


def _ranked(runs: Runs) -> list[str]:
    return sorted(runs.rows(MAIN.name), key=lambda row: runs.of(MAIN.name, row, p99("all")))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the 99th percentile of short and of all flows' slowdowns as colours, by row and setting."""
    runs = Runs(results)
    rows, cases = _ranked(runs), runs.cases
    with rc_context(STYLE):
        drawing = Canvas(figsize=(4 + 0.45 * len(cases), 2.4 + 0.2 * len(rows)), layout="constrained")
        panels = drawing.subplots(1, 2, sharey=True)
        for axes, size in zip(panels, ("short", "all"), strict=True):
            values = np.array([[runs.of(case, row, p99(size)) for case in cases] for row in rows])
            image = axes.imshow(values, norm=LogNorm(1, DARKEST), cmap="viridis_r", aspect="auto")
            axes.set_xticks(range(len(cases)), cases, fontsize=6, rotation=90)
            axes.set_title(f"p99 slowdown, {size} flows", fontsize=8)
            axes.grid(visible=False)
        drawing.colorbar(image, ax=panels, shrink=0.6, format="%g")
        panels[0].set_yticks(range(len(rows)), rows, fontsize=7)
        write(drawing, path)
