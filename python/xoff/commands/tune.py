"""``xoff tune``: the options of the command that searches for settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import AllowPython, Force, Json, PythonTimeout, Threads
from xoff.functions import TIMEOUT_SECONDS


def command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The study, with goals and limits in \\[objective].", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keeps the search in this directory. Default: as for sweep.", show_default=False
        ),
    ] = None,
    force: Force = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replaces objective.runs, the budget of the search.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time. Default: one a core.", show_default=False),
    ] = None,
    threads: Threads = 1,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Runs on the workers of a Dask scheduler.", show_default=False),
    ] = None,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Searches for the best settings within limits; a restart continues the search."""
    from xoff.study.tune_command import command

    code = command(
        file,
        out=out,
        force=force,
        runs=runs,
        workers=workers,
        threads=threads,
        dask=dask,
        as_json=as_json,
        allow_python=allow_python,
        python_timeout=python_timeout,
    )
    raise typer.Exit(code)
