"""How long a test waits before it counts as hung: one constant, which no machine comes near however slow it is."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

PATIENCE_SECONDS = 3600


def wait_until(ready: Callable[[], bool], running: subprocess.Popen[str] | None = None) -> None:
    """Wait until something is the case, while a process lasts if one is given."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        assert running is None or running.poll() is None, running.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)
