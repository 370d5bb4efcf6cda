"""A study that is killed, interrupted, doubled or out of space loses no run and keeps no partial run."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import xoff
from patience import PATIENCE_SECONDS
from small import TOML
from stopping import PUBLISHED, go_on, stopped
from xoff import running
from xoff.study import Study, dataset
from xoff.study.estimate import Estimate
from xoff.study.plan import Plan
from xoff.study.store import Store

_SIZES = [f"{size}KB" for size in range(1000, 4000, 100)]
# Thirty runs of a few hundredths of a second.
_STUDY = f"""
base = "small.toml"
seeds = 1

[axes]
"workload[0].incast.size" = {json.dumps(_SIZES)}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "study.toml").write_text(_STUDY)
    return tmp_path


def _start(place: Path, *more: str) -> subprocess.Popen[str]:
    words = [str(Path(sys.executable).with_name("xoff")), "sweep", "study.toml", "--out", "out", *more]
    return subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _runs(place: Path) -> set[str]:
    return Store(place / "out" / "runs").keys()


def _stopped(place: Path, runs: int, *more: str) -> subprocess.Popen[str]:
    """Returns a study that has stopped itself after storing some runs."""
    return stopped(place, PUBLISHED, "sweep", "study.toml", "--out", "out", *more, calls=runs)


