"""Names that a release changed: which new name an old one has. The table is ``crates/scenario/renames.toml``."""

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
    """Returns the table.

    ``scenario`` has new paths by old paths, ``values`` new values by old paths and values, ``summary`` new keys of
    summaries, and ``columns`` new names of columns by table and old name.
    """
    found: Mapping[str, Mapping[str, Any]] = json.loads(_core.renames())
    return found


def path(old: str) -> str | None:
    """Returns the new path of a setting that was renamed, with the indices of the old path; None for any other path."""
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
    """Returns the new values of a setting by their old values, for its old path; nothing where no value changed."""
    found: Mapping[str, Any] = table()["values"].get(_INDEX.sub("", old), {})
    return found


def metric(old: str) -> str | None:
    """Returns the new name of a metric that was renamed, with dots or with underscores as in the old name."""
    for key, new in table()["summary"].items():
        if old == key:
            return str(new)
        if old == key.replace(".", "_"):
            return str(new).replace(".", "_")
    return None
