"""``xoff new``: the options of the command that writes first files."""

from __future__ import annotations

from typing import Annotated

import typer

from xoff import formatting
from xoff._core import InputError
from xoff.commands.examples import names, write_one


def _kinds() -> list[str]:
    from xoff.templates.writing import COUNTERS, DOCUMENTS, KINDS, PYTHON

    return [*DOCUMENTS, COUNTERS, PYTHON, "plugin", *KINDS]


def _parts() -> list[str]:
    from xoff.templates.writing import PARTS_OF_PLUGINS

    return list(PARTS_OF_PLUGINS)


def command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="scenario, study, training, serving, graph, counters, python or plugin; in a source checkout also "
            "mechanism, transport, congestion_control, routing, topology, workload or experiment.",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="The file, for the first seven; the new folder of a plug-in; the slug of a part, such as "
            "[b]my_scheme[/b]; an experiment is DOCUMENT/NAME.",
            show_default=False,
        ),
    ] = "",
    example: Annotated[
        str | None,
        typer.Option(
            metavar="EXAMPLE",
            help="Writes this example, and the tables of the example, in the place of a KIND.",
            show_default=False,
            autocompletion=names,
        ),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="A part of the plug-in: mechanism (default), routing, transport, congestion_control or workload; "
            "repeatable.",
            show_default=False,
            autocompletion=_parts,
        ),
    ] = None,
) -> None:
    """Writes a scenario, a study, a job or a plug-in, ready to run; in a source checkout, the skeleton of a part."""
    from xoff.templates.writing import (
        COUNTERS,
        DOCUMENTS,
        PYTHON,
        create,
        create_plugin,
        write_counters,
        write_document,
        write_python,
    )

    if part and kind != "plugin":
        raise InputError("new: --part is for plug-ins: xoff new plugin NAME --part mechanism")
    if example is not None:
        if name:
            raise InputError(f"new: with --example only the name of the file is given; leave `{kind}` or `{name}` out")
        paths = write_one(example, kind)
    elif not kind:
        raise InputError("new: a KIND is needed, such as `xoff new scenario`, or `--example NAME`")
    elif kind == "plugin":
        paths = create_plugin(name or "my_plugin", part or ["mechanism"])
    else:
        others = {PYTHON: write_python, COUNTERS: write_counters}
        write = write_document if kind in DOCUMENTS else others.get(kind, create)
        paths = write(kind, name)
    for path in paths:
        print(formatting.plain(str(path)))
