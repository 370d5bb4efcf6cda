"""Does the missing runs of a store, on threads of this process or on any executor; stops at any moment.

The order of the runs is random: the durations so far are then a sample for the estimate, and processes that share a
store seldom do the same run. No result depends on the order.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from xoff import running
from xoff._core import InputError
from xoff.functions import FunctionError
from xoff.results import AuditError
from xoff.running.interrupts import defer_interrupts
from xoff.study.estimate import Estimate
from xoff.study.identity import engine
from xoff.study.store import Store, write_failure

# Number of runs queued at an executor: enough for one that grows with its queue, few enough to stop soon.
_WINDOW = 256
_TELL_SECONDS = 0.25


# Prefix of messages about the memory limit of the environment or the machine, which are no fault of a scenario.
_OF_THE_MACHINE = "XOFF_MEMORY: "


@dataclass(frozen=True, slots=True)
class Task:
    """A run to do unless the store has it."""

    key: str
    kind: int
    """Runs of one kind have equal expected durations: the runs of one point."""
    prepare: Callable[[], running.Prepared]
    keep: tuple[str, ...] | None = None
    """The tables of the run to keep; all if None."""


@dataclass(frozen=True, slots=True)
class Job:
    """The data that a machine needs to do one run."""

    key: str
    prepared: running.Prepared
    keep: tuple[str, ...] | None
    """The tables to keep; all if None."""
    threads: int
    engine: str
    store: Store
    mark: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run."""

    key: str
    status: str
    """``ok``; ``found`` if the store had it; ``audit`` or ``invalid`` without a result; ``crashed`` if another try may
    help."""
    message: str = ""
    seconds: float = 0.0
    files: dict[str, bytes] | None = None
    """The files of the run, if the machine does not see the store."""


@dataclass(slots=True)
class Advance:
    """The progress of a study."""

    total: int
    """Runs of this process."""
    complete: int
    """Runs of these that are in the store."""
    left_seconds: tuple[float, float] | None = None
    """Range of the expected remaining time; None while there is no estimate."""


@dataclass(slots=True)
class Report:
    """The result of an execution."""

    simulated: int = 0
    """Runs that were simulated."""
    found: int = 0
    """Runs that were in the store already."""
    failures: dict[str, Outcome] = field(default_factory=dict)
    """Crashed runs by key; failed runs are in the store."""

    def take(self, outcome: Outcome) -> None:
        """Counts the outcome of a run."""
        if outcome.status == "crashed":
            self.failures[outcome.key] = outcome
        elif outcome.status == "found":
            self.found += 1
        else:
            self.simulated += 1


