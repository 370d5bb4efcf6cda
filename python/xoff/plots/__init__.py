"""Figures of a result, in one style: colours that colour-blind readers can tell apart, and a unit on every axis.

The methods of `Plot` return Matplotlib figures: notebooks show a figure, ``figure.savefig("fct.svg")`` writes the file.
Source of the colours: M. Okabe and K. Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

import io
import itertools
import math
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from matplotlib.transforms import Bbox

from xoff import formatting
from xoff.results import counts
from xoff.results.spans import covered


class Recorded(Protocol):
    """The summary and the tables of a run from which figures are drawn."""

    @property
    def summary(self) -> Any:
        """The summary: numbers of the whole run."""

    @property
    def flows(self) -> pa.Table:
        """One row per flow."""

    @property
    def messages(self) -> pa.Table:
        """One row per delivered message of a job."""

    @property
    def links(self) -> pa.Table:
        """One row per direction of a link."""

    @property
    def pauses(self) -> pa.Table:
        """One row per pause."""

    @property
    def samples(self) -> pa.Table:
        """Depths of queues over time."""


COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
STYLE = {
    "font.size": 9,
    # Names are plain text: a dollar sign begins no formula.
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "svg.hashsalt": "xoff",
    "svg.fonttype": "none",
    # Text stays text (TrueType), and does not become outlines.
    "pdf.fonttype": 42,
}
_PS_PER_US = 1e6


def colour(name: str) -> str:
    """Returns the colour of a mechanism or another cause of pauses: one colour per name, in all figures and pages."""
    known = [group.name for group in counts.groups()]
    return COLOURS[(known.index(name) if name in known else len(known)) % len(COLOURS)]


class Canvas(Figure):  # type: ignore[misc]
    """A figure for notebooks, outside pyplot's list of open figures."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        _number_logs(self)
        self.savefig(buffer, format="png", dpi=144)
        return buffer.getvalue()


