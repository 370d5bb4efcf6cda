"""The memory of switches with a shared buffer: the parts of the memory, what alpha leaves, and the use in the run.

A pool of B bytes, of which u are used, gives a group (an input port and class) the threshold α·(B − u). n full groups
hold αB/(1 + nα) each and leave B/(1 + nα) free (Choudhury and Hahne 1998). The table of high-water marks has B and the
most bytes in use. Switches with equal memory share a drawing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xoff import formatting
from xoff.results import Result
from xoff.sonic.network import ScenarioPort, port_settings, quantity

_MOST_DRAWINGS = 4
_MOST_PIECES = 16
"""A bar of more groups has one piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: the kind, which chooses the colour, a name, bytes, and the width in percent."""

    kind: str
    name: str
    size_bytes: float
    width: float

    @property
    def size(self) -> str:
        """The bytes as text."""
        return formatting.size(self.size_bytes)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with a title above and the finding beside it."""

    title: str
    finding: str
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The memory of a switch."""

    title: str
    cut: Bar
    legend: Sequence[Piece]
    """The parts of the memory with their sizes."""
    alpha: Sequence[Bar]
    used: Sequence[Bar]
    note: str


@dataclass(frozen=True, slots=True)
class _Group:
    """The share of a port and class."""

    alpha: float
    reserve: int
    is_lossless: bool


def build(result: Result) -> list[Drawing]:
    """Returns the drawings: none without a shared buffer, and none of switches without traffic."""
    buffer = result.scenario.get("switch", {}).get("buffer")
    if not isinstance(buffer, dict) or "shared" not in buffer or not {"links", "high_water"} <= set(result.tables):
        return []
    overrides = result.scenario["switch"].get("overrides") or []
    marks: dict[str, dict[str, list[dict[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for mark in result.table("high_water").to_pylist():
        marks[mark["node"]][mark["kind"]].append(mark)
    ports: dict[str, list[ScenarioPort]] = defaultdict(list)
    for row in result.links.to_pylist():
        if "pool" in marks.get(row["node"], {}):
            ports[row["node"]].append(port_settings(result.scenario, overrides, row))
    alike: dict[object, list[str]] = defaultdict(list)
    for name, of in ports.items():
        key = (marks[name]["pool"][0]["threshold_bytes"], *sorted(map(str, _parts(of, 0))), tuple(_groups(of)))
        alike[key].append(name)
    drawn = [max(names, key=lambda name: marks[name]["pool"][0]["bytes"]) for names in alike.values()]
    counts = dict(zip(drawn, (len(names) for names in alike.values()), strict=True))
    drawn.sort(key=lambda name: -marks[name]["pool"][0]["bytes"])
    return [_draw(name, counts[name], ports[name], marks[name]) for name in drawn[:_MOST_DRAWINGS]]


def _groups(ports: Sequence[ScenarioPort]) -> Iterator[_Group]:
    """Yields the share of each port and class."""
    for port in ports:
        pfc = port.pfc
        listed = None if pfc is None else next((pfc[k] for k in ("send", "classes") if pfc.get(k) is not None), None)
        # Classes that count together are one group.
        for one in (one for one in range(port.classes) if port.counted_with(one) in {None, one}):
            own: Mapping[str, Any] = next((g for g in port.buffer.get("groups") or () if one in g["classes"]), {})
            alpha, reserve = (port.buffer[key] if own.get(key) is None else own[key] for key in ("alpha", "reserve"))
            yield _Group(float(alpha), quantity(reserve), pfc is not None and (listed is None or one in listed))


def _parts(ports: Sequence[ScenarioPort], pool: int) -> tuple[int, int, int]:
    """Returns the bytes of reserves, of the pool and of headroom, which add up to the memory."""
    total = quantity(ports[0].buffer["total"])
    reserves = sum(one.reserve for one in _groups(ports))
    return reserves, pool, total - pool - reserves


def _draw(name: str, count: int, ports: Sequence[ScenarioPort], marks: dict[str, list[dict[str, int]]]) -> Drawing:
    mark = marks["pool"][0]
    reserves, pool, headroom = _parts(ports, mark["threshold_bytes"])
    total = reserves + pool + headroom
    shared = bool(ports[0].buffer.get("headroom_pool"))
    legend = [
        Piece("reserve", "reserves", reserves, 100 * reserves / total),
        Piece("pool", "shared by alpha", pool, 100 * pool / total),
        Piece("headroom", "headroom pool" if shared else "headroom of all groups", headroom, 100 * headroom / total),
    ]
    groups = list(_groups(ports))
    kinds = list(dict.fromkeys((one.alpha, one.reserve) for one in groups if one.is_lossless))
    lossless = [one for one in groups if one.is_lossless]
    if not lossless:
        kinds, lossless = list(dict.fromkeys((one.alpha, one.reserve) for one in groups)), groups
    alpha, reserve = max(kinds, key=lambda kind: sum((one.alpha, one.reserve) == kind for one in lossless))
    pauses = _has_dynamic_pauses(ports)
    others = f" and {count - 1} more with equal memory" if count > 1 else ""
    what = "lossless groups" if lossless is not groups else "groups"
    note = "A group is an input port and a class, or classes that count together: "
    note += f"{len(lossless)} {what} here, with alpha {alpha:g}."
    if len(kinds) > 1:
        note += " Groups with another alpha or reserve are left out."
    return Drawing(
        f"{name}{others}", Bar("", formatting.size(total), [one for one in legend if one.size_bytes]), legend,
        [_left_by_alpha(n, alpha, reserve, pool, has_pauses=pauses) for n in _numbers(len(lossless))],
        list(_used(mark, pool, marks.get("headroom", []))), note,
    )  # fmt: skip


def _numbers(most: int) -> list[int]:
    """Returns the numbers of full groups to draw: few, and all."""
    return [*(n for n in (1, 2, 4) if n < most), most]


def _has_dynamic_pauses(ports: Sequence[ScenarioPort]) -> bool:
    """Whether pauses begin at the dynamic threshold: PFC without a fixed XOFF."""
    return all(port.pfc is not None and port.pfc.get("xoff") is None for port in ports)


def _left_by_alpha(n: int, alpha: float, reserve: int, pool: int, *, has_pauses: bool) -> Bar:
    """Returns the pool with n full groups."""
    each, free = alpha * pool / (1 + n * alpha), pool / (1 + n * alpha)
    pieces = [Piece("group", f"group {i + 1}", each, 100 * each / max(pool, 1)) for i in range(min(n, _MOST_PIECES))]
    if n > _MOST_PIECES:
        pieces = [Piece("group", f"{n} groups", n * each, 100 * n * each / max(pool, 1))]
    pieces.append(Piece("free", "left", free, 100 * free / max(pool, 1)))
    title = f"{n} full group{'s' if n > 1 else ''}"
    verb, ending = "pause" if has_pauses else "hold", "s" if n == 1 else ""
    at = " at" if has_pauses else ""
    finding = f"{verb}{ending}{at} {formatting.size(reserve + each)}, {formatting.size(free)} left"
    return Bar(title, finding, pieces)


def _used(mark: dict[str, int], pool: int, headrooms: Sequence[dict[str, int]]) -> Iterator[Bar]:
    """Yields the most bytes of the pool in use, and the fullest headroom."""
    yield _share("shared by alpha", "group", mark["bytes"], pool)
    if of := [one for one in headrooms if one["threshold_bytes"]]:
        one = max(of, key=lambda one: one["bytes"] / one["threshold_bytes"])
        yield _share(f"headroom of port {one['port']}, class {one['class']}", "headroom", one["bytes"],
                     one["threshold_bytes"])  # fmt: skip


def _share(title: str, kind: str, used: int, size: int) -> Bar:
    width = min(100.0, 100 * used / max(size, 1))
    pieces = [Piece(kind, "used", used, width), Piece("free", "unused", max(0, size - used), 100 - width)]
    return Bar(title, f"{formatting.size(used)} of {formatting.size(size)}", [one for one in pieces if one.width])
