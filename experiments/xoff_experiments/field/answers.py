"""The short answer at all settings.

Settings differ from a base (Hadoop's sizes at 50 %, incasts of 60, 12 MB a switch, 100 Gb/s, 128 hosts; 2:1 and 1:1)
in the load, the incasts, the buffer, the rate or the number of hosts. Flows arrive for 0.4 ms, at 400 Gb/s
and with 1,024 hosts for 0.1 ms; five seeds each. Incasts are as large a share of the capacity at each rate and number
of hosts. All sentences are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LogNorm

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import chosen
from xoff.results import Result
from xoff_experiments.field._chooser import choices
from xoff_experiments.field._fabric import MAIN, SENDERS, derived, scenarios_of
from xoff_experiments.field._parameters import ARRIVALS, INCASTS, parameters
from xoff_experiments.field._runs import Run, Runs, p99
from xoff_experiments.field._sentences import above, alike, beneath, best, judged, shorter, table

CITATION = "a comparison of our own"
_BASE = replace(MAIN, ms=0.4)
_EACH: list[dict[str, Any]] = [
    {"senders": 0},
    {},
    {"gbps": 400, "ms": 0.1},
    {"buffer_mb": 2},
    {"load": 0.7},
    {"senders": 16},
    {"buffer_mb": 48},
    {"load": 0.7, "senders": 0},
    {"load": 0.3},
    {"load": 0.3, "senders": 0},
]
_SETTINGS = [
    *(replace(_BASE, oversubscription=ratio, **changes) for changes in _EACH for ratio in (2, 1)),
    replace(_BASE, oversubscription=1, leaves=64, ms=0.1),
]
CASES = {setting.name: setting for setting in _SETTINGS}
SEEDS = 5
NSCC = "trimming + NSCC + spray"
SPRAYED = "PFC + DCTCP + spray"
ROWS = (
    "PFC",
    "PFC + DCQCN",
    "PFC + DCQCN, window",
    "PFC + DCTCP",
    SPRAYED,
    "selective + DCTCP",
    "trimming + NSCC",
    NSCC,
    "trimming + NDP + spray",
    "BFC",
)
MORE = (
    "PFC by port",
    "credits (CBFC)",
    "PFC + HPCC",
    "PFC + DCQCN + spray",
    "selective + DCTCP + spray",
    "selective + NSCC + spray",
    "IRN + DCTCP",
    "trimming + Swift + spray",
)
"""Rows of a few settings: at 50 %, with incasts and without."""
FEW = {
    setting.name: setting
    for setting in _SETTINGS
    if replace(setting, oversubscription=2) in {_BASE, replace(_BASE, senders=0)}
}
ONE_PATH = ("BFC", "PFC", "PFC + DCQCN", "PFC + DCQCN, window", "PFC + DCTCP", "PFC + HPCC", "selective + DCTCP")
QUICK = {
    setting.name: setting for setting in (replace(MAIN, ms=0.3), replace(MAIN, ms=0.05, gbps=400, oversubscription=1))
}
DARKEST = 500
"""The figure uses its darkest colour from this slowdown on."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting, row and seed."""
    if quick:
        return scenarios_of(QUICK, (*ROWS, *MORE), 1)
    return scenarios_of(CASES, ROWS, SEEDS) | scenarios_of(FEW, MORE, SEEDS)


def _incast(run: Run) -> float | None:
    return run.incast


