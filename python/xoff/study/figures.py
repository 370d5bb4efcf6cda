"""Figures of a study, in the style of a result's figures: a metric against a parameter, bars, and distributions.

The numbers of a figure are available as `Panel` and `Line`, from which the page of the study draws it again.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from matplotlib import rc_context
from matplotlib.figure import Figure

from xoff import formatting
from xoff._core import InputError
from xoff.plots import COLOURS, STYLE, Canvas, canvas, completed, draw_cdf, draw_slowdown, legend_outside
from xoff.results import counts
from xoff.statistics import Interval
from xoff.study.axes import VARIANT, Column

if TYPE_CHECKING:
    from xoff.statistics.factorial import Effect
    from xoff.study import Mean, Study
    from xoff.study.effects import Effects

_PANELS = 12
_EFFECTS = 24
_UNSURE = "#BBBBBB"
# The bars of each method: offset from the middle in bars, and colour.
_EFFECT_BARS = {
    "screening": {"main": (0.0, COLOURS[0]), "pair": (0.0, COLOURS[1])},
    "morris": {"mu_star": (0.0, COLOURS[0])},
    "sobol": {"first": (-0.5, COLOURS[0]), "total": (0.5, COLOURS[5]), "pair": (0.0, COLOURS[1])},
}
_EFFECT_NAMES = {"main": "factor", "mu_star": "µ*", "first": "first order", "total": "total order"}
_SERIES = 8
_SIGNS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Replacements for words of names. A part is written as the label if both differ only in capitals.
_NAMES = {"fct": "FCT", "p50": "median"} | {
    group.name: group.label for group in counts.groups() if group.name == group.label.lower()
}


@dataclass(frozen=True, slots=True)
class Line:
    """A metric along a parameter: its mean and interval at each place."""

    name: str
    places: list[float]
    intervals: list[Interval]
    level: bool = False
    """Whether the metric does not depend on the parameter: one value, drawn as a level line."""
    seeds: list[list[float]] = field(default_factory=list)
    """The values of the seeds at each place."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The lines of one panel, for one combination of the other parameters."""

    title: str
    lines: list[Line] = field(default_factory=list)


def words(name: str) -> str:
    """Returns a metric or a parameter in words: ``victim_fct_mean_ps`` gives ``victim FCT mean``."""
    if (count := counts.by_metric().get(name)) is not None:
        return count.title
    for unit in ("_ps", "_bytes", "_bps"):
        name = name.removesuffix(unit)
    return " ".join(_NAMES.get(word, word) for word in name.split("_"))


def scaled(name: str, values: Sequence[float]) -> tuple[float, str]:
    """Returns the divisor that keeps the values of a column short, and the column's name with the unit."""
    scale, unit = formatting.scale(max((abs(value) for value in values), default=0.0), name)
    return scale, words(name) + (f" ({unit})" if unit else "")


