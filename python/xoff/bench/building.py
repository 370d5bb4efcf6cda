"""Builds of programs to measure, in a temporary directory."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.bench import processes


@contextmanager
def workplace() -> Iterator[Path]:
    """Yields a directory, which is removed with all files however the measurement ends."""
    with tempfile.TemporaryDirectory(prefix="xoff-bench-", ignore_cleanup_errors=True) as place:
        yield Path(place).resolve()


def cargo(source: Path, target: Path, *words: str, what: str) -> list[dict[str, Any]]:
    """Builds a package in release mode; returns the artifacts as Cargo describes them.

    Raises `InputError` if the build fails.
    """
    environment = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS"}}
    environment |= {"CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable}
    done = processes.run(
        ["cargo", "build", "--release", "--message-format=json-render-diagnostics", *words],
        directory=source,
        environment=environment,
    )
    if done.code != 0:
        raise InputError(f"{what} does not build: {done.reason()}")
    messages = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    return [message for message in messages if message.get("reason") == "compiler-artifact"]
