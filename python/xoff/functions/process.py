"""The process of Python functions, as xoff sees it: starts it, asks, waits for at most a given time, and kills it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError

_BEGIN = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from xoff.functions.server import main
main(*sys.argv[2:])
"""
# Set in processes of functions.
_INSIDE = "XOFF_IN_PYTHON_FUNCTION"
_POLL_SECONDS = 0.1
# Longest wait for the place in the code of an interrupted call, or for the exit code of an ended process.
_STOP_SECONDS = 5.0
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a process."""

    why: str = ""
    """The reason of a missing answer, as the rest of a sentence about the function; empty with an answer."""
    tables: dict[str, pa.Table] = field(default_factory=dict)
    value: int | float | None = None
    digest: str = ""


class Interpreter:
    """A Python process that calls functions of modules of a folder, one call at a time."""

    def __init__(self, directory: Path) -> None:
        if not hasattr(os, "fork"):
            raise InputError("--allow-python: Python functions need a system with fork, such as Linux or macOS")
        if _INSIDE in os.environ:
            # A module that runs a study when imported would begin processes without end.
            raise InputError('a Python function calls xoff; put the call under `if __name__ == "__main__":`')
        self._directory = directory
        self._work = Path(tempfile.mkdtemp(prefix="xoff-python-"))
        # The process imports xoff from where this process did; the empty entry stands for the current directory.
        paths = [str(Path(one).absolute()) for one in sys.path if one]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEGIN, json.dumps(paths), str(directory), str(self._work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The order of a set of texts is part of the rows of many a function.
            env={**os.environ, "PYTHONHASHSEED": "0", _INSIDE: "1"},
            # A group of its own, so that everything that a function starts can be killed; Ctrl-C goes to xoff alone.
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process of Python functions has no pipes")
        self._pipes = (self._process.stdin, self._process.stdout)
        self._is_ready = False

    @property
    def is_alive(self) -> bool:
        """Whether the process can be asked again."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kills the process, and all processes that functions began in its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        self._process.wait()
        shutil.rmtree(self._work, ignore_errors=True)

    def ask(self, request: Mapping[str, Any], limit: float, poll: Callable[[], None] | None) -> Answer:
        """Returns the answer to a request, or the reason of a missing answer.

        limit: the longest wait, in seconds; then the process is killed.
        poll: called ten times a second; an exception from it leaves the process in an unknown state.
        """
        for file in self._work.iterdir():
            file.unlink()
        reply = self._exchange({**request, "limit": limit}, limit, poll)
        if reply is None:
            why = self._late(limit)
            self.kill()
            return Answer(why)
        if reply == b"":
            code = self._process.wait()
            self.kill()
            return Answer(f"ended its process with {_ending(code)}")
        found = json.loads(reply)
        if "exit" in found:
            return Answer(f"ended its process with {_ending(found['exit'])}")
        if "why" in found:
            return Answer(_text(found["why"]))
        tables = {name: _table(self._work / f"{name}.arrow") for name in found.get("tables", ())}
        return Answer("", tables, found.get("value"), found["digest"])

    def tell(self, request: Mapping[str, Any], limit: float, poll: Callable[[], None] | None) -> Mapping[str, Any]:
        """Returns the reply to a request about a congestion control; with ``why``, the reason of a missing answer.

        limit, poll: as for `ask`.
        """
        reply = self._exchange({**request, "limit": limit}, limit, poll)
        if reply is None:
            why = self._late(limit)
            self.kill()
            return {"why": why}
        if reply == b"":
            code = self._process.wait()
            self.kill()
            return {"why": f"ended its process with {_ending(code)}"}
        found: dict[str, Any] = json.loads(reply)
        return {**found, "why": _text(found["why"])} if "why" in found else found

    def finish(self) -> None:
        """Waits for the end of the objects of a run; a process whose objects do not end is killed."""
        if "exit" not in self.tell({"ask": "stopped", "is_late": False}, _STOP_SECONDS, None):
            self.kill()

    def ending(self, reason: str, limit: float) -> str:
        """Returns the reason of a failed call, as the rest of a sentence about the method.

        reason: ``late`` for a call that did not return within the limit, ``ended`` for an ended process, or the words.
        """
        if reason not in {"late", "ended"}:
            return _text(reason)
        found = self.tell({"ask": "stopped", "is_late": reason == "late"}, _STOP_SECONDS, None)
        if reason == "late":
            return self._late(limit)
        return f"ended its process with {_ending(found['exit'])}" if "exit" in found else "ended its process"

    def _late(self, limit: float) -> str:
        return (
            f"did not return within {limit:g} s and was interrupted{self._stack()}; --python-timeout SECONDS "
            "(python_timeout) sets the limit"
        )

    def _exchange(self, request: Mapping[str, Any], limit: float, poll: Callable[[], None] | None) -> bytes | None:
        """Returns the line of the reply: empty if the process ended, None after `limit` seconds."""
        if not self._is_ready:
            # The limit begins when the process is ready: the start of Python is no time of the user's code.
            if self._line(math.inf, poll) == b"":
                return b""
            self._is_ready = True
        with contextlib.suppress(BrokenPipeError):
            self._pipes[0].write(json.dumps(request).encode() + b"\n")
            self._pipes[0].flush()
        return self._line(limit, poll)

    def _line(self, limit: float, poll: Callable[[], None] | None) -> bytes | None:
        """Returns the next line of the process: empty if the process ended, None after `limit` seconds."""
        source = self._pipes[1]
        deadline = time.monotonic() + limit
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if poll is not None:
                    poll()
                if (left := deadline - time.monotonic()) <= 0:
                    return None
                if selector.select(min(left, _POLL_SECONDS)):
                    part = os.read(source.fileno(), 65536)
                    if not part:
                        return b""
                    line += part
        return line

    def _stack(self) -> str:
        """Returns the place in the user's code that was running shortly before the limit; empty if unknown."""
        try:
            text = (self._work / "stack").read_text("utf-8", "replace")
        except OSError:
            return ""
        for file, line in re.findall(r'File "([^"\n]+)", line (\d+)', text):
            if Path(file).is_relative_to(self._directory):
                return f" at {Path(file).relative_to(self._directory)}, line {line}"
        return ""


def _table(file: Path) -> pa.Table:
    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as content:
        return content.read_all()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _text(why: str) -> str:
    """Returns a reason as one line without control characters, at most 500 characters."""
    line = formatting.plain(" ".join(why.split()))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
