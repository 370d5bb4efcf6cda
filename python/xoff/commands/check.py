"""``xoff check``: a valid scenario, its derived values, and the warnings about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from xoff import formatting, running
from xoff._core import InputError
from xoff.commands.options import (
    AdapterFile,
    AllowPython,
    Asic,
    CnpDscp,
    Json,
    Lookup,
    PythonTimeout,
    RoceDscp,
    ScenarioOrStudy,
    Seed,
    Set,
    settings,
)
from xoff.files.new_files import write_new
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.running.estimate import Estimate, estimate


def command(
    file: ScenarioOrStudy = None,
    set: Set = None,
    seed: Seed = None,
    deadlock: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="If a deadlock is possible: writes a scenario of the flows that close the cyclic buffer dependency.",
            show_default=False,
        ),
    ] = None,
    sonic: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Checks the switches of this folder in place of a scenario: NAME.json, or NAME/config_db.json.",
            show_default=False,
        ),
    ] = None,
    asic: Asic = None,
    lookup: Lookup = None,
    adapter: AdapterFile = None,
    roce_dscp: RoceDscp = None,
    cnp_dscp: CnpDscp = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Estimates packet-hops, CPU-seconds and memory, from a sample of the run."),
    ] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Validates a scenario without running it and describes its network; validates each variant of a study.

    With --sonic the command names the settings of switches that would lose packets; exit code 1 with an error.
    """
    beside = {"--asic": asic, "--lookup": lookup, "--adapter": adapter, "--roce-dscp": roce_dscp}
    beside |= {"--cnp-dscp": cnp_dscp}
    if sonic is not None:
        from xoff.sonic import check_command

        if file is not None or set or seed is not None or deadlock is not None or estimate or allow_python:
            others = "--set, --seed, --deadlock, --estimate and --allow-python"
            raise InputError(f"--sonic: not allowed with a scenario, {others}")
        found = check_command.context(
            sonic, chip=asic, lookup=lookup, settings=adapter, roce_dscp=roce_dscp, cnp_dscp=cnp_dscp
        )
        raise typer.Exit(check_command.command(found, as_json=as_json))
    if alone := next((name for name, value in beside.items() if value is not None), None):
        raise InputError(f"{alone}: needs --sonic")
    if file is None:
        raise InputError("no scenario: give FILE, or --sonic DIR")

    with Functions(allow_python, python_timeout, is_checked=True) as functions:
        code = _checked(
            file,
            settings(set),
            seed,
            functions,
            deadlock=deadlock,
            estimates=estimate,
            as_json=as_json,
        )
    raise typer.Exit(code)


def _checked(
    file: Path,
    changes: list[tuple[str, Any]],
    seed: int | None,
    functions: Functions,
    *,
    deadlock: Path | None,
    estimates: bool,
    as_json: bool,
) -> int:
    """Checks a scenario or a study, prints the report, and returns the exit code.

    changes: settings that replace those of the file.
    functions: the permission to call Python functions.
    deadlock: the file for a scenario with the cyclic buffer dependency, if a deadlock is possible.
    estimates: simulate the first part of the run, and estimate the costs of the whole run.
    """
    if deadlock is not None and (deadlock.suffix != ".json" or deadlock.exists()):
        why = "exists; choose another name" if deadlock.exists() else "a name that ends in .json is needed"
        raise InputError(f"--deadlock {deadlock}: {why}")
    if _is_study(file):
        from xoff.study.plan import is_search

        if is_search(file):
            from xoff.study.tune_command import check as check_study
        else:
            from xoff.study.command import check as check_study
        if changes or seed is not None or deadlock is not None or estimates:
            raise InputError(
                "--set, --seed, --deadlock and --estimate: not allowed with a study; "
                "set seeds and settings in the study"
            )
        return check_study(file, functions, as_json=as_json)
    source = running.source(file)
    prepared = running.prepare(source, overrides=changes, seed=seed, functions=functions)
    report = running.check_prepared(prepared)
    found = report["deadlock"] or {}
    scenario = found.get("scenario")
    if deadlock is not None and scenario:
        write_new(deadlock, json.dumps(scenario, indent=2) + "\n")
    costs = None
    if estimates:
        costs = estimate(prepared, report["workload"]["packet_hops"])
        report["estimate"] = costs.to_dict()
    if as_json:
        print(json.dumps(report))
        return 0
    from rich.markup import escape

    from xoff import display

    network = report.get("network", {})
    display.out.print(f"[b]{escape(str(source.path if isinstance(source, running.Text) else source))}[/b] is valid")
    for warning in report.get("warnings", []):
        text = f"[yellow]warning[/yellow] {escape(warning['path'])}: {escape(warning['message'])}"
        display.out.print(text, soft_wrap=True)
    display.out.print(
        "network: " + ", ".join(f"{value:,} {name}" for name, value in network.items() if isinstance(value, int))
    )
    if report.get("workload"):
        display.out.print("workload: " + escape(formatting.listed(report["workload"])))
    if report["load"]:
        _show_load(report["load"])
    _show_records("derived defaults", _shortened(report["settled"]))
    for key in ("serving", "headroom", "paths", "failures"):
        _show_records(key, report.get(key) or [])
    if report.get("folding"):
        display.out.print(escape(_folding_in_words(report["folding"])), soft_wrap=True)
    if costs is not None:
        display.out.print(costs_in_words(costs))
    _show_deadlock(found, deadlock)
    return 0


