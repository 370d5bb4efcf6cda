"""The interactive charts of a page, as data for its script: lines over shared places, each with its intervals."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from xoff import formatting, plots
from xoff.plots import COLOURS
from xoff.results import Result
from xoff.study.axes import Column
from xoff.study.figures import Line, Panel, scaled

_PS_PER_US = 1e6
# Maximum number of places of a curve: about as many as a screen has pixels.
_PLACES = 400


def chart(
    id: str,
    title: str,
    x: tuple[str, Sequence[float]],
    y: str,
    series: Sequence[Mapping[str, Any]],
    *,
    log_x: bool = False,
    log_y: bool = False,
    steps: bool = False,
) -> dict[str, Any]:
    """Returns a chart: axes, and for each series ``name`` and ``values`` (null if missing), optionally low and high."""
    return {
        "id": id,
        "title": title,
        "x": {"label": x[0], "values": list(x[1]), "log": log_x},
        "y": {"label": y, "log": log_y},
        "steps": steps,
        "series": [{"colour": COLOURS[index % len(COLOURS)], **one} for index, one in enumerate(series)],
    }


def cdf(id: str, title: str, groups: Sequence[tuple[str, pa.Table]], *, slowdown: bool = False) -> dict[str, Any]:
    """Returns cumulative distributions of completion times or slowdowns, one series per group of flows or messages."""
    curves = [
        (name, *_thinned(*plots.cumulative(flows, "slowdown" if slowdown else "fct_ps"))) for name, flows in groups
    ]
    places = sorted({value for _, values, _ in curves for value in values})
    series = [
        {"name": name, "values": [_digits(share) for share in _at(places, values, shares)]}
        for name, values, shares in curves
    ]
    x_label, y_label = plots.axis_labels(groups, slowdown=slowdown)
    log = bool(places) and places[0] > 0 and places[-1] > 10 * places[0]
    return chart(id, title, (x_label, [_digits(place) for place in places]), y_label, series, log_x=log, steps=True)


def slowdown(id: str, title: str, groups: Sequence[tuple[str, pa.Table]]) -> dict[str, Any]:
    """Returns median and 99th percentile of the slowdown by bins of size."""
    found = [(name, plots.size_bins(flows)) for name, flows in groups]
    places = sorted({one.largest_bytes / 1000 for _, bins in found for one in bins})
    series = []
    for index, (name, bins) in enumerate(found):
        for what, dash in (("median", False), ("p99", True)):
            by_size = {one.largest_bytes / 1000: one.median if what == "median" else one.p99 for one in bins}
            values = [_digits(by_size[place]) if place in by_size else None for place in places]
            series.append(
                {"name": f"{name}, {what}", "values": values, "dash": dash, "colour": COLOURS[index % len(COLOURS)]}
            )
    log = bool(places) and places[-1] > 10 * places[0]
    label = f"{plots.size_label(groups)} up to (KB)"
    return chart(id, title, (label, places), "slowdown (FCT / ideal FCT)", series, log_x=log, log_y=True)


def queues(id: str, result: Result, top: int = 8) -> dict[str, Any]:
    """Returns the depths of the deepest queues over time."""
    lines = plots.deepest(result, top)
    times = sorted({time for _, found, _ in lines for time in found})
    step = max(1, len(times) // (4 * _PLACES))
    times = times[::step]
    series = []
    for name, found, sizes in lines:
        by_time = dict(zip(found, sizes, strict=True))
        series.append({"name": name, "values": [by_time.get(time) for time in times]})
    return chart(id, "Depth of the deepest queues", ("time (µs)", times), "queue depth (KB)", series)


def metric(id: str, name: str, x: Column, panel: Panel) -> dict[str, Any]:
    """Returns a metric of a study along a parameter."""
    lines = panel.lines
    ends = [end for line in lines for one in line.intervals for end in (one.low, one.mean, one.high) if end is not None]
    scale, label = scaled(name, ends)
    places = sorted({place for line in lines for place in line.places})
    x_scale, x_label = scaled(x.name, places)
    log = len(places) > 3 and places[0] > 0 and places[-1] > 10 * places[0]
    series = [{"name": line.name, "dash": line.level, **_values(line, places, scale)} for line in lines]
    shown = ("against " + x_label.partition(" (")[0]) if not panel.title else panel.title
    return chart(
        id,
        f"{label.partition(' (')[0]} {shown}",
        (x_label, [place / x_scale for place in places]),
        label,
        series,
        log_x=log,
    )


def _values(line: Line, places: Sequence[float], scale: float) -> dict[str, list[float | None]]:
    found = (
        dict.fromkeys(places, line.intervals[0]) if line.level else dict(zip(line.places, line.intervals, strict=True))
    )
    columns: dict[str, list[float | None]] = {"values": [], "low": [], "high": []}
    for place in places:
        one = found.get(place)
        for key, end in (("values", one and one.mean), ("low", one and one.low), ("high", one and one.high)):
            columns[key].append(_digits(end / scale) if isinstance(end, int | float) else None)
    return columns


def timeline(result: Result, top: int = 40) -> list[dict[str, Any]]:
    """Returns the pauses of the ports that were paused longest, as shapes in percent of the time by cause."""
    horizon = max(result.summary.get("simulated_ps") or 0, 1)
    rows = []
    for name, spans in plots.paused_ports(result)[:top]:
        total = plots.paused_us(spans)
        paths: dict[str, str] = {}
        for cause, start, length in _joined(spans, horizon / _PS_PER_US):
            left, width = (_digits(100 * value * _PS_PER_US / horizon) for value in (start, length))
            paths[cause] = paths.get(cause, "") + f"M{left} 0h{max(width, 0.05)}v1H{left}z"
        share = f"{total * _PS_PER_US / horizon:.1%}"
        rows.append({"name": name, "total": formatting.time(total * _PS_PER_US), "share": share, "paths": paths})
    return rows


def times(result: Result, parts: int = 5) -> list[tuple[str, float]]:
    """Returns the ticks of the time axis at round times, as label and percent of the run. At most `parts` + 1 ticks."""
    horizon = result.summary.get("simulated_ps") or 0
    if not horizon:
        return [("0", 0.0)]
    step = next(step for step in _round_steps() if step * parts >= horizon)
    found = range(0, horizon + 1, step)
    return [(_tick(at), _digits(100 * at / horizon)) for at in found]


def _round_steps() -> Iterator[int]:
    """Yields 1, 2 and 5 times the powers of ten."""
    for decade in itertools.count():
        yield from (part * 10**decade for part in (1, 2, 5))


def _tick(at: int) -> str:
    """Returns a round time without the zeros after its decimal point: ``200 µs``."""
    return "0" if at == 0 else re.sub(r"\.?0+ ", " ", formatting.time(at))


def _joined(spans: Sequence[tuple[str, float, float]], horizon: float) -> list[tuple[str, float, float]]:
    """Returns spans merged over gaps that no screen shows, which limits the size of a page."""
    made: list[tuple[str, float, float]] = []
    for cause, start, length in sorted(spans, key=lambda span: (span[0], span[1])):
        if made and made[-1][0] == cause and start - (made[-1][1] + made[-1][2]) < horizon / 2000:
            made[-1] = (cause, made[-1][1], max(made[-1][2], start + length - made[-1][1]))
        else:
            made.append((cause, start, length))
    return made


def _thinned(values: list[float], shares: list[float]) -> tuple[list[float], list[float]]:
    if len(values) <= _PLACES:
        return values, shares
    chosen = sorted({round(index * (len(values) - 1) / (_PLACES - 1)) for index in range(_PLACES)})
    return [values[index] for index in chosen], [shares[index] for index in chosen]


def _at(places: Sequence[float], values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Returns the share at each place of a curve that is known at its own values."""
    return [shares[at - 1] if (at := bisect.bisect_right(values, place)) else 0.0 for place in places]


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
