"""The bench: output and refusals; no test measures durations."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import xoff
from patience import PATIENCE_SECONDS, wait_until
from small import Command
from xoff import _core
from xoff.bench import building, cases, measure, misses, processes, training
from xoff.bench import kernel as beside_kernel

_PACKAGE = Path(xoff.__file__).parent
# A kernel that prints the expected output, and simulates nothing.
_KERNEL = """
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|v| v.parse().unwrap()).collect();
    assert_eq!((a[2], a[3], a[4]), (1, 1_000_000, 3));
    let hops = 4 * a[0] * a[1];
    println!("ev/hop 3.00 evs {}", 3 * hops);
}
"""
# A commit with slower switches, and without one of the cases.
_ANOTHER = """

_run = run


def run(scenario):
    if scenario.get("seed") == 2:
        raise InputError("seed: 2 is not yet possible")
    return _run(scenario, overrides={"switch.forwarding_latency": "10ns"})
"""


@pytest.fixture
def small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cases of milliseconds, which are the kernel's, too."""
    scenario = cases.kernel(8, "3KB")
    for name in list(cases.CASES):
        monkeypatch.delitem(cases.CASES, name)
    monkeypatch.setitem(cases.CASES, "first", ("128 hosts", scenario))
    monkeypatch.setitem(cases.CASES, "second", ("the same with another seed", scenario | {"seed": 2}))
    monkeypatch.setattr(beside_kernel, "_CASES", (("first", 128, 3), ("second", 128, 3)))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the parent of temporary directories."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    return place


def _package(at: Path, program: str) -> Path:
    (at / "src").mkdir(parents=True)
    (at / "Cargo.toml").write_text('[package]\nname = "kernel"\nversion = "1.0.0"\nedition = "2021"\n')
    (at / "src" / "main.rs").write_text(program)
    return at


def _names(at: Path) -> list[str]:
    return sorted(str(path.relative_to(at)) for path in at.rglob("*"))


@pytest.mark.usefixtures("small_cases")
def test_the_kernel_takes_turns_with_its_case(xoff_here: Command, tmp_path: Path, temporary: Path) -> None:
    package = _package(tmp_path / "kernel", _KERNEL)
    before = _names(package)
    done = xoff_here("bench", "--kernel", package, "--repeats", "3", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)["cases"]
    assert [(case["name"], case["data_packet_hops"]) for case in answer] == [("first", 1536), ("second", 1536)]
    for case in answer:
        ratio = case["ratio"]
        assert len(ratio["pairs"]) == 3
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]
        assert ratio["median"] == sorted(ratio["pairs"])[1]
    # No files are left, neither beside the source nor elsewhere.
    assert _names(package) == before
    assert _names(temporary) == []
    text = xoff_here("bench", "--kernel", package, "--repeats", "1")
    assert "first" in text.stdout
    assert "ratio" in text.stdout


@pytest.mark.usefixtures("small_cases")
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("fn main() { 1 }", "does not build: error[E0308]: mismatched types"),
        ('fn main() { eprintln!("no such window"); std::process::exit(3); }', "does not run: no such window"),
        ("fn main() {}", "the answer does not equal 1536 packet-hops"),
        ('fn main() { println!("ev/hop 3.00 evs 4000"); }', "the answer does not equal 1536 packet-hops"),
        (None, "is no Cargo package"),
    ],
)
def test_a_kernel_that_is_none(
    xoff_here: Command, tmp_path: Path, temporary: Path, program: str | None, why: str
) -> None:
    package = tmp_path / "kernel" if program is None else _package(tmp_path / "kernel", program)
    done = xoff_here("bench", "--kernel", package)
    assert (done.returncode, done.stdout) == (2, "")
    message = done.stderr.splitlines()[-1]
    assert message.startswith("xoff: error: bench --kernel: ")
    assert why in message
    assert _names(temporary) == []


