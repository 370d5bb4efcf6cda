"""One fault: slow or failing links and hosts.

The fabric is not oversubscribed. Flows are Hadoop's sizes at half load for 0.8 ms, without incasts; the job is the
dense job of `jobs.py`, placed at random. The slow link, from a leaf to a spine, has a tenth of its rate. The failed
link goes down after 0.1 ms: its leaf avoids the link after 0.1 ms more, and all routes are new after 0.5 ms. The slow
host has a link of a quarter of its rate; the stalled host reads nothing for 0.2 ms, and makes its leaf pause; the
straggler needs 1.5 times as long to compute. The percentile of flows is over flows neither from nor to the faulty host:
the cost to other hosts. No signal tells a switch that a link is slow. Under PFC and credits hosts request packets lost
on a link after 4 ms, since no other packets are lost. All claims and settings are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from xoff.reproduce import Decision, about_the_same, chosen, lower
from xoff.results import Result
from xoff_experiments.field._drawing import dots
from xoff_experiments.field._fabric import JOB, MAIN, Setting, derived, scenarios_of
from xoff_experiments.field._parameters import parameters
from xoff_experiments.field._runs import OTHERS, Run, Runs, p99, told
from xoff_experiments.field._sentences import Sentence, judged, table

CITATION = "a comparison of our own"
FLOWS, TRAINING = "flows", "dense job"
_FLOWS = replace(MAIN, senders=0, oversubscription=1, ms=0.8)
_JOB = Setting(traffic="dense", placement="random", oversubscription=1)
NONE = "no fault"
OF_FLOWS = ("slow link", "failed link", "slow host", "host that stalls")
OF_JOBS = ("failed link", "straggler")
CASES = {
    f"{what}, {fault or NONE}": replace(setting, fault=fault)
    for what, setting, faults in ((FLOWS, _FLOWS, OF_FLOWS), (TRAINING, _JOB, OF_JOBS))
    for fault in ("", *faults)
}
SEEDS = 5
ROWS = (
    "PFC",
    "PFC + DCTCP",
    "PFC + DCTCP + adaptive",
    "PFC + DCTCP + spray",
    "trimming + NSCC",
    "trimming + NSCC + spray",
    "trimming + NSCC + REPS",
    "BFC",
)
OF_TRAINING = tuple(row for row in ROWS if row not in {"PFC", "BFC", "trimming + NSCC"})
"""Rows of the job."""
QUICK = {
    name: replace(case, ms=0.3)
    for name, case in CASES.items()
    if name in {f"{FLOWS}, {NONE}", f"{FLOWS}, slow link", f"{FLOWS}, host that stalls", f"{FLOWS}, failed link"}
}
QUICK_ROWS = (
    "PFC",
    "PFC + DCTCP",
    "PFC + DCTCP + spray",
    "PFC + DCTCP + adaptive",
    "trimming + NSCC + spray",
    "trimming + NSCC + REPS",
)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by case, row and seed."""
    if quick:
        return scenarios_of(QUICK, QUICK_ROWS, 1)
    flows = {name: one for name, one in CASES.items() if one.traffic == "arrivals"}
    jobs = {name: one for name, one in CASES.items() if name not in flows}
    return scenarios_of(flows, ROWS, SEEDS) | scenarios_of(jobs, OF_TRAINING, SEEDS)


def _value(run: Run) -> float | None:
    return run.iteration_ms if run.iteration_ms is not None else p99(OTHERS)(run)


def _without(case: str) -> str:
    return f"{case.partition(', ')[0]}, {NONE}"


def costs(runs: Runs, case: str, row: str) -> list[float]:
    """Returns the time divided by the time without the fault, by seed."""
    if row not in runs.rows(case) or _without(case) not in runs.cases:
        return []
    pairs = zip(runs.by_seed_of(case, row, _value), runs.by_seed_of(_without(case), row, _value), strict=True)
    return [mine / other for mine, other in pairs if mine is not None and other]


