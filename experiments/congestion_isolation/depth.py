"""C.7: the depths of all queues of the fabric, sampled periodically, at 1152 servers.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "Queue Depth Comparison". All
outputs of all switches are sampled every 10 µs (ours) while flows arrive; maxima are exact, and of the whole run.
Averages are over samples and all queues of a number, empty ones included. A queue is that of an output. XOFF and 1 MB
are compared with what came by one input (see the open choices), so that the queue of an output can hold more than both.

The two queues without CI are alike if the interval of 95 % over the seeds at 128 servers of the difference of their
averages contains zero, and if at each scale the numbers of queues whose maximum exceeds 10 KB are about the same. A
queue suffers from congestion if its maximum exceeds CI's low threshold, 10 KB (ours); "most queues low depth", of the
summary, is that more than half of either number never do. Head-of-line blocking in queue 1 is a PFC pause of its class.
CI bounds queue 1 by itself: above 300 KB every flow that arrives is isolated. C.7-max is also what the document says of
head-of-line blocking: that it is limited to congested queues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from experiments.congestion_isolation._fabric import CONGESTED, NON_CONGESTED, VARIANTS, Case
from experiments.congestion_isolation._runs import COMPARED, Run, Runs, judged, picoseconds
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, legend_below, write
from xoff.reproduce import Part, about_the_same
from xoff.results import Result
from xoff.statistics import interval

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Queue Depth Comparison"

_LABELS = ("1152 servers", "128 servers")
_QUEUES = {CONGESTED: "queue 0", NON_CONGESTED: "queue 1"}
_EACH_PS = 10_000_000
_XOFF_KB = 750
_LEVELS_KB = (10, 100, 300, _XOFF_KB)


@dataclass(frozen=True, slots=True)
class Depths:
    """Depths in KB by queue number: averages over all queues, and by output the averages and maxima above zero."""

    average: dict[int, float]
    averages: dict[int, list[float]]
    maxima: dict[int, list[float]]
    at_once: dict[int, float]
    """How many queues of a number are above 10 KB at a time, on average."""
    pauses: dict[int, int]
    """PFC pauses of switches and servers, by class."""
    outputs: int

    @classmethod
    def of(cls, run: Run) -> Depths:
        """Read a run."""
        scenario = run.result.scenario
        tors = int(scenario["network"]["leaf_spine"]["leaves"])
        # N ToRs have N outputs each, half of them to servers, and N/2 spines have N.
        outputs = tors * tors * 3 // 2
        until_ps = picoseconds(scenario["workload"][0]["poisson"]["duration"])
        samples = _of_switches(run.result.samples)
        samples = samples.filter(pc.less_equal(samples["time_ps"], until_ps))
        cumulative: dict[int, dict[tuple[str, int], float]] = {queue: {} for queue in _QUEUES}
        for one in samples.group_by(["node", "port", "queue"]).aggregate([("bytes", "sum")]).to_pylist():
            cumulative[one["queue"] - 1][one["node"], one["port"]] = one["bytes_sum"] / 1e3 * _EACH_PS / until_ps
        deep = Counter(samples.filter(pc.greater(samples["bytes"], _LEVELS_KB[0] * 1000))["queue"].to_pylist())
        maxima: dict[int, list[float]] = {queue: [] for queue in _QUEUES}
        for one in _of_switches(run.result.queues).select(["queue", "max_bytes"]).to_pylist():
            maxima[one["queue"] - 1].append(one["max_bytes"] / 1e3)
        pauses = Counter(
            one["class"] for one in run.result.pauses.select(["class", "cause"]).to_pylist() if one["cause"] == "pfc"
        )
        return cls(
            {queue: sum(found.values()) / outputs for queue, found in cumulative.items()},
            {queue: sorted(found.values(), reverse=True) for queue, found in cumulative.items()},
            {queue: sorted(found, reverse=True) for queue, found in maxima.items()},
            {queue: deep[queue + 1] * _EACH_PS / until_ps for queue in _QUEUES},
            {queue: pauses[queue] for queue in _QUEUES},
            outputs,
        )

    def congested(self, queue: int, level_kb: float = _LEVELS_KB[0]) -> int:
        """How many queues of a number had a maximum above a level."""
        return sum(depth > level_kb for depth in self.maxima[queue])


def judge(runs: Runs) -> dict[str, Part]:
    """Judge averages, maxima, likeness without CI, and the number of congested queues."""
    found = {
        label: {variant: [Depths.of(run) for run in runs.of(label, variant)] for variant in COMPARED}
        for label in _LABELS
        if label in runs
    }
    measured = [_measured(label, variants) for label, variants in found.items()]
    averages, maxima, levels = (
        {key: value for one in measured for key, value in one[kind].items()}
        for kind in ("averages", "maxima", "levels")
    )
    seeds = found[_LABELS[1]]["none"]
    apart = interval([one.average[CONGESTED] - one.average[NON_CONGESTED] for one in seeds])
    low, high = apart.mean - (apart.margin or 0.0), apart.mean + (apart.margin or 0.0)
    alike = low <= 0 <= high and all(
        about_the_same(_congested(variants["none"], CONGESTED), _congested(variants["none"], NON_CONGESTED))
        for variants in found.values()
    )
    both = {
        f"{key}, 128 servers": f"{low:.3g} to {high:.3g}" for key in ("queue 0 − queue 1 without CI, average (KB)",)
    }
    return {
        "C.7": Part(
            all(
                max(_congested(variants["ci"], queue) for queue in _QUEUES) < variants["ci"][0].outputs / 2
                for variants in found.values()
            ),
            {
                f"{label}, {COMPARED[variant]}: share of queues never above {_LEVELS_KB[0]} KB (%)": {
                    name: 100 - 100 * _congested(each, queue) / each[0].outputs for queue, name in _QUEUES.items()
                }
                for label, variants in found.items()
                for variant, each in variants.items()
            },
        ),
        "C.7-shallow": Part(
            all(
                max(max(one.maxima[NON_CONGESTED], default=0) for one in variants["ci"])
                < max(max(one.maxima[NON_CONGESTED], default=0) for one in variants["none"])
                for variants in found.values()
            ),
            {key: value for key, value in maxima.items() if "depth" in key},
        ),
        "C.7-average": Part(
            all(
                _average(variants["ci"], NON_CONGESTED) < min(_average(variants["none"], queue) for queue in _QUEUES)
                for variants in found.values()
            ),
            averages,
        ),
        "C.7-max": Part(
            all(
                max(one.maxima[NON_CONGESTED], default=0) <= _XOFF_KB and one.pauses[NON_CONGESTED] == 0
                for variants in found.values()
                for one in variants["ci"]
            ),
            maxima,
        ),
        "C.7-alike": Part(alike, both, void="" if apart.margin is not None else "one seed"),
        "C.7-fewer": Part(
            all(
                _congested(variants["ci"], CONGESTED) < _congested(variants["none"], CONGESTED)
                for variants in found.values()
            ),
            levels,
        ),
    }


def _measured(label: str, variants: Mapping[str, list[Depths]]) -> dict[str, dict[str, Any]]:
    """Return what a page says of a scale; counts are means over the seeds, maxima the largest."""
    made: dict[str, dict[str, Any]] = {"averages": {}, "maxima": {}, "levels": {}}
    for variant, found in variants.items():
        text = f"{label}, {COMPARED[variant]}"
        made["averages"][f"{text}: average depth (KB)"] = {
            name: _average(found, queue) for queue, name in _QUEUES.items()
        }
        made["maxima"][f"{text}: maximum depth (KB)"] = {
            name: max(max(one.maxima[queue], default=0) for one in found) for queue, name in _QUEUES.items()
        }
        made["maxima"][f"{text}: PFC pauses"] = {
            name: fmean(one.pauses[queue] for one in found) for queue, name in _QUEUES.items()
        }
        for queue, name in _QUEUES.items():
            made["levels"][f"{text}: of {found[0].outputs} outputs, {name} ever above"] = {
                **{f"{level} KB": fmean(one.congested(queue, level) for one in found) for level in _LEVELS_KB},
                f"{_LEVELS_KB[0]} KB at a time": fmean(one.at_once[queue] for one in found),
            }
    return made


def _average(found: list[Depths], queue: int) -> float:
    return fmean(one.average[queue] for one in found)


def _congested(found: list[Depths], queue: int) -> float:
    return fmean(one.congested(queue) for one in found)


def _of_switches(table: pa.Table) -> pa.Table:
    """Rows of switches' data queues; queue 0 of a port is that of control frames, and class c is queue c + 1."""
    return table.filter(pc.and_(pc.invert(pc.starts_with(table["node"], "host")), pc.greater(table["queue"], 0)))


