"""Realistic Python programs: odd values, runs on several threads, forks, a thousand runs, lost outputs."""

from __future__ import annotations

import decimal
import enum
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import xoff
from params import first_fast
from patience import PATIENCE_SECONDS
from small import Command
from stopping import WRITING, stopped
from xoff import InputError


class _Kind(enum.Enum):
    A = "1us"


class _Hostile:
    """An object that raises on every access."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def _endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


_ODD: dict[str, Callable[[], Any]] = {
    "enumeration": lambda: _Kind.A,
    "no text": _Hostile,
    "decimal": lambda: decimal.Decimal("1.5"),
    "bytes": lambda: b"1us",
    "set": lambda: {1, 2},
    "generator": lambda: (number for number in range(3)),
    "complex": lambda: 1j,
    "class": lambda: int,
    "module": lambda: os,
    "large number": lambda: 10**5000,
    "NaN": lambda: np.float64("nan"),
    "date": lambda: np.datetime64("2020-01-01"),
    "array of objects": lambda: np.array([object()]),
    "a list in itself": _endless,
    "a table in itself": lambda: {"a": _endless()},
    "half a character": lambda: "\ud800",
    "long text": lambda: "\ud800" + "x" * 10**6,
    "number as key": lambda: {1: 2},
    "tuple as key": lambda: {(1, 2): 3},
    "column": lambda: pa.array([1, 2]),
    "data frame": lambda: pa.table({"a": [1]}),
}


@pytest.mark.parametrize("case", _ODD)
def test_odd_values_are_refused_wherever_they_stand(scenario: dict[str, Any], case: str) -> None:
    """One line of moderate length names the place."""
    odd = _ODD[case]
    tries: list[tuple[str, Callable[[], object]]] = [
        ("switch.forwarding_latency", lambda: xoff.check(scenario, overrides={"switch.forwarding_latency": odd()})),
        ("switch.forwarding_latency", lambda: xoff.check(scenario, overrides=[("switch.forwarding_latency", odd())])),
        (
            "switch.forwarding_latency",
            lambda: xoff.check({**scenario, "switch": {**scenario["switch"], "forwarding_latency": odd()}}),
        ),
        ("seed", lambda: xoff.check(scenario, seed=odd())),
        ("threads", lambda: xoff.run(scenario, threads=odd())),
    ]
    if not isinstance(odd(), str):
        tries.append(("out", lambda: xoff.run(scenario, out=odd())))
        tries.append(("directory", lambda: xoff.load(odd())))
    for place, attempt in tries:
        with pytest.raises(InputError) as error:
            attempt()
        assert place in str(error.value), (place, str(error.value))
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600


def test_runs_on_several_threads_at_once_are_those_of_one(scenario: dict[str, Any], tmp_path: Path) -> None:
    """Some runs write directories, some use several threads, some are refused, some show progress."""
    expected = {seed: xoff.run(scenario, seed=seed).fingerprint for seed in range(4)}
    found: list[tuple[int, str]] = []
    refused: list[str] = []

    def work(number: int) -> None:
        for step in range(6):
            seed = (number + step) % 4
            out = tmp_path / f"{number}-{step}" if step % 2 else None
            result = xoff.run(scenario, seed=seed, threads=1 + step % 3, out=out, progress=lambda _: None)
            found.append((seed, result.fingerprint))
            try:
                xoff.run(scenario, overrides={"switch.forwarding_latency": "-1s"})
            except InputError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(found) == len(refused) == 36
    assert all(fingerprint == expected[seed] for seed, fingerprint in found)
    assert len(list(tmp_path.iterdir())) == 18


def _in_a_process(code: str, *arguments: str, cwd: Path) -> str:
    """Runs a program, which must succeed without output to standard error; returns its output."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments], cwd=cwd, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


