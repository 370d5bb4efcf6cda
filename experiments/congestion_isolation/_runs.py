"""What the experiments on Congestion Isolation share: what is read of a run, paired gains, and what is run.

Defaults of every predicate, set before the first run: "lower" is a lower mean FCT in every scale and size class that
the claim lists; "about the same" and "about" are within 15 %. The gain by CI is the share by which it lowers the mean
FCT. A mean over seeds gives each seed the same weight; variants are compared on the same seeds, which give them the
same flows at the same times. Scales above 128 servers have one seed, 128 servers have five.

Data-mining sizes are heavy-tailed: one flow in fifty carries most of the bytes. So every gain has an interval of 95 %
beside it: by Student's t over the seeds' differences or, of a single seed, over its flows' differences (as if they
were independent, which flows that meet are not). The direction of the mean is what is judged, as for all documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from experiments.congestion_isolation._fabric import CLASSES, READINGS, VARIANTS, Case, rack, scenario

from xoff.reproduce import Cases, Judged, Part, Readings
from xoff.results import Result
from xoff.statistics import interval

SEEDS = (1, 2, 3, 4, 5)
SMALLEST = 16
"""The N of 128 servers, which has all seeds."""
QUICK_SEEDS = (1, 2)
QUICK_MS = 1.5
CHOICE_SEEDS = (1, 2)
CHOICE_MS = 4.0
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
        return self.result.summary["pfc"]["pauses"]

    @property
    def cnps(self) -> int:
        """Congestion notifications to sources."""
        return self.result.summary["dcqcn"]["notifications"]

    @property
    def isolated(self) -> int:
        """How often a node isolated a flow."""
        return self.result.summary["congestion_isolation"]["isolated_flows"]

    @property
    def messages(self) -> int:
        """CIMs."""
        return self.result.summary["congestion_isolation"]["messages"]

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
    """The runs with one open choice; a case has servers of one number. ``ci`` is CI in one of the `READINGS`.

    Quick variants and choices leave out cases above 128 servers.
    """

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "isolated") -> None:
        super().__init__(results, Run, choice, reading)

    def of(self, label: str, variant: str) -> list[Run]:
        """Return a case's runs of all seeds. Raises `RunFailed` if one violated an audit."""
        return self.each(f"{label}/{self.reading if variant == 'ci' else variant}")

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


def judged(
    *,
    statements: Mapping[str, str],
    cases: Mapping[str, Case],
    judge: Callable[[Runs], Mapping[str, Part]],
    choices: Sequence[str] = (),
    reasons: Mapping[str, str] | None = None,
) -> Judged[Runs]:
    """Return statements on cases, each judged in both `READINGS`, and with some of the `CHOICES`."""
    return Judged(
        document="congestion-isolation",
        statements=statements,
        readings=READINGS,
        runs=Runs,
        judge=judge,
        cases=Cases(
            cases=cases,
            variants=tuple(VARIANTS),
            scenario=scenario,
            sized=_sized,
            choices={choice: CHOICES[choice] for choice in choices},
        ),
        reasons=reasons or {},
        varied_as="with other choices, at 128 servers",
        varied_failure="a run lost packets",
    )


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Return a case by seed: open choices are short and have 128 servers alone; quick variants leave them out."""
    small = case.tors == SMALLEST
    if (quick and choice) or (not small and (quick or choice)):
        return {}
    if quick:
        return {seed: replace(case, seed=seed, ms=QUICK_MS) for seed in QUICK_SEEDS}
    if choice:
        # A choice that is long has one seed.
        seeds = CHOICE_SEEDS[:1] if "ms" in CHOICES[choice] else CHOICE_SEEDS
        return {seed: replace(case, seed=seed, ms=CHOICE_MS) for seed in seeds}
    return {seed: replace(case, seed=seed) for seed in (SEEDS if small else SEEDS[:1])}


def picoseconds(text: str | float) -> int:
    """Return a resolved time, such as 10ms, in picoseconds."""
    units = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
    number = str(text).rstrip("mnpus")
    return round(float(number) * units[str(text).removeprefix(number) or "ps"])
