"""What happened out of the ordinary in a run, and the warnings about its scenario, as lines for readers.

``xoff explain``, ``xoff run`` and reports begin with the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 5
"""The number of lines that readers see first."""

_BEFORE_WARNINGS = 3
NOTHING = "Nothing out of the ordinary happened: no fault, no loss, no watchdog, and no warning."


def lines(summary: Mapping[str, Any]) -> list[str]:
    """Returns all incidents of a summary and all warnings. Three incidents come first, then the warnings."""
    incidents, warnings = messages(summary), [f"warning {text}" for text in warnings_of(summary)]
    return [*incidents[:_BEFORE_WARNINGS], *warnings, *incidents[_BEFORE_WARNINGS:]]


def messages(summary: Mapping[str, Any]) -> list[str]:
    """Returns the incidents of a summary in words; entries of a damaged file are left out."""
    return [str(one["message"]) for one in _entries(summary, "incidents", "message")]


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """Returns the warnings of a summary as ``key: message``; entries of a damaged file are left out."""
    return [f"{one['path']}: {one['message']}" for one in _entries(summary, "warnings", "path", "message")]


def _entries(summary: Mapping[str, Any], key: str, *needed: str) -> list[Mapping[str, Any]]:
    found = summary.get(key)
    return [
        one
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, Mapping) and all(isinstance(one.get(name), str) for name in needed)
    ]
