"""What the parts of a network count, as the core declares it: names, labels and units, in the order people read them.

Whoever shows counts asks here, and so names no part itself: one that is added to the core is shown, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from xoff import _core, wording


@dataclass(frozen=True, slots=True)
class Count:
    """A count of a part: a number of the summary."""

    group: str
    """The part's name: the key of its group in summaries."""
    part: str
    """What people call the part."""
    name: str
    """Its key in the group; a time ends in ``_ps``, a volume in ``_bytes``."""
    label: str
    """What it is called beside other counts of its part."""
    unit: str
    """``number``, ``bytes`` or ``ps``."""

    @property
    def title(self) -> str:
        """What it is called beside counts of other parts."""
        return self.label if self.part in self.label else f"{self.part}: {self.label}"

    @property
    def metric(self) -> str:
        """Its column in the runs of a study."""
        return f"{self.group}_{self.name}"

    def text(self, value: int) -> str:
        """A value as people read it, with its unit."""
        readable = {"ps": wording.time, "bytes": wording.size}.get(self.unit)
        return readable(value) if readable else f"{value:,}"


@dataclass(frozen=True, slots=True)
class Group:
    """The counts of one part."""

    name: str
    label: str
    counts: tuple[Count, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Every part that counts something, in the order in which people read them."""
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
    """Every count by its column in the runs of a study."""
    return {count.metric: count for group in groups() for count in group.counts}


def headlines() -> list[Count]:
    """The first count of each part, which says most about it."""
    return [group.counts[0] for group in groups()]


def counted(summary: Mapping[str, Any]) -> list[tuple[Count, int]]:
    """Return what the parts counted that a run's scenario gives, and what else is not zero."""
    given = set(summary.get("parts", ()))
    return [
        (count, value)
        for group in groups()
        for count in group.counts
        if (value := summary.get(group.name, {}).get(count.name, 0)) or group.name in given
    ]


def shown(summary: Mapping[str, Any]) -> list[tuple[Count, int]]:
    """Of what was counted, return what is not zero, and of each part that the scenario gives the first count."""
    first = headlines()
    return [(count, value) for count, value in counted(summary) if value or count in first]
