"""The cause at the root of pauses: a fault that acted there while queues were paused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xoff import formatting
from xoff.insight.origins import Pause, Root
from xoff.results import Result

_HOST = {"stall": "stalled", "down": "was down"}
_LINK = {
    "down": "was down",
    "rate": "ran slower than configured",
    "delay": "was longer than configured",
    "bit errors": "damaged frames",
}


class Causes:
    """The faults of a result, by the nodes and links where they acted."""

    def __init__(self, result: Result, peers: Mapping[tuple[str, int], str]) -> None:
        self._end_ps = int(result.summary["simulated_ps"])
        self._peers = peers
        self._faults: list[dict[str, Any]] = result.table("faults").to_pylist() if "faults" in result.tables else []

    def of(self, root: Root, pauses: Sequence[Pause]) -> str | None:
        """Returns the fault at the root of pauses as a clause, such as ``which stalled from 200 µs to 1.7 ms``."""
        begin = min(pause.start_ps for pause in pauses)
        end = max(self._end_ps if pause.end_ps is None else pause.end_ps for pause in pauses)
        for fault in self._faults:
            until = self._end_ps if fault["end_ps"] is None else fault["end_ps"]
            if fault["start_ps"] > end or until < begin:
                continue
            if (what := self._at(fault, root)) is not None:
                to = "the end of the run" if fault["end_ps"] is None else formatting.time(fault["end_ps"])
                return f"{what} from {formatting.time(fault['start_ps'])} to {to} (fault[{fault['fault']}])"
        return None

    def _at(self, fault: Mapping[str, Any], root: Root) -> str | None:
        """Returns what a fault did to the root's node or link; None for another place."""
        if fault["target"] == root.node and fault["kind"] in _HOST:
            return f"which {_HOST[fault['kind']]}"
        if root.port is None or fault["kind"] not in {*_HOST, *_LINK}:
            return None
        peer = self._peers[root.node, root.port]
        if fault["target"] == peer and fault["kind"] in _HOST:
            return f"where {formatting.plain(peer)} {_HOST[fault['kind']]}"
        ends = {f"{root.node}-{peer}", f"{peer}-{root.node}", f"{root.node} -> {peer}"}
        return f"whose link {_LINK[fault['kind']]}" if fault["target"] in ends and fault["kind"] in _LINK else None
