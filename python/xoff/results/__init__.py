"""The result of a run: a summary, Arrow tables read on demand, figures, and the directory."""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import pyarrow as pa

from xoff import _core, formatting, renames
from xoff._core import InputError
from xoff.files import locks
from xoff.files.safe_read import named, read_json
from xoff.files.type_check import mismatch
from xoff.results import counts, high_water, notebook
from xoff.results.claims import Claim
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
# The entries of a result directory beside the tables. A new result replaces the whole directory.
_PARTS = {"scenario.json", "summary.json", "inputs", "report.html", "figures", EXPLAINED}
# Tables with fewer bytes than this are not compressed.
_SMALL = 64_000


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
        lines += [("warning", f"{one['path']}: {one['message']}") for one in summary.get("warnings", ())]
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
    if renames.has_old_keys(summary):
        raise InputError(
            f"{path}: an earlier release wrote this result with names that were renamed since; "
            f"`xoff migrate {path / 'scenario.json'}` rewrites its scenario: run the scenario again"
        )
    if wrong := mismatch(summary, Summary):
        raise InputError(f"{path / 'summary.json'}: is damaged: {wrong}")
    files = (file for file in sorted(path.glob("*.parquet")) if tables is None or file.stem in tables)
    readers = {file.stem: parquet_reader(file) for file in files}
    return Result(scenario, cast(Summary, summary), readers, directory=path)


class DirectoryWriter:
    """Writes a result directory under a temporary name next to the final path, and renames it when complete."""

    def __init__(self, directory: str | Path, *, in_place: bool = False, claim: Claim | None = None) -> None:
        """Checks the destination. Raises `InputError` without write access, or for other content than a result.

        in_place: write directly into `directory`, a temporary directory whose owner synchronises and renames it.
        claim: compared with live runs into the directory, and with the directory before it is replaced. Without a
            claim, any result is replaced.
        """
        self._in_place = in_place
        self._claim = claim
        if not isinstance(directory, str | os.PathLike):
            raise InputError(f"out: a value of type {type(directory).__name__} is not a path")
        check_name(directory)
        try:
            # A path such as `.` or `a/..` has no name from which a temporary name could be made.
            self.path = path if (path := Path(directory)).name not in {"", ".."} else Path(os.path.abspath(path))  # noqa: PTH100
            # Parents that do not exist yet, outermost first: they are removed again if there is no result. If the path
            # is a symbolic link, the result goes to the link's target, and the link stays.
            self._target = Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path
            self._parents = [parent for parent in reversed(self.path.parents) if not parent.exists()]
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{self.path}: exists and is not a directory; choose another place for the result")
            if self.path.is_dir() and not _holds_a_result(self.path):
                raise InputError(f"{self.path}: exists and is not a result; choose another directory")
        except OSError as error:
            raise InputError(f"{directory}: cannot be written: {error.strerror}") from None
        self._temporary: Path | None = None
        self._lock: int | None = None
        self._writers: dict[str, Any] = {}

    def __enter__(self) -> Self:
        # An unwritable destination is noticed before the run, and not after it.
        try:
            self._place()
        except BaseException:
            # An interrupt at this point leaves nothing behind either.
            self.__exit__(None, None, None)
            raise
        return self

    def append(self, name: str, stream: Any) -> None:
        """Appends rows to a table. `stream` is an object with an Arrow C stream."""
        reader = pa.RecordBatchReader.from_stream(stream)
        with named(self.path / f"{name}.parquet"):
            for batch in reader:
                if batch.num_rows:
                    self._writer(name, reader.schema, batch.nbytes).write_batch(batch)
            self._writer(name, reader.schema, 0)

    def _writer(self, name: str, schema: pa.Schema, size: int) -> Any:
        """Returns the writer of a table; `size`, the bytes of the table's first rows, decides on compression."""
        import pyarrow.parquet

        if name not in self._writers:
            file = self._place() / f"{name}.parquet"
            # Setting up a compressor takes as long as writing some thousand rows.
            compression = "zstd" if size >= _SMALL else "none"
            self._writers[name] = pyarrow.parquet.ParquetWriter(file, schema, compression=compression)
        return self._writers[name]

    def fail(
        self, scenario: dict[str, Any], summary: Mapping[str, Any], inputs: Mapping[str, Any], word: str = "failed"
    ) -> Result | None:
        """Completes the directory of a run without a result, and appends a word: ``.failed`` (an audit), or ``.cut``.

        Returns the result; None if something other than a result has that name.
        """
        beside = self._target.with_name(f"{self._target.name}.{word}")
        if beside.is_symlink() or (beside.exists() and not (beside.is_dir() and _holds_a_result(beside))):
            return None
        self._place()
        self._target = beside
        self.path = self.path.with_name(f"{self.path.name}.{word}")
        return self.commit(scenario, summary, inputs)

    def commit(self, scenario: dict[str, Any], summary: Mapping[str, Any], inputs: Mapping[str, Any]) -> Result:
        """Renames the complete directory to the final name, and replaces a result of that name. Returns the result.

        inputs: the tables that the scenario reads, by key: a table to copy, or the relative path of a file.
        """
        tables = sorted(self._writers)
        # A table whose end cannot be written, as on a full disk, raises an error: the directory is no result.
        for name, writer in self._writers.items():
            with named(self.path / f"{name}.parquet"):
                writer.close()
        self._writers = {}
        place = self._place()
        scenario = json.loads(json.dumps(scenario)) if inputs else scenario
        for number, (key, table) in enumerate(inputs.items()):
            _replace(scenario, key, table if isinstance(table, str) else self._copied(place, number, table))
        summary = {"version": _core.version(), "seed": scenario.get("seed"), **summary}
        for name, document in (("scenario", scenario), ("summary", summary)):
            self._write_json(place, name, document)
        with contextlib.nullcontext() if self._in_place else locks.held(self._target.parent):
            self._rename(place)
        self._temporary = None
        readers = {name: parquet_reader(self.path / f"{name}.parquet") for name in tables}
        return Result(scenario, cast(Summary, summary), readers, directory=self.path)

    def _rename(self, place: Path) -> None:
        """Gives the complete directory its final name, and replaces a result of that name."""
        if self._claim is not None:
            # A run that does not know of this one may have ended meanwhile, as on a file system without locks.
            self._claim.check(None)
        if self._in_place or not self._target.is_dir():
            place.rename(self._target)
            return
        old = Path(tempfile.mkdtemp(prefix=f".{self._target.name}.old-", dir=self._target.parent))
        try:
            self._target.rename(old / "result")
            place.rename(self._target)
        except BaseException:
            # An interrupt between the two renames, Ctrl-C included, restores the earlier result.
            if not self._target.exists():
                (old / "result").rename(self._target)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)

    def _copied(self, place: Path, number: int, table: pa.Table) -> str:
        """Writes a copy of an input table, by which the directory alone can be run again; returns the relative path."""
        import pyarrow.parquet

        name = f"inputs/{number}.parquet"
        (place / "inputs").mkdir(exist_ok=True)
        with named(self.path / name):
            pyarrow.parquet.write_table(table, place / name)
        return name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            # `rmtree` opens several descriptors. If few are left, the files are removed one by one.
            with contextlib.suppress(OSError, ValueError):
                for file in list(self._temporary.iterdir()):
                    file.unlink()
                self._temporary.rmdir()
            self._temporary = None
            self._remove_parents()

    def _place(self) -> Path:
        if self._temporary is None:
            try:
                if self._in_place:
                    self._temporary = self._target
                    self._target.mkdir()
                    return self._target
                self._target.parent.mkdir(parents=True, exist_ok=True)
                # Of two runs that start together, the second finds the directory and the scenario of the first.
                with locks.held(self._target.parent):
                    self._check_others()
                    self._temporary, self._lock = locks.make(self._made)
                    if self._claim is not None:
                        self._write_json(self._temporary, "scenario", self._claim.scenario)
            except OSError as error:
                self._remove_parents()
                # Once the directory is there, the file that was written is the one that fails.
                file = self.path if self._temporary is None else self.path / "scenario.json"
                raise InputError(f"{file}: cannot be written: {error.strerror}") from error
            except InputError:
                self._remove_parents()
                raise
            except ValueError:
                raise InputError(f"out: {str(self.path)!r} is not a path") from None
        return self._temporary

    def _check_others(self) -> None:
        """Removes the left-overs of killed runs into this directory, and compares the claim with those of live runs."""
        left = re.compile(rf"\.{re.escape(self._target.name)}\.partial-[0-9a-f]{{8}}")
        others = [one for one in self._target.parent.iterdir() if left.fullmatch(one.name)]
        locks.clean(others)
        for live in filter(Path.is_dir, others):
            if self._claim is not None:
                self._claim.check(live)

    def _write_json(self, place: Path, name: str, document: Mapping[str, Any]) -> None:
        with named(self.path / f"{name}.json"), (place / f"{name}.json").open("w", encoding="utf-8") as file:
            # No person reads the files of a store; without indentation writing takes a fifth of the time.
            indent = None if self._in_place else 2
            file.write(f"{json.dumps(document, indent=indent, ensure_ascii=False)}\n")
            file.flush()
            if not self._in_place:
                os.fsync(file.fileno())

    def _made(self) -> Path:
        # The path is noted before the directory exists, so that an interrupt in between leaves nothing behind.
        place = self._target.with_name(f".{self._target.name}.partial-{uuid.uuid4().hex[:8]}")
        self._temporary = place
        place.mkdir()
        return place

    def _remove_parents(self) -> None:
        """Removes the parent directories made by the writer, if empty."""
        for parent in reversed(self._parents):
            with contextlib.suppress(OSError):
                parent.rmdir()

    def _close(self) -> None:
        for writer in self._writers.values():
            with contextlib.suppress(OSError):
                writer.close()
        self._writers = {}


