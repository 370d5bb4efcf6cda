"""The figure of a switch's memory, for a file: the bars of `switch_memory.Drawing`."""

from __future__ import annotations

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from xoff.plots import COLOURS, STYLE, Canvas
from xoff.report.switch_memory import Bar, Drawing

_COLOURS = {
    "reserve": COLOURS[1],
    "pool": COLOURS[0],
    "headroom": COLOURS[4],
    "group": COLOURS[5],
    "free": "#F0F0F0",
}
_APART = 0.6
"""Rows between two kinds of bars."""


def figure(drawing: Drawing) -> Figure:
    """Draws how profiles cut the memory, what alpha leaves to full groups, and the most bytes in use."""
    kinds: list[tuple[str, list[Bar]]] = [
        (f"{drawing.title}: the memory as it is cut", [drawing.cut]),
        ("What alpha leaves of the shared part", list(drawing.alpha)),
        ("Most in use in this run", list(drawing.used)),
    ]
    rows = sum(1 + len(bars) for _, bars in kinds)
    with rc_context(STYLE):
        shown = Canvas(figsize=(7.2, 0.5 + 0.26 * rows), layout="constrained")
        axes = shown.add_subplot()
        place = 0.0
        for title, bars in kinds:
            axes.text(0, place, title, fontsize=9, fontweight="bold", va="center")
            place += 1
            for bar in bars:
                _draw(axes, bar, place)
                place += 1
            place += _APART
        handles = [Patch(facecolor=_COLOURS[part.kind], label=f"{part.name}: {part.size}") for part in drawing.legend]
        shown.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
        axes.set_xlim(-34, 150)
        axes.set_ylim(place - _APART, -0.7)
        axes.set_axis_off()
        return shown


def _draw(axes: Axes, bar: Bar, place: float) -> None:
    left = 0.0
    for piece in bar.pieces:
        axes.barh(place, piece.width, 0.7, left=left, color=_COLOURS[piece.kind], edgecolor="white", linewidth=0.5)
        left += piece.width
    axes.text(-1, place, bar.title, ha="right", va="center", fontsize=8)
    axes.text(101, place, bar.finding, ha="left", va="center", fontsize=8)
