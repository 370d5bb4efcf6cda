"""Figures of a serving workload: requests over time, decode steps over time, and distributions of service times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from xoff import formatting, plots
from xoff.plots import COLOURS, STYLE, Canvas

REQUESTS = 60
"""The number of requests drawn: consecutive arrivals around the request with the longest ITL."""
INSTANCES = 4
"""The number of instances with drawn decode steps."""
PHASES = {
    "reserve": ("reserve_queue_ps",),
    "prefill": ("prefill_queue_ps", "prefill_compute_ps", "prefill_exposed_ps", "prefill_bubble_ps"),
    "kv": ("kv_queue_ps", "kv_exposed_ps"),
    "decode": ("decode_queue_ps", "decode_compute_ps", "decode_exposed_ps", "decode_bubble_ps"),
}
"""The phases of a request, with the columns of the table `requests` that add up to each phase."""
PHASE_NAMES = {"reserve": "memory", "prefill": "prefill", "kv": "KV cache", "decode": "decode"}
"""The phases in words; in `memory` a request waits for memory at decode."""
_KINDS = {
    "queue": ("waiting", COLOURS[4]),
    "compute": ("computing", COLOURS[0]),
    "exposed": ("messages on their way", COLOURS[1]),
    "bubble": ("waiting for other ranks", "#AAAAAA"),
}
# The share of white in the colours of a phase, and the hatch.
_SHADES = {"reserve": (0.0, "xxxxxx"), "prefill": (0.0, ""), "kv": (0.0, "//////"), "decode": (0.55, "")}
# The columns of a figure of steps, and the points of a curve: no screen shows more.
_COLUMNS, _POINTS = 360, 2000


class Recorded(Protocol):
    """The scenario and the tables of a run from which figures are drawn."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario."""

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables."""

    @property
    def requests(self) -> pa.Table:
        """One row per request."""

    @property
    def steps(self) -> pa.Table:
        """One row per step of a DP rank."""

    @property
    def tokens(self) -> pa.Table:
        """One row per token."""


def names(result: Recorded) -> list[str]:
    """Returns the names of the serving workloads with requests."""
    if not {"requests", "steps"} <= set(result.tables):
        return []
    return [str(name) for name in pc.unique(result.requests["workload"]).to_pylist()]


def settings(result: Recorded, name: str) -> Mapping[str, Any]:
    """Returns the settings of a serving workload; empty if the scenario lacks the workload."""
    named = {one.get("name", "serving"): one.get("serving") for one in result.scenario.get("workload") or []}
    return named.get(name) or {}


def limits(result: Recorded, name: str) -> dict[str, int]:
    """Returns the limits of service levels in picoseconds: ``ttft``, ``tpot``, ``itl`` and ``e2e``, if given."""
    given = settings(result, name).get("slo") or {}
    found = {key: formatting.quantity(str(limit)) for key, limit in given.items() if limit is not None}
    return {key: quantity[0] for key, quantity in found.items() if quantity is not None}


def phases(result: Recorded, name: str) -> dict[str, tuple[str, ...]]:
    """Returns the phases of a request in order of time. With `pull`, a request waits for memory after prefill."""
    pulls = (settings(result, name).get("kv") or {}).get("handoff") == "pull"
    order = ("prefill", "reserve", "kv", "decode") if pulls else tuple(PHASES)
    return {phase: PHASES[phase] for phase in order}


def of(table: pa.Table, name: str) -> pa.Table:
    """Returns the rows of a workload."""
    return table.filter(pc.equal(pc.cast(table["workload"], pa.string()), name))


def measured(result: Recorded, name: str) -> pa.Table:
    """Returns the requests of a workload in order of arrival, without requests of the warm-up."""
    ends = 0
    for one in result.scenario.get("workload") or []:
        if one.get("name", "serving") == name:
            texts = (one.get("start"), (one.get("serving") or {}).get("warmup"))
            ends = sum(quantity[0] for text in texts if text and (quantity := formatting.quantity(str(text))))
    rows = of(result.requests, name)
    return rows.filter(pc.greater_equal(rows["arrival_ps"], ends)).sort_by("request")


def shown(result: Recorded, name: str) -> list[dict[str, Any]]:
    """Returns the drawn requests: ended requests with consecutive arrivals around the longest ITL."""
    rows: list[dict[str, Any]] = [row for row in measured(result, name).to_pylist() if row["e2e_ps"] is not None]
    if len(rows) <= REQUESTS:
        return rows
    longest = max(range(len(rows)), key=lambda place: rows[place]["itl_max_ps"] or 0)
    first = min(max(longest - REQUESTS // 2, 0), len(rows) - REQUESTS)
    return rows[first : first + REQUESTS]


def requests(result: Recorded, name: str) -> Figure:
    """Draws a bar for each request from the arrival to the last token, with the parts of the time in order."""
    rows = shown(result, name)
    begin = min((row["arrival_ps"] for row in rows), default=0)
    end = max((row["arrival_ps"] + row["e2e_ps"] for row in rows), default=1)
    scale, unit = formatting.scale(end, "time_ps")
    handles: list[Any] = []
    with rc_context(STYLE | {"hatch.linewidth": 0.5}):
        height = 2.1 + (0.16 if len(rows) <= 30 else 0.11) * len(rows)
        figure = Canvas(figsize=(7.2, height), layout="constrained")
        axes = figure.add_subplot()
        left = [row["arrival_ps"] / scale for row in rows]
        for phase, columns in phases(result, name).items():
            for column in columns:
                widths = [row[column] / scale for row in rows]
                if not any(widths):
                    continue
                style = _style(phase, column)
                axes.barh(range(len(rows)), widths, 0.84, left=left, **style)
                handles.append(Patch(label=_label(phase, column), **style))
                left = [before + width for before, width in zip(left, widths, strict=True)]
        firsts = [
            ((row["arrival_ps"] + row["ttft_ps"]) / scale, place)
            for place, row in enumerate(rows)
            if row["ttft_ps"] is not None
        ]
        mark: dict[str, Any] = {"marker": "|", "color": "black", "linestyle": "none", "markersize": 5}
        axes.plot([time for time, _ in firsts], [place for _, place in firsts], **mark)
        handles.append(Line2D([], [], label="first token", **mark))
        every = max(1, -(-len(rows) // 30))
        axes.set_yticks(
            range(0, len(rows), every), [f"request {row['request']:,}" for row in rows[::every]], fontsize=7
        )
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(max(0, begin - (end - begin) * 0.02) / scale, (end + (end - begin) * 0.02) / scale)
        axes.set_xlabel(f"time ({unit})")
        axes.set_title("Requests over time: the parts from the arrival to the last token", fontsize=9)
        axes.grid(visible=False, axis="y")
        plots.legend_outside(figure, handles, [str(handle.get_label()) for handle in handles], 3)
        return figure


def _label(phase: str, column: str) -> str:
    kind = column.removesuffix("_ps").rpartition("_")[2]
    return f"{PHASE_NAMES[phase]}: {_KINDS[kind][0]}"


def _style(phase: str, column: str) -> dict[str, Any]:
    """Returns the colour of a part's kind in the shade or hatch of a phase."""
    white, hatch = _SHADES[phase]
    colour = to_rgb(_KINDS[column.removesuffix("_ps").rpartition("_")[2]][1])
    mixed = tuple(part + (1 - part) * white for part in colour)
    return {"facecolor": mixed, "edgecolor": "white", "linewidth": 0.0, "hatch": hatch}