_FORK = """
import json, os, sys, xoff
scenario = json.loads(sys.argv[1])
before = xoff.run(scenario, threads=2).fingerprint
children = []
for number in range(4):
    child = os.fork()
    if not child:
        # As a worker of multiprocessing does: whatever threads the parent had, this process has one.
        same = xoff.run(scenario, threads=1 + number % 3, out=f"result{number}").fingerprint == before
        os._exit(0 if same else 1)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
assert xoff.run(scenario, threads=2).fingerprint == before
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_process_that_forks_goes_on_in_both(scenario: dict[str, Any], tmp_path: Path) -> None:
    _in_a_process(_FORK, json.dumps(scenario), cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"result{number}" for number in range(4)]


_MANY = """
import gc, json, os, sys, threading, xoff
scenario = json.loads(sys.argv[1])
def held():
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), threading.active_count()
def runs(count):
    for number in range(count):
        try:
            out = "result" if number % 10 == 0 else None
            result = xoff.run(scenario, seed=number, threads=1 + number % 2, out=out)
            result.flows.num_rows
            if number % 3 == 0:
                xoff.run(scenario, overrides={"switch.forwarding_latency": "-1s"})
        except xoff.InputError:
            pass
runs(100)
first = held()
runs(1000)
last = held()
assert last[1:] == first[1:], (first, last)
print(last[0] - first[0])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what a process holds")
def test_a_thousand_runs_leave_nothing_behind(scenario: dict[str, Any], tmp_path: Path) -> None:
    """Descriptors and threads are as before, and no run leaves as much memory as a table of its flows."""
    scenario["workload"][0]["incast"]["size"] = "5KB"
    assert int(_in_a_process(_MANY, json.dumps(scenario), cwd=tmp_path)) < 16 * 2**20


_PROGRAM = str(Path(sys.executable).with_name("xoff"))


@pytest.mark.parametrize(
    "words",
    ["run small.toml", "run small.toml --json", "check small.toml", "check none.toml --json", "--help", "schema"],
)
@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_outputs_that_are_closed_or_full_are_no_fault(scenario_file: Path, words: str, redirection: str) -> None:
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    line = f"{_PROGRAM} {words} {redirection}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=scenario_file.parent, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 2}
    assert re.fullmatch("(xoff: error: [^\n]*\n)?", done.stderr), done.stderr
    assert [path.name for path in scenario_file.parent.iterdir()] == ["small.toml"]


_STUDY = """
base = "small.toml"
design = "screening"
seeds = 2
[axes]
"switch.forwarding_latency" = ["0ns", "1us"]
"switch.queueing" = ["oq", "voq"]
"""
_WHOLE = {"runs.parquet", "flows.parquet", "links.parquet", "effects.parquet", "study.json", "runs", "named"}


@pytest.mark.parametrize("how", ["closed", "full", "left"])
def test_a_study_is_done_whatever_becomes_of_what_it_says(scenario_file: Path, how: str) -> None:
    """A lost reader of the progress must neither leave runs undone nor make an incomplete study look done."""
    (scenario_file.parent / "study.toml").write_text(_STUDY, "utf-8")
    words = [_PROGRAM, "sweep", "study.toml", "--out", "study", "--workers", "1"]
    if how == "left":
        reader, writer = os.pipe()
        os.close(reader)
    elif how == "full" and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    else:
        writer = os.open("/dev/full" if how == "full" else os.devnull, os.O_WRONLY)
    line = f"exec {' '.join(words)} 2>&-" if how == "closed" else f"exec {' '.join(words)}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=scenario_file.parent, stdout=subprocess.PIPE, stderr=writer,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 0
    assert b"8 of 8 runs are complete" in done.stdout
    assert {path.name for path in (scenario_file.parent / "study").iterdir()} == _WHOLE


