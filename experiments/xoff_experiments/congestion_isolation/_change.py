"""CI with one changed setting against CI with the usual setting: claims and figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, legend_below, write
from xoff.reproduce import Part, all_of, lower, positive
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import CLASSES, ELEPHANTS, MICE, VARIANTS
from xoff_experiments.congestion_isolation._runs import Gain, Run, Runs, change, gain

BY_SHARES, BY_US = "by shares", "by µs"
READINGS = {
    BY_SHARES: '"affected more" compares the shares by which mean FCTs change',
    BY_US: "it compares the changes in µs, as the slide on static latency does (1.2 and 200 µs)",
}
COUNTS: dict[str, Callable[[Run], float]] = {
    "PFC pauses": lambda run: run.pauses,
    "CNPs": lambda run: run.cnps,
}


def statements(claim: str, what: str) -> dict[str, str]:
    """Returns what the document says of a threshold: of performance, of pause frames and of CNP frames."""
    return {
        claim: f"{what}: performance improves because fewer pause and CNP frames are triggered; large flows are "
        "affected more than small flows",
        f"{claim}-large": "Large flows are affected more than small flows, and performance improves: the mean FCT of "
        "flows above 10 MB falls, and by a larger share than that of flows below 100 KB changes",
        f"{claim}-pauses": "Fewer pause frames are triggered",
        f"{claim}-cnps": "Fewer CNP frames are triggered",
    }


def judge(runs: Runs, claim: str, usual: str, higher: str) -> dict[str, Part]:
    """Judges CI's gain with the higher threshold by size, pauses and CNPs, seed by seed."""
    gains = {size: _gain(runs, "ci", usual, higher, size) for size in CLASSES}
    measured: dict[str, Any] = {
        f"{size}: mean FCT (µs), CI": {
            usual: runs.mean_us(usual, "ci", size),
            higher: runs.mean_us(higher, "ci", size),
            "gain": str(found),
        }
        for size, found in gains.items()
    }
    large, small = (_gained(runs, usual, higher, size) for size in (ELEPHANTS, MICE))
    if runs.reading == BY_US:
        for size, found in gains.items():
            if size in (ELEPHANTS, MICE):
                base = runs.mean_us(usual, "ci", size)
                measured[f"{size}: shorter by (µs), CI"] = found.share * base
    parts = {
        f"{claim}-large": Part(
            all_of(positive(large), positive([one - abs(other) for one, other in zip(large, small, strict=True)])),
            measured,
        )
    }
    for part, (what, read) in zip(("pauses", "cnps"), COUNTS.items(), strict=True):
        counted = {label: [read(run) for run in runs.of(label, "ci")] for label in (usual, higher)}
        shown: dict[str, Any] = {label: runs.counts(label, "ci", read) for label in counted}
        parts[f"{claim}-{part}"] = Part(
            lower(counted[higher], counted[usual]),
            {f"{what}, CI": shown | {"fewer by": str(change(counted[higher], counted[usual]))}},
            void="" if any(counted[usual]) else f"there are no {what} to lose",
        )
    return parts


def _gained(runs: Runs, usual: str, changed: str, size: str) -> list[float]:
    """Returns the share by which the changed setting lowers CI's mean FCT, or the time in µs, of each seed."""
    pairs = zip(runs.of(changed, "ci"), runs.of(usual, "ci"), strict=True)
    means = [(fmean(one.fct_us[size]), fmean(base.fct_us[size])) for one, base in pairs if base.fct_us[size]]
    return [base - one if runs.reading == BY_US else 1 - one / base for one, base in means]


def _gain(runs: Runs, variant: str, usual: str, changed: str, size: str) -> Gain:
    return gain(runs.of(changed, variant), runs.of(usual, variant), lambda run: run.fct_us[size])


def figure(results: Mapping[str, Result], path: Path, usual: str, changed: str) -> None:
    """Draws by size class the mean FCT and by how much the change lowers it, and pauses and CNPs."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(11, 7.6), layout="constrained")
        means, gains, counts = drawing.subfigures(3, 1, height_ratios=(3.0, 2.2, 2.4))
        upper, lower = means.subplots(1, len(CLASSES)), gains.subplots(1, len(CLASSES))
        for column, size in enumerate(CLASSES):
            series = [
                (text, [runs.mean_us(label, variant, size) for label in (usual, changed)])
                for variant, text in VARIANTS.items()
            ]
            grouped_bars(upper[column], [usual, changed], series, digits=2 if size == MICE else 0)
            for mark in upper[column].texts:
                mark.set(rotation=90, fontsize=6)
            upper[column].margins(y=0.25)
            upper[column].set_title(f"{size} flows", fontsize=8)
            for index, variant in enumerate(VARIANTS):
                found = _gain(runs, variant, usual, changed, size)
                lower[column].errorbar(
                    index,
                    100 * found.share,
                    yerr=100 * (found.half or 0),
                    fmt="o",
                    markersize=3,
                    elinewidth=1,
                    color=COLOURS[index],
                )
            lower[column].axhline(0, color="grey", linewidth=0.8)
            lower[column].set_xticks([])
            lower[column].set_xlim(-0.5, len(VARIANTS) - 0.5)
        for axes, (what, read) in zip(counts.subplots(1, len(COUNTS)), COUNTS.items(), strict=True):
            series = [
                (text, [runs.counts(label, variant, read).mean for label in (usual, changed)])
                for variant, text in VARIANTS.items()
            ]
            grouped_bars(axes, [usual, changed], series, digits=1)
            axes.set_yscale("symlog", linthresh=1)
            axes.margins(y=0.2)
            axes.set_ylim(bottom=0)
            axes.tick_params(labelsize=7)
            axes.set_ylabel(f"{what}, mean of the seeds")
        for axes in (*upper, *lower):
            axes.tick_params(labelsize=7)
        upper[0].set_ylabel("mean FCT (µs)")
        lower[0].set_ylabel(f"gain by {changed} (%), 95 % interval")
        legend_below(drawing, 4)
        write(drawing, path)
