"""Steps on the files of a case: commands of xoff, readers of its directories, and runs on threads.

A step runs in this process, like the command: bad input ends with a message and exit code 2, and every other exception
leaves the step. Steps judge only properties that are visible inside a step.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import xoff
from xoff import InputError, _core, formatting, report, running
from xoff.commands import check, failures, options
from xoff.functions import Functions
from xoff.study import Study

THREADS = (1, 2, 3, 7)
# Valid scenarios with little work are simulated, too. These numbers bound the work at any rate.
_MAX_BYTES, _MAX_FLOWS, _MAX_LINKS = 10**8, 1000, 100
_UNTIL = "20us"
_MAX_RUNS = 6


class BrokenPromiseError(AssertionError):
    """A violated invariant."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a step."""

    code: int
    out: str
    err: str


def take(step: tuple[str, ...]) -> Outcome:
    """Takes a step in the current directory. Raises every exception except refusals of bad input."""
    name, *arguments = step
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["xoff", name, *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = failures.guarded(lambda: STEPS[name](*arguments))
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())


def _check(file: str, *settings: str) -> int:
    """``xoff check``; a valid scenario with little work is run for a moment."""
    try:
        check.command(Path(file), set=list(settings), as_json=True)
    except typer.Exit as answered:
        # A damaged document may parse as a study, and is then checked as a study.
        return answered.exit_code
    overrides = options.settings(list(settings))
    network = running.check(file, overrides=overrides)
    if _is_little(network):
        prepared = running.prepare(file, overrides=[*overrides, ("until", _UNTIL)], seed=1)
        try:
            running.run_prepared(prepared)
        except xoff.AuditError as error:
            _hold(error.result, "here")
            raise
    return 0


def _hold(result: xoff.Result, where: str) -> None:
    """Checks the audits that hold in every run without deliberate faults."""
    if "faults" not in result.scenario["switch"]:
        for name in ("conservation", "order"):
            if result.audits[name].startswith("fail"):
                raise BrokenPromiseError(f"{name} does not hold {where}: {result.audits[name]}")


def _is_little(found: dict[str, Any]) -> bool:
    workload, network = found["workload"], found["network"]
    is_small = workload["bytes"] < _MAX_BYTES and workload["flows"] < _MAX_FLOWS
    return bool(is_small and network["links"] < _MAX_LINKS)


def _check_study(file: str) -> int:
    """``xoff check`` of a study; a study with few small runs is swept."""
    from xoff.study import command

    code = command.check(Path(file), Functions(), as_json=True)
    study = Study(Path(file), Path("swept"))
    runs = study.plan.runs
    if code == 0 and len(runs) <= _MAX_RUNS:
        prepared = [study.plan.prepare(run.point, run.seed) for run in runs]
        reports = [json.loads(_core.check(one.resolved, one.tables)) for one in prepared]
        if all(_is_little(one) for one in reports) and all(_is_short(one.document) for one in prepared):
            return _sweep(file, "swept")
    return code


def _is_short(document: dict[str, Any]) -> bool:
    return document.get("until") in {"1us", "5us", _UNTIL}


def _sweep(file: str, out: str) -> int:
    from xoff.study import command

    return command.command(
        Path(file), out=Path(out), status=False, shard="1/1", workers=1, threads=1, dask=None, rows=30, as_json=True
    )


def _read_result(place: str) -> None:
    """Reads every property of a result."""
    result = xoff.load(place)
    result.rows()
    for name in result.tables:
        result.table(name)
    json.dumps(result.audits)


def _read_study(place: str) -> None:
    """Reads every property of a study."""
    study = xoff.Study.open(place)
    study.status()
    names = study.runs.column_names
    for metric in ("fct_mean_ps", "pfc_pauses"):
        if metric in names:
            study.means(metric)
    if study.plan.design is not None:
        study.effects("without_result")
    for name in study.plan.keep:
        study.table(name)
    study.results()


def _report(place: str) -> None:
    report.write(Path(place))


def _explain(place: str) -> None:
    """Explains the flows, the pauses and a port of a result."""
    from xoff.insight.command import Question, command

    question = Question(flows=[0], worst=3, pauses=True, port="host0:0")
    for as_json in (True, False):
        command(Path(place), question, everything=True, as_json=as_json)


def _export(name: str) -> None:
    """``xoff export`` in every format, all into one directory, whatever the outcome of each export."""
    from xoff.exporting import FORMATS
    from xoff.exporting.command import command

    refused = []
    for format, choices in {"perfetto": [""], "pcapng": ["*"], "fct": ["hpcc"], "csv": [""]}.items():
        place = Path(f"exported{FORMATS[format].ending}")
        try:
            command(Path(name), {format: choices}, out=place, as_json=True)
        except InputError as error:
            refused.append(error)
            if place.exists():
                raise BrokenPromiseError(f"{place} is there, although it is refused: {error}") from None
    if refused:
        raise refused[0]


def _import(kind: str, *files: str) -> None:
    from functools import partial

    from xoff.importing import chakra, goal, hpcc, htsim, simai
    from xoff.importing.command import command

    paths = [Path(file) for file in files]
    if kind.startswith("requests"):
        _import_requests(paths[0])
        return
    converts: dict[str, Callable[..., Any]] = {
        "hpcc": hpcc.convert,
        "htsim": partial(htsim.convert, unit="us"),
        "goal": goal.convert,
        "simai": partial(simai.convert, topology=None, gpus=16, per_server=8),
        "simai-topology": partial(simai.convert, gpus=16, per_server=8),
        "chakra": partial(chakra.convert, paths=paths, groups=None),
    }
    read: list[Path | None] = [] if kind == "chakra" else [*paths]
    command(converts[kind], read, name=paths[0], out=Path("imported"), as_json=True)


def _import_requests(file: Path) -> None:
    """Imports a trace in a window, and checks order and tokens of the table."""
    from xoff.files.tables import read_table
    from xoff.importing.requests_command import command

    out = Path("imported")
    command(
        file, begin="0", length="100s", speed=3.0, spread=None, cache_tokens=None, out=out, as_json=True,
        is_verbose=False,
    )  # fmt: skip
    rows = read_table("requests", out / "requests.csv").to_pylist()
    times = [formatting.quantity(row["arrival"]) for row in rows]
    if None in times or times != sorted(filter(None, times)) or times[0] != (0, "ps"):
        raise BrokenPromiseError(f"the arrivals are not times in order: {times}")
    if not all(row["cached_tokens"] < row["input_tokens"] and row["output_tokens"] > 0 for row in rows):
        raise BrokenPromiseError(f"the tokens of a request are impossible: {rows}")


def _threads(file: str) -> None:
    """A run on several numbers of threads: fingerprint, tables and verdicts are the same."""
    prepared = running.prepare(file)
    found = []
    for threads in THREADS:
        try:
            result = running.run_prepared(prepared, threads=threads)
        except xoff.AuditError as error:
            result = error.result
        summary = {key: value for key, value in result.summary.items() if key != "performance"}
        found.append((summary, {name: result.table(name) for name in result.tables}))
        _hold(result, f"on {threads} threads")
    differing = [str(threads) for threads, one in zip(THREADS, found, strict=True) if one != found[0]]
    if differing:
        raise BrokenPromiseError(f"a run on {', '.join(differing)} threads differs from one on {THREADS[0]}")


STEPS: dict[str, Callable[..., object]] = {
    "check": _check,
    "check-study": _check_study,
    "sweep": _sweep,
    "read-result": _read_result,
    "read-study": _read_study,
    "report": _report,
    "explain": _explain,
    "export": _export,
    "import": _import,
    "threads": _threads,
}
