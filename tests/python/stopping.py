"""Commands that stop themselves at a chosen place, so that no test has to be faster than a run.

A stopped process (SIGSTOP) keeps its files and locks. A signal that it gets meanwhile acts as it continues (SIGCONT),
and SIGKILL acts immediately. The test waits for the stop itself, and never for a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import functools, importlib, os, runpy, signal, sys
place, calls = sys.argv[1], int(sys.argv[2])
module, _, path = place.partition(":")
*owners, name = path.split(".")
owner = functools.reduce(getattr, owners, importlib.import_module(module))
real, left = getattr(owner, name), [calls]
def stopping(*words, **options):
    found = real(*words, **options)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    return found
setattr(owner, name, stopping)
sys.argv[:3] = ["xoff"]
runpy.run_module("xoff", run_name="__main__")
"""

WRITING = "xoff.results.writing:DirectoryWriter.append"
"""Rows of a run were written."""
PLACED = "xoff.results.writing:DirectoryWriter.__enter__"
"""The directory of a run was made."""
REPORTING = "xoff.running:Progress"
"""A run has told how far it is."""
PUBLISHED = "xoff.study.store:Store.publish"
"""A run of a study was stored."""


def stopped(directory: Path, place: str, *arguments: str, calls: int = 1) -> subprocess.Popen[str]:
    """Starts the command in a directory, and returns its process as soon as it has stopped itself.

    place: a function as ``module:name``; the process stops as the call with number `calls` returns.
    """
    words = [sys.executable, "-c", _PROGRAM, place, str(calls), *arguments]
    process = subprocess.Popen(words, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        process.returncode = os.waitstatus_to_exitcode(status)
        raise AssertionError(f"the command ended before {place}: {process.communicate()}")
    return process


def go_on(process: subprocess.Popen[str], *numbers: signal.Signals) -> None:
    """Sends signals to a stopped process, and lets it continue."""
    for number in numbers:
        process.send_signal(number)
    process.send_signal(signal.SIGCONT)
