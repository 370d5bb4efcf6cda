"""Parameters of mechanisms beside a checkpoint: the cost to the job with other values.

The main setting of the checkpoint, and the same with a ring across leaves. Each *variant* changes one parameter of SFC,
of its proxy, of DCQCN or of Congestion Isolation. The sentences were written after single runs of one seed with eight
variants of SFC, and before the runs of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import chosen, given, lower, run_name
from xoff.reproduce.sentences import Found, Sentence, judged, table
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.ai_fabrics._checkpoint import ACROSS, Setting, scenario
from xoff_experiments.ai_fabrics._compared import KINDS, Runs, told
from xoff_experiments.ai_fabrics._rows import CI, DCQCN, DYNAMIC, PFC, PROXY, SFC, TURNS, Fabric
from xoff_experiments.ai_fabrics.checkpoint import ALONE_PFC, Run, cost, read

CITATION = 'An experiment of our own on "SFC simulation", IEEE P802.1Qdw, 2025, Part 3'
JOBS = {"ring": Setting(), "ring across leaves": Setting(job=ACROSS)}
_FABRIC = Fabric()


_TO_TARGET = {"pause": None, "interval": None, "target": _FABRIC.size(2), "round_trip": f"{_FABRIC.round_trip_us}us"}


def _of_sfc(**keys: Any) -> Fabric:
    return replace(_FABRIC, sfc=keys)


def _fixed(pause_us: int) -> Fabric:
    return _of_sfc(pause=f"{pause_us}us", interval=f"{pause_us}us")


FROM_QUEUE = ("pause to a target of 2 µs", "resume at 4 µs")
OF_SFC: dict[str, Fabric] = {
    **{f"pause of {time} µs": _fixed(time) for time in (5, 10, 40, 80)},
    **{f"threshold of {time} µs": _of_sfc(threshold=_FABRIC.size(time)) for time in (2, 4, 16)},
    "last hop signals": _of_sfc(signals="last_hop"),
    FROM_QUEUE[0]: replace(_FABRIC, sfc=_TO_TARGET),
    FROM_QUEUE[1]: _of_sfc(resume=_FABRIC.size(4)),
}
OF_PROXY: dict[str, Fabric] = {
    "proxy, 4 queues at the NIC": _of_sfc(mode="nic_isolation"),
    "proxy, cache": _of_sfc(cache=True),
    "proxy, pause of 5 µs": _fixed(5),
}
OF_DCQCN: dict[str, Fabric] = {
    **{f"preset {name}": replace(_FABRIC, dcqcn=name) for name in ("hpcc", "mellanox", "microsoft")},
    **{
        f"marks from {low} to {high} µs": replace(_FABRIC, marks_us=(low, high))
        for low, high in ((1, 4), (2, 8), (4, 16))
    },
}
OF_CI: dict[str, Fabric] = {
    "selection by DCQCN's curve": replace(_FABRIC, ci={"low": _FABRIC.size(8), "high": _FABRIC.size(32), "pmax": 0.2}),
    "CIM threshold of 4 µs": replace(_FABRIC, ci={"cim_threshold": _FABRIC.size(4)}),
    "hosts without CI": replace(_FABRIC, ci={"hosts": False}),
}
GROUPS: dict[str, tuple[str, dict[str, Fabric], tuple[str, ...]]] = {
    SFC: (SFC, OF_SFC, tuple(JOBS)),
    PROXY: (PROXY, OF_PROXY, ("ring",)),
    DCQCN: (DCQCN, OF_DCQCN, ("ring",)),
    CI: (CI, OF_CI, tuple(JOBS)),
}
"""The row with the parameters, the variants, and the jobs."""
_BASES = (ALONE_PFC, PFC, TURNS, SFC, DYNAMIC, PROXY, DCQCN, CI)
SEEDS = 4
_QUICK = ("pause of 80 µs", "resume at 4 µs", "proxy, pause of 5 µs", "preset hpcc", "hosts without CI")


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by job, row or variant, and seed."""
    made: dict[str, dict[str, Any]] = {}
    seeds = range(1, 2 if quick else 1 + SEEDS)
    for job, setting in JOBS.items():
        if quick and job != "ring":
            continue
        for seed in seeds:
            drawn = replace(setting, seed=seed)
            made |= {run_name(job, row, seed): scenario(drawn, row) for row in _BASES}
            for row, variants, jobs in GROUPS.values():
                for name, fabric in variants.items():
                    if job in jobs and (not quick or name in _QUICK):
                        made[run_name(job, name, seed)] = scenario(replace(drawn, fabric=fabric), row)
    return made


