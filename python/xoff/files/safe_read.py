"""Safe reading of files in foreign directories: no pipes or devices, and no file too large for memory."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 2**20
"""Size limit of a file in bytes. A scenario with all defaults is a few times as large as its file of at most 64 MiB."""


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file. Raises `OSError` if it is not a regular file, `ValueError` if it is too large."""
    # Opening a pipe, or reading a device, may block for ever.
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path}: is not a regular file")
    if found.st_size > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES // 2**20} MiB")
    return path.read_bytes()


def read_json(path: Path) -> Any:
    """Returns the value of a JSON file. Raises as `read_bytes`, and `ValueError` if it is not JSON."""
    try:
        return json.loads(read_bytes(path).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{path}: is nested too deeply") from None


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Adds the file's name to a nameless `OSError`, such as the error of an open file on a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or 0, why, str(file)) from error