def _show_deadlock(found: dict[str, Any], file: Path | None) -> None:
    """Prints whether a deadlock is possible, and what ``--deadlock FILE`` wrote."""
    from rich.markup import escape

    from xoff import display

    if found.get("possible") is False:
        display.out.print(
            "No cyclic buffer dependency on the routes of these flows, also after faults: no deadlock is possible."
        )
    if file is None:
        return
    name = escape(str(file))
    if found.get("scenario"):
        display.out.print(f"A scenario with the cyclic buffer dependency: [b]{name}[/b]")
    elif found.get("possible"):
        display.out.print(
            f"{name} was not written, because no routes of one time form the dependency: only packets that meet a "
            "change of routes close it"
        )
    else:
        display.out.print(f"No deadlock was found: {name} was not written")


def _folding_in_words(folding: dict[str, Any]) -> str:
    """Returns whether a run folds, or the obstacle."""
    if folding["obstacle"]:
        return f"folding: no, all nodes are simulated: {folding['obstacle']}"
    shared = "; equal servers share random draws" if folding["draws"] else ""
    return f"folding: one of {folding['times']:,} equal parts is simulated{shared}"


def costs_in_words(costs: Estimate) -> str:
    """Returns the estimated costs of a run in words."""
    if costs.packet_hops is None or costs.cpu_seconds is None or costs.memory_bytes is None:
        return f"not estimated: {costs.reason}"
    what = f"{formatting.count(costs.packet_hops)} packet-hops, {costs.cpu_seconds:,.1f} CPU-seconds, "
    memory = formatting.size(costs.memory_bytes)
    if costs.share == 1.0:
        return f"measured, as the run ended within the sample: {what}{memory}"
    sample = f"a sample of {costs.sampled_cpu_seconds:.1f} CPU-seconds finished {costs.share:.1%}"
    return f"estimate: {what}at least {memory} with --out ({sample})"


def _is_study(file: Path) -> bool:
    """Whether a file is a study. A file that cannot be read counts as a scenario."""
    from xoff.study.plan import is_study

    try:
        # A pipe can be read only once.
        return file.is_file() and is_study(file)
    except (OSError, ValueError):
        return False


def _shortened(settled: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows without their link rate if all hosts have one rate, and with ``hosts at RATE`` otherwise."""
    lines = {row["line"] for row in settled}
    return [
        {"key": row["key"], "value": row["value"]} if len(lines) == 1 else {**row, "line": f"hosts at {row['line']}"}
        for row in settled
    ]


def _show_load(load: dict[str, Any]) -> None:
    """Prints the load that the workload offers to each layer of links, as shares of the links' rates."""
    from xoff import display

    shares = [
        {**layer, "mean": f"{layer['mean']:.1%}", "highest": f"{layer['highest']:.1%}"} for layer in load["layers"]
    ]
    begin, end = formatting.time(load["from_ps"]), formatting.time(load["to_ps"])
    _show_records(f"load that is offered from {begin} to {end}, headers included", shares)
    if load["waiting_flows"]:
        display.out.print(f"The load excludes {load['waiting_flows']:,} flows that wait for others.")


def _show_records(title: str, records: list[Any]) -> None:
    """Prints the first 20 records: JSON objects with equal keys as a table, other values in one line."""
    from rich.markup import escape

    from xoff import display

    if not records:
        return
    if not isinstance(records[0], dict):
        display.out.print(f"{title}: " + escape(", ".join(str(record) for record in records[:20])))
        return
    columns = list(records[0])
    table = display.table(*[column.removesuffix("_ps").removesuffix("_bytes") for column in columns], title=title)
    for record in records[:20]:
        table.add_row(*[escape(formatting.keyed(column, record.get(column))) for column in columns])
    display.out.print(table)
    if len(records) > 20:
        display.out.print(f"… and {len(records) - 20:,} more (--json lists all)")
