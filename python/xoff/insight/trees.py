"""Pauses in trees: which pause made which, where they begin, who filled that output, and whom they cost how much.

A node asks for a pause because bytes wait in it (`origins.py`). Where these wait for an output that is itself paused
for most of the time that the pause lasts, its pause is the parent; otherwise the pause is a root, and begins at the
output that most bytes wait for. Where pauses wait for one another in a circle, the first of them is the root. Pauses
of one root output and class make a tree: an output that stays full pauses its neighbours again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from xoff.insight.origins import Asked, Origins, Pause, Root
from xoff.results import Result


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


class Forest:
    """The trees of a result that has ``probe.delays`` of all flows; of some flows, those cost alone are known."""

    def __init__(self, result: Result) -> None:
        origins = Origins(result)
        self.pauses: list[Pause] = origins.pauses
        """In the order of the table."""
        self.trees: list[Tree] = []
        """The costliest first."""
        self.peers: dict[tuple[str, int], str] = origins.peers
        """By node and port: the node at the other end of the link."""
        self._origins = origins
        found = [origins.find(pause) for pause in self.pauses]
        for pause, origin in zip(self.pauses, found, strict=True):
            pause.parent = None if origin.parent is None else origin.parent.number
        for pause in self.pauses:
            self._settle(pause, [origin.root for origin in found])
        self._gather(result, [origin.asked for origin in found])

    def root_of(self, row: dict[str, Any]) -> Root | None:
        """Return the root of the pause that a row of the table `delays` names."""
        pause = self._origins.of_part(row)
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

    def _settle(self, pause: Pause, roots: list[Root]) -> None:
        """Give a pause its root and its depth, and all on the way there."""
        while True:
            path: list[Pause] = []
            seen: dict[int, int] = {}
            at = pause
            while at.root is None and at.parent is not None and at.number not in seen:
                seen[at.number] = len(path)
                path.append(at)
                at = self.pauses[at.parent]
            if at.number not in seen:
                break
            # They wait for one another: it began with the first.
            min(path[seen[at.number] :], key=lambda one: (one.start_ps, one.number)).parent = None
        if at.root is None:
            at.root = roots[at.number]
        for child in reversed(path):
            child.root, child.depth = at.root, at.depth + 1
            at = child

    def _gather(self, result: Result, moments: list[Asked | None]) -> None:
        trees: dict[Root, Tree] = {}
        counted: set[tuple[Root, int]] = set()
        for pause in self.pauses:
            if pause.root is None:
                continue
            tree = trees.setdefault(pause.root, Tree(pause.root))
            tree.pauses.append(pause)
            asked = moments[pause.number] if pause.parent is None else None
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