@dataclass(frozen=True, slots=True)
class LockStep:
    """Steps of DP ranks that began together: means of the parts, and the time until the last rank ended."""

    start_ps: int
    end_ps: int
    compute_ps: float
    exposed_ps: float

    @property
    def ps(self) -> int:
        """The duration in picoseconds."""
        return self.end_ps - self.start_ps


def pool(result: Recorded, name: str) -> str:
    """Returns the pool that makes tokens: ``decode`` or ``aggregated``."""
    pools = pc.unique(pc.cast(of(result.steps, name)["phase"], pa.string())).to_pylist()
    return "aggregated" if "aggregated" in pools else "decode"


def lock_steps(result: Recorded, name: str) -> dict[int, list[LockStep]]:
    """Returns the steps of the pool that makes tokens, by instance, in order of time."""
    rows = of(result.steps, name)
    rows = rows.filter(pc.equal(pc.cast(rows["phase"], pa.string()), pool(result, name)))
    sums = [("end_ps", "max"), ("compute_ps", "mean"), ("exposed_ps", "mean")]
    grouped = rows.group_by(["instance", "step", "start_ps"]).aggregate(sums)
    found: dict[int, list[LockStep]] = {}
    for row in grouped.sort_by(
        [("instance", "ascending"), ("start_ps", "ascending"), ("step", "ascending")]
    ).to_pylist():
        step = LockStep(row["start_ps"], row["end_ps_max"], row["compute_ps_mean"], row["exposed_ps_mean"])
        found.setdefault(row["instance"], []).append(step)
    return found


