"""Who paused whom, from counters alone: trees of pauses, their roots, and contradictions.

The rule is that of a run (`xoff.insight.trees`): a node asks for a pause because bytes wait in it. If they wait for an
output that was paused for at least half as long, the pause of that output is the parent; else the node is a root.
Counters have no times, so pauses of different times at one port are one pause, and two incidents may look like one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from xoff import formatting
from xoff.counters.reading import Counters, Place

_HALF = 0.5
_FEW = 2
"""So many frames may be on a link, or sent between two readings."""


@dataclass(slots=True)
class Tree:
    """Pauses with one root."""

    node: str
    class_: int
    is_host: bool
    output: int | None = None
    """The output with most marks or drops at a root that is a switch."""
    ring: list[Place] = field(default_factory=list)
    """Ports that wait for one another, if the pauses have no root."""
    paused: list[tuple[Place, float, int]] = field(default_factory=list)
    """Paused ports, with the time in µs and the number of links to the root."""

    @property
    def paused_us(self) -> float:
        """The paused time of all ports together."""
        return sum(time for _, time, _ in self.paused)


@dataclass(slots=True)
class Diagnosis:
    """Contradictions and losses as sentences, storms, trees with the longest pauses first, and gaps."""

    findings: list[str]
    storms: list[str]
    trees: list[Tree]
    gaps: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer of ``xoff explain --counters --json``."""
        trees = [
            {
                "node": tree.node,
                "class": tree.class_,
                "output": tree.output,
                "ring": [{"node": node, "port": port} for node, port in tree.ring],
                "paused_us": tree.paused_us,
                "ports": [
                    {"node": node, "port": port, "paused_us": time, "depth": depth}
                    for (node, port), time, depth in tree.paused
                ],
            }
            for tree in self.trees
        ]
        return {"findings": self.findings, "storms": self.storms, "trees": trees, "gaps": self.gaps}


def diagnose(counters: Counters, lossless: frozenset[int]) -> Diagnosis:
    """Returns what the counters say. `lossless` are the classes that the scenario protects by PFC."""
    findings: list[str] = []
    storms: list[str] = []
    for class_ in range(counters.classes):
        findings += _disobedience(counters, class_)
        findings += _drops(counters, class_, is_lossless=class_ in lossless)
        findings += _refused(counters, class_)
        storms += _storms(counters, class_)
        findings += _mismatches(counters, class_)
    trees = [tree for class_ in range(counters.classes) for tree in _trees(counters, class_)]
    trees.sort(key=lambda tree: (-tree.paused_us, tree.node, tree.class_))
    return Diagnosis(findings, storms, trees, _gaps(counters))


def place(counters: Counters, at: Place) -> str:
    """Returns a port as text: ``leaf1 port 3 (to host7)``."""
    peer, _ = counters.links[at]
    return f"{formatting.plain(at[0])} port {at[1]} (to {formatting.plain(peer)})"


def _disobedience(counters: Counters, class_: int) -> list[str]:
    """Ports that received pauses and were never paused."""
    found = []
    for at, (peer, back) in counters.links.items():
        received, paused = counters.of(at, class_, "received"), counters.of(at, class_, "paused_us")
        if not received or received < _FEW or paused is None or paused > 0:
            continue
        lost = counters.of((peer, back), class_, "dropped_in") or 0
        so = f", and {formatting.plain(peer)} dropped {lost:,.0f} packets from there" if lost else ""
        what = f"received {received:,.0f} pause frames of class {class_} and was never paused"
        found.append(f"{place(counters, at)} did not obey: it {what}{so}")
    return found


def _drops(counters: Counters, class_: int, *, is_lossless: bool) -> list[str]:
    """Drops: of a lossless class by each port, of other classes together."""
    drops = {at: counters.of(at, class_, "dropped_in") or 0 for at in counters.links}
    drops = {at: number for at, number in drops.items() if number}
    if not drops:
        return []
    total = sum(drops.values())
    worst = max(drops, key=lambda at: (drops[at], at))
    if not is_lossless:
        where = place(counters, worst)
        return [f"{total:,.0f} packets of class {class_}, which is not lossless, were dropped, most from {where}"]
    found = []
    for at, number in drops.items():
        sent, (peer, back) = counters.of(at, class_, "sent"), counters.links[at]
        if sent == 0:
            what = f"does not pause class {class_}: it dropped {number:,.0f} packets of this lossless class"
            found.append(f"{place(counters, at)} {what}, and sent no pause")
            continue
        what = f"{place(counters, at)} dropped {number:,.0f} packets of class {class_}, which is lossless"
        if counters.of((peer, back), class_, "paused_us"):
            found.append(f"{what}, although {formatting.plain(peer)} was paused: look at the headroom of this port")
        elif not _ignores(counters, (peer, back), class_):
            found.append(what)
    return found


