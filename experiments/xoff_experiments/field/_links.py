"""Sizes that follow from the fabric's links: bytes of a line in a time, and bandwidth-delay products.

A mechanism is written with `Line` and `Products` in place of such sizes. The sizes are computed when the scenario is
made, and again after a change of rate or delay: ``--set network.leaf_spine.link.rate=400Gbps``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xoff.formatting import quantity

LONGEST = 4
"""Links from a host to another behind another leaf."""
WIRE, CONTROL = 1048, 64
"""Bytes of a packet and of an ACK."""


def number(text: str) -> int:
    """Returns the number of a text with a unit. Raises `ValueError` for other texts."""
    found = quantity(text)
    if found is None:
        raise ValueError(text)
    return found[0]


@dataclass(frozen=True, slots=True)
class Link:
    """The rate and the delay of each link."""

    rate_bps: int
    delay_ps: int

    @staticmethod
    def of(scenario: Mapping[str, Any]) -> Link:
        """Returns the link of the hosts of a scenario."""
        link = scenario["network"]["leaf_spine"]["link"]
        return Link(number(link["rate"]), number(link["delay"]))

    @property
    def ps_per_byte(self) -> float:
        """The serialisation time of a byte."""
        return 8e12 / self.rate_bps

    @property
    def round_trip_ps(self) -> float:
        """The longest round trip of a packet and its ACK, without queues."""
        return LONGEST * (2 * self.delay_ps + (WIRE + CONTROL) * self.ps_per_byte)


@dataclass(frozen=True, slots=True)
class Line:
    """The bytes that a line carries in `us` microseconds."""

    us: float

    def of(self, link: Link) -> int:
        """Returns the bytes."""
        return round(self.us * 1e6 / link.ps_per_byte)


@dataclass(frozen=True, slots=True)
class Products:
    """A share of the product of rate and longest round trip."""

    share: float = 1.0

    def of(self, link: Link) -> int:
        """Returns the bytes."""
        return round(self.share * link.round_trip_ps / link.ps_per_byte)


def made(table: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Returns a table with the sizes for a link."""
    return {
        key: f"{value.of(link)}B"
        if isinstance(value, Line | Products)
        else made(value, link)
        if isinstance(value, Mapping)
        else value
        for key, value in table.items()
    }


def derived(table: Mapping[str, Any], link: Link, path: str) -> Iterator[tuple[str, str]]:
    """Yields path and value of each size in a table that follows from a link; `path` is the path of the table."""
    for key, value in table.items():
        if isinstance(value, Line | Products):
            yield f"{path}.{key}", f"{value.of(link)}B"
        elif isinstance(value, Mapping):
            yield from derived(value, link, f"{path}.{key}")
