"""Runs a scenario: reads the document and the input tables, calls the compiled core, and returns a `Result`."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from xoff import _core
from xoff._core import InputError
from xoff.files.tables import is_table, read_table
from xoff.formatting import literal
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.functions import controls as functions_of_controls
from xoff.functions import workloads as functions_of_workloads
from xoff.results import AuditError, Result
from xoff.results.claims import Claim
from xoff.results.writing import DirectoryWriter
from xoff.running.document import MAX_DEPTH, as_toml, parse_json, parse_toml, read_text


@runtime_checkable
class SupportsToDict(Protocol):
    """A typed scenario, with a method to get the document of a scenario file."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the document as dictionaries, lists, strings and numbers."""
        ...


Source: TypeAlias = str | Path | Mapping[str, Any] | SupportsToDict
Overrides: TypeAlias = Mapping[str, Any] | Sequence[tuple[str, Any]]


MAX_THREADS = 1024
"""The largest allowed number of threads; no machine has more cores. A run starts at most one thread per core."""

PROBES = {
    "packets": {"packets": "true"},
    "samples": {"queues": '"1us"', "replay": "true"},
    "delays": {"delays": '"all"'},
    "contributions": {"delays": '"all"'},
    "tokens": {"tokens": "true"},
}
"""Tables that a run records only on request, each with the keys of `probe` that request the table, and a value."""

