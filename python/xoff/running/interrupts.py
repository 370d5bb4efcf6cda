"""Interrupts: the signals that end a run, and what becomes of the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

INTERRUPTING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""Signals that end a run as Ctrl-C does: a job scheduler sends SIGTERM, a closing terminal SIGHUP."""


def defer_interrupts(then: Callable[[], None]) -> Callable[[], None]:
    """Makes interrupts call `then` instead of raising `KeyboardInterrupt`. Returns a function to undo the change.

    `KeyboardInterrupt` at an arbitrary moment could leave a lock locked for ever, or a started process unrecorded.
    Outside the main thread the function changes nothing. A signal with a handler other than Python's default keeps the
    handler.
    """
    here = threading.current_thread() is threading.main_thread()
    interrupting = [one for one in INTERRUPTING if here and signal.getsignal(one) is signal.default_int_handler]
    handlers = {one: signal.signal(one, lambda *_: then()) for one in interrupting}

    def restore() -> None:
        while handlers:
            signal.signal(*handlers.popitem())

    return restore


class Interrupts:
    """Interrupts of a run with a directory: the first ends the run, whose complete rows are kept; the second is abrupt.

    Without a directory, and before the first event of the run, an interrupt raises `KeyboardInterrupt`.
    """

    def __init__(self, out: Path | None) -> None:
        self._keeps = out is not None
        self._is_asked = self._has_begun = False
        self._restore: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        if self._keeps:
            self._restore = defer_interrupts(self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _ask(self) -> None:
        if self._is_asked:
            raise KeyboardInterrupt
        self._is_asked = True

    def poll(self) -> None:
        """Raises `KeyboardInterrupt` for an interrupt while the network is built."""
        if self._is_asked and not self._has_begun:
            raise KeyboardInterrupt

    def stops(self) -> bool:
        """True after an interrupt; called between events of the run."""
        self._has_begun = True
        return self._is_asked
