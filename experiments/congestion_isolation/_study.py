"""What the experiments on Congestion Isolation share: paired runs, gains with intervals, verdicts and figures.

Defaults of every predicate, set before the first run: "lower" is a lower mean FCT in every scale and size class that
the claim lists; "about the same" and "about" are within 15 %. The gain by CI is the share by which it lowers the mean
FCT. A mean over seeds gives each seed the same weight; variants are compared on the same seeds, which give them the
same flows at the same times. Scales above 128 servers have one seed, 128 servers have five.

Data-mining sizes are heavy-tailed: one flow in fifty carries most of the bytes. So every gain has an interval of 95 %
beside it: by Student's t over the seeds' differences or, of a single seed, over its flows' differences (as if they
were independent, which flows that meet are not). The direction of the mean is what is judged, as for all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.congestion_isolation._fabric import CLASSES, READINGS, VARIANTS, Case, rack, scenario
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, legend_below, write
from xoff.reproduce import Claim, Readings, RunFailed
from xoff.results import Result
from xoff.statistics import interval

SEEDS = (1, 2, 3, 4, 5)
SMALLEST = 16
"""The N of 128 servers, which has all seeds."""
QUICK_SEEDS = (1, 2)
QUICK_MS = 1.5
CHOICE_SEEDS = (1, 2)
CHOICE_MS = 4.0
ABOUT_THE_SAME = 0.15
_RATE_BPS = 100e9

CHOICES: dict[str, dict[str, Any]] = {
    "4 ms alone": {},
    "40 ms of arrivals": {"ms": 40},
    "load 30 %": {"load": 0.3},
    "load 80 %": {"load": 0.8},
    "upstream told at 150 KB": {"tell_kb": 150},
    "upstream told at 600 KB": {"tell_kb": 600},
    "hosts ignore CIMs": {"hosts": False},
    "flows age after 2 µs": {"age_us": 2},
    "tables of 1 flow": {"table": 1},
    "congested queue served last": {"congested_last": True},
    "PFC by egress queue": {"accounting": "egress"},
    "DCQCN preset mellanox": {"dcqcn": "mellanox"},
    "packets of 4048 B": {"payload_bytes": 4000},
}
"""Values that the document leaves open: the fields of `Case` to replace, by the name of the choice.

The first changes nothing but the length and the seeds, which are those of all choices but the second, of one seed.
"""

COMPARED = {"none": "without CI", "ci": "CI"}
"""What a claim is judged on, in one reading."""


@dataclass(frozen=True)
class Run:
    """A result, and what claims look at."""

    result: Result

    @cached_property
    def fct_us(self) -> dict[str, list[float]]:
        """Flow completion times by size class, in the order of the flows."""
        flows = list(zip(self._column("size_bytes"), self._column("fct_ps"), strict=True))
        return {name: [fct / 1e6 for size, fct in flows if low <= size < high] for name, (low, high) in CLASSES.items()}

    @cached_property
    def inter_rack_mice_us(self) -> list[float]:
        """Flow completion times of flows below 100 KB between racks."""
        tors = int(self.result.scenario["network"]["leaf_spine"]["leaves"])
        columns = (self._column(name) for name in ("src", "dst", "size_bytes", "fct_ps"))
        return [
            fct / 1e6
            for source, destination, size, fct in zip(*columns, strict=True)
            if size < 100e3 and rack(source, tors) != rack(destination, tors)
        ]

    @property
    def carried(self) -> float:
        """The share of all servers' rate that flows took while they arrived, each taken to go on evenly."""
        scenario = self.result.scenario
        until_ps = picoseconds(scenario["workload"][0]["poisson"]["duration"])
        columns = (self._column(name) for name in ("size_bytes", "start_ps", "fct_ps"))
        sent = sum(size * min(1.0, (until_ps - start) / fct) for size, start, fct in zip(*columns, strict=True))
        leaf_spine = scenario["network"]["leaf_spine"]
        servers = int(leaf_spine["leaves"]) * int(leaf_spine["hosts_per_leaf"])
        return float(sent * 8e12 / (until_ps * servers * _RATE_BPS))

    @property
    def pauses(self) -> int:
        """How often PFC paused."""
        return int(self.result.summary["pfc"]["pauses"])

    @property
    def cnps(self) -> int:
        """Congestion notifications to sources."""
        return int(self.result.summary["ecn"]["notifications"])

    @property
    def isolated(self) -> int:
        """How often a node isolated a flow."""
        return int(self.result.summary.get("congestion_isolation", {}).get("isolated_flows", 0))

    @property
    def messages(self) -> int:
        """CIMs."""
        return int(self.result.summary.get("congestion_isolation", {}).get("messages", 0))

    def _column(self, name: str) -> list[Any]:
        return list(self.result.flows[name].to_pylist())


