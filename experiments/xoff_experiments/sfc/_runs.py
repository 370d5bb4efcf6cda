"""Measures of a run, and the judgement of statements on cases, for the experiments on pinned flows.

Defaults of every predicate: "better" or "lower" is lower in every case of the claim; "about the same" is within 15 %,
and 10 percentage points for percentages; "rises then falls" is a maximum at a middle case. Flows start within a
microsecond, drawn anew for each of ten runs (four with another choice): variants are compared draw by draw, and a value
is the mean of the draws, shown with its range. The improvement by SFC (or DCQCN) is the share by which SFC lowers a
mean FCT against PFC only. If a claim does not name the flows, the improvement is over the mean of all flows, and the
victims' improvement is shown as well. Each open choice is judged with the same predicate on the same cases, with one or
two unspecified parameters set to other values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

from xoff.reproduce import Cases, Decision, Judged, Part, Readings, SetUp, Spread, all_of, lower, run_name
from xoff.results import Result
from xoff_experiments.sfc._networks import CHOICES, PROBES, VARIANTS, Case, scenario

QUICK = 2
"""The quick variants send this many times less data. With a fifth of it PFC hardly fires, and little can be judged."""

AVOID = {
    "above_xoff_ps": "above XOFF (µs)",
    "above_threshold_after_pause_ps": "above the SFC threshold after a pause (µs)",
    "egress_idle_paused_ps": "egress idle, its data held (µs)",
}
"""The document's three things to avoid, as measured with SFC in ``summary["pfc"]`` and ``summary["sfc"]``."""


SEARCHED = range(1, 4)
"""The draws of start times on which the set-up was searched."""
DRAWS = range(4, 14)
"""The draws of the judgement."""
CHOICE_DRAWS = DRAWS[:4]
QUICK_DRAWS = DRAWS[:3]

POINTS = 0.10
"""Percentages about the same are within ten percentage points."""


SET_UP = SetUp(
    name="the authors' set-up",
    choices={
        "switch": "virtual output queues (voq), which the deck recommends",
        "who sends SFCMs": "the receiver's switch, to which its formulas count five links, or three",
        "victims": "in racks without a sender (C)",
    },
    searched="start times 1 to 3, every combination of switch, who signals and round trip",
    confirmed="start times 4 to 13",
    cost="5.4 fails in it, and holds where every switch signals; T cannot be judged, as without SFC nothing is lost or "
    "nothing completes, and holds on a switch with a queue for each output.",
)


@dataclass(frozen=True, slots=True)
class Run:
    """Measures for claims: flow completion times in µs by flow, and counts, of one run or as means of several runs."""

    fct_us: dict[str, float]
    pfc_pauses: float
    sfcms: float
    drops: float
    avoid_us: dict[str, float]
    """The three things to avoid, by the keys of `AVOID`; empty without SFC or without a measurement."""
    victims_sfcms: float
    """SFCMs that held a victim."""

    @classmethod
    def mean(cls, runs: Sequence[Run]) -> Run:
        """Returns the means of runs with different start times."""

        def each(value: Callable[[Run], Mapping[str, float]]) -> dict[str, float]:
            return {key: fmean(value(run)[key] for run in runs) for key in value(runs[0])}

        return cls(
            each(lambda run: run.fct_us),
            fmean(run.pfc_pauses for run in runs),
            fmean(run.sfcms for run in runs),
            fmean(run.drops for run in runs),
            each(lambda run: run.avoid_us),
            fmean(run.victims_sfcms for run in runs),
        )

    @classmethod
    def of(cls, result: Result) -> Run:
        """Reads a result."""
        labels, fcts, holds = (result.flows[name].to_pylist() for name in ("label", "fct_ps", "holds"))
        times = zip(labels, fcts, strict=True)
        measured = result.summary["sfc"]
        on = "sfc" in result.scenario["switch"]["flow_control"]
        times_ps: dict[str, Any] = {**result.summary["pfc"], **measured} if on else {}
        return cls(
            {name: fct / 1e6 for name, fct in times},
            result.summary["pfc"]["pauses"],
            measured["messages"],
            result.summary["drops"],
            {key: times_ps[key] / 1e6 for key in AVOID if key in times_ps},
            sum(held for name, held in zip(labels, holds, strict=True) if not name.startswith("incast")),
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


Value: TypeAlias = Callable[[Run], float]


class Runs(Readings[Run]):
    """The runs with one open choice."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, Run.of, choice, reading)

    def __call__(self, case: str, variant: str) -> Run:
        """Returns the means of a case under a variant. Raises `RunFailed` if a run violated an audit."""
        return Run.mean(self.draws(case, variant))

    def draws(self, case: str, variant: str) -> list[Run]:
        """Returns a run for each draw of start times."""
        return self.each(run_name(case, variant))

    def drawn(self, case: str, variant: str, value: Value) -> list[float]:
        """Returns a value of each draw."""
        return self.by_seed(run_name(case, variant), value)

    def over(self, case: str, variant: str, value: Value) -> Spread:
        """Returns mean and range of a value over the draws."""
        return self.spread(run_name(case, variant), value)

    def improvements(self, case: str, value: Value, variant: str = "pfc-sfc") -> list[float]:
        """Returns the shares by which a variant lowers a mean FCT against PFC only, draw by draw."""
        pairs = zip(self.drawn(case, variant, value), self.drawn(case, "pfc", value), strict=True)
        return [1 - with_it / without for with_it, without in pairs]

    def faster(self, case: str, value: Value, variant: str = "pfc-sfc") -> Decision:
        """Decides whether a variant's value is below the value of PFC only and of PFC + DCQCN."""
        mine = self.drawn(case, variant, value)
        return all_of(*(lower(mine, self.drawn(case, rival, value)) for rival in ("pfc", "pfc-dcqcn")))


def judged(
    *,
    statements: Mapping[str, str],
    cases: Mapping[str, Case],
    judge: Callable[[Runs], Mapping[str, Part]],
    variants: Sequence[str] = tuple(VARIANTS),
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    reasons: Mapping[str, str] | None = None,
    ours: Collection[str] = (),
    readings: Mapping[str, str] | None = None,
    varied: bool = True,
) -> Judged[Runs]:
    """Returns statements on cases, each judged with every open choice too.

    choices: choices in addition to `CHOICES`. varied: True to run choices and probes.
    """
    return Judged(
        document="sfc",
        statements=statements,
        runs=Runs,
        judge=judge,
        cases=Cases(
            cases=cases,
            variants=variants,
            scenario=scenario,
            sized=sized,
            choices=CHOICES | dict(choices or {}) if varied else {},
            probes=PROBES if varied else {},
        ),
        readings=readings or {"": ""},
        set_up=SET_UP,
        reasons=reasons or {},
        ours=ours,
    )


def sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case as it is run: quick variants send less data, and leave out the open choices."""
    if quick:
        return {} if choice else {draw: replace(case, data_mb=case.data_mb / QUICK, draw=draw) for draw in QUICK_DRAWS}
    return {draw: replace(case, draw=draw) for draw in (CHOICE_DRAWS if choice else DRAWS)}


def shown(found: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    """Returns mean and range of values over the draws, by case."""
    return {case: Spread.of(values) for case, values in found.items()}


def victims_us(run: Run) -> float:
    """Mean FCT of the victims."""
    return run.victims_us


def mean_us(run: Run) -> float:
    """Mean FCT over all flows."""
    return run.mean_us


def pauses(run: Run) -> float:
    """PFC pauses."""
    return run.pfc_pauses


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
