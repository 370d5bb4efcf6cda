"""Measures of a run of the comparison, and their presentation.

A percentile is the element at ⌈share · n⌉. The slowdown of a flow is its completion time divided by its ideal FCT; for
a flow unfinished at the end of the run, the time so far divided by the ideal FCT. Flows of incasts are kept apart.
Measures of an incast are the completion of its last flow divided by the least time that the receiver's line allows, and
Jain's index of the rates of its flows. The ideal FCT is computed for frames without telemetry, and is therefore the
same for all mechanisms. A value of a run that ended too early is a bound, and shown as a bound (``≥``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

from xoff.reproduce import Readings
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.field._fabric import HOSTS_PER_LEAF, INCAST, JOB, LONG, PAYLOAD, SHORT, SPOILT
from xoff_experiments.field._links import CONTROL, LONGEST, WIRE, Link, number

BINS = {"all": (0, math.inf), "short": (0, SHORT), "middle": (SHORT, LONG), "long": (LONG, math.inf)}
OTHERS = "others"
"""Flows neither from nor to the faulty host."""


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run; None for a number without traffic to measure."""

    slowdowns: Mapping[str, Sequence[float]]
    """By size bin, and of `OTHERS`, in rising order, without flows of incasts."""
    cut: frozenset[str]
    """The bins, ``incast`` and ``job`` with unfinished flows or operations at the end of the run."""
    long_gbps: float | None
    """Mean rate of long flows."""
    incast: float | None
    """The last flow's completion of an incast over the least possible, the mean over incasts."""
    jain: float | None
    """Jain's index of the rates of an incast's flows, the mean over incasts."""
    collective_ms: float | None
    """The longest time of a collective."""
    iteration_ms: float | None
    """The time of an iteration of a job."""
    exposed: float | None
    """The share of it in which a rank waits for messages under way, the mean over ranks."""
    last_us: float
    """The longest completion time."""
    pauses: int
    """By PFC, BFC, and waits for credits."""
    drops: int
    trims: int
    again: float
    """Share of retransmissions among packets."""
    buffer_kb: float
    """The deepest queue."""
    unfinished: int

    def percentile(self, size: str, share: float) -> float | None:
        """Returns a percentile of slowdowns."""
        found = self.slowdowns[size]
        return found[max(0, math.ceil(share * len(found)) - 1)] if found else None

    def mean(self, size: str) -> float | None:
        """Returns the mean of slowdowns."""
        return fmean(self.slowdowns[size]) if self.slowdowns[size] else None


