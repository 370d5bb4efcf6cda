"""Figures of a job: the activity of ranks over time, and the parts of each rank's iteration time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from xoff import formatting, plots
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


def gantt(operations: pa.Table, jobs: pa.Table, job: str) -> Figure:
    """Draws ranks over time: computing and waiting of each rank, ranks that computed longest first."""
    rows = _of(operations, job).select(["rank", "label", "start_ps", "end_ps"]).to_pylist()
    parts = _of(jobs, job).to_pylist()
    shown = _ranks(parts, rows)
    labels = list(dict.fromkeys(str(row["label"]) for row in rows if row["label"] is not None))
    used = colours(labels)
    spans: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    wanted = set(shown)
    for row in rows:
        if row["rank"] in wanted:
            spans[row["rank"], row["label"] or _COMPUTE].append((row["start_ps"], row["end_ps"]))
    end = max((row["end_ps"] for row in rows), default=1) or 1
    scale, unit = (1e9, "ms") if end > 10 * 1e9 else (1e6, "µs")
    with rc_context(STYLE):
        figure = Canvas(figsize=(6.4, 1.4 + 0.18 * len(shown)), layout="constrained")
        axes = figure.add_subplot()
        for place, rank in enumerate(shown):
            # Computing is drawn above transfers.
            for label in [*reversed(labels), _COMPUTE]:
                joined = _joined(spans.get((rank, label), []), end * _FINEST)
                bars = [(start / scale, (stop - start) / scale) for start, stop in joined]
                height = 0.8 if label == _COMPUTE else 0.5
                axes.broken_barh(bars, (place - height / 2, height), facecolors=used[label], linewidth=0)
        axes.set_yticks(range(len(shown)), [f"rank {rank}" for rank in shown], fontsize=7)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlim(0, end / scale)
        axes.set_xlabel(f"time ({unit})")
        axes.grid(visible=False, axis="y")
        _legend(figure, {label: used[label] for label in [_COMPUTE, *labels]})
        return figure


def bars(jobs: pa.Table, job: str) -> Figure:
    """Draws the mean parts of an iteration's time, one bar per rank, in descending order of computing time."""
    parts = _of(jobs, job).to_pylist()
    iterations = len({row["iteration"] for row in parts}) or 1
    shown = _ranks(parts, [])
    labels = list(dict.fromkeys(str(row["label"]) for row in parts if row["label"] is not None))
    used = colours(labels)
    sums: dict[tuple[int, str], float] = defaultdict(float)
    for row in parts:
        key = {"compute": _COMPUTE, "bubble": _BUBBLE}.get(row["part"], str(row["label"]))
        sums[row["rank"], key] += row["time_ps"] / iterations
    whole = max((sum(sums[rank, key] for key in used) for rank in shown), default=1.0)
    scale, unit = (1e9, "ms") if whole > 10 * 1e9 else (1e6, "µs")
    with rc_context(STYLE):
        figure = Canvas(figsize=(6.4, 1.4 + 0.18 * len(shown)), layout="constrained")
        axes = figure.add_subplot()
        left = [0.0] * len(shown)
        for key in [_COMPUTE, *labels, _BUBBLE]:
            widths = [sums[rank, key] / scale for rank in shown]
            axes.barh(range(len(shown)), widths, 0.8, left=left, color=used[key], linewidth=0)
            left = [before + width for before, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(shown)), [f"rank {rank}" for rank in shown], fontsize=7)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(f"time of an iteration ({unit})")
        axes.grid(visible=False, axis="y")
        exposed = {f"exposed {label}": used[label] for label in labels}
        _legend(figure, {_COMPUTE: used[_COMPUTE], **exposed, _BUBBLE: used[_BUBBLE]})
        return figure


def notes(jobs: pa.Table, job: str) -> list[str]:
    """Returns notes on the choice of drawn ranks."""
    ranks = len(pc.unique(_of(jobs, job)["rank"]))
    return [f"The {RANKS} of {ranks:,} ranks that computed longest."] if ranks > RANKS else []


def _legend(figure: Figure, used: dict[str, str]) -> None:
    handles = [Patch(color=colour, label=formatting.plain(label)) for label, colour in used.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4), fontsize=7)


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


def pictures(operations: pa.Table, jobs: pa.Table, job: str) -> list[tuple[str, str, list[str]]]:
    """Returns each figure of a job: title, drawing as SVG, and notes."""
    found = []
    if _of(jobs, job).num_rows:
        said = [
            "Exposed communication delayed the next computation of a rank. The parts of a rank add up to the iteration."
        ]
        found.append(("Breakdown of an iteration", plots.svg(bars(jobs, job)), said))
    found.append(("Ranks over time", plots.svg(gantt(operations, jobs, job)), notes(jobs, job)))
    return found
