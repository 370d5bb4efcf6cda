"""Figures shared by the experiments on Congestion Isolation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, legend_below, write
from xoff.reproduce import RunFailed
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import CLASSES, VARIANTS
from xoff_experiments.congestion_isolation._runs import CHOICES, Gain, Runs


def bars(results: Mapping[str, Result], path: Path, labels: Mapping[str, str], what: str) -> None:
    """Draws by size class the mean FCT, CI's gain, and CI's gain with each open choice.

    labels: the label of each case; the open choices belong to the first case. what: the unit of the labels, such as
    "servers".
    """
    runs = Runs(results)
    shown = {label: text for label, text in labels.items() if label in runs}
    first = next(iter(labels))
    chosen = [choice for choice in CHOICES if first in Runs(results, choice)]
    with rc_context(STYLE):
        heights = [3.0, 2.2, *([0.4 + 0.2 * len(chosen)] if chosen else [])]
        drawing = Canvas(figsize=(11, sum(heights)), layout="constrained")
        rows = drawing.subplots(len(heights), len(CLASSES), squeeze=False, height_ratios=heights)
        for column, size in enumerate(CLASSES):
            series = [
                (text, [runs.mean_us(label, variant, size) for label in shown]) for variant, text in VARIANTS.items()
            ]
            grouped_bars(rows[0][column], list(shown.values()), series, digits=2 if size == "< 100 KB" else 0)
            for mark in rows[0][column].texts:
                mark.set(rotation=90, fontsize=6)
            rows[0][column].margins(y=0.25)
            rows[0][column].set_title(f"{size} flows", fontsize=8)
            cases = {text: ("", label) for label, text in shown.items()}
            _draw_gains(rows[1][column], results, cases, size)
            if chosen:
                cases = {choice: (choice, first) for choice in chosen}
                _draw_gains(rows[2][column], results, cases, size, upright=False)
                rows[2][column].tick_params(axis="y", labelleft=column == 0)
        for axes in rows.flat:
            axes.tick_params(labelsize=7)
        rows[0][0].set_ylabel("mean FCT (µs)")
        rows[1][0].set_ylabel("gain by CI (%), 95 % interval")
        rows[1][len(CLASSES) // 2].set_xlabel(what, fontsize=8)
        if chosen:
            rows[2][len(CLASSES) // 2].set_xlabel(
                f"gain by CI (%) with other choices, {first}; no dot: a run lost packets", fontsize=8
            )
        legend_below(drawing, 4)
        write(drawing, path)


def _draw_gains(
    axes: Any, results: Mapping[str, Result], cases: Mapping[str, tuple[str, str]], size: str, *, upright: bool = True
) -> None:
    """Draws CI's gain with its interval. cases: choice and label, by the text in the figure."""
    gains = [_gain_or_none(Runs(results, choice), label, size) for choice, label in cases.values()]
    shares = [100 * found.share for found in gains]
    style = {"fmt": "o", "markersize": 3, "elinewidth": 1, "color": COLOURS[1]}
    if upright:
        axes.errorbar(range(len(cases)), shares, yerr=[100 * (found.half or 0) for found in gains], **style)
    else:
        # A single seed has no Student's t interval.
        axes.errorbar(shares, range(len(cases)), **style)
    ticks = range(len(cases))
    if upright:
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xticks(ticks, list(cases))
        axes.set_xlim(-0.5, len(cases) - 0.5)
    else:
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set_yticks(ticks, list(cases))
        axes.set_ylim(len(cases) - 0.5, -0.5)


def _gain_or_none(runs: Runs, label: str, size: str) -> Gain:
    """Returns the gain, or NaN (not drawn) if a run violated an audit."""
    try:
        return runs.gain(label, size)
    except RunFailed:
        return Gain(float("nan"), None)
