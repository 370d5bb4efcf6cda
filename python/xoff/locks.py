"""Directories that a living process works in: they are locked, so that what a killed one left is known and removed.

What several processes write together, one writes at a time (`held`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Where files cannot be locked, nothing is removed.
    fcntl = None  # type: ignore[assignment]


def make(name: Callable[[], Path]) -> tuple[Path, int]:
    """Make a directory and lock it; return it, and the descriptor to close when the work is done.

    name: makes a directory that nobody else has, and returns its path.
    """
    while True:
        place = name()
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY)
            # Until it is locked, another process may take it for a left-over.
            if _lock(descriptor) is not False and place.exists():
                return place, descriptor
            os.close(descriptor)


@contextlib.contextmanager
def held(place: Path) -> Iterator[None]:
    """Hold the lock of a directory, after whoever has it; at once where there are no locks."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def clean(places: Iterable[Path]) -> None:
    """Remove those of these directories whose processes are no more."""
    for place in filter(Path.is_dir, places):
        with contextlib.suppress(OSError):
            descriptor = os.open(place, os.O_RDONLY)
            if _lock(descriptor):
                shutil.rmtree(place, ignore_errors=True)
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file: True if that succeeded, False if another process has it, None if there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems have no locks: then nothing is removed, which costs only space.
        return None
    return True
