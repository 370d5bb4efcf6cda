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

    return [*DOCUMENTS, PYTHON, *KINDS]


def _examples() -> list[str]:
    from xoff.shipped import names

    return names()


def new(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="scenario, study, training, serving, graph or python; in a source checkout also mechanism, transport, "
            "congestion_control, routing, topology, workload or experiment.",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="The file, for the first six; the slug of a part, such as [b]my_scheme[/b]; an experiment is "
            "DOCUMENT/NAME.",
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
) -> None:
    """Writes a scenario, a study or a job that is ready to run; in a source checkout, the skeleton of a part."""
    from xoff.new import DOCUMENTS, PYTHON, create, write_document, write_python

    if example is not None:
        from xoff.shipped import write_one

        if name:
            raise InputError(f"new: with --example only the name of the file is given; leave `{kind}` or `{name}` out")
        paths = write_one(example, kind)
    elif not kind:
        raise InputError("new: a KIND is needed, such as `xoff new scenario`, or `--example NAME`")
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
