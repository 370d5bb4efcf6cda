"""Iterations of a dense model and of a mixture of experts.

128 ranks, one on each host. The dense model has four stages and 32 replicas, the mixture of experts two stages, 64
replicas and 16 experts of each layer on as many ranks. Replicas shard their common state (ZeRO 1), so that an iteration
has reduce-scatters and all-gathers in rings, all-to-alls between experts and messages between stages. Models and
processors are small, in the proportion of large systems: computation takes a sixth to a third of an iteration. In
placement by order, the ranks of a group share a leaf with enough free hosts. All claims and settings are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xoff.reproduce import chosen
from xoff.results import Result
from xoff_experiments.field._chooser import choices
from xoff_experiments.field._drawing import dots
from xoff_experiments.field._fabric import JOB, TRAINING, Setting, derived, scenarios_of
from xoff_experiments.field._parameters import parameters
from xoff_experiments.field._runs import Run, Runs
from xoff_experiments.field._sentences import alike, best, judged, shorter, table

CITATION = "a comparison of our own"
PLACEMENTS = ("linear", "random")
CASES = {
    f"{kind}, {placement}, 2:1": Setting(traffic=kind, placement=placement, oversubscription=2)
    for kind in TRAINING
    for placement in PLACEMENTS
}
SEEDS = 5
ROWS = (
    "PFC",
    "PFC + DCQCN",
    "PFC + DCQCN, window",
    "PFC + DCTCP",
    "PFC + DCTCP + adaptive",
    "PFC + DCTCP + spray",
    "selective + DCTCP + spray",
    "trimming + NSCC",
    "trimming + NSCC + spray",
    "BFC",
)
QUICK = {"dense, random, 2:1": CASES["dense, random, 2:1"]}
QUICK_ROWS = ("PFC", "PFC + DCQCN", "PFC + DCTCP", "PFC + DCTCP + spray", "trimming + NSCC + spray")


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by case, row and seed."""
    return scenarios_of(QUICK, QUICK_ROWS, 1) if quick else scenarios_of(CASES, ROWS, SEEDS)


def _iteration(run: Run) -> float | None:
    return run.iteration_ms


_WHAT = "time of an iteration"
SENTENCES = {
    "0.1": shorter(
        "Many paths shorten an iteration: DCTCP under PFC, sprayed beside by flow",
        "PFC + DCTCP + spray",
        "PFC + DCTCP",
        _iteration,
        _WHAT,
    ),
    "0.2": alike(
        "With many paths the rest hardly matters: DCTCP under PFC takes what NSCC over trimming takes",
        "PFC + DCTCP + spray",
        "trimming + NSCC + spray",
        _iteration,
        _WHAT,
    ),
    "0.3": alike("PFC alone does for jobs what DCTCP under it does", "PFC", "PFC + DCTCP", _iteration, _WHAT),
    "0.4": shorter(
        "DCQCN without a window makes an iteration longer than PFC alone", "PFC", "PFC + DCQCN", _iteration, _WHAT
    ),
    "0.5": best(
        "Trimming with NSCC, sprayed, has the shortest iteration", "trimming + NSCC + spray", ROWS, _iteration, _WHAT
    ),
}
JUDGED = judged(SENTENCES)
DERIVED = derived
PARAMETERS = parameters(
    [
        chosen("jobs", "see `TRAINING` in `_fabric.py`", "small ones, so that a run takes a second"),
        chosen("seeds", "five", "they draw paths, placement and the jitter of computing (2 %)"),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Returns times of an iteration by row and case, and the sentences."""
    runs = Runs(results)
    made = [["iteration (ms)", *runs.cases]]
    made += [[row, *(runs.told(case, row, _iteration, JOB) for case in runs.cases)] for row in _ranked(runs)]
    shares = [["of an iteration ranks wait (%)", *runs.cases]]
    shares += [[row, *(runs.told(case, row, _waits) for case in runs.cases)] for row in _ranked(runs)]
    columns = {
        f"{kind}, {placement}": [case for case in runs.cases if case.startswith(f"{kind}, {placement}")]
        for kind in TRAINING
        for placement in PLACEMENTS
    }
    chooser = choices(runs, {title: cases for title, cases in columns.items() if cases}, _iteration)
    return {
        "iterations": made,
        "sentences": table(SENTENCES, runs),
        "chooser": chooser,
        "Share of an iteration in which ranks wait": shares,
    }


def _waits(run: Run) -> float | None:
    return None if run.exposed is None else 100 * run.exposed


def _ranked(runs: Runs) -> list[str]:
    """Returns the rows by the geometric mean of their times over the cases."""
    return sorted(runs.rows(runs.cases[0]), key=lambda row: runs.product_of(row, _iteration))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the time of an iteration of all rows in each case."""
    runs = Runs(results)
    dots(runs, _ranked(runs), [(case, case, _iteration) for case in runs.cases], path, "iteration (ms)")
