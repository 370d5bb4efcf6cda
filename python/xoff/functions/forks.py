"""Forks that the user's code makes of a process of functions: a fork that leaves the user's code ends there.

Such a fork would write the answer of its parent a second time, or take the next request of its parent.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def users_code() -> Iterator[None]:
    """Runs user's code; a fork that the code makes, and that returns or raises, ends with the block."""
    own = os.getpid()
    try:
        yield
    finally:
        end_fork(own)


def end_fork(own: int) -> None:
    """Ends this process if the process is a fork of process `own`."""
    if os.getpid() == own:
        return
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)
