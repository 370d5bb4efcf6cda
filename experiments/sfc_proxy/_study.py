"""What the experiments on SFC's proxy mode share: runs with paired seeds, predicates on them, and figures.

Defaults of every predicate, set before the first run: "better" or "lower" is a lower mean FCT of the background in
every size class and case that the claim lists; "similar" is within 15 %, "significantly" lower by more than that;
"stable" compares the ratios of the highest to the lowest mean over the models. A mean over seeds gives each seed the
same weight; mechanisms are compared on the same seeds, which give them the same messages at the same times. Seed 1
has 10 ms of arrivals, the four others 1 ms.

Each open choice is judged as well: the same predicate, with one parameter that the document does not give set to
another value, on 0.5 ms of arrivals, one seed, and models 0 and 3; the first of them changes nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.sfc_proxy._traffic import CLASSES, MECHANISMS, MODELS, TRAFFIC, scenario
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Claim, Readings, RunFailed
from xoff.results import Result

ARRIVALS_MS = {1: 10.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0}
"""How long flows arrive, by seed."""
QUICK_MS = {1: 0.25, 2: 0.25}
CHOICE_MS = {1: 0.5}
SIMILAR = 0.15
PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}

CHOICES: dict[str, dict[str, Any]] = {
    "0.5 ms alone": {},
    "alpha 1/8": {"alpha": 0.125},
    "computed pause": {"pause_ms": None},
    "pauses of 1 ms": {"pause_ms": 1.0, "interval_us": None},
    "destination cache": {"cache": True},
    "senders start within 0.3 ms": {"spread_us": 300.0},
    "incasts among all hosts (model 3, NIC)": {"any_hosts": True},
    "80 receivers": {"receivers_a_tor": 4},
    "Pmax 1": {"pmax": 1.0},
    "DCQCN timer 55 µs": {"increase_us": 55.0},
}
"""Values that the document leaves open: the fields of `Case` to replace, by the name of the choice."""


@dataclass(frozen=True, slots=True)
class Run:
    """What claims look at, of one run."""

    fct_us: dict[str, dict[str, float]]
    """Of the background, by class: mean and percentiles."""
    incast_us: float
    """Mean FCT of the incasts' flows."""
    pfc_pauses: dict[str, int]
    """By who was paused: ``host`` or ``switch``."""
    host_paused_share: float
    """Of the hosts' time, 0 to 1."""
    sfcms: int
    congestion_queues_bytes: int
    """The fullest source ToR: the sum of the largest depths of its congestion queues."""
    congestion_queue_bytes: int
    """The deepest congestion queue of a source ToR."""

    @classmethod
    def of(cls, result: Result) -> Run:
        """Read a result."""
        workloads = result.summary["workloads"]
        times = {
            name: {key: (value or 0) / 1e6 for key, value in found["fct_ps"].items()}
            for name, found in zip(CLASSES, workloads["background"]["by_size"], strict=True)
        }
        paused = result.pauses.select(["node", "cause"]).to_pylist()
        pauses = Counter("host" if _is_host(one["node"]) else "switch" for one in paused if one["cause"] == "pfc")
        links = result.links.select(["node", "paused_ps"]).to_pylist()
        at_hosts = [link["paused_ps"] for link in links if _is_host(link["node"])]
        held: Counter[str] = Counter()
        deepest = 0
        for queue in result.queues.select(["node", "queue", "max_bytes"]).to_pylist():
            # Queue 0 is that of control frames, 1 that of data, 2 the congestion queue.
            if queue["queue"] == 2 and queue["node"].startswith("access"):
                held[queue["node"]] += queue["max_bytes"]
                deepest = max(deepest, queue["max_bytes"])
        return cls(
            times,
            (workloads["incast"]["fct_ps"]["mean"] or 0) / 1e6,
            {"host": pauses["host"], "switch": pauses["switch"]},
            sum(at_hosts) / (len(at_hosts) * result.summary["simulated_ps"]),
            result.summary["sfc"].get("messages", 0),
            max(held.values(), default=0),
            deepest,
        )