@dataclass(frozen=True, slots=True)
class Gain:
    """The share by which a mean is lower than its reference, and half of the 95 % interval's width (if known)."""

    share: float
    half: float | None

    def __str__(self) -> str:
        around = "" if self.half is None else f" ± {100 * self.half:.1f}"
        return f"{100 * self.share:.1f}{around} %"


class Runs(Readings[Run]):
    """The runs of one choice. Its variant ``ci`` is CI in one of the `READINGS`."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "isolated") -> None:
        super().__init__(results, Run)
        self._choice = choice
        self._reading = reading

    def __contains__(self, label: str) -> bool:
        """Tell whether a case was run; quick variants and choices leave out scales above 128 servers."""
        return any(name.startswith(run_name(label, "", "", self._choice)) for name in self.names)

    def of(self, label: str, variant: str) -> list[Run]:
        """Return a case's runs of all seeds. Raises `RunFailed` if one violated an audit."""
        return self.starting(run_name(label, self._reading if variant == "ci" else variant, "", self._choice))

    def mean_us(self, label: str, variant: str, size: str) -> float:
        """Return the mean FCT of a size class, the mean over the seeds."""
        return fmean(_means(self.of(label, variant), lambda run: run.fct_us[size]))

    def gain(self, label: str, size: str) -> Gain:
        """Return the gain by CI in a size class."""
        return gain(self.of(label, "ci"), self.of(label, "none"), lambda run: run.fct_us[size])

    def compared(self, label: str) -> dict[str, Any]:
        """Return what a page says of a case: means with and without CI, and the gain with its interval."""
        shown = {}
        for size in CLASSES:
            means = {text: self.mean_us(label, variant, size) for variant, text in COMPARED.items()}
            shown[f"{label}, {size}: mean FCT (µs)"] = {**means, "gain": str(self.gain(label, size))}
        return shown

    def count(self, label: str, variant: str, what: Callable[[Run], float]) -> float:
        """Return the mean of a count over the seeds."""
        return fmean(what(run) for run in self.of(label, variant))


def gain(runs: Sequence[Run], references: Sequence[Run], values: Callable[[Run], list[float]]) -> Gain:
    """Return the share by which the mean of values is lower than in reference runs of the same seeds and flows."""
    reference = fmean(_means(references, values))
    pairs = [
        [other - one for one, other in zip(values(run), values(base), strict=True)]
        for run, base in zip(runs, references, strict=True)
    ]
    means = [fmean(differences) for differences in pairs if differences]
    spread = means if len(means) > 1 else pairs[0]
    half = interval(spread).margin if spread else None
    return Gain(fmean(means) / reference, None if half is None else half / reference)


def _means(runs: Sequence[Run], values: Callable[[Run], list[float]]) -> list[float]:
    """Means of each seed; a short quick run may have no flow of a class."""
    return [fmean(found) for run in runs if (found := values(run))]


