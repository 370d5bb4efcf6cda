"""``xoff reproduce``: the options of the command that runs published experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import Json, Set, Threads, overrides


def _complete_claim(incomplete: str) -> list[str]:
    from xoff.commands.completion import claims

    return claims(incomplete)


def command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Claims (sfc/5.1), experiments (sfc/incast_3_to_1) or documents (sfc).",
            show_default=False,
            autocompletion=_complete_claim,
        ),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Lists the experiments and their claims without running them.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Runs the small variants.")] = False,
    design: Annotated[
        bool,
        typer.Option(
            "--design", help="Also screens the open choices of a document: the choices that decide each statement."
        ),
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory of the figures.")] = Path("out/reproduce"),
    runs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keeps the runs here. Only missing runs are run, also after an interruption.",
            show_default=False,
        ),
    ] = None,
    set: Set = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Writes the scenarios and a study of each experiment here, as commented TOML, without running them.",
            show_default=False,
        ),
    ] = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Runs published experiments and prints each claim: published, measured, and the verdict."""
    from xoff.reproduce.command import command

    raise typer.Exit(
        command(
            ids or [],
            list_only=list_only,
            quick=quick,
            design=design,
            out=out,
            threads=threads,
            runs=runs,
            changes=overrides(set),
            export_to=export,
            as_json=as_json,
        )
    )
