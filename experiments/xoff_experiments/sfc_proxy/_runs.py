"""Measures of a run, predicates on paired seeds, and the list of runs for the experiments on SFC's proxy mode.

Defaults of every predicate: "better" or "lower" is a lower mean FCT of the background in every size class and case of
the claim; "similar" is within 15 %; "stable" compares the ratios of the highest to the lowest mean over the models.
Five seeds have arrivals for 1 ms each. Mechanisms are compared seed by seed, by ratios: a seed gives every mechanism
the same messages at the same times. Each open choice is judged with the same predicate, with one unspecified parameter
set to another value, on three seeds of 0.25 ms, and models 0 and 3; the first choice changes the seeds and models
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean
from typing import Any

import pyarrow.compute as pc

from xoff.reproduce import ABOUT_THE_SAME, Cases, Decision, Judged, Part, Readings, Spread, all_of, below, positive
from xoff.results import Result
from xoff_experiments.sfc_proxy._traffic import CLASSES, MODELS, TRAFFIC, Case, scenario

ARRIVALS_MS = dict.fromkeys(range(1, 6), 1.0)
"""The duration of arrivals, by seed."""
QUICK_MS = {1: 0.25, 2: 0.25}
CHOICE_MS = dict.fromkeys(range(1, 6), 0.25)
SHORT = "short runs alone"
PERCENTILES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}

CHOICES: dict[str, dict[str, Any]] = {
    SHORT: {},
    "every switch signals": {"signals": "all"},
    "fixed incast hosts": {"fixed_hosts": True},
    "alpha 1/8": {"alpha": 0.125},
    "alpha 1": {"alpha": 1.0},
    "computed pause": {"pause_ms": None},
    "a resume ends the queue's pause": {"resume_ends": "queue"},
    "destination cache": {"cache": True},
    "senders start within 0.3 ms": {"spread_us": 300.0},
    "DCQCN timer 55 µs": {"increase_us": 55.0},
}
"""Values that the document leaves open: the fields of `Case` to replace, by the name of the choice."""

PROBES = {"incasts": {"incasts at 4 %": {"incast_share": 0.04}, "incasts at 0.8 %": {"incast_share": 0.008}}}
"""Other loads than the document's 8 %, to find how far a verdict extends."""

TABLES = ("flows", "links", "pauses", "queues", "samples")
"""The tables read from each run."""


