"""The headroom of a lossless priority group: the formulas of SONiC's dynamic buffer model, lookup tables, and physics.

Sources: ``buffer_headroom_mellanox.lua`` and ``buffer_headroom_barefoot.lua`` of sonic-swss, the design
"dynamically headroom calculation" of SONiC (generation A), ``pg_profile_lookup.ini`` of sonic-buildimage, and IEEE
802.3, 31B.3.7, for the time in which a station reacts to a pause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

from xoff import _core
from xoff._core import InputError
from xoff.importing.source import read, shown
from xoff.sonic.asic import Asic

KIB = 1024
QUANTA = dict(_core.pause_quanta())
"""Pause quanta of 512 bit times within which a station stops, by speed in Mb/s (802.3, 31B.3.7)."""
_LIGHT = 198_000_000
"""Metres a second in a cable, in SONiC's scripts."""
_MAC_PHY = Fraction(8, 10) * KIB
_RESPONSE = Fraction(38, 10) * KIB
_SMALL = 64
GEARBOX_NS = 400
"""Delay of the gearbox of SN3800, in nanoseconds."""
NS_PER_METRE = 5


@dataclass(frozen=True, slots=True)
class Headroom:
    """The sizes of a lossless profile in bytes, and the method of their calculation."""

    size: int
    xon: int
    xoff: int
    xon_offset: int | None = None
    dynamic_th: int | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames that decide the headroom: ``LOSSLESS_TRAFFIC_PATTERN``."""

    mtu: int = 1024
    """Largest lossless frame in bytes."""
    small_percent: int = 50
    """Share of packets of 64 B, in percent of packets."""
    is_given: bool = False
    """False for defaults."""


@dataclass(frozen=True, slots=True)
class Link:
    """The link of a port."""

    speed: int
    """In Mb/s."""
    metres: int
    mtu: int
    """Largest frame of the port in bytes."""
    lanes: int = 4
    gearbox_ns: int = 0

    @property
    def cable_bytes(self) -> int:
        """Bytes on the cable both ways, at 5 ns a metre."""
        return 2 * self.metres * NS_PER_METRE * self.speed // 8000


def response_time_ps(bps: int) -> int | None:
    """Returns the reaction of a station to a pause at a rate; None for a rate without pause quanta."""
    quanta = QUANTA.get(bps // 10**6) if bps % 10**6 == 0 else None
    return None if quanta is None else quanta * 512 * 10**12 // bps


def response(speed: int) -> Fraction:
    """Returns the bytes that arrive while a neighbour reacts to a pause; 3.8 KiB for a speed without pause quanta."""
    return Fraction(QUANTA[speed] * 64) if speed in QUANTA else _RESPONSE


def _up(value: Fraction, unit: int = KIB) -> int:
    return ceil(value / unit) * unit


def dynamic(asic: Asic, link: Link, traffic: Traffic, *, has_shared_headroom: bool, generation: str = "B") -> Headroom:
    """Returns the headroom that the dynamic buffer model computes for a chip with a formula.

    generation: of NVIDIA's formula: ``A`` before pause quanta, ``B`` today's script.
    """
    if asic.pipeline is None:
        raise ValueError(f"no formula for {asic.name}")
    is_tofino, is_first = asic.formula == "tofino", generation == "A"
    cable = Fraction(2 * link.metres * link.speed * 10**9, _LIGHT * (8192 if is_tofino else 8000))
    reaction = _RESPONSE if is_first else response(link.speed)
    if is_tofino:
        reaction = Fraction(9 * KIB) if link.speed not in QUANTA else reaction * (2 if link.speed == 400_000 else 1)
    tile = Fraction(link.speed * 15, 1000) if asic.name in {"spectrum4", "spectrum5"} and not is_first else Fraction(0)
    gearbox = Fraction(2 * link.speed * link.gearbox_ns, 8192)
    flight = link.mtu + cable + gearbox + _MAC_PHY + reaction + tile
    waste = Fraction(asic.cell, _SMALL) if asic.cell > 2 * _SMALL else Fraction(2 * asic.cell, 1 + asic.cell)
    small = Fraction(traffic.small_percent, 100)
    if not is_tofino and not is_first:
        waste = Fraction(ceil(waste))
        # The script divides 64 B by the mean frame; the share of bytes would be `small` times as large.
        small = Fraction(_SMALL) / (small * _SMALL + (1 - small) * traffic.mtu)
    xoff = _up(traffic.mtu + flight * (1 - small + small * waste))
    if asic.name == "spectrum6":
        xoff += 18 * KIB
    if not is_tofino and not is_first and not has_shared_headroom and traffic.small_percent < 100:
        worst = _up(traffic.mtu + flight * waste)
        xoff += 2 * KIB if xoff + 2 * KIB < worst else 0
    is_wide = link.lanes == 8 and not is_tofino
    # Generation A took 1 KiB off the doubled latency.
    xon = _up(Fraction(asic.pipeline * (2 if is_wide else 1) - (KIB if is_wide and is_first else 0)))
    size = xon if has_shared_headroom or is_tofino else _up(Fraction(xon + xoff + (link.mtu if is_wide else 0)))
    return Headroom(size, xon, xoff, method=f"{asic.formula} formula")


def physics(asic: Asic, link: Link, traffic: Traffic, small_percent: int | None = None) -> int:
    """Returns the least headroom that loses nothing in the worst case, in bytes of whole cells.

    The bytes are those on the cable both ways, those of the neighbour's reaction to a pause, the port's largest frame
    in the way of the pause, the pause, the lossless frame that the neighbour has begun, and the lossless frame that
    crosses XOFF. Small packets fill cells badly: of the arriving bytes, the share of 64 B frames takes whole cells.

    small_percent: replaces the share of small packets of `traffic`.
    """
    percent = traffic.small_percent if small_percent is None else small_percent
    small = Fraction(percent, 100)
    of_bytes = small * _SMALL / (small * _SMALL + (1 - small) * traffic.mtu)
    per_byte = of_bytes * in_cells(asic, _SMALL) / _SMALL + (1 - of_bytes) * in_cells(asic, traffic.mtu) / traffic.mtu
    flight = link.cable_bytes + response(link.speed) + link.mtu + _SMALL + traffic.mtu
    return ceil((flight * per_byte + in_cells(asic, traffic.mtu)) / asic.cell) * asic.cell


def in_cells(asic: Asic, size: int) -> Fraction:
    """Returns the memory of a frame in bytes of whole cells."""
    return Fraction(ceil(Fraction(size + asic.cell_overhead, asic.cell)) * asic.cell)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a lookup table."""

    line: int
    speed: int
    metres: int
    headroom: Headroom


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup table: ``pg_profile_lookup.ini``."""

    path: Path
    rows: tuple[Row, ...]

    def exact(self, speed: int, metres: int) -> Headroom | None:
        """Returns the row of a speed and a cable, as SONiC does; None without the row."""
        return next((row.headroom for row in self.rows if (row.speed, row.metres) == (speed, metres)), None)

    def between(self, speed: int, metres: int) -> Headroom | None:
        """Returns the row of a speed and a cable, or values on the line through the two nearest cables of the speed."""
        if (found := self.exact(speed, metres)) is not None:
            return found
        rows = sorted((row for row in self.rows if row.speed == speed), key=lambda row: row.metres)
        if len(rows) < 2:
            return None
        at = min(max(1, next((i for i, row in enumerate(rows) if row.metres > metres), len(rows))), len(rows) - 1)
        low, high = rows[at - 1], rows[at]
        share = Fraction(metres - low.metres, high.metres - low.metres)

        def value(first: int, last: int) -> int:
            return max(0, ceil(first + share * (last - first)))

        a, b = low.headroom, high.headroom
        return Headroom(
            value(a.size, b.size),
            value(a.xon, b.xon),
            value(a.xoff, b.xoff),
            a.xon_offset,
            a.dynamic_th,
            f"between {low.metres}m and {high.metres}m of {self.path.name}",
        )


def lookup(path: Path) -> Lookup:
    """Returns a lookup table. Raises `InputError` for a row that is not speed, cable, size, xon, xoff, threshold."""
    source = read(path, 2**20)
    found: dict[tuple[int, int], Row] = {}
    for line, words in source.lines():
        if not 6 <= len(words) <= 7 or not re.fullmatch("[0-9]{1,7}m", words[1]):
            source.wrong(line, "is not: speed cable size xon xoff threshold [xon_offset], with a cable such as 40m")
        speed, *sizes = (source.whole(word, line, "a size", 2**40) for word in (words[0], *words[2:5], *words[6:]))
        if not re.fullmatch("-?[0-9]{1,12}", words[5]):
            source.wrong(line, f"threshold: {shown(words[5])} is not a whole number")
        offset = sizes[3] if len(sizes) > 3 else None
        headroom = Headroom(sizes[0], sizes[1], sizes[2], offset, int(words[5]), f"table {path.name}")
        key = speed, int(words[1][:-1])
        if key in found:
            source.wrong(line, f"{speed} {words[1]} is there twice (also in line {found[key].line})")
        found[key] = Row(line, *key, headroom)
    if not found:
        raise InputError(f"{path}: has no rows of speed, cable, size, xon, xoff and threshold")
    return Lookup(path, tuple(found.values()))


def falls(rows: tuple[Row, ...]) -> Iterator[tuple[Row, Row]]:
    """Yields pairs of rows where the longer cable, or the higher speed, has less headroom: first the row with more."""
    for index in (0, 1):
        groups: dict[int, list[Row]] = {}
        for row in rows:
            groups.setdefault((row.speed, row.metres)[index], []).append(row)
        for group in groups.values():
            group.sort(key=lambda row: (row.metres, row.speed)[index])
            most = group[0]
            for row in group[1:]:
                if row.headroom.xoff < most.headroom.xoff:
                    yield most, row
                else:
                    most = row
