"""The settings of a scenario by path: the kind of each value, and the path nearest to a wrong path.

The source is the JSON Schema of the scenario, so that any new parameter can be swept.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from xoff import _core

_UNITS = {"Time": "ps", "Bytes": "bytes", "Rate": "bps"}
ANY = "any"
"""The kind of a value that no type limits."""
_FREE = (
    "workload[].python.parameters",
    "host.congestion_control.python.parameters",
    "host.overrides[].congestion_control.python.parameters",
)
"""Tables with keys of the user's own."""
_INDEX = re.compile(r"\[\d+\]")


@cache
def kinds() -> dict[str, str]:
    """Returns every path with a kind: a unit (``ps``, ``bytes``, ``bps``) or a JSON type; indices become ``[]``."""
    schema = json.loads(_core.schema())
    found: dict[str, str] = {}
    for path, kind in _walk(schema, "", schema["$defs"]):
        # For a path of several kinds, the unit is more specific than a type.
        if path and (path not in found or kind in _UNITS.values()):
            found[path] = kind
    return found


def kind(path: str) -> str | None:
    """Returns the kind of the value at a path such as ``workload[0].poisson.load``; None for an unknown path."""
    plain = _INDEX.sub("[]", path)
    return kinds().get(plain) or (ANY if any(_is_below(plain, table) for table in _FREE) else None)


def _is_below(path: str, table: str) -> bool:
    """Whether a path is a key of a table."""
    rest = path.removeprefix(f"{table}.")
    return path != rest and rest.isidentifier()


def value_of(document: Any, path: str) -> Any:
    """Returns the value of a scenario's document at a path; None without one."""
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if index:
            document = document[int(index)] if isinstance(document, list) and int(index) < len(document) else None
        else:
            document = document.get(key) if isinstance(document, Mapping) else None
    return document


def nearest(path: str) -> str | None:
    """Returns the path nearest to an unknown path: in the same table, with the same last key, or similar."""
    plain = _INDEX.sub("[]", path)
    table, _, last = plain.rpartition(".")
    inside = {known.rpartition(".")[2]: known for known in reversed(kinds()) if known.startswith(f"{table}.")}
    found = [inside[key] for key in difflib.get_close_matches(last, inside, n=1, cutoff=0.7)] if table else []
    if found:
        return _indexed(found[0], path)
    same = [known for known in kinds() if known.rpartition(".")[2] == last]
    found = [known for known in same if known.endswith(f".{plain}")][:1]
    found = found or difflib.get_close_matches(plain, same, n=1, cutoff=0.5)
    found = found or difflib.get_close_matches(plain, kinds(), n=1, cutoff=0.7)
    if not found:
        ends = {known.rpartition(".")[2]: known for known in reversed(kinds())}
        found = [ends[key] for key in difflib.get_close_matches(last, ends, n=1, cutoff=0.6)]
    if not found:
        return None
    return _indexed(found[0], path)


def _indexed(known: str, path: str) -> str:
    """Returns a known path with the indices of another path."""
    indices = iter(_INDEX.findall(path))
    return re.sub(r"\[\]", lambda _: next(indices, "[0]"), known)


def _walk(node: dict[str, Any], path: str, definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    reference = node.get("$ref", "").rpartition("/")[2]
    if reference in _UNITS:
        yield path, _UNITS[reference]
        return
    for part in [*node.get("anyOf", ()), *node.get("oneOf", ()), *([definitions[reference]] if reference else ())]:
        yield from _walk(part, path, definitions)
    type = node.get("type")
    for one in type if isinstance(type, list) else [type]:
        if one not in {None, "null"}:
            yield path, one
    for key, part in node.get("properties", {}).items():
        yield from _walk(part, f"{path}.{key}" if path else key, definitions)
    if "items" in node:
        yield from _walk(node["items"], f"{path}[]", definitions)
