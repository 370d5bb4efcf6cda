"""What the experiments on pinned flows share: cases × variants × architectures, a predicate on them, and figures.

Defaults of every predicate, set before the first run: "better" or "lower" is a lower mean in every case the claim
lists; "about the same" is within 15 %, "similar to 8 times the buffer" means within 10 %; "rises then falls" is a
middle case that is highest. Nothing here is random, so that one seed says it all. The improvement by SFC (or DCQCN)
is the share by which it lowers the mean FCT of the victims against PFC only.

Each open choice is judged as well: the same predicate on the same cases, with one parameter that the document does
not give set to another value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.sfc._networks import ARCHITECTURES, VARIANTS, Case, flow_names, scenario
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Claim, RunFailed
from xoff.results import Result

QUICK = 2
"""The quick variants send this many times less data. With a fifth of it PFC hardly fires, and little can be judged."""
ABOUT_THE_SAME = 0.15

AVOID = {
    "above_xoff_ps": "above XOFF (µs)",
    "above_threshold_after_pause_ps": "above the SFC threshold after a pause (µs)",
    "egress_idle_paused_ps": "egress idle, its data held (µs)",
}
"""The document's three things to avoid, as runs with SFC measure them: in ``summary["pfc"]`` and ``summary["sfc"]``."""


