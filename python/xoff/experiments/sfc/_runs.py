"""What the experiments on pinned flows share: what is read of a run, and cases × architectures × variants to judge.

Defaults of every predicate: "better" or "lower" is a lower mean in every case the claim lists; "about the same" is
within 15 %, and 10 percentage points for percentages; "rises then falls" is a middle case that is highest. Flows start
within a microsecond, drawn anew for each of ten runs (three with another reading, one with another parameter): a value
is their mean, shown with its range. The improvement by SFC (or DCQCN) is the share by which it lowers a mean FCT
against PFC only.

Each open choice is judged as well: the same predicate on the same cases, with one parameter that the document does
not give set to another value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from xoff.experiments.sfc._networks import ARCHITECTURES, VARIANTS, VICTIMS_BESIDE_SENDERS, Case, scenario
from xoff.reproduce import Cases, Judged, Part, Readings, Spread, run_name
from xoff.results import Result

QUICK = 2
"""The quick variants send this many times less data. With a fifth of it PFC hardly fires, and little can be judged."""

AVOID = {
    "above_xoff_ps": "above XOFF (µs)",
    "above_threshold_after_pause_ps": "above the SFC threshold after a pause (µs)",
    "egress_idle_paused_ps": "egress idle, its data held (µs)",
}
"""The document's three things to avoid, as runs with SFC measure them: in ``summary["pfc"]`` and ``summary["sfc"]``."""


DRAWS = 10
"""How often start times are drawn."""

_THRICE = {*VICTIMS_BESIDE_SENDERS, "pause 6 µs", "interval 6 µs", "round trip of the formulas", "400 KB, with losses"}
"""Open choices that read the document otherwise; one draw has to do for those that show how sensitive a verdict is."""

POINTS = 0.10
"""Percentages about the same are within ten percentage points."""


@dataclass(frozen=True, slots=True)
class Run:
    """What claims look at: flow completion times in µs by flow, and counts; of one run, or the means of several."""

    fct_us: dict[str, float]
    pfc_pauses: float
    sfcms: float
    drops: float
    avoid_us: dict[str, float]
    """The three things to avoid, by the keys of `AVOID`; empty if there is no SFC, or it is not measured."""
    victims_sfcms: float
    """SFCMs that held a victim."""

    @classmethod
    def mean(cls, runs: Sequence[Run]) -> Run:
        """Return the means of runs that differ in their start times."""

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
        """Read a result."""
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


class Runs(Readings[Run]):
    """The runs of one architecture, with one open choice."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "oq") -> None:
        super().__init__(results, Run.of, choice, reading)

    def __call__(self, case: str, variant: str) -> Run:
        """Return the means of a case under a variant. Raises `RunFailed` if a run violated an audit."""
        return Run.mean(self.draws(case, variant))

    def draws(self, case: str, variant: str) -> list[Run]:
        """Return a run for each draw of start times."""
        return self.each(run_name(_of_architecture(case, self.reading), variant))

    def over(self, case: str, variant: str, value: Callable[[Run], float]) -> Spread:
        """Return mean and range of a value over the draws."""
        return self.spread(run_name(_of_architecture(case, self.reading), variant), value)

    def improvement(
        self, case: str, variant: str = "pfc-sfc", value: Callable[[Run], float] = lambda run: run.victims_us
    ) -> float:
        """Return the share by which a variant lowers a mean FCT (of the victims, if none is named) against PFC only."""
        return 1 - value(self(case, variant)) / value(self(case, "pfc"))


def judged(
    *,
    statements: Mapping[str, str],
    cases: Mapping[str, Case],
    judge: Callable[[Runs], Mapping[str, Part]],
    variants: Sequence[str] = tuple(VARIANTS),
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    reasons: Mapping[str, str] | None = None,
    ours: Collection[str] = (),
) -> Judged[Runs]:
    """Return statements on cases, each judged for every architecture and with every open choice."""
    return Judged(
        document="sfc",
        statements=statements,
        readings=ARCHITECTURES,
        runs=Runs,
        judge=judge,
        cases=Cases(
            cases={
                _of_architecture(name, architecture): replace(case, architecture=architecture)
                for name, case in cases.items()
                for architecture in ARCHITECTURES
            },
            variants=variants,
            scenario=scenario,
            sized=sized,
            choices=choices or {},
        ),
        reasons=reasons or {},
        ours=ours,
    )


def sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Return a case as it is run: quick variants send less data, once, and leave out the open choices."""
    if quick:
        return {} if choice else {1: replace(case, data_mb=case.data_mb / QUICK)}
    draws = (3 if choice in _THRICE else 1) if choice else DRAWS
    return {draw: replace(case, draw=draw) for draw in range(1, 1 + draws)}


def _of_architecture(case: str, architecture: str) -> str:
    return f"{architecture}/{case}" if case else architecture


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
