"""Faults of a scenario: outages of links, and other rates and delays of theirs, at moments that are given."""

from dataclasses import dataclass
from typing import Any

from reference.scenario import quantity


@dataclass(frozen=True, eq=False)
class Outage:
    """A time during which a link is down, between two nodes by name."""

    ends: tuple[str, str]
    start_ps: int
    end_ps: int | None  # None if it lasts for ever
    flushes: bool  # what waits for the link is lost, and so is what comes for it meanwhile


@dataclass(frozen=True, eq=False)
class Change:
    """A time during which a link has another rate or delay, from one node to another by name."""

    ends: tuple[str, str]
    start_ps: int
    end_ps: int | None
    place: int  # in the scenario; of several that last, the last one holds
    ps_per_byte: int | None
    delay_ps: int | None


def ps_per_byte(rate: str) -> int:
    """Return how long a byte takes at a rate; raises ValueError unless that is whole."""
    rate_bps = quantity(rate, "rate")
    if 8 * 10**12 % rate_bps != 0:
        raise ValueError(f"a byte at {rate} is not a whole number of picoseconds")
    return 8 * 10**12 // rate_bps


def read_faults(faults: list[dict[str, Any]]) -> list[Outage | Change]:
    """Read the faults of a scenario, each of which is of one link.

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
