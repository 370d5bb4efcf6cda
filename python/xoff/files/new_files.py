"""New files, which are complete or absent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from xoff._core import InputError
from xoff.files.safe_read import named


def write_files(texts: Mapping[Path, str]) -> None:
    """Writes text files, and makes their folders. After an error, such as a full disk, no new file or folder is left.

    All texts are written under temporary names before the first file gets its name, because renaming needs no space. An
    existing file keeps its content until then.
    """
    parts = {file: file.with_name(f".{file.name}.part") for file in texts}
    folders = list(dict.fromkeys(parent for file in texts for parent in file.parents if not parent.exists()))
    new = [file for file in texts if not file.exists()]
    is_whole = False
    try:
        for file, part in parts.items():
            with named(file):
                file.parent.mkdir(parents=True, exist_ok=True)
                part.write_text(texts[file], "utf-8")
        for file, part in parts.items():
            with named(file):
                part.replace(file)
        is_whole = True
    finally:
        for place in [*parts.values(), *([] if is_whole else new)]:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
        # The innermost folder first. Another program may have written into a folder meanwhile: it remains.
        for folder in [] if is_whole else sorted(folders, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()


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
