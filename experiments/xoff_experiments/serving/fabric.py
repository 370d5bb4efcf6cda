"""One fabric: the late token of a deployment under schedulings, controls and paths.

A deployment of a DeepSeek-like model answers requests beside sequences that run already. The late token is the 99th
percentile of the time between two tokens (ITL), over all tokens of the requests. A setting has pieces of KV caches
(whole caches, or layers), paths (ECMP, or spraying) and control: PFC with dynamic thresholds or a fixed XOFF, DCQCN or
SFC over PFC, or NSCC over trimming. Each setting has four seeds, which draw arrivals and paths.

The sentences were written after single runs of one seed, and before the runs of the page, but for F.12. F.1 repeats
L.1 on the fabric. NSCC runs over trimming alone: xoff refuses trimming beside PFC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import (
    Decision,
    Readings,
    about_the_same,
    all_of,
    chosen,
    given,
    higher,
    lower,
    never,
    ordered,
    run_name,
)
from xoff.reproduce.sentences import Found, Sentence, judged, short, table
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.serving._fabric import (
    BDP_KB,
    BUFFER_MB,
    BY_LAYER,
    CACHED,
    DCQCN,
    ECMP,
    INPUT,
    LARGE,
    NAME,
    NSCC,
    PFC,
    SFC,
    SMALL,
    SPRAY,
    WHOLE,
    Setting,
    scenario,
)
from xoff_experiments.serving._link import CLASSES, EQUAL, EXPERTS_FIRST, KV_1_OF_5, KV_4_OF_5, KV_FIRST, ONE_CLASS

CITATION = "An experiment of our own, on a deployment like DeepSeek's"
ROWS = (*CLASSES, ONE_CLASS)
FEW = (EXPERTS_FIRST, EQUAL, ONE_CLASS)
SEEDS = 4
NEAR = 0.05
_CONTROLS = (DCQCN, SFC, NSCC)


def _name(setting: Setting) -> str:
    """Returns the page's name of a setting."""
    pieces = "whole caches" if setting.granularity == WHOLE else "layers"
    batch = [f"batch of {setting.batch}"] * (setting.batch != Setting().batch)
    return ", ".join([pieces, setting.paths, setting.control, *batch])


_MAIN = Setting()
_UNDER_PFC = [Setting(pieces, paths) for pieces in (WHOLE, BY_LAYER) for paths in (ECMP, SPRAY)]
_LARGE_BATCH = Setting(batch=32)
_CONTROLLED = [
    *(replace(_MAIN, control=control) for control in (SMALL, LARGE, DCQCN, SFC, NSCC)),
    replace(_MAIN, control=NSCC, paths=SPRAY),
]
CASES: dict[str, tuple[Setting, tuple[str, ...]]] = {
    **{_name(one): (one, ROWS) for one in _UNDER_PFC},
    _name(_LARGE_BATCH): (_LARGE_BATCH, (*FEW, KV_FIRST)),
    **{_name(one): (one, FEW) for one in _CONTROLLED},
}
"""Settings by name, and the schedulings that run in each."""
MAIN = _name(_MAIN)
_QUICK_ROWS = {_name(one): rows for one, rows in ((_UNDER_PFC[0], ROWS), (_UNDER_PFC[1], FEW), (_UNDER_PFC[2], FEW))}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by setting, scheduling and seed."""
    made = {}
    for name, (setting, rows) in CASES.items():
        for row in _QUICK_ROWS.get(name, (EXPERTS_FIRST, ONE_CLASS)) if quick else rows:
            for seed in range(1, (1 if quick else SEEDS) + 1):
                sized = _small(setting) if quick else setting
                made[run_name(name, row, seed)] = scenario(replace(sized, seed=seed), row)
    return made


def _small(setting: Setting) -> Setting:
    """Returns a setting of the quick variants."""
    return replace(setting, batch=setting.batch // 2, requests=12, window_ms=14.0, output=10, steps=36)


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run."""

    itl_us: float
    """The 99th percentile of the time between two tokens."""
    median_itl_us: float
    ttft_ms: float
    """The 99th percentile of the time to the first token."""
    attainment: float
    """Share of the requests that met the service levels, in percent."""
    goodput: float
    """Requests a second that met the service levels."""
    exposed: float
    """Share of a decode step in which a rank waits for messages on the way, in percent."""
    pauses: int


