"""The baseline: four end points send 5 Gb/s each to a fifth.

Source: the BCN hot spot deck, "Workload" and "Baseline" slides: 10 Gb/s, an infinite buffer at the core, a frame
sampled every 150 KB and up to 5 KB more. The document shows no result of it; ours is what its parameters mean: the
queue swings about Qeq, and the link stays full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, write
from xoff.reproduce import Judged, Part, about_the_same, all_of, positive
from xoff.results import Result
from xoff_experiments.bcn._network import QEQ_BYTES, START_MS, Setting, scenario
from xoff_experiments.bcn._parameters import BASELINE
from xoff_experiments.bcn._runs import SEEDS, STEP_US, TABLES, Run, Runs, runs_of, told

CITATION = "BCN hot spots, IEEE 802.1au, baseline"

SETTING = Setting(pause=False, sample_kb=150, innocents_gbps=0)
UNTIL_MS, SKIP_MS = 105.0, 30.0


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by seed."""
    return {
        f"seed {seed}": scenario(4, 1, 65.0 if quick else UNTIL_MS, seed, SETTING)
        for seed in (SEEDS[:3] if quick else SEEDS)
    }


def _steady(run: Run) -> Sequence[int]:
    return run.queue[int(SKIP_MS * 1000 / STEP_US) :]


def judge(runs: Runs) -> dict[str, Part]:
    """Judges mean queue and throughput, means over the seeds."""
    found = runs.starting("seed ")
    queue = [fmean(_steady(run)) for run in found]
    # Over the whole run, of which the first 60 us are empty at the sink.
    rate = [run.hot_gbps for run in found]
    found_it = all_of(
        about_the_same(queue, [float(QEQ_BYTES)] * len(queue), 0.25), positive([one - 9.8 for one in rate])
    )
    measured = {
        "mean queue (KB); Qeq is 24": told([size / 1000 for size in queue]),
        "its standard deviation (KB)": told([pstdev(_steady(run)) / 1000 for run in found]),
        "link (Gb/s)": told(rate, 2),
        "time to stability (ms)": told([run.stability_ms for run in found]),
        "swing": ", ".join(sorted({run.verdict() for run in found})),
    }
    return {"baseline": Part(found_it, measured)}


JUDGED = Judged(
    document="bcn",
    statements={
        "baseline": "Four sources of 5 Gb/s into 10 Gb/s: in equilibrium the queue is Qeq on average (within 25 %), "
        "and the link is full (within 2 %)",
    },
    ours=("baseline",),
    runs=runs_of,
    judge=judge,
    reasons={"baseline": "The queue rests elsewhere, or runs empty so often that the link is not full."},
    quick_reasons=True,
)
PARAMETERS = BASELINE
READS = TABLES
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the queue of the first seed over time."""
    run = runs_of(results).starting("seed ")[0]
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.2)
        times = [START_MS + i * STEP_US / 1000 for i in range(len(run.queue))]
        axes.plot(times, [size / 1000 for size in run.queue], color="#0072B2", linewidth=0.6)
        axes.axhline(QEQ_BYTES / 1000, color="#888888", linestyle="--", linewidth=0.8)
        axes.set_xlabel("time (ms); dashed: Qeq")
        axes.set_ylabel("queue (KB)")
        # Without a limit on the axis, the peak at the start would flatten the compared curves into a line.
        axes.set_ylim(0, 4 * QEQ_BYTES / 1000)
        axes.text(0.2, 0.94, f"first up to {max(run.queue) / 1000:.0f} KB", transform=axes.transAxes, fontsize=7)
        write(drawing, path)
