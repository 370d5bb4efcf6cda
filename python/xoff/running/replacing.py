"""Replacement rules of commands: a result of the same scenario, a study of the same name, anything with ``--force``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.files.safe_read import read_json
from xoff.formatting import literal
from xoff.results.claims import Claim
from xoff.running import Prepared

_NAMED = 2
"""The number of differences in a message."""


def check_result(directory: Path, prepared: Prepared, *, force: bool) -> None:
    """Raises `InputError` if a directory, or that of its failed or cut run, holds a result of another scenario."""
    if force:
        return
    # A path such as `.` has no name.
    whole = directory if directory.name not in {"", ".."} else directory.absolute()
    beside = [whole.parent / f"{whole.name}.{word}" for word in ("failed", "cut")]
    for place in (directory, *beside):
        if differences := _named_differences(place, prepared):
            raise InputError(
                f"--out {directory}: {place} holds the result of another scenario, different in {differences}; "
                "choose another directory, or replace the result with --force"
            )


def claim(directory: Path, prepared: Prepared, *, force: bool) -> Claim | None:
    """Returns the claim of a run on its result directory; None with `force`, which replaces any result."""
    if force:
        return None

    def check(live: Path | None = None) -> None:
        check_result(directory, prepared, force=False)
        if live is not None and (differences := _named_differences(live, prepared)):
            raise InputError(
                f"--out {directory}: a run of another scenario is writing there, different in {differences}; "
                "choose another directory"
            )

    return Claim(prepared.document, check)


def _named_differences(place: Path, prepared: Prepared) -> str:
    """Returns the first differences of a result from `prepared` as text; empty if there are none, or no result."""
    if not (place / "scenario.json").is_file():
        return ""
    differences = list(_differences(place, prepared))
    more = f" and {len(differences) - _NAMED:,} more" if len(differences) > _NAMED else ""
    return ", ".join(differences[:_NAMED]) + more


def check_study(directory: Path, name: str, *, force: bool) -> None:
    """Raises `InputError` if a directory holds a study of another name, whose document and tables would be replaced."""
    if force or not (directory / "study.json").is_file():
        return
    try:
        found = read_json(directory / "study.json")["name"]
    except (OSError, ValueError, TypeError, KeyError):
        # A damaged study is replaced.
        return
    if isinstance(found, str) and found != name:
        raise InputError(
            f"--out {directory}: holds the study {literal(found)}, not {literal(name)}; choose another directory, or "
            "replace the tables with --force"
        )


def _differences(place: Path, prepared: Prepared) -> Iterator[str]:
    """Yields the keys in which the scenario of a result differs from `prepared`, and the tables whose rows differ."""
    try:
        kept = read_json(place / "scenario.json")
    except (OSError, ValueError):
        yield "scenario.json (unreadable)"
        return
    for key in _unlike(kept, prepared.document, ""):
        if key not in prepared.tables or not _is_table(place, kept, key, prepared.tables[key]):
            yield formatting.plain(key) or "all"


def _unlike(first: Any, second: Any, path: str) -> Iterator[str]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys((*first, *second)):
            below = f"{path}.{key}" if path else str(key)
            if key in first and key in second:
                yield from _unlike(first[key], second[key], below)
            else:
                yield below
    elif isinstance(first, list) and isinstance(second, list):
        nothing = object()
        for index, (one, other) in enumerate(zip_longest(first, second, fillvalue=nothing)):
            yield from _unlike(one, other, f"{path}[{index}]")
    elif first != second:
        yield path


def _is_table(place: Path, kept: Any, key: str, table: Any) -> bool:
    """Whether a result was made with these rows; the directory holds a copy of the table."""
    import pyarrow as pa
    import pyarrow.parquet

    for part in key.replace("[", ".").replace("]", "").split("."):
        kept = kept[int(part)] if isinstance(kept, list) else kept[part]
    try:
        return bool(pyarrow.parquet.read_table(place / str(kept)).equals(pa.table(table)))
    except (pa.ArrowException, OSError, ValueError, TypeError):
        return False
