"""The memory that this process may use, and the most that it has used."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_UNKNOWN = 2**48
"""A size above that of any machine: the limit is unknown."""
_GROUP = Path("/sys/fs/cgroup/memory.max")


def allowed() -> int:
    """Returns the smallest limit of machine, control group and shell in bytes.

    Memory in use by other processes is not subtracted.
    """
    return min(_machine(), _group(), _limit())


def peak() -> int:
    """Returns the peak memory of this process in bytes; 0 on a system that does not tell it.

    On Linux `getrusage` cannot be used: a process begins with the peak of the process that started it, so a small
    process started by one of 1 GB has a `ru_maxrss` of 1 GB.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/status").read_text("ascii").split("VmHWM:")[1].split()[0]) * 1024
    with contextlib.suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 0


def _machine() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def _group() -> int:
    with contextlib.suppress(OSError, ValueError):
        # Without a limit the file holds `max`.
        return int(_GROUP.read_text("ascii"))
    return _UNKNOWN


def _limit() -> int:
    try:
        import resource
    except ImportError:
        return _UNKNOWN
    # These limits count address space, reserved pages included: the pages already taken are subtracted.
    pages = (0, 0)
    with contextlib.suppress(OSError, ValueError, IndexError):
        found = Path("/proc/self/statm").read_text("ascii").split()
        pages = (int(found[0]), int(found[5]))
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [(resource.getrlimit(kind)[0], taken) for kind, taken in zip(kinds, pages, strict=True)]
    page = resource.getpagesize()
    left = [max(0, limit - taken * page) for limit, taken in limits if limit != resource.RLIM_INFINITY]
    return min(left, default=_UNKNOWN)
