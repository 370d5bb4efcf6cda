"""What the experiments on pinned flows share: what is read of a run, and cases × architectures × variants to judge.

Defaults of every predicate, set before the first run: "better" or "lower" is a lower mean in every case the claim
lists; "about the same" is within 15 %, "similar to 8 times the buffer" means within 10 %; "rises then falls" is a
middle case that is highest. Nothing here is random, so that one seed says it all. The improvement by SFC (or DCQCN)
is the share by which it lowers the mean FCT of the victims against PFC only.

Each open choice is judged as well: the same predicate on the same cases, with one parameter that the document does
not give set to another value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.sfc._networks import ARCHITECTURES, VARIANTS, Case, scenario

from xoff.reproduce import Cases, Judged, Part, Readings, run_name
from xoff.results import Result

QUICK = 2
"""The quick variants send this many times less data. With a fifth of it PFC hardly fires, and little can be judged."""

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
        times_ps: dict[str, Any] = {**result.summary["pfc"], **measured} if on else {}
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


class Runs(Readings[Run]):
    """The runs of one architecture, with one open choice."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "oq") -> None:
        super().__init__(results, Run.of, choice, reading)

    def __call__(self, case: str, variant: str) -> Run:
        """Return a run by its case and variant. Raises `RunFailed` if it violated an audit."""
        return self.one(run_name(_of_architecture(case, self.reading), variant))

    def improvement(self, case: str, variant: str = "pfc-sfc") -> float:
        """Return the share by which a variant lowers the mean FCT of the victims against PFC only."""
        return 1 - self(case, variant).victims_us / self(case, "pfc").victims_us


def judged(
    *,
    statements: Mapping[str, str],
    cases: Mapping[str, Case],
    judge: Callable[[Runs], Mapping[str, Part]],
    variants: Sequence[str] = tuple(VARIANTS),
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    reasons: Mapping[str, str] | None = None,
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
    )


def sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Return a case as it is run: quick variants send less data, and leave out the open choices."""
    if not quick:
        return {None: case}
    return {} if choice else {None: replace(case, data_mb=case.data_mb / QUICK)}


def _of_architecture(case: str, architecture: str) -> str:
    return f"{architecture}/{case}" if case else architecture


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
