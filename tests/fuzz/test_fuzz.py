"""A part of ``make fuzz``, and proof that faults are noticed: a fault is found, saved, minimised and repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fuzz import FUZZERS, __main__, judging, minimising, steps, values
from tests.fuzz.case import Case, load, read

import xoff
from patience import PATIENCE_SECONDS
from xoff import InputError, running

_SLICE = {"documents": 500, "tables": 300, "studies": 80, "directories": 30, "imports": 300, "mixed": 8}
_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_a_slice_finds_nothing(fuzzer: str, tmp_path: Path) -> None:
    assert __main__.batch(fuzzer, 1, 0, _SLICE[fuzzer], tmp_path) == []


def test_a_case_follows_from_its_number() -> None:
    """The case is the same in another process, with other hashes."""
    texts = [__main__.drawn(fuzzer, 7, number).text() for fuzzer in FUZZERS for number in range(3)]
    code = "from tests.fuzz import FUZZERS, __main__ as m\n"
    code += "for fuzzer in FUZZERS:\n    for number in range(3): print(repr(m.drawn(fuzzer, 7, number).text()))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True,
        env=__main__._environment() | {"PYTHONHASHSEED": "3"}, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == [repr(text) for text in texts]
    assert all(read(text).text() == text for text in texts)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases run inside this process, which must not be bounded."""
    monkeypatch.setattr(judging, "bound", lambda: None)


@pytest.mark.usefixtures("here")
def test_a_fault_is_kept_smaller_and_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def break_on_three(file: str) -> None:
        if 3 in json.loads(Path(file).read_text()).get("a", {}).get("b", []):
            raise RuntimeError("three")

    document = {"a": {"b": [1, 2, 3, 4], "c": {"d": "e"}}, "f": [[[]]]}
    case = Case({"case.json": values.as_json(document), "other.csv": b"1,2"}, (("check", "case.json"),))
    monkeypatch.setitem(steps.STEPS, "check", break_on_three)
    monkeypatch.setitem(FUZZERS, "planted", lambda _: case)
    text = __main__.examine("planted", 1, 0, tmp_path / "kept", tmp_path / "case")
    assert "RuntimeError in test_fuzz.py:break_on_three: three" in text
    (kept,) = (tmp_path / "kept").iterdir()
    assert text.endswith(f"-m tests.fuzz --repeat {kept}")
    smaller = load(kept)
    assert {name: json.loads(content) for name, content in smaller.files.items()} == {"case.json": {"a": {"b": [3]}}}
    assert (kept / "files" / "case.json").read_bytes() == smaller.files["case.json"]
    assert __main__.main(["--repeat", str(kept)]) == 1
    monkeypatch.undo()
    monkeypatch.setattr(judging, "bound", lambda: None)
    assert __main__.main(["--repeat", str(kept)]) == 0


def test_bytes_are_made_fewer_too() -> None:
    case = Case({"case.toml": b"x" * 50 + b"needle" + b"y" * 70}, ())
    found = minimising.minimised(case, lambda one: b"needle" in one.files.get("case.toml", b""))
    assert found.files == {"case.toml": b"needle"}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (InputError("a: is wrong"), ""),
        (InputError(""), "an empty message"),
        (InputError("x: is wrong\n  " + "y" * 10 + "\n  z: too"), ""),
        (InputError("x" * 10**6), ""),
        (InputError("\n  ".join(["x" * 1000] * 100)), "a message of 100"),
        (ValueError("a bug"), "ValueError in test_fuzz.py:fail: a bug"),
        (SystemError("a panic"), "SystemError"),
        (steps.BrokenPromiseError("threads"), "threads"),
        (SystemExit(3), "exit code 3"),
    ],
)
def test_ends_are_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raised: BaseException, found: str) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setitem(steps.STEPS, "fail", fail)
    told = judging.finding(Case({}, (("fail",),)), tmp_path / "case")
    assert found in told if found else told == ""


@pytest.mark.usefixtures("here")
def test_what_the_core_prints_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(steps.STEPS, "print", lambda: os.write(2, b"thread panicked at"))
    told = judging.finding(Case({}, (("print",),)), tmp_path / "case")
    assert told == "print: printed past the command: thread panicked at"


@pytest.mark.usefixtures("here")
def test_a_run_that_depends_on_threads_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = __main__.drawn("mixed", 1, 0)
    assert judging.finding(case, tmp_path / "case") == ""
    run = running.run_prepared

    def depends(prepared: Any, *, threads: int) -> xoff.Result:
        result = run(prepared, threads=threads)
        if threads == 7:
            result.summary["fingerprint"] = "0"
        return result

    monkeypatch.setattr(running, "run_prepared", depends)
    assert "a run on 7 threads differs from one on 1" in judging.finding(case, tmp_path / "case")


@pytest.mark.parametrize(
    ("code", "number"),
    [("while True: pass", signal.SIGXCPU), ("x = bytearray(9 * 2**30)", None)],
    ids=["work", "memory"],
)
def test_work_and_memory_are_bounded(code: str, number: int | None) -> None:
    seconds = 100 if number is None else 1
    bounded = f"from tests.fuzz import judging\njudging.CPU_SECONDS = {seconds}\njudging.bound()\n{code}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", bounded], cwd=_ROOT, capture_output=True, text=True, check=False,
        env=__main__._environment(), timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == (1 if number is None else -number)
    assert number is not None or "MemoryError" in done.stderr


def test_a_process_that_sleeps_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(__main__, "_PATIENCE_SECONDS", 0.1)
    words = [sys.executable, "-c", "import time\ntime.sleep(3600)"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        __main__._watched(process)
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_a_case_that_ends_its_process_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(__main__, "_ATTEMPTS_AFTER_DEATH", 1)
    text = __main__._died("documents", 1, 5, -signal.SIGABRT, tmp_path)
    assert "the process ended with SIGABRT" in text
    (kept,) = tmp_path.iterdir()
    assert load(kept) == __main__.drawn("documents", 1, 5)


def test_all_kinds_of_cases_are_accepted_and_refused(tmp_path: Path) -> None:
    """Cases that are all refused at once, or never refused, would find little."""
    for fuzzer in ("documents", "tables", "studies", "imports"):
        codes = []
        for number in range(40):
            case = FUZZERS[fuzzer](Random(f"{fuzzer} {number}"))
            case.lay_out(tmp_path / "case")
            before = Path.cwd()
            os.chdir(tmp_path / "case")
            try:
                codes.append(steps.take(case.steps[0]).code)
            finally:
                os.chdir(before)
        assert {0, 2} <= set(codes), fuzzer
