"""Breakdown of the completion time of a flow into parts. The sum of the parts is exact to the picosecond.

Example: a flow takes 12 µs: 8 µs of transmission, 1 µs of propagation, and 3 µs of queueing behind another flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xoff._core import InputError
from xoff.insight.origins import Root
from xoff.insight.trees import Forest
from xoff.results import Result

ALONE = frozenset({"transmission", "serialization", "propagation", "processing"})
"""Kinds of parts of a flow without other flows in the network. All other kinds are delays."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a completion time."""

    kind: str
    """A kind of the table `delays`, such as `queueing`, `paused` or `window`."""
    ps: int
    hop: int
    """The number of the link on the path; 0 is the link of the source."""
    node: str
    port: int
    peer: str
    """The node at the other end of the link."""
    flow: int | None = None
    """The flow with packets ahead of this flow, for waiting behind packets."""
    mechanism: str | None = None
    """The mechanism of a pause or a hold."""
    pauses: int = 0
    """The number of pauses, for paused time."""
    root: Root | None = None
    """The root of the pauses."""

    @property
    def is_delay(self) -> bool:
        """True if a flow alone in the network has no part of this kind."""
        return self.kind not in ALONE

    def to_dict(self) -> dict[str, Any]:
        """Returns the part with the keys of ``xoff explain --json``."""
        by: dict[str, Any] | None = None
        if self.flow is not None:
            by = {"flow": self.flow}
        elif self.mechanism is not None:
            by = {"mechanism": self.mechanism}
            if self.pauses:
                by["pauses"] = self.pauses
            if self.root is not None:
                by["root"] = self.root.to_dict()
        where = {"hop": self.hop, "node": self.node, "port": self.port, "peer": self.peer}
        return {"kind": self.kind, "ps": self.ps, "where": where, "by": by}


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A flow, and the parts of the completion time."""

    flow: dict[str, Any]
    """The row of the flow in the table `flows`."""
    parts: tuple[Part, ...]
    """The parts in the order of the path. For an undelivered flow: the parts at the source."""
    lost: dict[str, Any] | None = None
    """The first row of the flow in the table `drops`."""
    drops: int = 0
    """The number of dropped packets of the flow."""

    @property
    def number(self) -> int:
        """The number of the flow."""
        return int(self.flow["flow"])

    @property
    def total_ps(self) -> int:
        """The sum of the parts."""
        return sum(part.ps for part in self.parts)

    def share(self, ps: int) -> float:
        """Returns a time divided by the sum of the parts; zero for a flow with a start at the end of the run."""
        return ps / (self.total_ps or 1)

    @property
    def worst(self) -> Part | None:
        """The largest delay, after adding delays with equal kind, hop, mechanism and root; None without delays."""
        sums: dict[tuple[str, int, str | None, Root | None], list[Part]] = {}
        for part in filter(lambda part: part.is_delay, self.parts):
            sums.setdefault((part.kind, part.hop, part.mechanism, part.root), []).append(part)
        if not sums:
            return None
        parts = max(sums.values(), key=lambda parts: sum(part.ps for part in parts))
        first = parts[0]
        ps, pauses = sum(part.ps for part in parts), sum(part.pauses for part in parts)
        flow = first.flow if len(parts) == 1 else None
        place = (first.hop, first.node, first.port, first.peer)
        return Part(first.kind, ps, *place, flow, first.mechanism, pauses, first.root)

    def to_dict(self) -> dict[str, Any]:
        """Returns the breakdown with the keys of ``xoff explain --json``."""
        keys = ("flow", "src", "dst", "size_bytes", "start_ps", "fct_ps", "ideal_fct_ps", "slowdown")
        worst = self.worst
        return {
            **{key: self.flow[key] for key in keys},
            "parts": [part.to_dict() for part in self.parts],
            "worst": None if worst is None else worst.to_dict(),
            "drops": self.drops,
            "first_drop": self.lost,
        }


def breakdowns(result: Result, forest: Forest | None = None) -> Iterator[Breakdown]:
    """Yields the breakdown of each flow in the table `delays`, in order of flow numbers, without connections of jobs.

    forest: the forest of the same result, if the caller has one.

    Raises `InputError` if the sum of the parts of a flow differs from the completion time.
    """
    forest = forest or Forest(result)
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in result.table("delays").to_pylist():
        # Messages of connections have separate breakdowns.
        if row["operation"] is None:
            rows.setdefault(row["flow"], []).append(row)
    table = result.flows
    known = table.filter(pc.is_in(table["flow"], pa.array(sorted(rows), table["flow"].type)))
    flows = {row["flow"]: row for row in known.to_pylist()}
    lost: dict[int, list[dict[str, Any]]] = {}
    for row in result.drops.filter(pc.is_in(result.drops["flow"], pa.array(sorted(rows), pa.uint32()))).to_pylist():
        lost.setdefault(row["flow"], []).append(row)
    for number in sorted(flows):
        drops = lost.get(number, [])
        parts = tuple(_parts(rows[number], forest))
        breakdown = Breakdown(flows[number], parts, drops[0] if drops else None, len(drops))
        fct, slowdown = breakdown.flow["fct_ps"], breakdown.flow["slowdown"]
        if fct not in {None, breakdown.total_ps} or (fct is not None and (fct == 0 or slowdown is None)):
            raise InputError(f"{result.directory or 'the result'}: is damaged: parts of flow {number} do not add up")
        yield breakdown


def _parts(rows: list[dict[str, Any]], forest: Forest) -> Iterator[Part]:
    """Yields the parts of a flow. All pauses at one port with one root are one part."""
    together: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        root = forest.root_of(row) if row["kind"] == "paused" else None
        key = (row["kind"], row["hop"], row["node"], row["port"], row["blocking_flow"], row["cause"], root)
        together.setdefault(key, []).append(row["time_ps"])
    for (kind, hop, node, port, flow, mechanism, root), times in together.items():
        pauses = len(times) if kind == "paused" else 0
        yield Part(kind, sum(times), hop, node, port, forest.peers[node, port], flow, mechanism, pauses, root)
