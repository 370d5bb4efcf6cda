"""The result of a run: a summary, Arrow tables read on demand, and figures; read from a directory by `load`."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.files.safe_read import read_json
from xoff.files.type_check import mismatch
from xoff.results import counts, high_water, incidents, notebook
from xoff.results.cost import cost_line
from xoff.results.reading import parquet_reader
from xoff.summary import Summary

if TYPE_CHECKING:
    from xoff.plots import Plot

notebook.register()

PARTS = frozenset({"fingerprint", "flows", "audits"})
"""Keys of every summary."""
EXPLAINED = "explain"
"""The directory, inside a result directory, of the repeated run that ``xoff explain`` keeps."""


class AuditError(RuntimeError):
    """Raised for a run that violated an audit and so has no result.

    ``.result`` holds the run's measurements, for diagnosis.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        names = [name for name, state in result.audits.items() if not _passed(state)]
        failed = [f"{name}: {result.audits[name].partition(': ')[2]}" for name in names]
        self.found = "; ".join(failed)
        """The findings of the failed audits, in a line."""
        lines = ["the run violated an audit and has no result", *(f"  {line}" for line in failed)]
        if result.directory is not None:
            lines.append(f"partial result: {result.directory} (xoff report draws it)")
        if may := [name for name in names if name in result.scenario.get("audits", {})]:
            settings = " ".join(f"--set audits.{name}=record" for name in may)
            lines.append(f"to record the violation and keep the result: {settings}")
        super().__init__("\n".join(lines))


class NotRecordedError(LookupError):
    """A result has no such table."""

    def __init__(self, table: str, recorded: list[str]) -> None:
        super().__init__(_not_recorded(table, recorded))
        self.table = table
        """The name of the missing table."""
        self.recorded = recorded
        """The names of the recorded tables."""


