"""The figure of a search: the tried settings, the goals, and the places of good settings in each range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from matplotlib import rc_context
from matplotlib.figure import Figure

from xoff.files.type_check import mismatch
from xoff.plots import COLOURS, STYLE, Canvas, legend_outside
from xoff.study.figures import scaled, words

DOCUMENT = "tune.json"
"""The file of the findings, in the directory of the search."""
_FACTORS = 5
_LARGEST = 1e30
_NOT_KEPT = "#BBBBBB"


class _Tried(TypedDict):
    shares: list[float]
    values: list[float] | None
    keeps: bool


class _Factor(TypedDict):
    name: str
    ticks: list[list[Any]]


class _Goal(TypedDict):
    metric: str


class _Mean(TypedDict):
    mean: float


class _Setting(TypedDict):
    words: str
    seen: dict[str, _Mean]
    unseen: dict[str, _Mean]


class _Document(TypedDict):
    """The part of a `Tuning.to_dict` result that is drawn."""

    goals: list[_Goal]
    factors: list[_Factor]
    tried: list[_Tried]
    base: _Setting | None
    best: list[_Setting]
    warnings: list[str]


def check(document: Any) -> None:
    """Raises `ValueError` if a document is not a result of `Tuning.to_dict`: the file may be foreign."""
    if wrong := mismatch(document, _Document):
        raise ValueError(wrong)
    if not {*_Document.__annotations__} <= document.keys() or not document["goals"] or not document["factors"]:
        raise ValueError("not the findings of a search")
    settings = [*document["best"], *([document["base"]] if document["base"] else [])]
    parts: list[tuple[type, list[Any]]] = [
        (_Goal, document["goals"]),
        (_Factor, document["factors"]),
        (_Tried, document["tried"]),
        (_Setting, settings),
        (_Mean, [mean for one in settings for part in ("seen", "unseen") for mean in one.get(part, {}).values()]),
    ]
    for kind, found in parts:
        if any(not {*kind.__annotations__} <= one.keys() for one in found):
            raise ValueError("findings are incomplete")
    numbers = [number for one in document["tried"] for number in (*one["shares"], *(one["values"] or ()))]
    numbers += [mean["mean"] for one in settings for part in ("seen", "unseen") for mean in one[part].values()]
    numbers += [tick[0] for one in document["factors"] for tick in one["ticks"] if isinstance(tick[:1], list) and tick]
    if not all(isinstance(number, int | float) and abs(number) < _LARGEST for number in numbers):
        raise ValueError("a value is not a number, or out of range")
    count = len(document["factors"])
    ticks = [tick for one in document["factors"] for tick in one["ticks"]]
    if any(len(one["shares"]) != count for one in document["tried"]) or any(
        len(tick) != 2 or not isinstance(tick[0], int | float) for tick in ticks
    ):
        raise ValueError("goals, factors and settings do not match")


def draw(document: Mapping[str, Any]) -> Figure:
    """Draws a result of `Tuning.to_dict`. Raises `ValueError` for another document."""
    check(document)
    with rc_context(STYLE):
        return _draw(document)


def _draw(document: Mapping[str, Any]) -> Figure:
    goals = [goal["metric"] for goal in document["goals"]]
    tried = [one for one in document["tried"] if one["values"] is not None and len(one["values"]) == len(goals)]
    scales = [scaled(name, [one["values"][index] for one in tried]) for index, name in enumerate(goals)]
    factors = document["factors"][:_FACTORS]
    panels = 1 + len(factors)
    across = min(3, panels)
    rows = math.ceil(panels / across)
    figure = Canvas(figsize=(3.2 * across, 2.8 * rows + 0.3), layout="constrained")
    grid = figure.subplots(rows, across, squeeze=False)
    first, *others = grid.flat
    if len(goals) == 1:
        _history(first, tried, scales[0], document)
    else:
        _front(first, tried, scales, document)
    for place, (axes, factor) in enumerate(zip(others, factors, strict=False)):
        _along(axes, tried, place, factor, scales[0])
    for axes in others[len(factors) :]:
        axes.set_visible(False)
    handles, labels = first.get_legend_handles_labels()
    legend_outside(figure, handles, labels)
    if len(document["factors"]) > _FACTORS:
        figure.suptitle(f"{_FACTORS} of {len(document['factors'])} settings", fontsize=8)
    return figure


def _marks(axes: Any, tried: Sequence[Mapping[str, Any]], x: Any, y: Any) -> None:
    for keeps, colour, label in ((False, _NOT_KEPT, "exceeds a limit"), (True, COLOURS[0], "tried")):
        shown = [one for one in tried if one["keeps"] == keeps]
        if shown:
            axes.plot(
                [x(one) for one in shown], [y(one) for one in shown], "o", color=colour, markersize=3, label=label
            )


def _history(
    axes: Any, tried: Sequence[Mapping[str, Any]], scale: tuple[float, str], document: Mapping[str, Any]
) -> None:
    goal = document["goals"][0]
    is_least = goal.get("is") != "maximise"
    numbers = {id(one): number for number, one in enumerate(tried, 1)}
    _marks(axes, tried, lambda one: numbers[id(one)], lambda one: one["values"][0] / scale[0])
    best, steps = None, []
    for one in tried:
        value = one["values"][0] / scale[0]
        if one["keeps"] and (best is None or (value < best if is_least else value > best)):
            best = value
        steps.append(math.nan if best is None else best)
    axes.step(range(1, len(steps) + 1), steps, where="post", color=COLOURS[1], label="best so far")
    mean = ((document["base"] or {}).get("seen") or {}).get(goal["metric"], {}).get("mean")
    if isinstance(mean, int | float):
        axes.axhline(mean / scale[0], color="black", linestyle="--", linewidth=1, label="base scenario")
    axes.set_xlabel("setting, in the order of the search")
    axes.set_ylabel(scale[1])
    _log(axes, [one["values"][0] for one in tried])


def _front(
    axes: Any,
    tried: Sequence[Mapping[str, Any]],
    scales: Sequence[tuple[float, str]],
    document: Mapping[str, Any],
) -> None:
    names = [goal["metric"] for goal in document["goals"]][:2]
    _marks(axes, tried, lambda one: one["values"][0] / scales[0][0], lambda one: one["values"][1] / scales[1][0])
    for what, colour, sign, found in (
        ("best, unseen seeds", COLOURS[1], "D", document["best"]),
        ("base scenario", "black", "x", [document["base"]] if document["base"] else []),
    ):
        known = [one.get("unseen") or one.get("seen") or {} for one in found]
        known = [one for one in known if all(name in one for name in names)]
        places = [[one[name]["mean"] / scales[index][0] for one in known] for index, name in enumerate(names)]
        if known:
            axes.plot(*places, sign, color=colour, markersize=5, linestyle="", label=what)
    axes.set_xlabel(scales[0][1])
    axes.set_ylabel(scales[1][1])


def _along(
    axes: Any, tried: Sequence[Mapping[str, Any]], place: int, factor: Mapping[str, Any], scale: tuple[float, str]
) -> None:
    _marks(axes, tried, lambda one: one["shares"][place], lambda one: one["values"][0] / scale[0])
    ticks = factor["ticks"]
    step = max(1, math.ceil(len(ticks) / 5))
    axes.set_xticks(
        [tick for tick, _ in ticks[::step]], [_short(str(name)) for _, name in ticks[::step]],
        rotation=30, ha="right", rotation_mode="anchor", fontsize=7,
    )  # fmt: skip
    axes.set_xlim(-0.04, 1.04)
    axes.set_xlabel(words(factor["name"]))
    axes.set_ylabel(scale[1])
    _log(axes, [one["values"][0] for one in tried])


def _short(text: str) -> str:
    return text if len(text) <= 18 else f"{text[:17]}…"


def _log(axes: Any, values: Sequence[float]) -> None:
    if values and min(values) > 0 and max(values) > 10 * min(values):
        axes.set_yscale("log")
