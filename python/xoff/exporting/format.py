"""A format: a module that writes a result to a place, and the suffix of the place's name."""

from __future__ import annotations

import importlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xoff._core import InputError
from xoff.files.new_files import check_name, synchronise
from xoff.results import Result


@dataclass(frozen=True, slots=True)
class Written:
    """The written parts in words, each with its number, and notes for the user."""

    parts: dict[str, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A format of another tool: its module has ``write(result, place, choices)``."""

    module: str
    ending: str

    def place(self, result: Result) -> Path:
        """Returns the default place, beside the result."""
        # A path such as `.` has no name.
        directory = Path(os.path.abspath(result.directory or "result"))  # noqa: PTH100
        beside = directory.with_name(directory.name + self.ending)
        return beside if result.directory is None or result.directory.is_absolute() else Path(os.path.relpath(beside))

    def write(self, result: Result, place: Path, choices: list[str]) -> Written:
        """Writes a result to a new place, which appears when complete.

        Raises `InputError` if the place exists or cannot be written.
        """
        with _new(place) as aside:
            written: Written = importlib.import_module(self.module).write(result, aside, choices)
        return written


@contextmanager
def _new(place: Path) -> Iterator[Path]:
    """Yields a temporary path beside a place; on success, the file or directory there is renamed to the place."""
    check_name(place)
    aside = place.with_name(f".partial-{uuid.uuid4().hex[:8]}-{place.name}")
    try:
        if place.exists() or place.is_symlink():
            raise InputError(f"{place}: exists; choose another name with --out, or remove it")
        made = [parent for parent in place.parents if not parent.exists()]
        place.parent.mkdir(parents=True, exist_ok=True)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"--out: {str(place)!r} is not a path") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from None
    try:
        yield aside
        for file in [aside] if aside.is_file() else sorted(aside.iterdir()):
            synchronise(file)
        aside.rename(place)
    except BaseException as error:
        if aside.is_dir():
            shutil.rmtree(aside, ignore_errors=True)
        aside.unlink(missing_ok=True)
        for parent in made:
            # Only directories made here are removed, innermost first, and only if they are empty.
            try:
                parent.rmdir()
            except OSError:
                break
        if isinstance(error, OSError):
            raise InputError(f"{place}: cannot be written: {error.strerror}") from None
        raise
