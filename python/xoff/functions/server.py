"""The process of Python functions, from inside: imports modules, and calls each function in a fork of the process.

Requests come as lines of JSON on standard input, and replies leave as lines on standard output; both are moved to other
descriptors first. A function that prints, prints on standard error: standard output of xoff stays for results.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import inspect
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NoReturn

import pyarrow as pa

from xoff.files.type_check import mismatch
from xoff.functions import Hosts
from xoff.functions.code import code_digest
from xoff.functions.control_server import WrongClassError, declared, serve
from xoff.functions.forks import users_code
from xoff.functions.rows import RowsError, tables
from xoff.results import NotRecordedError, load
from xoff.results.reading import declared as declared_columns
from xoff.summary import Summary

_ANSWER = "answer.json"
# Waits of the process beyond the limit: xoff interrupts first, and this alarm ends a process whose xoff was killed.
_BEYOND_SECONDS = 5.0
# The share of the limit after which the place in the code is written down.
_STACK_SHARE = 0.9
_LEAST_SECONDS = 1e-3
# Requests about congestion controls.
_OF_CONTROLS = ("class", "serve", "stopped")


def main(directory: str, work: str) -> None:
    """Answers requests until standard input ends.

    directory: the folder in which modules are looked up first.
    work: the folder for tables and values.
    """
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.path.insert(0, directory)
    # A system may warn of the threads of libraries at each fork.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    server = _Server(Path(directory), Path(work), (requests, replies))
    replies.write(b"ready\n")
    # A reader that is gone is the end, too.
    with contextlib.suppress(BrokenPipeError):
        for line in requests:
            replies.write(json.dumps(server.reply(json.loads(line))).encode() + b"\n")
    # What functions began and left is ended, too.
    os.killpg(0, signal.SIGKILL)


class _UserError(Exception):
    """A fault of the function: the rest of a sentence about the function."""


class _Server:
    def __init__(self, directory: Path, work: Path, pipes: tuple[IO[bytes], ...]) -> None:
        self._directory, self._work, self._pipes = directory, work, pipes
        self._before = frozenset(sys.modules)
        self._child = 0

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the reply to a request."""
        if request["ask"] in _OF_CONTROLS:
            return getattr(self, f"_{request['ask']}")(request)  # type: ignore[no-any-return]
        end = time.monotonic() + float(request["limit"])
        try:
            with self._watched(end), users_code():
                function = self._function(str(request["module"]), str(request["function"]))
                own = getattr(sys.modules[request["module"]], "__file__", None)
                digest = code_digest(request["module"], request["function"], self._directory, own and Path(own))
        except _UserError as error:
            return {"why": str(error)}
        except BaseException as error:
            return {"why": self._raised(error, "cannot be imported: the module raised")}
        if request["ask"] == "digest":
            return {"digest": digest}
        _warm_up(str(request["ask"]))
        child = os.fork()
        if child == 0:
            for pipe in self._pipes:
                pipe.close()
            self._answer(function, request, end)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        try:
            found = json.loads((self._work / _ANSWER).read_text("utf-8"))
        except OSError:
            return {"exit": code}
        return {**found, "digest": digest}

    def _class(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the declarations of a congestion control, and a hash of the code."""
        return self._guarded(request, lambda: {"declared": self._declared(request)})

    def _serve(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Begins a fork of this process that serves the objects of a run at a socket; returns the place of the socket.

        The fork writes down the running code at a signal, also in a loop in C.
        """

        def begin() -> dict[str, Any]:
            classes = []
            for number, one in enumerate(request["classes"]):
                if self._declared(one)["code"] != one["code"]:
                    return {"why": "changed after the run was prepared; run it again", "number": number}
                classes.append((self._function(one["module"], one["class"]), one["parameters"]))
            place = str(self._work / "socket")
            Path(place).unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(place)
            listener.listen(1)
            self._child = os.fork()
            if self._child == 0:
                self._serve_forever(listener, classes, int(request["seed"]))
            listener.close()
            return {"socket": place}

        return self._guarded(request, begin)

    def _stopped(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns how the fork of `_serve` ended; a fork that goes on writes down its running code."""
        end = time.monotonic() + float(request["limit"])
        stack = self._work / "stack"
        while time.monotonic() < end:
            done, status = os.waitpid(self._child, os.WNOHANG)
            if done:
                return {"exit": os.waitstatus_to_exitcode(status)}
            if request["is_late"]:
                os.kill(self._child, signal.SIGUSR1)
                if stack.exists() and stack.stat().st_size:
                    break
            time.sleep(_LEAST_SECONDS)
        return {}

    def _serve_forever(self, listener: socket.socket, classes: list[Any], seed: int) -> NoReturn:
        code = 1
        try:
            for pipe in self._pipes:
                pipe.close()
            with (self._work / "stack").open("w") as stack:
                faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
                _seed(seed)
                serve(listener, classes, lambda error: self._raised(error, "raised"))
            code = 0
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _declared(self, request: Mapping[str, Any]) -> dict[str, Any]:
        module, name = str(request["module"]), str(request["class"])
        found = self._function(module, name)
        own = getattr(sys.modules[module], "__file__", None)
        try:
            answer = declared(found, request["parameters"])
        except WrongClassError as error:
            raise _UserError(str(error)) from None
        return {**answer, "code": code_digest(module, name, self._directory, own and Path(own))}

    def _guarded(self, request: Mapping[str, Any], answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            with self._watched(time.monotonic() + float(request["limit"])), users_code():
                return answer()
        except _UserError as error:
            return {"why": str(error)}
        except BaseException as error:
            return {"why": self._raised(error, "cannot be imported: the module raised")}

    def _function(self, module: str, name: str) -> Callable[..., Any]:
        """Returns a function of a module, which is imported at the first request."""
        first = module.partition(".")[0]
        own = next((one for one in (self._directory / f"{first}.py", self._directory / first) if one.exists()), None)
        known = sys.modules.get(first)
        if own is not None and first in self._before and known is not None:
            at = str(getattr(known, "__file__", None) or "")
            if not at or not Path(at).is_relative_to(self._directory):
                raise _UserError(f"is in {own.name}, which has the name of another module; rename the file")
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            where = f"no `{module.replace('.', '/')}.py` in {self._directory}"
            raise _UserError(f"is missing: {where}, and no installed module `{module}`") from None
        function = getattr(found, name, None)
        if function is None:
            raise _UserError(f"is missing: {_instead(found, is_class=name[:1].isupper())}")
        if not callable(function):
            raise _UserError(f"is no function, but of type {type(function).__name__}")
        return function  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def _watched(self, end: float) -> Any:
        """Ends this process after a moment of the clock, and writes down the running code shortly before."""
        limit = max(end - time.monotonic(), _LEAST_SECONDS)
        with (self._work / "stack").open("w") as stack:
            faulthandler.dump_traceback_later(limit * _STACK_SHARE, file=stack)
            signal.setitimer(signal.ITIMER_REAL, limit + _BEYOND_SECONDS)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                faulthandler.cancel_dump_traceback_later()

    def _answer(self, function: Callable[..., Any], request: Mapping[str, Any], end: float) -> NoReturn:
        """Calls the function, writes the answer, and ends this process."""
        code = 1
        try:
            with self._watched(end):
                try:
                    answer = self._called(function, request)
                except _UserError as error:
                    answer = {"why": str(error)}
                except NotRecordedError as error:
                    answer = {"why": _not_kept(error)}
                except BaseException as error:
                    answer = {"why": self._raised(error, "raised")}
            part = self._work / f"{_ANSWER}.part"
            part.write_text(json.dumps(answer), "utf-8")
            part.rename(self._work / _ANSWER)
            code = 0
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _called(self, function: Callable[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
        seed = int(request.get("seed", 0))
        _seed(seed)
        if request["ask"] == "value":
            with users_code():
                return {"value": _number(_bound(function, load(request["result"]))())}
        names, rates, switches = request["hosts"]
        hosts = Hosts(tuple(names), tuple(rates), tuple(switches))
        call = _bound(function, hosts, seed, **request["parameters"])
        try:
            # Rows of a generator are made by user's code, too.
            with users_code():
                found = tables(call(), is_job=bool(request["is_job"]))
        except RowsError as error:
            raise _UserError(str(error)) from None
        for name, table in found.items():
            with pa.OSFile(str(self._work / f"{name}.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
                out.write_table(table)
        return {"tables": list(found)}

    def _raised(self, error: BaseException, what: str) -> str:
        """Returns an exception in words: type, message, and the last line of the user's code."""
        if isinstance(error, SyntaxError) and error.filename:
            file, line = error.filename, error.lineno
        else:
            frames = traceback.extract_tb(error.__traceback__)
            own = [one for one in frames if Path(one.filename).is_relative_to(self._directory)]
            last = own[-1] if own else None
            file, line = (last.filename, last.lineno) if last is not None else ("", None)
        where = ""
        if file:
            path = Path(file)
            shown = path.relative_to(self._directory) if path.is_relative_to(self._directory) else path
            where = f" ({shown}, line {line})"
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        return f"{what} {type(error).__name__}{f': {text}' if text else ''}{where}"


def _seed(seed: int) -> None:
    """Makes draws without a generator of the user's own repeatable."""
    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)


@cache
def _warm_up(ask: str) -> None:
    """Imports here, once, the modules that each fork would import."""
    if ask == "rows":
        # Arrow imports pandas with the first array.
        pa.array([0])
    else:
        importlib.import_module("pyarrow.parquet")
        declared_columns()
        mismatch({}, Summary)


def _instead(module: ModuleType, *, is_class: bool) -> str:
    """Returns the names that a module has in the place of a missing function or class."""
    is_kind, kind = (inspect.isclass, "classes") if is_class else (inspect.isfunction, "functions")
    names = [one for one, value in vars(module).items() if is_kind(value) and not one.startswith("_")]
    return f"`{module.__name__}` has the {kind} {', '.join(names) or 'none'}"


def _bound(function: Callable[..., Any], *arguments: Any, **parameters: Any) -> Callable[[], Any]:
    """Returns the call of a function with arguments that its signature allows."""
    try:
        inspect.signature(function).bind(*arguments, **parameters)
    except TypeError as error:
        names = ["result"] if len(arguments) == 1 else ["hosts", "seed", *parameters]
        raise _UserError(f"cannot be called with ({', '.join(names)}): {error}") from None
    except ValueError:
        pass  # A function in C may have no signature.
    return lambda: function(*arguments, **parameters)


def _number(value: Any) -> int | float | None:
    if type(value).__module__ == "numpy" or type(value).__module__.startswith("pyarrow"):
        convert = getattr(value, "item", None) or getattr(value, "as_py", None)
        value = convert() if convert is not None else value
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _UserError("returned a number of more than 64 bits")
        if isinstance(value, float) and not value - value == 0:
            raise _UserError(f"returned {value}; a finite number or None is needed")
        return value
    raise _UserError(f"returned a value of type {type(value).__name__}; a number or None is needed")


def _not_kept(error: NotRecordedError) -> str:
    kept = ", ".join(f'"{one}"' for one in [*error.recorded, error.table])
    return f"reads the table `{error.table}`, which the study does not keep; set keep = [{kept}] in the study"