def read(result: Result) -> Run:
    """Returns the numbers of a run."""
    found: Mapping[str, Any] = result.summary["serving"][NAME]
    return Run(
        found["itl_ps"]["p99"] / 1e6,
        found["itl_ps"]["p50"] / 1e6,
        found["ttft_ps"]["p99"] / 1e9,
        100 * found["slo_attainment"],
        found["goodput"],
        100 * found["steps"]["decode"]["exposed"],
        result.summary["pfc"]["pauses"],
    )


Value: TypeAlias = Callable[[Run], float]


def _itl(run: Run) -> float:
    return run.itl_us


class Runs(Readings[Run]):
    """The runs of the fabric, by setting and scheduling."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, read, choice, reading)

    @property
    def settings(self) -> list[str]:
        """The settings that were run."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.names))

    def has(self, setting: str, rows: Iterable[str]) -> bool:
        """True if all rows were run at a setting."""
        return all(f"{setting}/{row}" in self for row in rows)

    def values(self, setting: str, row: str, value: Value = _itl) -> list[float]:
        """Returns a value of each seed."""
        return self.by_seed(f"{setting}/{row}", value)


def _at_each(
    rows: Sequence[str],
    decide: Callable[[Runs, str], Decision],
    effect: Callable[[Runs, str], float],
) -> Callable[[Runs], dict[str, Found]]:
    """Returns the predicate of a sentence, at each setting with runs of all rows."""

    def decided(runs: Runs) -> dict[str, Found]:
        settings = [one for one in runs.settings if runs.has(one, rows)]
        return {one: Found(decide(runs, one), effect(runs, one)) for one in settings}

    return decided


def _ratio(one: str, other: str, value: Value = _itl) -> Callable[[Runs, str], float]:
    return lambda runs, at: fmean(runs.values(at, one, value)) / fmean(runs.values(at, other, value))


def _shorter(one: str, other: str) -> Callable[[Runs], dict[str, Found]]:
    """Returns the predicate: the late token of one row comes before the late token of another."""
    return _at_each(
        (one, other), lambda runs, at: lower(runs.values(at, one), runs.values(at, other)), _ratio(other, one)
    )


def _on_time(runs: Runs, at: str) -> Decision:
    """Decides that with experts first, the late token is at most 5 % later than the median token."""
    medians = [(1 + NEAR) * one for one in runs.values(at, EXPERTS_FIRST, lambda run: run.median_itl_us)]
    return lower(runs.values(at, EXPERTS_FIRST), medians)


def _lateness(runs: Runs, at: str) -> float:
    return fmean(runs.values(at, EXPERTS_FIRST)) / fmean(runs.values(at, EXPERTS_FIRST, lambda run: run.median_itl_us))


def _kv_first_is_worst(runs: Runs, at: str) -> Decision:
    others = [row for row in ROWS if row != KV_FIRST and runs.has(at, (row,))]
    return all_of(*(higher(runs.values(at, KV_FIRST), runs.values(at, row)) for row in others))


def _by_weight(runs: Runs, at: str) -> Decision:
    return ordered([runs.values(at, row) for row in (KV_1_OF_5, EQUAL, KV_4_OF_5)])


def _same_ttft(runs: Runs, at: str) -> Decision:
    first, last = (runs.values(at, row, lambda run: run.ttft_ms) for row in (EXPERTS_FIRST, KV_FIRST))
    return about_the_same(first, last, NEAR)


def _than(base: Callable[[Setting], Setting]) -> Callable[[Runs], dict[str, Found]]:
    """Returns the predicate: at each setting and row, the late token comes earlier than at another setting."""

    def decided(runs: Runs) -> dict[str, Found]:
        found = {}
        for name, (setting, rows) in CASES.items():
            other = _name(base(setting))
            for row in rows:
                if other != name and runs.has(name, (row,)) and runs.has(other, (row,)):
                    mine, theirs = runs.values(name, row), runs.values(other, row)
                    found[f"{name}, {row}"] = Found(lower(mine, theirs), fmean(theirs) / fmean(mine))
        return found

    return decided


def _shortens(controls: Sequence[str], of: str) -> Callable[[Runs], dict[str, Found]]:
    """Returns the predicate: with a control, the late token of one class comes earlier than with another control."""

    def decided(runs: Runs) -> dict[str, Found]:
        found = {}
        for name, (setting, _) in CASES.items():
            other = _name(replace(setting, control=of))
            if setting.control in controls and runs.has(name, (ONE_CLASS,)) and runs.has(other, (ONE_CLASS,)):
                mine, theirs = runs.values(name, ONE_CLASS), runs.values(other, ONE_CLASS)
                found[name] = Found(lower(mine, theirs), fmean(theirs) / fmean(mine))
        return found

    return decided


