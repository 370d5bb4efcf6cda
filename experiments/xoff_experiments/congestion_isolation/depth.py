"""C.7: the depths of all queues of the fabric, sampled periodically, at 1152 servers.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slides "Queue Depth Comparison" and
"Summary". All measures come from periodic samples, as in the document. For each queue number of a switch, a sample has
the number of queues, the sum of the depths, and the largest depth. Samples are taken every 10 µs (ours) while flows
arrive. Averages are over samples and all queues of a number, empty queues included. Claims are judged at 128 servers,
seed by seed; the single run with 1152 servers is shown as well.

A queue has a low depth while its depth is below CI's low threshold, 10 KB (ours). The document speaks of sampled
averages: the average number of queues of a number above a level *at a time*. The number of queues that were ever above
the level is shown as well. A queue 0 suffers from congestion while above 10 KB, as a queue with one packet suffers
from nothing; the other reading counts every queue that holds anything. The two queues without CI are alike if these
numbers are about the same above 10 and above 100 KB. Head-of-line blocking in queue 1 is a PFC pause of its class; the
claim that CI prevents head-of-line blocking needs a pause without CI. Most queues have a low depth without CI as well,
so CI is judged by having more of them.
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
from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, legend_below, write
from xoff.reproduce import Part, Spread, about_the_same, all_of, chosen, given, higher, lower, never
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import CONGESTED, NON_CONGESTED, VARIANTS, Case
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import (
    BY_INPUT,
    SEARCHED,
    SEEDS,
    Run,
    Runs,
    judged,
    picoseconds,
)

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Queue Depth Comparison"

_LABELS = ("1152 servers", "128 servers")
_JUDGED_AT = "128 servers"
_QUEUES = {CONGESTED: "queue 0", NON_CONGESTED: "queue 1"}
_EACH_PS = 10_000_000
_XOFF_KB = 750
_LOW_KB = 10
_LEVELS_KB = (0, _LOW_KB, 100, 300, _XOFF_KB)
_ALIKE_KB = (_LOW_KB, 100)
"""The levels above which as many queues of either number are to be; above 300 KB there are few."""
READINGS: dict[str, tuple[int, str]] = {
    "queues above 10 KB": (_LOW_KB, "congested queues above CI's low threshold suffer from congestion"),
    "queues that hold anything": (0, "those that hold anything do"),
}
"""Depth in KB above which a queue suffers, and the description of each reading."""


@dataclass(frozen=True, slots=True)
class Depths:
    """Depths in KB by queue number: the average over all queues, and by output those above zero, from the deepest."""

    average: dict[int, float]
    averages: dict[int, list[float]]
    maxima: dict[int, list[float]]
    at_once: dict[int, dict[int, float]]
    """Average number of queues of a number above each level in KB, at a time."""
    pauses: dict[int, int]
    """PFC pauses of switches and servers, by class."""
    outputs: int

    @classmethod
    def of(cls, run: Run) -> Depths:
        """Reads a run."""
        scenario = run.result.scenario
        tors = int(scenario["network"]["leaf_spine"]["leaves"])
        # Each of N ToRs has N outputs, half of them to servers. Each of N/2 spines has N outputs.
        outputs = tors * tors * 3 // 2
        until_ps = picoseconds(scenario["workload"][0]["poisson"]["duration"])
        samples = _of_switches(run.result.samples)
        samples = samples.filter(pc.less_equal(samples["time_ps"], until_ps))
        averages: dict[int, list[float]] = {queue: [] for queue in _QUEUES}
        maxima: dict[int, list[float]] = {queue: [] for queue in _QUEUES}
        sampled = samples.group_by(["node", "port", "queue"]).aggregate([("bytes", "sum"), ("bytes", "max")])
        for one in sampled.to_pylist():
            averages[one["queue"] - 1].append(one["bytes_sum"] / 1e3 * _EACH_PS / until_ps)
            maxima[one["queue"] - 1].append(one["bytes_max"] / 1e3)
        at_once: dict[int, dict[int, float]] = {queue: {} for queue in _QUEUES}
        for level in _LEVELS_KB:
            deep = Counter(samples.filter(pc.greater(samples["bytes"], level * 1000))["queue"].to_pylist())
            for queue in _QUEUES:
                at_once[queue][level] = deep[queue + 1] * _EACH_PS / until_ps
        pauses = Counter(
            one["class"] for one in run.result.pauses.select(["class", "cause"]).to_pylist() if one["cause"] == "pfc"
        )
        return cls(
            {queue: sum(found) / outputs for queue, found in averages.items()},
            {queue: sorted(found, reverse=True) for queue, found in averages.items()},
            {queue: sorted(found, reverse=True) for queue, found in maxima.items()},
            at_once,
            {queue: pauses[queue] for queue in _QUEUES},
            outputs,
        )

    def deepest(self, queue: int) -> float:
        """The largest maximum."""
        return max(self.maxima[queue], default=0)

    def congested(self, queue: int, level_kb: float = _LOW_KB) -> int:
        """The number of queues of a number with a maximum above a level."""
        return sum(depth > level_kb for depth in self.maxima[queue])

    def low_share(self) -> float:
        """The share of all queues at or below 10 KB at a time, in percent."""
        deep = sum(self.at_once[queue][_LOW_KB] for queue in _QUEUES)
        return 100 - 100 * deep / (len(_QUEUES) * self.outputs)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges averages, maxima, likeness without CI, and the numbers of congested queues."""
    found = {
        label: {variant: [Depths.of(run) for run in runs.of(label, variant)] for variant in VARIANTS}
        for label in _LABELS
        if label in runs
    }
    measured = [_measured(label, variants) for label, variants in found.items()]
    averages, maxima, levels = (
        {key: value for one in measured for key, value in one[kind].items()}
        for kind in ("averages", "maxima", "levels")
    )
    none, ci = (found[_JUDGED_AT][variant] for variant in ("none", "ci"))
    shares = {
        label: {text: fmean(one.low_share() for one in variants[variant]) for variant, text in VARIANTS.items()}
        for label, variants in found.items()
    }
    blocked = any(one.pauses[NON_CONGESTED] for variants in found.values() for one in variants["none"])
    at_once = {level: {queue: [one.at_once[queue][level] for one in none] for queue in _QUEUES} for level in _ALIKE_KB}
    suffers_kb = READINGS[runs.reading][0]
    return {
        "C.7-most": Part(
            all_of(
                higher([one.low_share() for one in ci], [50] * len(ci)),
                higher([one.low_share() for one in ci], [base.low_share() for base in none]),
            ),
            {
                f"{label}: share of queues not above {_LOW_KB} KB at a time (%)": share
                for label, share in shares.items()
            },
        ),
        "C.7-average": Part(
            lower([one.average[NON_CONGESTED] for one in ci], [min(base.average.values()) for base in none]), averages
        ),
        "C.7-shallow": Part(
            lower([one.deepest(NON_CONGESTED) for one in ci], [base.deepest(NON_CONGESTED) for base in none]),
            {key: value for key, value in maxima.items() if "depth" in key},
        ),
        "C.7-max": Part(
            never([one.pauses[NON_CONGESTED] + (one.deepest(NON_CONGESTED) > _XOFF_KB) for one in ci]),
            maxima,
            void="" if blocked else "without CI PFC never paused queue 1 either",
        ),
        "C.7-alike": Part(
            all_of(*(about_the_same(of[CONGESTED], of[NON_CONGESTED]) for of in at_once.values())),
            {
                f"without CI: queues above {level} KB at a time": {
                    name: Spread.of(of[queue]) for queue, name in _QUEUES.items()
                }
                for level, of in at_once.items()
            }
            | {key: value for key, value in levels.items() if "without CI" in key},
        ),
        "C.7-fewer": Part(
            lower(*([one.at_once[CONGESTED][suffers_kb] for one in found] for found in (ci, none))),
            levels,
        ),
    }