_UNREADABLE = re.compile(r"line (?P<line>\d+): (?P<why>this is not (?:TOML|JSON): .*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run; passed to the ``progress`` callback at most ten times a second."""

    simulated_ps: int
    flows_completed: int
    flows_total: int
    bytes_completed: int
    bytes_total: int
    operations_completed: int
    operations_total: int
    data_packet_hops: int
    """Data packets that left a port so far, with fast-forwarded packets."""
    work_completed: float
    """Other work than packets so far, in packet-hops that take as long: messages over NVLink, rows, ends of flows."""
    work_total: float
    share: float
    """The completed share of the run, 0 to 1: of packets and other work, or of operations if the scenario sends no
    payload. With ``until``, the simulated share of the time if larger."""


class CutError(Exception):
    """A run was ended early. ``result`` is what was complete; None if something else has the name of its directory."""

    def __init__(self, result: Result | None) -> None:
        super().__init__("the run was ended early")
        self.result = result


@dataclass(frozen=True, slots=True)
class Prepared:
    """A scenario with defaults filled in and tables read, ready to run."""

    resolved: str
    tables: dict[str, Any]
    name: str
    document: dict[str, Any]
    """The resolved scenario as dictionaries and lists."""
    controls: functions_of_controls.Controls | None = None
    """The congestion controls in Python."""
    stored: Mapping[str, str] = field(default_factory=dict)
    """The files that hold tables for several results, by key of the scenario, relative to a result directory."""

    def records(self, table: str) -> bool:
        """Returns true if a run records this table. A table of `PROBES` needs a request in the scenario."""
        probe = self.document.get("probe", {})
        return any(probe.get(key) for key in PROBES[table]) if table in PROBES else True


def run(
    scenario: Source,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    threads: int = 1,
    fast_forward: bool = True,
    fold: bool = True,
    tables: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> Result:
    """Simulates a scenario and returns its result.

    scenario: the path of a TOML or JSON file, or a document as a dictionary or a typed ``Scenario``. A document may
        hold a data frame in the place of the name of a table file.
    overrides: settings that replace settings of the document, such as ``{"switch.flow_control.pfc.xoff": "300KB"}``;
        None removes a setting.
    seed: replaces the document's seed.
    threads: the number of threads. The result is the same for any number.
    fast_forward: if true, fast-forwards through repeating traffic. The result is the same either way.
    fold: if true, simulates one server in the place of many equal servers, in a scenario with ``ties = "relative"``.
        The result is the same either way.
    tables: data frames for the tables in the document, by key (``workload[0].table``) or by file name.
    out: a directory for the result, written during the run. The directory appears under this name only when complete.
        If the run violates an audit, the tables go to a directory with ``.failed`` appended to the name.
    progress: called with a `Progress` at most ten times a second; an exception from the callback stops the run.
    allow_python: allows the Python functions and classes that the scenario names as workloads and congestion controls.
        Read their code first.
    python_timeout: the longest time of a call of a Python function, in seconds.

    Raises `InputError` for bad input, and `AuditError` for a run without a result because of a violated audit.
    """
    with Functions(allow_python, python_timeout) as functions:
        prepared = prepare(scenario, overrides=overrides, seed=seed, tables=tables, functions=functions)
        functions.close(unless=prepared.controls is not None)
        return run_prepared(
            prepared,
            threads=threads,
            fast_forward=fast_forward,
            fold=fold,
            out=out,
            progress=progress,
        )


def run_prepared(
    prepared: Prepared,
    *,
    threads: int = 1,
    fast_forward: bool = True,
    fold: bool = True,
    out: str | Path | None = None,
    keep: Collection[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    poll: Callable[[], None] | None = None,
    stops: Callable[[], bool] | None = None,
    claim: Claim | None = None,
    in_place: bool = False,
) -> Result:
    """Simulates a scenario that `prepare` returned; other arguments as for `run`.

    keep: the tables to write into the directory; None: all recorded tables and the inputs. Without a directory, None
        keeps all tables in the result, tables are made and discarded during the run, and an empty value makes no rows.
    poll: called ten times a second from the start on; an exception from the callback stops the run.
    in_place: write directly into the temporary directory, whose owner holds the lock of the directory above, and
        synchronises and renames the run's directory.
    claim: refuses a directory in which another scenario's result is, or is being written.
    stops: asked ten times a second; a true answer ends the run. What is complete then goes to a directory with ``.cut``
        appended to the name, and `CutError` is raised.
    """
    if not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise InputError(f"threads: {literal(threads)} is not allowed; allowed are 1 to {MAX_THREADS}")

    def report(text: str) -> bool:
        # Every call from the core into Python, even an empty call, lets Ctrl-C stop the run.
        if progress is not None:
            progress(Progress(**json.loads(text)))
        return stops is not None and stops()

    def simulate(sink: Callable[[str | None, Any], None] | None, *, rows: bool = True) -> _core.Output:
        with functions_of_controls.serving(prepared.controls, poll) as python:
            return _core.run(
                prepared.resolved,
                prepared.tables,
                threads,
                report,
                sink,
                poll,
                fast_forward=fast_forward,
                fold=fold,
                rows=rows,
                python=python,
            )

    if out is None:
        output = simulate(None if keep is None else lambda _name, _rows: None, rows=keep is None or bool(keep))
        if keep is not None:
            return _audited(Result(prepared.document, json.loads(output.summary), {}))
        readers = {name: _reader(output, name) for name in output.tables if prepared.records(name)}
        return _audited(Result(prepared.document, json.loads(output.summary), readers, inputs=prepared.tables))
    with DirectoryWriter(out, in_place=in_place, claim=claim) as writer:

        def kept(name: str) -> bool:
            return (keep is None or name in keep) and prepared.records(name)

        def append(name: str | None, rows: Any) -> None:
            if name is None:
                writer.begin_again()
            elif kept(name):
                writer.append(name, rows)

        output = simulate(append)
        result = Result(prepared.document, json.loads(output.summary), {})
        if keep is not None:
            # A caller with `keep` does not store failed runs.
            _audited(result)
        for name in filter(kept, output.tables):
            writer.append(name, output.table(name))
        inputs = {**(prepared.tables if keep is None else {}), **prepared.stored}
        if output.was_stopped:
            raise CutError(writer.fail(result.scenario, {**result.summary, "cut": True}, inputs, "cut"))
        if result.ok:
            return writer.commit(result.scenario, result.summary, inputs)
        raise AuditError(writer.fail(result.scenario, result.summary, inputs) or result)


def check(
    scenario: Source | Text,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    tables: Mapping[str, Any] | None = None,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """Validates a scenario without running it, and describes its network.

    Returns ``{"network": {"hosts", "switches", "links"}, "workload", "load", "headroom", "settled", "paths",
    "failures", "deadlock", "folding", "warnings"}``.

    - ``settled`` lists the host parameters without a given value, with the values from the network or a preset:
      ``{"key", "value", "line"}``. Each kind of host has entries for the rate of the fastest line.
    - ``load`` is the mean offered load: ``{"from_ps", "to_ps", "waiting_flows", "layers"}``. Each layer of links has
      the ``mean`` and the ``highest`` share of a link's rate. ``load`` is None if all flows start at one moment.
    - ``folding`` is None without relative ties. Otherwise ``{"times", "rotations", "draws", "obstacle"}``: one of
      ``times`` equal parts is simulated, and ``obstacle`` says why not.
    - ``deadlock`` is None if no mechanism pauses. Otherwise ``{"possible"}``; for a possible deadlock also the
      ``cycle`` of ports, the ``flows`` that close the cycle, and a ``scenario`` of these flows.

    With ``allow_python``, each Python function of a workload is called twice: equal arguments must give equal rows.

    Raises `InputError` if the scenario is not valid.
    """
    with Functions(allow_python, python_timeout, is_checked=True) as functions:
        prepared = prepare(scenario, overrides=overrides, seed=seed, tables=tables, functions=functions)
    return check_prepared(prepared)


def check_prepared(prepared: Prepared) -> dict[str, Any]:
    """Returns the description of a scenario that `prepare` returned, as `check`. Raises `InputError` as well."""
    report: dict[str, Any] = json.loads(_core.check(prepared.resolved, prepared.tables))
    return report


def resolve(
    scenario: Source,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    tables: Mapping[str, Any] | None = None,
    settled: bool = False,
    allow_python: bool = False,
    python_timeout: float = TIMEOUT_SECONDS,
) -> dict[str, Any]:
    """Returns a scenario's document with all defaults. Raises `InputError` if the scenario is not valid.

    settled: if true, adds values from the network or from presets, such as a bandwidth-delay product, a window, or an
        increase. The function then builds the network, reads the tables of the scenario, and calls Python functions,
        for which `allow_python` and `python_timeout` are as for `run`.
    """
    if not settled:
        return prepare(scenario, overrides=overrides, seed=seed, read=None).document
    with Functions(allow_python, python_timeout) as functions:
        prepared = prepare(scenario, overrides=overrides, seed=seed, tables=tables, functions=functions)
    document: dict[str, Any] = json.loads(_core.settle(prepared.resolved, prepared.tables))
    return document


@dataclass(frozen=True, slots=True)
class Text:
    """A file of a document, with the text at the time of reading."""

    path: Path
    text: str

    @staticmethod
    def of(path: Path) -> Text:
        """Reads a file. Raises `InputError` if the file is missing, or not text."""
        return Text(path, read_text(path))


def source(file: Path) -> Path | Text:
    """Returns the file, or for ``-`` the text of standard input. Raises `InputError` for other data than text."""
    if file != Path("-"):
        return file
    try:
        return Text(Path("standard input"), sys.stdin.read())
    except UnicodeDecodeError:
        raise InputError("-: standard input is not UTF-8 text") from None


def prepare(
    scenario: Source | Text,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    tables: Mapping[str, Any] | None = None,
    directory: Path | None = None,
    read: Callable[[str, Any], pa.Table] | None = read_table,
    functions: Functions | None = None,
) -> Prepared:
    """Reads a scenario and the input tables; other arguments as for `run`.

    directory: base of relative paths of table files. None: the directory of the document, or the current directory.
    read: the function to read a table. None: no table is read, and no Python function is called.
    functions: the permission to call Python functions. None: a scenario whose rows a function gives is refused.
    """
    try:
        given = dict(tables or {})
    except (TypeError, ValueError):
        raise InputError("tables: a dictionary from keys or file names to data frames is needed") from None
    format: Literal["toml", "json"] = "json"
    base = Path()
    name = "scenario"
    if isinstance(scenario, str | Path):
        scenario = Text.of(Path(scenario))
    if isinstance(scenario, Text):
        path, text = scenario.path, scenario.text
        if not text.strip():
            raise InputError(f"{path}: is empty; `xoff new scenario` writes one to begin with")
        format = "json" if path.suffix == ".json" else "toml"
        if format == "json":
            try:
                parse_json(path, text)
            except InputError:
                raise
            except (ValueError, RecursionError):
                pass  # The core reports the mistake with the line.
        base, name = path.parent, path.stem
    else:
        document = scenario.to_dict() if isinstance(scenario, SupportsToDict) else scenario
        if not isinstance(document, Mapping):
            raise InputError(f"scenario: a path, a dictionary or a Scenario is needed, not {type(document).__name__}")
        plain = _take_tables(document, "", given)
        text = json.dumps(plain)
    pairs = _pairs(overrides)
    if seed is not None:
        pairs.append(("seed", seed))
    settings = [(key, as_toml(_checked(value, key))) for key, value in pairs]
    try:
        resolved, named = _core.resolve(text, format, settings)
    except InputError as error:
        if isinstance(scenario, Text) and (command := _study_command(scenario)):
            why = f"is a study; run: {command} {scenario.path}"
            raise InputError(f"{scenario.path}: {why}") from None
        if isinstance(scenario, Text) and (wrong := _UNREADABLE.fullmatch(str(error))):
            # Some mistakes have no line.
            line = f"line {wrong['line']}: " if wrong["line"] != "0" else ""
            placed = InputError(f"{scenario.path}: {line}{wrong['why']}")
            one = {"path": "", "message": wrong["why"], "line": int(wrong["line"]) or None}
            setattr(placed, "errors", [one])  # noqa: B010 (its type declares none)
            raise placed from None
        raise
    known = json.loads(resolved)
    base = base if directory is None else directory
    found, called = _read_tables(named, given, base, read)
    if called and read is not None:
        found |= functions_of_workloads.call(functions, known, resolved, found, called, base)
    controls = None
    if read is not None:
        resolved, controls = functions_of_controls.declare(functions, known, resolved, base)
    return Prepared(resolved, found, str(known.get("name") or name), known, controls)


def _read_tables(
    named: Sequence[tuple[str, str]],
    given: Mapping[str, Any],
    directory: Path,
    read: Callable[[str, Any], pa.Table] | None,
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a scenario by key, and the keys whose rows a Python function gives.

    named: key and file of each table.
    given: data frames in the place of files, by key or file.
    """
    rows, groups = functions_of_workloads.ROWS, functions_of_workloads.GROUPS
    # Groups that a function returned have a table, and no file.
    returned = [(key.removesuffix(rows) + groups, "") for key, _ in named if key.endswith(rows)]
    unknown = sorted(set(given) - {part for pair in (*named, *returned) for part in pair})
    if unknown:
        allowed = ", ".join(f"`{key}`" for key, _ in named) or "none: the scenario names no table"
        raise InputError(f"tables: `{unknown[0]}` is not a table of this scenario; allowed are {allowed}")
    found: dict[str, Any] = {}
    called = []
    for key, file in dict([*returned, *named]).items():
        source = given.get(key, given.get(file) if file else None)
        if source is not None:
            found[key] = (read or read_table)(key, source)
        elif file and read is not None:
            found[key] = read(key, directory / file)
        elif not file and key.endswith(rows):
            called.append(key)
    return found, called


def _study_command(file: Text) -> str:
    """Returns the command to run a study, if the file is a study; otherwise an empty text."""
    try:
        found = json.loads(file.text) if file.path.suffix == ".json" else parse_toml(file.text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, dict) or "network" in found or not {"base", "scenario"} & found.keys():
        return ""
    return "xoff tune" if "objective" in found else "xoff sweep"


def _pairs(overrides: Overrides) -> list[tuple[str, Any]]:
    """Returns overrides as pairs of key and value. Raises `InputError` for overrides of another form."""
    wrong = "overrides: a dictionary from keys to values is needed, such as {'switch.flow_control.pfc.xoff': '300KB'}"
    if isinstance(overrides, str) or not isinstance(overrides, Mapping | Sequence):
        raise InputError(wrong)
    pairs = []
    for pair in overrides.items() if isinstance(overrides, Mapping) else overrides:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise InputError(wrong)
        if not pair[0].isprintable():
            raise InputError(f"overrides: {literal(pair[0])} is not a key, such as switch.flow_control.pfc.xoff")
        pairs.append((pair[0], pair[1]))
    return pairs


def _take_tables(value: Any, path: str, tables: dict[str, Any], depth: int = 0) -> Any:
    """Returns a copy of a document, with a key path in the place of each data frame; adds the frames to `tables`."""
    if depth > MAX_DEPTH:
        raise InputError(f"{path[:80]}…: tables and lists are nested too deeply; {MAX_DEPTH} levels are read")
    # Shortcut for the most frequent type.
    if type(value) is str and value.isascii():
        return value
    if isinstance(value, dict | Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise InputError(f"{path or 'scenario'}: {literal(wrong)} is not a key; keys are text")
        return {
            key: _take_tables(part, f"{path}.{key}" if path else key, tables, depth + 1) for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_take_tables(part, f"{path}[{index}]", tables, depth + 1) for index, part in enumerate(value)]
    if is_table(value):
        tables[path] = value
        return path
    return _checked(value, path)


def _checked(value: Any, path: str, depth: int = 0) -> Any:
    """Returns a value of a scenario, with Python numbers and lists for NumPy's. Raises `InputError` for other types."""
    if depth > MAX_DEPTH:
        raise InputError(f"{path[:80]}…: tables and lists are nested too deeply; {MAX_DEPTH} levels are read")
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, Mapping):
        if (wrong := next((key for key in value if not isinstance(key, str)), None)) is not None:
            raise InputError(f"{path}: {literal(wrong)} is not a key; keys are text")
        return {_checked(key, path): _checked(part, f"{path}.{key}", depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_checked(part, f"{path}[{index}]", depth + 1) for index, part in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{path}: {value} is not a finite number")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(f"{path}: {literal(value)} is out of range; whole numbers go up to {2**63 - 1}")
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InputError(f"{path}: {literal(value)} is not valid Unicode text")
    if value is None or isinstance(value, str | int | float):
        return value
    raise InputError(f"{path}: {literal(value)} is of type {type(value).__name__}; a scenario has no such type")


def _reader(output: _core.Output, name: str) -> Callable[[], pa.Table]:
    return lambda: pa.table(output.table(name))


def _audited(result: Result) -> Result:
    if not result.ok:
        raise AuditError(result)
    return result
