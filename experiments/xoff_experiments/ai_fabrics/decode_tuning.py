"""Parameters of SFC beside decode: late token and median token with other values.

The main setting of KV caches beside decode. Each *variant* changes parameters of SFC. The pair of 16 µs and 10 µs is
that of the serving page and of the comparison of mechanisms. The sentences were written after the runs of the main
setting and of single seeds of two variants, and before the runs of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, legend_below, write
from xoff.reproduce import about_the_same, chosen, given, lower, run_name
from xoff.reproduce.sentences import Found, Sentence, judged, table
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.ai_fabrics._compared import Runs, told
from xoff_experiments.ai_fabrics._decode import scenario
from xoff_experiments.ai_fabrics._rows import DYNAMIC, PFC, PRIORITY, SFC, Fabric
from xoff_experiments.ai_fabrics.decode import MAIN, SEEDS, SETTINGS, Run, read, smaller

CITATION = 'An experiment of our own on "SFC simulation", IEEE P802.1Qdw, 2025, Part 3'
_MAIN = SETTINGS[MAIN]
_FABRIC = _MAIN.fabric
_TO_TARGET = {"pause": None, "interval": None, "target": _FABRIC.size(2), "round_trip": f"{_FABRIC.round_trip_us}us"}


def _of_sfc(threshold_us: float, pause_us: float) -> Fabric:
    keys = {"threshold": _FABRIC.size(threshold_us), "pause": f"{pause_us}us", "interval": f"{pause_us}us"}
    return replace(_FABRIC, sfc=keys)


VARIANTS: dict[str, Fabric] = {
    "pause of 5 µs": _of_sfc(8, 5),
    "pause of 10 µs": _of_sfc(8, 10),
    "threshold of 16 µs, pause of 10 µs": _of_sfc(16, 10),
    "threshold of 24 µs, pause of 10 µs": _of_sfc(24, 10),
    "threshold of 16 µs": _of_sfc(16, 20.8),
    "pause to a target of 2 µs": replace(_FABRIC, sfc=_TO_TARGET),
}
_BASES = (PFC, PRIORITY, SFC, DYNAMIC)
_QUICK = ("threshold of 16 µs, pause of 10 µs",)
SAME = 0.01


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by row or variant, and seed."""
    made: dict[str, dict[str, Any]] = {}
    for seed in range(1, 2 if quick else 1 + SEEDS):
        drawn = replace(smaller(_MAIN) if quick else _MAIN, seed=seed)
        made |= {run_name(MAIN, row, seed): scenario(drawn, row) for row in _BASES}
        for name, fabric in VARIANTS.items():
            if not quick or name in _QUICK:
                made[run_name(MAIN, name, seed)] = scenario(replace(drawn, fabric=fabric), SFC)
    return made


def _runs(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs[Run]:
    return Runs(results, read, choice, reading)


def _late(run: Run) -> float:
    return run.late_us


def _median(run: Run) -> float:
    return run.median_us


def _each(decide: Callable[[Runs[Run], str], Found]) -> Callable[[Runs[Run]], dict[str, Found]]:
    """Returns the predicate of a sentence on each variant."""
    return lambda runs: {name: decide(runs, name) for name in VARIANTS if runs.has(MAIN, (name,))}


def _earlier(base: str, sign: int) -> Callable[[Runs[Run], str], Found]:
    """Returns the decision: the late token of a variant comes earlier than of a row; later with sign -1."""

    def decide(runs: Runs[Run], name: str) -> Found:
        mine, theirs = runs.values(MAIN, name, _late), runs.values(MAIN, base, _late)
        pair = (mine, theirs) if sign > 0 else (theirs, mine)
        return Found(lower(*pair), fmean(mine) / fmean(theirs))

    return decide


def _in_place(runs: Runs[Run], name: str) -> Found:
    """Decides that the median token of a variant is within 1 % of PFC alone."""
    mine, theirs = runs.values(MAIN, name, _median), runs.values(MAIN, PFC, _median)
    return Found(about_the_same(mine, theirs, SAME), fmean(mine) / fmean(theirs))


SENTENCES: dict[str, Sentence[Runs[Run]]] = {
    "V.1": Sentence(
        "SFC makes the late token earlier than PFC alone does, with each variant",
        _each(_earlier(PFC, 1)),
        "p99 ITL: the variant, over PFC",
    ),
    "V.2": Sentence(
        "SFC leaves the median token in place, with each variant: the median ITL is within 1 % of PFC alone",
        _each(_in_place),
        "median ITL: the variant, over PFC",
    ),
    "V.3": Sentence(
        "SFC makes the late token later than a second class with priority does, with each variant",
        _each(_earlier(PRIORITY, -1)),
        "p99 ITL: the variant, over second class, priority",
    ),
}
JUDGED = judged("ai-fabrics", SENTENCES, _runs)
PARAMETERS = (
    given("pauses", "5 to 20.8 µs", "the document varies 3 to 160 µs (case 5)"),
    chosen(
        "thresholds",
        "8 to 24 µs of a line",
        "a combine brings 18 µs of a line from the other server to a rank; XOFF is 32 µs",
    ),
    chosen("16 µs and 10 µs", "threshold and pause", "those of the serving page"),
    chosen("seeds", str(SEEDS), "those of decode"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def _lines(runs: Runs[Run]) -> list[str]:
    """Returns the rows and variants that were run."""
    return [name for name in (PFC, SFC, *VARIANTS, DYNAMIC, PRIORITY) if runs.has(MAIN, (name,))]


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the sentences, and the tokens by variant."""
    runs = _runs(results)
    cells = [["variant", "p99 ITL (µs)", "median ITL (µs)", "median KV cache (µs)", "PFC pauses", "SFCMs"]]
    for name in _lines(runs):
        values: tuple[Callable[[Run], float], ...] = (
            _late,
            _median,
            lambda run: run.kv_us,
            lambda run: run.pauses,
            lambda run: run.messages,
        )
        cells.append([name, *(told(runs.values(MAIN, name, one)) for one in values)])
    return {"sentences": table(SENTENCES, runs), "tokens": cells}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws late token and median token by variant."""
    runs = _runs(results)
    names = _lines(runs)
    with rc_context(STYLE):
        drawing, axes = canvas(7.4, 0.9 + 0.25 * len(names))
        for value, text, mark, colour in (
            (_median, "median ITL", "o", COLOURS[0]),
            (_late, "p99 ITL", "D", COLOURS[3]),
        ):
            for place, name in enumerate(names):
                found = interval(runs.values(MAIN, name, value))
                label = "" if place else text
                axes.errorbar(
                    found.mean, place, xerr=found.margin or 0.0, fmt=mark, color=colour, markersize=4, label=label
                )
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("time between two tokens (µs)")
        legend_below(drawing, 2)
        write(drawing, path)
