"""Figures shared by the experiments on the PortFC paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, grouped_bars, legend_below, write
from xoff_experiments.portfc._ndc import MECHANISMS
from xoff_experiments.portfc._runs import name_of

COLOUR = dict(zip(MECHANISMS, COLOURS, strict=False))


def bars(
    path: Path,
    panels: Mapping[str, tuple[Sequence[str], Mapping[str, Sequence[float | None]], str]],
    published: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Draws grouped bars in panels: title to groups, series by mechanism, and label (log scale but for rates).

    published: by title, a number of the paper for the first series of each group.
    """
    with rc_context(STYLE):
        drawing = Canvas(figsize=(max(4.2, 3.3 * len(panels)), 3.2), layout="constrained")
        for axes, (title, (groups, series, label)) in zip(
            [drawing.subplots(1, len(panels))] if len(panels) == 1 else drawing.subplots(1, len(panels)),
            panels.items(),
            strict=True,
        ):
            is_rate = "Gb/s" in label
            shown = [(name_of(name), values) for name, values in series.items()]
            grouped_bars(axes, groups, shown, digits=1 if is_rate else 0)
            for mark in axes.texts:
                mark.set(rotation=90, fontsize=5)
            axes.set_yscale("linear" if is_rate else "log")
            axes.margins(y=0.25)
            axes.set_title(title, fontsize=8)
            axes.set_ylabel(label)
            axes.tick_params(axis="x", labelsize=7)
            for bar, value in zip(axes.containers[0], (published or {}).get(title, ()), strict=False):
                axes.plot(bar.get_x() + bar.get_width() / 2, value, "D", color="black", markersize=3)
        legend_below(drawing, 5)
        write(drawing, path)
