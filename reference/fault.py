"""Faults of a scenario: the outages of links, at moments that are given."""

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


def read_outages(faults: list[dict[str, Any]]) -> list[Outage]:
    """Read the faults of a scenario, each of which takes one link down.

    Raises ValueError for any other fault.
    """
    outages = []
    for fault in faults:
        if unknown := set(fault) - {"at", "for", "link", "state", "queued"}:
            raise ValueError(f"the reference does not model faults with {sorted(unknown)}")
        ends = fault["link"].split("-")
        if fault.get("state") != "down" or len(ends) != 2 or "*" in fault["link"]:
            raise ValueError("the reference models one link that is down, a-b, in each fault")
        start_ps = quantity(fault.get("at", "0s"), "time")
        end_ps = start_ps + quantity(fault["for"], "time") if "for" in fault else None
        outages.append(Outage((ends[0], ends[1]), start_ps, end_ps, fault.get("queued", "flush") == "flush"))
    return outages
