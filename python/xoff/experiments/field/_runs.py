"""What the comparison reads of a run, and how it is told.

A percentile is the element at ⌈share · n⌉. The slowdown of a flow is its completion time over that which it would have
alone; of a flow that is not over when the run ends, the time that it has had over it. Flows of incasts are told apart
from the others: of them the last one's completion over the least that the receiver's line allows, and Jain's index of
the rates of one incast's flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from xoff.experiments.field._fabric import INCAST, LONG, PAYLOAD, SHORT
from xoff.reproduce import Readings
from xoff.results import Result
from xoff.statistics import interval

BINS = {"all": (0, math.inf), "short": (0, SHORT), "middle": (SHORT, LONG), "long": (LONG, math.inf)}


@dataclass(frozen=True, slots=True)
class Run:
    """The numbers of a run; those that it has nothing for are none."""

    slowdowns: Mapping[str, Sequence[float]]
    """By bin of size, in rising order, without those of incasts."""
    long_gbps: float | None
    """Mean rate of long flows."""
    incast: float | None
    """The last flow's completion of an incast over the least possible, the mean over incasts."""
    jain: float | None
    """Jain's index of the rates of an incast's flows, the mean over incasts."""
    collective_ms: float | None
    """The longest time of a collective."""
    last_us: float
    """The longest completion time."""
    pauses: int
    """By PFC, BFC, and waits for credits."""
    drops: int
    trims: int
    again: float
    """Share of packets that were sent again."""
    buffer_kb: float
    """The deepest queue."""
    unfinished: int

    def percentile(self, size: str, share: float) -> float | None:
        """Return a percentile of slowdowns."""
        found = self.slowdowns[size]
        return found[max(0, math.ceil(share * len(found)) - 1)] if found else None

    def mean(self, size: str) -> float | None:
        """Return the mean of slowdowns."""
        return fmean(self.slowdowns[size]) if self.slowdowns[size] else None


def read(result: Result) -> Run:
    """Return the numbers of a run, and let its tables go: there are hundreds."""
    summary = result.summary
    end_ps = summary["simulated_ps"]
    columns = ("workload", "dst", "size_bytes", "start_ps", "fct_ps", "ideal_fct_ps", "packets_sent")
    table = result.flows.select(columns).to_pylist()
    slowdowns: dict[str, list[float]] = {name: [] for name in BINS}
    rates: list[float] = []
    bursts: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for flow in table:
        took = flow["fct_ps"] or max(end_ps - flow["start_ps"], flow["ideal_fct_ps"])
        if flow["workload"] == INCAST:
            burst = bursts.setdefault((flow["dst"], flow["start_ps"]), [])
            burst.append((took, flow["ideal_fct_ps"], flow["size_bytes"]))
            continue
        for name, (low, high) in BINS.items():
            if low <= flow["size_bytes"] < high:
                slowdowns[name].append(took / flow["ideal_fct_ps"])
        if flow["size_bytes"] >= LONG:
            rates.append(8e3 * flow["size_bytes"] / took)
    framing = result.scenario["framing"]
    wire = PAYLOAD + int(str(framing["header"]).removesuffix("B"))
    sent = sum(flow["packets_sent"] for flow in table)
    times = result.collectives["time_ps"].to_pylist() if "collectives" in result.tables else []
    found = Run(
        {name: sorted(values) for name, values in slowdowns.items()},
        fmean(rates) if rates else None,
        fmean(_over_least(burst, wire) for burst in bursts.values()) if bursts else None,
        fmean(_jain(burst) for burst in bursts.values()) if bursts else None,
        max(end_ps if time is None else time for time in times) / 1e9 if times else None,
        max(flow["fct_ps"] or end_ps - flow["start_ps"] for flow in table) / 1e6,
        summary["pfc"]["pauses"] + summary["bfc"]["pauses"] + summary["credits"]["waits"],
        summary["drops"],
        summary["trimming"]["trimmed"],
        summary["retransmitted"] / sent if sent else 0.0,
        summary["high_water"]["queue"]["bytes"] / 1e3,
        summary["flows"]["total"] - summary["flows"]["completed"],
    )
    result.forget()
    return found


def _over_least(burst: Sequence[tuple[int, int, int]], wire: int) -> float:
    """Return an incast's completion over that of one flow alone and all other packets on the receiver's line."""
    ideal_ps, size = min((ideal, size) for _, ideal, size in burst)
    # 80 ps a byte, at 100 Gb/s.
    others_ps = (len(burst) - 1) * math.ceil(size / PAYLOAD) * wire * 80
    return max(took for took, _, _ in burst) / (ideal_ps + others_ps)


def _jain(burst: Sequence[tuple[int, int, int]]) -> float:
    rates = [size / took for took, _, size in burst]
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


class Runs(Readings[Run]):
    """The runs of an experiment, by case and row."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, read, choice, reading)

    def values(self, case: str, row: str, value: Callable[[Run], float | None]) -> list[float]:
        """Return a value of each seed that has it."""
        return [found for run in self.each(f"{case}/{row}") if (found := value(run)) is not None]

    def of(self, case: str, row: str, value: Callable[[Run], float | None]) -> float:
        """Return the mean of a value over the seeds; not a number if none has it."""
        found = self.values(case, row, value)
        return fmean(found) if found else math.nan

    def rows(self, case: str) -> list[str]:
        """Return the rows of a case."""
        return list(dict.fromkeys(name.split("/")[1] for name in self.names if name.startswith(f"{case}/")))

    @property
    def cases(self) -> list[str]:
        """Return the cases."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.names))


def told(values: Sequence[float]) -> str:
    """Return a mean and half of its interval, as a table shows them."""
    if not values:
        return "–"
    found = interval(values)
    return _short(found.mean) + (f" ± {_short(found.margin)}" if found.margin else "")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percentile(size: str, share: float) -> Callable[[Run], float | None]:
    """Return what reads a percentile of slowdowns."""
    return lambda run: run.percentile(size, share)


def p99(size: str) -> Callable[[Run], float | None]:
    """Return what reads the 99th percentile of slowdowns."""
    return percentile(size, 0.99)


def mean_long(run: Run) -> float | None:
    """Return the mean slowdown of long flows."""
    return run.mean("long")