@pytest.mark.parametrize(
    "environment",
    first_fast(
        [
            {"HOME": None}, {"COLUMNS": "0"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
            {"MPLCONFIGDIR": "/nonexistent"}, {"HOME": "/nonexistent"}, {"COLUMNS": "20"}, {"COLUMNS": "x"},
            {"TERM": None}, {"TERM": "dumb"}, {"TMPDIR": "/nonexistent"},
        ],
        4,
    ),
    ids=str,
)  # fmt: skip
def test_odd_environments_change_no_outcome(scenario_file: Path, environment: dict[str, str | None]) -> None:
    known = os.environ | {key: value for key, value in environment.items() if value is not None}
    known = {key: value for key, value in known.items() if environment.get(key, "") is not None}
    # Only a library of figures reads MPLCONFIGDIR.
    choice = [] if "MPLCONFIGDIR" in environment else ["--format", "html"]
    for words in (["run", "small.toml", "--out", "result"], ["report", "result", *choice], ["--help"]):
        done = subprocess.run(
            [_PROGRAM, *words], cwd=scenario_file.parent, env=known, capture_output=True, stdin=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b""), (words, done.stderr)
        assert done.stdout


def test_a_folder_that_cannot_be_written_is_told(
    scenario: dict[str, Any], tmp_path: Path, xoff_here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading and explaining a result need no writable folder; a page is refused by name."""
    place = tmp_path / "result"
    xoff.run(scenario | {"probe": {"delays": "all"}}, out=place)

    def refuse(*_: object, **__: object) -> None:
        # As a user other than root, because root ignores permissions.
        raise PermissionError(13, "Permission denied", str(place / ".report-x"))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    done = xoff_here("report", place)
    assert (done.returncode, done.stderr) == (2, f"xoff: error: {place}/.report-x: Permission denied\n")
    assert xoff_here("explain", place).returncode == 0


def test_memory_that_is_used_up_is_told_in_one_line(
    xoff_here: Command, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("xoff.running.prepare", full)
    done = xoff_here("run", scenario_file)
    assert (done.returncode, done.stderr) == (2, "xoff: error: not enough memory\n")


def test_limits_of_descriptors_are_told(scenario: dict[str, Any], tmp_path: Path) -> None:
    """With few descriptors left, a run into a directory is refused, and leaves no files."""
    code = "import json, resource, sys, xoff\nscenario = json.loads(sys.argv[1])\nxoff.run(scenario, out='first')\n"
    code += "import os\nleast = len(os.listdir('/proc/self/fd'))\n"
    code += "resource.setrlimit(resource.RLIMIT_NOFILE, (least, least))\n"
    code += "try:\n    xoff.run(scenario, out='second')\nexcept (xoff.InputError, OSError) as error:\n    print(error)"
    assert "oo many open files" in _in_a_process(code, json.dumps(scenario), cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_killed_run_keeps_what_was_there_and_its_left_overs_go(scenario: dict[str, Any], tmp_path: Path) -> None:
    """The next run into the same place removes the leftovers, but no files of a live run or of other programs."""
    xoff.run(scenario, out=tmp_path / "result")
    before = {file.name: file.read_bytes() for file in (tmp_path / "result").iterdir()}
    (tmp_path / "other.json").write_text(json.dumps(scenario))
    with stopped(tmp_path, WRITING, "run", "other.json", "--out", "result", "--force") as process:
        (living,) = tmp_path.glob(".result.partial-*")
        (tmp_path / ".result.partial-of-mine").mkdir()
        xoff.run(scenario, seed=9, out=tmp_path / "result")
        assert living.is_dir()
        xoff.run(scenario, out=tmp_path / "result")
        process.kill()
    assert living.is_dir()
    assert {file.name for file in (tmp_path / "result").iterdir()} == before.keys()
    assert (tmp_path / "result" / "flows.parquet").read_bytes() == before["flows.parquet"]
    xoff.run(scenario, out=tmp_path / "other")
    assert living.is_dir()
    xoff.run(scenario, out=tmp_path / "result")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".result.partial-of-mine",
        "other",
        "other.json",
        "result",
    ]