_TAIL = p99("all")
_P99, _SHORT = "p99 slowdown", "p99 slowdown of short flows"
SENTENCES = {
    "2.1": best("NSCC over trimming, sprayed, has the shortest tail of all", NSCC, (*ROWS, *MORE), _TAIL, _P99),
    "2.11": shorter("BFC, which keeps each flow on one path, has a shorter one", "BFC", NSCC, _TAIL, _P99),
    "2.12": alike("Over trimming and sprayed, Swift does as NSCC", "trimming + Swift + spray", NSCC, _TAIL, _P99),
    "2.2": shorter("Many paths shorten the tail of NSCC over trimming", NSCC, "trimming + NSCC", _TAIL, _P99),
    "2.3": shorter("Many paths shorten the tail of DCTCP under PFC", SPRAYED, "PFC + DCTCP", _TAIL, _P99),
    "2.4": alike(
        "Under PFC without a window they do not: sprayed, DCQCN's tail is that by flow",
        "PFC + DCQCN + spray",
        "PFC + DCQCN",
        _TAIL,
        _P99,
    ),
    "2.5": shorter(
        "Under PFC a window of one product makes DCQCN's tail shorter, at least by half",
        "PFC + DCQCN, window",
        "PFC + DCQCN",
        _TAIL,
        _P99,
        times=2,
    ),
    "2.6": shorter(
        "With windows it is better to lose packets than to pause: DCTCP, `selective` beside PFC, by flow",
        "selective + DCTCP",
        "PFC + DCTCP",
        _TAIL,
        _P99,
    ),
    "2.61": shorter("The same with IRN, which finds at once what was lost", "IRN + DCTCP", "PFC + DCTCP", _TAIL, _P99),
    "2.7": shorter("The same sprayed, `selective` beside PFC", "selective + DCTCP + spray", SPRAYED, _TAIL, _P99),
    "2.8": shorter("To trim is better than to lose: NSCC, sprayed", NSCC, "selective + NSCC + spray", _TAIL, _P99),
    "2.9": best("BFC has the shortest tail of what keeps each flow on one path", "BFC", ONE_PATH, _TAIL, _P99),
    "2.91": above("Under PFC alone one flow in a hundred takes a hundred times as long", "PFC", _TAIL, 100, _P99),
    "2.92": shorter(
        "Credits have a shorter tail than PFC with the same buffer a port", "credits (CBFC)", "PFC by port", _TAIL, _P99
    ),
    "2.93": best(
        "NDP has the shortest tail of short flows", "trimming + NDP + spray", (*ROWS, *MORE), p99("short"), _SHORT
    ),
    "2.94": alike(
        "Long flows get from DCTCP under PFC, sprayed, what they get from NSCC over trimming",
        SPRAYED,
        NSCC,
        lambda run: run.long_gbps,
        "rate of long flows",
    ),
    "2.95": beneath(
        "PFC alone ends an incast within 15 % of the least possible", "PFC", _incast, 1.15, "over the least possible"
    ),
}
JUDGED = judged(SENTENCES)
DERIVED = derived
PARAMETERS = parameters(
    [
        INCASTS,
        *ARRIVALS,
        chosen(
            "arrivals; seeds",
            "0.4 ms (0.1 ms where more flows come); five",
            "all of the page within an hour on two cores",
        ),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Returns the sentences; and the 99th percentile of all flows' slowdowns by setting and row, best row first."""
    runs = Runs(results)
    rows = _ranked(runs)
    rows += [row for row in MORE if row not in rows]
    made = [["p99 slowdown", *rows]]
    made += [[case, *(runs.told(case, row, _TAIL, "all") for row in rows)] for case in runs.cases]
    return {
        "sentences": table(SENTENCES, runs),
        "chooser": choices(runs, _columns(runs), _TAIL),
        "Slowdowns at all settings": made,
    }


def _columns(runs: Runs) -> dict[str, list[str]]:
    """Returns the chooser's cases, each as a column: the cases with all rows, and cases with more load."""
    found = {}
    for load, senders in ((0.5, 0), (0.5, SENDERS), (0.7, SENDERS)):
        for ratio in (1, 2):
            name = replace(_BASE, oversubscription=ratio, senders=senders, load=load).name
            if name in runs.cases:
                found[name.removeprefix("Hadoop ")] = [name]
    return found


def _ranked(runs: Runs) -> list[str]:
    return sorted(runs.rows(runs.cases[0]), key=lambda row: runs.product_of(row, _TAIL))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the 99th percentile of slowdowns as colours and numbers, by setting and row."""
    runs = Runs(results)
    rows, cases = _ranked(runs), runs.cases
    with rc_context(STYLE):
        drawing = Canvas(figsize=(3.2 + 0.42 * len(rows), 2.2 + 0.19 * len(cases)), layout="constrained")
        axes = drawing.subplots()
        values = np.array([[runs.of(case, row, _TAIL) for row in rows] for case in cases])
        image = axes.imshow(values, norm=LogNorm(1, DARKEST), cmap="YlOrRd", aspect="auto")
        for (down, across), value in np.ndenumerate(values):
            if np.isnan(value):
                continue
            text = f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
            colour = "white" if value > 60 else "black"
            axes.text(across, down, text, ha="center", va="center", fontsize=5.5, color=colour)
        axes.set_xticks(range(len(rows)), rows, fontsize=6.5, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(cases)), cases, fontsize=6.5)
        axes.set_title("p99 slowdown of all flows", fontsize=8)
        axes.grid(visible=False)
        drawing.colorbar(image, ax=axes, shrink=0.6, format="%g")
        write(drawing, path)
