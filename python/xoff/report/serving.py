"""Serving workloads on the page of a run: service times, parts of steps and of requests, and late tokens."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xoff import formatting
from xoff.insight.serving_command import PARTS
from xoff.plots import serving as serving_plots
from xoff.report.page import Cell, Part, Picture, Table
from xoff.results import SERVICE_TIMES, Result

_LATE = 10
_MEANS = ("mean", "p50", "p90", "p99")


def build(result: Result) -> list[Part]:
    """Returns the parts of the page about each serving workload."""
    summaries: Mapping[str, Any] = result.summary.get("serving") or {}
    return [_workload(result, name, summaries[name]) for name in serving_plots.names(result) if name in summaries]


def _workload(result: Result, name: str, summary: Mapping[str, Any]) -> Part:
    rows = serving_plots.measured(result, name).to_pylist()
    ended = [row for row in rows if row["e2e_ps"] is not None]
    limits = serving_plots.limits(result, name)
    tables = [_times(summary, limits), _steps(summary)]
    notes = []
    if ended:
        tables += [_parts(ended), _late(result, name, ended)]
    else:
        notes.append("No request ended.")
    if skipped := serving_plots.of(result.requests, name).num_rows - len(rows):
        notes.append(f"Requests of the warm-up ({skipped:,}) are in no number and figure, except steps.")
    pictures = [Picture(*one) for one in serving_plots.pictures(result, name)]
    source = "requests, steps and tokens"
    return Part(
        formatting.plain(name), list(_facts(summary)), [one for one in tables if one.rows], notes, pictures, source
    )


def _facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "requests", f"{summary['completed']:,} of {summary['requests']:,} completed"
    if summary["censored"]:
        yield "not ended (censored)", f"{summary['censored']:,}"
    for key, title in SERVICE_TIMES.items():
        times = summary[key]
        if any(value is not None for value in times.values()):
            yield f"{title} p50, p99", ", ".join(formatting.time(times[part]) for part in ("p50", "p99"))
    if (speed := summary["output_tokens_per_second"]) is not None:
        yield "output tokens a second", f"{speed:,.1f}"
    if (share := summary["slo_attainment"]) is not None:
        yield "SLO attainment", f"{share:.1%}"
    if (goodput := summary["goodput"]) is not None:
        yield "goodput", f"{goodput:,.1f} requests a second"


def _times(summary: Mapping[str, Any], limits: Mapping[str, int]) -> Table:
    """Returns the service times, with the limits of the service levels."""
    rows = []
    for key, title in SERVICE_TIMES.items():
        times = summary[key]
        if all(value is None for value in times.values()):
            continue
        cells = [_time(times[part]) for part in _MEANS]
        rows.append([Cell(title, title), *cells, *([_time(limits.get(key.removesuffix("_ps")))] if limits else [])])
    note = "TPOT is the mean time of a token of one request, ITL the time between two tokens."
    if "itl" in limits:
        note += " The limit of ITL is for the longest ITL of a request."
    if summary["censored"]:
        note += " A percentile that requests without an end could change is left out."
    return Table("Service times", ["time", *_MEANS, *(["limit"] if limits else [])], rows, note)


def _time(value: int | None) -> Cell:
    return Cell(formatting.time(value), value)


def _share(value: float | None) -> Cell:
    return Cell("–" if value is None else f"{value:.1%}", value)


def _steps(summary: Mapping[str, Any]) -> Table:
    """Returns the steps by pool: shares of the time in which DP ranks computed, awaited messages, or were idle."""
    pools: Mapping[str, Mapping[str, Any]] = summary["steps"]
    labels = list(dict.fromkeys(label for pool in pools.values() for label in pool["exposed_by_label"]))
    rows = [
        [
            Cell(name, name),
            Cell(f"{pool['steps']:,}", pool["steps"]),
            Cell(f"{pool['tokens']:,}", pool["tokens"]),
            _share(pool["compute"]),
            _share(pool["exposed"]),
            *(_share(pool["exposed_by_label"].get(label)) for label in labels),
            _share(pool["bubble"]),
        ]
        for name, pool in pools.items()
    ]
    heads = ["pool", "steps", "tokens", "computing", "exposed", *(f"exposed {label}" for label in labels), "bubble"]
    note = (
        "Shares of the time of all steps. Exposed: messages were on their way and the rank computed nothing. "
        "Bubble: the rank waited for other ranks."
    )
    return Table("Steps, by pool", heads, rows, note)


def _parts(ended: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the parts of a request's time, means over requests."""
    whole = sum(row["e2e_ps"] for row in ended) or 1
    sums = {text: sum(row[column] for row in ended) for column, text in PARTS.items()}
    rows = [
        [Cell(text, text), _mean(ps, len(ended)), Cell(f"{ps / whole:.1%}", ps / whole)]
        for text, ps in sums.items()
        if ps
    ]
    total = formatting.time(whole / len(ended))
    note = f"Means over {len(ended):,} ended requests. The parts add up to the mean E2E, {total}."
    return Table("Parts of a request's time", ["part", "time", "share"], rows, note)


def _mean(ps: int, count: int) -> Cell:
    return Cell(formatting.time(ps / count), ps / count)


def _late(result: Result, name: str, ended: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the requests with the longest times between two tokens, with the command that finds the reason."""
    timed = [row for row in ended if row["itl_max_ps"] is not None]
    late = sorted(timed, key=lambda row: (-row["itl_max_ps"], row["request"]))[:_LATE]
    has_levels = any(row["slo_met"] is not None for row in late)
    prefix = f"{name}:" if len(serving_plots.names(result)) > 1 else ""
    heads = ["request", "arrival", "tokens in", "tokens out", "TTFT", "TPOT", "longest ITL", "E2E"]
    heads += (["levels met"] if has_levels else []) + ["reason"]
    rows = []
    for row in late:
        named = f"{prefix}{row['request']}"
        command = f"xoff explain DIR --request {shlex.quote(named)}"
        counts = [Cell(f"{row[key]:,}", row[key]) for key in ("input_tokens", "output_tokens")]
        times = [_time(row[key]) for key in ("ttft_ps", "tpot_ps", "itl_max_ps", "e2e_ps")]
        met = {True: "yes", False: "no", None: "–"}[row["slo_met"]]
        rows.append(
            [
                Cell(f"{row['request']:,}", row["request"]),
                _time(row["arrival_ps"]),
                *counts,
                *times,
                *([Cell(met, met)] if has_levels else []),
                Cell(formatting.plain(command), command),
            ]
        )
    note = (
        "The command, with the directory of the result as DIR, follows the latest token of the request to the packets "
        "that made the token late."
    )
    return Table("Requests with the longest ITL", heads, rows, note)
