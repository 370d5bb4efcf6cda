"""``xoff run``: simulates one scenario."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from xoff import formatting, running
from xoff.commands.options import (
    AllowPython,
    File,
    Force,
    Json,
    NoFold,
    PythonTimeout,
    ResultDirectory,
    Seed,
    Set,
    Threads,
    settings,
)
from xoff.functions import TIMEOUT_SECONDS, Functions
from xoff.results import AuditError, Result
from xoff.running.interrupts import Interrupts


def command(
    file: File,
    set: Set = None,
    seed: Seed = None,
    threads: Threads = 1,
    out: ResultDirectory = None,
    force: Force = False,
    no_fast_forward: Annotated[
        bool, typer.Option("--no-fast-forward", help="Simulates traffic that repeats, too. The result is the same.")
    ] = False,
    no_fold: NoFold = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Prints no table of the result.")] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Simulates one scenario."""
    from rich.markup import escape

    from xoff.display import run_bar

    with Functions(allow_python, python_timeout) as functions:
        prepared = running.prepare(running.source(file), overrides=settings(set), seed=seed, functions=functions)
        functions.close(unless=prepared.controls is not None)
        claimed = None
        if out is not None:
            from xoff.running.replacing import check_result, claim

            check_result(out, prepared, force=force)
            claimed = claim(out, prepared, force=force)
        try:
            with run_bar(escape(formatting.plain(prepared.name))) as bar, Interrupts(out) as interrupts:
                keep = () if out is None else None  # A lossy run writes millions of rows, discarded without --out.
                result = running.run_prepared(
                    prepared,
                    threads=threads,
                    fast_forward=not no_fast_forward,
                    fold=not no_fold,
                    out=out,
                    keep=keep,
                    progress=bar.report,
                    poll=interrupts.poll,
                    stops=interrupts.stops,
                    claim=claimed,
                )
        except running.CutError as error:
            if error.result is not None:
                print(f"xoff: the run is cut; what was complete is in {error.result.directory}", file=sys.stderr)
            raise typer.Exit(130) from None
        except AuditError as error:
            if as_json:
                print(json.dumps(error.result.summary))
            raise
    if as_json:
        print(json.dumps(result.summary))
        return
    if not quiet:
        _show(result, formatting.plain(prepared.name))


def _show(result: Result, title: str) -> None:
    from rich.markup import escape

    from xoff import display
    from xoff.insight.serving_command import stretch_rows

    table = display.table("", "", title=escape(title))
    table.show_header = False
    for what, text in [*result.rows(), *stretch_rows(result)]:
        table.add_row("[yellow]warning[/yellow]" if what == "warning" else what, escape(text))
    display.out.print(table)
    if result.directory is not None:
        display.out.print(f"The result is in [b]{escape(str(result.directory))}[/b]")