class Runs(Readings[Run]):
    """The runs of one choice."""

    def __init__(self, results: Mapping[str, Result], choice: str = "") -> None:
        super().__init__(results, Run.of)
        self._choice = choice

    @property
    def models(self) -> list[str]:
        """The models that were run: all, or for an open choice the first and the last."""
        return [model for model in MODELS if any(name.startswith(self._prefix(model, "")) for name in self.names)]

    def of(self, traffic: str, mechanism: str) -> list[Run]:
        """Return the runs of all seeds; the first is the longest. Raises `RunFailed` if one violated an audit."""
        return self.starting(self._prefix(traffic, mechanism))

    def longest(self, traffic: str, mechanism: str) -> Run:
        """Return the run of seed 1."""
        return self.of(traffic, mechanism)[0]

    def mean_us(self, traffic: str, mechanism: str) -> dict[str, float]:
        """Return the mean FCT of the background by size class, the mean over the seeds."""
        runs = self.of(traffic, mechanism)
        return {name: sum(run.fct_us[name]["mean"] for run in runs) / len(runs) for name in CLASSES}

    def lower(self, traffic: str, mechanism: str, *others: str) -> bool:
        """Tell whether a mechanism's mean is below that of each of the others in every size class."""
        mine = self.mean_us(traffic, mechanism)
        return all(mine[name] < self.mean_us(traffic, other)[name] for other in others for name in CLASSES)

    def similar(self, traffic: str, mechanism: str, other: str) -> bool:
        """Tell whether two mechanisms' means are within 15 % of the second in every size class."""
        mine, reference = self.mean_us(traffic, mechanism), self.mean_us(traffic, other)
        return all(abs(mine[name] - reference[name]) <= SIMILAR * reference[name] for name in CLASSES)

    def compared(self, traffic: str, mechanisms: Sequence[str], *, percentiles: bool = True) -> dict[str, Any]:
        """Return what a page says of some mechanisms: means, over the seeds and of each, and percentiles."""
        measured: dict[str, Any] = {}
        for name in CLASSES:
            means = {mechanism: self.mean_us(traffic, mechanism)[name] for mechanism in mechanisms}
            measured[f"{traffic}, {name}: mean FCT (µs)"] = means
            by_seed = {
                one: " / ".join(f"{run.fct_us[name]['mean']:.4g}" for run in self.of(traffic, one))
                for one in mechanisms
            }
            measured[f"{traffic}, {name}: mean FCT by seed (µs)"] = by_seed
            if percentiles:
                longest = {mechanism: self.longest(traffic, mechanism).fct_us[name] for mechanism in mechanisms}
                shown = {one: " / ".join(f"{fct[key]:.4g}" for key in PERCENTILES) for one, fct in longest.items()}
                measured[f"{traffic}, {name}: {' / '.join(PERCENTILES.values())} (µs), seed 1"] = shown
        return measured

    def over_models(self, mechanisms: Sequence[str]) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
        """Return what a page says of the means over the models, and by class the ratios of highest to lowest."""
        trend: dict[str, Any] = {}
        ratios: dict[str, dict[str, float]] = {}
        for name in CLASSES:
            means = {one: [self.mean_us(model, one)[name] for model in self.models] for one in mechanisms}
            shown = {one: " / ".join(f"{value:.4g}" for value in values) for one, values in means.items()}
            trend[f"{name}: mean FCT in models 0 to 3 (µs)"] = shown
            ratios[name] = {one: max(values) / min(values) for one, values in means.items()}
        return trend, ratios

    def _prefix(self, traffic: str, mechanism: str) -> str:
        return (f"{self._choice}: " if self._choice else "") + f"{traffic}/" + (f"{mechanism}/" if mechanism else "")


