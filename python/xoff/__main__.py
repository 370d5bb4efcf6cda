"""Where the command begins: ``xoff`` and ``python -m xoff``.

What the command needs takes a part of a second to import. Until then there is nothing that an interrupt could leave
behind, and nobody who would turn it into a message: it ends the process here.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

# What ends a run as Ctrl-C does. `xoff.running` has the same, and takes its time to import.
_INTERRUPTING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]


def main() -> None:
    """Run the command."""
    # One that somebody ignores or handles, as `nohup` and tests do, is left to them.
    usual = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number in _INTERRUPTING if signal.getsignal(number) in usual]
    for number in ours:
        signal.signal(number, _end)
    from xoff import cli

    for number in ours:
        signal.signal(number, signal.default_int_handler)
    cli.main()


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"xoff: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
