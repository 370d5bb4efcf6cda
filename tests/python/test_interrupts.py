"""A run stopped from outside leaves no files that look like a result, except what was complete, marked as cut."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import TOML
from stopping import PLACED, REPORTING, WRITING, go_on, stopped

# Three million small flows, ten seconds: rows go to the disk from the first second on.
_STREAMING = """
[network.star]
hosts = 16
link = { rate = "100Gbps", delay = "1us" }

[switch.flow_control.pfc]

[[workload]]
poisson = { load = 0.3, cdf = [[100, 0], [2000, 100]], flows = 3000000 }
"""

Start: TypeAlias = "Callable[..., subprocess.Popen[str]]"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command, which stops itself at a place; ends remaining processes after the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(place: str, *arguments: str) -> subprocess.Popen[str]:
        running.append(stopped(tmp_path, place, *arguments))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_is_complete(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "long.toml").write_text(_STREAMING)
    running = start(WRITING, "run", "long.toml", "--out", "deep/result")
    go_on(running, number)
    out, messages = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    assert out == ""
    assert messages == "xoff: the run is cut; what was complete is in deep/result.cut\nxoff: interrupted\n"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["result.cut"]
    cut = xoff.load(tmp_path / "deep" / "result.cut")
    assert cut.summary["cut"] is True
    done = cut.summary["flows"]["completed"]
    assert 0 < done < 3_000_000
    # Flows under way have a row without an end.
    ended = [time for time in cut.flows["fct_ps"].to_pylist() if time is not None]
    assert len(ended) == done
    left = f"cut: {3_000_000 - done} of 3000000 flows had not ended at the end of the run"
    assert cut.audits["completion"] == left


def test_a_second_interrupt_and_one_before_the_run_leave_nothing(start: Start, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(_STREAMING)
    # Parent folders created for a missing result are not the user's, either.
    running = start(REPORTING, "run", "long.toml", "--out", "deep/result")
    go_on(running, signal.SIGINT, signal.SIGTERM)
    running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    left = [path.name for path in tmp_path.rglob("*")]
    assert not any("partial" in name for name in left)
    assert "result" not in left


def test_ctrl_c_keeps_an_older_result(start: Start, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "long.toml").write_text(_STREAMING)
    first = xoff.run(tmp_path / "small.toml", out=tmp_path / "result")
    running = start(PLACED, "run", "long.toml", "--out", "result", "--force")
    go_on(running, signal.SIGINT)
    running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    assert xoff.load(tmp_path / "result").fingerprint == first.fingerprint
    left = sorted(path.name for path in tmp_path.iterdir() if path.name != "result.cut")
    assert left == ["long.toml", "result", "small.toml"]


def test_what_a_killed_run_leaves_is_no_result(start: Start, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "long.toml").write_text(_STREAMING)
    running = start(WRITING, "run", "long.toml", "--out", "result")
    assert list(tmp_path.glob(".result.partial-*/*.parquet"))
    running.kill()
    running.communicate(timeout=PATIENCE_SECONDS)
    assert not (tmp_path / "result").exists()
    (rest,) = tmp_path.glob(".result.partial-*")
    with pytest.raises(xoff.InputError, match="not a result directory"):
        xoff.load(rest)
    # Leftovers block no later run.
    xoff.run(tmp_path / "small.toml", out=tmp_path / "result")
    assert xoff.load(tmp_path / "result").ok


def test_ctrl_c_without_a_directory(start: Start, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(_STREAMING)
    running = start(REPORTING, "run", "long.toml", "--json")
    go_on(running, signal.SIGINT)
    out, messages = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130
    assert (out, messages) == ("", "xoff: interrupted\n")


def test_an_error_while_the_result_takes_its_place_keeps_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    first = xoff.run(tmp_path / "small.toml", out=tmp_path / "result")
    rename = Path.rename

    def stopped(self: Path, target: Path) -> Path:
        if ".partial-" in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt):
        xoff.run(tmp_path / "small.toml", seed=99, out=tmp_path / "result")
    assert xoff.load(tmp_path / "result").summary["seed"] == first.summary["seed"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result", "small.toml"]


def test_a_full_disk_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet

    (tmp_path / "small.toml").write_text(TOML)

    close = pyarrow.parquet.ParquetWriter.close
    tried: set[int] = set()

    def full(writer: Any) -> None:
        if id(writer) not in tried:
            tried.add(id(writer))
            raise OSError(28, "No space left on device")
        close(writer)

    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "close", full)
    with pytest.raises(OSError, match="No space left"):
        xoff.run(tmp_path / "small.toml", out=tmp_path / "result")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_interrupt_before_imports_are_done_ends_as_later_ones(tmp_path: Path, number: signal.Signals) -> None:
    # In place of a slow library.
    (tmp_path / "typer.py").write_text("import pathlib, time\npathlib.Path('here').touch()\ntime.sleep(600)\n")
    package = Path(xoff.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}"}
    words = [sys.executable, "-B", "-m", "xoff", "schema"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_until(lambda: (tmp_path / "here").exists(), running)
        running.send_signal(number)
        out, messages = running.communicate(timeout=PATIENCE_SECONDS)
    assert (running.returncode, out, messages) == (130, "", "xoff: interrupted\n")
