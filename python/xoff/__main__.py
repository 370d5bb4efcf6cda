"""The entry point of the command: ``xoff`` and ``python -m xoff``.

Importing the modules of the command takes a part of a second. An interrupt in this time ends the process here: no
handler is loaded, and there are no files to clean up.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

# Signals that end a run as Ctrl-C does. `xoff.running.interrupts` has the same list, but takes time to import.
_INTERRUPTING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]


def main() -> None:
    """Runs the command."""
    # A signal that the parent ignores or handles, as `nohup` and tests do, keeps its handler.
    usual = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number in _INTERRUPTING if signal.getsignal(number) in usual]
    for number in ours:
        signal.signal(number, _end)
    from xoff.commands import registry

    for number in ours:
        signal.signal(number, signal.default_int_handler)
    registry.main()


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"xoff: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
