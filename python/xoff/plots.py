"""Figures of a result, in one style: colours that colour-blind readers can tell apart, and a unit on every axis.

Each function returns a Matplotlib figure, which notebooks show and ``figure.savefig("fct.svg")`` keeps.
Source of the colours: M. Okabe and K. Ito, "Color Universal Design" (2008).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from xoff.results import Result

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
STYLE = {
    "font.size": 9,
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
}
_PS_PER_US = 1e6


class Canvas(Figure):  # type: ignore[misc]
    """A figure that shows itself in a notebook and belongs to no global list of open figures."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=144)
        return buffer.getvalue()


def canvas(width: float = 6.4, height: float = 3.6) -> tuple[Figure, Any]:
    """Return an empty figure (size in inches) with one pair of axes."""
    figure = Canvas(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def grouped_bars(
    axes: Axes, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], *, digits: int = 2
) -> None:
    """Draw one bar for each group and series, side by side, with its value above it; a missing value has no bar."""
    width = 0.8 / max(len(series), 1)
    for index, (label, values) in enumerate(series):
        places = [group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))]
        heights = [value or 0.0 for value in values]
        bars = axes.bar(places, heights, width * 0.94, label=label, color=COLOURS[index % len(COLOURS)])
        texts = ["" if value is None else f"{value:.{digits}f}" for value in values]
        axes.bar_label(bars, texts, fontsize=6, padding=1)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")


class Plot:
    """The figures of one result, as ``result.plot``."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def fct_cdf(self, *, by: str | None = "workload", slowdown: bool = False) -> Figure:
        """Cumulative distribution of the flow completion times, or of the slowdowns, one curve for each group."""
        column = "slowdown" if slowdown else "fct_ps"
        with rc_context(STYLE):
            figure, axes = canvas()
            groups = _groups(_completed(self._result.flows), by)
            for index, (name, flows) in enumerate(groups):
                values = sorted(flows[column].drop_null().to_pylist())
                if not slowdown:
                    values = [value / _PS_PER_US for value in values]
                shares = [(rank + 1) / len(values) for rank in range(len(values))]
                axes.step(values, shares, where="post", label=name, color=COLOURS[index % len(COLOURS)])
            axes.set_xscale("log")
            axes.set_ylim(0, 1.02)
            axes.set_xlabel("slowdown (FCT / ideal FCT)" if slowdown else "flow completion time (µs)")
            axes.set_ylabel("share of the flows")
            _legend(axes, len(groups))
            return figure

    def fct_bars(self, by: str = "workload") -> Figure:
        """Mean flow completion time of each group, with whiskers from the shortest to the longest."""
        with rc_context(STYLE):
            figure, axes = canvas()
            groups = _groups(_completed(self._result.flows), by)
            times = [[value / _PS_PER_US for value in flows["fct_ps"].to_pylist()] for _, flows in groups]
            means = [sum(values) / len(values) for values in times]
            spread = [
                [mean - min(values) for mean, values in zip(means, times, strict=True)],
                [max(values) - mean for mean, values in zip(means, times, strict=True)],
            ]
            axes.bar(range(len(groups)), means, 0.6, yerr=spread if groups else None, color=COLOURS[0], capsize=3)
            axes.set_xticks(range(len(groups)), [name for name, _ in groups])
            axes.grid(visible=False, axis="x")
            axes.set_xlabel(by)
            axes.set_ylabel("flow completion time (µs)")
            return figure

    def queue_depth(self, *, top: int = 6) -> Figure:
        """Depth of the deepest queues over time. Needs the table ``samples`` (``probe.queues`` in the scenario)."""
        samples = self._result.samples
        deepest: dict[tuple[str, int, int], int] = {}
        lines: dict[tuple[str, int, int], tuple[list[float], list[float]]] = {}
        columns = (samples[name].to_pylist() for name in ("time_ps", "node", "port", "queue", "bytes"))
        for time, node, port, queue, size in zip(*columns, strict=True):
            key = (str(node), int(port), int(queue))
            deepest[key] = max(deepest.get(key, 0), size)
            times, sizes = lines.setdefault(key, ([], []))
            times.append(time / _PS_PER_US)
            sizes.append(size / 1000)
        with rc_context(STYLE):
            figure, axes = canvas()
            shown = sorted(deepest, key=lambda key: (-deepest[key], key))[:top]
            for index, key in enumerate(shown):
                label = f"{key[0]} port {key[1]}" + (f" queue {key[2]}" if key[2] else "")
                axes.plot(*lines[key], label=label, color=COLOURS[index % len(COLOURS)])
            axes.set_xlabel("time (µs)")
            axes.set_ylabel("queue depth (KB)")
            _legend(axes, len(shown), always=True)
            return figure

    def pauses(self, *, top: int = 30) -> Figure:
        """When each port was paused: the ports with the longest pauses, one row each, coloured by cause."""
        pauses = self._result.pauses
        horizon = self._result.summary.get("simulated_ps", 0)
        rows: dict[str, list[tuple[str, float, float]]] = {}
        columns = (pauses[name].to_pylist() for name in ("node", "peer", "cause", "start_ps", "end_ps"))
        for node, peer, cause, start, end in zip(*columns, strict=True):
            span = ((horizon if end is None else end) - start) / _PS_PER_US
            rows.setdefault(f"{node} → {peer}", []).append((cause, start / _PS_PER_US, span))
        shown = sorted(rows, key=lambda name: (-sum(span for _, _, span in rows[name]), name))[:top]
        causes = sorted({cause for name in shown for cause, _, _ in rows[name]})
        with rc_context(STYLE):
            figure, axes = canvas(height=max(1.6, 0.9 + 0.22 * len(shown)))
            for place, name in enumerate(shown):
                for index, cause in enumerate(causes):
                    spans = [(start, span) for kind, start, span in rows[name] if kind == cause]
                    axes.broken_barh(spans, (place - 0.4, 0.8), color=COLOURS[index % len(COLOURS)])
            for index, cause in enumerate(causes):
                axes.plot([], [], color=COLOURS[index % len(COLOURS)], linewidth=6, label=cause)
            axes.set_yticks(range(len(shown)), shown)
            axes.invert_yaxis()
            axes.set_xlabel("time (µs)")
            if not shown:
                axes.set_title("no pause")
            _legend(axes, len(causes), always=True)
            return figure


def _completed(flows: pa.Table) -> pa.Table:
    return flows.filter(pc.is_valid(flows["fct_ps"]))


def _groups(flows: pa.Table, by: str | None) -> list[tuple[str, pa.Table]]:
    if by is None:
        return [("all", flows)]
    if by not in flows.column_names:
        raise LookupError(f"flows have no column `{by}`; they have {', '.join(flows.column_names)}")
    values: Iterable[Any] = dict.fromkeys(flows[by].to_pylist())
    return [
        (
            "–" if value is None else str(value),
            flows.filter(pc.is_null(flows[by]) if value is None else pc.equal(flows[by], value)),
        )
        for value in values
    ]


def _legend(axes: Axes, entries: int, *, always: bool = False) -> None:
    if entries > 1 or (always and entries):
        axes.legend(fontsize=8)
