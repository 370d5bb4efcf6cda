"""The store of a study's runs: a directory for each run, named by the key of the run, which is complete or absent.

A run is written into a separate work directory, flushed to the disk and then renamed. Several processes may share a
store. If two processes compute the same run, the results are equal and the first stays. Of a run with a violated audit,
only the message is kept, since the run would fail again. The tables that runs read are kept once for all runs, so that
a run can be repeated from the store alone.

A work directory is locked until its process ends. The lock identifies left-overs of killed processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from xoff.files import locks
from xoff.files.new_files import synchronise
from xoff.files.safe_read import named, read_bytes, read_json
from xoff.files.type_check import mismatch
from xoff.results import PARTS, Result, load
from xoff.summary import Summary

_FAILURE = "failure.json"
_WORK = ".work-"
_INPUTS = "inputs"
"""The directory of the tables that runs read, a file for each content."""


def input_file(digest: str) -> str:
    """Returns the path of a table that runs read, relative to the directory of a run; `digest` is of the table."""
    return f"../{_INPUTS}/{digest[:24]}.parquet"


def _object(file: Path) -> dict[str, Any]:
    """Returns the JSON object in a file, or an empty object for an unreadable file."""
    try:
        found = read_json(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_whole(table: Path) -> bool:
    """Whether a Parquet file is complete, which the end mark shows."""
    if not table.is_file():
        return False
    try:
        with table.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            return file.read() == b"PAR1"
    except OSError:
        return False


def _is_summary(found: dict[str, Any]) -> bool:
    return {*PARTS, "performance"} <= found.keys() and not mismatch(found, Summary)


class _Failure(TypedDict):
    """The file of a run without a result."""

    status: str
    message: str
    audits: dict[str, str]


class _Value(TypedDict):
    """The file of a value that a Python function computed."""

    value: int | float | None


class Store:
    """The runs of a study, by key.

    durable: whether a run is flushed to the disk before the renaming, so that a loss of power leaves no partial run.
    """

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        # An absolute path is the same for processes with another working directory.
        self.directory = directory.absolute()
        self._durable = durable

    def open(self) -> str:
        """Makes the store if necessary; returns the mark, by which other machines recognise the same store."""
        self.directory.mkdir(parents=True, exist_ok=True)
        mark = self.directory / ".store"
        if not mark.exists():
            with self.workspace() as work:
                write_text(work / "mark", uuid.uuid4().hex)
                # The first of several processes writes the mark.
                with contextlib.suppress(FileExistsError):
                    os.link(work / "mark", mark)
        return self._mark()

    def _mark(self) -> str:
        # A damaged mark distinguishes stores as well.
        try:
            return read_bytes(self.directory / ".store").decode("utf-8", errors="backslashreplace")
        except ValueError as error:
            raise OSError(str(error)) from None

    def marked(self, mark: str) -> bool:
        """Whether this store has the given mark."""
        try:
            return self._mark() == mark
        except OSError:
            return False

    def keys(self) -> set[str]:
        """Returns the keys of all complete runs, failed ones included."""
        if not self.directory.is_dir():
            return set()
        names = (entry.name for entry in os.scandir(self.directory) if not entry.name.startswith("."))
        return {name for name in names if self.holds(name, ())}

    def holds(self, key: str, tables: Collection[str]) -> bool:
        """Whether a run need not be done: it is complete with all these tables, or is known to fail."""
        place = self.directory / key
        if not place.is_dir():
            return False
        names = {entry.name for entry in os.scandir(place)}
        if _FAILURE in names:
            failure = _object(place / _FAILURE)
            return not mismatch(failure, _Failure) and {"status", "message"} <= failure.keys()
        # A copied run may be incomplete.
        return (
            {f"{table}.parquet" for table in tables} <= names
            and _is_summary(_object(place / "summary.json"))
            and bool(_object(place / "scenario.json"))
            and all(is_whole(place / name) for name in names if name.endswith(".parquet"))
        )

    def failure(self, key: str) -> tuple[str, str] | None:
        """Returns the reason of a missing result as ``("audit" or "invalid", message)``; None if there is a result."""
        found = _object(self.directory / key / _FAILURE)
        return (found["status"], found["message"]) if found else None

    def failed_audits(self, key: str) -> dict[str, str]:
        """Returns the audits, with findings, of a run that failed an audit."""
        return dict(_object(self.directory / key / _FAILURE).get("audits", {}))

    def result(self, key: str, tables: Collection[str] | None = None) -> Result:
        """Returns the result of a run. Raises `InputError` if there is none.

        tables: names of the tables to read; all if None.
        """
        return load(self.directory / key, tables)

    def metric(self, key: str, digest: str) -> tuple[int | float | None] | None:
        """Returns the value that a Python function computed for a run, or None if no value is kept.

        digest: a hash of the code of the function.
        """
        found = _object(self._of_metric(key, digest))
        return None if mismatch(found, _Value) or "value" not in found else (found["value"],)

    def keep_metric(self, key: str, digest: str, value: int | float | None) -> None:
        """Keeps the value that a Python function computed for a run."""
        with self.workspace() as work:
            write_text(work / "value", json.dumps({"value": value}))
            # Another process may have removed the run meanwhile.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                (work / "value").rename(self._of_metric(key, digest))

    def _of_metric(self, key: str, digest: str) -> Path:
        return self.directory / key / f"metric-{digest[:24]}.json"

    def summary(self, key: str) -> dict[str, Any]:
        """Returns the summary of a run. Raises `OSError` if there is none."""
        summary: dict[str, Any] = read_json(self.directory / key / "summary.json")
        return summary

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """Yields a temporary directory to write into; complete runs are moved elsewhere."""
        place, descriptor = locks.make(self._made)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            os.close(descriptor)

    def _made(self) -> Path:
        place = self.directory / f"{_WORK}{uuid.uuid4().hex}"
        place.mkdir()
        return place

    def publish(self, place: Path, key: str, tables: Collection[str]) -> None:
        """Renames a complete run to the key of the run. An existing run stays, unless the existing run lacks tables."""
        target = self.directory / key
        for path in (*place.iterdir(), place) if self._durable else ():
            synchronise(path)
        for _ in range(2):
            try:
                place.rename(target)
                break
            except OSError:
                if not target.is_dir():
                    raise
            if self.holds(key, tables):
                break
            with contextlib.suppress(FileNotFoundError):
                target.rename(place.parent / f"{key}.older")
        if self._durable:
            synchronise(self.directory)

    def keep_input(self, relative: str, table: pa.Table) -> None:
        """Writes a table that runs read, unless the store has the table.

        relative: the path from the directory of a run.
        """
        file = self.directory / Path(relative).relative_to("..")
        if is_whole(file):
            return
        file.parent.mkdir(exist_ok=True)
        with self.workspace() as work, named(file):
            pq.write_table(table, work / file.name, compression="zstd")
            synchronise(work / file.name)
            (work / file.name).rename(file)

    def adopt(self, key: str, files: Mapping[str, bytes], tables: Collection[str]) -> None:
        """Adds a run from a machine without access to this store."""
        with self.workspace() as work:
            place = work / key
            place.mkdir()
            for name, content in files.items():
                (place / name).write_bytes(content)
            self.publish(place, key, tables)

    def remove(self, key: str) -> None:
        """Removes a run."""
        with self.workspace() as work, contextlib.suppress(FileNotFoundError):
            (self.directory / key).rename(work / key)

    def clean(self) -> None:
        """Removes the work directories of killed processes."""
        locks.clean(self.directory.glob(f"{_WORK}*"))


def write_failure(place: Path, status: str, message: str, audits: Mapping[str, str]) -> None:
    """Writes the reason of a missing result, as a directory to publish."""
    place.mkdir()
    write_text(place / _FAILURE, json.dumps({"status": status, "message": message, "audits": dict(audits)}))


def write_text(file: Path, text: str) -> None:
    """Writes a text file and flushes it to the disk."""
    with named(file):
        file.write_text(text, "utf-8")
        synchronise(file)