def _controls_replace(runs: Runs) -> dict[str, Found]:
    """Decides that one class under a control has the late token of experts first under PFC, within 5 %."""
    found = {}
    for name, (setting, _) in CASES.items():
        other = _name(replace(setting, control=PFC))
        if setting.control in _CONTROLS and runs.has(name, (ONE_CLASS,)) and runs.has(other, (EXPERTS_FIRST,)):
            mine, best = runs.values(name, ONE_CLASS), runs.values(other, EXPERTS_FIRST)
            limits = [(1 + NEAR) * one for one in best]
            found[name] = Found(lower(mine, limits), fmean(mine) / fmean(best))
    return found


def _meets(runs: Runs) -> dict[str, Found]:
    """Decides that no request misses the service levels, under all schedulings but KV first."""
    found = {}
    for at in runs.settings:
        rows = [row for row in ROWS if row != KV_FIRST and runs.has(at, (row,))]
        reached = {row: runs.values(at, row, lambda run: run.attainment) for row in rows}
        misses = [never([100 - one for one in of]) for of in reached.values()]
        found[at] = Found(all_of(*misses), min(map(min, reached.values())))
    return found


_RATIO = "p99 ITL"
SENTENCES: dict[str, Sentence[Runs]] = {
    "F.1": Sentence(
        "A class of its own that takes equal turns delays the late token more than no class",
        _shorter(ONE_CLASS, EQUAL),
        f"{_RATIO}: equal turns, times one class",
    ),
    "F.2": Sentence(
        "If experts go first, the late token is at most 5 % later than the median token",
        _at_each((EXPERTS_FIRST,), _on_time, _lateness),
        "p99 ITL over median ITL",
    ),
    "F.3": Sentence(
        "Without classes the late token is later than with experts first",
        _shorter(EXPERTS_FIRST, ONE_CLASS),
        f"{_RATIO}: one class, times experts first",
    ),
    "F.4": Sentence(
        "KV first has the latest token of all schedulings",
        _at_each((KV_FIRST,), _kv_first_is_worst, _ratio(KV_FIRST, EXPERTS_FIRST)),
        f"{_RATIO}: KV first, times experts first",
    ),
    "F.5": Sentence(
        "The late token is later, the larger the weight of KV",
        _at_each((KV_1_OF_5, EQUAL, KV_4_OF_5), _by_weight, _ratio(KV_4_OF_5, KV_1_OF_5)),
        f"{_RATIO}: weights 4 to 1, times 1 to 4",
    ),
    "F.6": Sentence(
        "Experts first leave the first token in place: p99 TTFT within 5 % of KV first",
        _at_each((EXPERTS_FIRST, KV_FIRST), _same_ttft, _ratio(EXPERTS_FIRST, KV_FIRST, lambda run: run.ttft_ms)),
        "p99 TTFT: experts first, times KV first",
    ),
    "F.7": Sentence(
        "KV caches that leave layer by layer delay the late token less than whole caches",
        _than(lambda one: replace(one, granularity=WHOLE)),
        f"{_RATIO}: whole caches, times layers",
    ),
    "F.8": Sentence(
        "With spraying the late token comes earlier than with ECMP",
        _than(lambda one: replace(one, paths=ECMP)),
        f"{_RATIO}: ECMP, times spraying",
    ),
    "F.9": Sentence(
        "A smaller XOFF makes the late token of one class earlier: 20 KB beside 320 KB",
        _shortens((SMALL,), LARGE),
        f"{_RATIO}: 320 KB, times 20 KB",
    ),
    "F.10": Sentence(
        "DCQCN, SFC and NSCC make the late token of one class earlier than PFC alone",
        _shortens(_CONTROLS, PFC),
        f"{_RATIO}: PFC, times the control",
    ),
    "F.11": Sentence(
        "One class with DCQCN, SFC or NSCC is as good as experts first under PFC, within 5 %",
        _controls_replace,
        f"{_RATIO}: the control with one class, times experts first",
    ),
    "F.12": Sentence(
        "Each scheduling but KV first meets the service levels",
        _meets,
        "least SLO attainment (%)",
    ),
}
JUDGED = judged("serving", SENTENCES, Runs)
PARAMETERS = (
    given("model", "DeepSeek-V3: attention, experts and tokens as published", "DeepSeek-V3 Technical Report, 4.2"),
    given(
        "prefix cache", f"{CACHED} of {INPUT} tokens", "DeepSeek-AI, open-infra-index, day 6: 56.3 % of input tokens"
    ),
    chosen("size of the model", "4 of 61 layers, 32 of 256 experts", "two experts a decode rank, as in units of 144"),
    chosen("deployment", "4 servers for prefill, 2 for decode, 8 H100 each, 400 Gb/s", "a run takes a second"),
    chosen("load", "24 requests in 24 ms, beside 16 sequences a decode rank", "256 sequences of some 250 tokens each"),
    chosen("service levels", "TTFT 33 ms, TPOT 1.3 ms, ITL 1.6 ms", "0.5 s, 20 ms and 25 ms, times 4 / 61"),
    chosen("buffer", f"{BUFFER_MB} MB a switch with dynamic thresholds; unlimited with a fixed XOFF", "defaults"),
    chosen("DCQCN", f"marks from 400 KB to 1.6 MB, window of {BDP_KB} KB", "the marks of ConWeave's fabric; one BDP"),
    chosen("SFC", "threshold 800 KB, pause 10 µs", "16 µs of a line, as in the comparison of mechanisms"),
    chosen("NSCC", f"trimming above {BDP_KB} KB, marks from a fifth to four fifths", "one BDP"),
    chosen("seeds", str(SEEDS), "they draw arrivals and paths"),
)
READS: tuple[str, ...] = ()
CLAIMS = JUDGED.listed
claims = JUDGED.claims

