"""``xoff report``: the options of the command that draws figures and writes pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xoff._core import InputError


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory of a result or of a study.", show_default=False)
    ],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Formats: html (the page), svg, png, pdf (figures); repeatable. Default: html, svg and png.",
            show_default=False,
            autocompletion=lambda: ["html", "svg", "png", "pdf"],
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Writes one page alone: the question, a figure, three sentences, the settings."),
    ] = False,
) -> None:
    """Draws the figures of a result or a study, and writes a self-contained page."""
    from xoff.report import command, summarise

    if summary and formats:
        raise InputError("--summary: is a PDF and a PNG; leave --format out")
    raise typer.Exit(summarise(directory) if summary else command(directory, formats))
