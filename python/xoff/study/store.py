"""Where the runs of a study are kept: a directory for each, named by its key, which is complete or not there.

A run is written into a work directory of its own and renamed when it is whole and on the disk. Several processes may
work on one store: what two of them compute is the same, and the first one's stays. A run that violated an audit is
kept as the message that says so, since it would fail again.

A work directory is locked while its process lives, so that what a killed process left is known and removed.
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

from xoff import locks
from xoff.documents import named, read_bytes, read_json
from xoff.results import PARTS, Result, load, synchronise
from xoff.shape import mismatch
from xoff.summary import Summary

_FAILURE = "failure.json"
_WORK = ".work-"


def _object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty one if it cannot be read."""
    try:
        found = read_json(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_whole(table: Path) -> bool:
    """Tell whether a Parquet file ends as one does."""
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
    """What is kept of a run that has no result."""

    status: str
    message: str
    audits: dict[str, str]


class Store:
    """The runs of a study, by key.

    durable: whether a run is on the disk before it has its name, so that a loss of power leaves no half of one.
    """

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        # As an absolute path it is the same for processes that run elsewhere.
        self.directory = directory.absolute()
        self._durable = durable

    def open(self) -> str:
        """Make the store if it is not there; return its mark, by which other machines know that they see the same."""
        self.directory.mkdir(parents=True, exist_ok=True)
        mark = self.directory / ".store"
        if not mark.exists():
            with self.workspace() as work:
                write_text(work / "mark", uuid.uuid4().hex)
                # The first of several processes gives the mark.
                with contextlib.suppress(FileExistsError):
                    os.link(work / "mark", mark)
        return self._mark()

    def _mark(self) -> str:
        # One that is damaged tells stores from one another as well.
        try:
            return read_bytes(self.directory / ".store").decode("utf-8", errors="backslashreplace")
        except ValueError as error:
            raise OSError(str(error)) from None

    def marked(self, mark: str) -> bool:
        """Tell whether this is the store that has a mark."""
        try:
            return self._mark() == mark
        except OSError:
            return False

    def keys(self) -> set[str]:
        """The keys of all runs that are whole, those that failed among them."""
        if not self.directory.is_dir():
            return set()
        names = (entry.name for entry in os.scandir(self.directory) if not entry.name.startswith("."))
        return {name for name in names if self.holds(name, ())}

    def holds(self, key: str, tables: Collection[str]) -> bool:
        """Tell whether a run need not be done: it is there, whole, with all these tables, or it is known to fail."""
        place = self.directory / key
        if not place.is_dir():
            return False
        names = {entry.name for entry in os.scandir(place)}
        if _FAILURE in names:
            failure = _object(place / _FAILURE)
            return not mismatch(failure, _Failure) and {"status", "message"} <= failure.keys()
        # What was copied from elsewhere may have been copied in part.
        return (
            {f"{table}.parquet" for table in tables} <= names
            and _is_summary(_object(place / "summary.json"))
            and bool(_object(place / "scenario.json"))
            and all(is_whole(place / name) for name in names if name.endswith(".parquet"))
        )

    def failure(self, key: str) -> tuple[str, str] | None:
        """Why a run has no result, as ``("audit" or "invalid", message)``; None if it has one."""
        found = _object(self.directory / key / _FAILURE)
        return (found["status"], found["message"]) if found else None

    def failed_audits(self, key: str) -> dict[str, str]:
        """The audits of a run that violated one, and what they found."""
        return dict(_object(self.directory / key / _FAILURE).get("audits", {}))

    def result(self, key: str, tables: Collection[str] | None = None) -> Result:
        """Return the result of a run. Raises `InputError` if there is none.

        tables: those that it is to have; all if None.
        """
        return load(self.directory / key, tables)

    def summary(self, key: str) -> dict[str, Any]:
        """Return the summary of a run. Raises `OSError` if there is none."""
        summary: dict[str, Any] = read_json(self.directory / key / "summary.json")
        return summary

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """A directory to write into, gone afterwards; what is complete is moved out of it."""
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
        """Give a complete run its name. If it is there already, the older one stays, unless it lacks tables."""
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

    def adopt(self, key: str, files: Mapping[str, bytes], tables: Collection[str]) -> None:
        """Take in a run that was done on a machine that does not see this store."""
        with self.workspace() as work:
            place = work / key
            place.mkdir()
            for name, content in files.items():
                (place / name).write_bytes(content)
            self.publish(place, key, tables)

    def remove(self, key: str) -> None:
        """Remove a run."""
        with self.workspace() as work, contextlib.suppress(FileNotFoundError):
            (self.directory / key).rename(work / key)

    def clean(self) -> None:
        """Remove what killed processes left."""
        locks.clean(self.directory.glob(f"{_WORK}*"))


def write_failure(place: Path, status: str, message: str, audits: Mapping[str, str]) -> None:
    """Write why a run has no result, as a directory to publish."""
    place.mkdir()
    write_text(place / _FAILURE, json.dumps({"status": status, "message": message, "audits": dict(audits)}))


def write_text(file: Path, text: str) -> None:
    """Write a text, and have it on the disk."""
    with named(file):
        file.write_text(text, "utf-8")
        synchronise(file)
