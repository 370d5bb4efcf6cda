"""How the command ends: every failure becomes one message on standard error and an exit code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from xoff import wording
from xoff._core import InputError
from xoff.results import AuditError


class Aside:
    """Standard error: progress and warnings that can no longer be said stop no work, and change no exit code."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written; return the length of the whole text."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(command: Callable[[], object]) -> int:
    """Run a command and return its exit code; every failure that is not a fault of xoff ends in one message."""
    try:
        code = command()
        sys.stdout.flush()
        if code == 130:
            # Typer turns Ctrl-C into this code.
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except AuditError as error:
        return _fail(str(error), 1)
    except InputError as error:
        # What does not stand further in is no line of its own, but a value of somebody else.
        return _fail(re.sub(r"\n(?!  )", "\ufffd", str(error)), 2, getattr(error, "errors", None))
    except BrokenPipeError:
        # The reader of our output left, as `| head` does; Python must not complain about it while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as leaving:
        # Typer and Rich end so, with code 1, when the reader of our output left; they have made standard output mute.
        if isinstance(leaving.__context__, BrokenPipeError):
            return 0
        return leaving.code if isinstance(leaving.code, int) else 0
    except KeyboardInterrupt:
        print("xoff: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        return _fail("there is not enough memory for this", 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 2)
    except Exception as error:
        # Typer's own errors, such as an unknown option, know how to say what is wrong.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        message = str(describe()).strip()
        if type(error).__name__ == "NoArgsIsHelpError":
            print(wording.shown(message))
            return 0
        return _fail(message or type(error).__name__, 2)


# A line of a message is cut here: a value of somebody else may have millions of characters.
_LINE = 2000


def _fail(message: str, code: int, errors: list[dict[str, Any]] | None = None) -> int:
    """Print a failure; with ``--json`` also as an object on standard output.

    errors: what is wrong with a document, one by one: ``path``, ``message`` and ``line``.
    """
    lines = [wording.plain(line) for line in message.split("\n")]
    lines = [line if len(line) <= _LINE else f"{line[: _LINE // 2]} … {line[-_LINE // 2 :]}" for line in lines]
    # An output that is full or gone changes no exit code.
    with contextlib.suppress(OSError):
        print("xoff: error: " + "\n".join(lines), file=sys.stderr, flush=True)
    if "--json" in sys.argv[1:]:
        try:
            print(json.dumps({"error": "\n".join(lines), **({} if errors is None else {"errors": errors})}), flush=True)
        except OSError:
            # It may be this output that failed, as on a disk that is full: what is left of it is not tried again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
