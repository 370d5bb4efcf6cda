"""The time limit after which a test counts as hung: one constant, far above the needs of the slowest machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

PATIENCE_SECONDS = 3600


def wait_until(ready: Callable[[], bool], running: subprocess.Popen[str] | None = None) -> None:
    """Waits until a condition holds, while a given process lasts."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        assert running is None or running.poll() is None, running.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)
