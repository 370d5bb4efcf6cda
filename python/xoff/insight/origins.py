"""The origin of each pause: the bytes in the requesting node, and the outputs for which the bytes waited."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xoff.insight import validate
from xoff.results import Result


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """The root of pauses: an output, or only a node if no bytes wait there and another mechanism requested it."""

    node: str
    port: int | None
    class_: int
    cause: str
    """The mechanism that paused."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the root with the keys of ``xoff explain --json``."""
        return {"node": self.node, "port": self.port, "class": self.class_, "cause": self.cause}


@dataclass(slots=True)
class Pause:
    """A row of the table `pauses`, and its origin."""

    number: int
    node: str
    port: int
    queue: int
    class_: int
    cause: str
    start_ps: int
    end_ps: int | None
    parent: int | None = None
    """The number of the pause that caused this pause."""
    depth: int = 1
    """The number of links to the root, this link included."""
    root: Root | None = None


@dataclass(slots=True)
class Asked:
    """A request of a node for a pause."""

    time_ps: int
    class_: int | None
    bytes: dict[tuple[int, int], dict[int, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    """Waiting bytes by output and queue, and by flow."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a pause."""

    root: Root
    """The root of the pause if it has no parent."""
    parent: Pause | None = None
    asked: Asked | None = None


class Origins:
    """The pauses of a result, and the records of their requests."""

    def __init__(self, result: Result) -> None:
        validate.check(result, "pauses", "delays", "contributions")
        self.pauses: list[Pause] = []
        """The pauses in the order of the table."""
        self.peers: dict[tuple[str, int], str] = {}
        """The peer of each port, by node and port."""
        self._end_ps = result.summary["simulated_ps"]
        self._rows = result.pauses.to_pylist()
        self._back: dict[tuple[str, int], int] = {}
        # By port, then by queue, class and cause: pauses in order, which do not overlap.
        self._lanes: dict[tuple[str, int], dict[tuple[int, int, str], list[Pause]]] = defaultdict(dict)
        self._by_identity: dict[tuple[str, int, int, str, int], Pause] = {}
        self._asked: dict[tuple[Any, ...], list[Asked]] = defaultdict(list)
        self._read(result)

    def of_part(self, row: dict[str, Any]) -> Pause | None:
        """Returns the pause named in a row of the table `delays`; None if there is none."""
        return self._by_identity.get(
            (row["node"], row["port"], row["pause_queue"], row["cause"], row["pause_start_ps"])
        )

    def find(self, pause: Pause) -> Origin:
        """Returns the origin of a pause."""
        row = self._rows[pause.number]
        asker = row["origin"]
        if asker is None:
            return Origin(Root(pause.node, pause.port, pause.class_, pause.cause))
        asked = self._asked_before(pause, row)
        if asked is None or not asked.bytes:
            parent = None if asked is None else self._passed_on(asker, asked, pause)
            return Origin(Root(asker, row["origin_port"], pause.class_, pause.cause), parent, asked)
        waiting = {place: sum(flows.values()) for place, flows in asked.bytes.items()}
        fullest = max(waiting, key=lambda place: (waiting[place], -place[0], -place[1]))
        root = Root(asker, fullest[0], pause.class_, pause.cause)
        return Origin(root, self._holding(asker, asked, waiting, pause), asked)

    def _read(self, result: Result) -> None:
        known: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in result.links.to_pylist():
            self.peers[row["node"], row["port"]] = row["peer"]
            known[row["node"], row["peer"]].append(row["port"])
        # Parallel links have the same order at both nodes.
        for (node, peer), ports in known.items():
            self._back.update({(node, port): back for port, back in zip(ports, known[peer, node], strict=True)})
        for number, row in enumerate(self._rows):
            place = (row["node"], row["port"], row["queue"])
            pause = Pause(number, *place, row["class"], row["cause"], row["start_ps"], row["end_ps"])
            self.pauses.append(pause)
            self._lanes[place[:2]].setdefault((row["queue"], row["class"], row["cause"]), []).append(pause)
            self._by_identity[*place, row["cause"], row["start_ps"]] = pause
        for lane in (lane for lanes in self._lanes.values() for lane in lanes.values()):
            lane.sort(key=lambda pause: (pause.start_ps, pause.number))
        for row in result.table("contributions").to_pylist():
            key: tuple[Any, ...] = (row["node"], row["cause"], row["in_port"], row["class"], row["peer_queue"])
            if row["in_port"] is None:
                key = (row["node"], row["cause"], "output", row["port"])
            moments = self._asked[key]
            if not moments or moments[-1].time_ps != row["time_ps"]:
                moments.append(Asked(row["time_ps"], row["class"]))
            if row["flow"] is not None:
                moments[-1].bytes[row["port"], row["queue"]][row["flow"]] += row["bytes"]

    def _asked_before(self, pause: Pause, row: dict[str, Any]) -> Asked | None:
        """Returns the last request of the requesting node before a pause; None if none is recorded."""
        asker, cause = row["origin"], row["cause"]
        if row["origin_port"] is not None:
            keys: list[tuple[Any, ...]] = [(asker, cause, "output", row["origin_port"])]
        else:
            back = self._back.get((pause.node, pause.port))
            # With `hop_classes` the class is one higher at the requesting node.
            classes = [(asker, cause, back, pause.class_ + rise, None) for rise in (0, 1)]
            keys = [(asker, cause, back, None, pause.queue), *classes]
        for key in keys:
            moments = self._asked.get(key, [])
            if at := bisect_left(moments, pause.start_ps, key=lambda asked: asked.time_ps):
                return moments[at - 1]
        return None

    def _holding(self, node: str, asked: Asked, waiting: dict[tuple[int, int], int], pause: Pause) -> Pause | None:
        """Returns the pause that held the bytes of a request, if pauses did for at least half of the time."""
        end = self._end_ps if pause.end_ps is None else pause.end_ps
        span = (asked.time_ps, asked.time_ps + max(end - pause.start_ps, 1))
        held = 0
        most: tuple[int, int, Pause] | None = None
        for (port, queue), size in sorted(waiting.items()):
            best = 0
            for (own, class_, _), lane in self._lanes.get((node, port), {}).items():
                if own != queue and class_ != asked.class_:
                    continue
                overlaps = [(one, time) for one, time in self._overlaps(lane, *span) if one is not pause]
                best = max(best, sum(time for _, time in overlaps))
                for one, time in overlaps:
                    if most is None or (size * time, -one.number) > most[:2]:
                        most = (size * time, -one.number, one)
            held += size * best
        is_held = 2 * held >= sum(waiting.values()) * (span[1] - span[0])
        return most[2] if most is not None and is_held else None

    def _overlaps(self, lane: list[Pause], start: int, end: int) -> Iterator[tuple[Pause, int]]:
        """Yields the pauses of a queue within a time, and each overlap in picoseconds."""
        at = bisect_left(lane, end, key=lambda one: one.start_ps)
        for one in reversed(lane[:at]):
            last = self._end_ps if one.end_ps is None else one.end_ps
            if last <= start:
                return
            yield one, min(last, end) - max(one.start_ps, start)

    def _passed_on(self, node: str, asked: Asked, pause: Pause) -> Pause | None:
        """Returns the pause that a node passed on: the latest with the same cause at the moment of the request."""
        lanes = (lane for place, lanes in self._lanes.items() if place[0] == node for lane in lanes.values())
        moment = (asked.time_ps, asked.time_ps + 1)
        lasting = [one for lane in lanes for one, _ in self._overlaps(lane, *moment) if one.cause == pause.cause]
        return max(lasting, key=lambda one: (one.start_ps, one.number), default=None)
