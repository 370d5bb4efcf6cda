"""Metrics of a study that Python functions compute: ``metrics = { late_flows = "latency:late_flows" }``.

A function gets the `Result` of a run and returns a number, or None for a run without a value. A value is computed once
and kept beside the run, under a hash of the code: after a change of the code it is computed again, from the tables that
the study keeps. Only the process that was asked to run the study calls functions; other machines send it their tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.formatting import literal
from xoff.functions import FunctionError, Functions, Metric, check_reference
from xoff.study.store import Store

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read(found: Any, taken: Iterable[str]) -> tuple[tuple[str, ...], tuple[Metric, ...]]:
    """Returns the names of the metrics of a study, and those metrics that functions compute, without digests.

    found: the study's ``metrics``: a list of names and of tables from name to function, or one table.
    taken: names of columns that no metric may have.

    Raises `InputError` with the key.
    """
    names: list[str] = []
    own: dict[str, Metric] = {}
    entries = [found] if isinstance(found, Mapping) else found
    if not isinstance(entries, list | tuple) or not all(isinstance(one, str | Mapping) for one in entries):
        raise InputError(
            f"metrics: {literal(found)} was given; a list of names, or a table of functions such as "
            '{ late_flows = "latency:late_flows" }, is needed'
        )
    for entry in entries:
        if isinstance(entry, str):
            names.append(entry)
            continue
        for name, reference in entry.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name in taken:
                why = "is a column of studies" if name in taken else "is not a name; allowed are a-z, 0-9 and _"
                raise InputError(f"metrics: {literal(name)} {why}")
            if name in own:
                raise InputError(f"metrics.{name}: is given twice")
            own[name] = Metric(name, check_reference(reference, f"metrics.{name}"))
            names.append(name)
    return tuple(names), tuple(own.values())


def with_digests(metrics: Sequence[Metric], functions: Functions, directory: Path) -> tuple[Metric, ...]:
    """Returns the metrics with the hash of the code of each function. Raises `InputError` if there is no function.

    directory: the folder of the study, in which modules are looked up first.
    """
    return tuple(
        replace(one, digest=functions.digest(f"metrics.{one.name}", one.function, directory)) for one in metrics
    )


def from_rows(rows: Sequence[Sequence[str]]) -> tuple[Metric, ...]:
    """Returns the metrics of a written study. Raises `ValueError` for anything else: the file may be foreign."""
    for row in rows:
        if len(row) != 3 or not _NAME.fullmatch(row[0]) or not _DIGEST.fullmatch(row[2]):
            raise ValueError(f"functions: {list(row)!r} is not a name, a function and a hash")
    return tuple(Metric(*row) for row in rows)


def values(metrics: Sequence[Metric], store: Store, key: str) -> dict[str, int | float | None]:
    """Returns the kept values of a run by name. A metric that was not computed yet is left out."""
    return {one.name: value[0] for one in metrics if (value := store.metric(key, one.digest)) is not None}


def measure(
    metrics: Sequence[Metric],
    store: Store,
    keys: Iterable[str],
    words: Callable[[str], str],
    functions: Functions,
    directory: Path,
    workers: int = 1,
) -> None:
    """Computes the values that the store lacks, and keeps them.

    keys: the runs with a result.
    words: returns the words of a run for messages.
    directory: the folder in which modules are looked up first.
    workers: number of concurrent calls.

    Raises `InputError` with the function and the run if a call fails.
    """
    todo = [(one, key) for key in keys for one in metrics if store.metric(key, one.digest) is None]

    def compute(metric: Metric, key: str) -> None:
        try:
            value = functions.measure(f"metrics.{metric.name}", metric, directory, store.directory / key)
        except FunctionError as error:
            raise FunctionError(f"{error}; at {words(key)}") from None
        store.keep_metric(key, metric.digest, value)

    if workers <= 1 or len(todo) <= 1:
        for metric, key in todo:
            compute(metric, key)
        return
    with ThreadPoolExecutor(min(workers, len(todo)), thread_name_prefix="xoff-metric") as pool:
        try:
            for done in as_completed([pool.submit(compute, *one) for one in todo]):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            functions.close()
            raise
