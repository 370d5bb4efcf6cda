"""Where the command begins: ``xoff`` and ``python -m xoff``.

What the command needs takes a part of a second to import. Until then there is nothing that an interrupt could leave
behind, and nobody who would turn it into a message: it ends the process here.
"""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from xoff import cli

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    cli.main()


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"xoff: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
