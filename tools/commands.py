"""The reference of the command, from the definitions of the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from xoff.commands.registry import app

_HEAD = """# Commands

This page is generated from the definitions of the commands, as are the texts of `xoff COMMAND --help`. Examples are in
[the how-to pages](../how-to/compare-mechanisms.md) and [the tutorial](../tutorial.md).

Every command takes `--help`. A command that fails prints one message to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an audit or a claim failed |
| 2 | bad input |
| 130 | interrupted |
"""

# The values of options that name no kind of value themselves.
_KINDS = {"repeats": "N"}


def page() -> str:
    """Returns the page as Markdown."""
    root = typer.main.get_command(app)
    commands = list(_leaves(root, "xoff"))
    index = "".join(f"| [`{name}`](#{name.replace(' ', '-')}) | {_first(one)} |\n" for name, one in commands)
    parts = [_HEAD, "## All commands\n\n| command | what it does |\n|---|---|\n" + index]
    parts += [_section(name, one) for name, one in commands]
    return "\n".join(parts)


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yields the commands below a group, by name."""
    for key, one in sorted(command.commands.items()):
        if one.hidden:
            continue
        if hasattr(one, "commands"):
            yield from _leaves(one, f"{name} {key}")
        else:
            yield f"{name} {key}", one


def _plain(text: str | None) -> str:
    """Returns a help text as Markdown on one line: bold names become code, and cells keep their borders."""
    told = re.sub(r"\[/?[bi]\]|\[/?bold\]", "`", " ".join((text or "").split()))
    return told.replace("\\[", "[").replace("|", "\\|").replace("<", "&lt;")


def _first(command: Any) -> str:
    return _plain(command.help)


def _section(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False) and one.name != "help"]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name != "argument"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(_metavar(one) for one in arguments)])
    text = f"## {name}\n\n{_first(command)}\n\n```text\n{usage}\n```\n"
    if arguments:
        rows = "".join(f"| `{_cell(_metavar(one))}` | {_plain(one.help)} |\n" for one in arguments)
        text += f"\n| argument | description |\n|---|---|\n{rows}"
    if options:
        rows = "".join(f"| {_names(one)} | {_plain(one.help)} | {_default(one)} |\n" for one in options)
        text += f"\n| option | description | default |\n|---|---|---|\n{rows}"
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _metavar(one: Any) -> str:
    name = str(one.metavar or _KINDS.get(one.name, one.name.upper()))
    if one.param_type_name != "argument":
        return name
    name = f"{name}..." if one.nargs == -1 and not name.endswith(("...", "…")) else name
    return name if one.required or name.startswith("[") else f"[{name}]"


def _names(one: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
    if one.is_flag:
        return names
    return f"{names} `{_cell(_metavar(one))}`"


def _default(one: Any) -> str:
    if one.is_flag or one.default is None or one.default in ((), [], "") or callable(one.default):
        return ""
    values = one.default if isinstance(one.default, list | tuple) else [one.default]
    return "`" + _cell(" ".join(map(str, values))) + "`"