def wrapped(text: str, width: int = 34) -> str:
    """Returns a long name in up to four lines."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=True)[:4]) or text


class StudyPlot:
    """The figures of one study, as ``study.plot``."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def x(self) -> Column | None:
        """Returns the numeric parameter with the most values, for the x axis; None if none has two values."""
        counts = {
            column.name: len(
                {column.value(point.labels.get(column.path)) for point in self._study.plan.points} - {None}
            )
            for column in self._study.plan.columns
            if column.numeric
        }
        best = max(counts, key=lambda name: counts[name], default=None)
        return self._study.column(best) if best is not None and counts[best] > 1 else None

    def _moving_with(self, x: Column) -> list[Column]:
        """Returns the columns that move together with `x`. Such columns distinguish no further points."""
        groups = self._study.plan.document.get("zip", [])
        paths: list[str] = next((group for group in groups if x.path in group), [])
        return [column for column in self._study.plan.columns if column.path in paths and column != x]

    def _apart(self) -> list[Column]:
        """Returns the columns that distinguish points. Of columns that move together, only the first counts."""
        groups = self._study.plan.document.get("zip", [])
        others = {path for group in groups for path in group[1:]}
        return [column for column in self._study.plan.columns if column.path not in others]

    def panels(self, metric: str, x: Column) -> list[Panel]:
        """Returns the lines of a metric along a parameter: one per variant, in a panel per combination of the rest."""
        rest = [column for column in self._apart() if column not in (x, *self._moving_with(x))]
        series = next((column for column in rest if column.path == VARIANT), rest[0] if rest else None)
        others = [column for column in rest if column != series]
        if _size(self._study, rest) <= _SERIES:
            series, others = None, []
        panels: dict[str, dict[str, list[Mean]]] = {}
        for mean in self._study.means(metric):
            title = point_words(others, mean.point)
            name = point_words([series] if series is not None else rest, mean.point)
            panels.setdefault(title, {}).setdefault(name, []).append(mean)
        return [
            Panel(title, [_line(name, means, x) for name, means in lines.items()]) for title, lines in panels.items()
        ]

    def metric(self, metric: str, *, x: str | None = None) -> Figure:
        """Draws a metric against a parameter, with 95 % intervals over the seeds; bars if no parameter is a number.

        metric: a column of ``study.runs``, such as ``victim_fct_mean_ps``.
        x: the parameter's column; if None, the column with the most values.

        Raises `InputError` if there is no such metric or parameter.
        """
        names = [column.name for column in self._study.plan.columns]
        if x is not None and x not in names:
            raise InputError(f"x: unknown parameter `{x}`; known are {', '.join(names) or 'none'}")
        column = self.x() if x is None else self._study.column(x)
        if column is None or not column.numeric:
            return self.bars([metric])
        panels = self.panels(metric, column)
        ends = [end for panel in panels for line in panel.lines for one in line.intervals for end in _ends(one)]
        scale, label = scaled(metric, ends)
        places = [place for panel in panels for line in panel.lines for place in line.places]
        x_scale, x_label = scaled(column.name, places)
        shown = panels[:_PANELS]
        seeds = len(self._study.plan.seeds)
        across = min(3, max(len(shown), 1))
        with rc_context(STYLE):
            size = (6.4, 3.6) if across == 1 else (3.2 * across, 2.6 * math.ceil(len(shown) / across) + 0.4)
            figure = Canvas(figsize=size, layout="constrained")
            grid = figure.subplots(math.ceil(len(shown) / across) or 1, across, squeeze=False, sharex=True, sharey=True)
            for axes, panel in zip(grid.flat, shown, strict=False):
                for index, line in enumerate(panel.lines):
                    _draw(axes, line, index, x_scale, scale, seeds)
                axes.set_title(wrapped(panel.title), fontsize=8)
                if _logarithmic(places):
                    axes.set_xscale("log")
                    ticks = sorted(set(places))
                    if len(ticks) <= 12:
                        axes.set_xticks([tick / x_scale for tick in ticks], [f"{tick / x_scale:g}" for tick in ticks])
                        axes.minorticks_off()
            for axes in list(grid.flat)[len(shown) :]:
                axes.set_visible(False)
            if min(ends, default=0) >= 0:
                grid[0][0].set_ylim(bottom=0)
            for axes in grid[:, 0]:
                axes.set_ylabel(label)
            for axes in grid[-1]:
                axes.set_xlabel(x_label)
            handles, labels = grid[0][0].get_legend_handles_labels()
            if len(labels) > 1:
                legend_outside(figure, handles, labels)
            if any(one.count < seeds for panel in shown for line in panel.lines for one in line.intervals):
                figure.suptitle(f"open marks: fewer than {seeds} seeds have a result", fontsize=8)
            return figure

    def bars(self, metrics: str | Sequence[str] | None = None) -> Figure:
        """Draws bars with 95 % intervals over the seeds: a group for each point, a bar for each metric of one unit.

        metrics: a column of ``study.runs``, or several with the same unit; if None, the mean completion times, or else
            the first of the metrics that are shown first.

        Raises `InputError` if there is no metric.
        """
        names = [metrics] if isinstance(metrics, str) else self._bar_metrics() if metrics is None else list(metrics)
        columns = self._apart()
        found = {name: {point_words(columns, mean.point): mean for mean in self._study.means(name)} for name in names}
        if not names:
            raise InputError("metrics: no run has a number to draw")
        groups = list(dict.fromkeys(point for by_point in found.values() for point in by_point))
        ends = [end for by in found.values() for one in by.values() for end in _ends(one.interval)]
        scale, label = scaled(names[0], ends)
        if len(names) > 1:
            # The legend names the metrics; the axis has their common unit.
            label = "FCT mean" + label[label.index(" (") :] if " (" in label else "value"
        with rc_context(STYLE):
            height = 0.8 / max(len(names), 1)
            figure, axes = canvas(height=max(2.0, 1.1 + 0.17 * len(groups) * (1 + len(names))))
            for index, name in enumerate(names):
                places = [group + (index - (len(names) - 1) / 2) * height for group in range(len(groups))]
                shown = [found[name].get(group) for group in groups]
                intervals = [one.interval if one else None for one in shown]
                means = [one.mean / scale if one else 0.0 for one in intervals]
                axes.barh(
                    places, means, height * 0.92, xerr=_errors(intervals, scale), capsize=2,
                    color=COLOURS[index % len(COLOURS)], alpha=0.75, label=words(name),
                )  # fmt: skip
                dots = [
                    [(value / scale, place) for value in one.values.values()] if one else []
                    for one, place in zip(shown, places, strict=True)
                ]
                _dots(axes, dots, "black")
            axes.set_yticks(range(len(groups)), [wrapped(group) for group in groups])
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y")
            axes.set_xlabel(label)
            if len(names) > 1:
                legend_outside(figure, *axes.get_legend_handles_labels())
            return figure

    def effects(self, metric: str) -> Figure:
        """Draws the effect of each factor of a study with a design: bars with 95 % intervals, the largest on top.

        metric: a column of ``study.runs``, or ``without_result``.

        Raises `InputError` if the study has no design, or too many runs are missing.
        """
        found = self._study.effects(metric)
        if not found.rows:
            raise InputError(f"{metric}: {'; '.join(found.notes)}")
        return draw_effects(found)

    def _bar_metrics(self) -> list[str]:
        """Returns the mean completion times, or else the metric that is shown first."""
        known = self._study.metrics()
        return [one for one in known if one.endswith("fct_mean_ps")] or known[:1]

    def fct_cdf(self, *, slowdown: bool = False) -> Figure:
        """Draws the cumulative distribution of completion times or slowdowns of all seeds: a panel for each point."""
        with rc_context(STYLE):
            return self._panels(lambda axes, groups: draw_cdf(axes, groups, slowdown=slowdown))

    def slowdown_by_size(self) -> Figure:
        """Draws the slowdown in 20 bins of 5 % of the flows each, by size, of all seeds: a panel for each point."""
        with rc_context(STYLE):
            return self._panels(draw_slowdown)

    def flow_panels(self, most: int) -> tuple[list[tuple[str, list[tuple[str, pa.Table]]]], int]:
        """Returns the delivered flows of all seeds in at most `most` panels, spread over all, and the number of all.

        A study of few points has one panel, any other one panel per combination of all parameters except the variant
        (or the first column). A variant without these parameters appears in each panel.
        """
        columns, study = self._study.plan.columns, self._study
        series, rest = (columns, ()) if _size(study, columns) <= _SERIES // 2 else (columns[:1], columns[1:])
        points: dict[str, dict[str, list[int]]] = {}
        for point in study.plan.points:
            values = study.plan.values(point)
            found = points.setdefault(point_words(rest, values), {})
            found.setdefault(point_words(series, values) or "all flows", []).append(point.index)
        everywhere = points.pop("", {}) if len(points) > 1 else {}
        titles = list(points)
        shown = [titles[index * len(titles) // most] for index in range(most)] if len(titles) > most else titles
        common = self._groups(everywhere)
        panels = [(title, [*common, *self._groups(points[title])]) for title in shown]
        return [(title, groups) for title, groups in panels if groups], len(titles)

    def _groups(self, points: Mapping[str, Sequence[int]]) -> list[tuple[str, pa.Table]]:
        found = [(name, self._study.flows_at(indices)) for name, indices in points.items()]
        return [(name, part) for name, flows in found if flows is not None and (part := completed(flows)).num_rows]

    def _panels(self, draw: Any) -> Figure:
        found, every = self.flow_panels(_PANELS // 2)
        shown = len(found)
        across = min(3, max(shown, 1))
        size = (6.4, 3.6) if across == 1 else (3.4 * across, 2.9 * math.ceil(shown / across))
        figure = Canvas(figsize=size, layout="constrained")
        grid = figure.subplots(math.ceil(shown / across) or 1, across, squeeze=False, sharey=True)
        for axes, (title, groups) in zip(grid.flat, found, strict=False):
            draw(axes, groups[:_SERIES])
            axes.set_title(wrapped(title), fontsize=8)
        for row in grid:
            for axes in row[1:]:
                axes.set_ylabel("")
        handles, labels = grid[0][0].get_legend_handles_labels()
        for axes in grid.flat:
            if axes.get_legend():
                axes.get_legend().remove()
        if len(labels) > 1:
            legend_outside(figure, handles, labels)
        for axes in list(grid.flat)[shown:]:
            axes.set_visible(False)
        if shown < every:
            figure.suptitle(f"{shown} of {every} points", fontsize=8)
        return figure


def draw_effects(found: Effects) -> Figure:
    """Draws bars of effects; several measures side by side."""
    with rc_context(STYLE):
        return _draw_effects(found)


def _draw_effects(found: Effects) -> Figure:
    method = found.design.method
    names = list(dict.fromkeys(row.name for row in found.rows))
    shown = names[:_EFFECTS]
    scale, unit = formatting.scale(max(abs(row.interval.mean) for row in found.rows), found.metric)
    if method == "sobol":
        scale, unit = 1, ""
    figure, axes = canvas(height=max(2.0, 1.3 + 0.3 * len(shown)))
    measures = _EFFECT_BARS[method]
    height = 0.4 if method == "sobol" else 0.8
    for measure, (place, colour) in measures.items():
        rows = [row for row in found.rows if row.name in shown and row.measure == measure]
        rows = [row for row in rows if method != "screening" or row.verdict != "none shown"]
        _effect_bars(
            axes, rows, [shown.index(row.name) + place * height for row in rows], height, scale, colour, measure
        )
    unsure = [row for row in found.rows if method == "screening" and row.name in shown and row.verdict == "none shown"]
    _effect_bars(axes, unsure, [shown.index(row.name) for row in unsure], height, scale, _UNSURE, "no effect shown")
    sigmas = [row for row in found.rows if row.measure == "sigma" and row.name in shown]
    if sigmas:
        across = [row.interval.mean / scale for row in sigmas]
        axes.plot(across, [shown.index(row.name) for row in sigmas], "D", color=COLOURS[3], markersize=4, label="σ")
    axes.axvline(0, color="black", linewidth=0.8)
    others = {row.name: [" × ".join(names) for names in row.aliases] for row in found.rows}
    axes.set_yticks(range(len(shown)), [_or_others(name, others[name]) for name in shown])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    what = words(found.metric) + (f" ({unit})" if unit else "")
    axes.set_xlabel(f"share of the variance of {what}" if method == "sobol" else f"change of {what}")
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        legend_outside(figure, handles, labels)
    if len(shown) < len(names):
        figure.suptitle(f"the {len(shown)} largest of {len(names)}", fontsize=8)
    return figure


def _or_others(name: str, others: Sequence[str]) -> str:
    """Returns the name of an effect with its aliases."""
    return f"{name}\nor {others[0] if len(others) == 1 else f'{len(others)} others'}" if others else name


def _effect_bars(
    axes: Any, rows: Sequence[Effect], places: Sequence[float], height: float, scale: float, colour: str, label: str
) -> None:
    if rows:
        errors = [(row.interval.margin or 0.0) / scale for row in rows]
        axes.barh(
            places, [row.interval.mean / scale for row in rows], height * 0.92,
            xerr=errors if any(errors) else None, capsize=2, color=colour, label=_EFFECT_NAMES.get(label, label),
        )  # fmt: skip


def _size(study: Study, columns: Sequence[Column]) -> int:
    return len({point_words(columns, study.plan.values(point)) for point in study.plan.points})


def point_words(columns: Sequence[Column], point: Mapping[str, Any]) -> str:
    """Returns the values of columns in words: ``PFC + SFC, pause 5 µs``."""
    return ", ".join(
        column.text(point[column.name]) if column.path == VARIANT else f"{column.key} {column.text(point[column.name])}"
        for column in columns
        if point[column.name] is not None
    )


def _line(name: str, means: Sequence[Mean], x: Column) -> Line:
    known = [mean for mean in means if mean.point[x.name] is not None]
    if not known:
        return Line(name, [], [means[0].interval], level=True, seeds=[list(means[0].values.values())])
    known.sort(key=lambda mean: mean.point[x.name])
    seeds = [list(mean.values.values()) for mean in known]
    return Line(name, [mean.point[x.name] for mean in known], [mean.interval for mean in known], seeds=seeds)


def _draw(axes: Any, line: Line, index: int, x_scale: float, scale: float, seeds: int) -> None:
    colour = COLOURS[index % len(COLOURS)]
    means = [one.mean / scale for one in line.intervals]
    if line.level:
        axes.axhline(means[0], color=colour, linestyle="--", label=line.name)
        low, high = (end / scale for end in _ends(line.intervals[0]))
        if high > low:
            axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
        return
    across = [place / x_scale for place in line.places]
    errors = _errors(line.intervals, scale)
    _dots(
        axes,
        [[(place, value / scale) for value in values] for place, values in zip(across, line.seeds, strict=True)],
        colour,
    )
    axes.errorbar(
        across, means, yerr=errors, marker=_SIGNS[index % len(_SIGNS)], markersize=4,
        capsize=2.5, color=colour, label=line.name,
    )  # fmt: skip
    few = [place for place, one in enumerate(line.intervals) if one.count < seeds]
    axes.plot(
        [across[place] for place in few], [means[place] for place in few], linestyle="",
        marker=_SIGNS[index % len(_SIGNS)], markersize=4, color=colour, markerfacecolor="white", zorder=3,
    )  # fmt: skip


def _errors(intervals: Sequence[Interval | None], scale: float) -> list[list[float]] | None:
    """Returns the distances from means to the ends of intervals, as Matplotlib draws errors; None if all are zero."""
    below = [((one.below if one else None) or 0.0) / scale for one in intervals]
    above = [((one.margin if one else None) or 0.0) / scale for one in intervals]
    return [below, above] if any(below) or any(above) else None


def _dots(axes: Any, places: Sequence[Sequence[tuple[float, float]]], colour: str) -> None:
    """Draws a dot for each seed at places with several seeds."""
    found = [place for one in places if len(one) > 1 for place in one]
    if found:
        axes.plot(*zip(*found, strict=True), ".", color=colour, markersize=3, alpha=0.55, zorder=2.5, linestyle="")


def _ends(one: Interval) -> tuple[float, float]:
    return (one.mean if one.low is None else one.low, one.mean if one.high is None else one.high)


def _logarithmic(places: Sequence[float]) -> bool:
    """True if places look logarithmic: the places span more than a decade, with growing steps."""
    ordered = sorted(set(places))
    if len(ordered) < 4 or ordered[0] <= 0 or ordered[-1] / ordered[0] < 10:
        return False
    return ordered[-1] - ordered[-2] > 3 * (ordered[1] - ordered[0])
