"""Writing a result directory: it appears under its name only when it is complete."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import pyarrow as pa

from xoff import _core
from xoff._core import InputError
from xoff.files import locks
from xoff.files.new_files import check_name
from xoff.files.safe_read import named
from xoff.results import EXPLAINED, Result
from xoff.results.claims import Claim
from xoff.results.reading import parquet_reader
from xoff.summary import Summary

# The entries of a result directory beside the tables. A new result replaces the whole directory.
_PARTS = {"scenario.json", "summary.json", "inputs", "report.html", "figures", EXPLAINED}
# Tables with fewer bytes than this are not compressed.
_SMALL = 64_000


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

    def begin_again(self) -> None:
        """Removes all rows, because the run begins again."""
        names = [*self._writers]
        self._close()
        for name in names:
            (self._place() / f"{name}.parquet").unlink(missing_ok=True)

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


def _replace(document: dict[str, Any], key: str, value: str) -> None:
    """Sets the value at a key path such as ``workload[0].table``."""
    parts = key.replace("[", ".").replace("]", "").split(".")
    place: Any = document
    for part in parts[:-1]:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[parts[-1]] = value