def test_a_machine_without_a_compiler(xoff_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = _package(tmp_path / "kernel", _KERNEL)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = xoff_here("bench", "--kernel", package)
    assert done.returncode == 2
    assert "`cargo` cannot be started" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_interrupts_ends_the_build_and_leaves_nothing(
    tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    package = _package(tmp_path / "kernel", _KERNEL)
    programs = tmp_path / "programs"
    programs.mkdir()
    # A compiler with a child process, which reports its start.
    cargo = programs / "cargo"
    child = tmp_path / "child"
    cargo.write_text(f"#!/bin/sh\nsleep 3600 &\necho $! > {child}.new\nmv {child}.new {child}\nwait\n")
    cargo.chmod(0o755)
    words = [sys.executable, "-m", "xoff", "bench", "--kernel", str(package)]
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    wait_until(child.exists, running)
    running.send_signal(number)
    out, messages = running.communicate(timeout=PATIENCE_SECONDS)
    assert (running.returncode, out) == (130, "")
    assert messages.splitlines()[-1] == "xoff: interrupted"
    assert _names(temporary) == []
    wait_until(lambda: _has_ended(int(child.read_text())))


def test_an_interrupt_while_a_program_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *words: Any, **settings: Any) -> None:
            super().__init__(*words, **settings)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            processes.run(["sleep", "3600"], environment=os.environ)
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: _has_ended(started[0]))


