"""``xoff models``: the parts that a scenario can have, and those of installed plug-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from xoff import _core
from xoff.commands.options import Json

# The tables whose keys are parts, with what the parts are.
_TABLES = {
    "network": "topology",
    "switch.flow_control": "flow control",
    "switch.routing": "routing",
    "switch": "mechanism",
    "host.transport": "transport",
    "host.congestion_control": "congestion control",
    "workload[]": "workload",
}


# All tables here are parts.
_OF_PARTS = {"switch.flow_control", "switch.routing", "host.transport", "host.congestion_control"}
# Pages that are not called as the key.
_PAGES = {
    "host.congestion_control.python": "models/python_control",
    "switch.buffer": "models/switch_buffer",
    "switch.faults": "",
}
_SHAPES = {"star", "line", "leaf_spine", "three_tier_clos", "fat_tree", "ndc", "rail", "explicit"}


class Part(NamedTuple):
    """A part of scenarios: its key, what it is, its first sentence, and its page."""

    key: str
    kind: str
    meaning: str
    page: str


def command(as_json: Json = False) -> None:
    """Lists all models: topologies, mechanisms, transports, congestion controls and workloads, each with its page."""
    from rich.markup import escape

    from xoff import display

    listed = list(parts())
    if as_json:
        print(json.dumps({"models": [part._asdict() for part in listed]}))
        return
    table = display.table("kind", "key", "model", "page")
    for part in listed:
        table.add_row(*map(escape, (part.kind, part.key, part.meaning, part.page)))
    display.out.print(table)
    display.out.print("[b]xoff docs PAGE[/b] explains a model, [b]xoff keys KEY[/b] lists its keys.")


def parts() -> Iterator[Part]:
    """Yields all parts by kind."""
    from xoff.documentation import keys, pages

    sections = {section.path: section for section in keys.sections(json.loads(_core.schema()))}
    known = pages()
    for table, kind in _TABLES.items():
        own = [key for key in sections[table].keys if any("table" in one for one in key.kinds)]
        plugged = sections.get(f"{table}.plugins")
        for key in own:
            page = _PAGES.get(key.path, "models/topologies" if _is_shape(key.path) else f"models/{key.name}")
            if key.name != "plugins" and (table in _OF_PARTS or page in known):
                kind_here = "network" if table == "network" and not _is_shape(key.path) else kind
                yield Part(key.path, kind_here, _first(key.meaning), page if page in known else "")
        for key in plugged.keys if plugged else ():
            yield Part(key.path, kind, _first(key.meaning), "")


def _first(meaning: str) -> str:
    return meaning.partition(". ")[0].rstrip(".") + "."


def _is_shape(path: str) -> bool:
    """True for a topology."""
    return path.partition("network.")[2] in _SHAPES
