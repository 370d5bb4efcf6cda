"""The links of a fabric: switches and their neighbours, from a table or from DEVICE_NEIGHBOR."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from xoff._core import InputError
from xoff.importing.source import read, shown
from xoff.sonic.config import is_name
from xoff.sonic.fabric import Fabric
from xoff.sonic.formula import NS_PER_METRE
from xoff.sonic.switch import Port, Switch

DEFAULT_METRES = 5
"""Length of a cable without an entry in CABLE_LENGTH."""
_COLUMNS = ["a", "a_port", "b", "b_port", "length"]


@dataclass(frozen=True, slots=True)
class Cable:
    """A link."""

    a: str
    a_port: str | None
    """The port of a switch with a file."""
    b: str
    b_port: str | None
    speed: int
    """In Mb/s."""
    metres: int

    @property
    def delay_ps(self) -> int:
        """The propagation delay."""
        return self.metres * NS_PER_METRE * 1000

    def turned(self) -> Cable:
        """Returns the same link from the other end."""
        return Cable(self.b, self.b_port, self.a, self.a_port, self.speed, self.metres)


@dataclass(slots=True)
class Cabling:
    """All links, each once: those of the first switch by name in the order of its ports, then those of the next."""

    cables: list[Cable] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    """All switches, by name."""
    notes: list[str] = field(default_factory=list)

    def ends(self) -> list[tuple[str, str, str]]:
        """Returns switch, port and neighbour of each end of a link at a switch with a file."""
        both = [end for one in self.cables for end in (one, one.turned())]
        return [(one.a, one.a_port, one.b) for one in both if one.a_port is not None]

    def sort(self) -> None:
        """Sorts switches by name, and links by switch; a link begins at the first of its switches."""
        of: dict[str, list[Cable]] = {}
        for one in self.cables:
            of.setdefault(one.a, []).append(one)
            of.setdefault(one.b, []).append(one.turned())
        self.switches.sort()
        done: set[tuple[str, str | None, str, str | None, int]] = set()
        self.cables = []
        for name in self.switches:
            counts: dict[tuple[str | None, str, str | None], int] = {}
            for one in of.get(name, []):
                # Parallel links to a host differ in nothing but their number.
                number = counts.get((one.a_port, one.b, one.b_port), 0)
                counts[one.a_port, one.b, one.b_port] = number + 1
                if (one.b, one.b_port, name, one.a_port, number) not in done:
                    done.add((name, one.a_port, one.b, one.b_port, number))
                    self.cables.append(one)


def of(fabric: Fabric, table: Path | None) -> Cabling:
    """Returns the links between ports that are up.

    table: a file of links; a link there replaces the neighbour that the switch's file names.

    Raises `InputError` if no port has a neighbour, or if a port has two links.
    """
    given = {} if table is None else _given(fabric, table)
    found = Cabling(switches=list(fabric.switches))
    taken: set[tuple[str, str]] = set()
    for one in fabric.switches.values():
        for port in one.up:
            neighbour, length = given.get((one.name, port.name), (port.neighbour, None))
            if neighbour is None:
                found.notes.append(f"{one.name} PORT|{port.name}: has no neighbour; left out")
            elif (one.name, port.name) not in taken:
                _add(found, fabric, one, port, neighbour, length, taken)
    if not found.cables:
        raise InputError(f"{fabric.directory}: no port that is up has a neighbour; give --links or DEVICE_NEIGHBOR")
    bare = found.switches[len(fabric.switches) :]
    found.notes += [f"{name}: a switch without a file; takes the settings of [switch]" for name in bare]
    found.sort()
    return found


def _add(
    found: Cabling,
    fabric: Fabric,
    one: Switch,
    port: Port,
    neighbour: tuple[str, str],
    length: int | None,
    taken: set[tuple[str, str]],
) -> None:
    name, far = neighbour
    peer = fabric.switches.get(name)
    there = None if peer is None else peer.ports.get(far)
    where = f"{one.name} DEVICE_NEIGHBOR|{port.name}"
    if peer is not None and (there is None or not there.is_up):
        found.notes.append(f"{where}: {name} has no port {far} that is up; left out")
        return
    if peer is not None:
        if (name, far) in taken:
            raise InputError(f"{one.config.path}: DEVICE_NEIGHBOR|{port.name}: {name} {far} already has a link")
        taken.add((name, far))
    elif name not in found.hosts and name not in found.switches:
        kind = one.config.table("DEVICE_NEIGHBOR_METADATA").get(name, {}).get("type", "")
        (found.switches if "Router" in kind else found.hosts).append(name)
    taken.add((one.name, port.name))
    lengths = [value for value in (length, port.metres, there.metres if there else None) if value is not None]
    if not lengths:
        found.notes.append(f"{one.name} CABLE_LENGTH: {port.name} has no length; {DEFAULT_METRES}m is taken")
    speed = min(port.speed, there.speed) if there else port.speed
    if there and (there.speed != port.speed or len({port.metres, there.metres} - {None}) > 1):
        found.notes.append(
            f"{where}: {name} {far} has another speed or cable; the lower speed and this cable are taken"
        )
    found.cables.append(
        Cable(one.name, port.name, name, far if peer else None, speed, lengths[0] if lengths else DEFAULT_METRES)
    )


def _given(fabric: Fabric, table: Path) -> dict[tuple[str, str], tuple[tuple[str, str], int | None]]:
    """Returns neighbour and length of each port of a file of links, from both ends."""
    source = read(table, 2**26)
    found: dict[tuple[str, str], tuple[tuple[str, str], int | None]] = {}
    rows = csv.reader(io.StringIO(source.content.decode("utf-8")), strict=True)
    try:
        for number, row in enumerate(rows, 1):
            if number == 1:
                if row != _COLUMNS:
                    source.wrong(1, f"the columns {','.join(_COLUMNS)} are needed")
                continue
            if len(row) != len(_COLUMNS):
                source.wrong(number, f"has {len(row)} columns; {len(_COLUMNS)} are needed")
            a, a_port, b, b_port, length = (cell.strip() for cell in row)
            for name in (a, b):
                if not is_name(name):
                    source.wrong(
                        number, f"{shown(name)} is not a name of letters, digits, dots, dashes and underscores"
                    )
            if a == b:
                source.wrong(number, f"{a} is its own neighbour")
            metres = source.whole(length.removesuffix("m"), number, "length", 10**6) if length else None
            for here, there in (((a, a_port), (b, b_port)), ((b, b_port), (a, a_port))):
                if here[0] not in fabric.switches:
                    continue
                if here[1] not in fabric.switches[here[0]].ports:
                    source.wrong(number, f"{here[0]} has no port {shown(here[1])}")
                if here in found:
                    source.wrong(number, f"{here[0]} {here[1]} has two links")
                found[here] = (there, metres)
    except csv.Error as error:
        raise InputError(f"{table}: is not CSV: {error}") from None
    return found