def _has_ended(process: int) -> bool:
    """True if a process has ended, including a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a checkout with commits of this package; a build is replaced by the core in use."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    at = tmp_path / "checkout"
    (at / "crates" / "python").mkdir(parents=True)
    (at / "crates" / "python" / "Cargo.toml").write_text("")
    shutil.copytree(_PACKAGE, at / "python" / "xoff", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.dylib"))
    _git(at, "init", "--quiet")
    _commit(at, "All of it")

    def built(*_arguments: Any, **_words: Any) -> list[dict[str, Any]]:
        assert isinstance(_core.__file__, str)
        return [{"target": {"kind": ["cdylib"]}, "filenames": [_core.__file__]}]

    monkeypatch.setattr(building, "cargo", built)
    return at


def _git(at: Path, *words: str) -> str:
    author = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    done = subprocess.run(
        ["git", "-C", at, *author, *words],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _commit(at: Path, why: str) -> str:
    _git(at, "add", "--all")
    _git(at, "commit", "--quiet", "--message", why)
    return _git(at, "rev-parse", "HEAD")


@pytest.mark.usefixtures("small_cases")
def test_another_commit_takes_turns(
    xoff_here: Command, checkout: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _git(checkout, "rev-parse", "HEAD")
    with (checkout / "python" / "xoff" / "running" / "__init__.py").open("a") as running:
        running.write(_ANOTHER)
    second = _commit(checkout, "Another")
    _git(checkout, "reset", "--quiet", "--hard", first)
    (checkout / "mine").write_text("not committed")
    state = (_git(checkout, "status", "--porcelain"), _git(checkout, "worktree", "list"), _names(checkout / ".git"))

    monkeypatch.chdir(checkout / "python")
    same = json.loads(_bench(xoff_here, "--compare", first[:12], "first"))
    assert same["commit"] == first
    assert [case["same_fingerprint"] for case in same["cases"]] == [True]
    assert len(same["cases"][0]["ratio"]["pairs"]) == 2
    other = json.loads(_bench(xoff_here, "--compare", second))
    assert [case["name"] for case in other["cases"]] == ["first", "second"]
    assert other["cases"][0]["same_fingerprint"] is False
    assert other["cases"][0]["building_apart"] is True
    assert other["cases"][1]["refused"].endswith("does not run the case: seed: 2 is not yet possible")
    assert _names(temporary) == []
    now = (_git(checkout, "status", "--porcelain"), _git(checkout, "worktree", "list"), _names(checkout / ".git"))
    assert now == state


def _bench(xoff_here: Command, *words: str) -> str:
    done = xoff_here("bench", *words, "--repeats", "2", "--json")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("commit", "why"),
    [
        ("nonsense", "not a commit of the checkout"),
        ("--all", "not a commit of the checkout"),
        ("HEAD:python", "not a commit of the checkout"),
        ("empty", "crates/python/Cargo.toml is missing"),
    ],
)
def test_what_is_no_commit_to_compare_with(
    xoff_here: Command, checkout: Path, monkeypatch: pytest.MonkeyPatch, commit: str, why: str
) -> None:
    _git(checkout, "checkout", "--quiet", "--orphan", "empty")
    _git(checkout, "rm", "--quiet", "-r", "--cached", ".")
    _git(checkout, "commit", "--quiet", "--allow-empty", "--message", "Nothing")
    monkeypatch.chdir(checkout)
    done = xoff_here("bench", f"--compare={commit}")
    assert done.returncode == 2
    assert f"bench --compare {commit}: {why}" in done.stderr


def test_outside_a_checkout(xoff_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = xoff_here("bench", "--compare", "HEAD")
    assert done.returncode == 2
    assert "the current directory is not in a checkout of xoff" in done.stderr


def test_what_does_not_go_together(xoff_here: Command) -> None:
    for words in (["leaf-spine-128"], ["--compare", "HEAD"], ["--rows"]):
        done = xoff_here("bench", "--kernel", ".", *words)
        assert done.returncode == 2
        assert "bench --kernel: has its own cases" in done.stderr
    done = xoff_here("bench", "--rows", "--compare", "HEAD")
    assert done.returncode == 2
    assert "bench --rows: has its own cases" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("small_cases")
def test_what_rows_cost(xoff_here: Command, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xoff.bench.rows._CASE", "first")
    monkeypatch.setattr("xoff.bench.rows.million", lambda: cases.CASES["second"][1])
    done = xoff_here("bench", "--rows", "--repeats", "2", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [probe["probe"] for probe in answer["probes"]] == [
        {},
        {"queues": "10us"},
        {"delays": "all"},
        {"packets": True},
    ]
    for probe in answer["probes"]:
        for ratio in (probe["recorded"], probe["on_disk"]):
            assert len(ratio["pairs"]) == 2
            assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]
    assert answer["million_flows"]["flows"] == 128
    assert answer["million_flows"]["table_bytes"] > 128
    assert _names(temporary) == []
    text = xoff_here("bench", "--rows", "--repeats", "1").stdout
    assert "every packet" in text
    assert "128 flows: " in text


@pytest.mark.usefixtures("small_cases")
def test_what_is_measured(xoff_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ("host", "port", "link", "queued_packet", "active_flow", "waiting_flow")
    by_memory = {f"bytes_per_{part}": 24.0 + i for i, part in enumerate(parts)}
    monkeypatch.setattr("xoff.bench.command.memory", lambda: by_memory)
    done = xoff_here("bench", "first", "--repeats", "1", "--json")
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert case["data_packet_hops"] == 1536
    assert by_memory.items() <= case.items()
    assert 0 < case["build_cpu_seconds"] < case["cpu_seconds"]
    rate = 1536 / (case["cpu_seconds"] - case["build_cpu_seconds"])
    assert case["data_packet_hops_per_cpu_second"] == pytest.approx(rate)
    assert case["cache_misses_per_packet_hop"] is None or case["cache_misses_per_packet_hop"] > 0
    text = xoff_here("bench", "first", "--repeats", "1").stdout
    assert (
        "24 a host, 25 a port, 26 a link with two ports, 27 a queued packet, 28 an active flow, 29 a waiting flow"
        in text
    )
    assert ("cache misses: not counted here" in text) == (case["cache_misses_per_packet_hop"] is None)


def test_memory_is_counted_by_part() -> None:
    """Bounds of the data structures: a packet has 24 bytes, and no part is empty."""
    grown = measure.memory()
    # Other memory of the two processes differs by some hundred KB, which is less than a byte a packet.
    assert 23 < grown["bytes_per_queued_packet"] < 100
    assert 24 <= grown["bytes_per_waiting_flow"] < grown["bytes_per_active_flow"] < 2_000
    assert 100 < grown["bytes_per_port"] < 5_000
    assert grown["bytes_per_link"] == 2 * grown["bytes_per_port"]
    assert 100 < grown["bytes_per_host"] < 20_000


def test_events_are_counted_by_the_system() -> None:
    pages = 1_000
    with misses.Counter(misses.PAGE_FAULTS) as counter, mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1
    # A process without access to its memory counters has no count, and never a wrong count.
    assert counter.count is None or counter.count >= pages / 2


def test_a_program_that_fails_says_why() -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('error: one\\nmore of it')"]
    done = processes.run(words, environment=os.environ)
    assert (done.code, done.reason()) == (1, "error: one")
    done = processes.run([sys.executable, "-c", "raise SystemExit(7)"], environment=os.environ)
    assert done.reason() == "exit code 7"


def test_cases_of_training_are_valid_in_small() -> None:
    """A part of each case is a valid scenario, with fewer bytes; of the whole dense job all ranks run one program."""
    for name, (_, make) in training.CASES.items():
        found = xoff.check(make(training.PART))["workload"]
        assert found["bytes"] > 0, name
    graph = training.CASES["dense-9216"][1](1)["workload"][0]["graph"]
    assert (graph["ranks"], graph["families"]["DP"]) == (9216, {"stride": 8, "count": 1152})
    # Two layers forward and backward, each half with an all-reduce, and that of the gradients.
    assert len(graph["operations"]) == 2 * 2 * 2 * 2 + 1
    # Steps of equal shares repeat.
    assert int(graph["operations"][-1]["size"].removesuffix("B")) % 1152 == 0