_COLUMNS: Mapping[str, Value] = {
    "p50 ITL (µs)": lambda run: run.median_itl_us,
    "p99 ITL (µs)": _itl,
    "p99 TTFT (ms)": lambda run: run.ttft_ms,
    "SLO attainment (%)": lambda run: run.attainment,
    "goodput (requests/s)": lambda run: run.goodput,
    "exposed (%)": lambda run: run.exposed,
    "pauses": lambda run: run.pauses,
}


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the numbers of the main setting, the late token at all settings, and the sentences."""
    runs = Runs(results)
    rows = [row for row in ROWS if runs.has(MAIN, (row,))]
    main = [["scheduling", *_COLUMNS]]
    main += [[row, *(_told(runs.values(MAIN, row, value)) for value in _COLUMNS.values())] for row in rows]
    made = {"main": main, "sentences": table(SENTENCES, runs)}
    for title, column in (
        ("p99 ITL (µs)", _itl),
        ("SLO attainment (%)", _COLUMNS["SLO attainment (%)"]),
        ("goodput (requests/s)", _COLUMNS["goodput (requests/s)"]),
    ):
        made[f"{title} at all settings"] = [["setting", *ROWS]] + [
            [at, *(_told(runs.values(at, row, column)) if runs.has(at, (row,)) else "–" for row in ROWS)]
            for at in runs.settings
        ]
    return made


def _told(values: Sequence[float]) -> str:
    found = interval(values)
    return short(found.mean) + (f" ± {short(found.margin)}" if found.margin else "")


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the late token of each scheduling at the settings under PFC with dynamic thresholds."""
    runs = Runs(results)
    settings = [one for one in (_name(setting) for setting in _UNDER_PFC) if one in runs.settings]
    with rc_context(STYLE):
        drawing = Canvas(figsize=(2.0 + 1.7 * len(settings), 2.6), layout="constrained")
        panels = np.atleast_1d(drawing.subplots(1, len(settings), sharex=True, sharey=True))
        for axes, at in zip(panels, settings, strict=True):
            for place, row in enumerate(ROWS):
                if runs.has(at, (row,)):
                    found = interval([value / 1e3 for value in runs.values(at, row)])
                    colour = COLOURS[(place + 1) % len(ROWS)]
                    axes.errorbar(found.mean, place, xerr=found.margin or 0.0, fmt="o", color=colour, markersize=4)
            axes.set_title(at.removesuffix(f", {PFC}"), fontsize=8)
        panels[0].set_yticks(range(len(ROWS)), ROWS, fontsize=7)
        panels[0].set_ylim(len(ROWS) - 0.5, -0.5)
        drawing.supxlabel("p99 of the time between two tokens (ms)", fontsize=8)
        write(drawing, path)
