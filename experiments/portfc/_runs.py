"""What the experiments of the PortFC paper share: what is read of a run, and how it is told.

Defaults of every predicate, set before the first run: "lowest" or "lower" is a lower mean over the seeds in every case
that the claim lists; "about" a factor is within 10 %, "the same" within 15 %. The tail is the 99th percentile in
NDC(4, 1) and the 99.9th in NDC(8, 1), as in the paper's text. The throughput of a flow is its payload over its FCT, and
the mean throughput the mean over flows. The paper's numbers stand beside ours; the direction is what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TypeAlias

from experiments.portfc._ndc import MECHANISMS

from xoff.reproduce import Readings
from xoff.results import Result


@dataclass(frozen=True)
class Run:
    """A result, and what claims look at."""

    result: Result

    def fct_us(self, workload: str | None = None) -> list[float]:
        """Return completion times of all delivered flows, or of those of one workload, in rising order."""
        return self._fct[workload]

    def mean_us(self, workload: str | None = None) -> float:
        """Return the mean FCT."""
        return fmean(self.fct_us(workload))

    def tail_us(self, share: float, workload: str | None = None) -> float:
        """Return a percentile of the FCT: the element at ⌈share · n⌉."""
        times = self.fct_us(workload)
        return times[max(0, -int(-share * len(times) // 1) - 1)]

    def throughput_gbps(self, workload: str | None = None) -> float:
        """Return the mean over flows of payload over FCT."""
        return fmean(self._throughput[workload])

    @cached_property
    def _flows(self) -> list[tuple[str, int, int]]:
        flows = self.result.flows
        columns = (flows[name].to_pylist() for name in ("workload", "size_bytes", "fct_ps"))
        return [(name, size, fct) for name, size, fct in zip(*columns, strict=True) if fct is not None]

    @cached_property
    def _fct(self) -> dict[str | None, list[float]]:
        return self._by_workload(lambda _, fct: fct / 1e6, in_order=True)

    @cached_property
    def _throughput(self) -> dict[str | None, list[float]]:
        return self._by_workload(lambda size, fct: 8e3 * size / fct)

    def small_us(self, below: int = 100_000) -> float:
        """Return the mean FCT of flows below a size."""
        return fmean(fct / 1e6 for _, size, fct in self._flows if size < below)

    def _by_workload(
        self, value: Callable[[int, int], float], *, in_order: bool = False
    ) -> dict[str | None, list[float]]:
        found: dict[str | None, list[float]] = {None: []}
        for name, size, fct in self._flows:
            one = value(size, fct)
            found[None].append(one)
            found.setdefault(name, []).append(one)
        return {name: sorted(values) if in_order else values for name, values in found.items()}


Runs: TypeAlias = Readings[Run]


def runs_of(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs:
    """Return the runs of an experiment with one open choice."""
    return Readings(results, Run, choice, reading)


def compared(runs: Runs, prefix: str, mechanisms: Sequence[str], value: Callable[[Run], float]) -> dict[str, float]:
    """Return a value by mechanism, the mean over the seeds."""
    return {mechanism: runs.mean(f"{prefix}/{mechanism}", value) for mechanism in mechanisms}


Saying = Callable[[Mapping[str, float], str], str]


def against(values: Mapping[str, float], others: Sequence[str], say: Saying) -> dict[str, str]:
    """Return what `say` says of PortFC against each of the others, by the names that readers know."""
    return {MECHANISMS[other]: say(values, other) for other in others}


def lower_by(values: Mapping[str, float], other: str) -> str:
    """Say by how much PortFC's value is below another's."""
    return f"{100 * (1 - values['portfc'] / values[other]):.1f} %"


def times(values: Mapping[str, float], other: str) -> str:
    """Say how many times another's value PortFC's is."""
    return f"×{values['portfc'] / values[other]:.2f}"


def names(values: Mapping[str, float], digits: int = 4) -> dict[str, float]:
    """Return values by the names that readers know."""
    return {MECHANISMS.get(key, key): float(f"{value:.{digits}g}") for key, value in values.items()}
