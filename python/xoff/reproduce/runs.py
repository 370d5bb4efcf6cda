"""Runs the scenarios of experiments on all cores, each distinct scenario once.

A failed run fails only the claims on this run. The next experiment runs while the claims of the previous one are
judged. `xoff.study` does the runs and keeps the results, in a temporary directory, or in a given directory for later
commands.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xoff import running
from xoff._core import InputError
from xoff.results import Result
from xoff.running.interrupts import defer_interrupts
from xoff.study import Advance
from xoff.study.execution import Task, Watch, execute
from xoff.study.identity import SHOWN, run_key
from xoff.study.store import Store


class RunFailed(LookupError):  # noqa: N818 (it says what happened to the run)
    """Raised for the result of a run with a violated audit."""


class Results(dict[str, Result]):
    """Results by the name of the scenario. Reading a run with a violated audit raises `RunFailed`."""

    def __init__(self, results: Mapping[str, Result], failures: Mapping[str, str]) -> None:
        super().__init__(results)
        self.failures = dict(failures)
        self.known: dict[Any, Any] = {}
        """The cache of `Readings`."""

    def __missing__(self, name: str) -> Result:
        if name in self.failures:
            raise RunFailed(f"{name}: {self.failures[name]}")
        raise KeyError(name)


class Runner:
    """Runs scenarios, one per core.

    reads: the tables that each experiment reads, by id; other tables are written only with `runs`. All tables if None.
    threads: number of threads that simulate each run.
    runs: the directory of kept runs.
    scratch: the directory of runs until all are done, if `runs` is None: an interrupted command continues from it.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Mapping[str, dict[str, Any]]],
        *,
        reads: Mapping[str, Collection[str]] | None = None,
        threads: int = 1,
        runs: Path | None = None,
        scratch: Path | None = None,
    ) -> None:
        """Takes the scenarios of every experiment, by id and by name. Raises `InputError` for an invalid scenario."""
        self._scenarios = scenarios
        self._reads = reads
        self._written = None if reads is None or runs is not None else frozenset().union(*reads.values())
        self._kept: dict[str, tuple[str, ...] | None] = {}
        self._known: dict[bytes, str] = {}
        self._keys = {
            id: {name: self._key(id, name, one) for name, one in named.items()} for id, named in scenarios.items()
        }
        # The number of experiments that have yet to read each result; a result is removed after the last one.
        self._readers = Counter(key for named in self._keys.values() for key in set(named.values()))
        self.cpu_seconds = dict.fromkeys(scenarios, 0.0)
        """CPU time of each experiment's runs that were read. Only the first experiment to read a shared run has it."""
        self._timed: set[str] = set()
        self._threads = threads
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._scratch = scratch if runs is None else None
        if runs is not None:
            self._store = Store(runs)
        elif scratch is not None:
            self._store = Store(scratch, durable=False)
        else:
            self._directory = tempfile.TemporaryDirectory(prefix="xoff-runs-")
            self._store = Store(Path(self._directory.name), durable=False)

    @property
    def distinct(self) -> int:
        """The number of scenarios to run; equal scenarios run once."""
        return len(self._readers)

    @property
    def missing(self) -> int:
        """The number of distinct scenarios whose result is not in the store yet."""
        return sum(not self._store.holds(key, self._kept[key] or ()) for key in self._readers)

    def keys(self, experiment: str) -> list[str]:
        """Returns the keys of an experiment's runs in the store."""
        return list(dict.fromkeys(self._keys[experiment].values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._directory is not None:
            self._directory.cleanup()
        if self._scratch is not None and kind is None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def each(self, progress: Callable[[str, Advance], None] | None = None) -> Iterator[tuple[str, Results]]:
        """Yields the results of each experiment. While the caller reads them, the next experiment runs.

        progress: called a few times a second, from another thread, with an experiment and the progress of its runs.
        """
        watch = Watch()
        restore = defer_interrupts(watch.stop.set)
        # Two experiments run at a time: the runs of the next keep the cores busy while the last runs of one end.
        with ThreadPoolExecutor(2) as ahead:
            try:
                done: dict[str, Future[None]] = {}

                def tell(id: str, how: Advance) -> None:
                    # Progress is reported of one experiment at a time: the first unfinished one.
                    first = next((one for one, run in list(done.items()) if not run.done()), id)
                    if progress is not None and id == first:
                        progress(id, how)

                for id in self._keys:
                    done[id] = ahead.submit(self._simulate, id, partial(tell, id), watch)
                for id, run in done.items():
                    while wait([run], timeout=0.25).not_done and not watch.stop.is_set():
                        pass
                    if watch.stop.is_set():
                        _fail(done.values())
                    run.result()
                    yield id, self._read(id)
                    self.release(id)
            finally:
                watch.stop.set()
                ahead.shutdown(cancel_futures=True)
                restore()

    def results(self, experiment: str, progress: Callable[[Advance], None] | None = None) -> Results:
        """Runs the missing scenarios of an experiment, and returns the results of all."""
        self._simulate(experiment, progress)
        return self._read(experiment)

    def _simulate(
        self, experiment: str, progress: Callable[[Advance], None] | None = None, watch: Watch | None = None
    ) -> None:
        scenarios = self._scenarios[experiment]
        tasks = [
            Task(key, index, partial(running.prepare, scenarios[name]), self._kept[key])
            for index, (name, key) in enumerate(self._keys[experiment].items())
        ]
        report = execute(tasks, self._store, threads=self._threads, progress=progress, watch=watch)
        for outcome in report.failures.values():
            raise RuntimeError(f"experiment {experiment}: {outcome.message}")

    def _read(self, experiment: str) -> Results:
        results: dict[str, Result] = {}
        reads = None if self._reads is None else self._reads[experiment]
        failures: dict[str, str] = {}
        for name, key in self._keys[experiment].items():
            failure = self._store.failure(key)
            if failure is None:
                result = results[name] = self._store.result(key, reads)
                if key not in self._timed:
                    self._timed.add(key)
                    self.cpu_seconds[experiment] += result.summary["performance"]["cpu_seconds"]
                # A run that was done for another experiment may have another name there.
                said = self._scenarios[experiment][name]
                kept = {word: value for word, value in result.scenario.items() if word not in SHOWN}
                result.scenario = kept | {word: said[word] for word in SHOWN if said.get(word) is not None}
            elif failure[0] == "audit":
                failures[name] = f"the run violated an audit and has no result: {failure[1]}"
            else:
                raise InputError(f"experiment {experiment}, scenario {name}: {failure[1]}")
        return Results(results, failures)

    def _key(self, experiment: str, name: str, scenario: dict[str, Any]) -> str:
        # Many scenarios are equal to one of another experiment. A scenario with data frames has no JSON.
        try:
            digest = hashlib.sha256(json.dumps(scenario).encode()).digest()
        except TypeError:
            digest = b""
        if digest in self._known:
            return self._known[digest]
        try:
            prepared = running.prepare(scenario)
        except InputError as error:
            raise InputError(f"experiment {experiment}, scenario {name}: {error}") from None
        key = run_key(prepared)
        self._kept[key] = None if self._written is None else tuple(sorted(filter(prepared.records, self._written)))
        if digest:
            self._known[digest] = key
        return key

    def release(self, experiment: str) -> None:
        """Removes the runs of an experiment that no further experiment reads, in a temporary directory."""
        if self._directory is None:
            return
        for key in set(self._keys[experiment].values()):
            self._readers[key] -= 1
            if not self._readers[key]:
                self._store.remove(key)


def _fail(runs: Collection[Future[None]]) -> None:
    """Raises the first error of the runs, and `KeyboardInterrupt` without errors: a failure stops all runs."""
    wait(runs)
    errors = (run.exception() for run in runs)
    raise next((error for error in errors if not isinstance(error, KeyboardInterrupt | None)), KeyboardInterrupt())
