"""Fixtures of the Python package's tests: a small scenario, and the command as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from imports import Import
from patience import PATIENCE_SECONDS
from small import TOML, Command
from xoff.commands import failures, registry


@pytest.fixture
def scenario() -> dict[str, Any]:
    """The small scenario as a dictionary."""
    return {
        "name": "small",
        "seed": 7,
        "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "framing": {"payload": "1000B"},
        "switch": {"buffer": {"per_port": "200KB"}, "flow_control": {"pfc": {}}},
        "workload": [{"name": "incast", "incast": {"senders": [1, 2, 3], "receiver": 0, "size": "100KB"}}],
    }


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """The small scenario as a file, alone in its directory."""
    file = tmp_path / "small.toml"
    file.write_text(TOML, "utf-8")
    return file


@pytest.fixture
def xoff_command(tmp_path: Path) -> Command:
    """The installed command, run in a separate directory."""
    program = Path(sys.executable).with_name("xoff")

    def run(*arguments: str | Path, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        words = [str(program), *map(str, arguments)]
        return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)

    return run


@pytest.fixture
def xoff_here(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command inside this process, which takes milliseconds, with the outcome of the installed command."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = list(map(str, arguments))
        capfd.readouterr()
        code = failures.guarded(lambda: registry.app(words, prog_name="xoff", standalone_mode=False))
        captured = capfd.readouterr()
        return subprocess.CompletedProcess(words, code, captured.out, captured.err)

    return run


@pytest.fixture
def imported(xoff_here: Command, tmp_path: Path) -> Import:
    """Imports files, given as paths or as contents, into a directory; returns the output of ``--json``."""

    def run(kind: str, *files: str | Path, options: tuple[str, ...] = (), out: str = "imported") -> dict[str, Any]:
        paths = []
        for index, file in enumerate(files):
            if isinstance(file, str):
                (tmp_path / f"{index}.txt").write_text(file, "utf-8")
            paths.append(tmp_path / f"{index}.txt" if isinstance(file, str) else file)
        done = xoff_here("import", kind, *paths, "--out", out, "--json", *options)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run
