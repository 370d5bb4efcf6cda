"""An extension of Markdown for the documentation: long tables of experiments are behind a fold.

A reader of such a page sees the text and the figures first. A page of an experiment is a page that `xoff reproduce`
wrote, which the page says. The sources stay plain Markdown.
"""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

MOST_ROWS = 8
"""A table of an experiment's page with more rows is folded."""
_TABLE = re.compile(r"(?:^\|.*(?:\n|\Z))+", re.M)
_OF_EXPERIMENT = re.compile(r"^(Written by|One command repeats).*", re.M)


def folded(text: str) -> str:
    """Returns Markdown with each long table inside a closed ``details`` element, named by rows and columns."""
    return _TABLE.sub(_fold, text)


def _fold(found: re.Match[str]) -> str:
    lines = found[0].rstrip("\n").split("\n")
    rows = len(lines) - 2
    if rows <= MOST_ROWS:
        return found[0]
    columns = [cell.strip() for cell in re.split(r"(?<!\\)\|", lines[0])[1:-1]]
    named = ", ".join(cell.replace("\\|", "|") for cell in columns if cell)
    named = named if len(named) <= 100 else named[:100].rpartition(", ")[0] + ", …"
    head = f'<details class="fold" markdown="1"><summary>Table of {rows} rows: {named}</summary>'
    return f"{head}\n\n{found[0].rstrip()}\n\n</details>\n"


class _Folding(Preprocessor):  # type: ignore[misc] # the library has no types
    def run(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        return folded(text).split("\n") if _OF_EXPERIMENT.search(text) else lines


class _Tables(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        # After fenced code is taken out (25), and before HTML is read (20).
        md.preprocessors.register(_Folding(md), "folding", 22)


def makeExtension(**options: Any) -> Extension:  # noqa: N802
    """Returns the extension; Markdown calls this function."""
    return _Tables(**options)