def _measured(label: str, variants: Mapping[str, list[Depths]]) -> dict[str, dict[str, Any]]:
    """Returns what a page says of a scale; counts are means over the seeds, maxima the largest."""
    made: dict[str, dict[str, Any]] = {"averages": {}, "maxima": {}, "levels": {}}
    for variant, found in variants.items():
        text = f"{label}, {VARIANTS[variant]}"
        made["averages"][f"{text}: average depth (KB)"] = {
            name: _average(found, queue) for queue, name in _QUEUES.items()
        }
        made["maxima"][f"{text}: maximum depth (KB)"] = {
            name: _deepest(found, queue) for queue, name in _QUEUES.items()
        }
        made["maxima"][f"{text}: PFC pauses"] = {
            name: fmean(one.pauses[queue] for one in found) for queue, name in _QUEUES.items()
        }
        for queue, name in _QUEUES.items():
            made["levels"][f"{text}: of {found[0].outputs} outputs, {name} ever above"] = {
                f"{level} KB": fmean(one.congested(queue, level) for one in found) for level in _LEVELS_KB
            }
            made["levels"][f"{text}: {name} above at a time"] = {
                f"{level} KB": fmean(one.at_once[queue][level] for one in found) for level in _LEVELS_KB
            }
    return made


def _average(found: list[Depths], queue: int) -> float:
    return fmean(one.average[queue] for one in found)


