"""Pauses in trees: which pause made which, where they begin, who filled that output, and whom they cost how much.

A node asks for a pause because bytes wait in it. If most of them wait for outputs that are paused themselves, the pause
of the output with the most bytes is its parent; otherwise it is a root, and the output that most bytes wait for is
where it begins. Pauses of one root output and class make a tree: an output that stays full pauses its neighbours again
and again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from xoff.insight import sound
from xoff.results import Result


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """Where pauses begin: an output, or an input's node alone where no bytes wait and another mechanism asked."""

    node: str
    port: int | None
    class_: int
    cause: str
    """The mechanism that paused."""

    def to_dict(self) -> dict[str, Any]:
        """Return it with the keys of ``xoff explain --json``."""
        return {"node": self.node, "port": self.port, "class": self.class_, "cause": self.cause}


@dataclass(slots=True)
class Pause:
    """A row of the table `pauses`, and where it comes from."""

    number: int
    node: str
    port: int
    queue: int
    class_: int
    cause: str
    start_ps: int
    end_ps: int | None
    parent: int | None = None
    """The number of the pause that made this one."""
    depth: int = 1
    """How many links from the root."""
    root: Root | None = None


@dataclass(slots=True)
class Tree:
    """All pauses of one root."""

    root: Root
    pauses: list[Pause] = field(default_factory=list)
    contributors: dict[int, int] = field(default_factory=dict)
    """By flow: bytes that waited for the root's output when it made others pause, over all such moments."""
    lost: dict[int, int] = field(default_factory=dict)
    """By flow: picoseconds of its completion time that went by paused."""
    victims: dict[int, int] = field(default_factory=dict)
    """Those of them that never cross the root's output, and filled it at no moment."""

    @property
    def ports(self) -> set[tuple[str, int]]:
        """The ports that were paused."""
        return {(pause.node, pause.port) for pause in self.pauses}

    @property
    def depth(self) -> int:
        """How many links the pauses went back."""
        return max((pause.depth for pause in self.pauses), default=0)

    @property
    def lost_ps(self) -> int:
        """What it cost all flows together."""
        return sum(self.lost.values())

    def to_dict(self) -> dict[str, Any]:
        """Return it with the keys of ``xoff explain --json``."""
        return {
            "root": self.root.to_dict(),
            "pauses": len(self.pauses),
            "ports": len(self.ports),
            "depth": self.depth,
            "start_ps": min(pause.start_ps for pause in self.pauses),
            "contributors": [{"flow": flow, "bytes": size} for flow, size in _largest(self.contributors)],
            "lost_ps": self.lost_ps,
            "victims": [{"flow": flow, "lost_ps": ps} for flow, ps in _largest(self.victims)],
        }


