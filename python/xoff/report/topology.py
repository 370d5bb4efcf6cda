"""The network as a drawing (SVG): nodes in tiers, links coloured by their utilisation or by their paused time.

The drawing needs only the table of links, and shows any network. Hosts of a server are in a box. The tier of a node is
the distance from the nearest host. Hosts are the nodes with one port, the ends of flows, and the nodes named ``host``
with a number.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from matplotlib import colormaps
from matplotlib.colors import to_hex

from xoff import formatting

USE, PAUSED = "YlGnBu", "OrRd"
WIDTH = 1080.0
_TIER = 110.0
# The names of tiers are left of the nodes.
_MARGIN = 64.0
# The boxes of more servers would be lines.
_MOST_SERVERS = 64
# More lines than this make a grey surface, and are slow to show.
_MOST_LINKS = 3000
# A link below this share, used only by messages for example, is drawn grey.
_UNUSED = 0.005


@dataclass(slots=True)
class _Direction:
    row: int
    text: str
    use: float
    paused: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of a network's nodes; empty if the network is too large."""

    places: dict[str, tuple[float, float]]
    """Centres of the nodes, `WIDTH` wide and from the top down."""
    hosts: set[str]
    note: str
    """A sentence on omitted nodes."""

    @property
    def height(self) -> float:
        """The height of the drawing."""
        return max(y for _, y in self.places.values()) + 34

    @property
    def radius(self) -> float:
        """The radius of a host, which depends on the number of nodes in the most crowded tier."""
        crowd = max(Counter(y for _, y in self.places.values()).values())
        return max(2.0, min(9.0, 0.32 * (WIDTH - _MARGIN) / crowd))


def layout(pairs: Sequence[tuple[str, str]], endpoints: Collection[str]) -> Layout:
    """Returns the layout of the nodes.

    pairs: the nodes at the ends of each direction of each link.
    endpoints: names of nodes that flows begin or end at.
    """
    ports = Counter(first for first, _ in pairs)
    ends = {_pair(first, second) for first, second in pairs}
    if not ends:
        return Layout({}, set(), "The table of links is empty.")
    names = sorted({name for pair in ends for name in pair}, key=_natural)
    hosts = {name for name in names if ports[name] <= 1 or name in endpoints or re.match(r"host\d", name)}
    left_out = ""
    if len(ends) > _MOST_LINKS:
        ends = {pair for pair in ends if not hosts & set(pair)}
        left_out = "Hosts are left out; the table of links has them."
        if len(ends) > _MOST_LINKS or not ends:
            return Layout({}, hosts, "The network is too large for a drawing; see the table of links.")
    shown = {name for pair in ends for name in pair}
    tiers = _tiers(sorted(ends), [name for name in names if name in shown], hosts & shown)
    return Layout(_places(tiers), hosts, left_out)


def gpus(scenario: Mapping[str, Any]) -> int:
    """Returns the number of hosts in each server of a scenario; 1 for a network without servers."""
    network = scenario.get("network")
    network = network if isinstance(network, Mapping) else {}
    tables = [one for one in network.values() if isinstance(one, Mapping)]
    found = [network["servers"].get("gpus")] if isinstance(network.get("servers"), Mapping) else []
    found += [one.get("gpus_per_server") for one in tables]
    return next((one for one in found if isinstance(one, int) and one > 1), 1)


def draw(links: pa.Table, horizon_ps: int, endpoints: Collection[str], per_server: int = 1) -> tuple[str, str]:
    """Returns the drawing and a sentence on omitted nodes; an empty drawing if the network is too large.

    links: the table of a result, one row per direction.
    horizon_ps: the simulated time.
    endpoints: names of nodes that flows begin or end at.
    per_server: the number of hosts in a server, which are drawn in a box.
    """
    ends: dict[tuple[str, str], list[_Direction]] = defaultdict(list)
    for number, row in enumerate(links.to_pylist()):
        paused = min(row["paused_ps"] / max(horizon_ps, 1), 1.0)
        text = (
            f"{row['node']} → {row['peer']}: {formatting.rate(row['rate_bps'])}, sending {row['utilisation']:.1%}, "
            f"paused {paused:.1%} of the time"
        )
        ends[_pair(row["node"], row["peer"])].append(_Direction(number, text, row["utilisation"], paused))
    found = layout([(row["node"], row["peer"]) for row in links.select(["node", "peer"]).to_pylist()], endpoints)
    if not found.places:
        return "", found.note
    return _svg({pair: ends[pair] for pair in ends if set(pair) <= found.places.keys()}, found, per_server), found.note


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if _natural(first) <= _natural(second) else (second, first)


