"""How much memory this process may use: of the machine, of its control group, and of limits that a shell sets."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_UNKNOWN = 2**48
"""What no machine has: nothing is known."""
_GROUP = Path("/sys/fs/cgroup/memory.max")


def allowed() -> int:
    """Return the smallest of the limits in bytes; what others use of the machine and of the group is not looked at."""
    return min(_machine(), _group(), _limit())


def _machine() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def _group() -> int:
    with contextlib.suppress(OSError, ValueError):
        # Without a limit it holds `max`.
        return int(_GROUP.read_text("ascii"))
    return _UNKNOWN


def _limit() -> int:
    try:
        import resource
    except ImportError:
        return _UNKNOWN
    # These count addresses, also of what is only reserved: what is taken already is not to be had.
    pages = (0, 0)
    with contextlib.suppress(OSError, ValueError, IndexError):
        found = Path("/proc/self/statm").read_text("ascii").split()
        pages = (int(found[0]), int(found[5]))
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [(resource.getrlimit(kind)[0], taken) for kind, taken in zip(kinds, pages, strict=True)]
    page = resource.getpagesize()
    left = [max(0, limit - taken * page) for limit, taken in limits if limit != resource.RLIM_INFINITY]
    return min(left, default=_UNKNOWN)