@dataclass(slots=True)
class _Asked:
    """A moment at which a node asked for a pause."""

    time_ps: int
    class_: int | None
    bytes: dict[tuple[int, int], dict[int, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    """By output and queue, by flow."""


class Forest:
    """The trees of a result that has ``probe.delays`` of all flows; of some flows, those cost alone are known."""

    def __init__(self, result: Result) -> None:
        self.pauses: list[Pause] = []
        """In the order of the table."""
        self.trees: list[Tree] = []
        """The costliest first."""
        self.peers: dict[tuple[str, int], str] = {}
        """By node and port: the node at the other end of the link."""
        self._back: dict[tuple[str, int], int] = {}
        self._at: dict[tuple[str, int], list[Pause]] = defaultdict(list)
        self._by_identity: dict[tuple[str, int, int, str, int], Pause] = {}
        self._asked: dict[tuple[Any, ...], list[_Asked]] = defaultdict(list)
        sound.check(result, "pauses", "delays", "contributions")
        self._read(result)
        rows = result.pauses.to_pylist()
        roots = {}
        # A parent began before its child.
        for pause in sorted(self.pauses, key=lambda pause: (pause.start_ps, pause.number)):
            roots[pause.number] = self._grow(pause, rows[pause.number])
        self._gather(result, roots)

    def root_of(self, row: dict[str, Any]) -> Root | None:
        """Return the root of the pause that a row of the table `delays` names."""
        pause = self._by_identity.get((row["node"], row["port"], row["pause_queue"], row["by"], row["pause_start_ps"]))
        return None if pause is None else pause.root

    def table(self) -> pa.Table:
        """Return a row for each pause: its number, its parent's, where it begins, and how far away that is."""
        rows = [
            {
                "pause_id": pause.number,
                "node": pause.node,
                "port": pause.port,
                "queue": pause.queue,
                "class": pause.class_,
                "cause": pause.cause,
                "start_ps": pause.start_ps,
                "end_ps": pause.end_ps,
                "parent_id": pause.parent,
                "root_node": pause.root.node if pause.root else None,
                "root_port": pause.root.port if pause.root else None,
                "depth": pause.depth,
            }
            for pause in self.pauses
        ]
        numbers = ("pause_id", "port", "queue", "class", "start_ps", "end_ps", "parent_id", "root_port", "depth")
        names = ("node", "cause", "root_node")
        schema = pa.schema([(name, pa.int64()) for name in numbers] + [(name, pa.string()) for name in names])
        return pa.Table.from_pylist(rows, schema=schema)

    def _read(self, result: Result) -> None:
        known: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in result.links.to_pylist():
            self.peers[row["node"], row["port"]] = row["peer"]
            known[row["node"], row["peer"]].append(row["port"])
        # Links between the same two nodes have the same order at both.
        for (node, peer), ports in known.items():
            self._back.update({(node, port): back for port, back in zip(ports, known[peer, node], strict=True)})
        for number, row in enumerate(result.pauses.to_pylist()):
            place = (row["node"], row["port"], row["queue"])
            pause = Pause(number, *place, row["class"], row["cause"], row["start_ps"], row["end_ps"])
            self.pauses.append(pause)
            self._at[place[:2]].append(pause)
            self._by_identity[*place, row["cause"], row["start_ps"]] = pause
        for list_ in self._at.values():
            list_.sort(key=lambda pause: (pause.start_ps, pause.number))
        for row in result.table("contributions").to_pylist():
            key: tuple[Any, ...] = (row["node"], row["cause"], row["in_port"], row["class"], row["peer_queue"])
            if row["in_port"] is None:
                key = (row["node"], row["cause"], "output", row["port"])
            moments = self._asked[key]
            if not moments or moments[-1].time_ps != row["time_ps"]:
                moments.append(_Asked(row["time_ps"], row["class"]))
            if row["flow"] is not None:
                moments[-1].bytes[row["port"], row["queue"]][row["flow"]] += row["bytes"]

    def _grow(self, pause: Pause, row: dict[str, Any]) -> _Asked | None:
        """Find where a pause comes from; return the moment at which it was asked for, if it is a root's."""
        here = Root(pause.node, pause.port, pause.class_, pause.cause)
        if row["origin"] is None:
            pause.root = here
            return None
        asker = row["origin"]
        asked = self._asked_before(pause, row)
        if asked is None or not asked.bytes:
            if passed_on := self._passed_on(asker, asked, pause):
                self._follow(pause, passed_on)
                return None
            pause.root = Root(asker, row["origin_port"], pause.class_, pause.cause)
            return asked
        waiting = {place: sum(flows.values()) for place, flows in asked.bytes.items()}
        stopped = {place: cause for place in waiting if (cause := self._stopping(asker, place, asked)) is not None}
        port = max(waiting, key=lambda place: (waiting[place], -place[0], -place[1]))[0]
        if 2 * sum(waiting[place] for place in stopped) >= sum(waiting.values()):
            self._follow(pause, stopped[max(stopped, key=lambda place: (waiting[place], -place[0], -place[1]))])
            return None
        pause.root = Root(asker, port, pause.class_, pause.cause)
        return asked

    def _follow(self, pause: Pause, parent: Pause) -> None:
        """Make a pause the child of another."""
        pause.parent, pause.root, pause.depth = parent.number, parent.root, parent.depth + 1

    def _passed_on(self, node: str, asked: _Asked | None, pause: Pause) -> Pause | None:
        """Return the pause that a node passed on: the latest that lasted as it asked for one, with no bytes in it."""
        if asked is None:
            return None
        ports = (self._at.get(place, []) for place in self.peers if place[0] == node)
        lasting = [
            one
            for pauses in ports
            for one in pauses[: bisect_right(pauses, asked.time_ps, key=lambda one: one.start_ps)]
            if one.cause == pause.cause and (one.end_ps is None or one.end_ps > asked.time_ps)
        ]
        return max(lasting, key=lambda one: (one.start_ps, one.number), default=None)

    def _asked_before(self, pause: Pause, row: dict[str, Any]) -> _Asked | None:
        """Return the last moment at which the node that asked for a pause did so."""
        asker, cause = row["origin"], row["cause"]
        if row["origin_port"] is not None:
            keys: list[tuple[Any, ...]] = [(asker, cause, "output", row["origin_port"])]
        else:
            back = self._back.get((pause.node, pause.port))
            # Where classes rise with every relay, the class is one higher there.
            classes = [(asker, cause, back, pause.class_ + rise, None) for rise in (0, 1)]
            keys = [(asker, cause, back, None, pause.queue), *classes]
        for key in keys:
            moments = self._asked.get(key, [])
            if at := bisect_left(moments, pause.start_ps, key=lambda asked: asked.time_ps):
                return moments[at - 1]
        return None

    def _stopping(self, node: str, place: tuple[int, int], asked: _Asked) -> Pause | None:
        """Return the pause of an output's queue that lasted at a moment; the first, of several."""
        port, queue = place
        pauses = self._at.get((node, port), [])
        until = bisect_right(pauses, asked.time_ps, key=lambda pause: pause.start_ps)
        for pause in pauses[:until]:
            lasts = pause.end_ps is None or pause.end_ps > asked.time_ps
            if lasts and (pause.queue == queue or pause.class_ == asked.class_):
                return pause
        return None

    def _gather(self, result: Result, roots: dict[int, _Asked | None]) -> None:
        trees: dict[Root, Tree] = {}
        counted: set[tuple[Root, int]] = set()
        for pause in self.pauses:
            if pause.root is None:
                continue
            tree = trees.setdefault(pause.root, Tree(pause.root))
            tree.pauses.append(pause)
            asked = roots[pause.number]
            if asked is None or (pause.root, id(asked)) in counted:
                continue
            counted.add((pause.root, id(asked)))
            for (port, _), flows in asked.bytes.items():
                if port == pause.root.port:
                    for flow, size in flows.items():
                        tree.contributors[flow] = tree.contributors.get(flow, 0) + size
        rows = result.table("delays").to_pylist()
        for row in rows:
            if row["kind"] == "paused" and (root := self.root_of(row)) is not None:
                lost = trees[root].lost
                lost[row["flow"]] = lost.get(row["flow"], 0) + row["time_ps"]
        ways = self._ways(result, rows)
        for tree in trees.values():
            place = (tree.root.node, tree.root.port)
            innocent = (
                flow for flow in tree.lost if flow not in tree.contributors and place not in ways.get(flow, {place})
            )
            tree.victims = {flow: tree.lost[flow] for flow in innocent}
        self.trees = sorted(trees.values(), key=lambda tree: (-tree.lost_ps, tree.root.node, tree.root.port or 0))

    def _ways(self, result: Result, rows: list[dict[str, Any]]) -> dict[int, set[tuple[str, int]]]:
        """Return the outputs that flows cross: those of the packet that completed one, or else of its fixed way."""
        ways: dict[int, set[tuple[str, int]]] = {}
        for flow in result.flows.to_pylist():
            via = [name for name in flow["via"].split(", ") if name]
            if flow["fct_ps"] is not None:
                ways[flow["flow"]] = set()
            elif via:
                steps = set(pairwise([flow["src"], *via, flow["dst"]]))
                ways[flow["flow"]] = {place for place, peer in self.peers.items() if (place[0], peer) in steps}
        for row in rows:
            if row["flow"] in ways:
                ways[row["flow"]].add((row["node"], row["port"]))
        return ways


def _largest(values: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield flows and values, the largest first."""
    yield from sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
