"""The command ``xoff plugins``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from xoff import formatting
from xoff.commands.options import Json

app = typer.Typer(no_args_is_help=True, help="Builds a core with plug-ins: parts of other packages, in Rust.")

Folders = Annotated[
    list[Path], typer.Argument(metavar="FOLDER…", help="Folders of plug-ins.", show_default=False, file_okay=False)
]


@app.command()
def build(
    folders: Folders,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Compiles in less time, with checks of arithmetic; runs take longer."),
    ] = False,
) -> None:
    """Builds the core of this environment with these plug-ins, and no others. Needs a Rust toolchain."""
    from xoff.plugins import building

    for one in building.build(folders, is_debug=debug):
        print(f"{one.name} {one.version}: {formatting.plain(str(one.folder))}")


@app.command()
def test(folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False, file_okay=False)]) -> None:
    """Runs the tests of a plug-in's crate."""
    from xoff.plugins import building

    building.test(folder)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Lists the plug-ins of this environment, with the tables of their parts."""
    from xoff import own_core, plugins

    found = plugins.installed()
    if as_json:
        listed = [
            {
                "name": one.name,
                "version": one.version,
                "parts": [{"path": part.path, "about": part.about} for part in one.parts],
            }
            for one in found
        ]
        print(json.dumps(listed, indent=2))
        return
    for one in found:
        print(f"{one.name} {one.version}")
        for part in one.parts:
            print(f"  {part.path}: {formatting.plain(part.about)}")
    built = own_core.manifest().get("packages", [])
    if not found and not built:
        print("No plug-ins; `xoff new plugin NAME` writes one.")
    elif not found:
        folders = " ".join(formatting.plain(str(one.get("folder"))) for one in built)
        print(f"The core with plug-ins is of another build of xoff: run `xoff plugins build {folders}`.")


@app.command()
def remove() -> None:
    """Removes the core with plug-ins of this environment: xoff then has its own parts alone."""
    from xoff.plugins import building

    print("Removed." if building.remove() else "There are no plug-ins.")
