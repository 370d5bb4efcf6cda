"""``xoff migrate``: rewrites scenarios and studies that use names of an earlier release.

A TOML file keeps its comments and its layout: names are replaced where they stand. The rewritten text is read
again, and must equal the renamed document.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff import renames
from xoff._core import InputError
from xoff.toml_keys import Assignment, Segment, assignments

_STUDY = frozenset({"base", "scenario", "axes", "variants", "objective", "design"})
_PATHS = frozenset({"unset", "zip"})
"""Keys of a study whose lists hold paths of settings."""
_METRICS = frozenset({"metrics", "objective"})
"""Keys of a study that hold names of metrics."""


@dataclass(frozen=True, slots=True)
class Change:
    """A name that was replaced."""

    old: str
    new: str


def migrate(file: Path) -> list[Change]:
    """Rewrites a file in place and returns what changed.

    Raises `InputError` if the file cannot be read, or if a setting has moved to another table.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: it cannot be read ({error})") from None
    is_json = file.suffix == ".json"
    try:
        document = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: this is not {'JSON' if is_json else 'TOML'}: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: a table is needed")
    changes: list[Change] = []
    renamed = _document(document, changes)
    if not changes:
        return []
    new = f"{json.dumps(renamed, indent=2)}\n" if is_json else _toml(text, file)
    if not is_json and tomllib.loads(new) != renamed:
        raise InputError(f"{file}: its layout is not understood; rename by hand: {_listed(changes)}")
    part = file.with_name(f"{file.name}.part")
    part.write_text(new, "utf-8")
    part.replace(file)
    return list(dict.fromkeys(changes))


def _listed(changes: list[Change]) -> str:
    return ", ".join(f"{one.old} to {one.new}" for one in changes)


