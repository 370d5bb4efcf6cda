"""Measures of a run, paired gains, and the list of runs for the experiments on Congestion Isolation.

Defaults of every predicate: "lower" is a lower mean FCT; "about" is within 15 %. CI's gain is the share by which CI
lowers the mean FCT. Variants are compared seed by seed: a seed gives every variant the same flows at the same times.
Claims are judged at 128 servers, with ten seeds of 3 ms of arrivals. Larger fabrics have one run of 1 ms and decide
nothing: their results are shown with an interval over the flows' differences (as if flows were independent). Each open
choice is judged with the same predicate on three seeds, with one or several unspecified parameters set to other values;
`three seeds alone` changes only the number of seeds. A choice that matters to one statement is judged with that
statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import fmean
from typing import Any

from xoff.reproduce import Cases, Judged, Part, Readings, Spread
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.congestion_isolation._fabric import (
    CLASSES,
    PLAIN,
    PLAIN_NAME,
    SET_UP,
    VARIANTS,
    WORKLOAD,
    Case,
    rack,
    scenario,
)

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
SMALLEST = 16
"""The N of 128 servers, which has all seeds."""
LARGER_MS = 1.0
QUICK_SEEDS = (1, 2)
QUICK_MS = 1.5
_RATE_BPS = 100e9
CHOICE_SEEDS = 3
CONTROL = "three seeds alone"
"""The choice that changes only the number of seeds."""

BY_INPUT = "PFC by input"
_ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "certainty above High": {"above": "certain"},
    "Max Probability as a bound": {"above": "pmax"},
    "marks by ECN's curve, too": {"mark": "both"},
    "CNPs each 12 µs": {"cnp_us": 12},
}
CHOICES: dict[str, dict[str, Any]] = {
    CONTROL: {},
    PLAIN_NAME: PLAIN,
    **_ONE_BY_ONE,
    "load 80 %": {"load": 0.8},
    BY_INPUT: {"accounting": "ingress"},
    "packets may overtake": {"preserve_order": False},
}
"""Values that the document leaves open: the fields of `Case` to replace, by the name of the choice."""
READ = (CONTROL, PLAIN_NAME)
"""The choices judged with every statement."""
SEARCHED = (*READ, *_ONE_BY_ONE)
"""Those, and the other values of the search, one at a time."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Measures of a flow."""

    bytes: int
    fct_us: float
    """FCT in µs. For a flow under way at the end of the run, the FCT extrapolated at the average rate so far."""
    is_notified: bool
    """True if the source of the flow got a CNP."""
    is_within_rack: bool


@dataclass(frozen=True)
class Run:
    """A result, and the measures that claims use."""

    result: Result

    @cached_property
    def flows(self) -> list[Flow]:
        """All flows except flows under way at the start."""
        scenario, until_ps = self.result.scenario, self.result.summary["simulated_ps"]
        tors = int(scenario["network"]["leaf_spine"]["leaves"])
        payload = _payload(scenario)
        found = []
        for one in self._table:
            if one["workload"] != WORKLOAD:
                continue
            fct_ps = one["fct_ps"]
            if fct_ps is None:
                elapsed = until_ps - one["start_ps"]
                arrived = (one["packets_sent"] - one["retransmitted"]) * payload
                fct_ps = max(elapsed, one["ideal_fct_ps"], elapsed * one["size_bytes"] / arrived if arrived else 0)
            is_within = rack(one["src"], tors) == rack(one["dst"], tors)
            found.append(Flow(one["size_bytes"], fct_ps / 1e6, one["notifications"] > 0, is_within))
        return found

    @cached_property
    def fct_us(self) -> dict[str, list[float]]:
        """Flow completion times by size class, in the order of the flows."""
        return {
            name: [flow.fct_us for flow in self.flows if low <= flow.bytes < high]
            for name, (low, high) in CLASSES.items()
        }

    @cached_property
    def inter_rack_mice_us(self) -> list[float]:
        """Flow completion times of flows below 100 KB between racks."""
        return [flow.fct_us for flow in self.flows if flow.bytes < 100e3 and not flow.is_within_rack]

    @property
    def carried(self) -> float:
        """The share of all servers' rate used by flows during arrivals, each flow spread evenly over its FCT."""
        scenario = self.result.scenario
        until_ps = picoseconds(scenario["workload"][0]["poisson"]["duration"])
        payload = _payload(scenario)
        sent = sum(
            one["size_bytes"] * min(1.0, (until_ps - one["start_ps"]) / one["fct_ps"])
            if one["fct_ps"]
            else one["packets_sent"] * payload
            for one in self._table
        )
        leaf_spine = scenario["network"]["leaf_spine"]
        servers = int(leaf_spine["leaves"]) * int(leaf_spine["hosts_per_leaf"])
        return float(sent * 8e12 / (until_ps * servers * _RATE_BPS))

    @property
    def pauses(self) -> int:
        """The number of PFC pauses."""
        return self.result.summary["pfc"]["pauses"]

    @property
    def cnps(self) -> int:
        """The number of CNP frames received by sources."""
        return self.result.summary["dcqcn"]["notifications"]

    @property
    def _table(self) -> list[dict[str, Any]]:
        columns = (
            "workload",
            "src",
            "dst",
            "size_bytes",
            "start_ps",
            "fct_ps",
            "ideal_fct_ps",
            "packets_sent",
            "retransmitted",
            "notifications",
        )
        found: list[dict[str, Any]] = self.result.flows.select(columns).to_pylist()
        return found


@dataclass(frozen=True, slots=True)
class Gain:
    """The share by which a mean is lower than its reference, and half of the 95 % interval's width (if known)."""

    share: float
    half: float | None

    @property
    def is_sure(self) -> bool:
        """True if the difference is beyond chance."""
        return self.half is not None and abs(self.share) > self.half

    def __str__(self) -> str:
        around = "" if self.half is None else f" ± {100 * self.half:.1f}"
        return f"{100 * self.share:.1f}{around} %"


