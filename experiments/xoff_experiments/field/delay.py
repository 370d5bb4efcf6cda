"""Swift's delay: 100 flows from 60 hosts to one, with four base targets.

Source: Swift (SIGCOMM 2020): in an incast of 100 flows from 60 hosts the achieved round trip follows the base target,
from 15 to 70 µs. Our runs have flows of 60 hosts behind other leaves, without PFC; the receiver's queue is sampled
every 5 µs in the second half of the run. The round trip is the round trip without queues plus the queue's mean divided
by the line rate. The round trip "follows" if it rises with each target and is within 15 % of Swift's target: the base
target, plus the target of three switches, plus flow scaling at the window of N flows, N · window = line · round trip
(solved by bisection).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Judged, Part, Readings, chosen, given, run_name
from xoff.results import Result
from xoff_experiments.field._fabric import HOSTS_PER_LEAF, PAYLOAD, Setting, header, scenario
from xoff_experiments.field._mechanisms import row_of
from xoff_experiments.field._parameters import parameters

CITATION = "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020"
ROW = "IRN + Swift"
TARGETS_US = (15, 25, 40, 70)
QUICK_US = (15, 40)
FLOWS, HOSTS = 100, 60
SEEDS = 3
HOP_US, SWITCHES, MIN_WINDOW, MAX_WINDOW = 3.053, 3, 0.1, 100.0
"""Swift's defaults here; the range of flow scaling is five base targets."""
_WIRE = PAYLOAD + header(row_of(ROW))
_LINE_BYTES_US = 12_500.0


@dataclass(frozen=True, slots=True)
class Delay:
    """The measures of a run."""

    round_trip_us: float


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by base target and seed."""
    return {
        run_name(f"{target} us", "", seed): _scenario(target, seed)
        for target in (QUICK_US if quick else TARGETS_US)
        for seed in range(1, 2 if quick else 1 + SEEDS)
    }


def _scenario(target_us: int, seed: int) -> dict[str, Any]:
    made = scenario(replace(Setting(traffic="incast", oversubscription=1), seed=seed), ROW)
    flows = [{"src": HOSTS_PER_LEAF + number % HOSTS, "dst": 0, "size": "1MB"} for number in range(FLOWS)]
    return made | {
        "name": f"Swift, base target {target_us} us",
        "host": made["host"] | {"congestion_control": {"swift": {"base_target": f"{target_us}us"}}},
        "workload": [{"flows": flows}],
        "probe": {"queues": "5us"},
    }


def read(result: Result) -> Delay:
    """Returns the mean round trip in the second half of a run."""
    samples = result.samples.to_pylist()
    end_ps = result.summary["simulated_ps"]
    last = [one for one in samples if end_ps / 2 <= one["time_ps"] < 0.9 * end_ps]
    links = result.links.to_pylist()
    (port,) = ((one["node"], one["port"]) for one in links if one["peer"] == "host0")
    looks = math.floor(0.9 * end_ps / 5e6) - math.ceil(end_ps / 2 / 5e6) + 1
    queue = sum(one["bytes"] for one in last if (one["node"], one["port"]) == port) / looks
    result.forget()
    return Delay(unloaded_us() + queue / _LINE_BYTES_US)


def unloaded_us() -> float:
    """The round trip without queues: a packet and its ACK over four links of 1 us each."""
    return 4 * (2.0 + (_WIRE + 64) / _LINE_BYTES_US)


def aimed_us(base_us: float, flows: int = FLOWS) -> float:
    """The round trip that Swift targets with the given number of flows on one line."""
    low, high = base_us, 20 * base_us + 100
    for _ in range(60):
        middle = (low + high) / 2
        window = middle * _LINE_BYTES_US / (flows * _WIRE)
        low, high = (middle, high) if middle < _target_us(base_us, window) else (low, middle)
    return low


def _target_us(base_us: float, window: float) -> float:
    reach = 5 * base_us
    alpha = reach / (1 / math.sqrt(MIN_WINDOW) - 1 / math.sqrt(MAX_WINDOW))
    scaling = alpha / math.sqrt(window) - alpha / math.sqrt(MAX_WINDOW)
    return base_us + HOP_US * SWITCHES + min(max(scaling, 0), reach)


class Runs(Readings[Delay]):
    """The runs by base target."""

    def __init__(self, results: Mapping[str, Result], choice: str = "", reading: str = "") -> None:
        super().__init__(results, read, choice, reading)

    @property
    def round_trips_us(self) -> dict[int, float]:
        """Mean round trips by base target, in the targets' order."""
        targets = dict.fromkeys(int(name.partition(" ")[0]) for name in self.names)
        return {one: fmean(run.round_trip_us for run in self.each(f"{one} us")) for one in sorted(targets)}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges whether round trips rise with targets, and are near the targets."""
    found = runs.round_trips_us
    aimed = {target: aimed_us(target) for target in found}
    rises = all(one < other for one, other in pairwise(found.values()))
    near = all(abs(found[target] - aimed[target]) <= ABOUT_THE_SAME * aimed[target] for target in found)
    return {
        "7.1": Part(
            rises and near,
            {
                "round trip (µs) by base target": {f"{target} µs": one for target, one in found.items()},
                "aimed at (µs)": {f"{target} µs": one for target, one in aimed.items()},
                "tolerance": ABOUT_THE_SAME,
            },
        )
    }


JUDGED = Judged(
    document="field",
    statements={"7.1": "Swift: the round trip that 100 flows from 60 hosts achieve follows the base target"},
    runs=Runs,
    judge=judge,
)
PARAMETERS = parameters(
    [
        given("flows", "100 from 60 hosts", "Swift, the incast in its evaluation"),
        given("base targets", "15 to 70 µs", "the same"),
        chosen("size of a flow; seeds", "1 MB; three", "8 ms: a thousand round trips; seeds draw the paths"),
    ]
)
READS = ("flows", "links", "samples")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the measured and the targeted round trips against the base target."""
    found = Runs(results).round_trips_us
    with rc_context(STYLE):
        drawing, axes = canvas(5.2, 3.2)
        axes.plot(list(found), list(found.values()), "o", color=COLOURS[0], label="achieved")
        axes.plot(list(found), [aimed_us(one) for one in found], ":", color="#888888", label="aimed at")
        axes.set_xlabel("base target (µs)")
        axes.set_ylabel("round trip (µs)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        write(drawing, path)
