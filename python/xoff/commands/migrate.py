"""``xoff migrate``: rewrites files that use names of an earlier release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from xoff.commands.options import Json


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scenarios and studies, TOML or JSON.", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Rewrites files that use names of an earlier release. Comments and layout of TOML files stay."""
    from xoff.renames.migrating import migrate as rewrite

    found = {str(file): changes for file, changes in rewrite(files).items()}
    if as_json:
        typer.echo(
            json.dumps({name: [{"old": one.old, "new": one.new} for one in changes] for name, changes in found.items()})
        )
        return
    for name, changes in found.items():
        typer.echo(f"{name}: " + (f"{len(changes)} renamed" if changes else "nothing to rename"))
        for one in changes:
            typer.echo(f"  {one.old} is {one.new}")