def steps(result: Recorded, name: str) -> Figure:
    """Draws the duration of the steps that make tokens over time, one panel for each instance."""
    found = dict(list(lock_steps(result, name).items())[:INSTANCES])
    every = [step for one in found.values() for step in one]
    begin, end = min((step.start_ps for step in every), default=0), max((step.end_ps for step in every), default=1)
    scale, unit = formatting.scale(end, "time_ps")
    tall, tall_unit = formatting.scale(max((step.ps for step in every), default=1), "time_ps")
    parts = {key: _KINDS[key] for key in ("compute", "exposed", "bubble")}
    with rc_context(STYLE):
        figure = Canvas(figsize=(7.2, 1.3 + 1.7 * max(len(found), 1)), layout="constrained")
        panels = figure.subplots(max(len(found), 1), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (instance, own) in zip(panels, found.items(), strict=False):
            edges, columns = _columns(own, begin, end)
            base = [0.0] * len(columns)
            for key, (_, colour) in parts.items():
                tops = [low + values[key] / tall for low, values in zip(base, columns, strict=True)]
                axes.stairs(tops, [edge / scale for edge in edges], baseline=base, fill=True, color=colour, linewidth=0)
                base = tops
            axes.set_ylabel(f"step ({tall_unit})")
            axes.set_ylim(bottom=0)
            if len(found) > 1:
                axes.set_title(f"instance {instance}", fontsize=8, loc="left")
        panels[-1].set_xlabel(f"time ({unit})")
        panels[-1].set_xlim(begin / scale, end / scale)
        figure.suptitle(f"Steps of {pool(result, name)} over time: duration and parts", fontsize=9)
        handles = [Patch(color=colour, label=label) for label, colour in parts.values()]
        plots.legend_outside(figure, handles, [str(handle.get_label()) for handle in handles], 3)
        return figure


def _columns(found: Sequence[LockStep], begin: int, end: int) -> tuple[list[float], list[dict[str, float]]]:
    """Returns the edges of columns over time, and the parts of the longest step in each column."""
    width = max((end - begin) / _COLUMNS, 1)
    edges = [begin + width * number for number in range(_COLUMNS + 1)]
    longest: list[LockStep | None] = [None] * _COLUMNS
    for step in found:
        last = min(int((step.end_ps - begin) / width), _COLUMNS - 1)
        for number in range(int((step.start_ps - begin) / width), last + 1):
            before = longest[number]
            if before is None or before.ps < step.ps:
                longest[number] = step
    empty = {"compute": 0.0, "exposed": 0.0, "bubble": 0.0}
    return edges, [empty if step is None else _split(step) for step in longest]


def _split(step: LockStep) -> dict[str, float]:
    rest = step.ps - step.compute_ps - step.exposed_ps
    return {"compute": step.compute_ps, "exposed": step.exposed_ps, "bubble": max(rest, 0.0)}


@dataclass(frozen=True, slots=True)
class Curve:
    """A distribution of a service time, with the limit of the service level."""

    label: str
    values: list[int]
    limit: int | None


def first_tokens(result: Recorded, name: str) -> list[Curve]:
    """Returns the distribution of TTFT."""
    values = measured(result, name)["ttft_ps"].drop_null().to_pylist()
    return [Curve("TTFT of requests", sorted(values), limits(result, name).get("ttft"))]


def gaps(result: Recorded, name: str) -> list[Curve]:
    """Returns the distribution of ITL, if the run recorded tokens; otherwise TPOT and the longest ITL of requests."""
    rows, given = measured(result, name), limits(result, name)
    ended = rows.filter(pc.is_valid(rows["e2e_ps"]))
    tpot = Curve("TPOT of requests", sorted(ended["tpot_ps"].drop_null().to_pylist()), given.get("tpot"))
    if has_tokens(result, name):
        tokens = of(result.tokens, name)
        tokens = tokens.filter(pc.is_in(tokens["request"], rows["request"].combine_chunks()))
        itl = Curve("ITL of tokens", sorted(tokens["itl_ps"].drop_null().to_pylist()), given.get("itl"))
        return [itl, tpot] if "tpot" in given else [itl]
    longest = Curve("longest ITL of requests", sorted(ended["itl_max_ps"].drop_null().to_pylist()), given.get("itl"))
    return [tpot, longest]


def has_tokens(result: Recorded, name: str) -> bool:
    """True if the run recorded tokens of the workload."""
    return "tokens" in result.tables and of(result.tokens, name).num_rows > 0


def times(result: Recorded, name: str) -> Figure:
    """Draws the distributions of TTFT and of the time between tokens, beside the limits of the service levels."""
    with rc_context(STYLE):
        figure = Canvas(figsize=(7.2, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        handles = [*_distribution(left, first_tokens(result, name), 0)]
        handles += _distribution(right, gaps(result, name), 1)
        left.set_title("Time to the first token (TTFT)", fontsize=9)
        right.set_title("Time between tokens", fontsize=9)
        left.set_ylabel("share at or below")
        left.set_ylim(0, 1.02)
        plots.legend_outside(figure, handles, [str(handle.get_label()) for handle in handles], 3)
        return figure


def _distribution(axes: Axes, curves: Sequence[Curve], colour: int) -> Iterator[Line2D]:
    """Draws curves with their limits as dashed lines of the same colour, and yields the handles of the legend."""
    every = [value for one in curves for value in (*one.values[:1], *one.values[-1:])]
    every += [one.limit for one in curves if one.limit is not None and one.values]
    scale, unit = formatting.scale(max(every, default=1), "time_ps")
    for number, one in enumerate(curves, colour):
        if not one.values:
            continue
        values = _thinned(one.values)
        line = axes.step(
            [values[0][0] / scale, *(value / scale for value, _ in values)],
            [0.0, *(share for _, share in values)],
            where="post",
            color=COLOURS[number],
            label=one.label,
        )
        yield line[0]
        if one.limit is not None:
            label = f"limit of {one.label.partition(' of ')[0]}"
            yield axes.axvline(one.limit / scale, color=COLOURS[number], linestyle="--", label=label)
    if every and 0 < 10 * min(every) < max(every):
        axes.set_xscale("log")
    axes.set_xlabel(f"time ({unit})")


def _thinned(values: Sequence[int]) -> list[tuple[int, float]]:
    """Returns sorted values with the share of values at or below each, as many as a curve shows."""
    count = len(values)
    kept = sorted({count * number // _POINTS for number in range(_POINTS)} | {count - 1}) if count else []
    return [(values[place], (place + 1) / count) for place in kept]


def pictures(result: Recorded, name: str) -> list[tuple[str, str, list[str]]]:
    """Returns each figure of a workload: title, drawing as SVG, and notes."""
    found = []
    rows = measured(result, name)
    drawn = shown(result, name)
    if drawn:
        found.append(("Requests over time", plots.svg(requests(result, name)), _on_requests(rows, drawn)))
    if made := lock_steps(result, name):
        found.append((f"Steps of {pool(result, name)} over time", plots.svg(steps(result, name)), _on_steps(made)))
    if rows["ttft_ps"].null_count < rows.num_rows:
        found.append(("Service times", plots.svg(times(result, name)), _on_times(result, name, rows)))
    return found


def _on_requests(rows: pa.Table, drawn: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = ["Prefill and decode show sums: the parts of a phase alternate during the phase."]
    ended = rows.num_rows - rows["e2e_ps"].null_count
    if len(drawn) < ended:
        notes.append(f"{len(drawn)} of {ended:,} requests: consecutive arrivals around the longest ITL.")
    if rows["e2e_ps"].null_count:
        notes.append(f"Requests that had not ended at the end of the run ({rows['e2e_ps'].null_count:,}) are left out.")
    return notes


def _on_steps(made: Mapping[int, Sequence[LockStep]]) -> list[str]:
    notes = [
        "The height is the time until the last DP rank of a lock-step ended. The parts are means over the DP ranks; "
        "a rank that ended earlier waited for the other ranks."
    ]
    if len(made) > INSTANCES:
        notes.append(f"{INSTANCES} of {len(made):,} instances are drawn.")
    if any(len(one) > _COLUMNS for one in made.values()):
        notes.append(f"Each of {_COLUMNS} columns shows the longest step of the time of the column.")
    return notes


def _on_times(result: Recorded, name: str, rows: pa.Table) -> list[str]:
    notes = []
    if has_tokens(result, name):
        notes.append("ITL is from the table of tokens.")
    else:
        notes.append(
            "The run recorded no tokens: TPOT is the mean time between the tokens of a request, beside the longest "
            "ITL of a request. To record all tokens: --set probe.tokens=true."
        )
    if rows["e2e_ps"].null_count:
        notes.append("Requests that had not ended are only in the curve of TTFT, if the first token was shown.")
    return notes