_JUDGED = judged(
    statements={
        "C.7": "CI can keep most queues at low depth",
        "C.7-average": "With CI the average depth of the non-congested queue is low: below that of both queues without "
        "CI",
        "C.7-shallow": "For queue 1, the non-congested one, the maximum depth is lower with CI than without, too",
        "C.7-max": (
            "With CI the non-congested queue never exceeds XOFF, so that it never causes head-of-line blocking"
        ),
        "C.7-alike": "Without CI the depths of the two queues are distributed alike",
        "C.7-fewer": "With CI fewer queues 0 across the fabric suffer from congestion",
    },
    cases={_LABELS[0]: Case(tors=48), _LABELS[1]: Case()},
    judge=judge,
    choices=("4 ms alone", "40 ms of arrivals", "load 80 %", "PFC by egress queue", "congested queue served last"),
    reasons={
        "C.7-fewer/isolated": (
            "Without CI the congested flows are spread over both queues, and each has half of them; with CI queue 0 "
            "has them all, so that more are deep once in a run. They empty sooner, since every packet there is marked: "
            "at a time a third as many are deep as without CI, for which the claim would hold."
        ),
        "C.7-fewer/selecting": (
            "With CI queue 0 has the congested flows of both queues, and no marks shorten it: it stays deep until PFC "
            "stops its inputs, and fills queues 0 upstream."
        ),
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the averages and maxima of all queues of the largest scale, from the deepest on."""
    runs = Runs(results)
    label = next(label for label in _LABELS if label in runs)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8, 5.6), layout="constrained")
        grid = drawing.subplots(2, 2, sharex=True, sharey="row")
        for index, (variant, text) in enumerate(VARIANTS.items()):
            depths = Depths.of(runs.of(label, variant)[0])
            for column, (queue, name) in enumerate(reversed(_QUEUES.items())):
                for axes, values in zip(grid[:, column], (depths.averages[queue], depths.maxima[queue]), strict=True):
                    axes.plot(range(1, len(values) + 1), values, color=COLOURS[index], label=text)
                grid[0, column].set_title(f"{name} ({'non-' if queue else ''}congested with CI), {label}", fontsize=8)
                grid[1, column].set_xlabel("queues of the fabric, deepest first")
        for axes in grid[1]:
            axes.axhline(_XOFF_KB, color="grey", linestyle=":")
            axes.annotate(
                "XOFF",
                (0.99, _XOFF_KB),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color="grey",
                fontsize=7,
            )
        for axes in grid.flat:
            axes.set_xscale("log")
            axes.set_yscale("log")
        grid[0, 0].set_ylabel("average depth (KB)")
        grid[1, 0].set_ylabel("maximum depth (KB)")
        legend_below(drawing, 4)
        write(drawing, path)
