"""Figures of the comparison: dots of rows in panels with separate axes, each as wide as its middle values need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.statistics import interval
from xoff_experiments.field._mechanisms import BESIDE, LOSSES, row_of
from xoff_experiments.field._runs import Runs, Value, short

_WIDEST = 4.0
"""A panel ends at this multiple of the median of its values, so that one row does not stretch the panel."""


def dots(
    runs: Runs,
    rows: Sequence[str],
    panels: Sequence[tuple[str, str, Value | None]],
    path: Path,
    label: str,
    *,
    values: Callable[[Runs, str, str], list[float]] | None = None,
) -> None:
    """Draws a dot and an interval for each row: in each panel, by title, the values of a case.

    values: returns the numbers of a case and a row, for numbers that are not values of the row's runs alone.
    """
    losses = list(LOSSES)
    shown = [loss for loss in losses if any(row_of(row).loss == loss for row in rows)]
    with rc_context(STYLE):
        drawing = Canvas(figsize=(2.6 + 1.7 * len(panels), 1.7 + 0.21 * len(rows)), layout="constrained")
        every = np.atleast_1d(drawing.subplots(1, len(panels), sharey=True))
        for axes, (title, case, value) in zip(every, panels, strict=True):
            means: dict[int, float] = {}
            lows: list[float] = []
            for place, row in enumerate(rows):
                found = values(runs, case, row) if values else runs.values(case, row, value) if value else []
                if not found:
                    continue
                spread = interval(found)
                means[place] = spread.mean
                lows.append(spread.mean - (spread.margin or 0.0))
                colour = COLOURS[losses.index(row_of(row).loss) % len(COLOURS)]
                axes.errorbar(spread.mean, place, xerr=spread.margin or 0.0, fmt="o", color=colour, markersize=4)
            _bound(axes, means, lows)
            axes.set_title(title.replace(", ", ",\n", 1), fontsize=7)
            axes.tick_params(axis="x", labelsize=6)
        every[0].set_yticks(range(len(rows)), rows, fontsize=7)
        every[0].set_ylim(len(rows) - 0.5, -0.5)
        drawing.supxlabel(label, fontsize=8)
        colours = [COLOURS[losses.index(loss) % len(COLOURS)] for loss in shown]
        marks = [
            every[0].plot([], [], "o", color=colour, label=loss)[0] for loss, colour in zip(shown, colours, strict=True)
        ]
        drawing.legend(handles=marks, loc="outside upper center", ncols=len(marks), fontsize=7)
        write(drawing, path)


def _bound(axes: Axes, means: dict[int, float], lows: Sequence[float]) -> None:
    """Ends an axis where most rows end, and draws values beyond the end at the edge with their numbers."""
    if not means:
        return
    most = _WIDEST * float(np.median(list(means.values())))
    beyond = {place: mean for place, mean in means.items() if mean > most}
    low = min(lows)
    high = most if beyond else axes.get_xlim()[1]
    axes.set_xlim(max(0.0, low - 0.08 * (high - low)), high)
    for place, mean in beyond.items():
        axes.annotate(
            f"{mean:,.3g} →", (1, place), xycoords=("axes fraction", "data"), ha="right", va="center", fontsize=6
        )


def cells(runs: Runs, panels: Sequence[tuple[str, str, Value]], path: Path, paths: Sequence[str]) -> None:
    """Draws the grid: loss handling and control down, choice of paths across, a number and a colour in each cell."""
    rows = [row for row in runs.rows(panels[0][1]) if row not in BESIDE and " [" not in row]
    down = list(dict.fromkeys((row_of(row).loss, row_of(row).control) for row in rows))
    names = {(row_of(row).loss, row_of(row).control, row_of(row).path): row for row in rows}
    with rc_context(STYLE):
        drawing = Canvas(figsize=(3.0 + 2.1 * len(panels), 1.2 + 0.22 * len(down)), layout="constrained")
        every = np.atleast_1d(drawing.subplots(1, len(panels), sharey=True))
        for axes, (title, case, value) in zip(every, panels, strict=True):
            means = [
                [runs.of(case, names[(*one, way)], value) if (*one, way) in names else np.nan for way in paths]
                for one in down
            ]
            _cells(axes, np.array(means, dtype=float))
            axes.set_xticks(range(len(paths)), [way or "by flow" for way in paths], fontsize=6)
            axes.set_title(title, fontsize=8)
        every[0].set_yticks(range(len(down)), [" + ".join(part for part in one if part) for one in down], fontsize=7)
        write(drawing, path)


def _cells(axes: Axes, values: Any) -> None:
    """Draws numbers on colours, lighter for low numbers."""
    low, high = np.nanmin(values), np.nanquantile(values, 0.9)
    axes.imshow(values, norm=LogNorm(low, max(high, low * 1.01)), cmap="YlOrRd", aspect="auto")
    axes.grid(visible=False)
    middle = (low * max(high, low * 1.01)) ** 0.5
    for (down, across), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if value > middle * 1.5 else "black"
            axes.text(across, down, short(value), ha="center", va="center", fontsize=5.5, color=colour)
