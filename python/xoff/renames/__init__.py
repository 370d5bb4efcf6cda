"""Names that a release changed, old to new. The table is ``crates/document/renames.toml``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from xoff import _core

_INDEX = re.compile(r"\[[^\]]*\]")
_ROOMS = ("host", "switch")
"""Tables whose ``overrides`` hold the same keys."""


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """Returns the table of renamed names.

    - ``scenario``: new paths by old paths
    - ``values``: new values by old paths and values
    - ``summary``: new keys of summaries
    - ``columns``: new names of columns by table and old name
    - ``column_values``: new values of a column by old values
    """
    found: Mapping[str, Mapping[str, Any]] = json.loads(_core.renames())
    return found


def path(old: str) -> str | None:
    """Returns the new path of a renamed setting, with the indices of the old path; None for any other path."""
    parts = old.split(".")
    plain = [_INDEX.sub("", part) for part in parts]
    overrides = plain[:2] in [[room, "overrides"] for room in _ROOMS]
    if overrides:
        del plain[1]
    for length in range(len(plain), 0, -1):
        new = table()["scenario"].get(".".join(plain[:length]))
        if new is None:
            continue
        renamed = [*new.split("."), *plain[length:]]
        if overrides:
            renamed.insert(1, "overrides")
        indices = {index: _INDEX.findall(part) for index, part in enumerate(parts)}
        return ".".join(part + "".join(indices.get(index, ())) for index, part in enumerate(renamed))
    return None


def values(old: str) -> Mapping[str, Any]:
    """Returns the new values of a setting, by old value, for its old path; empty if no value changed."""
    found: Mapping[str, Any] = table()["values"].get(_INDEX.sub("", old), {})
    return found


def metric(old: str) -> str | None:
    """Returns the new name of a renamed metric, with dots or underscores as in the old name; None for any other."""
    for key, new in table()["summary"].items():
        if old == key:
            return str(new)
        if old == key.replace(".", "_"):
            return str(new).replace(".", "_")
    return None


def has_old_keys(summary: Mapping[str, Any]) -> bool:
    """Whether a summary has a key under a name of an earlier release."""
    return any(_reaches(summary, old.split(".")) for old in table()["summary"])


def _reaches(value: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True
