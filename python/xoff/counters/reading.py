"""Reads a file of counters against the links of a scenario. A row that belongs to no port of it is refused."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xoff import formatting
from xoff._core import InputError
from xoff.counters import names
from xoff.files.safe_read import read_bytes

COLUMNS = ("node", "port", "class", "counter", "value")
Place = tuple[str, int]
"""A node and the number of a port."""


@dataclass(slots=True)
class Counters:
    """Counters by port and class, and the links."""

    links: Mapping[Place, Place]
    """The other end of each port."""
    hosts: frozenset[str]
    classes: int
    values: dict[tuple[str, int, int], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By node, port and class: values by key of `names.MEANINGS`."""
    others: int = 0
    """Rows of counters that are not used."""

    def of(self, place: Place, class_: int, key: str) -> float | None:
        """Returns a counter; None if the file does not have it."""
        return self.values.get((*place, class_), {}).get(key)

    @property
    def silent(self) -> list[str]:
        """The switches without any counter, in order."""
        known = {node for node, _, _ in self.values}
        return sorted({node for node, _ in self.links} - known - self.hosts)


def hosts(links: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Returns the hosts among the nodes of the table `links`; a relay has a host's card."""
    rows = [(str(row["node"]), row["kind"]) for row in links]
    # Results of version 0.3.0 have no kinds.
    return frozenset(node for node, kind in rows if (kind and kind != "switch") or (not kind and node[:4] == "host"))


def read(file: Path, links: Mapping[Place, Place], hosts: frozenset[str], classes: int) -> Counters:
    """Reads a file. Raises `InputError` with the row for a damaged row or one of another network."""
    rows = _rows(file)
    found = Counters(links, hosts, classes)
    by_peer: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (node, port), (peer, _) in links.items():
        by_peer[node, peer].append(port)
    for number, row in enumerate(rows):
        where = f"--counters: {file}: row {number + 1}"
        known = names.meaning(row["counter"])
        if known is None:
            found.others += 1
            continue
        key, priority = known
        place = _place(where, row, found, by_peer)
        class_ = _class(where, row["class"], priority, classes)
        value = _value(where, row["value"])
        values = found.values[*place, class_]
        if values.setdefault(key, value) != value:
            raise InputError(f"{where}: {formatting.plain(str(row['counter']))} is given twice, with other values")
    if not found.values:
        raise InputError(f"--counters: {file}: no row has a known counter; `xoff new counters` writes the names")
    return found


def _rows(file: Path) -> list[dict[str, str]]:
    """Returns the rows as text: a name may look like a number. Raises `InputError` if the file is no such table."""
    try:
        text = read_bytes(file).decode("utf-8-sig")
        table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if missing := [column for column in COLUMNS if column not in (table.fieldnames or ())]:
            needed = ", ".join(COLUMNS)
            raise InputError(f"--counters: {file}: no column `{missing[0]}`; needed are {needed}")
        return [{column: (row[column] or "").strip() for column in COLUMNS} for row in table]
    except FileNotFoundError:
        raise InputError(f"--counters: no such file: {file}") from None
    except UnicodeDecodeError:
        raise InputError(f"--counters: {file} is not UTF-8 text") from None
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"--counters: {file} cannot be read: {formatting.plain(str(error))}") from None


def _place(where: str, row: Mapping[str, str], found: Counters, by_peer: Mapping[tuple[str, str], list[int]]) -> Place:
    """Returns the port of a row, given by number or by the neighbour's name."""
    node, port = row["node"], row["port"]
    ports = [number for name, number in found.links if name == node]
    if not ports:
        raise InputError(f"{where}: the scenario has no node {formatting.plain(node)!r}")
    if port.isdecimal() and int(port) in ports:
        return node, int(port)
    match by_peer.get((node, port), []):
        case [only]:
            return node, only
        case []:
            span = f"0 to {max(ports)}"
            raise InputError(
                f"{where}: {formatting.plain(node)} has no port {formatting.plain(port)!r}: give a number, {span}, "
                "or the neighbour's name"
            )
        case several:
            numbers = ", ".join(str(one) for one in several)
            raise InputError(
                f"{where}: several ports lead to {formatting.plain(port)}: give the number, one of {numbers}"
            )


def _class(where: str, given: str, priority: int | None, classes: int) -> int:
    """Returns the class of a row: the column, or the priority in the counter's name."""
    text = given
    if not text and priority is None:
        raise InputError(f"{where}: no class: the name of this counter has no priority")
    if text and not text.isdecimal():
        raise InputError(f"{where}: class {formatting.plain(text)!r} is not a number")
    class_ = int(text) if text else int(priority or 0)
    if class_ >= classes:
        raise InputError(
            f"{where}: class {class_} is out of range: the scenario has the classes 0 to {classes - 1}; the column "
            "`class` replaces the priority in the counter's name"
        )
    return class_


def _value(where: str, given: str) -> float:
    """Returns a value: a number, not below zero."""
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{where}: value {formatting.plain(str(given))!r} is not a number of zero or more")
    return value