@dataclass(frozen=True, slots=True)
class Part:
    """The verdict on one statement."""

    holds: bool
    measured: dict[str, Any]
    void: str = ""
    """Why there is nothing to judge, if there is nothing: shown in place of the verdict for an open choice."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is run, what is claimed of it, and how to judge it, in each of the `READINGS`.

    statements: by id, such as ``{"C.1": …, "C.1-lower": …}``. An id that `judge` does not judge is of the whole, which
        holds if all parts hold; `judge` judges the whole where some parts are not the document's.
    judge: the verdict on each part (or on the only statement).
    choices: of `CHOICES`, those that this is judged with, too.
    reasons: why a claim does not hold at full size, by id, or by id with reading, such as ``{"C.1/selecting": …}``.
    """

    statements: dict[str, str]
    cases: dict[str, Case]
    judge: Callable[[Runs], dict[str, Part]]
    choices: Sequence[str] = ()
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def published(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {_claim_id(short, reading): text for short, text in self.statements.items() for reading in READINGS}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios by name; the quick ones are short, have 128 servers, and leave out the open choices."""
        made = {}
        for choice in ("", *(() if quick else self.choices)):
            for label, case in self.cases.items():
                small = case.tors == SMALLEST
                if not small and (quick or choice):
                    continue
                long = "ms" in CHOICES.get(choice, {})
                chosen_seeds = CHOICE_SEEDS[:1] if long else CHOICE_SEEDS
                seeds = QUICK_SEEDS if quick else chosen_seeds if choice else SEEDS if small else SEEDS[:1]
                for seed in seeds:
                    ms = QUICK_MS if quick else CHOICE_MS if choice else case.ms
                    chosen = replace(case, seed=seed, **({"ms": ms} | CHOICES.get(choice, {})))
                    for variant in VARIANTS:
                        made[run_name(label, variant, str(seed), choice)] = scenario(chosen, variant)
        return made

    def claims(self, results: Mapping[str, Result]) -> list[Claim]:
        """Judge each claim in each reading, and each for each open choice."""
        return [claim for reading in READINGS for claim in self._judged(results, reading)]

    def _judged(self, results: Mapping[str, Result], reading: str) -> list[Claim]:
        parts, failure = self._verdicts(Runs(results, "", reading))
        chosen = [choice for choice in self.choices if any(name.startswith(f"{choice}: ") for name in results)]
        others = {choice: self._verdicts(Runs(results, choice, reading)) for choice in chosen}
        # The reasons were found at full size; they say nothing of short runs.
        full = any(name.endswith(f"seed {SEEDS[-1]}") for name in results)
        verdicts = []
        for short, text in self.statements.items():
            part = _part(parts, short)
            measured = dict(part.measured)
            if others:
                measured["with other choices, at 128 servers"] = {
                    choice: "a run lost packets" if lost else _told(_part(found, short))
                    for choice, (found, lost) in others.items()
                }
            reason = self.reasons.get(f"{short}/{reading}", self.reasons.get(short, "")) if full else ""
            note = failure or ("" if part.holds else reason)
            subject = f"{reading} ({READINGS[reading]})"
            verdicts.append(Claim(_claim_id(short, reading), text, measured, part.holds, note, subject))
        return verdicts

    def _verdicts(self, runs: Runs) -> tuple[dict[str, Part], str]:
        try:
            return self.judge(runs), ""
        except RunFailed as error:
            return {}, str(error)

    def bars(self, results: Mapping[str, Result], path: Path, labels: Mapping[str, str], what: str) -> None:
        """Draw by size class the mean FCT, CI's gain, and its gain with each open choice.

        labels: what to call which case; the open choices are those of the first.
        what: what the labels count, such as "servers".
        """
        runs = Runs(results)
        shown = {label: text for label, text in labels.items() if label in runs}
        first = next(iter(labels))
        chosen = [choice for choice in self.choices if first in Runs(results, choice)]
        with rc_context(STYLE):
            heights = [3.0, 2.2, *([0.4 + 0.2 * len(chosen)] if chosen else [])]
            drawing = Canvas(figsize=(11, sum(heights)), layout="constrained")
            rows = drawing.subplots(len(heights), len(CLASSES), squeeze=False, height_ratios=heights)
            for column, size in enumerate(CLASSES):
                series = [
                    (text, [runs.mean_us(label, variant, size) for label in shown])
                    for variant, text in VARIANTS.items()
                ]
                grouped_bars(rows[0][column], list(shown.values()), series, digits=2 if size == "< 100 KB" else 0)
                for mark in rows[0][column].texts:
                    mark.set(rotation=90, fontsize=6)
                rows[0][column].margins(y=0.25)
                rows[0][column].set_title(f"{size} flows", fontsize=8)
                cases = {text: ("", label) for label, text in shown.items()}
                _draw_gains(rows[1][column], results, cases, size)
                if chosen:
                    cases = {choice: (choice, first) for choice in chosen}
                    _draw_gains(rows[2][column], results, cases, size, upright=False)
                    rows[2][column].tick_params(axis="y", labelleft=column == 0)
            for axes in rows.flat:
                axes.tick_params(labelsize=7)
            rows[0][0].set_ylabel("mean FCT (µs)")
            rows[1][0].set_ylabel("gain by CI (%),\n95 % interval")
            rows[1][len(CLASSES) // 2].set_xlabel(what, fontsize=8)
            if chosen:
                rows[2][len(CLASSES) // 2].set_xlabel(
                    f"gain by CI (%) with other choices, {first}; no dot: a run lost packets", fontsize=8
                )
            legend_below(drawing, 4)
            write(drawing, path)


def _draw_gains(
    axes: Any, results: Mapping[str, Result], cases: Mapping[str, tuple[str, str]], size: str, *, upright: bool = True
) -> None:
    """Draw the gain by CI in both readings with its interval; cases: choice and label, by what to call them."""
    for index, reading in enumerate(READINGS, 1):
        gains = [_gain_or_none(Runs(results, choice, reading), label, size) for choice, label in cases.values()]
        places = [place + (index - 1.5) * 0.25 for place in range(len(cases))]
        shares = [100 * found.share for found in gains]
        style = {"fmt": "o", "markersize": 3, "elinewidth": 1, "color": COLOURS[index]}
        if upright:
            axes.errorbar(places, shares, yerr=[100 * (found.half or 0) for found in gains], **style)
        else:
            # Two seeds: an interval by Student's t says nothing.
            axes.errorbar(shares, places, **style)
    ticks = range(len(cases))
    if upright:
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xticks(ticks, list(cases))
        axes.set_xlim(-0.5, len(cases) - 0.5)
    else:
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set_yticks(ticks, list(cases))
        axes.set_ylim(len(cases) - 0.5, -0.5)


def _gain_or_none(runs: Runs, label: str, size: str) -> Gain:
    """Return the gain, or one that is not drawn if a run violated an audit."""
    try:
        return runs.gain(label, size)
    except RunFailed:
        return Gain(float("nan"), None)


def _claim_id(short: str, reading: str) -> str:
    """Return a claim's id; that of the first reading has no suffix."""
    return f"congestion-isolation/{short}" + ("" if reading == "isolated" else f"/{reading}")


def picoseconds(text: str | float) -> int:
    """Return a resolved time, such as 10ms, in picoseconds."""
    units = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    number = str(text).rstrip("mnpus")
    return round(float(number) * units[str(text).removeprefix(number) or "ps"])


def run_name(label: str, variant: str, seed: str, choice: str = "") -> str:
    """Return the name of a run."""
    if not variant:
        return (f"{choice}: " if choice else "") + f"{label}/"
    return (f"{choice}: " if choice else "") + f"{label}/{variant}/seed {seed}"


def about_the_same(value: float, reference: float) -> bool:
    """Tell whether a value is within 15 % of its reference."""
    return abs(value - reference) <= ABOUT_THE_SAME * abs(reference)


def whole(parts: Mapping[str, Part], names: Iterable[str] | None = None) -> Part:
    """Return the verdict on a claim that holds if its parts do: those named, or all."""
    verdicts = {name: _told(parts[name]) for name in (parts if names is None else names)}
    return Part(bool(parts) and all(parts[name].holds for name in verdicts), verdicts)


def _part(parts: Mapping[str, Part], short: str) -> Part:
    return parts[short] if short in parts else whole(parts)


def _told(part: Part) -> str:
    return part.void or ("holds" if part.holds else "does not hold")
