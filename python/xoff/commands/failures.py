"""The end of the command: every failure becomes one message on standard error and an exit code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from xoff import formatting
from xoff._core import InputError, PluginError
from xoff.results import AuditError


class Aside:
    """Standard error that ignores write errors: lost progress and warnings stop no work and change no exit code."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the text if possible; returns the length of the text."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream if possible."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(command: Callable[[], object]) -> int:
    """Runs a command and returns its exit code. Every failure that is not a fault of xoff ends in one message."""
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
        # Continuation lines of a message are indented. Any other line break comes from a foreign value and is replaced.
        return _fail(re.sub(r"\n(?!  )", "\ufffd", str(error)), 2, getattr(error, "errors", None))
    except PluginError as error:
        return _fail(f"{error}; the run has no result", 2)
    except BrokenPipeError:
        # The reader of standard output left, as `| head` does; Python must not complain about the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as leaving:
        # Typer and Rich exit with code 1 when the reader of standard output left, after redirecting it to the null
        # device.
        if isinstance(leaving.__context__, BrokenPipeError):
            return 0
        return leaving.code if isinstance(leaving.code, int) else 0
    except KeyboardInterrupt:
        print("xoff: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        return _fail("not enough memory", 2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _FIGURES:
            raise
        return _fail('figures need Matplotlib, which is not installed; install it with: pip install "xoff[figures]"', 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 2)
    except Exception as error:
        # Errors of Typer, such as an unknown option, format their own message.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        message = str(describe()).strip()
        if type(error).__name__ == "NoArgsIsHelpError":
            print(formatting.shown(message))
            return 0
        return _fail(message or type(error).__name__, 2)


# Packages of the extra `figures`.
_FIGURES = ("matplotlib", "mpl_toolkits", "numpy")
# Maximum length of a line of a message: a foreign value may have millions of characters.
_LINE = 2000


def _fail(message: str, code: int, errors: list[dict[str, Any]] | None = None) -> int:
    """Prints a failure, with ``--json`` also as an object on standard output, and returns the exit code.

    errors: the mistakes in a document, each with ``path``, ``message`` and ``line``.
    """
    lines = [formatting.plain(line) for line in message.split("\n")]
    lines = [line if len(line) <= _LINE else f"{line[: _LINE // 2]} … {line[-_LINE // 2 :]}" for line in lines]
    # A full or closed output changes no exit code.
    with contextlib.suppress(OSError):
        print("xoff: error: " + "\n".join(lines), file=sys.stderr, flush=True)
    if "--json" in sys.argv[1:]:
        try:
            print(json.dumps({"error": "\n".join(lines), **({} if errors is None else {"errors": errors})}), flush=True)
        except OSError:
            # Standard output itself may have failed, as on a full disk: Python must not flush the rest at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
