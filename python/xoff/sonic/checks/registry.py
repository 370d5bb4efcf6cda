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
    _say_missing(context)
    found = [row for check in CHECKS for row in check.find(context)]
    return sorted(found, key=lambda row: LEVELS.index(row.level))


_OF_SHARED_MEMORY = ("alpha-idle", "alpha-starves", "xon", "ecn-above-xoff", "wd-pause", "egress-pool")


def _say_missing(context: Context) -> None:
    """Lists the checks that would pass in silence: of switches without ports, and of pools without a size."""
    for switch in context.fabric.switches.values():
        if not switch.up:
            context.unchecked[switch.name] = "no port of the switch is up"
    for switch, memory in context.with_memory():
        if memory.shared is None:
            for name in _OF_SHARED_MEMORY:
                context.unchecked[name] = f"{switch.name}: BUFFER_POOL|{memory.pool.name} has no size"
