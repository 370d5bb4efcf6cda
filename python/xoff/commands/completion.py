"""Shell completion: paths of settings, choices of a key, and ids of claims, experiments and documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xoff import _core

_DEEPEST = 6


def settings(incomplete: str) -> list[str]:
    """Returns completions of the argument of ``--set``: paths of keys, and after ``=`` the choices of a key."""
    schema = json.loads(_core.schema())
    key, equals, value = incomplete.partition("=")
    if equals:
        found = next((part for path, part in _paths(schema, schema, "", 0) if path == key), {})
        return [f"{key}={choice}" for choice in _choices(schema, found) if choice.startswith(value)]
    # One step of the path at a time, as with directories.
    steps = set()
    for path, part in _paths(schema, schema, "", 0):
        if path.startswith(incomplete):
            rest = path[len(incomplete) :]
            dot = rest.find(".", 1)
            is_table = bool(_tables(schema, part))
            steps.add(incomplete + rest[:dot] if dot >= 0 else path + ("" if is_table else "="))
    return sorted(steps - {incomplete})


def claims(incomplete: str) -> list[str]:
    """Returns the documents, experiments and claims that begin with a text."""
    from xoff.reproduce import experiments

    known: set[str] = set()
    for one in experiments():
        known |= {one.id.partition("/")[0], one.id, *one.module.CLAIMS}
    return sorted(name for name in known if name.startswith(incomplete))


def results(incomplete: str) -> list[str]:
    """Returns the directories of results that begin with a text, and directories that may contain results."""
    begun = Path(incomplete)
    parent = begun if incomplete.endswith("/") else begun.parent
    try:
        found = [one for one in sorted(parent.iterdir()) if one.is_dir() and not one.name.startswith(".")]
    except OSError:
        return []
    here = "./" if incomplete.startswith("./") else ""
    names = [(one, f"{here}{one}") for one in found if f"{here}{one}".startswith(incomplete)]
    return [name if (one / "summary.json").is_file() else f"{name}/" for one, name in names]


def _paths(schema: dict[str, Any], part: dict[str, Any], at: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the path of every key below a part of the schema, with the key's own part."""
    for table in _tables(schema, part):
        for key, inside in table.get("properties", {}).items():
            path = f"{at}.{key}" if at else key
            yield path, inside
            is_list = any(one.get("type") == "array" for one in _alternatives(schema, inside))
            if depth < _DEEPEST:
                yield from _paths(schema, inside, f"{path}[0]" if is_list else path, depth + 1)


def _alternatives(schema: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the alternatives of a part of the schema, with references resolved."""
    if "$ref" in part:
        return _alternatives(schema, schema["$defs"][part["$ref"].rpartition("/")[2]])
    several = part.get("anyOf") or part.get("oneOf")
    return [found for one in several for found in _alternatives(schema, one)] if several else [part]


def _tables(schema: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for one in _alternatives(schema, part):
        inside = _alternatives(schema, one["items"]) if isinstance(one.get("items"), dict) else [one]
        found += [table for table in inside if "properties" in table]
    return found


def _choices(schema: dict[str, Any], part: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for one in _alternatives(schema, part):
        found += [one["const"]] if "const" in one else one.get("enum", [])
        found += ["true", "false"] if one.get("type") == "boolean" else []
    return [str(choice) for choice in found]