def _pays_less(text: str, faults: Sequence[str], one: str, other: str) -> Sentence:
    def decide(runs: Runs, case: str) -> Decision | None:
        mine, theirs = costs(runs, case, one), costs(runs, case, other)
        if case.partition(", ")[2] not in faults or not mine or len(mine) != len(theirs):
            return None
        return lower(mine, theirs)

    def ratio(runs: Runs, case: str) -> float | None:
        mine, theirs = costs(runs, case, one), costs(runs, case, other)
        return fmean(theirs) / fmean(mine) if mine and theirs else None

    return Sentence(text, decide, ratio, f"times as long as without: {other}, times {one}")


def _pays_nothing(text: str, fault: str, row: str) -> Sentence:
    def decide(runs: Runs, case: str) -> Decision | None:
        found = costs(runs, case, row)
        return about_the_same(found, [1.0] * len(found)) if found and case.partition(", ")[2] == fault else None

    def ratio(runs: Runs, case: str) -> float | None:
        found = costs(runs, case, row)
        return fmean(found) if found else None

    return Sentence(text, decide, ratio, f"times as long as without: {row}")


_LINKS = ("slow link", "failed link")
SENTENCES = {
    "0.6": _pays_less(
        "A link that is slow or fails costs less with paths by load than sprayed (DCTCP under PFC)",
        _LINKS,
        "PFC + DCTCP + adaptive",
        "PFC + DCTCP + spray",
    ),
    "0.7": _pays_less(
        "It costs less by flow than sprayed (DCTCP under PFC)", _LINKS, "PFC + DCTCP", "PFC + DCTCP + spray"
    ),
    "0.8": _pays_less(
        "It costs less with REPS than sprayed (NSCC over trimming)",
        _LINKS,
        "trimming + NSCC + REPS",
        "trimming + NSCC + spray",
    ),
    "0.9": _pays_less(
        "It costs less over trimming than under PFC (sprayed)", _LINKS, "trimming + NSCC + spray", "PFC + DCTCP + spray"
    ),
    "0.91": _pays_nothing(
        "A host that stalls costs others nothing over trimming (NSCC, sprayed)",
        "host that stalls",
        "trimming + NSCC + spray",
    ),
    "0.92": _pays_less(
        "A host that stalls, or whose link is slow, costs others less over trimming than under PFC alone",
        ("host that stalls", "slow host"),
        "trimming + NSCC + spray",
        "PFC",
    ),
}
JUDGED = judged(SENTENCES)
DERIVED = derived
PARAMETERS = parameters(
    [
        chosen(
            "faults", "see `FAULTS` in `_fabric.py`", "each of one link or of one host, at a time when all is under way"
        ),
        chosen("seeds", "five", "they draw flows, paths and placement"),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def tables(results: Mapping[str, Result]) -> dict[str, Sequence[Sequence[str]]]:
    """Returns what is without a fault and how many times as long with each, by row; and the sentences."""
    runs = Runs(results)
    made: dict[str, Sequence[Sequence[str]]] = {}
    for what, unit in ((FLOWS, "p99 slowdown of others"), (TRAINING, "iteration (ms)")):
        cases = [case for case in runs.cases if case.startswith(what)]
        if not cases:
            continue
        heads = [f"{what}: times as long with", f"{unit}, {NONE}", *(case.partition(", ")[2] for case in cases[1:])]
        rows = sorted(
            runs.rows(cases[0]), key=lambda row: max(fmean(costs(runs, one, row) or [0]) for one in cases[1:])
        )
        part = OTHERS if what == FLOWS else JOB
        made[what] = [
            heads,
            *(
                [row, runs.told(cases[0], row, _value), *(_told(runs, case, row, part) for case in cases[1:])]
                for row in rows
            ),
        ]
    return made | {"sentences": table(SENTENCES, runs)}


def _told(runs: Runs, case: str, row: str, part: str) -> str:
    cut = any(part in run.cut for run in runs.each(f"{case}/{row}"))
    return ("≥ " if cut else "") + told(costs(runs, case, row))


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws how many times as long each row takes with each fault."""
    runs = Runs(results)
    cases = [case for case in runs.cases if not case.endswith(NONE)]
    rows = runs.rows(cases[0])
    dots(runs, rows, [(case, case, None) for case in cases], path, "times as long as without the fault", values=costs)
