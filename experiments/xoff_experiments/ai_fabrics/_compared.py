"""Rows compared at settings, seed by seed: the predicates of both situations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Generic, TypeAlias, TypeVar

from matplotlib import rc_context
from matplotlib.axes import Axes

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Decision, Readings, about_the_same, lower, never
from xoff.reproduce.sentences import Found, Sentence, short
from xoff.statistics import interval
from xoff_experiments.ai_fabrics._rows import (
    CI,
    DCQCN,
    DCQCN_CI,
    DCQCN_SFC,
    DYNAMIC,
    ISOLATION,
    PFC,
    PRIORITY,
    PROXY,
    SFC,
    TARGET,
    TURNS,
)

T = TypeVar("T")
Value: TypeAlias = Callable[[T], float]
Decide: TypeAlias = Callable[["Runs[T]", str], Decision]
KINDS: Mapping[str, str] = {
    PFC: COLOURS[7],
    TURNS: COLOURS[0],
    PRIORITY: COLOURS[0],
    **dict.fromkeys((SFC, DYNAMIC, TARGET), COLOURS[3]),
    **dict.fromkeys((PROXY, ISOLATION), COLOURS[1]),
    CI: COLOURS[2],
    **dict.fromkeys((DCQCN, DCQCN_SFC, DCQCN_CI), COLOURS[4]),
}
"""A colour for the rows of a mechanism."""


class Runs(Readings[T], Generic[T]):
    """The runs of a situation, named ``setting/row/seed N``."""

    @property
    def settings(self) -> list[str]:
        """The settings that were run."""
        return list(dict.fromkeys(name.split("/")[0] for name in self.names))

    def has(self, setting: str, rows: Iterable[str]) -> bool:
        """True if all rows were run at a setting."""
        return all(f"{setting}/{row}" in self for row in rows)

    def values(self, setting: str, row: str, value: Value[T]) -> list[float]:
        """Returns a value of each seed."""
        return self.by_seed(f"{setting}/{row}", value)

    def ratio(self, setting: str, one: str, other: str, value: Value[T]) -> float:
        """Returns the mean of one row over the mean of another row."""
        return fmean(self.values(setting, one, value)) / fmean(self.values(setting, other, value))


def at_each(
    rows: Sequence[str], decide: Decide[T], effect: Callable[[Runs[T], str], float]
) -> Callable[[Runs[T]], dict[str, Found]]:
    """Returns the predicate of a sentence, at each setting with runs of all rows."""

    def decided(runs: Runs[T]) -> dict[str, Found]:
        settings = [one for one in runs.settings if runs.has(one, rows)]
        return {one: Found(decide(runs, one), effect(runs, one)) for one in settings}

    return decided


def less(text: str, one: str, other: str, value: Value[T], what: str) -> Sentence[Runs[T]]:
    """Returns the sentence: a value of one row is below the value of another row."""
    return Sentence(
        text,
        at_each(
            (one, other),
            lambda runs, at: lower(runs.values(at, one, value), runs.values(at, other, value)),
            lambda runs, at: runs.ratio(at, one, other, value),
        ),
        f"{what}: {one}, over {other}",
    )


def alike(text: str, one: str, other: str, value: Value[T], what: str, share: float) -> Sentence[Runs[T]]:
    """Returns the sentence: a value of one row is within a share of the value of another row."""
    return Sentence(
        text,
        at_each(
            (one, other),
            lambda runs, at: about_the_same(runs.values(at, one, value), runs.values(at, other, value), share),
            lambda runs, at: runs.ratio(at, one, other, value),
        ),
        f"{what}: {one}, over {other}",
    )


def at_most(text: str, one: str, other: str, value: Value[T], what: str, share: float) -> Sentence[Runs[T]]:
    """Returns the sentence: a value of one row is above the value of another row by less than a share."""

    def decide(runs: Runs[T], at: str) -> Decision:
        limits = [(1 + share) * limit for limit in runs.values(at, other, value)]
        return lower(runs.values(at, one, value), limits)

    return Sentence(
        text,
        at_each((one, other), decide, lambda runs, at: runs.ratio(at, one, other, value)),
        f"{what}: {one}, over {other}",
    )


def none(text: str, row: str, value: Value[T], what: str) -> Sentence[Runs[T]]:
    """Returns the sentence: a count of a row is zero in every run."""
    return Sentence(
        text,
        at_each(
            (row,),
            lambda runs, at: never(runs.values(at, row, value)),
            lambda runs, at: fmean(runs.values(at, row, value)),
        ),
        f"{what}: {row}",
    )


def told(values: Sequence[float]) -> str:
    """Returns a mean with the margin of its interval as text."""
    found = interval(values)
    return short(found.mean) + (f" ± {short(found.margin)}" if found.margin else "")


def by_setting(runs: Runs[T], rows: Sequence[str], cell: Callable[[str, str], str]) -> list[list[str]]:
    """Returns a table of settings and rows; ``–`` where a row was not run."""
    made = [["setting", *rows]]
    return made + [[at, *(cell(at, row) if runs.has(at, (row,)) else "–" for row in rows)] for at in runs.settings]


Values: TypeAlias = Mapping[str, Sequence[float]]
"""The values of rows, a value for each seed."""


def dots(main: Mapping[str, Values], others: Mapping[str, Values], rows: Sequence[str], path: Path, label: str) -> None:
    """Draws a dot with a 95 % interval for each row: panels of the main setting, and a small panel for each other one.

    main: by title; each panel has numbers and an axis of its own.
    others: by setting, with one axis for all.
    label: the quantity of the first panel and of all other settings.
    """
    columns = 6 if len(others) > 8 else 5
    lines = -(-len(others) // columns) if others else 0
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9.6, 3.0 + 1.75 * lines), layout="constrained")
        parts: Any = drawing.subfigures(1 + bool(lines), 1, height_ratios=[2.8, 1.75 * lines][: 1 + bool(lines)])
        first, rest = (parts[0], parts[1]) if lines else (parts, None)
        for axes, (title, values) in zip(first.subplots(1, len(main), sharey=True), main.items(), strict=True):
            _rows(axes, values, rows, size=5)
            _numbers(axes, values, rows)
            axes.set_xlabel(title, fontsize=8)
            axes.set_yticks(range(len(rows)), rows, fontsize=7)
        first.suptitle("main setting", fontsize=9)
        if rest is not None:
            grid: Any = rest.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
            for axes, (title, values) in zip(grid.flat, others.items(), strict=False):
                _rows(axes, values, rows, size=3)
                axes.set_yticks(range(len(rows)), rows, fontsize=5)
                axes.set_title(title, fontsize=7)
            for axes in list(grid.flat)[len(others) :]:
                axes.set_visible(False)
            rest.suptitle("other settings: one change to the main setting", fontsize=9)
            rest.supxlabel(label, fontsize=8)
        write(drawing, path)


def _rows(axes: Axes, values: Values, rows: Sequence[str], size: float) -> None:
    """Draws a dot with an interval for each row with values."""
    for place, row in enumerate(rows):
        if row in values:
            found = interval(values[row])
            axes.errorbar(
                found.mean, place, xerr=found.margin or 0.0, fmt="o", color=KINDS[row], markersize=size, elinewidth=1
            )
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(labelsize=6)


def _numbers(axes: Axes, values: Values, rows: Sequence[str]) -> None:
    """Writes the mean of each row with values beside the right end of the panel."""
    for place, row in enumerate(rows):
        if row in values:
            # Rounded first: no minus before a zero.
            text = f"{round(interval(values[row]).mean) + 0}"
            axes.text(1.01, place, text, transform=axes.get_yaxis_transform(), fontsize=7, va="center", ha="left")
