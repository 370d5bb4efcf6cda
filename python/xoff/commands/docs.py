"""``xoff docs``: the documentation in the terminal, without a network."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from xoff import formatting
from xoff._core import InputError
from xoff.commands.options import Json

if TYPE_CHECKING:
    from xoff.documentation import Page

# Pages that a search lists.
_MOST = 12
# The groups of pages in the list, by the first part of a name.
_GROUPS = {
    "": "Guides",
    "how-to": "How to",
    "models": "Models",
    "experiments": "Published experiments",
    "reference": "Reference",
}


def _complete(incomplete: str) -> list[str]:
    from xoff.documentation import pages

    return [name for name in pages() if name.startswith(incomplete)]


def command(
    page: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAGE | WORDS…]",
            help="A page, such as [b]pfc[/b] or [b]how-to/write-a-plugin[/b]; or words to search for.",
            show_default=False,
            autocompletion=_complete,
        ),
    ] = None,
    find: Annotated[bool, typer.Option("--search", "-s", help="Searches, even if a page has this name.")] = False,
    as_json: Json = False,
) -> None:
    """Prints a page of the documentation, or searches all pages; without arguments lists them. Needs no network."""
    from xoff import documentation

    words = page or []
    if not words:
        return _list(as_json)
    found = documentation.find("-".join(words)) if not find else None
    if found is None and len(words) == 1 and not find:
        found = documentation.find(words[0])
    if found is not None:
        return _show(found, as_json)
    return _search(words, as_json)


def _list(as_json: bool) -> None:
    from rich.markup import escape

    from xoff import display, documentation

    pages = documentation.pages().values()
    if as_json:
        print(json.dumps({"pages": [{"name": one.name, "title": one.title} for one in pages]}))
        return
    for group, title in _GROUPS.items():
        table = display.table(title, "")
        for one in pages:
            if one.name.partition("/")[0] == group or ("/" not in one.name and not group):
                table.add_row(escape(one.name), escape(one.title))
        display.out.print(table)
    display.out.print(
        "[b]xoff docs PAGE[/b] prints a page, [b]xoff docs WORDS[/b] searches, [b]xoff keys[/b] lists keys."
    )


def _show(page: Page, as_json: bool) -> None:
    from rich.markdown import Markdown

    from xoff import display

    if as_json:
        print(json.dumps({"name": page.name, "title": page.title, "text": page.text}))
    elif not sys.stdout.isatty():
        print(page.text, end="")
    else:
        with display.out.pager(styles=True):
            display.out.print(Markdown(page.text, hyperlinks=False))


def _search(words: list[str], as_json: bool) -> None:
    from rich.markup import escape

    from xoff import display, documentation

    hits = documentation.search(words)
    said = formatting.plain(" ".join(words))
    if not hits:
        near = "; try fewer words" if len(words) > 1 else "; `xoff docs` lists all pages"
        raise InputError(f"{said}: no page has {'these words' if len(words) > 1 else 'this word'}{near}")
    if as_json:
        listed = [{"name": one.page.name, "heading": one.heading, "line": one.line} for one in hits]
        print(json.dumps({"pages": listed}))
        return
    table = display.table("page", "section", "line")
    for one in hits[:_MOST]:
        line = one.line if len(one.line) <= 100 else one.line[:99] + "…"
        table.add_row(escape(one.page.name), escape(one.heading), escape(line))
    display.out.print(table)
    more = f"{len(hits) - _MOST} more pages have {said}; add a word. " if len(hits) > _MOST else ""
    display.out.print(f"{more}[b]xoff docs {hits[0].page.name}[/b] prints the first.")
