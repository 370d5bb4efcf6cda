"""Measures of a run, their presentation and judgement, for all experiments on the PortFC paper.

"Lowest", "lower" and "higher" are decided over the seeds, run by run of one seed, in every case of a statement. The
published size of an effect is shown as well, and decides nothing. The tail is the 99th percentile in NDC(4, 1) and the
99.9th in NDC(8, 1), as in the paper's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TypeAlias

from xoff.reproduce import Readings, Spread
from xoff.results import Result
from xoff_experiments.portfc._ndc import MECHANISMS


@dataclass(frozen=True)
class Run:
    """A result, and the measures that claims use."""

    result: Result

    def fct_us(self, workload: str | None = None) -> list[float]:
        """Returns completion times of all delivered flows, or of the flows of one workload, in rising order."""
        return self._fct[workload]

    def mean_us(self, workload: str | None = None) -> float:
        """Returns the mean FCT."""
        return fmean(self.fct_us(workload))

    def tail_us(self, share: float, workload: str | None = None) -> float:
        """Returns a percentile of the FCT: the element at ⌈share · n⌉."""
        times = self.fct_us(workload)
        return times[max(0, -int(-share * len(times) // 1) - 1)]

    def throughput_gbps(self, workload: str | None = None) -> float:
        """Returns the mean over flows of payload over FCT."""
        return fmean(8e3 * size / fct for name, size, fct in self.flows if workload in {None, name})

    def bytes_gbps(self, workload: str | None = None) -> float:
        """Returns the payload of all flows divided by the sum of their FCT."""
        of_it = [(size, fct) for name, size, fct in self.flows if workload in {None, name}]
        return 8e3 * sum(size for size, _ in of_it) / sum(fct for _, fct in of_it)

    def small_us(self, below: int = 100_000) -> float:
        """Returns the mean FCT of flows below a size."""
        return fmean(fct / 1e6 for _, size, fct in self.flows if size < below)

    @cached_property
    def flows(self) -> list[tuple[str, int, int]]:
        """Workload, bytes and FCT in picoseconds of each delivered flow."""
        flows = self.result.flows
        columns = (flows[name].to_pylist() for name in ("workload", "size_bytes", "fct_ps"))
        return [(name, size, fct) for name, size, fct in zip(*columns, strict=True) if fct is not None]

    @cached_property
    def _fct(self) -> dict[str | None, list[float]]:
        found: dict[str | None, list[float]] = {None: []}
        for name, _, fct in self.flows:
            found[None].append(fct / 1e6)
            found.setdefault(name, []).append(fct / 1e6)
        return {name: sorted(values) for name, values in found.items()}


Runs: TypeAlias = Readings[Run]
Value: TypeAlias = Callable[[Run], float]


def runs_of(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs:
    """Returns the runs of an experiment with one open choice, in one reading."""
    return Readings(results, Run, choice, reading)


def compared(runs: Runs, prefix: str, mechanisms: Sequence[str], value: Value) -> dict[str, float]:
    """Returns a value by mechanism, the mean over the seeds."""
    return {mechanism: runs.mean(f"{prefix}/{mechanism}", value) for mechanism in mechanisms}


def by_seed(runs: Runs, prefix: str, mechanisms: Sequence[str], value: Value) -> dict[str, list[float]]:
    """Returns a value by mechanism, of each seed."""
    return {mechanism: runs.by_seed(f"{prefix}/{mechanism}", value) for mechanism in mechanisms}


def told(runs: Runs, prefix: str, mechanisms: Sequence[str], value: Value) -> dict[str, Spread]:
    """Returns a value by mechanism under the page's name: mean and range over the seeds."""
    return {name_of(mechanism): runs.spread(f"{prefix}/{mechanism}", value) for mechanism in mechanisms}


def name_of(mechanism: str) -> str:
    """Returns the page's name of a mechanism."""
    return MECHANISMS.get(mechanism) or mechanism.replace("portfc", MECHANISMS["portfc"])


def lower_by(values: Mapping[str, float], others: Iterable[str]) -> dict[str, float]:
    """Returns the percentages by which PortFC's value is below each other value, by the page's names."""
    return {name_of(other): round(100 * (1 - values["portfc"] / values[other]), 1) for other in others}


def times(values: Mapping[str, float], others: Iterable[str]) -> dict[str, float]:
    """Returns PortFC's value divided by each other value, by the page's names."""
    return {name_of(other): round(values["portfc"] / values[other], 2) for other in others}


def names(values: Mapping[str, float], digits: int = 4) -> dict[str, float]:
    """Returns values by the page's names."""
    return {name_of(key): float(f"{value:.{digits}g}") for key, value in values.items()}