def _deepest(found: list[Depths], queue: int) -> float:
    return max(one.deepest(queue) for one in found)


def _of_switches(table: pa.Table) -> pa.Table:
    """Rows of switches' data queues; queue 0 of a port is that of control frames, and class c is queue c + 1."""
    return table.filter(pc.and_(pc.invert(pc.starts_with(table["node"], "host")), pc.greater(table["queue"], 0)))


JUDGED = judged(
    statements={
        "C.7": "CI keeps most queues at low depth, and head-of-line blocking out of the non-congested ones",
        "C.7-most": "CI can keep most queues at low depth",
        "C.7-average": "CI makes the average depth of non-congested queues quite low: below that of both queues "
        "without CI",
        "C.7-shallow": "For queue 1, the non-congested one, the maximum depth is lower with CI than without, too",
        "C.7-max": (
            "With CI the non-congested queue never exceeds XOFF, so that head-of-line blocking is limited to congested "
            "queues"
        ),
        "C.7-alike": "Without CI the depths of the two queues are distributed alike",
        "C.7-fewer": "With CI fewer queues 0 across the fabric suffer from congestion",
    },
    cases={_LABELS[0]: Case(tors=48), _LABELS[1]: Case()},
    judge=judge,
    reasons={
        "C.7-max": (
            "In eleven of twelve seeds PFC never pauses queue 1. In one PFC pauses queue 1 twice, instead of 858 "
            "times a run without CI: at XOFF 2.6 % of the packets are selected, so that a burst of many flows gets "
            "through. No sample of queue 1 is above 732 KB. Where certainty begins at High it never happens, and "
            "fewer other parts hold."
        ),
    },
    readings={name: text for name, (_, text) in READINGS.items()},
    # Ten seeds left C.7-alike undecided, and twelve would decide by their deviation.
    seeds=(*SEEDS, 11, 12),
    choices=(
        *SEARCHED,
        BY_INPUT,
        "load 80 %",
    ),
)
PARAMETERS = [
    *_SHARED,
    given("servers", "1152", "Queue Depth Comparison"),
    chosen("samples", "every 10 µs while flows arrive", '"periodically"'),
]
READS = ("flows", "pauses", "samples")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the averages and maxima of all queues of the largest scale, from the deepest on."""
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
