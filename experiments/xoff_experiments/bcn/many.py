"""Eighty flows: the congested queue on the verge of instability.

Source: the BCN hot spot deck, "Large Number of Flows: CP Occupancy". Which topology is meant it does not say; ours: A,
as in the slides on the degree, and B. *On the verge*: long after it first fell below 2 Qeq, in the last 50 ms of the
run, the queue is above 2 Qeq again for a quarter of the time or more, and ten times as long as with 22 flows; or its
swing grows. A queue that never comes below 2 Qeq is not on the verge of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Decision, Judged, Part, Spread, all_of, chosen, fact, positive
from xoff.results import Result
from xoff_experiments.bcn._network import QEQ_BYTES, SET_UP, START_MS, TOPOLOGIES, scenario
from xoff_experiments.bcn._parameters import hot_spot
from xoff_experiments.bcn._runs import SEEDS, STEP_US, TABLES, Runs, degrees, runs_of, told

CITATION = "BCN hot spots, IEEE 802.1au, 'Large Number of Flows: CP Occupancy'"

OFTEN, TIMES = 0.25, 10
SHOWN = ("A", "B")
UNTIL_MS, QUICK = {22: 180.0, 40: 220.0, 80: 300.0}, {10: 85.0, 25: 140.0}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by topology, degree and seed; the quick variants have fewer flows."""
    return {
        f"{topology}/{degree}/seed {seed}": scenario(degree, TOPOLOGIES[topology], until, seed)
        for topology in SHOWN
        for degree, until in (QUICK if quick else UNTIL_MS).items()
        for seed in (SEEDS[:3] if quick else SEEDS)
    }


def judge(runs: Runs) -> dict[str, Part]:
    """Judges how much of the last 50 ms the queue is above 2 Qeq, seed by seed."""
    measured: dict[str, Any] = {}
    decisions: list[Decision] = []
    for topology in SHOWN:
        found = {degree: runs.each(f"{topology}/{degree}") for degree in degrees(runs, topology)}
        few, *_, many = found
        late = {degree: [run.late_share() for run in each] for degree, each in found.items()}
        decisions += [
            fact(all(run.stability_ms is not None for run in found[many])),
            positive([share - OFTEN for share in late[many]]),
            positive([share - TIMES * usual for share, usual in zip(late[many], late[few], strict=True)]),
        ]
        grows = [run.verdict() for run in found[many]].count("grows")
        measured |= {
            f"{topology}: share of the last 50 ms of the run above 2 Qeq": {d: Spread.of(s) for d, s in late.items()},
            f"{topology}: share of 50 ms after stability above 2 Qeq": {
                d: Spread.of(run.above_share() for run in each) for d, each in found.items()
            },
            f"{topology}: time to stability (ms)": {d: told([r.stability_ms for r in e]) for d, e in found.items()},
            f"{topology}: settle time (ms)": {d: told([r.settle_ms for r in e]) for d, e in found.items()},
            f"{topology}: {many} flows: seeds in which the swing grows": grows,
            f"{topology}: hot link (Gb/s)": {d: round(fmean(r.hot_gbps for r in e), 2) for d, e in found.items()},
        }
    return {"B.5": Part(all_of(*decisions), measured)}


JUDGED = Judged(
    document="bcn",
    statements={"B.5": "80 flows: the queue is on the verge of instability"},
    runs=runs_of,
    judge=judge,
    limits={
        "B.5": "40 flows: the queue is above 2 Qeq for less than a quarter of the time. Only the degree is varied."
    },
    set_up=SET_UP,
    reasons={"B.5": "After its time to stability the queue stays below 2 Qeq, or it never comes there."},
    quick_reasons=True,
)
PARAMETERS = hot_spot("22 and 80", [chosen("topology", "A and B", "the deck does not name it")])
READS = TABLES
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the congested queue of the first seed over time, for both degrees and topologies."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(6.4, 5.0), layout="constrained")
        for axes, topology in zip(drawing.subplots(len(SHOWN), 1, sharex=True), SHOWN, strict=True):
            every = degrees(runs, topology)
            shown = [every[-1], every[0]]
            for degree, colour in zip(shown, ("#D55E00", "#0072B2"), strict=True):
                queue = runs.each(f"{topology}/{degree}")[0].queue[::5]
                times = [START_MS + i * STEP_US / 200 for i in range(len(queue))]
                axes.plot(times, [size / 1000 for size in queue], color=colour, linewidth=0.4, label=f"{degree} flows")
            axes.axhline(2 * QEQ_BYTES / 1000, color="#888888", linestyle="--", linewidth=0.8)
            axes.set_ylabel(f"{topology}: congested queue (KB)")
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=8, loc="upper right")
        axes.set_xlabel("time (ms); dashed: 2 Qeq")
        write(drawing, path)