def canvas(width: float = 6.4, height: float = 3.6) -> tuple[Figure, Any]:
    """Returns an empty figure (width and height in inches) and its one pair of axes."""
    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def grouped_bars(
    axes: Axes, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], *, digits: int = 2
) -> None:
    """Draws one bar for each group and series, side by side, labelled with its value. None draws no bar."""
    width = 0.8 / max(len(series), 1)
    for index, (label, values) in enumerate(series):
        places = [group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))]
        heights = [value or 0.0 for value in values]
        bars = axes.bar(places, heights, width * 0.94, label=label, color=COLOURS[index % len(COLOURS)])
        texts = ["" if value is None else f"{value:.{digits}f}" for value in values]
        axes.bar_label(bars, texts, fontsize=6, padding=1)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Slowdown percentiles of the flows in one bin of sizes."""

    largest_bytes: int
    """Size of the largest flow in the bin."""
    flows: int
    median: float
    p95: float
    p99: float


def cumulative(flows: pa.Table, column: str) -> tuple[list[float], list[float]]:
    """Returns the sorted values of a column (times in µs) and, for each value, the share of flows at or below it."""
    values = sorted(flows[column].drop_null().to_pylist())
    if column.endswith("_ps"):
        values = [value / _PS_PER_US for value in values]
    return values, [(rank + 1) / len(values) for rank in range(len(values))]


def size_bins(flows: pa.Table, bins: int = 20) -> list[SizeBin]:
    """Returns slowdown percentiles in bins of equally many flows, by flow size (20 bins hold 5 % each).

    The percentile p of n sorted values is the value at index ⌊n·p⌋, as in the scripts of HPCC and ConWeave.
    """
    rows = sorted(
        (size, slowdown)
        for size, slowdown in zip(flows["size_bytes"].to_pylist(), flows["slowdown"].to_pylist(), strict=True)
        if slowdown is not None
    )
    bins = min(bins, len(rows))
    edges = [len(rows) * index // bins for index in range(bins + 1)] if rows else [0]
    made = []
    for start, end in itertools.pairwise(edges):
        values = sorted(slowdown for _, slowdown in rows[start:end])
        median, p95, p99 = (values[math.floor(len(values) * share)] for share in (0.5, 0.95, 0.99))
        made.append(SizeBin(rows[end - 1][0], len(values), median, p95, p99))
    return made


def has_sizes(by: Sequence[tuple[str, pa.Table]]) -> bool:
    """Whether slowdowns differ by size: bins of one size alone are a single place, which no line shows."""
    return len({one.largest_bytes for _, flows in by for one in size_bins(flows)}) > 1


def deepest(result: Recorded, top: int) -> list[tuple[str, list[float], list[float]]]:
    """Returns the `top` deepest queues, deepest first: name, times in µs, depths in KB."""
    samples, links = result.samples, result.links
    peers = dict(
        zip(
            zip(links["node"].to_pylist(), links["port"].to_pylist(), strict=True),
            links["peer"].to_pylist(),
            strict=True,
        )
    )
    most: dict[tuple[str, int, int], int] = {}
    lines: dict[tuple[str, int, int], tuple[list[float], list[float]]] = {}
    columns = (samples[name].to_pylist() for name in ("time_ps", "node", "port", "queue", "bytes"))
    for time, node, port, queue, size in zip(*columns, strict=True):
        key = (str(node), int(port), int(queue))
        most[key] = max(most.get(key, 0), size)
        times, sizes = lines.setdefault(key, ([], []))
        times.append(time / _PS_PER_US)
        sizes.append(size / 1000)
    shown = sorted(most, key=lambda key: (-most[key], key))[:top]
    # The port distinguishes parallel links to one neighbour.
    pairs = Counter((node, peer) for (node, _), peer in peers.items())
    names = []
    for node, port, queue in shown:
        peer = peers.get((node, port))
        parallel = f" port {port}" if peer is None or pairs[node, peer] > 1 else ""
        names.append(f"{node} → {peer}{parallel} queue {queue}" if peer else f"{node}{parallel} queue {queue}")
    return [(name, *lines[key]) for name, key in zip(names, shown, strict=True)]


def paused_ports(result: Recorded) -> list[tuple[str, list[tuple[str, float, float]]]]:
    """Returns the paused ports, the longest paused first: name, and cause, start and length of each pause in µs."""
    pauses = result.pauses
    horizon = result.summary.get("simulated_ps", 0)
    rows: dict[str, list[tuple[str, float, float]]] = {}
    columns = (pauses[name].to_pylist() for name in ("node", "peer", "cause", "start_ps", "end_ps"))
    for node, peer, cause, start, end in zip(*columns, strict=True):
        span = ((horizon if end is None else end) - start) / _PS_PER_US
        rows.setdefault(f"{node} → {peer}", []).append((cause, start / _PS_PER_US, span))
    return sorted(rows.items(), key=lambda row: (-paused_us(row[1]), row[0]))


def paused_us(spans: Sequence[tuple[str, float, float]]) -> float:
    """Returns the time in which at least one queue of a port was paused, from its pauses as in `paused_ports`."""
    return covered((start, start + length) for _, start, length in spans)


def subject(groups: Iterable[tuple[str, pa.Table]]) -> str:
    """Returns the kind of rows in `measured` tables: ``flows``, ``messages``, or ``flows and messages``."""
    kinds = set()
    for _, rows in groups:
        # Only messages have a number in the column `message`.
        flows = rows["message"].null_count if "message" in rows.column_names else rows.num_rows
        kinds |= {"flows"} if flows else set()
        kinds |= {"messages"} if flows < rows.num_rows else set()
    return " and ".join(sorted(kinds)) or "flows"


def axis_labels(groups: Sequence[tuple[str, pa.Table]], *, slowdown: bool = False) -> tuple[str, str]:
    """Returns the titles of the x axis and the y axis of a distribution of completion times or slowdowns."""
    what = subject(groups)
    time = {"flows": "flow completion time (µs)", "messages": "message completion time (µs)"}
    x = "slowdown (FCT / ideal FCT)" if slowdown else time.get(what, "completion time (µs)")
    return x, f"share of the {what}"


def size_label(groups: Sequence[tuple[str, pa.Table]]) -> str:
    """Returns the axis title of sizes: ``flow size``, ``message size``, or ``size`` for both."""
    return {"flows": "flow size", "messages": "message size"}.get(subject(groups), "size")


def draw_cdf(axes: Axes, groups: Sequence[tuple[str, pa.Table]], *, slowdown: bool = False) -> None:
    """Draws the cumulative distribution of completion times or slowdowns of each group of flows."""
    for index, (name, flows) in enumerate(groups):
        values, shares = cumulative(flows, "slowdown" if slowdown else "fct_ps")
        # Earlier curves are wider, so that a curve stays visible beneath an equal curve.
        width = max(1.0, 3.0 - 0.5 * index) if len(groups) > 1 else 1.4
        # Curves start at zero: the curve of a single flow would otherwise be a point.
        axes.step(
            [*values[:1], *values],
            [*([0.0] * len(values[:1])), *shares],
            where="post",
            label=name,
            color=COLOURS[index % len(COLOURS)],
            linewidth=width,
        )
    values = [value for _, flows in groups for value in cumulative(flows, "slowdown" if slowdown else "fct_ps")[0]]
    if values and max(values) > 10 * min(values):
        axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    x_label, y_label = axis_labels(groups, slowdown=slowdown)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    legend(axes, len(groups))


def draw_slowdown(axes: Axes, groups: Sequence[tuple[str, pa.Table]]) -> None:
    """Draws the median (solid) and the 99th percentile (dashed) of the slowdown of each group, by bins of flow size.

    If all flows have one size, draws one box per group instead: the quartiles, with whiskers to the least and the
    greatest slowdown.
    """
    sizes = {size for _, flows in groups for size in flows["size_bytes"].unique().to_pylist()}
    if len(sizes) == 1:
        _draw_boxes(axes, groups, sizes.pop())
        return
    ticks: list[SizeBin] = []
    for index, (name, flows) in enumerate(groups):
        found = size_bins(flows)
        # Groups with equal sizes have equal bins; otherwise the bins of the first group label the axis.
        ticks = ticks or found
        colour = COLOURS[index % len(COLOURS)]
        places = [(place + 0.5) / len(found) for place in range(len(found))]
        axes.plot(places, [one.median for one in found], "o-", markersize=3, color=colour, label=f"{name}, median")
        axes.plot(places, [one.p99 for one in found], "s--", markersize=3, color=colour, label=f"{name}, p99")
    step = max(1, len(ticks) // 10)
    axes.set_xticks(
        [(place + 0.5) / len(ticks) for place in range(0, len(ticks), step)],
        [_short(one.largest_bytes) for one in ticks[::step]],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    axes.set_yscale("log")
    axes.set_xlabel(f"{size_label(groups)} up to (bins of equally many {subject(groups)})")
    axes.set_ylabel("slowdown (FCT / ideal FCT)")
    legend(axes, 2 * len(groups))


def _draw_boxes(axes: Axes, groups: Sequence[tuple[str, pa.Table]], size: int) -> None:
    values = [flows["slowdown"].drop_null().to_pylist() for _, flows in groups]
    boxes = axes.boxplot(values, whis=(0, 100), patch_artist=True, widths=0.6, medianprops={"color": "black"})
    for index, box in enumerate(boxes["boxes"]):
        box.set(facecolor=COLOURS[index % len(COLOURS)], alpha=0.6)
    names = ["\n".join(textwrap.wrap(name, 18)[:3]) for name, _ in groups]
    axes.set_xticks(range(1, len(groups) + 1), names, fontsize=7, rotation=30 if len(groups) > 3 else 0)
    flat = [value for one in values for value in one]
    if flat and min(flat) > 0 and max(flat) > 10 * min(flat):
        axes.set_yscale("log")
    axes.set_xlabel(f"all {subject(groups)} have {_short(size)}; box: quartiles, whiskers: least and most")
    axes.set_ylabel("slowdown (FCT / ideal FCT)")


class Plot:
    """The figures of one result, as ``result.plot``."""

    def __init__(self, result: Recorded) -> None:
        self._result = result

    def fct_cdf(self, *, by: str | None = "workload", slowdown: bool = False) -> Figure:
        """Draws the cumulative distribution of completion times or slowdowns: one curve for each value of column `by`.

        For jobs the distribution is of messages, as in the summary.
        """
        with rc_context(STYLE):
            figure, axes = canvas()
            draw_cdf(axes, groups(measured(self._result), by), slowdown=slowdown)
            return figure

    def slowdown_by_size(self, *, by: str | None = None) -> Figure:
        """Draws the median and the 99th percentile of the slowdown, by size, in 20 bins of equally many rows.

        The rows are flows, and messages of jobs.
        """
        with rc_context(STYLE):
            figure, axes = canvas()
            draw_slowdown(axes, groups(measured(self._result), by))
            return figure

    def fct_bars(self, by: str = "workload") -> Figure:
        """Draws the mean completion time of each group, with whiskers from the shortest to the longest.

        For jobs the times are of messages.
        """
        with rc_context(STYLE):
            figure, axes = canvas()
            found = groups(measured(self._result), by)
            labels = ["\n".join(textwrap.wrap(name, 18)[:3]) for name, _ in found]
            times = [[value / _PS_PER_US for value in flows["fct_ps"].to_pylist()] for _, flows in found]
            means = [sum(values) / len(values) for values in times]
            spread = [
                [max(0.0, mean - min(values)) for mean, values in zip(means, times, strict=True)],
                [max(0.0, max(values) - mean) for mean, values in zip(means, times, strict=True)],
            ]
            axes.bar(range(len(found)), means, 0.6, yerr=spread if found else None, color=COLOURS[0], capsize=3)
            axes.set_xticks(range(len(found)), labels, rotation=30 if len(found) > 6 else 0)
            axes.grid(visible=False, axis="x")
            axes.set_xlabel(f"{by}; bar: mean, whisker: shortest to longest")
            axes.set_ylabel(axis_labels(found)[0])
            return figure

    def link_use(self, *, rows: int = 48) -> Figure:
        """Draws the shares of the time in which each port sent and was paused: one row per node, one column per port.

        Nodes with a single port share rows. Of more than `rows` rows, the busiest are drawn, in the order of nodes.
        """
        links = self._result.links
        horizon = self._result.summary.get("simulated_ps") or 1
        ports: dict[str, dict[int, tuple[float, float]]] = {}
        for link in links.select(["node", "port", "utilisation", "paused_ps"]).to_pylist():
            shares = (link["utilisation"], min(link["paused_ps"] / horizon, 1.0))
            ports.setdefault(link["node"], {})[link["port"]] = shares
        width = max((max(found) + 1 for found in ports.values()), default=1)
        grid = _port_rows(ports, max(width, 8), rows)
        with rc_context(STYLE):
            figure = Canvas(figsize=(7.2, max(1.6, 0.9 + 0.16 * len(grid))), layout="constrained")
            for index, (axes, title) in enumerate(
                zip(figure.subplots(1, 2, sharey=True), ("sending", "paused"), strict=True)
            ):
                cells = [[float("nan") if one is None else one[index] for one in cells] for _, cells in grid]
                image = axes.imshow(cells, cmap="YlGnBu", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
                axes.grid(visible=False)
                axes.set_title(title, fontsize=9)
                axes.set_xlabel("port")
                axes.set_yticks(range(len(grid)), [name for name, _ in grid], fontsize=7)
            figure.colorbar(image, ax=figure.axes, label="share of the time", shrink=0.9)
            return figure

    def queue_depth(self, *, top: int = 6) -> Figure:
        """Draws the depth of the `top` deepest queues over time. Needs the table ``samples`` (``probe.queues``)."""
        with rc_context(STYLE):
            figure, axes = canvas()
            shown = deepest(self._result, top)
            for index, (label, times, sizes) in enumerate(shown):
                width = max(0.6, 1.8 - 0.2 * index)
                axes.plot(times, sizes, label=label, color=COLOURS[index % len(COLOURS)], linewidth=width)
            axes.set_xlabel("time (µs)")
            axes.set_ylabel("queue depth (KB)")
            if shown:
                handles, labels = axes.get_legend_handles_labels()
                legend_outside(figure, handles, labels, 3)
            return figure

    def pauses(self, *, top: int = 30) -> Figure:
        """Draws the pauses of the `top` ports that were paused longest: one row per port, coloured by cause."""
        shown = paused_ports(self._result)[:top]
        causes = sorted({cause for _, spans in shown for cause, _, _ in spans})
        with rc_context(STYLE):
            figure, axes = canvas(height=max(1.8, 1.1 + 0.22 * len(shown)))
            for place, (_, found) in enumerate(shown):
                for cause in causes:
                    spans = [(start, span) for kind, start, span in found if kind == cause]
                    axes.broken_barh(spans, (place - 0.4, 0.8), color=colour(cause))
            for cause in causes:
                axes.plot([], [], color=colour(cause), linewidth=6, label=cause)
            axes.set_yticks(range(len(shown)), [name for name, _ in shown])
            axes.invert_yaxis()
            axes.set_xlabel("time (µs)")
            if not shown:
                axes.set_title("no pause")
            if causes:
                figure.legend(loc="outside lower center", ncols=4, fontsize=8)
            return figure


def completed(flows: pa.Table) -> pa.Table:
    """Returns the delivered flows. Connections of jobs have no completion time and are left out."""
    return flows.filter(pc.is_valid(flows["fct_ps"]))


def measured(result: Recorded) -> pa.Table:
    """Returns the flows and messages from which ``fct_ps`` and ``slowdown`` of the summary's workloads are computed.

    The table holds the delivered flows that carry no messages, and the delivered messages of jobs.
    """
    flows = completed(result.flows)
    try:
        messages = result.messages
    except LookupError:
        return flows
    if not messages.num_rows:
        return flows
    parts = [flows, messages.select(_MESSAGES)]
    # Without measured flows, the columns that only flows have are left out.
    parts = parts if flows.num_rows else parts[1:]
    return pa.concat_tables([_plain(part) for part in parts], promote_options="default")


_MESSAGES = (
    "flow", "message", "workload", "label", "src", "dst", "size_bytes", "start_ps", "fct_ps", "ideal_fct_ps",
    "slowdown",
)  # fmt: skip


def _plain(rows: pa.Table) -> pa.Table:
    """Returns a table with dictionary columns as plain text: two tables may number equal names differently."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            rows = rows.set_column(place, field.name, pc.cast(rows[field.name], field.type.value_type))
    return rows


