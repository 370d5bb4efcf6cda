"""``xoff new`` and ``xoff examples``: the options of the commands that write first files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from xoff import formatting
from xoff._core import InputError
from xoff.options import Json


def _kinds() -> list[str]:
    from xoff.new import DOCUMENTS, KINDS, PYTHON

    return [*DOCUMENTS, PYTHON, "plugin", *KINDS]


def _parts() -> list[str]:
    from xoff.new import PARTS_OF_PLUGINS

    return list(PARTS_OF_PLUGINS)


def _examples() -> list[str]:
    from xoff.shipped import names

    return names()


def new(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="scenario, study, training, serving, graph, python or plugin; in a source checkout also mechanism, "
            "transport, congestion_control, routing, topology, workload or experiment.",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="The file, for the first six; the new folder of a plug-in; the slug of a part, such as "
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
            autocompletion=_examples,
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
    from xoff.new import DOCUMENTS, PYTHON, create, create_plugin, write_document, write_python

    if part and kind != "plugin":
        raise InputError("new: --part is for plug-ins: xoff new plugin NAME --part mechanism")
    if example is not None:
        from xoff.shipped import write_one

        if name:
            raise InputError(f"new: with --example only the name of the file is given; leave `{kind}` or `{name}` out")
        paths = write_one(example, kind)
    elif not kind:
        raise InputError("new: a KIND is needed, such as `xoff new scenario`, or `--example NAME`")
    elif kind == "plugin":
        paths = create_plugin(name or "my_plugin", part or ["mechanism"])
    else:
        write = write_document if kind in DOCUMENTS else write_python if kind == PYTHON else create
        paths = write(kind, name)
    for path in paths:
        print(formatting.plain(str(path)))


def examples(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Writes all examples into this new folder. The documentation calls the folder [b]examples[/b].",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Lists the examples; with --out, writes all examples into a folder."""
    from xoff import display, shipped

    if out is not None:
        paths = shipped.write(out)
        if as_json:
            print(json.dumps({"files": [str(path) for path in paths]}))
        else:
            print(f"{len(paths)} files are in {formatting.plain(str(out))}")
        return
    listed = [{"name": name, "title": shipped.title(name)} for name in shipped.names()]
    if as_json:
        print(json.dumps({"examples": listed}))
        return
    table = display.table("example", "question or content")
    for one in listed:
        table.add_row(one["name"], one["title"])
    display.out.print(table)
    display.out.print("[b]xoff new --example NAME[/b] writes one, [b]xoff examples --out examples[/b] writes all.")