def _refused(counters: Counters, class_: int) -> list[str]:
    """Packets that queues refused, if no input counts drops of the class.

    A switch whose watchdog fired has a finding already: it drops what it sends to that port and receives from it.
    """
    if any(counters.of(at, class_, "dropped_in") for at in counters.links):
        return []
    stormy = {at[0] for at in counters.links if counters.of(at, class_, "storms")}
    drops = {at: counters.of(at, class_, "dropped_out") or 0 for at in counters.links if at[0] not in stormy}
    if not (total := sum(drops.values())):
        return []
    worst = max(drops, key=lambda at: (drops[at], at))
    return [f"queues dropped {total:,.0f} packets of class {class_}, most at {place(counters, worst)}"]


def _ignores(counters: Counters, at: Place, class_: int) -> bool:
    return bool(counters.of(at, class_, "received")) and counters.of(at, class_, "paused_us") == 0


def _storms(counters: Counters, class_: int) -> list[str]:
    """Ports where the watchdog fired."""
    found = []
    for at in counters.links:
        if storms := counters.of(at, class_, "storms"):
            times = "once" if storms == 1 else f"{storms:,.0f} times"
            found.append(f"the PFC watchdog fired {times} at {place(counters, at)}, class {class_}")
    return found


def _mismatches(counters: Counters, class_: int) -> list[str]:
    """Ports that received other numbers of frames than their peers sent."""
    found = []
    for at, other in counters.links.items():
        sent, received = counters.of(at, class_, "sent"), counters.of(other, class_, "received")
        if sent is None or received is None or abs(sent - received) <= max(_FEW, 0.01 * sent):
            continue
        why = "frames are lost on the link, or PFC is off at one end"
        found.append(
            f"{place(counters, at)} sent {sent:,.0f} pause frames of class {class_}, and {formatting.plain(other[0])} "
            f"received {received:,.0f}: {why}"
        )
    return found


def _trees(counters: Counters, class_: int) -> list[Tree]:
    """Returns the trees of a class."""
    paused = {at: counters.of(at, class_, "paused_us") or 0.0 for at in counters.links}
    trees: dict[str, Tree] = {}
    for at in sorted(one for one, time in paused.items() if time > 0):
        node, depth, ring = _root(counters, paused, at)
        # A ring has no root: its first node in order names it.
        node = min(ring)[0] if ring else node
        is_host = node in counters.hosts
        if node not in trees:
            output = None if is_host or ring else _fullest(counters, node, class_)
            trees[node] = Tree(node, class_, is_host, output, sorted(ring))
        trees[node].paused.append((at, paused[at], depth))
    return list(trees.values())


def _root(counters: Counters, paused: dict[Place, float], at: Place) -> tuple[str, int, list[Place]]:
    """Follows a pause to the node where it began.

    Returns the node, the number of links, and the ports of a ring if the pauses lead back to one of them.
    """
    way = [at]
    while True:
        asker, _ = counters.links[at]
        held = {
            place: time
            for place, time in _outputs(counters, paused, asker)
            if counters.links[place][0] != at[0] and time >= _HALF * paused[at]
        }
        parent = max(held, key=lambda one: (held[one], one), default=None)
        if parent is None:
            return asker, len(way), []
        if parent in way:
            return asker, len(way), way[way.index(parent) :]
        way.append(parent)
        at = parent


def _outputs(counters: Counters, paused: dict[Place, float], node: str) -> list[tuple[Place, float]]:
    ports = _ports(counters).get(node, [])
    return [((node, port), paused[node, port]) for port in ports]


def _ports(counters: Counters) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for node, port in counters.links:
        found[node].append(port)
    return found


def _fullest(counters: Counters, node: str, class_: int) -> int | None:
    """Returns the output of a switch with most marks, or else with most drops."""
    for key in ("marked", "dropped_out"):
        values = {port: counters.of((node, port), class_, key) or 0 for port in _ports(counters)[node]}
        if any(values.values()):
            return max(values, key=lambda port: (values[port], -port))
    return None


def _is_unknown(counters: Counters, at: Place, class_: int) -> bool:
    return bool(counters.of(at, class_, "received")) and counters.of(at, class_, "paused_us") is None


def _gaps(counters: Counters) -> list[str]:
    """Says what the file lacks."""
    gaps = []
    if silent := counters.silent:
        named = ", ".join(formatting.plain(name) for name in silent[:3]) + (" and more" if len(silent) > 3 else "")
        what = f"no counters of {len(silent):,} switches ({named}): pauses that pass them cannot be followed"
        gaps.append(what)
    lacking = [
        key
        for key in ("received", "sent", "paused_us", "dropped_in")
        if not any(key in values for values in counters.values.values())
    ]
    if lacking:
        gaps.append(f"no counter of {', '.join(lacking)}: what needs it is not checked")
    unknown = [at for at in counters.links for class_ in range(counters.classes) if _is_unknown(counters, at, class_)]
    if unknown:
        known = f"{len(unknown):,} ports received pauses without a counter of the time"
        what = f"{known}, such as {place(counters, unknown[0])}"
        gaps.append(f"{what}: these pauses are not followed")
    if counters.others:
        gaps.append(f"{counters.others:,} rows of other counters are not used")
    return gaps
