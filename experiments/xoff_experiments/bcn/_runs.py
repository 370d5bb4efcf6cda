"""Measures of a run, and their presentation, for all experiments on the BCN document.

Fixed before the first full run. The queue is sampled every 20 us. *Time to stability* runs from the start of the hot
spot to the first sample below 2 Qeq after a sample at or above 2 Qeq; a run without such samples never becomes stable.
*Settle time* ends with the first sample after which the queue stays below 2 Qeq to the end of the run. Both times mean
little if the queue is not below 2 Qeq in the last 5 ms. The verdict compares the two halves of the last 50 ms: the
queue *grows* if its standard deviation in the second half is above Qeq and above 1.5 times the deviation in the first
half; otherwise the queue is *bounded*. Each point has eight seeds; intervals are Student's, 95 %.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, pstdev
from typing import Any, TypeAlias

import pyarrow.compute as pc

from xoff.reproduce import Readings
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.bcn._network import CORE, LINE_GBPS, QEQ_BYTES, SINK_EDGE, START_MS

SEEDS = tuple(range(11, 19))
"""Seeds for the judgement. The search for the main reading used other seeds."""
STEP_US = 20
LEVEL = 2 * QEQ_BYTES
TAIL_MS = 50.0
COLOURS = {"A": "#0072B2", "B": "#D55E00", "C": "#009E73"}

TABLES = ("drops", "flows", "links", "packets", "samples")
"""The tables read from each run."""


@dataclass(frozen=True)
class Run:
    """A result, and what claims look at; times are in ms after the start of the hot spot."""

    result: Result

    @cached_property
    def end_ms(self) -> float:
        """The end of the run in ms."""
        return float(self.result.summary["simulated_ps"]) / 1e9 - START_MS

    @cached_property
    def _links(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.result.links.to_pylist()
        return found

    @cached_property
    def queue(self) -> array[int]:
        """The hot queue in bytes, every 20 us from the start of the hot spot: the core's, or where two cores meet."""
        cores = {link["node"] for link in self._links if link["peer"] == SINK_EDGE and link["node"] != "sink"}
        node, peer = (CORE, SINK_EDGE) if len(cores) == 1 else (SINK_EDGE, "sink")
        port = next(link["port"] for link in self._links if (link["node"], link["peer"]) == (node, peer))
        samples = self.result.samples.select(["time_ps", "node", "port", "bytes"])
        samples = samples.filter(pc.equal(samples["port"], port))
        samples = samples.filter(pc.equal(pc.cast(samples["node"], "string"), node))
        rows = zip(samples["time_ps"].to_pylist(), samples["bytes"].to_pylist(), strict=True)
        # An empty queue has no row.
        depth = {time // (STEP_US * 10**6): size for time, size in rows}
        first = START_MS * 1000 // STEP_US
        # The samples are most of the memory of a result, and an experiment holds hundreds of results.
        self.result.forget()
        return array("I", (depth.get(first + step, 0) for step in range(int(self.end_ms * 1000 / STEP_US))))

    @cached_property
    def _stable(self) -> int | None:
        above = next((i for i, size in enumerate(self.queue) if size >= LEVEL), None)
        if above is None:
            return None
        return next((i for i in range(above, len(self.queue)) if self.queue[i] < LEVEL), None)

    @property
    def stability_ms(self) -> float | None:
        """Time to stability; None is never."""
        return None if self._stable is None else self._stable * STEP_US / 1000

    @cached_property
    def settle_ms(self) -> float | None:
        """Time in ms from which the queue stays below 2 Qeq; None if the queue is not below 2 Qeq in the last 5 ms."""
        last = max((i for i, size in enumerate(self.queue) if size >= LEVEL), default=0)
        return None if last * STEP_US / 1000 > self.end_ms - 5 else (last + 1) * STEP_US / 1000

    def above_share(self) -> float:
        """The share of the time after stability that the queue is at 2 Qeq or above, over 50 ms; 1 if never stable."""
        if self._stable is None:
            return 1.0
        after = self.queue[self._stable : self._stable + int(TAIL_MS * 1000 / STEP_US)]
        return fmean(size >= LEVEL for size in after)

    def late_share(self) -> float:
        """The share of the run's last 50 ms with the queue at 2 Qeq or above."""
        return fmean(size >= LEVEL for size in self.queue[-int(TAIL_MS * 1000 / STEP_US) :])

    def verdict(self) -> str:
        """Whether the queue's swing is bounded over the last 50 ms, or grows."""
        tail = self.queue[-int(TAIL_MS * 1000 / STEP_US) :]
        first, second = (pstdev(half) for half in (tail[: len(tail) // 2], tail[len(tail) // 2 :]))
        return "grows" if second > max(1.5 * first, QEQ_BYTES) else "bounded"

    def innocents_held(self) -> float:
        """The mean time (ms) of hosts of innocents under PAUSE."""
        held = [link["paused_ps"] / 1e9 for link in self._links if link["node"].startswith("in")]
        return fmean(held) if held else 0.0

    def delivered_gbps(self, bin_ms: float) -> list[float]:
        """Goodput of the innocents of an edge switch, in bins from the start of the run. Needs the table of packets."""
        packets = self.result.packets.select(["time_ps", "node", "event", "kind"])
        packets = packets.filter(pc.equal(pc.cast(packets["event"], "string"), "arrive"))
        packets = packets.filter(pc.equal(pc.cast(packets["kind"], "string"), "data"))
        packets = packets.filter(pc.starts_with(pc.cast(packets["node"], "string"), "in"))
        bins = [0] * int((self.end_ms + START_MS) / bin_ms)
        counts = pc.value_counts(pc.divide(packets["time_ps"], int(bin_ms * 1e9)))
        for one in counts.to_pylist():
            if one["values"] < len(bins):
                bins[one["values"]] = one["counts"]
        edges = sum(link["node"] == CORE for link in self._links) - 1
        return [count * 12_000 / (bin_ms * 1e6) / edges for count in bins]

    @cached_property
    def unevenness(self) -> float:
        """The most messages received by one contender, divided by the fewest."""
        flows = self.result.flows.select(["workload", "notifications"]).to_pylist()
        heard = [flow["notifications"] for flow in flows if flow["workload"] == "contenders"]
        return float(max(heard) / max(1, min(heard)))

    @property
    def drops(self) -> int:
        """Frames lost."""
        return self.result.summary["drops"]

    @property
    def dropping_ms(self) -> float:
        """The time from the first lost frame to the last."""
        times = self.result.drops["time_ps"].to_pylist()
        return (max(times) - min(times)) / 1e9 if times else 0.0

    @property
    def hot_gbps(self) -> float:
        """Throughput of the hot link since the hot spot began."""
        sent = sum(link["data_bytes"] for link in self._links if link["peer"] == "sink")
        return min(float(LINE_GBPS), float(sent) * 8 / (self.end_ms * 1e6))


Runs: TypeAlias = Readings[Run]


def runs_of(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Runs:
    """Returns the runs of an experiment."""
    return Readings(results, Run, choice, reading)


def stability_ms(runs: Runs, case: str) -> list[float | None]:
    """Returns the times to stability of all seeds of a case."""
    return [run.stability_ms for run in runs.each(case)]


def degrees(runs: Runs, topology: str) -> list[int]:
    """Returns the degrees of a topology's runs."""
    return sorted({int(name.split("/")[1]) for name in runs.names if name.startswith(f"{topology}/")})


def cases(runs: Runs) -> list[str]:
    """Returns the cases of the runs, without the seeds."""
    return list(dict.fromkeys(name.rpartition("/seed ")[0] for name in runs.names))


def mean_of(values: Sequence[float | None]) -> float | None:
    """Returns the mean, if all seeds have a value."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def told(values: Sequence[float | None], digits: int = 1) -> str:
    """Formats a mean with its interval, and the number of seeds without a value."""
    known = [value for value in values if value is not None]
    if not known:
        return f"never in {len(values)} seeds"
    found = interval(known)
    margin = f" ± {found.margin:.{digits}f}" if found.margin is not None else ""
    never = f"; never in {len(values) - len(known)} of {len(values)}" if len(known) < len(values) else ""
    return f"{found.mean:.{digits}f}{margin}{never}"