Value: TypeAlias = Callable[[Run], float | None]
"""A function that reads a number from a run."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The ideal FCT of a flow, in frames without telemetry."""

    ps_per_byte: float
    stamp: int

    @staticmethod
    def of(result: Result) -> Alone:
        framing = result.scenario["framing"]
        return Alone(Link.of(result.scenario).ps_per_byte, PAYLOAD + number(framing["header"]) - WIRE)

    def time_ps(self, flow: Mapping[str, Any]) -> float:
        """Returns the time. Full packets follow back to back; telemetry replaces the padding of a short last packet."""
        leaf, other = (int(flow[end].removeprefix("host")) // HOSTS_PER_LEAF for end in ("src", "dst"))
        links = LONGEST if leaf != other else 2
        packets = math.ceil(flow["size_bytes"] / PAYLOAD)
        frame = flow["size_bytes"] - (packets - 1) * PAYLOAD + WIRE - PAYLOAD
        last = max(CONTROL, frame + self.stamp) - max(CONTROL, frame)
        more = links * last if packets == 1 else (packets + links - 2) * self.stamp + last
        found: float = flow["ideal_fct_ps"] - more * self.ps_per_byte
        return found


def read(result: Result) -> Run:
    """Returns the numbers of a run, and frees its tables: an experiment has thousands of runs."""
    summary = result.summary
    end_ps = summary["simulated_ps"]
    columns = ("workload", "src", "dst", "size_bytes", "start_ps", "fct_ps", "ideal_fct_ps", "packets_sent")
    table = result.flows.select(columns).to_pylist()
    alone = Alone.of(result)
    slowdowns: dict[str, list[float]] = {name: [] for name in (*BINS, OTHERS)}
    rates: list[float] = []
    bursts: dict[tuple[str, int], list[tuple[float, float, int]]] = {}
    cut: set[str] = set()
    for flow in table:
        alone_ps = alone.time_ps(flow)
        took = flow["fct_ps"] or max(end_ps - flow["start_ps"], alone_ps)
        bins = [name for name, (low, high) in BINS.items() if low <= flow["size_bytes"] < high]
        if SPOILT not in {flow["src"], flow["dst"]}:
            bins.append(OTHERS)
        if flow["workload"] == INCAST:
            burst = bursts.setdefault((flow["dst"], flow["start_ps"]), [])
            burst.append((took, alone_ps, flow["size_bytes"]))
            bins = [INCAST]
        elif flow["workload"] != JOB:
            for name in bins:
                slowdowns[name].append(took / alone_ps)
            if flow["size_bytes"] >= LONG:
                rates.append(8e3 * flow["size_bytes"] / took)
        if flow["fct_ps"] is None:
            cut.update(bins)
    sent = sum(flow["packets_sent"] for flow in table)
    times = (
        result.collectives["time_ps"].to_pylist() if "collectives" in result.tables and JOB not in _jobs(result) else []
    )
    job = _jobs(result).get(JOB)
    if job is not None and job["completed"] < job["iterations"]:
        cut.add(JOB)
    iteration_ps = None if job is None else job["longest_iteration_ps"] or end_ps
    found = Run(
        {name: sorted(values) for name, values in slowdowns.items()},
        frozenset(cut),
        fmean(rates) if rates else None,
        fmean(_over_least(burst, alone.ps_per_byte) for burst in bursts.values()) if bursts else None,
        fmean(_jain(burst) for burst in bursts.values()) if bursts else None,
        max(end_ps if time is None else time for time in times) / 1e9 if times else None,
        None if iteration_ps is None else iteration_ps / 1e9,
        None if job is None or not job["completed"] else job["exposed_ps"] / iteration_ps,
        max((flow["fct_ps"] or end_ps - flow["start_ps"] for flow in table), default=0) / 1e6,
        summary["pfc"]["pauses"] + summary["bfc"]["pauses"] + summary["credits"]["waits"],
        summary["drops"],
        summary["trimming"]["trimmed"],
        summary["retransmitted"] / sent if sent else 0.0,
        summary["high_water"]["queue"]["bytes"] / 1e3,
        summary["flows"]["total"] - summary["flows"]["completed"],
    )
    result.forget()
    return found


def _jobs(result: Result) -> dict[str, Any]:
    """Returns the job groups of the summary, by workload."""
    return {name: one["job"] for name, one in result.summary["workloads"].items() if one.get("job")}


def _over_least(burst: Sequence[tuple[float, float, int]], ps_per_byte: float) -> float:
    """Returns an incast's completion over the least: one flow alone and all other packets on the receiver's line."""
    alone_ps, size = min((alone, size) for _, alone, size in burst)
    others_ps = (len(burst) - 1) * (size + math.ceil(size / PAYLOAD) * (WIRE - PAYLOAD)) * ps_per_byte
    return max(took for took, _, _ in burst) / (alone_ps + others_ps)


def _jain(burst: Sequence[tuple[float, float, int]]) -> float:
    rates = [size / took for took, _, size in burst]
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


class Runs(Readings[Run]):
    """The runs of an experiment, by case and row."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, read, choice, reading)

    def values(self, case: str, row: str, value: Value) -> list[float]:
        """Returns a value of each seed, without seeds that lack the value."""
        return [found for run in self.each(f"{case}/{row}") if (found := value(run)) is not None]

    def of(self, case: str, row: str, value: Value) -> float:
        """Returns the mean of a value over the seeds; NaN if no seed has the value."""
        found = self.values(case, row, value)
        return fmean(found) if found else math.nan

    def by_seed_of(self, case: str, row: str, value: Value) -> list[float | None]:
        """Returns a value of each seed, for pairing with another row."""
        return [value(run) for run in self.each(f"{case}/{row}")]

    def told(self, case: str, row: str, value: Value, part: str = "") -> str:
        """Formats a mean and half of its interval for a table, as a bound if part of the traffic was unfinished."""
        if row not in self.rows(case):
            return "–"
        cut = part and any(part in run.cut for run in self.each(f"{case}/{row}"))
        return ("≥ " if cut else "") + told(self.values(case, row, value))

    def product_of(self, row: str, value: Value) -> float:
        """Returns the product of a value's means over the cases, by which rows are ranked over all cases."""
        return math.prod(self.of(case, row, value) for case in self.cases)

    def rows(self, case: str) -> list[str]:
        """Returns the rows of a case."""
        return list(dict.fromkeys(name.split("/")[1] for name in self.names if name.startswith(f"{case}/")))

    @property
    def cases(self) -> list[str]:
        """Returns the cases."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.names))


def told(values: Sequence[float]) -> str:
    """Formats a mean and half of its interval for a table."""
    if not values:
        return "–"
    found = interval(values)
    return short(found.mean) + (f" ± {short(found.margin)}" if found.margin else "")


def short(value: float) -> str:
    """Returns a number of three digits, or more before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percentile(size: str, share: float) -> Value:
    """Returns a function that reads a percentile of slowdowns."""
    return lambda run: run.percentile(size, share)


def p99(size: str) -> Value:
    """Returns a function that reads the 99th percentile of slowdowns."""
    return percentile(size, 0.99)


def mean_long(run: Run) -> float | None:
    """Returns the mean slowdown of long flows."""
    return run.mean("long")
