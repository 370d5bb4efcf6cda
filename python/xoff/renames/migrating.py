"""``xoff migrate``: rewrites scenarios and studies that use names of an earlier release.

Names in a TOML file are replaced in place: comments and layout stay. The rewritten text is parsed again, and must equal
the renamed document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xoff import renames
from xoff._core import InputError
from xoff.files.new_files import write_files
from xoff.renames.toml_keys import Assignment, Segment, assignments
from xoff.running.document import parse_json, parse_toml, read_text

_PATHS = frozenset({"unset", "zip"})
"""Keys of a study whose lists hold paths of settings."""
_METRICS = frozenset({"metrics", "objective"})
"""Keys of a study that hold names of metrics."""


@dataclass(frozen=True, slots=True)
class Change:
    """A name that was replaced."""

    old: str
    new: str


def migrate(files: Iterable[Path]) -> dict[Path, list[Change]]:
    """Rewrites files in place and returns the changes of each. All files are read before the first is written.

    Raises `InputError` if a file cannot be read, or if a setting has moved to another table.
    """
    made: dict[Path, tuple[str, list[Change]]] = {}
    for file in files:
        try:
            made[file] = _rewritten(file)
        except RecursionError:
            raise InputError(f"{file}: nested too deeply") from None
    # The target of a symbolic link is rewritten, and the link stays.
    write_files({file.resolve(): text for file, (text, changes) in made.items() if changes})
    return {file: changes for file, (_, changes) in made.items()}


def _rewritten(file: Path) -> tuple[str, list[Change]]:
    """Returns the text of a file with new names, and each change once."""
    if file.exists() and not file.is_file():
        raise InputError(f"{file}: is not a regular file")
    text = read_text(file)
    is_json = file.suffix == ".json"
    try:
        document = parse_json(file, text) if is_json else parse_toml(text)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{file}: this is not {'JSON' if is_json else 'TOML'}: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: a table of keys is needed")
    changes: list[Change] = []
    renamed = _document(document, changes)
    if not changes:
        return text, changes
    changes = list(dict.fromkeys(changes))
    if is_json:
        return f"{json.dumps(renamed, indent=2)}\n", changes
    new = _toml(text, is_study=_is_study(document))
    try:
        is_renamed = parse_toml(new) == renamed
    except ValueError:
        is_renamed = False
    if not is_renamed:
        raise InputError(f"{file}: unsupported layout; rename by hand: {_listed(changes)}")
    return new, changes


def _is_study(document: Mapping[str, Any]) -> bool:
    """True if a document is a study, with a scenario or the path of a scenario."""
    return not {"base", "scenario"}.isdisjoint(document)


def _listed(changes: list[Change]) -> str:
    return ", ".join(f"{one.old} to {one.new}" for one in changes)


def _document(document: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    """Returns a scenario or a study with new names."""
    if not _is_study(document):
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
    if key == "axes":
        # Keys of axes are paths, or tables of paths. Values of axes may be parts of a scenario.
        return _scenario(value, changes)
    return _metrics(value, changes) if key in _METRICS else value


def _metrics(value: Any, changes: list[Change]) -> Any:
    """Returns a part of a study with new names of metrics, in texts and in keys."""
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


def _scenario(document: Any, changes: list[Change], prefix: str = "") -> Any:
    """Returns a part of a scenario with new names."""
    if isinstance(document, list):
        return [_scenario(one, changes, prefix) for one in document]
    if not isinstance(document, dict):
        return _value(prefix, document, changes)
    made: dict[str, Any] = {}
    for key, value in document.items():
        path = f"{prefix}.{key}" if prefix else key
        new = _path(path, changes)
        made[key if new == path else _relative(path, key, new)] = _scenario(value, changes, path)
    return made


def _relative(path: str, key: str, new: str) -> str:
    """Returns the new name of a key in its table. Raises `InputError` if the key moved to another table."""
    parent = path[: -len(key)].rstrip(".")
    above = renames.path(parent) or parent
    if not new.startswith(f"{above}." if above else ""):
        raise InputError(f"{path}: moved to another table, {new}; move it by hand")
    return new[len(above) + 1 :] if above else new


def _path(path: str, changes: list[Change]) -> str:
    new = renames.path(path)
    if new is None:
        return path
    # A key that only moved with a renamed table is not a change.
    if (
        "." not in path
        or renames.path(path.rpartition(".")[0]) is None
        or new.rpartition(".")[2] != path.rpartition(".")[2]
    ):
        changes.append(Change(path, new))
    return new


def _value(path: str, value: Any, changes: list[Change]) -> Any:
    new = renames.values(path).get(value) if isinstance(value, str) else None
    if new is None:
        return value
    changes.append(Change(f"{path} = {value}", json.dumps(new)))
    return new


def _each(value: Any, call: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_each(one, call) for one in value]
    return call(value) if isinstance(value, str) else value


def _toml(text: str, *, is_study: bool) -> str:
    """Returns the text of a TOML file with old names replaced in place."""
    edits = {edit for one in assignments(text) for edit in _edits(one, text, is_study)}
    for at, end, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[end:]
    return text


def _edits(one: Assignment, text: str, is_study: bool) -> Iterator[tuple[int, int, str]]:
    """Yields start, end and new text for each renamed name in an assignment."""
    texts = [
        (at, end, json.loads(text[at:end]) if text[at] == '"' else text[at + 1 : end - 1]) for at, end in one.strings
    ]
    first, last = one.segments[0].name, one.segments[-1].name
    if is_study and first in _METRICS:
        names = [(segment.start, segment.end, segment.name) for segment in one.segments[1:]]
        yield from _replaced([*names, *texts], renames.metric)
    elif is_study and last in _PATHS:
        yield from _replaced(texts, renames.path)
    else:
        skipped = _skipped(one) if is_study else 0
        if skipped is None:
            return
        yield from _keys(one.segments, skipped)
        known = renames.values(".".join(segment.name for segment in one.segments[skipped:]))
        yield from _replaced(texts, known.get)


def _replaced(names: list[tuple[int, int, str]], new: Callable[[str], Any]) -> Iterator[tuple[int, int, str]]:
    for at, end, name in names:
        found = new(name)
        if found is not None:
            yield at, end, json.dumps(found)


def _skipped(one: Assignment) -> int | None:
    """Returns how many keys of an assignment of a study come before a path of a scenario; None if no path follows."""
    names = [segment.name for segment in one.segments]
    if names[0] in {"scenario", "axes"}:
        return 1
    if names[0] == "variants":
        return 3 if names[2:3] == ["axes"] else 2
    return None


def _keys(segments: tuple[Segment, ...], skipped: int) -> Iterator[tuple[int, int, str]]:
    """Yields the edits of the names in a key."""
    path = ""
    for segment in segments[skipped:]:
        path = f"{path}.{segment.name}" if path else segment.name
        new = renames.path(path)
        name = segment.name if new is None else _relative(path, segment.name, new)
        if name != segment.name:
            yield segment.start, segment.end, json.dumps(name) if segment.is_quoted else name