@dataclass(frozen=True, slots=True)
class Part:
    """The verdict on one statement."""

    holds: bool
    measured: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is run, what is claimed of it, and how to judge it.

    statements: by id, such as ``{"P.4": …, "P.4-like": …}``. An id that `judge` does not judge is of the whole, which
        holds if all parts hold.
    runs: the mechanisms to run, by traffic.
    judge: the verdict on each part (or on the only statement).
    choices: more open choices than `CHOICES`.
    reasons: why a claim does not hold at full size, by id.
    """

    statements: dict[str, str]
    runs: dict[str, Sequence[str]]
    judge: Callable[[Runs], dict[str, Part]]
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def published(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {f"sfc-proxy/{short}": text for short, text in self.statements.items()}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios by name; the quick ones are short, and leave out the open choices."""
        made = {}
        for choice, changes in {"": {}, **({} if quick else CHOICES | self.choices)}.items():
            for seed, ms in (QUICK_MS if quick else CHOICE_MS if choice else ARRIVALS_MS).items():
                for traffic, mechanisms in self.runs.items():
                    if choice and traffic in MODELS[1:-1]:
                        continue
                    case = replace(TRAFFIC[traffic], **changes, seed=seed, ms=ms)
                    for mechanism in mechanisms:
                        made[run_name(traffic, mechanism, str(seed), choice)] = scenario(case, mechanism)
        return made

    def claims(self, results: Mapping[str, Result]) -> list[Claim]:
        """Judge each claim, and each for each open choice."""
        parts, failure = self._verdicts(Runs(results))
        chosen = [
            choice for choice in CHOICES | self.choices if any(name.startswith(f"{choice}: ") for name in results)
        ]
        others = {choice: self._verdicts(Runs(results, choice))[0] for choice in chosen}
        verdicts = []
        for short, text in self.statements.items():
            part = _part(parts, short)
            measured = dict(part.measured)
            if others:
                measured["with other choices"] = {
                    choice: "holds" if _part(found, short).holds else "does not hold"
                    for choice, found in others.items()
                }
            # The quick variants have no choices; what they lack needs no reason.
            note = failure or (self.reasons.get(short, "") if others and not part.holds else "")
            verdicts.append(Claim(f"sfc-proxy/{short}", text, measured, part.holds, note))
        return verdicts

    def _verdicts(self, runs: Runs) -> tuple[dict[str, Part], str]:
        try:
            return self.judge(runs), ""
        except RunFailed as error:
            return {}, str(error)

    def bars(self, results: Mapping[str, Result], path: Path, traffic: str) -> None:
        """Draw mean and percentiles of the FCT of the longest run: a column a class, a bar a mechanism."""
        runs = Runs(results)
        statistics = {"mean": "mean", **PERCENTILES}
        with rc_context(STYLE):
            drawing = Canvas(figsize=(11, 3.8), layout="constrained")
            grid = drawing.subplots(1, len(CLASSES))
            for axes, (name, sizes) in zip(grid, CLASSES.items(), strict=True):
                series = [
                    (
                        MECHANISMS[mechanism],
                        [runs.longest(traffic, mechanism).fct_us[name][key] for key in statistics],
                    )
                    for mechanism in self.runs[traffic]
                ]
                grouped_bars(axes, list(statistics.values()), series, digits=0)
                for text in axes.texts:
                    text.set(rotation=90, fontsize=5)
                axes.set_yscale("log")
                axes.margins(y=0.15)
                axes.set_title(f"{name}: {sizes}", fontsize=8)
            grid[0].set_ylabel("FCT of the background (µs)")
            drawing.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
            write(drawing, path)

    def trend(self, results: Mapping[str, Result], path: Path) -> None:
        """Draw FCT over the models: a column for each class, a row for mean and tail, the mean over the seeds."""
        runs = Runs(results)
        with rc_context(STYLE):
            drawing = Canvas(figsize=(9, 5.2), layout="constrained")
            grid = drawing.subplots(2, len(CLASSES), sharex=True)
            mechanisms = next(iter(self.runs.values()))
            for row, key in zip(grid, ("mean", "p99"), strict=True):
                for axes, name in zip(row, CLASSES, strict=True):
                    for colour, mechanism in zip(COLOURS, mechanisms, strict=False):
                        found = [runs.of(traffic, mechanism) for traffic in self.runs]
                        values = [sum(run.fct_us[name][key] for run in each) / len(each) for each in found]
                        axes.plot(values, "o-", markersize=3, color=colour, label=MECHANISMS[mechanism])
                    axes.set_ylim(bottom=0)
                    axes.set_xticks(range(len(self.runs)))
                    axes.set_title(f"{name}, {key}", fontsize=8)
                row[0].set_ylabel("FCT of the background (µs)")
            for axes in grid[-1]:
                axes.set_xlabel("model")
            drawing.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
            write(drawing, path)


def run_name(traffic: str, mechanism: str, seed: str, choice: str = "") -> str:
    """Return the name of a run."""
    return (f"{choice}: " if choice else "") + f"{traffic}/{mechanism}/seed {seed}"


def _part(parts: Mapping[str, Part], short: str) -> Part:
    if short in parts:
        return parts[short]
    verdicts = {name: "holds" if part.holds else "does not hold" for name, part in parts.items()}
    return Part(bool(parts) and all(part.holds for part in parts.values()), verdicts)


def _is_host(node: str) -> bool:
    return node.startswith("host")