def _document(document: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    """A scenario or a study with new names."""
    if not _STUDY & document.keys():
        return dict(_scenario(document, changes))
    made: dict[str, Any] = {}
    for key, value in document.items():
        if key == "scenario" and isinstance(value, dict):
            made[key] = _scenario(value, changes)
        elif key == "variants" and isinstance(value, dict):
            made[key] = {name: _variant(one, changes) if isinstance(one, dict) else one for name, one in value.items()}
        else:
            made[key] = _part(key, value, changes)
    return made


def _variant(variant: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    kept = {key: _part(key, value, changes) for key, value in variant.items() if key in {*_PATHS, "axes"}}
    return {**_scenario({key: value for key, value in variant.items() if key not in kept}, changes), **kept}


def _part(key: str, value: Any, changes: list[Change]) -> Any:
    if key in _PATHS:
        return _each(value, lambda path: _path(path, changes))
    if key == "axes" and isinstance(value, dict):
        return _axes(value, "", changes)
    return _metrics(value, changes) if key in _METRICS else value


def _metrics(value: Any, changes: list[Change]) -> Any:
    """A part of a study that names metrics, in texts and in keys."""
    if isinstance(value, dict):
        return {_metric(key, changes): _metrics(one, changes) for key, one in value.items()}
    if isinstance(value, list):
        return [_metrics(one, changes) for one in value]
    return _metric(value, changes) if isinstance(value, str) else value


def _metric(name: str, changes: list[Change]) -> str:
    new = renames.metric(name)
    if new is None:
        return name
    changes.append(Change(name, new))
    return new


def _axes(axes: dict[str, Any], prefix: str, changes: list[Change]) -> dict[str, Any]:
    """Axes: paths, or tables of them. A value of an axis may be a part of a scenario, and keeps its names there."""
    made: dict[str, Any] = {}
    for key, value in axes.items():
        path = f"{prefix}.{key}" if prefix else key
        new = _path(path, changes)
        name = key if new == path else _relative(path, key, new)
        inner = isinstance(value, dict) and not {"from", "to"} & value.keys()
        made[name] = _axes(value, path, changes) if inner else _values(path, value, changes)
    return made


def _scenario(document: Any, changes: list[Change], prefix: str = "") -> Any:
    """A part of a scenario with new names."""
    if isinstance(document, list):
        return [_scenario(one, changes, prefix) for one in document]
    if not isinstance(document, dict):
        return _values(prefix, document, changes)
    made: dict[str, Any] = {}
    for key, value in document.items():
        path = f"{prefix}.{key}" if prefix else key
        new = _path(path, changes)
        made[key if new == path else _relative(path, key, new)] = _scenario(value, changes, path)
    return made


def _relative(path: str, key: str, new: str) -> str:
    """The new name of a key in its table."""
    parent = path[: -len(key)].rstrip(".")
    above = renames.path(parent) or parent
    if not new.startswith(f"{above}." if above else ""):
        raise InputError(f"{path}: moved to another table, {new}; move it by hand")
    return new[len(above) + 1 :] if above else new


def _path(path: str, changes: list[Change]) -> str:
    new = renames.path(path)
    if new is None:
        return path
    # A key below a table that was renamed has kept its own name.
    if (
        "." not in path
        or renames.path(path.rpartition(".")[0]) is None
        or new.rpartition(".")[2] != path.rpartition(".")[2]
    ):
        changes.append(Change(path, new))
    return new


def _values(path: str, value: Any, changes: list[Change]) -> Any:
    known = renames.values(path)
    if isinstance(value, list):
        return [_values(path, one, changes) for one in value] if known else value
    if isinstance(value, str) and value in known:
        changes.append(Change(f"{path} = {value}", json.dumps(known[value])))
        return known[value]
    return value


def _each(value: Any, call: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_each(one, call) for one in value]
    return call(value) if isinstance(value, str) else value


def _toml(text: str, file: Path) -> str:
    """The text of a TOML file with new names where the old ones stand."""
    every = list(assignments(text))
    is_study = bool(_STUDY & {one.segments[0].name for one in every})
    edits = {edit for one in every for edit in _edits(one, text, is_study)}
    for at, end, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[end:]
    try:
        tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"{file}: rewritten it would be no TOML ({error}); rename by hand") from None
    return text


def _edits(one: Assignment, text: str, is_study: bool) -> Iterator[tuple[int, int, str]]:
    """Where an assignment names what was renamed, and the text for that place."""
    texts = [
        (at, end, json.loads(text[at:end]) if text[at] == '"' else text[at + 1 : end - 1]) for at, end in one.strings
    ]
    first, last = one.segments[0].name, one.segments[-1].name
    if is_study and first in _METRICS:
        names = [(segment.start, segment.end, segment.name) for segment in one.segments[1:]]
        yield from _replaced([*names, *texts], renames.metric, json.dumps)
    elif is_study and last in _PATHS:
        yield from _replaced(texts, renames.path, json.dumps)
    else:
        skipped = _skipped(one) if is_study else 0
        if skipped is None:
            return
        yield from _keys(one.segments, skipped)
        known = renames.values(".".join(segment.name for segment in one.segments[skipped:]))
        yield from _replaced(texts, known.get, json.dumps)


def _replaced(
    names: list[tuple[int, int, str]], new: Callable[[str], Any], written: Callable[[Any], str]
) -> Iterator[tuple[int, int, str]]:
    for at, end, name in names:
        found = new(name)
        if found is not None:
            yield at, end, written(found)


def _skipped(one: Assignment) -> int | None:
    """How many keys of an assignment of a study stand before a path of a scenario; None if none follows."""
    names = [segment.name for segment in one.segments]
    if names[0] in {"scenario", "axes"}:
        return 1
    if names[0] == "variants":
        return 3 if names[2:3] == ["axes"] else 2
    return None


def _keys(segments: tuple[Segment, ...], skipped: int) -> Iterator[tuple[int, int, str]]:
    """Edits of the names of a key."""
    path = ""
    for segment in segments[skipped:]:
        path = f"{path}.{segment.name}" if path else segment.name
        new = renames.path(path)
        name = segment.name if new is None else _relative(path, segment.name, new)
        if name != segment.name:
            yield segment.start, segment.end, json.dumps(name) if segment.is_quoted else name
