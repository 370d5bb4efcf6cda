"""Runs the scenarios of experiments: on all cores, each distinct scenario once; what fails fails only its claims.

The runs are those of a study: `xoff.study` does them and keeps them, in a directory that is gone when all is done, or
in one that the next time finds them there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xoff import running
from xoff._core import InputError
from xoff.results import Result
from xoff.study import Advance
from xoff.study.execution import Task, execute
from xoff.study.identity import run_key
from xoff.study.store import Store


class RunFailed(LookupError):  # noqa: N818 (it says what happened to the run)
    """A run that violated an audit has no result; raised where one is looked up."""


class Results(dict[str, Result]):
    """Results by the name of the scenario. Looking up one that violated an audit raises `RunFailed`."""

    def __init__(self, results: Mapping[str, Result], failures: Mapping[str, str]) -> None:
        super().__init__(results)
        self.failures = dict(failures)
        self.known: dict[Any, Any] = {}
        """What `Readings` made of them."""

    def __missing__(self, name: str) -> Result:
        if name in self.failures:
            raise RunFailed(f"{name}: {self.failures[name]}")
        raise KeyError(name)


class Runner:
    """Runs scenarios, one a core.

    threads: how many threads simulate each.
    runs: where they are kept.
    scratch: where they are kept until all is done, if `runs` is not given: an interrupted command goes on from there.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Mapping[str, dict[str, Any]]],
        *,
        threads: int = 1,
        runs: Path | None = None,
        scratch: Path | None = None,
    ) -> None:
        """Take the scenarios of every experiment: by its id, and by name. Raises `InputError` if one is not valid."""
        self._scenarios = scenarios
        self._keys = {id: {name: _key(id, name, one) for name, one in named.items()} for id, named in scenarios.items()}
        # How many experiments have yet to read a result: those of the last one are let go.
        self._readers = Counter(key for named in self._keys.values() for key in set(named.values()))
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
        """How many scenarios there are to run; equal ones run once."""
        return len(self._readers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._directory is not None:
            self._directory.cleanup()
        if self._scratch is not None and kind is None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def results(self, experiment: str, progress: Callable[[Advance], None] | None = None) -> Results:
        """Run the scenarios of an experiment that have not run for another, and return their results."""
        named = self._keys[experiment]
        scenarios = self._scenarios[experiment]
        tasks = [
            Task(key, index, partial(running.prepare, scenarios[name]))
            for index, (name, key) in enumerate(named.items())
        ]
        report = execute(tasks, self._store, threads=self._threads, progress=progress)
        for outcome in report.failures.values():
            raise RuntimeError(f"experiment {experiment}: {outcome.message}")
        results: dict[str, Result] = {}
        failures: dict[str, str] = {}
        for name, key in named.items():
            failure = self._store.failure(key)
            if failure is None:
                results[name] = self._store.result(key, running.resolve(scenarios[name]))
            elif failure[0] == "audit":
                failures[name] = f"the run violated an audit and has no result: {failure[1]}"
            else:
                raise InputError(f"experiment {experiment}, scenario {name}: {failure[1]}")
        return Results(results, failures)

    def release(self, experiment: str) -> None:
        """Let go of the runs that no other experiment has yet to read, unless they are to be kept."""
        if self._directory is None:
            return
        for key in set(self._keys[experiment].values()):
            self._readers[key] -= 1
            if not self._readers[key]:
                self._store.remove(key)


def _key(experiment: str, name: str, scenario: dict[str, Any]) -> str:
    try:
        return run_key(running.prepare(scenario))
    except InputError as error:
        raise InputError(f"experiment {experiment}, scenario {name}: {error}") from None
