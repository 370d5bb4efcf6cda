"""Pauses in trees: the parent of each pause, the roots, the flows in the roots' queues, and the cost of the victims.

A node requests a pause because bytes wait in it (`origins.py`). If these bytes wait for an output that is paused for at
least half of the time, the pause of this output is the parent; else the pause is a root, at the output with most
waiting bytes. In a cyclic buffer dependency the first pause is the root. Pauses of a root output and class make a
tree: a full output pauses its neighbours repeatedly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from xoff.insight.causes import Causes
from xoff.insight.origins import Asked, Origins, Pause, Root
from xoff.results import Result


@dataclass(slots=True)
class Tree:
    """All pauses of a root."""

    root: Root
    pauses: list[Pause] = field(default_factory=list)
    contributors: dict[int, int] = field(default_factory=dict)
    """Bytes that waited for the root's output at requests for pauses, summed over all requests, by flow."""
    requests: int = 0
    """The number of these requests."""
    lost: dict[int, int] = field(default_factory=dict)
    """Picoseconds of the completion time in which a flow was paused, by flow."""
    victims: dict[int, int] = field(default_factory=dict)
    """The lost time of flows that never crossed or filled the root's output, by flow."""

    @property
    def ports(self) -> set[tuple[str, int]]:
        """The paused ports."""
        return {(pause.node, pause.port) for pause in self.pauses}

    @property
    def depth(self) -> int:
        """The largest number of links from the root."""
        return max((pause.depth for pause in self.pauses), default=0)

    @property
    def waiting(self) -> dict[int, int]:
        """Bytes that waited for the root's output at a request for a pause, on average, by flow."""
        return {flow: round(size / self.requests) for flow, size in self.contributors.items()}

    @property
    def lost_ps(self) -> int:
        """The lost time of all flows together."""
        return sum(self.lost.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns the tree with the keys of ``xoff explain --json``."""
        return {
            "root": self.root.to_dict(),
            "pauses": len(self.pauses),
            "ports": len(self.ports),
            "depth": self.depth,
            "start_ps": min(pause.start_ps for pause in self.pauses),
            "requests": self.requests,
            "contributors": [
                {"flow": flow, "bytes": size, "mean_bytes": self.waiting[flow]}
                for flow, size in _largest(self.contributors)
            ],
            "lost_ps": self.lost_ps,
            "victims": [{"flow": flow, "lost_ps": ps} for flow, ps in _largest(self.victims)],
        }


class Forest:
    """The trees of a result with ``probe.delays`` of all flows; with delays of some flows, only those costs count."""

    def __init__(self, result: Result) -> None:
        origins = Origins(result)
        self.pauses: list[Pause] = origins.pauses
        """The pauses in the order of the table."""
        self.trees: list[Tree] = []
        """The trees, the costliest first."""
        self.peers: dict[tuple[str, int], str] = origins.peers
        """The peer of each port, by node and port."""
        self.causes: dict[Root, str] = {}
        """The fault at a root as a clause, for roots where a fault acted."""
        self._origins = origins
        found = [origins.find(pause) for pause in self.pauses]
        for pause, origin in zip(self.pauses, found, strict=True):
            pause.parent = None if origin.parent is None else origin.parent.number
        roots = [origin.root for origin in found]
        for pause in self.pauses:
            self._settle(pause, roots)
        self._gather(result, [origin.asked for origin in found])
        causes = Causes(result, self.peers)
        clauses = {tree.root: causes.of(tree.root, tree.pauses) for tree in self.trees}
        self.causes = {root: clause for root, clause in clauses.items() if clause is not None}

    def root_of(self, row: dict[str, Any]) -> Root | None:
        """Returns the root of the pause named in a row of the table `delays`; None if there is none."""
        pause = self._origins.of_part(row)
        return None if pause is None else pause.root

    def table(self) -> pa.Table:
        """Returns a row for each pause: number, parent's number, root, and depth below the root."""
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
        """Sets root and depth of a pause and all ancestors."""
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
            # The pauses wait for one another in a cycle: the first pause becomes the root.
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
            tree.requests += 1
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
        """Returns the outputs that flows cross: of a flow's completing packet, or of the pinned path."""
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
    """Yields flows and values, the largest first."""
    yield from sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
