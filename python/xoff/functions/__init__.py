"""Python functions of a user: workloads of a scenario and metrics of a study, named ``module:function`` in a file.

A file may come from others: nothing is imported or called unless the caller of xoff allows Python (``--allow-python``).
A function runs in a process of its own, which can be killed: an interrupt inside the process of xoff would not end a
loop in C. The process imports the module once, and each call runs in a fork of the process: no call sees the variables
of an earlier call, so that rows do not depend on the order of calls.
"""

from __future__ import annotations

import contextlib
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.formatting import literal
from xoff.functions.process import Answer, Interpreter

__all__ = ["TIMEOUT_SECONDS", "FunctionError", "Functions", "Hosts", "Metric", "check_reference"]

TIMEOUT_SECONDS = 60.0
"""Default limit of the time of a call, and of the import of a module: long for a list of rows, short for a wait."""
_MAX_SECONDS = 1e6
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"{_NAME}(\.{_NAME})*:{_NAME}")
_MAX_LENGTH = 255


class FunctionError(InputError):
    """A Python function failed, or may not be called. No other setting of a study is at fault."""


class NotAllowedError(FunctionError):
    """A Python function may not be called."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of a network: the first argument of a workload function.

    A row names a host by its number, from 0 to ``len(hosts) - 1``, or by its name.
    """

    names: tuple[str, ...]
    """The name of each host, by number."""
    rates_bps: tuple[int, ...]
    """The rate of each host in bits per second: the sum over its links."""
    switches: tuple[str, ...]
    """The name of the node at the other end of each host's first link: the leaf switch in a leaf-spine network."""

    def __len__(self) -> int:
        """Returns the number of hosts."""
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a study that a Python function computes from the result of a run."""

    name: str
    function: str
    """The function as ``module:function``."""
    digest: str = ""
    """A hash of the code: `xoff.functions.code.code_digest`."""


def check_reference(reference: object, key: str) -> str:
    """Returns a reference of the form ``module:function``. Raises `InputError` with the key for anything else."""
    if isinstance(reference, str) and len(reference) <= _MAX_LENGTH and _REFERENCE.fullmatch(reference):
        return reference
    raise InputError(f"{key}: {literal(reference)} is not of the form module:function, such as traffic:all_to_one")


class Functions:
    """The permission to call Python functions, and their processes. Close it when the calls are done.

    allowed: whether functions may be called.
    timeout: the limit of each call, and of the import of a module, in seconds.
    is_checked: whether rows are asked for twice, to find functions that return other rows for the same arguments.
    poll: called ten times a second during a call; an exception from it ends the call.
    """

    def __init__(self, allowed: bool = False, timeout: float = TIMEOUT_SECONDS, *, is_checked: bool = False) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_SECONDS:
            raise InputError(f"python_timeout: {timeout!r} is not allowed; allowed are seconds above 0, up to 1e6")
        self.allowed = bool(allowed)
        self.timeout = float(timeout)
        self.is_checked = is_checked
        self.poll: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._keeps = False
        self._idle: dict[Path, list[Interpreter]] = {}
        self._all: list[Interpreter] = []

    def __enter__(self) -> Self:
        self._keeps = True
        return self

    def __reduce__(self) -> tuple[type[Functions], tuple[bool, float]]:
        """Copies the permission alone into another process."""
        return Functions, (self.allowed, self.timeout)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, unless: bool = False) -> None:
        """Ends the processes of functions. A later call begins a new process, which reads the modules again.

        unless: whether a run still needs the processes, which then stay.
        """
        if unless:
            return
        with self._lock:
            ended, self._all, self._idle, self._keeps = self._all, [], {}, False
        for one in ended:
            one.kill()

    def check_allowed(self, key: str, reference: str, directory: Path) -> None:
        """Raises `InputError` with the key and the remedy unless functions may be called."""
        if not self.allowed:
            where = "this directory" if str(directory) == "." else formatting.plain(str(directory))
            raise NotAllowedError(
                f"{key}: `{reference}` is Python code, looked up in {where} and then among installed modules; read the "
                "code, then allow it with --allow-python (allow_python=True from Python)"
            )

    def rows(
        self,
        key: str,
        reference: str,
        directory: Path,
        hosts: Hosts,
        seed: int,
        parameters: Mapping[str, Any],
        *,
        is_job: bool,
    ) -> dict[str, pa.Table]:
        """Returns the tables of a workload: ``rows``, and for a job ``groups`` if the function returned groups.

        Raises `InputError` with the key and the function.
        """
        arguments = {
            "hosts": [hosts.names, hosts.rates_bps, hosts.switches],
            "seed": seed,
            "parameters": dict(parameters),
            "is_job": is_job,
        }
        found = self._ask(key, reference, directory, {"ask": "rows", **arguments}).tables
        if self.is_checked:
            again = self._ask(key, reference, directory, {"ask": "rows", **arguments}).tables
            if found.keys() != again.keys() or not all(found[name].equals(again[name]) for name in found):
                raise FunctionError(f"{key}: {other_rows(reference)}")
        return found

    def measure(self, key: str, metric: Metric, directory: Path, result: Path) -> int | float | None:
        """Returns the value of a metric for the run in the directory `result`; None if the run has no value.

        Raises `InputError` with the key and the function.
        """
        answer = self._ask(key, metric.function, directory, {"ask": "value", "result": str(result.absolute())})
        if answer.digest != metric.digest:
            raise FunctionError(f"{key}: the code of `{metric.function}` changed during the study; run the study again")
        value = answer.value
        if value is None or (isinstance(value, int | float) and math.isfinite(value)):
            return value
        raise FunctionError(f"{key}: `{metric.function}` returned {value}; a finite number or None is needed")

    def digest(self, key: str, reference: str, directory: Path) -> str:
        """Returns a hash of the code of a function, as `xoff.functions.code.code_digest`.

        Raises `InputError` with the key if there is no such function.
        """
        return self._ask(key, reference, directory, {"ask": "digest"}).digest

    def declared(self, key: str, reference: str, directory: Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the declarations of a congestion control, with a hash of the code.

        Raises `InputError` with the key and the class.
        """
        self.check_allowed(key, reference, directory)
        module, _, name = check_reference(reference, f"{key}.class").partition(":")
        request = {"ask": "class", "module": module, "class": name, "parameters": dict(parameters)}
        with self.lent(directory) as process:
            found = process.tell(request, self.timeout, self.poll)
        if "why" in found:
            raise FunctionError(f"{key}: `{reference}` {found['why']}")
        return dict(found["declared"])

    def _ask(self, key: str, reference: str, directory: Path, request: Mapping[str, Any]) -> Answer:
        self.check_allowed(key, reference, directory)
        module, _, function = check_reference(reference, key).partition(":")
        with self.lent(directory) as process:
            answer = process.ask({**request, "module": module, "function": function}, self.timeout, self.poll)
        if answer.why:
            raise FunctionError(f"{key}: `{reference}` {answer.why}")
        return answer

    @contextlib.contextmanager
    def lent(self, directory: Path) -> Iterator[Interpreter]:
        """Lends a process for modules of a folder. An exception ends the process, as does the end after `close`."""
        place = directory.absolute()
        process = self._taken(place)
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        with self._lock:
            if is_kept := self._keeps and process.is_alive and process in self._all:
                self._idle.setdefault(place, []).append(process)
            else:
                self._all = [one for one in self._all if one is not process]
        if not is_kept:
            process.kill()

    def _taken(self, place: Path) -> Interpreter:
        with self._lock:
            if idle := self._idle.get(place):
                return idle.pop()
        process = Interpreter(place)
        with self._lock:
            self._all.append(process)
        return process


def other_rows(reference: str) -> str:
    """Returns the message on a function that returns other rows for equal arguments."""
    return (
        f"`{reference}` returned other rows when called again with the same arguments; draw random numbers from `seed` "
        "alone, and read neither clock nor files that change"
    )
