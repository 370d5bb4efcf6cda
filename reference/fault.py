"""Faults of a scenario: outages of links, and changes of their rate and delay, at given times."""

from dataclasses import dataclass
from typing import Any

from reference.scenario import quantity


@dataclass(frozen=True, eq=False)
class Outage:
    """A time during which a link is down, between two nodes by name."""

    ends: tuple[str, str]
    start_ps: int
    end_ps: int | None  # None for an endless outage
    flushes: bool  # whether frames that wait for the link, or arrive for it meanwhile, are lost


@dataclass(frozen=True, eq=False)
class Change:
    """A time during which a link has another rate or delay, from one node to another by name."""

    ends: tuple[str, str]
    start_ps: int
    end_ps: int | None
    place: int  # index in the scenario; of overlapping changes, the last one counts
    ps_per_byte: int | None
    delay_ps: int | None


def ps_per_byte(rate: str) -> int:
    """Returns the picoseconds of a byte at a rate. Raises ValueError if they are not whole."""
    rate_bps = quantity(rate, "rate")
    if 8 * 10**12 % rate_bps != 0:
        raise ValueError(f"a byte at {rate} is not a whole number of picoseconds")
    return 8 * 10**12 // rate_bps


def read_faults(faults: list[dict[str, Any]]) -> list[Outage | Change]:
    """Returns the faults of a scenario, each of one link.

    Raises ValueError for any other fault.
    """
    found: list[Outage | Change] = []
    for place, fault in enumerate(faults):
        if unknown := set(fault) - {"at", "duration", "link", "state", "queued", "rate", "delay"}:
            raise ValueError(f"the reference does not model faults with {sorted(unknown)}")
        is_one_way = " -> " in fault["link"]
        ends = fault["link"].split(" -> " if is_one_way else "-")
        if len(ends) != 2 or "*" in fault["link"]:
            raise ValueError("the reference models one link, a-b or a -> b, in each fault")
        start_ps = quantity(fault.get("at", "0s"), "time")
        end_ps = start_ps + quantity(fault["duration"], "time") if "duration" in fault else None
        if fault.get("state") == "down":
            if is_one_way:
                raise ValueError("a link is down both ways")
            found.append(Outage((ends[0], ends[1]), start_ps, end_ps, fault.get("queued", "flush") == "flush"))
            continue
        rate = ps_per_byte(fault["rate"]) if "rate" in fault else None
        delay_ps = quantity(fault["delay"], "time") if "delay" in fault else None
        ways = [(ends[0], ends[1])] if is_one_way else [(ends[0], ends[1]), (ends[1], ends[0])]
        found.extend(Change(way, start_ps, end_ps, place, rate, delay_ps) for way in ways)
    return found
