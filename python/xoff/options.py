"""Shared options of commands: ``--set``, ``--json`` and ``--force``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from xoff import running
from xoff._core import InputError


def _complete_setting(incomplete: str) -> list[str]:
    from xoff.completion import settings

    return settings(incomplete)


Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replaces a setting, such as [b]switch.flow_control.pfc.xoff=300KB[/b]; repeatable.",
        autocompletion=_complete_setting,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Prints one JSON object alone on standard output.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replaces the result of another scenario or study in the directory.")
]


def settings(given: list[str] | None) -> list[tuple[str, Any]]:
    """Returns the pairs of key and value of ``--set``, values typed as by `running.typed`.

    Raises `InputError` if an argument is not KEY=VALUE, or a value has several lines.
    """
    pairs = overrides(given)
    for key, text in pairs:
        if len(text.splitlines()) > 1:
            raise InputError(f"{key}: the value has more than one line; a setting is one value")
    return [(key, running.typed(text)) for key, text in pairs]


def overrides(given: list[str] | None) -> list[tuple[str, str]]:
    """Returns the pairs of key and text of ``--set``. Raises `InputError` for other forms than KEY=VALUE."""
    pairs = []
    for setting in given or []:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(
                f"--set: `{setting}` is not of the form KEY=VALUE, such as switch.flow_control.pfc.xoff=300KB"
            )
        pairs.append((key.strip(), value.strip()))
    return pairs
