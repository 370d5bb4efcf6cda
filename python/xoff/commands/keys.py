"""``xoff keys``: the keys of scenarios with types, defaults and meanings, also those of plug-ins."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from xoff.commands.options import Json

if TYPE_CHECKING:
    from xoff.documentation.keys import Key


def _complete(incomplete: str) -> list[str]:
    from xoff.commands.completion import settings

    return [one.rstrip("=") for one in settings(incomplete)]


def command(
    path: Annotated[
        str,
        typer.Argument(
            metavar="[PATH]",
            help="A table or a key, such as [b]switch.flow_control.pfc[/b]; the top level if it is left out.",
            show_default=False,
            autocompletion=_complete,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Lists the keys below a path, with type, default and meaning; installed plug-ins included."""
    from rich.markup import escape

    from xoff import display
    from xoff.documentation.keys import below

    section, keys = below(path)
    if as_json:
        print(json.dumps({"path": section.path if section else path, "keys": [asdict(key) for key in keys]}))
        return
    if section is None:
        _print_one(keys[0])
        return
    if section.about:
        display.out.print(escape(section.about))
    table = display.table("key", "type", "default", "meaning")
    for key in keys:
        meaning = key.meaning if len(key.meaning) <= 160 else key.meaning.partition(". ")[0] + "."
        table.add_row(*map(escape, (key.name, " or ".join(key.kinds), _default(key), meaning)))
    display.out.print(table)
    tables = [key.name for key in keys if any("table" in kind for kind in key.kinds)]
    if tables:
        deeper = f"{section.path}.{tables[0]}".lstrip(".")
        display.out.print(f"[b]xoff keys {escape(deeper)}[/b] lists the keys below.")


def _default(key: Key) -> str:
    return "required" if key.is_required else key.default or ""


def _print_one(key: Key) -> None:
    from rich.markup import escape

    from xoff import display

    display.out.print(f"[b]{escape(key.path)}[/b]: {escape(' or '.join(key.kinds))}")
    display.out.print(escape(key.meaning))
    if default := _default(key):
        display.out.print(f"Default: {escape(default)}" if not key.is_required else "Required.")
    if key.examples:
        display.out.print(f"Example: {escape(', '.join(key.examples))}")
    for choice, meaning in key.choices:
        display.out.print(f"  {escape(json.dumps(choice))}: {escape(meaning)}")
