"""All checks, in the order of the reference, and their findings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from xoff.sonic.asic import RANGES
from xoff.sonic.checks import classes, headroom, marking, pools, ports
from xoff.sonic.checks.row import LEVELS, Check, Context, Row, depends_on

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
    found = [row for check in CHECKS for row in _certain(check, context)]
    return sorted(found, key=lambda row: LEVELS.index(row.level))


def _certain(check: Check, context: Context) -> Iterator[Row]:
    """Yields the findings of a check that are right for every value of what is unknown of the chips.

    A finding that depends on the value is not a finding: the check is listed as not checked.
    """
    switches = context.fabric.switches
    names = [name for name in check.needs if any(name in one.asic.unknown for one in switches.values())]
    if not names:
        yield from check.find(context)
        return
    variants = [
        list(check.find(context.supposing(dict(zip(names, values, strict=True)))))
        for values in product(*(RANGES[name] for name in names))
    ]
    always = set.intersection(*({_place(row) for row in rows} for rows in variants))
    # The variant that requires least, so that the printed value is right for every chip.
    yield from (row for row in min(variants, key=_required) if _place(row) in always)
    for switch in dict.fromkeys(row.switch for rows in variants for row in rows if _place(row) not in always):
        context.unchecked.setdefault(check.id, depends_on(switches[switch], names))


def _place(row: Row) -> tuple[str, ...]:
    return row.level, row.switch, row.port, row.table, row.key, row.field


def _required(rows: list[Row]) -> float:
    return sum(float(row.required) for row in rows if row.required.isdecimal())


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