def _tiers(ends: Collection[tuple[str, str]], names: Sequence[str], hosts: set[str]) -> list[list[str]]:
    """Returns the nodes by distance from the nearest host; without any host, all in one tier."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for first, second in ends:
        neighbours[first].add(second)
        neighbours[second].add(first)
    # Without drawn hosts, the switches with the first name form the lowest tier.
    tier = dict.fromkeys(hosts, 0)
    if not tier:
        lowest = re.sub(r"\d+", "", names[0])
        tier = {name: 0 for name in names if re.sub(r"\d+", "", name) == lowest}
    reached = list(tier)
    for name in reached:
        for other in sorted(neighbours[name], key=_natural):
            if other not in tier:
                tier[other] = tier[name] + 1
                reached.append(other)
    made: list[list[str]] = [[] for _ in range(max(tier.values(), default=0) + 1)]
    for name in names:
        made[tier.get(name, 0)].append(name)
    return [found for found in made if found]


def _places(tiers: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    places = {}
    for level, names in enumerate(reversed(tiers)):
        for index, name in enumerate(names):
            places[name] = (_MARGIN + (WIDTH - _MARGIN) * (index + 0.5) / len(names), 30 + _TIER * level)
    return places


def _svg(ends: dict[tuple[str, str], list[_Direction]], found: Layout, per_server: int) -> str:
    places, hosts, radius = found.places, found.hosts, found.radius
    parts = [
        f'<svg class="network show-use" viewBox="0 0 {WIDTH:.0f} {found.height:.0f}" role="img" '
        'aria-label="The network">',
        *_servers(found, per_server),
        *_tier_names(found),
    ]
    # The most used links are drawn last, above the others.
    for (first, second), both in sorted(ends.items(), key=lambda item: max(one.use + one.paused for one in item[1])):
        (x1, y1), (x2, y2) = places[first], places[second]
        use, paused = max(one.use for one in both), max(one.paused for one in both)
        title = html.escape("\n".join(one.text for one in both))
        rows = " ".join(str(one.row) for one in both)
        path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        if abs(y1 - y2) < 1:
            # A link within a tier is an arc, so that it does not cross the nodes between.
            path = f"M{x1:.1f} {y1:.1f}Q{(x1 + x2) / 2:.1f} {y1 - 50:.1f} {x2:.1f} {y2:.1f}"
        parts.append(
            f'<path d="{path}" data-rows="{rows}" style="--use:{_colour(USE, use)};--paused:{_colour(PAUSED, paused)};'
            f'--use-width:{1 + 3 * use:.1f};--paused-width:{1 + 3 * paused:.1f}"><title>{title}</title></path>'
        )
    for name, (x, y) in places.items():
        label = html.escape(name)
        if name in hosts:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{label}</title></circle>')
        else:
            side = 2.4 * radius
            parts.append(
                f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}" rx="2">'
                f"<title>{label}</title></rect>"
            )
        beside = sum(1 for other in places.values() if other[1] == y)
        if beside <= 20 and not (name in hosts and per_server > 1):
            above = y + (radius + 14 if name in hosts else -1.2 * radius - 5)
            parts.append(f'<text x="{x:.1f}" y="{above:.1f}">{label}</text>')
    return "".join([*parts, "</svg>"])


def _tier_names(found: Layout) -> Iterator[str]:
    """Yields the name of each tier: the beginning that the names of its nodes share, without numbers."""
    tiers: dict[float, list[str]] = defaultdict(list)
    for name, (_, y) in found.places.items():
        tiers[y].append(name)
    for y, names in tiers.items():
        stems = {re.sub(r"[\d.]+.*$", "", name) for name in names}
        stem = stems.pop() if len(stems) == 1 else ""
        if stem and len(names) > 1:
            yield f'<text class="tier" x="0" y="{y + 4:.1f}">{len(names)} × {html.escape(stem)}</text>'


def _servers(found: Layout, per_server: int) -> Iterator[str]:
    """Yields a box around the hosts of each server, whose hosts have consecutive numbers."""
    numbered = {int(name[4:]): place for name, place in found.places.items() if re.fullmatch(r"host\d+", name)}
    count = len(numbered) // per_server
    if per_server < 2 or not 1 < count <= _MOST_SERVERS or sorted(numbered) != list(range(count * per_server)):
        return
    room = found.radius + 3
    for server in range(count):
        own = [numbered[server * per_server + gpu] for gpu in range(per_server)]
        left, right, y = min(x for x, _ in own) - room, max(x for x, _ in own) + room, own[0][1]
        title = f"server {server}: host{server * per_server} to host{(server + 1) * per_server - 1}"
        yield (
            f'<path class="server" d="M{left:.1f} {y - room:.1f}H{right:.1f}V{y + room:.1f}H{left:.1f}z">'
            f"<title>{title}</title></path>"
        )
        if count <= 16:
            yield f'<text x="{(left + right) / 2:.1f}" y="{y + room + 14:.1f}">server {server}</text>'


def _colour(scale: str, share: float) -> str:
    if share < _UNUSED:
        return "var(--unused)"
    # The lightest tenth of a scale would be invisible on white.
    return str(to_hex(colormaps[scale](0.12 + 0.88 * min(max(share, 0.0), 1.0))))


def legend(scale: str) -> list[str]:
    """Returns the colours of 0, 25, 50, 75 and 100 %."""
    return [_colour(scale, step / 4) for step in range(5)]


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key that puts host9 before host10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
