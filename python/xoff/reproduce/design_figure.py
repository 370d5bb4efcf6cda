"""The chart of a screening: the effect of each choice of a document on each of its statements, with intervals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from xoff.plots import COLOURS, STYLE, Canvas, legend_outside, write
from xoff.reproduce.design import LEAST_POINTS, is_sure

_ACROSS = 3
_PAIRS = 3
"""The largest number of pairs in a panel."""
_NAME = 26
"""The number of characters in a line of a name."""
_UNSURE = "#BBBBBB"
_KINDS = {"a choice": COLOURS[0], "a pair of choices": COLOURS[1], "chance may have made it": _UNSURE}


def draw(found: Mapping[str, Any], path: Path) -> bool:
    """Draws a panel for each statement with an effect; returns False, without a drawing, if there is none.

    found: the result of `design.section`, or the ``design`` of a page's JSON. A panel has all choices, and the largest
        pairs beyond chance. If a statement is void with some combinations, its bars are of whether it can be judged.
    """
    panels = {id: rows for id, one in found["statements"].items() if (rows := _rows(one))}
    if not panels:
        return False
    across = min(_ACROSS, len(panels))
    lines = [list(panels.items())[start : start + across] for start in range(0, len(panels), across)]
    heights = [max(sum(_height(row) for row in rows) for _, rows in line) for line in lines]
    with rc_context(STYLE):
        size = (3.6 * across, sum(0.75 + 0.17 * height for height in heights) + 0.4)
        drawing = Canvas(figsize=size, layout="constrained")
        grid = drawing.subplots(
            len(lines), across, squeeze=False, gridspec_kw={"height_ratios": [0.6 + 0.17 * one for one in heights]}
        )
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, (id, rows) in zip(grid.flat, panels.items(), strict=False):
            void = bool(found["statements"][id]["void"])
            _panel(axes, id.partition("/")[2] + (": whether it can be judged" if void else ""), rows)
        drawing.suptitle("by how many points of a hundred the other level of a choice changes the margin", fontsize=9)
        used = {_kind(row) for rows in panels.values() for row in rows}
        kinds = [kind for kind in _KINDS if kind in used]
        legend_outside(drawing, [Patch(color=_KINDS[kind]) for kind in kinds], kinds)
        write(drawing, path)
    return True


def _rows(one: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Returns the effects in a panel; none if no effect is beyond chance."""
    effects = one["void_effects"] if one["void"] else one["effects"]
    sure = [effect for effect in effects if is_sure(effect, LEAST_POINTS)]
    if not sure:
        return ()
    pairs = sorted((effect for effect in sure if len(effect["of"]) > 1), key=lambda effect: -abs(effect["points"]))
    return [*(effect for effect in effects if len(effect["of"]) == 1), *pairs[:_PAIRS]]


def _kind(effect: Mapping[str, Any]) -> str:
    choice, pair, unsure = _KINDS
    if not is_sure(effect, 0):
        return unsure
    return choice if len(effect["of"]) == 1 else pair


def _text(effect: Mapping[str, Any]) -> str:
    return "\n".join(textwrap.wrap(" × ".join(effect["of"]), _NAME))


def _height(effect: Mapping[str, Any]) -> float:
    """Returns the number of lines of a bar, which is the number of lines of the name."""
    return _text(effect).count("\n") + 1.0


def _panel(axes: Axes, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    place, places = 0.0, []
    for row in rows:
        places.append(place + _height(row) / 2)
        place += _height(row)
    for kind, colour in _KINDS.items():
        shown = [(at, row) for at, row in zip(places, rows, strict=True) if _kind(row) == kind]
        errors = [(row["high"] - row["low"]) / 2 if row["low"] is not None else 0.0 for _, row in shown]
        axes.barh(
            [at for at, _ in shown],
            [row["points"] for _, row in shown],
            0.7,
            xerr=errors if any(errors) else None,
            capsize=2,
            error_kw={"linewidth": 0.8},
            color=colour,
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [_text(row) for row in rows], fontsize=7)
    axes.set_ylim(place, 0)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(visible=False, axis="y")
    axes.set_title(title, fontsize=8, loc="left")
    # The least range of the axis keeps small effects small.
    reach = max(10.0, *(math.fabs(end) for row in rows for end in (row["points"], row["low"] or 0, row["high"] or 0)))
    axes.set_xlim(-1.08 * reach, 1.08 * reach)
