"""Runs the scenarios of experiments: on all cores, each distinct scenario once; what fails fails only its claims."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

import pyarrow as pa

import xoff
from xoff._core import InputError
from xoff.results import AuditError, Result

Measured: TypeAlias = tuple[dict[str, Any], dict[str, Any], dict[str, pa.Table]]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run has no result: its input was bad, or it violated an audit."""

    message: str
    bad_input: bool


class RunFailed(LookupError):  # noqa: N818 (it says what happened to the run)
    """A run that violated an audit has no result; raised where one is looked up."""


class Results(dict[str, Result]):
    """Results by the name of the scenario. Looking up one that violated an audit raises `RunFailed`."""

    def __init__(self, results: Mapping[str, Result], failures: Mapping[str, str]) -> None:
        super().__init__(results)
        self.failures = dict(failures)

    def __missing__(self, name: str) -> Result:
        if name in self.failures:
            raise RunFailed(f"{name}: {self.failures[name]}")
        raise KeyError(name)


class Runner:
    """Runs scenarios in processes of their own, one a core; threads: how many threads simulate each."""

    def __init__(self, scenarios: Mapping[str, Mapping[str, dict[str, Any]]], *, threads: int = 1) -> None:
        """Take the scenarios of every experiment: by its id, and by name."""
        self._scenarios = {
            id: {name: (_key(one), one) for name, one in named.items()} for id, named in scenarios.items()
        }
        # How many experiments have yet to read a result: those of the last one are let go.
        self._readers = Counter(key for named in self._scenarios.values() for key in {key for key, _ in named.values()})
        self._threads = threads
        self._workers = max(1, min(_cores() // threads, len(self._readers)))
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[str, Future[Measured | Failure]] = {}

    @property
    def distinct(self) -> int:
        """How many scenarios there are to run; equal ones run once."""
        return len(self._readers)

    def __enter__(self) -> Self:
        if self._workers > 1:
            # A fork would copy the locks of the threads that draw progress bars.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, mp_context=context)
            for named in self._scenarios.values():
                for key, scenario in named.values():
                    if key not in self._futures:
                        self._futures[key] = self._pool.submit(_simulate, scenario, self._threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            if error is not None:
                # Interrupted, or bad input: what is still running is of no use.
                for process in list((self._pool._processes or {}).values()):
                    process.terminate()
            self._pool.shutdown(cancel_futures=True)

    def results(self, experiment: str, progress: Callable[[int, int], None]) -> Results:
        """Return the results of an experiment; `progress` gets how many of its scenarios have run, and of how many."""
        named = self._scenarios[experiment]
        results: dict[str, Result] = {}
        failures: dict[str, str] = {}
        for number, (name, (key, scenario)) in enumerate(named.items(), 1):
            progress(number, len(named))
            measured = self._measured(key, scenario)
            if isinstance(measured, Failure):
                if measured.bad_input:
                    raise InputError(f"experiment {experiment}, scenario {name}: {measured.message}")
                failures[name] = measured.message
            else:
                resolved, summary, tables = measured
                readers = {table: (lambda found=found: found) for table, found in tables.items()}
                results[name] = Result(resolved, summary, readers)
        for key in {key for key, _ in named.values()}:
            self._readers[key] -= 1
            if not self._readers[key]:
                del self._futures[key]
        return Results(results, failures)

    def _measured(self, key: str, scenario: dict[str, Any]) -> Measured | Failure:
        if key not in self._futures:
            done: Future[Measured | Failure] = Future()
            done.set_result(_simulate(scenario, self._threads))
            self._futures[key] = done
        return self._futures[key].result()


def _simulate(scenario: dict[str, Any], threads: int) -> Measured | Failure:
    """Run one scenario; return what it measured, or why it has no result."""
    try:
        result = xoff.run(scenario, threads=threads)
    except (AuditError, InputError) as error:
        # As text, since errors of the core do not travel between processes.
        return Failure(str(error), isinstance(error, InputError))
    return result.scenario, result.summary, {name: result.table(name) for name in result.tables}


def _key(scenario: Mapping[str, Any]) -> str:
    """What sets a scenario's result: all but what is only shown."""
    return json.dumps({key: value for key, value in scenario.items() if key != "name"}, sort_keys=True, default=repr)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
