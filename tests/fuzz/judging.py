"""Judges a case: a panic, a traceback, a wrong exit code or a wrong message is a fault of xoff.

A case is refused with exit code 2 and one message of short lines, or completes with 0 or 1. Processor time bounds the
work of a case, because a busy machine does not shorten processor time: a case above the bound ends its process.
"""

from __future__ import annotations

import os
import re
import resource
import tempfile
from pathlib import Path

from tests.fuzz import steps
from tests.fuzz.case import Case

CPU_SECONDS = 120
MEMORY_BYTES = 6 * 2**30
# The maximum lengths of a line and of a message: lines are truncated, and reported mistakes are limited in number.
_LINE, _MESSAGE = 2100, 60_000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def finding(case: Case, place: Path) -> str:
    """Returns the fault of a case; empty without a fault. The case is written into the place."""
    case.lay_out(place)
    home = Path.cwd()
    os.chdir(place)
    try:
        for step in case.steps:
            if wrong := _wrong(step):
                return f"{' '.join(step)}: {wrong}"
    finally:
        os.chdir(home)
    return ""


def _wrong(step: tuple[str, ...]) -> str:
    with tempfile.TemporaryFile() as native:
        # The core prints a panic directly.
        saved = os.dup(2)
        os.dup2(native.fileno(), 2)
        try:
            outcome = steps.take(step)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return _raised(error)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            native.seek(0)
            printed = native.read().decode("utf-8", "replace")
    if printed:
        return f"printed past the command: {printed[:300]}"
    return _judged(outcome)


def _raised(error: BaseException) -> str:
    """Returns the type of an exception and its place of origin, without details of the case."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_frame.f_code.co_name}" if last else "nowhere"
    text = str(error) if isinstance(error, steps.BrokenPromiseError) else str(error)[:200]
    return f"{type(error).__name__} in {where}: {text}"


def _judged(outcome: steps.Outcome) -> str:
    if outcome.code not in {0, 1, 2}:
        return f"exit code {outcome.code}"
    err = outcome.err
    if outcome.code == 2:
        # Before a failure, a command may have announced its work.
        err = re.sub(r"\A(?:xoff: (?!error: )[^\n]*\n)*", "", err)
        if not err.startswith("xoff: error: "):
            return f"exit code 2 without a message: {err[:200]!r}"
        lines = err.rstrip("\n").split("\n")
        if max(map(len, lines)) > _LINE or len(err) > _MESSAGE:
            return f"a message of {len(err)} characters in {len(lines)} lines: {err[:200]!r}"
        if any(not line.startswith("  ") for line in lines[1:]):
            return f"a second message: {err[:300]!r}"
        if not err.removeprefix("xoff: error: ").strip():
            return "an empty message"
    if _CONTROL.search(err):
        return f"a message with control characters: {err[:200]!r}"
    return ""


def bound() -> None:
    """Bounds the memory of this process, and its processor time until the next call."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (end if hard == resource.RLIM_INFINITY else min(end, hard), hard))
