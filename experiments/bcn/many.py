"""Eighty flows: the congested queue on the verge of instability.

Source: the BCN hot spot deck, "Large Number of Flows: CP Occupancy". Which topology is meant it does not say; ours: A,
as in the slides on the degree. *On the verge*: in the 50 ms after
the time to stability the queue is above 2 Qeq again for more than 5 % of the time, which it is not with 22 flows; or it
is never stable; or its swing grows. Degree 22 stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.bcn._network import QEQ_BYTES, START_MS, scenario, until_ms
from experiments.bcn._study import SEEDS, STEP_US, Runs, claim, ids, save, told
from matplotlib import rc_context

from xoff.plots import STYLE, canvas
from xoff.reproduce import Claim
from xoff.results import Result

CITATION = "BCN hot spots, IEEE 802.1au, 'Large Number of Flows: CP Occupancy'"

STATEMENTS = {
    "B.5": "80 flows: the queue is on the verge of instability",
}
CLAIMS = ids(STATEMENTS)
OFTEN = 0.05
DEGREES, QUICK = (22, 80), (8, 24)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by degree and seed; the quick variants have fewer flows."""
    chosen = QUICK if quick else DEGREES
    return {
        f"{degree}/seed {seed}": scenario(degree, 1, until_ms(degree), seed)
        for degree in chosen
        for seed in SEEDS[: 1 if quick else 5]
    }


def claims(results: Mapping[str, Result]) -> list[Claim]:
    """Judge how much of the time after stability the queue is above 2 Qeq again, a mean over the seeds."""
    runs = Runs(results)
    few, many = sorted({int(name.split("/")[0]) for name in runs.names})
    above = {degree: fmean(run.above_share() for run in runs.each(f"{degree}")) for degree in (few, many)}
    grows = [run.verdict() for run in runs.each(f"{many}")].count("grows")
    measured: dict[str, Any] = {
        "share of 50 ms after stability above 2 Qeq": {degree: round(share, 3) for degree, share in above.items()},
        "time to stability (ms)": {degree: told(runs.stability(f"{degree}")) for degree in (few, many)},
        "settle time (ms)": {d: told([run.settle_ms for run in runs.each(f"{d}")]) for d in (few, many)},
        f"{many} flows: seeds in which the swing grows": grows,
        "hot link (Gb/s)": {d: round(fmean(run.hot_gbps for run in runs.each(f"{d}")), 2) for d in (few, many)},
    }
    holds = above[few] <= OFTEN < above[many] or grows > 0
    return [claim(STATEMENTS, "B.5", holds, measured, "After its time to stability the queue stays below 2 Qeq.")]


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the congested queue of the first seed over time, for both degrees."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.6)
        degrees = sorted({int(name.split("/")[0]) for name in runs.names}, reverse=True)
        for degree, colour in zip(degrees, ("#D55E00", "#0072B2"), strict=True):
            queue = runs.each(f"{degree}")[0].queue
            times = [START_MS + i * STEP_US / 1000 for i in range(len(queue))]
            axes.plot(times, [size / 1000 for size in queue], color=colour, linewidth=0.5, label=f"{degree} flows")
        axes.axhline(2 * QEQ_BYTES / 1000, color="#888888", linestyle="--", linewidth=0.8)
        axes.set_xlabel("time (ms); dashed: 2 Qeq")
        axes.set_ylabel("congested queue (KB)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        save(drawing, path)