@dataclass(frozen=True, slots=True)
class Run:
    """Measures for claims, of one run."""

    fct_us: dict[str, dict[str, float]]
    """Of the background, by class: mean and percentiles."""
    messages: dict[str, int]
    """Of the background, by class: how many were delivered."""
    incast_us: float
    """Mean FCT of the incasts' flows."""
    pfc_pauses: dict[str, int]
    """By the kind of the paused node: ``host`` or ``switch``."""
    host_paused_share: float
    """Of the hosts' time, 0 to 1."""
    sfcms: int
    congestion_queues_bytes: int
    """The maximum total of a source ToR's congestion queues, in samples of 10 µs."""
    congestion_queue_bytes: int
    """The deepest congestion queue of a source ToR."""

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result."""
        workloads = result.summary["workloads"]
        by_size: dict[str, Any] = dict(zip(CLASSES, workloads["background"]["by_size"], strict=True))
        times = {
            name: {key: (value or 0) / 1e6 for key, value in found["fct_ps"].items()} for name, found in by_size.items()
        }
        paused = result.pauses.select(["node", "cause"]).to_pylist()
        pauses = Counter("host" if _is_host(one["node"]) else "switch" for one in paused if one["cause"] == "pfc")
        links = result.links.select(["node", "paused_ps"]).to_pylist()
        at_hosts = [link["paused_ps"] for link in links if _is_host(link["node"])]
        held: Counter[tuple[str, int]] = Counter()
        if "samples" in result.tables:
            samples = result.samples
            congested = samples.filter(pc.equal(samples["queue"], 2)).select(["node", "time_ps", "bytes"])
            for one in congested.to_pylist():
                if one["node"].startswith("access"):
                    held[one["node"], one["time_ps"]] += one["bytes"]
        deepest = 0
        for queue in result.queues.select(["node", "queue", "max_bytes"]).to_pylist():
            # Queue 0 holds control frames, queue 1 data, queue 2 is the congestion queue.
            if queue["queue"] == 2 and queue["node"].startswith("access"):
                deepest = max(deepest, queue["max_bytes"])
        return cls(
            times,
            {name: found["completed"] for name, found in by_size.items()},
            (workloads["incast"]["fct_ps"]["mean"] or 0) / 1e6,
            {"host": pauses["host"], "switch": pauses["switch"]},
            sum(at_hosts) / (len(at_hosts) * result.summary["simulated_ps"]),
            result.summary["sfc"]["messages"],
            max(held.values(), default=0),
            deepest,
        )


class Runs(Readings[Run]):
    """The runs with one open choice; a case is a traffic under a mechanism."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, Run.of, choice, reading)

    @property
    def models(self) -> list[str]:
        """The models of the runs: all, or for an open choice the first and the last."""
        return [model for model in MODELS if model in self]

    def of(self, traffic: str, mechanism: str) -> list[Run]:
        """Returns the runs of all seeds. Raises `RunFailed` if a run violated an audit."""
        return self.each(f"{traffic}/{mechanism}")

    def by_class(self, traffic: str, mechanism: str) -> dict[str, list[float]]:
        """Returns the mean FCT of the background by size class, of each seed."""
        return {name: [run.fct_us[name]["mean"] for run in self.of(traffic, mechanism)] for name in CLASSES}

    def mean_us(self, traffic: str, mechanism: str) -> dict[str, float]:
        """Returns the mean FCT of the background by size class, over the messages of all seeds."""
        runs = self.of(traffic, mechanism)
        return {
            name: sum(run.fct_us[name]["mean"] * run.messages[name] for run in runs)
            / sum(run.messages[name] for run in runs)
            for name in CLASSES
        }

    def lower(self, traffic: str, mechanism: str, *others: str) -> Decision:
        """Decides whether a mechanism's mean is below the mean of each other mechanism in every size class."""
        mine = self.by_class(traffic, mechanism)
        rivals = [self.by_class(traffic, other) for other in others]
        return all_of(*(shorter(mine[name], rival[name]) for rival in rivals for name in CLASSES))

    def similar(self, traffic: str, mechanism: str, other: str) -> Decision:
        """Decides whether two mechanisms' means are within 15 % of the second in every size class."""
        mine, reference = self.by_class(traffic, mechanism), self.by_class(traffic, other)
        either = ((mine, reference), (reference, mine))
        return all_of(
            *(shorter(one[name], other[name], 1 + ABOUT_THE_SAME) for one, other in either for name in CLASSES)
        )

    def at_most(self, traffic: str, mechanism: str, other: str) -> Decision:
        """Decides whether a mechanism's mean is below the other's, or at most 15 % above it, in every size class."""
        mine, reference = self.by_class(traffic, mechanism), self.by_class(traffic, other)
        return all_of(*(shorter(mine[name], reference[name], 1 + ABOUT_THE_SAME) for name in CLASSES))

    def ratios(self, mechanism: str) -> dict[str, list[float]]:
        """Returns the ratio of the highest to the lowest mean over the models by size class, of each seed."""
        found = [self.by_class(model, mechanism) for model in self.models]
        return {
            name: [max(seed) / min(seed) for seed in zip(*(of[name] for of in found), strict=True)] for name in CLASSES
        }

    def more_stable(self, mechanism: str, other: str) -> Decision:
        """Decides whether a mechanism's ratio over the models is below the other's in every size class."""
        mine, rival = self.ratios(mechanism), self.ratios(other)
        return all_of(*(shorter(mine[name], rival[name]) for name in CLASSES))

    def compared(self, traffic: str, mechanisms: Sequence[str], *, percentiles: bool = True) -> dict[str, Any]:
        """Returns what a page says of some mechanisms: means, over the seeds and of each, and percentiles."""
        measured: dict[str, Any] = {}
        for name in CLASSES:
            means = {mechanism: self.mean_us(traffic, mechanism)[name] for mechanism in mechanisms}
            measured[f"{traffic}, {name}: mean FCT (µs)"] = means
            measured[f"{traffic}, {name}: mean FCT of a seed (µs)"] = {
                one: Spread.of(run.fct_us[name]["mean"] for run in self.of(traffic, one)) for one in mechanisms
            }
            if percentiles:
                shown = {
                    one: " / ".join(
                        f"{fmean(run.fct_us[name][key] for run in self.of(traffic, one)):.4g}" for key in PERCENTILES
                    )
                    for one in mechanisms
                }
                measured[f"{traffic}, {name}: {' / '.join(PERCENTILES.values())} (µs), means of the seeds"] = shown
        return measured

    def over_models(self, mechanisms: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns what a page says of the means over the models, and of the ratios of highest to lowest."""
        trend: dict[str, Any] = {}
        for name in CLASSES:
            means = {one: [self.mean_us(model, one)[name] for model in self.models] for one in mechanisms}
            shown = {one: " / ".join(f"{value:.4g}" for value in values) for one, values in means.items()}
            trend[f"{name}: mean FCT in models 0 to 3 (µs)"] = shown
        found = {one: self.ratios(one) for one in mechanisms}
        ratios = {
            f"{name}: highest / lowest mean over the models": {one: Spread.of(found[one][name]) for one in mechanisms}
            for name in CLASSES
        }
        return trend, ratios


def shorter(mine: Sequence[float], other: Sequence[float], times: float = 1.0) -> Decision:
    """Decides whether means are below `times` × the other mechanism's means, by the ratio of each seed.

    The number of incasts in a seed moves all of the seed's means, by up to threefold; in logarithms, each seed weighs
    alike.
    """
    pairs = list(zip(mine, other, strict=True))
    return positive(
        [log(times * theirs / ours) for ours, theirs in pairs], [below(ours, times * theirs) for ours, theirs in pairs]
    )


def judged(
    *,
    statements: Mapping[str, str],
    traffic: Sequence[str],
    mechanisms: Sequence[str],
    judge: Callable[[Runs], Mapping[str, Part]],
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    reasons: Mapping[str, str] | None = None,
    ours: Collection[str] = (),
) -> Judged[Runs]:
    """Returns statements on mechanisms under some traffic, each judged with every open choice.

    choices: more of them than `CHOICES`.
    """
    return Judged(
        document="sfc-proxy",
        statements=statements,
        runs=Runs,
        judge=judge,
        cases=Cases(
            cases={name: TRAFFIC[name] for name in traffic},
            variants=mechanisms,
            scenario=scenario,
            sized=_sized,
            choices=CHOICES | dict(choices or {}),
            probes=PROBES,
        ),
        control=SHORT,
        reasons=reasons or {},
        ours=ours,
    )


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed: quick variants are short and leave out the open choices, which have the outer models."""
    if choice and (quick or case in [TRAFFIC[model] for model in MODELS[1:-1]]):
        return {}
    lengths = QUICK_MS if quick else CHOICE_MS if choice else ARRIVALS_MS
    return {seed: replace(case, seed=seed, ms=ms) for seed, ms in lengths.items()}


def _is_host(node: str) -> bool:
    return node.startswith("host")