def write_new(file: Path, text: str) -> None:
    """Writes a text file, which appears under the name only when complete."""
    part = file.with_name(f".{file.name}.part")
    try:
        with named(file):
            part.write_text(text, "utf-8")
            part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def check_name(path: str | Path) -> None:
    """Raises `InputError` for a path other than UTF-8 text: tables cannot be written to such a path."""
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        raise InputError(f"{str(path)!a}: the name is not UTF-8 text; choose another place")


def synchronise(path: Path) -> None:
    """Flushes a file or a directory to the disk: the content survives a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _holds_a_result(directory: Path) -> bool:
    """Whether a directory may be replaced: it is empty, or holds only a result."""
    names = {entry.name for entry in directory.iterdir()}
    # A report or an explanation that was killed leaves its temporary directory.
    left = (".report-", f".{EXPLAINED}.")
    others = {name for name in names if not name.endswith(".parquet") and not name.startswith(left)} - _PARTS
    kept = directory / EXPLAINED
    if EXPLAINED in names and (kept.is_symlink() or not kept.is_dir() or not _holds_a_result(kept)):
        return False
    return not names or ({"scenario.json", "summary.json"} <= names and not others)


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


def _replace(document: dict[str, Any], key: str, value: str) -> None:
    """Sets the value at a key path such as ``workload[0].table``."""
    parts = key.replace("[", ".").replace("]", "").split(".")
    place: Any = document
    for part in parts[:-1]:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[parts[-1]] = value