class Runs(Readings[Run]):
    """The runs with one open choice.

    A case names the number of servers. Quick variants and choices leave out cases above 128 servers.
    """

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, Run, choice, reading)

    def of(self, label: str, variant: str) -> list[Run]:
        """Returns a case's runs of all seeds. Raises `RunFailed` if a run violated an audit."""
        return self.each(f"{label}/{variant}")

    def mean_us(self, label: str, variant: str, size: str) -> float:
        """Returns the mean FCT of a size class, the mean over the seeds."""
        return fmean(_means(self.of(label, variant), lambda run: run.fct_us[size]))

    def gain(self, label: str, size: str) -> Gain:
        """Returns the gain by CI in a size class."""
        return gain(self.of(label, "ci"), self.of(label, "none"), lambda run: run.fct_us[size])

    def gains(self, label: str, size: str) -> list[float]:
        """Returns CI's gain in a size class, for each seed with flows of the class."""
        pairs = zip(self.of(label, "ci"), self.of(label, "none"), strict=True)
        return [1 - fmean(one.fct_us[size]) / fmean(base.fct_us[size]) for one, base in pairs if base.fct_us[size]]

    def compared(self, label: str) -> dict[str, Any]:
        """Returns the page's cells for a case: means with and without CI, and the gain with its interval."""
        shown = {}
        for size in CLASSES:
            means = {text: self.mean_us(label, variant, size) for variant, text in VARIANTS.items()}
            shown[f"{label}, {size}: mean FCT (µs)"] = {**means, "gain": str(self.gain(label, size))}
        return shown

    def counts(self, label: str, variant: str, what: Callable[[Run], float]) -> Spread:
        """Returns mean and range of a count over the seeds."""
        return Spread.of(what(run) for run in self.of(label, variant))

    def reaches_xoff(self, *labels: str, variant: str = "none") -> bool:
        """True if PFC paused at least once in the cases."""
        return any(run.pauses for label in labels for run in self.of(label, variant))


def gain(runs: Sequence[Run], references: Sequence[Run], values: Callable[[Run], list[float]]) -> Gain:
    """Returns the share by which the mean of values is lower than in reference runs of the same seeds and flows."""
    return gain_of([(values(run), values(base)) for run, base in zip(runs, references, strict=True)])


def gain_of(seeds: Sequence[tuple[list[float], list[float]]]) -> Gain:
    """Returns the share by which a mean is lower than its reference, from the values of both, flow by flow, by seed."""
    reference = fmean(fmean(base) for _, base in seeds if base)
    pairs = [[other - one for one, other in zip(*each, strict=True)] for each in seeds]
    means = [fmean(differences) for differences in pairs if differences]
    spread = means if len(means) > 1 else next(differences for differences in pairs if differences)
    half = interval(spread).margin
    return Gain(fmean(means) / reference, None if half is None else half / reference)


def change(values: Sequence[float], references: Sequence[float]) -> Gain:
    """Returns the share by which a count is lower than in reference runs of the same seeds."""
    found = interval([base - one for one, base in zip(values, references, strict=True)])
    reference = fmean(references) or 1.0
    return Gain(found.mean / reference, None if found.margin is None else found.margin / reference)


def _means(runs: Sequence[Run], values: Callable[[Run], list[float]]) -> list[float]:
    """Means of each seed; a short quick run may have no flow of a class."""
    return [fmean(found) for run in runs if (found := values(run))]


def judged(
    *,
    statements: Mapping[str, str],
    cases: Mapping[str, Case],
    judge: Callable[[Runs], Mapping[str, Part]],
    choices: Sequence[str] = READ,
    reasons: Mapping[str, str] | None = None,
    ours: Collection[str] = (),
    readings: Mapping[str, str] | None = None,
    seeds: Sequence[int] = SEEDS,
) -> Judged[Runs]:
    """Returns statements on cases, each judged with some of the `CHOICES`, too.

    seeds: those of the main reading at 128 servers.
    """
    return Judged(
        document="congestion-isolation",
        statements=statements,
        runs=Runs,
        judge=judge,
        cases=Cases(
            cases=cases,
            variants=tuple(VARIANTS),
            scenario=scenario,
            sized=partial(_sized, seeds),
            choices={choice: CHOICES[choice] for choice in choices},
        ),
        readings=readings or {"": ""},
        set_up=SET_UP,
        control=CONTROL,
        reasons=reasons or {},
        ours=ours,
    )


def _sized(seeds: Sequence[int], case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed: open choices have 128 servers alone; quick variants leave them out, and end early."""
    small = case.tors == SMALLEST
    if (quick and choice) or (not small and (quick or choice)):
        return {}
    if quick:
        return {seed: replace(case, seed=seed, ms=QUICK_MS, ends=True) for seed in QUICK_SEEDS}
    if not small:
        return {SEEDS[0]: replace(case, seed=SEEDS[0], ms=LARGER_MS)}
    return {seed: replace(case, seed=seed) for seed in seeds[: CHOICE_SEEDS if choice else None]}


def _payload(scenario: Mapping[str, Any]) -> int:
    """Returns the payload of a packet in bytes; a resolved size is such as 1452B or 4KB."""
    text = str(scenario["framing"]["payload"])
    return int(text.removesuffix("KB")) * 1000 if text.endswith("KB") else int(text.removesuffix("B"))


def picoseconds(text: str | float) -> int:
    """Returns a resolved time, such as 10ms, in picoseconds."""
    units = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    number = str(text).rstrip("mnpus")
    return round(float(number) * units[str(text).removeprefix(number) or "ps"])