def groups(flows: pa.Table, by: str | None) -> list[tuple[str, pa.Table]]:
    """Returns the flows by the values of column `by`, in order of first appearance; one group ``all`` if `by` is None.

    Raises `LookupError` if flows have no such column.
    """
    if by is None:
        return [("all", flows)]
    if by not in flows.column_names:
        raise LookupError(f"flows have no column `{by}`; columns are {', '.join(flows.column_names)}")
    values: Iterable[Any] = dict.fromkeys(flows[by].to_pylist())
    return [
        (
            "–" if value is None else str(value),
            flows.filter(pc.is_null(flows[by]) if value is None else pc.equal(flows[by], value)),
        )
        for value in values
    ]


def legend(axes: Axes, entries: int) -> None:
    """Adds a legend if there is more than one entry."""
    if entries > 1:
        # Handles are long enough to show a dashed line.
        axes.legend(fontsize=8, handlelength=3)


def legend_outside(figure: Figure, handles: Sequence[Any], labels: Sequence[str], most: int = 4) -> None:
    """Puts a legend below the axes, with as many columns (at most `most`) as fit the figure's width."""
    # At this font size a letter is 1/16 inch wide, and the handle and its margins take seven letters.
    letters = int(figure.get_figwidth() * 16)
    shown = ["\n".join(textwrap.wrap(label, letters - 7)[:3]) or label for label in labels]
    longest = max((len(line) for label in shown for line in label.splitlines()), default=1)
    columns = max(1, min(most, letters // (longest + 7), len(labels)))
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, fontsize=8)


def legend_below(figure: Figure, columns: int) -> None:
    """Puts the legend of the first panel below all panels."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    legend_outside(figure, handles, labels, columns)


def svg(figure: Figure) -> str:
    """Returns a figure as SVG text. Equal figures give equal text."""
    buffer = io.BytesIO()
    _write(figure, buffer, "svg")
    return _numbered(buffer.getvalue().decode())


def png(figure: Figure) -> bytes:
    """Returns a figure as PNG bytes, as `write` writes them."""
    buffer = io.BytesIO()
    _write(figure, buffer, "png")
    return buffer.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Writes a figure in the style of this module. Equal figures give equal bytes. PNG has 300 dots per inch."""
    if path.suffix == ".svg":
        path.write_text(svg(figure), "utf-8")
        return
    with path.open("wb") as file:
        _write(figure, file, path.suffix[1:])


def _write(figure: Figure, file: BinaryIO, form: str) -> None:
    forms: dict[str, dict[str, Any]] = {
        "svg": {"metadata": {"Date": None}},
        "pdf": {"metadata": {"CreationDate": None}},
        "png": {"metadata": {"Software": None}, "dpi": 300},
    }
    _number_logs(figure)
    _make_plain(figure)
    with rc_context(STYLE), warnings.catch_warnings():
        # The caller cannot act on these warnings: a letter that the font lacks, and a name that leaves no room for
        # axes.
        warnings.filterwarnings("ignore", "Glyph .* missing|constrained_layout not applied", UserWarning)
        # No text is cut: the canvas grows to hold all texts.
        figure.savefig(file, format=form, bbox_inches=_whole(figure), **forms[form])


def _whole(figure: Figure) -> Bbox | None:
    """Returns a box in inches that holds the figure and all of its texts; None if the figure's own canvas does."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    own = figure.bbox_inches
    wanted = Bbox.union([own, drawn.padded(0.03)])
    # Differences below 0.02 inch are rounding.
    return None if all(abs(a - b) < 0.02 for a, b in zip(own.extents, wanted.extents, strict=True)) else wanted


def _numbered(svg: str) -> str:
    """Renumbers the clip paths of an SVG: Matplotlib names them by hashes of coordinates whose last bits may differ."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return found[1] + numbers.setdefault(found[2], f"clip{len(numbers) + 1}")

    return re.sub(r'( id="|url\(#)(p[0-9a-f]{10})(?=["\)])', number, svg)


class _PlainLog(LogFormatter):  # type: ignore[misc]
    """Plain-text numbers of a logarithmic axis; Matplotlib's own formatter writes formulas."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def _number_logs(figure: Figure) -> None:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log" and axis.isDefault_majfmt:
                axis.set_major_formatter(_PlainLog())
                axis.set_minor_formatter(_PlainLog(labelOnlyBase=False))


# A name from a file may have a million letters; every text of xoff is shorter than these limits.
_LONGEST_TICK, _LONGEST_TEXT, _LINES = 160, 500, 4


def _label(text: str, most: int) -> str:
    cut = text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"
    lines = cut.split("\n")
    # Texts of xoff have few lines; a text with more lines holds a name from a file.
    return "\n".join(map(formatting.plain, lines)) if len(lines) <= _LINES else formatting.plain(cut)


def _make_plain(figure: Figure) -> None:
    """Shortens all texts of a figure, and replaces the characters that a picture cannot hold."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            names = [text.get_text() for text in axis.get_ticklabels()]
            if names != (plain := [_label(name, _LONGEST_TICK) for name in names]):
                axis.set_ticks(axis.get_ticklocs(), plain)
    for text in figure.findobj(Text):
        text.set_text(_label(text.get_text(), _LONGEST_TEXT))


FORMATS = ("svg", "png", "pdf")
"""File formats of figures."""


def save(figure: Figure, directory: Path, name: str, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Writes a figure in some of `FORMATS`, and returns the paths.

    In `name`, characters other than letters, digits and ``_.-`` become ``_``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{formatting.file_name(name)}.{form}" for form in formats]
    for path in paths:
        write(figure, path)
    return paths


def _short(size: int) -> str:
    return formatting.size(size).replace(".0 ", " ")


def _port_rows(
    ports: Mapping[str, Mapping[int, tuple[float, float]]], width: int, limit: int
) -> list[tuple[str, list[tuple[float, float] | None]]]:
    """Returns the rows of a map of ports: one row per node, and shared rows for nodes with a single port.

    The `limit` busiest rows are kept, in their order.
    """
    several = {name: found for name, found in ports.items() if len(found) > 1}
    single = [(name, found[min(found)]) for name, found in ports.items() if len(found) == 1]
    made: list[tuple[str, list[tuple[float, float] | None]]] = [
        (name, [found.get(port) for port in range(width)]) for name, found in several.items()
    ]
    for start in range(0, len(single), width):
        part = single[start : start + width]
        name = part[0][0] if len(part) == 1 else f"{part[0][0]} – {part[-1][0]}"
        cells: list[tuple[float, float] | None] = [one for _, one in part]
        made.append((name, cells + [None] * (width - len(part))))
    busy = sorted(range(len(made)), key=lambda row: -max((sum(one) for one in made[row][1] if one), default=0.0))
    return [made[row] for row in sorted(busy[:limit])]