class Result:
    """The measurements of a run. Tables are Arrow tables, which polars, pandas and DuckDB read without copying."""

    def __init__(
        self,
        scenario: dict[str, Any],
        summary: Summary,
        readers: Mapping[str, Callable[[], pa.Table]],
        *,
        directory: Path | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> None:
        self.scenario = scenario
        """The scenario with every default filled in."""
        self.summary = summary
        """Fingerprint, completion times, counts of parts, drops, audits and performance: the object that ``--json``
        prints."""
        self.directory = directory
        """The directory of the result if it was saved or loaded, else None."""
        self._readers = dict(readers)
        self.inputs = dict(inputs or {})
        """Input tables of the scenario, by key; empty for a result in a directory with the tables as files."""
        self._cache: dict[str, pa.Table] = {}

    @property
    def tables(self) -> list[str]:
        """The names of the recorded tables, sorted."""
        return sorted(self._readers)

    def table(self, name: str) -> pa.Table:
        """Returns a table by name. Raises `LookupError` if the run did not record it."""
        if name not in self._cache:
            if name not in self._readers:
                raise NotRecordedError(name, self.tables)
            self._cache[name] = self._readers[name]()
        return self._cache[name]

    def forget(self) -> None:
        """Drops the tables read so far. A result in a directory reads tables again on demand."""
        self._cache.clear()

    @property
    def flows(self) -> pa.Table:
        """A row per flow: ends, ``size_bytes``, ``start_ps``, ``fct_ps`` (to the receiver's last byte), slowdown.

        ``notifications`` counts notifications to the flow's congestion control, ``holds`` the times a mechanism held
        the flow.
        """
        return self.table("flows")

    @property
    def queues(self) -> pa.Table:
        """A row per queue of a port: largest depth, packets, bytes, marked and dropped packets."""
        return self.table("queues")

    @property
    def pauses(self) -> pa.Table:
        """A row per pause of a port's queue: cause, ``start_ps``, ``end_ps`` (null if the pause did not end)."""
        return self.table("pauses")

    @property
    def links(self) -> pa.Table:
        """A row per direction of a link: bytes, busy and paused time, utilisation (0 to 1)."""
        return self.table("links")

    @property
    def drops(self) -> pa.Table:
        """A row per dropped packet: time, place, packet and reason."""
        return self.table("drops")

    @property
    def packets(self) -> pa.Table:
        """A row per arrival and per departure of a packet; recorded if ``probe.packets = true``."""
        return self.table("packets")

    @property
    def high_water(self) -> pa.Table:
        """A row per high-water mark: the maximum of a node's count, and the threshold of the count."""
        return self.table("high_water")

    @property
    def collectives(self) -> pa.Table:
        """A row per collective operation: algorithm, ranks, size, time, algorithm and bus bandwidth."""
        return self.table("collectives")

    @property
    def messages(self) -> pa.Table:
        """A row per delivered message of a connection."""
        return self.table("messages")

    @property
    def operations(self) -> pa.Table:
        """A row per completed operation of a rank of a job."""
        return self.table("operations")

    @property
    def jobs(self) -> pa.Table:
        """A row per rank, iteration and part of the iteration's time: computing, exposed (by label) or bubble."""
        return self.table("jobs")

    @property
    def requests(self) -> pa.Table:
        """A row per request of a serving workload: tokens, places, parts of the time, TTFT, TPOT, and levels met."""
        return self.table("requests")

    @property
    def steps(self) -> pa.Table:
        """A row per step of a DP rank of a serving workload: tokens, and compute, exposed and bubble time."""
        return self.table("steps")

    @property
    def tokens(self) -> pa.Table:
        """A row per token of a request of a serving workload; recorded if ``probe.tokens = true``."""
        return self.table("tokens")

    @property
    def samples(self) -> pa.Table:
        """Depths of the queues over time; recorded with ``probe.queues`` or ``probe.replay``."""
        return self.table("samples")

    @property
    def fingerprint(self) -> str:
        """A hash over all events: equal for equal scenario and seed, on any machine and with any number of threads."""
        return str(self.summary["fingerprint"])

    @property
    def audits(self) -> dict[str, str]:
        """The state of each audit: ``ok``, or the finding."""
        return dict(self.summary.get("audits", {}))

    @property
    def ok(self) -> bool:
        """Whether every audit passed. An audit that the scenario only records does not count."""
        return all(_passed(state) for state in self.audits.values())

    @property
    def plot(self) -> Plot:
        """Figures of this result, such as ``result.plot.fct_cdf()``."""
        from xoff.plots import Plot

        return Plot(self)

    def save(self, directory: str | Path) -> Path:
        """Writes the result into a directory, which appears under its name only when complete. Returns the path.

        Raises `InputError` if the directory cannot be written, or holds anything but a result.
        """
        from xoff.results.writing import DirectoryWriter

        with DirectoryWriter(directory) as writer:
            for name in self.tables:
                writer.append(name, self.table(name))
            writer.commit(self.scenario, self.summary, self.inputs)
            self.directory = writer.path
        return self.directory

    def rows(self) -> list[tuple[str, str]]:
        """The summary as pairs of title and value, as ``xoff run`` prints them."""
        summary = self.summary
        fct: Mapping[str, Any] = summary.get("fct_ps") or {}
        slowdown: Mapping[str, Any] = summary.get("slowdown") or {}
        performance: Mapping[str, Any] = summary.get("performance") or {}
        what, (done, total) = measured(summary), measured_counts(summary)
        of = "" if what == "flows" else f" of {what},"
        lines = [
            *(("incident", text) for text in incidents.messages(summary)[: incidents.MOST]),
            *(("warning", text) for text in incidents.warnings_of(summary)),
            ("simulated", formatting.time(summary.get("simulated_ps"))),
            *_jobs(summary),
            *_serving(summary),
            *_collectives(summary),
        ]
        if total or not summary.get("serving"):
            lines += [
                (what, f"{done:,} of {total:,} completed"),
                (f"FCT{of} mean", formatting.time(fct.get("mean"))),
                (f"FCT{of} median, p99", f"{formatting.time(fct.get('p50'))}, {formatting.time(fct.get('p99'))}"),
                (f"FCT{of} longest", formatting.time(fct.get("max"))),
                ("slowdown median, p99", f"{_ratio(slowdown.get('p50'))}, {_ratio(slowdown.get('p99'))}"),
                *_active(summary),
            ]
        lines += [(count.title, count.text(value)) for count, value in counts.shown(summary)]
        lines += high_water.rows(summary)
        lines.append(("drops", f"{summary.get('drops', 0):,}"))
        lines.append(("audits", audit_line(self.audits)))
        if cost := cost_line(performance):
            lines.append(("performance", cost))
        lines.append(("fingerprint", self.fingerprint))
        return lines

    def __repr__(self) -> str:
        flows = self.summary.get("flows") or {}
        name = self.scenario.get("name") or "scenario"
        state = "audits ok" if self.ok else "audits FAILED"
        return (
            f"<xoff.Result {name}: {flows.get('completed')} of {flows.get('total')} flows, {state}, {self.fingerprint}>"
        )

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        cells = "".join(
            f"<tr><th {left}>{html.escape(what)}</th><td {left}>{html.escape(text)}</td></tr>"
            for what, text in self.rows()
        )
        caption = html.escape(str(self.scenario.get("name") or "scenario"))
        return f"<table><caption>{caption}</caption><tbody>{cells}</tbody></table>"


def measured(summary: Mapping[str, Any]) -> str:
    """Returns the kind of completion times in a summary: ``flows``, ``messages``, or ``flows and messages``."""
    workloads = (summary.get("workloads") or {}).values()
    jobs = [one for one in workloads if "job" in one or "collective" in one]
    # In `flows` of the run a connection counts once; in `flows` of its workload its messages count.
    if not jobs or measured_counts(summary) == _counts(summary):
        return "flows"
    return "messages" if len(jobs) == len(workloads) else "flows and messages"


def _active(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the goodput of the flows that were active at the end."""
    active = summary.get("active_flows") or {"flows": 0}
    if active["flows"]:
        least, mean, most = (active[f"{which}_goodput_bps"] / 1e9 for which in ("least", "mean", "most"))
        text = f"mean {mean:.3g} Gb/s, {least:.3g} to {most:.3g} Gb/s"
        yield f"goodput of {active['flows']:,} active flows", text if active["flows"] > 1 else f"{mean:.3g} Gb/s"


def measured_counts(summary: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the number of delivered flows and messages of jobs, and the number of all."""
    found = [_counts(one) for one in (summary.get("workloads") or {}).values()] or [_counts(summary)]
    return sum(completed for completed, _ in found), sum(total for _, total in found)


def _counts(summary: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the number of delivered flows and the number of all flows, of a run or a workload."""
    flows: Mapping[str, int] = summary.get("flows") or {}
    return flows.get("completed", 0), flows.get("total", 0)


def _collectives(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, workload in (summary.get("workloads") or {}).items():
        if found := workload.get("collective"):
            bus = found["bus_bps"]
            fast = "not completed" if bus is None else f"{formatting.time(found['time_ps'])}, {bus / 1e9:.1f} Gb/s"
            yield formatting.plain(f"{name}: time, bus bandwidth"), fast


def _jobs(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields lines on jobs: iteration time, parts of a rank's time, MFU and bus bandwidths."""
    for name, workload in (summary.get("workloads") or {}).items():
        if not (job := workload.get("job")):
            continue
        if job["iteration_ps"] is None:
            yield formatting.plain(f"{name}: iteration"), f"none of {job['iterations']:,} completed"
            continue
        whole = job["iteration_ps"] or 1
        groups: Mapping[str, Any] = job["groups"]
        exposed = [f"{label} {group['exposed_ps'] / whole:.1%}" for label, group in groups.items()]
        count = f"{job['completed']:,} of {job['iterations']:,}"
        yield formatting.plain(f"{name}: iteration"), f"{formatting.time(whole)}, {count} completed"
        parts = f"computing {job['compute_ps'] / whole:.1%}, exposed {job['exposed_ps'] / whole:.1%}"
        parts += f" ({', '.join(exposed)})" if exposed else ""
        yield (
            formatting.plain(f"{name}: of a rank's time"),
            formatting.plain(f"{parts}, bubble {job['bubble_ps'] / whole:.1%}"),
        )
        fast = [f"{label} {group['bus_bps'] / 1e9:,.1f} Gb/s" for label, group in groups.items() if group["bus_bps"]]
        used = [f"MFU {job['mfu']:.1%}"] if job["mfu"] is not None else []
        if fast or used:
            yield formatting.plain(f"{name}: used"), formatting.plain(", ".join([*used, *fast]))


SERVICE_TIMES = {
    "ttft_ps": "TTFT",
    "tpot_ps": "TPOT",
    "itl_ps": "ITL",
    "e2e_ps": "E2E",
    "kv_transfer_ps": "KV transfer",
}


def _serving(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields lines on serving workloads: requests, service times, levels, and parts of the time of steps."""
    for name, found in (summary.get("serving") or {}).items():
        of = formatting.plain(name)
        yield f"{of}: requests", f"{found['completed']:,} of {found['requests']:,} completed"
        for key, title in SERVICE_TIMES.items():
            times = found[key]
            if any(value is not None for value in times.values()):
                shown = ", ".join(formatting.time(times[part]) for part in ("mean", "p50", "p90", "p99"))
                yield f"{of}: {title} mean, p50, p90, p99", shown
        if (speed := found["output_tokens_per_second"]) is not None:
            yield f"{of}: output tokens a second", f"{speed:,.1f}"
        if (share := found["slo_attainment"]) is not None:
            goodput = found["goodput"]
            rate = "–" if goodput is None else f"{goodput:,.1f}"
            yield f"{of}: SLO attainment, goodput", f"{share:.1%}, {rate} requests a second"
        for pool, steps in found["steps"].items():
            if steps["compute"] is None:
                continue
            labels = ", ".join(f"{label} {part:.1%}" for label, part in steps["exposed_by_label"].items())
            exposed = f"exposed {steps['exposed']:.1%}" + (f" ({labels})" if labels else "")
            parts = f"computing {steps['compute']:.1%}, {exposed}, bubble {steps['bubble']:.1%}"
            yield f"{of}: {steps['steps']:,} steps of {formatting.plain(pool)}", formatting.plain(parts)


def audit_line(audits: Mapping[str, str]) -> str:
    """Returns all audits in a line: first the audits with findings, then the names of passed audits."""
    passed = [name for name, state in audits.items() if state == "ok"]
    others = [f"{name} {state}" for name, state in audits.items() if state != "ok"]
    return "; ".join([*others, *([f"{', '.join(passed)} ok"] if passed else [])]) or "none"


def load(directory: str | Path, tables: Collection[str] | None = None) -> Result:
    """Reads a result directory that `Result.save` or ``xoff run --out`` wrote.

    tables: names of the tables to read; all tables of the directory if None.

    Raises `InputError` if the directory is no result, is damaged, or has names of an earlier release.
    """
    if not isinstance(directory, str | os.PathLike):
        raise InputError(f"a result directory is needed, not {type(directory).__name__}")
    path = Path(directory)
    try:
        scenario = read_json(path / "scenario.json")
        summary = read_json(path / "summary.json")
        if not isinstance(scenario, dict) or not isinstance(summary, dict):
            raise ValueError
        if "network" not in scenario or not summary.keys() >= PARTS:
            raise ValueError
    except (OSError, ValueError):
        raise InputError(f"{path}: is not a result directory (no readable scenario.json and summary.json)") from None
    if wrong := mismatch(summary, Summary):
        raise InputError(f"{path / 'summary.json'}: is damaged: {wrong}")
    files = (file for file in sorted(path.glob("*.parquet")) if tables is None or file.stem in tables)
    readers = {file.stem: parquet_reader(file) for file in files}
    return Result(scenario, cast(Summary, summary), readers, directory=path)


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _passed(state: str) -> bool:
    return not state.startswith("failed")


def _not_recorded(name: str, recorded: list[str]) -> str:
    advice = {
        "packets": "; set `probe.packets = true` in the scenario",
        "tokens": "; set `probe.tokens = true` in the scenario",
        "samples": '; set `probe.replay = true` or `probe.queues = "1us"` in the scenario',
        "delays": '; set `probe.delays = "all"` in the scenario',
        "contributions": '; set `probe.delays = "all"` in the scenario',
    }.get(name, "")
    return f"this run did not record `{name}`{advice} (recorded: {', '.join(recorded) or 'nothing'})"
