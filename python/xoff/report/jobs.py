"""Jobs on the page of a run: iterations, the parts of their time, and critical paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.insight import job_causes, job_path
from xoff.insight.repeat import has_delays
from xoff.insight.trees import Forest
from xoff.plots import jobs as job_plots
from xoff.report.page import Cell, Part, Picture, Table
from xoff.results import Result

_MOST = 8
# Shares of NICs in the mean that differ by less are the same.
_EVEN = 0.02
_NEEDED = {"operations", "messages", "jobs"}
_HOW = "xoff explain and the directory of the result, with --job"


def build(result: Result) -> list[Part]:
    """Returns the parts of the page about each job."""
    if not set(result.tables) >= _NEEDED or not result.operations.num_rows:
        return []
    summaries = result.summary.get("workloads", {})
    return [_job(result, name, summaries.get(name, {})) for name in job_plots.names(result.operations)]


def _job(result: Result, name: str, summary: Mapping[str, Any]) -> Part:
    """Returns a job: numbers, parts of the time, critical path, and ranks over time."""
    job, collective = summary.get("job"), summary.get("collective")
    facts = list(_iterations(job) if job else _collective(collective) if collective else ())
    tables, notes = [], []
    if job and job["completed"]:
        tables.append(_parts(job))
    is_over = job["completed"] == job["iterations"] if job else bool(collective and collective["time_ps"] is not None)
    if is_over:
        try:
            tables += _path(result, name)
            notes.append(f"The times along the path add up to the time of the job. More: {_HOW}.")
        except InputError as error:
            notes.append(f"No critical path: {error}.")
    else:
        notes.append("No critical path: the job did not end.")
    if (shares := _nics(result, name)) is not None:
        tables.append(shares)
    drawn = job_plots.pictures(result.operations, result.jobs, name)
    pictures = [Picture(title, "", said, spans.to_dict()) for title, spans, said in drawn]
    return Part(formatting.plain(name), facts, tables, notes, pictures)


def _iterations(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if job["completed"]:
        yield "iteration, mean", formatting.time(job["iteration_ps"])
        yield "iteration, 99th percentile", formatting.time(job["iteration_p99_ps"])
        yield "iteration, longest", formatting.time(job["longest_iteration_ps"])
        yield "exposed communication", formatting.time(job["exposed_ps"])
    yield "iterations", f"{job['completed']:,} of {job['iterations']:,} completed"
    yield "ranks", f"{job['ranks']:,}"
    if job["mfu"] is not None:
        yield "MFU", f"{job['mfu']:.1%}"


def _nics(result: Result, name: str) -> Table | None:
    """Returns the share of each NIC in the bytes of a job with NCCL on the network; None without NCCL."""
    own = [row for row in result.table("collectives").to_pylist() if row["workload"] == name]
    if not any(row["protocol"] is not None for row in own):
        return None
    sent: dict[str, int] = defaultdict(int)
    for row in result.messages.select(["workload", "flow", "src", "size_bytes"]).to_pylist():
        if row["workload"] == name and row["flow"] is not None:
            sent[row["src"]] += row["size_bytes"]
    if not sent:
        return None
    whole = sum(sent.values())
    mean = whole / len(sent)
    rows = [
        [Cell(host, host), Cell(f"{size:,}", size), Cell(f"{size / whole:.1%}", size), Cell(f"{size / mean:.2f}", size)]
        for host, size in job_causes.largest(sent)
    ]
    note = "Bytes of messages that each NIC sends. Shares far from the mean show an idle or overloaded NIC."
    least, most = min(sent.values()) / mean, max(sent.values()) / mean
    uneven = most - least > _EVEN
    title = f"NICs, {least:.2f} to {most:.2f} times the mean" if uneven else "NICs, which all send the same share"
    return Table(title, ["host", "bytes", "share", "by the mean"], rows, note, uneven)


def _collective(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if found["protocol"] is not None:
        yield "algorithm, protocol", f"{found['algorithm']}, {found['protocol']}, {found['channels']} channels"
    yield "time", formatting.time(found["time_ps"])
    if found["bus_bps"] is not None:
        yield "bus bandwidth", f"{found['bus_bps'] / 1e9:.1f} Gb/s"
        yield "algorithm bandwidth", f"{found['algorithm_bps'] / 1e9:.1f} Gb/s"


def _parts(job: Mapping[str, Any]) -> Table:
    """Returns the parts of a rank's time in an iteration, means over ranks and iterations."""
    whole = job["iteration_ps"] or 1
    rows = [("computing", job["compute_ps"], None)]
    rows += [(f"exposed {label}", group["exposed_ps"], group["bus_bps"]) for label, group in job["groups"].items()]
    rows.append(("waiting for other ranks", job["bubble_ps"], None))
    cells = [
        [
            Cell(formatting.plain(text), text),
            Cell(formatting.time(ps), ps),
            Cell(f"{ps / whole:.1%}", ps),
            Cell("–") if bus is None else Cell(f"{bus / 1e9:,.1f} Gb/s", bus),
        ]
        for text, ps, bus in rows
    ]
    note = "Means over ranks and iterations; the parts add up to an iteration."
    return Table("An iteration of a rank", ["part", "time", "share", "bus bandwidth"], cells, note)


def _path(result: Result, name: str) -> Iterator[Table]:
    """Yields tables of the critical path: by cause if delays were recorded, by label, and by operation."""
    job = job_path.Job(result, name)
    steps = job.path()
    by_label: dict[str, int] = defaultdict(int)
    by_operation: dict[str, int] = defaultdict(int)
    for step in steps:
        row = step.operation if step.kind == "inside" else step.message
        by_label["computing" if row is None else str(row["label"])] += step.ps
        by_operation[str(step.operation["name"])] += step.ps
    flows = job_causes.flows(steps)
    if flows and has_delays(result, flows):
        by_cause = job_causes.causes(job, steps, result, Forest(result)).by_cause
        named = {job_causes.CAUSES[cause]: ps for cause, ps in by_cause.items()}
        yield _sums("Critical path, by cause", "cause", named, job.total_ps)
    yield _sums("Critical path, by label", "label", by_label, job.total_ps)
    if len(by_operation) > 1:
        yield _sums("Critical path, by operation", "operation", by_operation, job.total_ps)


def _sums(title: str, head: str, sums: Mapping[str, int], whole: int) -> Table:
    """Returns the largest parts of a path, and the sum of the others."""
    shown = job_causes.largest(sums)
    rest = shown[_MOST:] if len(shown) > _MOST + 1 else []
    if rest:
        shown = [*shown[:_MOST], (f"{len(rest):,} others", sum(ps for _, ps in rest))]
    rows = [
        [Cell(formatting.plain(text), text), Cell(formatting.time(ps), ps), Cell(f"{ps / (whole or 1):.1%}", ps)]
        for text, ps in shown
    ]
    return Table(title, [head, "time", "share"], rows)
