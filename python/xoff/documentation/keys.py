"""The keys of scenarios, from the schema of the core: also those of installed plug-ins."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from xoff import _core
from xoff._core import InputError

Schema: TypeAlias = dict[str, Any]

# Types of the schema whose texts have a unit.
_QUANTITIES = {"Rate": "rate", "Bytes": "size", "Propagation": "delay or length"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table.

    kinds: the types of its values, in words, such as ``integer`` or ``"relative"``.
    default: the default as JSON; None for a required key, and for a key with its default in the text.
    choices: named values with their meanings.
    """

    path: str
    kinds: tuple[str, ...]
    default: str | None
    is_required: bool
    meaning: str
    choices: tuple[tuple[Any, str], ...]
    examples: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a scenario.

    like: the path of a section with the same keys, which has been listed before; empty if there is none.
    """

    path: str
    about: str
    keys: tuple[Key, ...]
    like: str


def resolved(root: Schema, schema: Schema) -> tuple[str | None, Schema]:
    """Follows references; returns the definition's name, or None, and the definition."""
    name = None
    while True:
        parts = schema.get("allOf", [])
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = root["$defs"][name]
        elif len(parts) == 1:
            schema = parts[0]
        else:
            return name, schema


def alternatives(schema: Schema) -> list[Schema]:
    """Returns the alternatives of a schema; empty if it has none."""
    found: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
    return found


def described(root: Schema, schema: Schema | bool) -> str:
    """Returns the description of a field, or of its type."""
    if isinstance(schema, bool):
        return ""
    if schema.get("description"):
        return str(schema["description"])
    for choice in [schema, *alternatives(schema)]:
        _, found = resolved(root, choice)
        if found.get("description"):
            return str(found["description"])
    return ""


def sections(root: Schema) -> Iterator[Section]:
    """Yields the tables of a scenario, each before those below it."""
    waiting: list[tuple[str, Schema]] = [("", root)]
    places: dict[int, str] = {}
    while waiting:
        path, schema = waiting.pop(0)
        # A description may begin with the key's own path.
        about = re.sub(r"^`[^`]*`:? ?", "", " ".join(str(schema.get("description", "")).split()))
        about = about[:1].upper() + about[1:]
        first = places.setdefault(id(schema), path)
        if first != path:
            yield Section(path, about, (), first)
            continue
        found, deeper = _keys(root, path, schema)
        waiting = deeper + waiting
        yield Section(path, about, tuple(found), "")


def _keys(root: Schema, path: str, schema: Schema) -> tuple[list[Key], list[tuple[str, Schema]]]:
    keys, deeper = [], []
    required = set(schema.get("required", []))
    for name, value in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        kinds, below = _kinds(root, value, place)
        deeper += below
        has_default = isinstance(value, dict) and value.get("default") is not None
        default = json.dumps(value["default"]) if has_default and not isinstance(value["default"], dict) else None
        examples = resolved(root, value)[1].get("examples", []) if isinstance(value, dict) else []
        keys.append(
            Key(
                path=place,
                kinds=tuple(dict.fromkeys(kinds)),
                default=None if name in required else default,
                is_required=name in required,
                meaning=" ".join(described(root, value).split()),
                choices=tuple(_choices(root, value)),
                examples=tuple(str(one) for one in examples),
            )
        )
    return keys, deeper


def _choices(root: Schema, value: Schema | bool) -> Iterator[tuple[Any, str]]:
    """Yields the named choices of a setting, each with its meaning."""
    if isinstance(value, bool):
        return
    _, schema = resolved(root, value)
    if "const" in schema and schema.get("description"):
        yield schema["const"], schema["description"]
    for choice in alternatives(schema):
        yield from _choices(root, choice)


def _kinds(root: Schema, value: Schema | bool, place: str) -> tuple[list[str], list[tuple[str, Schema]]]:
    if isinstance(value, bool):
        return ["any"], []
    name, schema = resolved(root, value)
    if "const" in schema:
        return [json.dumps(schema["const"])], []
    if "enum" in schema:
        return [json.dumps(choice) for choice in schema["enum"]], []
    if choices := alternatives(schema):
        kinds, deeper = [], []
        for choice in choices:
            found, below = _kinds(root, choice, place)
            kinds += found
            deeper += below
        return [kind for kind in kinds if kind != "null"], deeper
    if schema.get("properties"):
        return ["table"], [(place, schema)]
    kind = schema.get("type", "any")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        items = schema.get("items", True)
        found, below = _kinds(root, items, place + "[]")
        return [f"list of {' or '.join(found)}"], below
    kinds = ["table" if one == "object" else one for one in ([kind] if isinstance(kind, str) else kind)]
    return [_quantity(name, schema) if one == "string" else str(one) for one in kinds if one != "null"], []


def _quantity(name: str | None, schema: Schema) -> str:
    """Returns what a text with a unit is, or ``string``."""
    if name in _QUANTITIES:
        return _QUANTITIES[name]
    return "time" if "(ps|ns|us|ms|s)" in schema.get("pattern", "") else "string"


def below(path: str) -> tuple[Section | None, list[Key]]:
    """Returns the section at a path, or None with the one key at the path. ``workload[0]`` means ``workload[]``.

    Raises `InputError`, with the nearest path, if there is no such key.
    """
    root = json.loads(_core.schema())
    path = re.sub(r"\[\w*\]", "[]", path.strip("."))
    listed = list(sections(root))
    known = {section.path: section for section in listed}
    for place in (path, f"{path}[]"):
        if place in known:
            section = known[place]
            if section.like:
                section = Section(section.path, section.about, known[section.like].keys, section.like)
            return section, list(section.keys)
    # A section that is like another has the keys of that one.
    keys = [key for section in listed for key in section.keys]
    for section in listed:
        if path.startswith(f"{section.path}.") and section.like:
            path = section.like + path.removeprefix(section.path)
    if found := [key for key in keys if key.path == path]:
        return None, found
    near = difflib.get_close_matches(path, [key.path for key in keys], n=1, cutoff=0.5)
    same = [key.path for key in keys if key.name == path.rpartition(".")[2]][:3]
    hint = f"; did you mean {' or '.join(same or near)}?" if same or near else ""
    raise InputError(f"{path}: no such key{hint}")
