"""Figures of a job: the activity of ranks over time, and the parts of each rank's iteration time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from xoff import formatting
from xoff.plots import COLOURS, STYLE, Canvas

RANKS = 24
"""The number of ranks drawn: the ranks that computed longest."""
_COMPUTE, _BUBBLE = "computing", "waiting for other ranks"
_GREY = "#DDDDDD"
# Spans with a gap below this share of the time are drawn as one: no screen shows the gap.
_FINEST = 1 / 4000


def names(operations: pa.Table) -> list[str]:
    """Returns the names of the jobs with operations, in the order of their first completed operation."""
    return [str(name) for name in pc.unique(operations["workload"]).to_pylist()]


def colours(labels: Iterable[str]) -> dict[str, str]:
    """Returns the colours of activities: of computing, of waiting, and of the labels in their order."""
    found = {_COMPUTE: COLOURS[0], _BUBBLE: _GREY}
    for index, label in enumerate(labels):
        found[label] = COLOURS[1 + index % (len(COLOURS) - 1)]
    return found


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of time in rows: the content of a figure, for a file or a page."""

    unit: str
    x_label: str
    end: float
    """End of the axis, in the unit."""
    rows: list[str]
    colours: dict[str, str]
    """The colour of each label, in the order of the legend."""
    spans: list[tuple[int, str, float, float]]
    """Row, label, start and length in the unit; a later span covers an earlier one."""
    thin: frozenset[str] = frozenset()
    """Labels with thinner spans."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the spans as data for the script of a page."""
        order = {label: number for number, label in enumerate(self.colours)}
        return {
            "x": f"{self.x_label} ({self.unit})",
            "unit": self.unit,
            "end": self.end,
            "rows": self.rows,
            "labels": [
                {"name": formatting.plain(label), "colour": colour, "thin": label in self.thin}
                for label, colour in self.colours.items()
            ],
            "spans": [
                [row, order[label], float(f"{start:.7g}"), float(f"{length:.7g}")]
                for row, label, start, length in self.spans
            ],
        }

    def figure(self) -> Figure:
        """Draws the spans."""
        places: dict[str, list[tuple[int, tuple[float, float]]]] = defaultdict(list)
        for row, label, start, length in self.spans:
            places[label].append((row, (start, length)))
        with rc_context(STYLE):
            figure = Canvas(figsize=(6.4, 1.4 + 0.18 * len(self.rows)), layout="constrained")
            axes = figure.add_subplot()
            for label, found in places.items():
                height = 0.5 if label in self.thin else 0.8
                for row in dict.fromkeys(row for row, _ in found):
                    bars = [bar for place, bar in found if place == row]
                    axes.broken_barh(bars, (row - height / 2, height), facecolors=self.colours[label], linewidth=0)
            axes.set_yticks(range(len(self.rows)), self.rows, fontsize=7)
            axes.set_ylim(len(self.rows) - 0.4, -0.6)
            axes.set_xlim(0, self.end)
            axes.set_xlabel(f"{self.x_label} ({self.unit})")
            axes.grid(visible=False, axis="y")
            handles = [Patch(color=colour, label=formatting.plain(label)) for label, colour in self.colours.items()]
            figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4), fontsize=7)
            return figure


def activity(operations: pa.Table, jobs: pa.Table, job: str) -> Spans:
    """Returns ranks over time: computing and transfers of each rank, ranks that computed longest first."""
    rows = _of(operations, job).select(["rank", "label", "start_ps", "end_ps"]).to_pylist()
    parts = _of(jobs, job).to_pylist()
    shown = _ranks(parts, rows)
    labels = list(dict.fromkeys(_label(row["label"]) for row in rows if row["label"] is not None))
    used = colours(labels)
    lasting: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    places = {rank: place for place, rank in enumerate(shown)}
    for row in rows:
        if row["rank"] in places:
            lasting[places[row["rank"]], _COMPUTE if row["label"] is None else _label(row["label"])].append(
                (row["start_ps"], row["end_ps"])
            )
    end = max((row["end_ps"] for row in rows), default=1) or 1
    scale, unit = _scale(end)
    spans = [
        (place, label, start / scale, (stop - start) / scale)
        # Computing is drawn above transfers.
        for label in [*reversed(labels), _COMPUTE]
        for place in range(len(shown))
        for start, stop in _joined(lasting.get((place, label), []), end * _FINEST)
    ]
    names = [f"rank {rank}" for rank in shown]
    legend = {label: used[label] for label in [_COMPUTE, *labels]}
    return Spans(unit, "time", end / scale, names, legend, spans, frozenset(labels))


