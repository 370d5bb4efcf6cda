"""``xoff bench``: the options of the command that measures speed and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import Json


def command(
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CASE",
            help="Names of cases; default: all. training and its cases: jobs, with fast-forward.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Takes the best of this many runs, or the median of as many pairs.")
    ] = 3,
    list_only: Annotated[bool, typer.Option("--list", help="Lists the cases without running them.")] = False,
    kernel: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Builds the reference kernel from the Cargo package in this directory, and alternates with it.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT",
            help="Builds this commit of the checkout around the current directory, and alternates with it.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Measures the cost of probes and of tables on disk.")] = False,
    as_json: Json = False,
) -> None:
    """Measures packet-hops per CPU-second, memory and the gain of a second thread, alone or against another program."""
    from xoff.bench.command import command

    code = command(
        cases or [],
        repeats=repeats,
        list_only=list_only,
        kernel_at=kernel,
        commit=compare,
        with_rows=rows,
        as_json=as_json,
    )
    raise typer.Exit(code)