class Watch:
    """State shared by the threads of this process: the request to stop, and the progress of each run."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.shares: dict[str, tuple[float, float]] = {}
        """Start time and share done of each current run, by key."""

    def poll(self) -> None:
        """Raises `KeyboardInterrupt` in a run if all runs are to stop."""
        if self.stop.is_set():
            raise KeyboardInterrupt

    def begin(self, key: str) -> Callable[[running.Progress], None]:
        """Registers a run, and returns its progress callback."""
        started = time.monotonic()
        self.shares[key] = (started, 0.0)

        def report(progress: running.Progress) -> None:
            self.poll()
            self.shares[key] = (started, progress.share)

        return report


def perform(job: Job, watch: Watch | None = None, work: Path | None = None) -> Outcome:
    """Does one run and puts it into the store, or returns its files if the store is not visible.

    work: the workspace of the store to write in; a new one if None.

    Raises `OSError` for errors of the disk.
    """
    if job.engine != engine():
        message = f"this machine has xoff {engine()}, and the study was begun with {job.engine}; both need the same"
        return Outcome(job.key, "crashed", message)
    if work is not None:
        return _perform(job, job.store, work, watch)
    if job.store.marked(job.mark):
        with job.store.workspace() as own:
            return _perform(job, job.store, own, watch)
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory), durable=False)
        with store.workspace() as own:
            outcome = _perform(job, store, own, watch)
        files = {file.name: file.read_bytes() for file in (store.directory / job.key).iterdir()}
        return Outcome(outcome.key, outcome.status, outcome.message, outcome.seconds, files)


def _perform(job: Job, store: Store, work: Path, watch: Watch | None) -> Outcome:
    # Another process may have done this run since it was planned.
    if store.holds(job.key, job.keep or ()):
        return Outcome(job.key, "found")
    started = time.monotonic()
    status, message = "ok", ""
    audits: dict[str, str] = {}
    place = work / job.key
    progress = watch.begin(job.key) if watch is not None else None
    try:
        poll = watch.poll if watch is not None else None
        running.run_prepared(
            job.prepared,
            threads=job.threads,
            out=place,
            keep=job.keep,
            progress=progress,
            poll=poll,
            in_place=True,
        )
    except AuditError as error:
        status, message, audits = "audit", error.found, error.result.audits
    except FunctionError as error:
        # Code may have changed, or a machine may be slow: another try may help.
        return Outcome(job.key, "crashed", str(error))
    except InputError as error:
        if isinstance(error.__cause__, OSError):
            # The disk is at fault, not the scenario.
            raise error.__cause__ from None
        if str(error).startswith(_OF_THE_MACHINE):
            return Outcome(job.key, "crashed", str(error))
        status, message = "invalid", str(error)
    finally:
        if watch is not None:
            watch.shares.pop(job.key, None)
    if status != "ok":
        write_failure(place, status, message, audits)
    store.publish(place, job.key, job.keep or ())
    return Outcome(job.key, status, message, time.monotonic() - started)


def execute(
    tasks: Collection[Task],
    store: Store,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    threads: int = 1,
    progress: Callable[[Advance], None] | None = None,
    watch: Watch | None = None,
    kept: Callable[[str], None] | None = None,
) -> Report:
    """Does the runs that the store lacks.

    executor: runs the tasks; threads of this process if None. The executor is left running.
    workers: number of concurrent runs on threads of this process; as many as there are cores if None.
    threads: number of threads that simulate each run.
    progress: called a few times a second.
    watch: stops the execution from another thread.
    kept: called with the key of each run with a result that is new in the store; an exception stops the execution.

    Raises `KeyboardInterrupt` when interrupted, and `OSError` when the store cannot be written: complete runs stay.
    """
    mark = store.open()
    store.clean()
    distinct = {task.key: task for task in tasks}
    known = {key for key in distinct if store.holds(key, ())}

    def lacks(task: Task) -> bool:
        return task.key not in known or bool(task.keep and not store.holds(task.key, task.keep))

    todo = list(filter(lacks, distinct.values()))
    report = Report(found=len(distinct) - len(todo))
    if not todo:
        return report
    random.shuffle(todo)
    if workers is None and executor is None:
        workers = max(1, cores() // threads)
    estimate = _estimate(Estimate(len(todo), workers), {key: distinct[key].kind for key in sorted(known)}, store)
    watch = watch or Watch()
    told = time.monotonic() - _TELL_SECONDS
    pending: dict[Future[Outcome], Task] = {}
    pool = executor if executor is not None else ThreadPoolExecutor(workers, thread_name_prefix="xoff-run")
    own = executor is None
    window = workers + 1 if own and workers is not None else _WINDOW
    with store.workspace() if own else contextlib.nullcontext() as work:
        restore = defer_interrupts(watch.stop.set)
        try:
            while todo or pending:
                watch.poll()
                while todo and len(pending) < window:
                    task = todo.pop()
                    job = _job(task, threads, store, mark)
                    pending[pool.submit(perform, job, *((watch, work) if own else ()))] = task
                done, _ = wait(pending, timeout=0.25, return_when=FIRST_COMPLETED)
                for future in done:
                    task = pending.pop(future)
                    outcome = _outcome(future, task.key)
                    if outcome.files is not None:
                        store.adopt(outcome.key, outcome.files, task.keep or ())
                    report.take(outcome)
                    if kept is not None and outcome.status == "ok":
                        kept(outcome.key)
                    estimate.done(task.kind, outcome.seconds if outcome.status == "ok" else None)
                # An estimate reads all runs, which takes time.
                if progress is not None and (time.monotonic() >= told + _TELL_SECONDS or not (todo or pending)):
                    told = time.monotonic()
                    begun, waiting = [task.kind for task in pending.values()], [task.kind for task in todo]
                    left = estimate.left(begun, waiting, list(watch.shares.values()))
                    progress(Advance(len(distinct), len(distinct) - len(todo) - len(pending), left))
            watch.poll()
        except BaseException:
            watch.stop.set()
            raise
        finally:
            for future in pending:
                future.cancel()
            if own:
                pool.shutdown(wait=True, cancel_futures=True)
            restore()
    return report


def _estimate(estimate: Estimate, known: Mapping[str, int], store: Store) -> Estimate:
    """Returns an estimate that knows the times of complete runs; `known` has the kind of each by key."""
    for key, kind in known.items():
        if store.failure(key) is None:
            estimate.known(kind, store.summary(key)["performance"]["wall_seconds"])
    return estimate


def _job(task: Task, threads: int, store: Store, mark: str) -> Job:
    """Prepares a run, and stores the tables that the run reads."""
    prepared = task.prepare()
    for key, relative in prepared.stored.items():
        store.keep_input(relative, prepared.tables[key])
    return Job(task.key, prepared, task.keep, threads, engine(), store, mark)


def _outcome(future: Future[Outcome], key: str) -> Outcome:
    try:
        return future.result()
    except OSError:
        # A full disk or an unwritable store would fail the next run as well.
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # After any other exception, a panic of the core included, the other runs go on.
        return Outcome(key, "crashed", f"{type(error).__name__}: {error}")


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