def breakdown(jobs: pa.Table, job: str) -> Spans:
    """Returns the mean parts of an iteration's time, one row per rank, in descending order of computing time."""
    parts = _of(jobs, job).to_pylist()
    iterations = len({row["iteration"] for row in parts}) or 1
    shown = _ranks(parts, [])
    labels = list(dict.fromkeys(_label(row["label"]) for row in parts if row["label"] is not None))
    used = colours(labels)
    sums: dict[tuple[int, str], float] = defaultdict(float)
    for row in parts:
        key = {"compute": _COMPUTE, "bubble": _BUBBLE}.get(row["part"], _label(row["label"]))
        sums[row["rank"], key] += row["time_ps"] / iterations
    whole = max((sum(sums[rank, key] for key in used) for rank in shown), default=1.0)
    scale, unit = _scale(whole)
    names = {_COMPUTE: _COMPUTE, **{label: f"exposed {label}" for label in labels}, _BUBBLE: _BUBBLE}
    spans, ends = [], [0.0] * len(shown)
    for key, name in names.items():
        for place, rank in enumerate(shown):
            length = sums[rank, key] / scale
            if length:
                spans.append((place, name, ends[place], length))
                ends[place] += length
    legend = {name: used[key] for key, name in names.items()}
    return Spans(
        unit, "time of an iteration", max(ends, default=1.0) * 1.05, [f"rank {rank}" for rank in shown], legend, spans
    )


def notes(jobs: pa.Table, job: str) -> list[str]:
    """Returns notes on the choice of drawn ranks."""
    ranks = len(pc.unique(_of(jobs, job)["rank"]))
    return [f"The {RANKS} of {ranks:,} ranks that computed longest."] if ranks > RANKS else []


def _label(label: object) -> str:
    """Returns the name of an activity; a label that is named as an activity of a rank itself gets a remark."""
    return f"{label} (label)" if label in {_COMPUTE, _BUBBLE} else str(label)


def _scale(end: float) -> tuple[float, str]:
    """Returns the picoseconds of the unit for times up to an end, and the unit."""
    return (1e9, "ms") if end > 10 * 1e9 else (1e6, "µs")


def _of(table: pa.Table, job: str) -> pa.Table:
    return table.filter(pc.equal(pc.cast(table["workload"], pa.string()), job))


def _ranks(parts: Sequence[dict[str, Any]], operations: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the ranks to draw: the longest computing times, or the lowest numbers if no iteration has ended."""
    computed: dict[int, int] = defaultdict(int)
    for row in parts:
        computed[row["rank"]] += row["time_ps"] if row["part"] == "compute" else 0
    if not computed:
        return sorted({row["rank"] for row in operations})[:RANKS]
    return sorted(computed, key=lambda rank: (-computed[rank], rank))[:RANKS]


def _joined(spans: list[tuple[int, int]], gap: float) -> list[tuple[int, int]]:
    """Returns spans merged over gaps of at most `gap`."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start - made[-1][1] <= gap:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def pictures(operations: pa.Table, jobs: pa.Table, job: str) -> list[tuple[str, Spans, list[str]]]:
    """Returns each figure of a job: title, content, and notes."""
    found = []
    if _of(jobs, job).num_rows:
        said = [
            "Exposed communication delayed the next computation of a rank. The parts of a rank add up to the iteration."
        ]
        found.append(("Breakdown of an iteration", breakdown(jobs, job), said))
    found.append(("Ranks over time", activity(operations, jobs, job), notes(jobs, job)))
    return found