@dataclass(frozen=True, slots=True)
class Run:
    """What claims look at: flow completion times in µs by flow, and counts."""

    fct_us: dict[str, float]
    pfc_pauses: int
    sfcms: int
    drops: int
    avoid_us: dict[str, float]
    """The three things to avoid, by the keys of `AVOID`; empty if there is no SFC, or it is not measured."""

    @classmethod
    def of(cls, result: Result) -> Run:
        """Read a result."""
        flows = result.flows
        times = zip(flows["label"].to_pylist(), flows["fct_ps"].to_pylist(), strict=True)
        measured = result.summary["sfc"]
        on = "sfc" in result.scenario["switch"]["flow_control"]
        times_ps = {**result.summary["pfc"], **measured} if on else {}
        return cls(
            {name: fct / 1e6 for name, fct in times},
            result.summary["pfc"]["pauses"],
            measured["messages"],
            result.summary["drops"],
            {key: times_ps[key] / 1e6 for key in AVOID if key in times_ps},
        )

    @property
    def victims_us(self) -> float:
        """Mean over the victims."""
        return _mean([time for name, time in self.fct_us.items() if not name.startswith("incast")])

    @property
    def incast_us(self) -> float:
        """Mean over the incast's flows."""
        return _mean([time for name, time in self.fct_us.items() if name.startswith("incast")])

    @property
    def mean_us(self) -> float:
        """Mean over all flows."""
        return _mean(list(self.fct_us.values()))


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one architecture and one set of choices."""

    results: Mapping[str, Result]
    architecture: str
    choice: str = ""

    def __call__(self, case: str, variant: str) -> Run:
        """Return a run by its case and variant. Raises `RunFailed` if it violated an audit."""
        return Run.of(self.results[run_name(self.architecture, case, variant, self.choice)])

    def improvement(self, case: str, variant: str = "pfc-sfc") -> float:
        """Return the share by which a variant lowers the mean FCT of the victims against PFC only."""
        return 1 - self(case, variant).victims_us / self(case, "pfc").victims_us


@dataclass(frozen=True, slots=True)
class Part:
    """The verdict on one statement."""

    holds: bool
    measured: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Cases, what is claimed of them, and how to judge it.

    statements: by id, such as ``{"5.3": …, "5.3-buffer": …}``. If there are parts, the first id is of the whole,
        which holds if all parts hold.
    judge: from the runs of an architecture, the verdict on each part (or on the only statement).
    choices: values that the document leaves open, by the name of the choice: the fields of `Case` to replace.
    reasons: why a claim does not hold at full size, by id with architecture, such as ``{"5.3/voq": …}``.
    """

    statements: dict[str, str]
    cases: dict[str, Case]
    judge: Callable[[Runs], dict[str, Part]]
    variants: Sequence[str] = tuple(VARIANTS)
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def published(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {
            claim_id(short, architecture): text
            for short, text in self.statements.items()
            for architecture in ARCHITECTURES
        }

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios by name; the quick ones send less data, and leave out the open choices."""
        made = {}
        for choice, changes in {"": {}, **({} if quick else self.choices)}.items():
            for name, case in self.cases.items():
                chosen = replace(case, **changes, data_mb=case.data_mb / (QUICK if quick else 1))
                for architecture in ARCHITECTURES:
                    for variant in self.variants:
                        key = run_name(architecture, name, variant, choice)
                        made[key] = scenario(chosen, architecture, variant)
                        made[key]["description"] = "quick" if quick else ""
        return made

    def claims(self, results: Mapping[str, Result]) -> list[Claim]:
        """Judge each claim for each architecture, and for each open choice."""
        return [claim for architecture in ARCHITECTURES for claim in self._judged(results, architecture)]

    def _judged(self, results: Mapping[str, Result], architecture: str) -> list[Claim]:
        parts, failure = self._verdicts(Runs(results, architecture))
        others = {choice: self._verdicts(Runs(results, architecture, choice))[0] for choice in self._chosen(results)}
        full = not any(result.scenario.get("description") == "quick" for result in results.values())
        verdicts = []
        for short, text in self.statements.items():
            part = _whole(parts) if short not in parts and parts else parts.get(short, Part(False, {}))
            measured = dict(part.measured)
            if others:
                measured["with other choices"] = {
                    choice: "holds" if (found.get(short) or _whole(found)).holds else "does not hold"
                    for choice, found in others.items()
                }
            reason = self.reasons.get(f"{short}/{architecture}", self.reasons.get(short, "")) if full else ""
            note = failure or ("" if part.holds else reason)
            subject = f"{architecture} ({ARCHITECTURES[architecture]})"
            verdicts.append(Claim(claim_id(short, architecture), text, measured, part.holds, note, subject))
        return verdicts

    def _verdicts(self, runs: Runs) -> tuple[dict[str, Part], str]:
        try:
            return self.judge(runs), ""
        except RunFailed as error:
            return {}, str(error)

    def _chosen(self, results: Mapping[str, Result]) -> list[str]:
        return [choice for choice in self.choices if any(name.startswith(f"{choice}/") for name in results)]

    def bars(self, results: Mapping[str, Result], path: Path) -> None:
        """Draw a bar for each flow and variant: a row for each architecture, a column for each case."""
        with rc_context(STYLE):
            widths = [1 + len(flow_names(case)) for case in self.cases.values()]
            drawing = Canvas(figsize=(max(0.62 * sum(widths), 7), 6.6), layout="constrained")
            grid = drawing.subplots(
                len(ARCHITECTURES), len(self.cases), squeeze=False, gridspec_kw={"width_ratios": widths}
            )
            for row, architecture in zip(grid, ARCHITECTURES, strict=True):
                for axes, (name, case) in zip(row, self.cases.items(), strict=True):
                    runs = Runs(results, architecture)
                    flows = flow_names(case)
                    shown = {variant: _found(runs, name, variant) for variant in self.variants}
                    series = [
                        (VARIANTS[variant], [run.fct_us[flow] if run else None for flow in flows])
                        for variant, run in shown.items()
                    ]
                    grouped_bars(axes, [flow.replace("incast ", "") for flow in flows], series, digits=0)
                    for text in axes.texts:
                        text.set(rotation=90, fontsize=5)
                    axes.margins(y=0.15)
                    axes.set_title(f"{name}, {architecture}", fontsize=8)
                row[0].set_ylabel("FCT (µs)")
            drawing.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
            write(drawing, path)

    def sweep(
        self, results: Mapping[str, Result], path: Path, *, x: Mapping[str, float], label: str, log: bool = False
    ) -> None:
        """Draw FCT against a swept parameter, whose values `x` has by case: a column for each architecture."""
        figures = {"victim": "victims_us", "incast, mean": "incast_us", "all flows, mean": "mean_us"}
        with rc_context(STYLE):
            drawing = Canvas(figsize=(9, 7), layout="constrained")
            grid = drawing.subplots(len(figures), len(ARCHITECTURES), sharex=True, sharey="row")
            for column, architecture in enumerate(ARCHITECTURES):
                runs = Runs(results, architecture)
                for axes, (what, figure) in zip(grid[:, column], figures.items(), strict=True):
                    for index, variant in enumerate(self.variants):
                        found = {x[case]: _found(runs, case, variant) for case in x}
                        values = [getattr(run, figure) if run else float("nan") for run in found.values()]
                        axes.plot(
                            list(found), values, "o-", markersize=3, color=COLOURS[index], label=VARIANTS[variant]
                        )
                    if log:
                        axes.set_xscale("log")
                    if column == 0:
                        axes.set_ylabel(f"{what}: FCT (µs)")
                grid[0, column].set_title(f"{architecture}: {ARCHITECTURES[architecture]}", fontsize=8)
                grid[-1, column].set_xlabel(label)
            for axes in grid[:, 0]:
                axes.set_ylim(bottom=0)
            drawing.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
            write(drawing, path)

    def groups(
        self, results: Mapping[str, Result], path: Path, series: Mapping[str, Sequence[str]], labels: Sequence[str]
    ) -> None:
        """Draw the mean FCT over all flows of the cases of each series side by side: a row for each architecture."""
        with rc_context(STYLE):
            drawing = Canvas(figsize=(9, 6), layout="constrained")
            rows = drawing.subplots(len(ARCHITECTURES), 1, sharex=True)
            for axes, architecture in zip(rows, ARCHITECTURES, strict=True):
                runs = Runs(results, architecture)
                bars = [
                    (name, [run.mean_us if (run := _found(runs, case, self.variants[-1])) else None for case in cases])
                    for name, cases in series.items()
                ]
                grouped_bars(axes, labels, bars, digits=0)
                axes.set_title(f"{architecture}: {ARCHITECTURES[architecture]}", fontsize=8)
                axes.set_ylabel("mean FCT (µs)")
            drawing.legend(*rows[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
            write(drawing, path)


def claim_id(short: str, architecture: str = "oq") -> str:
    """Return a claim's id; that of the default architecture has no suffix."""
    return f"sfc/{short}" + ("" if architecture == "oq" else f"/{architecture}")


def run_name(architecture: str, case: str, variant: str, choice: str = "") -> str:
    """Return the name of a run."""
    return "/".join(part for part in (choice, architecture, case, variant) if part)


def about_the_same(value: float, reference: float, tolerance: float = ABOUT_THE_SAME) -> bool:
    """Tell whether a value is within a share of its reference."""
    return abs(value - reference) <= tolerance * abs(reference)


def _found(runs: Runs, case: str, variant: str) -> Run | None:
    try:
        return runs(case, variant)
    except RunFailed:
        return None


def _whole(parts: Mapping[str, Part]) -> Part:
    verdicts = {name: "holds" if part.holds else "does not hold" for name, part in parts.items()}
    return Part(bool(parts) and all(part.holds for part in parts.values()), verdicts)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
