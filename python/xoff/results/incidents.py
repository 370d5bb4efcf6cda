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
    incidents = [str(one["message"]) for one in summary.get("incidents", ())]
    warnings = [f"warning {one['path']}: {one['message']}" for one in summary.get("warnings", ())]
    return [*incidents[:_BEFORE_WARNINGS], *warnings, *incidents[_BEFORE_WARNINGS:]]
