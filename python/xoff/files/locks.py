"""Locks of the directories in which a process works, by which directories of killed processes are found and removed.

`held` serialises processes that write to the same directory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Without file locks, nothing is removed.
    fcntl = None  # type: ignore[assignment]


def make(name: Callable[[], Path]) -> tuple[Path, int]:
    """Makes and locks a directory; returns the path, and the descriptor to close when the work is done.

    name: makes a directory with a unique name, and returns the path.
    """
    while True:
        place = name()
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(place, os.O_RDONLY)
            # Before the lock, another process may remove the directory as a left-over.
            if _lock(descriptor) is not False and place.exists():
                return place, descriptor
            os.close(descriptor)


@contextlib.contextmanager
def held(place: Path) -> Iterator[None]:
    """Holds the exclusive lock of a directory, after waiting for its holder.

    On systems without locks, does not wait.
    """
    descriptor = os.open(place, os.O_RDONLY)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def clean(places: Iterable[Path]) -> None:
    """Removes the unlocked directories: their processes have ended."""
    for place in filter(Path.is_dir, places):
        with contextlib.suppress(OSError):
            descriptor = os.open(place, os.O_RDONLY)
            if _lock(descriptor):
                shutil.rmtree(place, ignore_errors=True)
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Locks a file: True on success, False if another process holds the lock, None if the system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems have no locks. Then nothing is removed, which costs only space.
        return None
    return True
