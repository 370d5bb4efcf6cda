"""The high-water marks of a summary as lines to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xoff import formatting

_TITLES = {
    "ingress": "ingress high-water mark",
    "headroom": "most above XOFF",
    "pool": "most of a pool",
    "queue": "longest queue",
}


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the high-water marks as lines to print; marks of zero are left out."""
    marks: Mapping[str, Any] = summary.get("high_water") or {}
    lines = []
    for kind, title in _TITLES.items():
        mark = marks.get(kind) or {}
        if mark.get("bytes"):
            of = f" of {formatting.size(limit)}" if (limit := mark.get("threshold_bytes")) is not None else ""
            lines.append((title, f"{formatting.size(mark['bytes'])}{of}, {mark.get('place')}"))
    return lines
