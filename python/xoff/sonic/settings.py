"""The settings of ports as a scenario has them, and the choice of overrides for ports that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Kind = TypeVar("Kind", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Marks:
    """A curve of ECN marks: bytes, percent at `kmax`, and the classes."""

    kmin: int
    kmax: int
    percent: int
    classes: tuple[int, ...]
    ect: bool = True
    """False: the curve drops packets, and marks none."""


@dataclass(frozen=True, slots=True)
class PortSettings:
    """The settings of a port that an override can replace; None has the general value."""

    alpha: float | None
    reserve: int | None
    headroom: int | None
    send: tuple[int, ...]
    """Classes of which the port sends pauses."""
    obey: tuple[int, ...]
    marks: tuple[Marks, ...]
    """The curves of classes, by lowest class; without a curve no packet is marked."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of a link at a switch."""

    switch: str
    neighbour: str
    speed: int
    """In Mb/s."""


def most_common(values: Iterable[Kind]) -> Kind | None:
    """Returns the most common value, of several the first; None without values."""
    counts = Counter(values)
    return max(counts, key=lambda value: counts[value]) if counts else None


def selected(chosen: set[End], ends: Sequence[End]) -> dict[str, str | list[str]]:
    """Returns the keys of an override that selects ends: by rate, by switches, or by neighbours of switches."""
    speeds = {end.speed for end in chosen}
    if len(speeds) == 1 and {end for end in ends if end.speed in speeds} == chosen:
        return {"rate": f"{next(iter(speeds))}Mbps"}
    of_switch: dict[str, list[End]] = {}
    for end in ends:
        of_switch.setdefault(end.switch, []).append(end)
    whole = {name for name, list_ in of_switch.items() if chosen.issuperset(list_)}
    names = patterns(whole, list(of_switch))
    for name, list_ in of_switch.items():
        if name not in whole:
            wanted = {end.neighbour for end in list_ if end in chosen}
            names += [f"{name} -> {to}" for to in patterns(wanted, list(dict.fromkeys(one.neighbour for one in list_)))]
    return {"switches": names}


def patterns(wanted: set[str], names: Sequence[str]) -> list[str]:
    """Returns patterns that match the wanted names alone: `leaf*` if all names that it matches are wanted."""
    found: dict[str, None] = {}
    for name in names:
        if name not in wanted:
            continue
        start = re.sub("[0-9]+$", "", name)
        alike = [one for one in names if one.startswith(start)]
        is_short = start and len(alike) > 1 and wanted.issuperset(alike)
        found.setdefault(f"{start}*" if is_short else name)
    return list(found)


def groups(
    settings: Mapping[End, Kind], ends: Sequence[End], is_general: Callable[[Kind], bool]
) -> list[tuple[Kind, set[End]]]:
    """Returns the settings that are not general, with their ends, in the order of the ends."""
    found: dict[Kind, set[End]] = {}
    for end in ends:
        if not is_general(settings[end]):
            found.setdefault(settings[end], set()).add(end)
    return list(found.items())
