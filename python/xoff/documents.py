"""Documents in directories that may be somebody else's: what never ends, or would not fit into memory, is not read."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_BYTES = 256 * 2**20
"""A scenario with all its defaults is a few times as large as its file, which has 64 MiB at most."""


def read_bytes(path: Path) -> bytes:
    """Return what is in a file. Raises `OSError` if it is not there or no regular file, `ValueError` if too large."""
    # To open a pipe may wait for ever, and to read a device, too.
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path}: is not a regular file")
    if found.st_size > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES // 2**20} MiB")
    return path.read_bytes()


def read_json(path: Path) -> Any:
    """Return what a JSON file holds. Raises as `read_bytes`, and `ValueError` if it is not JSON."""
    try:
        return json.loads(read_bytes(path).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{path}: is nested too deeply") from None


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Have an `OSError` say which file it is of: that of a full disk comes from an open file, and has no name."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno or 0, why, str(file)) from error
