"""``xoff sweep``: the options of the command that runs studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import AllowPython, Force, Json, PythonTimeout, Threads
from xoff.functions import TIMEOUT_SECONDS


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study: a TOML file.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keeps the study in this directory. Default: out/ and the name of the file, with the folder if "
            "there is one: out/headroom for headroom.toml, out/a-headroom for a/headroom.toml.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    status: Annotated[
        bool, typer.Option("--status", help="Prints the progress of the study without running it.")
    ] = False,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Does the I-th of N parts of the study, as in a job array.")
    ] = "1/1",
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time. Default: one a core.", show_default=False),
    ] = None,
    threads: Threads = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Runs on the workers of a Dask scheduler: address, or scheduler file.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Also keeps this table of each run, such as pauses; repeatable. Else xoff explain repeats the run.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Prints every point and comparison, not the first 30.")
    ] = False,
    allow_python: AllowPython = False,
    python_timeout: PythonTimeout = TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Runs one scenario with many settings and seeds; a restart does only the missing runs."""
    from xoff.study.command import command

    code = command(
        file,
        out=out,
        status=status,
        shard=shard,
        workers=workers,
        threads=threads,
        dask=dask,
        rows=None if everything else 30,
        as_json=as_json,
        keep=keep or (),
        force=force,
        allow_python=allow_python,
        python_timeout=python_timeout,
    )
    raise typer.Exit(code)
