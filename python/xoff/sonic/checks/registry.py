"""All checks, in the order of the reference, and their findings."""

from __future__ import annotations

from xoff.sonic.checks import classes, headroom, marking, pools, ports
from xoff.sonic.checks.row import LEVELS, Check, Context, Row

CHECKS: tuple[Check, ...] = (
    *classes.CHECKS,
    *headroom.CHECKS,
    *pools.CHECKS,
    *marking.CHECKS,
    *ports.CHECKS,
)


def findings(context: Context) -> list[Row]:
    """Returns the findings of all checks: errors first, then by check, switch and port."""
    found = [row for check in CHECKS for row in check.find(context)]
    return sorted(found, key=lambda row: LEVELS.index(row.level))