def _finish(place: Path, *more: str) -> dict[str, Any]:
    done = _start(place, "--json", *more)
    out, messages = done.communicate(timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, messages
    found: dict[str, Any] = json.loads(out)
    return found


def _whole(place: Path) -> None:
    """Checks that every run is stored once, complete, and equal to the run of an undisturbed study."""
    study = Study.open(place / "out")
    for _, _, result in study.results():
        assert result.ok
        assert result.flows.num_rows == 3
    rows = pq.read_table(place / "out" / "runs.parquet").to_pylist()
    assert Counter(row["status"] for row in rows) == {"ok": len(_SIZES)}
    assert [row["incast_size_bytes"] for row in rows] == [int(size[:-2]) * 1000 for size in _SIZES]
    assert pq.read_table(place / "out" / "flows.parquet").num_rows == 3 * len(_SIZES)
    alone = xoff.run(place / "small.toml", overrides={"workload[0].incast.size": _SIZES[-1]}, seed=1)
    assert rows[-1]["fingerprint"] == alone.fingerprint
    # No files of running runs are left.
    assert not list((place / "out" / "runs").glob(".work-*"))
    assert not list((place / "out").glob(".*"))


@pytest.mark.slow
def test_kill_9_again_and_again(place: Path) -> None:
    before: set[str] = set()
    for kills in range(4):
        sweep = _stopped(place, 3 + kills, "--workers", "2")
        sweep.kill()
        sweep.communicate()
        after = _runs(place)
        assert before < after
        for key in after:
            assert xoff.load(place / "out" / "runs" / key).flows.num_rows == 3
        before = after
    assert not (place / "out" / "runs.parquet").exists()
    found = _finish(place)
    assert found["simulated"] == len(_SIZES) - len(before)
    _whole(place)


def test_ctrl_c_keeps_what_is_complete(place: Path) -> None:
    sweep = _stopped(place, 2, "--workers", "1")
    go_on(sweep, signal.SIGINT)
    out, messages = sweep.communicate(timeout=PATIENCE_SECONDS)
    assert (sweep.returncode, out) == (130, "")
    complete = len(_runs(place))
    assert f"{complete} of 30 runs are complete and kept in out" in messages
    assert messages.endswith("xoff: interrupted\n")
    assert "Traceback" not in messages
    assert not list((place / "out" / "runs").glob(".work-*"))
    assert _finish(place)["simulated"] == len(_SIZES) - complete
    _whole(place)


def test_two_processes_share_a_store(place: Path) -> None:
    # The first process stands still until the second has done some runs, and the second until the first goes on.
    first, second = (_stopped(place, 3, "--json", "--workers", "1") for _ in range(2))
    for process in (first, second):
        go_on(process)
    both = (first, second)
    found = [process.communicate(timeout=PATIENCE_SECONDS) for process in both]
    assert [process.returncode for process in both] == [0, 0], found
    simulated = [json.loads(out)["simulated"] for out, _ in found]
    # Neither process waits for the other, so that both may do a few runs; most runs are done once.
    assert len(_SIZES) <= sum(simulated) < 1.7 * len(_SIZES)
    assert all(simulated)
    _whole(place)


def test_tables_and_document_are_of_one_study(
    tmp_path: Path, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two studies share a folder, one may end while the other writes: tables and document belong to one study."""
    first, second = (
        Study({"scenario": scenario, "axes": {"switch.forwarding_latency": delays}, "name": name}, tmp_path / "study")
        for name, delays in (("first", ["0ns", "1us"]), ("second", ["2us"]))
    )
    beside = threading.Thread(target=second.run, kwargs={"workers": 1})
    write = dataset.write

    def interrupted(plan: Plan, *rest: Any) -> list[Path]:
        if plan.name == "first":
            beside.start()
            # As many runs as can be done meanwhile.
            beside.join(3)
        return write(plan, *rest)

    monkeypatch.setattr(dataset, "write", interrupted)
    first.run(workers=1)
    beside.join(PATIENCE_SECONDS)
    found = Study.open(tmp_path / "study")
    assert found.plan.name in {"first", "second"}
    assert all(dataset.is_of(found.plan, file) for file in found.tables())


def test_parts_write_the_data_set_together(place: Path) -> None:
    for part in ("2/3", "3/3"):
        assert not _finish(place, "--shard", part)["tables"]
    assert not (place / "out" / "runs.parquet").exists()
    assert len(_finish(place, "--shard", "1/3")["tables"]) == 3
    _whole(place)


@pytest.mark.parametrize("moment", ["a run is written", "a run begins", "the tables are written"])
def test_a_full_disk_ends_cleanly_and_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    left = [5]

    def until_full(function: Callable[..., Any], *, raises: BaseException = full) -> Callable[..., Any]:
        def write(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise raises
            return function(*arguments, **options)

        return write

    study = Study(place / "study.toml", place / "out")
    with monkeypatch.context() as disk:
        if moment == "a run is written":
            disk.setattr(pq.ParquetWriter, "write_batch", until_full(pq.ParquetWriter.write_batch))
        elif moment == "a run begins":
            disk.setattr(Path, "mkdir", until_full(Path.mkdir))
        else:
            disk.setattr(pq.ParquetWriter, "write_table", until_full(pq.ParquetWriter.write_table))
            left[0] = 0
        with pytest.raises(OSError, match="No space left"):
            study.run(workers=1)
    # No run counts as failed because of the error.
    assert study.status().failed == 0
    assert not (place / "out" / "runs.parquet").exists()
    assert not list((place / "out" / "runs").glob(".work-*"))
    assert _finish(place)["runs"]["complete"] == len(_SIZES)
    _whole(place)


def test_a_full_disk_is_one_message(place: Path) -> None:
    small = place / "disk"
    small.mkdir()
    if not Path("/bin/mount").exists():
        pytest.skip("there is no mount here")
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    try:
        done = _start(place, "--out", "disk/out", "--workers", "1")
        out, messages = done.communicate(timeout=PATIENCE_SECONDS)
        assert (done.returncode, out) == (2, "")
        assert "No space left on device" in messages
        assert "runs are complete and kept in disk/out; the same command runs the others" in messages
        assert "Traceback" not in messages
        kept = Store(small / "out" / "runs").keys()
        assert all(xoff.load(small / "out" / "runs" / key).ok for key in kept)
        subprocess.run(["/bin/mount", "-o", "remount,size=20m", str(small)], check=True)
        assert _finish(place, "--out", "disk/out")["simulated"] == len(_SIZES) - len(kept)
    finally:
        subprocess.run(["/bin/umount", str(small)], check=True)


def test_any_executor(place: Path, scenario: dict[str, Any]) -> None:
    document = {"base": scenario, "axes": {"workload[0].incast.size": ["10KB", "20KB"]}, "seeds": 2}
    context = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as processes, ThreadPoolExecutor(2) as threads:
        one = xoff.sweep(document, out=place / "processes", executor=processes)
        other = xoff.sweep(document, out=place / "threads", executor=threads)
    assert one.runs == other.runs == xoff.sweep(document, out=place / "own").runs


def test_a_machine_that_does_not_see_the_store_sends_its_runs(
    place: Path, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {"base": scenario, "axes": {"workload[0].incast.size": ["10KB", "20KB"]}}
    seen = xoff.sweep(document, out=place / "seen")
    monkeypatch.setattr(Store, "marked", lambda *_: False)
    sent = xoff.sweep(document, out=place / "sent")
    assert sent.runs == seen.runs
    assert sent.flows == seen.flows
    assert (place / "sent" / "flows.parquet").read_bytes() == (place / "seen" / "flows.parquet").read_bytes()


def test_a_machine_with_another_engine_is_refused(
    place: Path, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study({"base": scenario}, place / "out")
    monkeypatch.setattr("xoff.study.execution.engine", iter(["here", "there", "there"]).__next__)
    report = study.run()
    (outcome,) = report.failures.values()
    assert outcome.message == "this machine has xoff there, and the study was begun with here; both need the same"
    assert study.status().missing == 1


def test_what_crashes_is_tried_again(place: Path, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study({"base": scenario, "axes": {"workload[0].incast.size": ["10KB", "20KB"]}}, place / "out")
    simulate = running.run_prepared

    def sometimes(prepared: Any, **options: Any) -> Any:
        if '"10KB"' in prepared.resolved:
            raise MemoryError
        return simulate(prepared, **options)

    with monkeypatch.context() as patched:
        patched.setattr(running, "run_prepared", sometimes)
        report = study.run()
    assert report.simulated == 1
    assert [outcome.message for outcome in report.failures.values()] == ["MemoryError: "]
    assert study.status().missing == 1
    assert study.run().simulated == 1


@pytest.mark.parametrize("limit", ["much", "1MB"])
def test_a_run_that_had_no_memory_is_tried_again(
    place: Path, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """The scenario is not at fault, but this machine, or the number of parallel runs."""
    # The memory of a run is sampled ten times a second: the run takes about a second.
    scenario["workload"][0]["incast"]["size"] = "2GB"
    # Fast-forward is off.
    scenario["probe"] = {"replay": True}
    study = Study({"base": scenario}, place / "out")
    monkeypatch.setenv("XOFF_MEMORY", limit)
    report = study.run()
    assert [outcome.message.partition(":")[0] for outcome in report.failures.values()] == ["XOFF_MEMORY"]
    assert (study.status().failed, study.status().missing) == (0, 1)
    monkeypatch.delenv("XOFF_MEMORY")
    assert study.run().simulated == 1
    assert study.status().complete == 1


def _gone(run: Path) -> None:
    shutil.rmtree(run)


def _cut(run: Path) -> None:
    os.truncate(run / "flows.parquet", 100)


@pytest.mark.parametrize("harm", [_gone, _cut])
def test_what_is_harmed_meanwhile_is_done_again(
    place: Path, scenario: dict[str, Any], harm: Callable[[Path], None]
) -> None:
    """Damage during the study, for example by a clean-up."""
    document = {"base": scenario, "axes": {"workload[0].incast.size": ["10KB", "20KB", "30KB"]}}
    study = Study(document, place / "out")
    harmed: list[str] = []

    def progress(_: Any) -> None:
        if not harmed and (names := _runs(place)):
            harmed.append(min(names))
            harm(place / "out" / "runs" / harmed[0])

    report = study.run(workers=1, progress=progress)
    assert harmed
    assert (report.simulated, study.status().complete) == (4, 3)
    assert (place / "out" / "runs.parquet").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (None, None),
        ("summary.json", b'{"fing'),
        ("summary.json", b""),
        ("flows.parquet", b""),
        ("flows.parquet", b"PAR1xx"),
    ],
)
def test_a_damaged_run_is_done_again(place: Path, file: str | None, content: bytes | None) -> None:
    study = f'base = "small.toml"\nseeds = 1\n[axes]\n"workload[0].incast.size" = {json.dumps(_SIZES[:3])}\n'
    (place / "study.toml").write_text(study)
    Study(place / "study.toml", place / "out").run()
    damaged = sorted(_runs(place))[0]
    run = place / "out" / "runs" / damaged
    whole = {one.name for one in run.iterdir()}
    for one in run.iterdir() if file is None else ():
        one.unlink()
    if file is not None and content is not None:
        (run / file).write_bytes(content)
    assert damaged not in _runs(place)
    report = Study(place / "study.toml", place / "out").run()
    assert (report.simulated, report.failures) == (1, {})
    assert len(_runs(place)) == 3
    assert {one.name for one in run.iterdir()} == whole


def test_left_overs_of_the_living_are_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    mark = store.open()
    assert store.marked(mark)
    assert not Store(tmp_path / "elsewhere").marked(mark)
    dead = store.directory / ".work-dead"
    dead.mkdir()
    with store.workspace() as alive:
        store.clean()
        assert alive.is_dir()
        assert not dead.exists()
    assert store.keys() == set()
    assert store.open() == mark


def test_what_has_just_begun_is_no_left_over(tmp_path: Path) -> None:
    """Runs begin while another process, or another experiment of this process, searches for leftovers."""
    store = Store(tmp_path / "runs")
    store.open()

    def begin(index: int) -> None:
        with store.workspace() as work:
            (work / str(index)).mkdir()

    with ThreadPoolExecutor(4) as pool:
        begun = [pool.submit(begin, index) for index in range(400)]
        while not all(one.done() for one in begun):
            store.clean()
        for one in begun:
            one.result()
    assert list(store.directory.glob(".work-*")) == []


def test_an_estimate_is_right_for_equal_runs() -> None:
    now = [0.0]
    estimate = Estimate(20, 2, clock=lambda: now[0])
    assert estimate.left([], range(20)) is None
    for point in range(10):
        estimate.done(point, 6.0)
    low, high = estimate.left([10, 11], range(12, 20)) or (0, 0)
    assert low == high == pytest.approx(10 * 6 / 2)
    # Half of both running runs is done.
    assert (estimate.left([10, 11], range(12, 20), [(0.0, 0.5), (0.0, 0.5)]) or (0,))[0] == pytest.approx(27)


def test_one_long_run_is_estimated_from_how_far_it_is() -> None:
    now = [0.0]
    estimate = Estimate(2, 2, clock=lambda: now[0])
    now[0] = 3.0
    assert estimate.left([0, 1], [], [(0.0, 0.01), (0.0, 0.01)]) is None
    low, high = estimate.left([0, 1], [], [(0.0, 0.25), (0.0, 0.25)]) or (0, 0)
    assert 5.0 < low < 9.0 < high < 14.0


def test_an_estimate_says_how_sure_it_is() -> None:
    import random

    draw = random.Random(3)
    inside = 0
    for _ in range(300):
        # Durations over two orders of magnitude, in random order, as in a study.
        seconds = [10 ** draw.uniform(-1, 1) for _ in range(60)]
        estimate = Estimate(60, 1, clock=lambda: 0.0)
        for point, one in enumerate(seconds[:30]):
            estimate.done(point, one)
        low, high = estimate.left([], range(30, 60)) or (0, 0)
        assert high < 3 * low
        inside += low <= sum(seconds[30:]) <= high
    # One standard deviation in either direction.
    assert 0.55 < inside / 300 < 0.8


def test_a_point_is_expected_to_take_what_its_other_seeds_took() -> None:
    estimate = Estimate(8, 1, clock=lambda: 0.0)
    for point, seconds in ((0, 1.0), (0, 1.0), (1, 100.0), (1, 100.0)):
        estimate.done(point, seconds)
    assert estimate.left([], [0, 0]) == pytest.approx((2.0, 2.0))
    assert estimate.left([], [1]) == pytest.approx((100.0, 100.0))


def test_an_executor_of_unknown_size_is_measured() -> None:
    now = [0.0]
    estimate = Estimate(100, None, clock=lambda: now[0])
    for point in range(40):
        now[0] += 1.0
        estimate.done(point, 8.0)
    low, high = estimate.left([], range(60)) or (0, 0)
    assert low == high == pytest.approx(60)


def test_a_terminal_shows_how_far_it_is_and_how_long_it_will_take(place: Path) -> None:
    pty = pytest.importorskip("pty")
    terminal, side = pty.openpty()
    words = [str(Path(sys.executable).with_name("xoff")), "sweep", "study.toml", "--out", "out", "--workers", "1"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    sweep = subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=side)
    os.close(side)
    shown = b""
    # The terminal reports an error when its last process is gone.
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 1 << 16):
            shown += piece
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert sweep.wait(timeout=PATIENCE_SECONDS) == 0, text
    counts = [int(count) for count in re.findall(r"(\d+)/30 runs", text)]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    assert re.search(r"\d+/30 runs .*(about )?\d:\d\d (to \d:\d\d )?left", text)


def test_the_pid_is_no_part_of_a_result(place: Path) -> None:
    _finish(place)
    text = (place / "out" / "study.json").read_text("utf-8")
    shutil.rmtree(place / "out")
    _finish(place)
    assert (place / "out" / "study.json").read_text("utf-8") == text
    assert str(place) not in text