def _runs(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs[Run]:
    return Runs(results, read, choice, reading)


def _iteration(run: Run) -> float:
    return run.iteration_us


def _each(
    variants: Mapping[str, Fabric] | tuple[str, ...], base: str, sign: int = 1
) -> Callable[[Runs[Run]], dict[str, Found]]:
    """Returns the predicate: with each variant the mean iteration is shorter than in a row; longer with sign -1."""

    def decide(runs: Runs[Run]) -> dict[str, Found]:
        found = {}
        for job in runs.settings:
            for name in variants:
                if runs.has(job, (name, base)):
                    mine, theirs = runs.values(job, name, _iteration), runs.values(job, base, _iteration)
                    pair = (mine, theirs) if sign > 0 else (theirs, mine)
                    found[f"{job}, {name}"] = Found(lower(*pair), fmean(mine) / fmean(theirs))
        return found

    return decide


_WHAT = "mean iteration: the variant, over"
SENTENCES: dict[str, Sentence[Runs[Run]]] = {
    "T.1": Sentence("SFC costs the job less than PFC alone, with each variant", _each(OF_SFC, PFC), f"{_WHAT} PFC"),
    "T.2": Sentence(
        "SFC costs the job more than a second class, with each variant",
        _each(OF_SFC, TURNS, -1),
        f"{_WHAT} second class",
    ),
    "T.3": Sentence(
        "A pause to a target, or with a resume, costs the job less than the document's fixed pause",
        _each(FROM_QUEUE, SFC),
        f"{_WHAT} SFC",
    ),
    "T.4": Sentence(
        "DCQCN costs the job more than SFC with a dynamic pause, with each variant",
        _each(OF_DCQCN, DYNAMIC, -1),
        f"{_WHAT} SFC, dynamic pause",
    ),
    "T.5": Sentence(
        "Congestion Isolation costs the job more than SFC with a dynamic pause, with each variant",
        _each(OF_CI, DYNAMIC, -1),
        f"{_WHAT} SFC, dynamic pause",
    ),
    "T.6": Sentence(
        "SFC's proxy costs the job less than PFC alone, with each variant", _each(OF_PROXY, PFC), f"{_WHAT} PFC"
    ),
}
JUDGED = judged("ai-fabrics", SENTENCES, _runs)
PARAMETERS = (
    given("pauses", "5 to 80 µs", "the document varies 3 to 160 µs (case 5); its formulas give 16.8 to 24.8 µs here"),
    given("thresholds", "2 to 16 µs of a line", "the document has 50 to 400 KB at 200 Gb/s"),
    chosen("target", "2 µs of a line", "the smallest threshold"),
    chosen("resume", "4 µs of a line", "half of the threshold"),
    chosen("presets of DCQCN", "hpcc, mellanox, microsoft", "other published code, and two adapters"),
    chosen("seeds", str(SEEDS), "those of the checkpoint"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def _lines(runs: Runs[Run]) -> dict[str, str]:
    """Returns the rows and variants with the row of the parameters; each row before its variants."""
    found = {PFC: PFC, TURNS: TURNS, SFC: SFC, **dict.fromkeys(OF_SFC, SFC), DYNAMIC: SFC}
    for row, variants in ((PROXY, OF_PROXY), (DCQCN, OF_DCQCN), (CI, OF_CI)):
        found |= {row: row, **dict.fromkeys(variants, row)}
    return {name: row for name, row in found.items() if any(runs.has(job, (name,)) for job in runs.settings)}


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the sentences, and the cost to both jobs by variant."""
    runs = _runs(results)
    cells = [["variant", "of", *(f"cost to the job (%), {job}" for job in runs.settings), "PFC pauses, ring"]]
    for name, row in _lines(runs).items():
        costs = [told(cost(runs, job, name)) if runs.has(job, (name,)) else "–" for job in runs.settings]
        cells.append([name, row, *costs, told(runs.values("ring", name, lambda run: run.pauses))])
    return {"sentences": table(SENTENCES, runs), "cost": cells}


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the cost to both jobs by variant."""
    runs = _runs(results)
    lines = _lines(runs)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(3.2 + 2.4 * len(runs.settings), 0.9 + 0.17 * len(lines)), layout="constrained")
        panels: Any = drawing.subplots(1, len(runs.settings), sharey=True, squeeze=False)
        for axes, job in zip(panels[0], runs.settings, strict=True):
            for place, (name, row) in enumerate(lines.items()):
                if runs.has(job, (name,)):
                    found = interval(cost(runs, job, name))
                    colour = KINDS[row]
                    mark = "D" if name in _BASES else "o"
                    axes.errorbar(found.mean, place, xerr=found.margin or 0.0, fmt=mark, color=colour, markersize=3.5)
            axes.set_title(job, fontsize=8)
            axes.axvline(0, color="grey", linewidth=0.8)
            axes.tick_params(labelsize=6)
        panels[0][0].set_yticks(range(len(lines)), list(lines), fontsize=6)
        panels[0][0].set_ylim(len(lines) - 0.5, -0.5)
        drawing.supxlabel("cost of the checkpoint to the job (%)", fontsize=8)
        write(drawing, path)
