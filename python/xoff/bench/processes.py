"""Processes of a measurement, each in a separate process group, which is killed if the benchmark is interrupted."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xoff import formatting
from xoff._core import InputError
from xoff.running.interrupts import defer_interrupts


@dataclass(frozen=True, slots=True)
class Done:
    """An ended process."""

    code: int
    output: str
    messages: str
    cpu_seconds: float

    def reason(self) -> str:
        """Returns the reason of a failure in a line: the first error, or else the last line of the messages."""
        lines = [line for line in self.messages.splitlines() if line.strip()]
        errors = [line for line in lines if line.lstrip().startswith("error")]
        return formatting.plain((errors[:1] or lines[-1:] or [f"exit code {self.code}"])[0].strip())


def run(
    words: Sequence[str | Path], *, text: str = "", directory: Path | None = None, environment: Mapping[str, str]
) -> Done:
    """Runs a program to the end. Raises `InputError` if the program cannot be started."""
    before = _cpu_seconds()
    interrupted = threading.Event()
    restore = defer_interrupts(interrupted.set)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
        with process:
            try:
                # The process is known from here on, so that an interrupt can kill it.
                restore()
                if interrupted.is_set():
                    raise KeyboardInterrupt
                output, messages = process.communicate(text)
            except BaseException:
                # A compiler has child processes, which would write into a directory that is being removed.
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except (FileNotFoundError, PermissionError):
        name = formatting.plain(str(words[0]))
        raise InputError(f"bench: `{name}` cannot be started; install it and add it to the PATH") from None
    finally:
        restore()
    return Done(process.returncode, output, messages, _cpu_seconds() - before)


def _cpu_seconds() -> float:
    """Returns the CPU time of all ended child processes; one is measured at a time."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
