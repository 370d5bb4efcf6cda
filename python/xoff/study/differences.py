"""Differences of every metric from the first variant, paired by seed: the gain of a choice, and its cost elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from xoff import formatting
from xoff.plots import COLOURS, STYLE, Canvas
from xoff.statistics import Comparison
from xoff.study.figures import point_words, words, wrapped

if TYPE_CHECKING:
    from xoff.study import Study

MOST = 40
"""The largest number of differences in a figure."""
_UNSURE = "#999999"
_LINEAR = 10.0
"""Percent up to which the axis is linear; beyond, it is logarithmic, because differences may reach thousands."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a variant from the first one, in one metric, at a point of the other parameters."""

    metric: str
    variant: Any
    where: str
    """The other parameters in words; empty if there are none."""
    comparison: Comparison

    @property
    def percent(self) -> tuple[float, float, float] | None:
        """The difference and the ends of its interval, in percent of the first mean; None if that mean is zero.

        With one seed, both ends are the difference.
        """
        found = self.comparison
        if found.relative is None:
            return None
        mean, low, high = found.difference.mean, found.difference.low, found.difference.high
        ends = (mean, mean if low is None else low, mean if high is None else high)
        middle, begin, end = (100 * value / abs(found.first) for value in ends)
        return middle, begin, end

    @property
    def certainty(self) -> str:
        """Whether the difference is beyond chance, in words."""
        known = {"lower": "beyond chance", "higher": "beyond chance", "one seed": "with one seed only"}
        return known.get(self.comparison.verdict, "within chance")


def of_study(study: Study, metrics: list[str]) -> list[Difference]:
    """Returns the differences of all values of the first column from its first value; empty without a second value."""
    if not study.plan.columns or study.plan.design is not None or "objective" in study.plan.document:
        return []
    first, rest = study.plan.columns[0], study.plan.columns[1:]
    found = []
    for metric in metrics:
        for variant, one in study.against_first(metric):
            where = point_words(rest, {first.name: None, **one.point})
            found.append(Difference(metric, variant, where, one.comparison))
    return found


def can_be_drawn(found: list[Difference]) -> bool:
    """Whether a figure shows something: several metrics, some differences in percent, and not too many of them."""
    return len({one.metric for one in found}) > 1 and 0 < sum(one.percent is not None for one in found) <= MOST


def draw(study: Study, found: list[Difference]) -> Figure:
    """Draws the differences in percent with their 95 % intervals; grey are those within chance."""
    column = study.plan.columns[0]
    rows = [(one, percent) for one in found if (percent := one.percent) is not None]
    names = list(dict.fromkeys(one.variant for one, _ in rows))
    with rc_context(STYLE):
        page = Canvas(figsize=(7.0, 0.9 + 0.3 * len(rows)), layout="constrained")
        axes = page.add_subplot()
        axes.axvline(0, color="#444444", linewidth=0.8)
        for place, (one, (middle, begin, end)) in enumerate(rows):
            is_sure = one.certainty == "beyond chance"
            colour = COLOURS[names.index(one.variant) % len(COLOURS)] if is_sure else _UNSURE
            axes.plot([begin, end], [place, place], color=colour, linewidth=2)
            axes.plot([middle], [place], "o", color=colour, markersize=5)
            note = f"{middle:+.1f} %"
            at = (max(end, middle), place)
            axes.annotate(note, at, xytext=(5, 0), textcoords="offset points", va="center", size=7)
        labels = [", ".join(filter(None, (column.text(one.variant), one.where, words(one.metric)))) for one, _ in rows]
        axes.set_yticks(range(len(rows)), [wrapped(formatting.plain(label), 46) for label in labels], fontsize=8)
        axes.invert_yaxis()
        if max(abs(value) for _, percent in rows for value in percent) > 10 * _LINEAR:
            axes.set_xscale("symlog", linthresh=_LINEAR)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.margins(x=0.18)
        several = (
            "paired by seed, with 95 % intervals; grey: within chance" if len(study.plan.seeds) > 1 else "one seed"
        )
        base = column.text(study.variants()[0])
        axes.set_xlabel(f"difference from {formatting.plain(base)} in percent\n({several})")
        return page


def price(study: Study, metrics: list[str]) -> str | None:
    """Returns a sentence on what the best variant by the first metric changes in all other metrics; None if none does.

    The best has the lowest value, and of a rate the highest. If the first variant is the best, the sentence tells what
    the next best changes.
    """
    if len(metrics) < 2:
        return None
    column = study.plan.columns[0] if study.plan.columns else None
    found = [one for one in of_study(study, metrics) if one.comparison.relative is not None]
    if column is None or not found:
        return None
    sign = -1 if metrics[0].endswith("_bps") else 1
    of_first = [one for one in found if one.metric == metrics[0]]
    if not of_first:
        return None
    best = min(of_first, key=lambda one: sign * one.comparison.difference.mean)
    others = [
        f"{words(one.metric)} {one.comparison.relative:+.1%} ({one.certainty})"
        for one in found
        if (one.variant, one.where) == (best.variant, best.where)
    ]
    base = column.text(study.variants()[0])
    at = f" ({best.where})" if best.where else ""
    return f"Against {base}, {column.text(best.variant)}{at} changes {', '.join(others)}."
