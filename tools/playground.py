"""Writes the playground: a folder of static files with the core for a browser and the prepared scenarios.

``index.html`` has page, styles, scripts and scenarios; ``core.js`` has the compiled core, compressed. Both work from a
disk, too, and load nothing else. The scenarios are in ``playground/scenarios``, the sliders in
``playground/scenarios.toml``. Every value of every slider runs here, natively: the page compares fingerprints.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import xoff
from xoff import plots
from xoff.report import topology
from xoff.results import counts
from xoff.running.document import typed

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "playground"
ASSETS = ROOT / "python/xoff/report/assets"


def scenarios() -> list[dict[str, Any]]:
    """Returns the scenarios with their sliders, as in ``scenarios.toml``, each with its document as ``toml``."""
    listed = tomllib.loads((PARTS / "scenarios.toml").read_text("utf-8"))["scenario"]
    return [one | {"toml": (PARTS / "scenarios" / f"{one['name']}.toml").read_text("utf-8")} for one in listed]


def prepare(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a scenario as the page needs it: the values of sliders as TOML, and native fingerprints."""
    result = run(scenario["toml"], {})
    controls = []
    for slider in scenario["slider"]:
        texts = list(slider["choices"]) if "choices" in slider else None
        values = list(slider["choices"].values()) if texts else [json.dumps(value) for value in slider["values"]]
        runs = [run(scenario["toml"], dict.fromkeys(slider["keys"], typed(value))) for value in values]
        controls.append(
            {"label": slider["label"], "keys": slider["keys"], "values": values, "texts": texts}
            | {"fingerprints": [one.fingerprint for one in runs]}
        )
    plain = {key: scenario[key] for key in ("name", "title", "about", "try", "figures", "toml")}
    return plain | {"fingerprint": result.fingerprint, "layout": layout(result), "controls": controls}


def run(document: str, overrides: Mapping[str, Any]) -> xoff.Result:
    """Runs a document with some settings, natively. Raises `xoff.InputError` or `xoff.AuditError`."""
    return xoff.run(tomllib.loads(document), overrides=overrides)


def layout(result: xoff.Result) -> dict[str, Any]:
    """Returns the places of the nodes on the map of the replay."""
    flows, links = result.flows, result.links
    ends = {*flows["src"].to_pylist(), *flows["dst"].to_pylist()}
    found = topology.layout(list(zip(links["node"].to_pylist(), links["peer"].to_pylist(), strict=True)), ends)
    nodes = [[name, round(x, 1), round(y, 1), int(name in found.hosts)] for name, (x, y) in found.places.items()]
    return {"width": topology.WIDTH, "height": found.height, "radius": found.radius, "nodes": nodes}


def page(prepared: Sequence[Mapping[str, Any]], home: str) -> str:
    """Returns the page."""
    causes = {group.name: [group.label, plots.colour(group.name)] for group in counts.groups()}
    data = {"scenarios": prepared, "causes": causes, "colours": plots.COLOURS}
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([PARTS, ASSETS]), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    text: str = environment.get_template("page.html.j2").render(
        data=Markup(embedded),  # noqa: S704 (no text in it ends the element)
        home=home,
        version=xoff.__version__,
        **dict(_assets()),
    )
    return text


def _assets() -> Iterator[tuple[str, Markup]]:
    files = {
        "chart_style": ASSETS / "uPlot.min.css",
        "chart_script": ASSETS / "uPlot.iife.min.js",
        # The licence has to be in every copy.
        "chart_licence": ASSETS / "uPlot.LICENSE",
        "chart_drawing": ASSETS / "chart.js",
        "report_style": ASSETS / "page.css",
        "replay_style": ASSETS / "replay.css",
        "replay_script": ASSETS / "replay.js",
        "style": PARTS / "page.css",
        "script": PARTS / "page.js",
        "views_script": PARTS / "views.js",
        "document_script": PARTS / "document.js",
        "worker": PARTS / "worker.js",
    }
    for name, file in files.items():
        yield name, Markup(file.read_text("utf-8"))  # noqa: S704 (they are ours)


def core(module: bytes) -> str:
    """Returns the compiled core as a script, which a page without a server can load."""
    packed = base64.b64encode(gzip.compress(module, compresslevel=9, mtime=0)).decode()
    return f'"use strict";\nself.XOFF_CORE = "{packed}";\n'


def main() -> None:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path, help="the core, compiled to WebAssembly")
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument("--home", default="", help="address of the documentation, relative to the page")
    given = parser.parse_args()
    made = page([prepare(one) for one in scenarios()], given.home)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "index.html").write_text(made, "utf-8")
    (given.out / "core.js").write_text(core(given.module.read_bytes()), "utf-8")


if __name__ == "__main__":
    main()
