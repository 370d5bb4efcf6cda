"""Counts of the parts of a network, as declared by the core: names, labels and units, in the order of printing.

Pages, figures and tables of counts use this list, and name no part. A new part of the core thus appears everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from xoff import _core, formatting


@dataclass(frozen=True, slots=True)
class Count:
    """A count of a part: a number of the summary."""

    group: str
    """The name of the part: the key of its group in summaries."""
    part: str
    """The label of the part."""
    name: str
    """The key of the count in its group; a time ends in ``_ps``, a volume in ``_bytes``."""
    label: str
    """The label of the count among counts of the part."""
    unit: str
    """``number``, ``bytes`` or ``ps``."""

    @property
    def title(self) -> str:
        """The label of the count beside counts of other parts."""
        return self.label if self.part in self.label else f"{self.part}: {self.label}"

    @property
    def metric(self) -> str:
        """The column of the count in the runs of a study."""
        return f"{self.group}_{self.name}"

    def text(self, value: int) -> str:
        """Returns a value as text with the unit. A time is a sum over places, and may exceed the time of the run."""
        if self.unit == "ps" and value:
            return f"{formatting.time(value)} (summed over the network)"
        readable = {"ps": formatting.time, "bytes": formatting.size}.get(self.unit)
        return readable(value) if readable else f"{value:,}"


@dataclass(frozen=True, slots=True)
class Group:
    """The counts of one part."""

    name: str
    label: str
    counts: tuple[Count, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Returns every part with counts, in the order of printing."""
    return tuple(
        Group(
            one["name"],
            one["label"],
            tuple(Count(one["name"], one["label"], c["name"], c["label"], c["unit"]) for c in one["counts"]),
        )
        for one in json.loads(_core.groups())
    )


@cache
def by_metric() -> Mapping[str, Count]:
    """Returns every count by its column in the runs of a study."""
    return {count.metric: count for group in groups() for count in group.counts}


def headlines() -> list[Count]:
    """Returns the first count of each part, the most important count."""
    return [group.counts[0] for group in groups()]


def counted(summary: Mapping[str, Any]) -> list[tuple[Count, int]]:
    """Returns count and value of all parts in a run's scenario, and of other parts' counts above zero."""
    given = set(summary.get("components", ()))
    return [
        (count, value)
        for group in groups()
        for count in group.counts
        if (value := summary.get(group.name, {}).get(count.name, 0)) or group.name in given
    ]


def shown(summary: Mapping[str, Any]) -> list[tuple[Count, int]]:
    """Returns count and value of counts above zero, and of the first count of each part in the scenario."""
    first = headlines()
    return [(count, value) for count, value in counted(summary) if value or count in first]
