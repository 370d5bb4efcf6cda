"""The report on a result or a study: figures, and one self-contained HTML page.

The page has the scenario in words, the network with links coloured by utilisation and by paused time, interactive
charts, sortable tables, the audits, the fingerprint, and the command that repeats the run. It works from a file and
loads nothing: styles, script, data and the scenario are in it. uPlot draws the charts (MIT licence, 50 KB, in
``assets``): a general library of charts would add 4.5 MB to every page.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from xoff import formatting, plots
from xoff._core import InputError
from xoff.files.new_files import synchronise
from xoff.files.safe_read import named
from xoff.insight.words import micro
from xoff.report import run_page, study_page
from xoff.report.page import Bar, Page
from xoff.results import load
from xoff.study import Study

_ASSETS = Path(__file__).parent / "assets"


FORMATS = ("html", "svg", "png")
"""The formats that are written by default."""


def write(
    directory: str | Path, *, formats: Collection[str] = FORMATS, figure: Callable[[str], None] | None = None
) -> Path:
    """Writes ``report.html`` and ``figures/`` into the directory of a result or study; returns the path of the page.

    formats: some of ``html`` (the page), ``svg``, ``png`` and ``pdf`` (figures). Equal inputs give equal bytes. Texts
        in SVG and PDF stay texts.
    figure: called with the name of each figure before it is drawn.

    Raises `InputError` if the directory holds neither a result nor a study, or no run of the study is complete. Returns
    the path of ``figures/`` without ``html``.
    """
    path = Path(directory)
    if unknown := sorted(set(formats) - {"html", *plots.FORMATS}):
        known = ", ".join(("html", *plots.FORMATS))
        raise InputError(f"--format: `{formatting.plain(unknown[0])[:40]}` is not known; allowed are {known}")
    pictures = [form for form in plots.FORMATS if form in formats]
    if (path / "study.json").is_file():
        page = study_page.build(Study.open(path))
    elif (path / "summary.json").is_file():
        page = run_page.build(load(path))
    else:
        raise InputError(f"{path}: holds neither a result (xoff run --out) nor a study (xoff sweep)")
    # After an interrupt, the earlier figures and page remain, which belong together.
    with tempfile.TemporaryDirectory(prefix=".report-", dir=path) as work:
        drawn: list[Path] = []
        for name, draw in page.figures.items() if pictures else ():
            if figure is not None:
                figure(name)
            with named(path / "figures" / name):
                drawn += plots.save(draw(), Path(work), name, pictures)
        temporary = Path(work) / "report.html"
        # A surrogate, which JSON can hold and UTF-8 cannot, is shown as a question mark.
        with named(path / "report.html"):
            temporary.write_bytes(render(page).encode("utf-8", "replace"))
            synchronise(temporary)
        if drawn:
            (path / "figures").mkdir(exist_ok=True)
        for file in drawn:
            file.replace(path / "figures" / file.name)
        return temporary.replace(path / "report.html") if "html" in formats else path / "figures"


def render(page: Page) -> str:
    """Returns the page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["data_url"] = _data_url
    environment.filters["image_url"] = _image_url
    environment.filters["embedded"] = _embedded
    environment.filters["micro"] = micro
    environment.filters["linked"] = _linked
    assets = {
        name: Markup((_ASSETS / file).read_text("utf-8"))  # noqa: S704 (they are ours)
        for name, file in (
            ("chart_style", "uPlot.min.css"),
            ("chart_script", "uPlot.iife.min.js"),
            # The licence has to be in every copy.
            ("chart_licence", "uPlot.LICENSE"),
            ("style", "page.css"),
            ("chart_drawing", "chart.js"),
            ("span_drawing", "spans.js"),
            ("script", "page.js"),
            ("replay_style", "replay.css"),
            ("delays_style", "delays.css"),
            ("memory_style", "switch_memory.css"),
            ("delays_script", "delays.js"),
            ("replay_script", "replay.js"),
        )
    }
    replay = page.replay and page.replay.data
    text: str = environment.get_template("page.html.j2").render(
        page=page, charts=_embedded(page.charts), replay=_embedded(replay), **assets
    )
    return text


def _embedded(data: Any) -> Markup:
    """Returns data for a script element; `<` is escaped, so that no text can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704


def _linked(line: str, bars: Collection[Bar]) -> Markup:
    """Returns a text in which a flow with a bar is a link to the bar."""
    known = {str(bar.flow) for bar in bars}

    def link(found: re.Match[str]) -> str:
        return f'<a href="#flow-{found[1]}">{found[0]}</a>' if found[1] in known else found[0]

    return Markup(re.sub(r"\bflow (\d+)\b", link, str(escape(line))))  # noqa: S704 (it is escaped)


def _data_url(text: str) -> str:
    return "data:application/json;base64," + base64.b64encode(text.encode("utf-8", "replace")).decode()


def _image_url(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode()


def command(directory: Path, formats: Collection[str] | None = None) -> int:
    """Runs ``xoff report``; returns the exit code."""
    formats = formats or FORMATS
    from rich.markup import escape

    from xoff import display

    with display.err.status("drawing the figures") as status:
        page = write(directory, formats=formats, figure=lambda name: status.update(f"drawing {name}"))
    pictures = [form for form in plots.FORMATS if form in formats]
    if "html" in formats:
        display.out.print(f"The page is [b]{escape(str(page))}[/b]")
    if pictures:
        count = len(list((directory / "figures").glob(f"*.{pictures[0]}")))
        figures, kinds = escape(str(directory / "figures")), " and ".join(form.upper() for form in pictures)
        display.out.print(f"{count} figures are in [b]{figures}[/b], as {kinds}")
    return 0


def summarise(directory: Path) -> int:
    """Runs ``xoff report --summary``; returns the exit code."""
    from rich.markup import escape

    from xoff import display
    from xoff.report import summary

    with display.err.status("drawing the page"):
        written = summary.write(directory)
    for path in written:
        display.out.print(f"The page is [b]{escape(str(path))}[/b]")
    return 0
