"""The matches of receives and messages of a job: a receive gets the first message to arrive, as in MPI and LogGOPSim.

The import plays the schedule on an idle network. Computations and sends take time, and every message arrives a fixed
latency later. An arriving message goes to the first posted receive with a suitable source and tag. A receive therefore
never gets a message which is sent only after the receive has ended, and a schedule without a circle of waits is played
completely. Messages of a rank to another rank with the same tag do not overtake each other.

A receive with source and tag has precedence: a receive from any rank, or of any tag, only takes a spare message.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import groupby, repeat
from typing import NoReturn, TypeAlias

from xoff._core import InputError
from xoff.importing.document import Operation

Channel: TypeAlias = tuple[int, int | None, int | None]
"""A receiver, a sender and a tag; None for any."""
Place: TypeAlias = Callable[[Operation], str]
"""Returns the place of an operation in the files, as messages begin."""

_NONE = -1


def matched(
    operations: Sequence[Operation],
    groups: Mapping[str, Sequence[int]],
    place: Place,
    *,
    byte_ps: int = 0,
    latency_ps: int = 1,
) -> tuple[list[Operation], array[int]]:
    """Returns the operations with source and tag of every receive, and the message (an index) of each operation.

    operations: rank by rank. A receive from any rank has no peer, and a receive of any tag has no tag.
    groups: the ranks of each group of collectives.
    byte_ps, latency_ps: the time of a byte at the sender, and from the last byte to the receiver.

    The i-th send of a rank to a peer with a tag matches the i-th receive in the result. Messages received in another
    order get separate tags.

    Raises `InputError` with the place of an operation if the job could never end.
    """
    play = _Play(operations, groups, place, byte_ps, latency_ps)
    play.run()
    return play.result(), play.message_of


class _Play:
    """The schedule during the play. Operations, sends included, are numbered in the order of the list."""

    def __init__(
        self,
        operations: Sequence[Operation],
        groups: Mapping[str, Sequence[int]],
        place: Place,
        byte_ps: int,
        latency_ps: int,
    ) -> None:
        self._operations, self._groups, self._place = operations, groups, place
        self._byte_ps, self._latency_ps = byte_ps, latency_ps
        count = len(operations)
        self.message_of = array("l", repeat(_NONE, count))
        self._received_by = array("l", repeat(_NONE, count))
        self._waits_for = array("l", repeat(0, count))
        self._has_ended, self._has_begun = bytearray(count), bytearray(count)
        # The operations that wait for operation i: from the i-th number of `_first` on.
        self._first, self._followers = array("l", [0]), array("l")
        for _, several in groupby(enumerate(operations), key=lambda pair: pair[1].rank):
            self._link(list(several))
        # Time, and an operation that ends, or an arriving message: its number and the number of operations.
        self._events: list[tuple[int, int]] = []
        self._units: dict[tuple[int | None, str], deque[int]] = {}
        self._last_arrival: dict[tuple[int | None, int | None], int] = {}
        self._posted: dict[Channel, deque[tuple[int, int]]] = {}
        self._posts = 0
        self._arrived: dict[Channel, deque[int]] = {}
        self._collectives: dict[tuple[str, int], list[int]] = {}
        # The i-th collective that a rank lists for a group is the same for the whole group.
        self._number_in_group: dict[int, int] = {}
        # Messages that no receive with source and tag needs, and the receives of each rank that accept several.
        self._spare, self._open = Counter[Channel](), dict[int, set[Channel]]()
        self._count_messages()
        listed = Counter[tuple[int | None, str]]()
        for index, one in enumerate(operations):
            if one.group:
                self._number_in_group[index] = listed[one.rank, one.group]
                listed[one.rank, one.group] += 1

    def _link(self, several: list[tuple[int, Operation]]) -> None:
        """Notes the followers of the operations of a rank."""
        names = {one.name: index for index, one in several}
        start = several[0][0]
        counts = [0] * len(several)
        edges = [(names[name], index) for index, one in several for name in one.after]
        for earlier, later in edges:
            counts[earlier - start] += 1
            self._waits_for[later] += 1
        base = len(self._followers)
        for count in counts:
            self._first.append(self._first[-1] + count)
        self._followers.extend(repeat(0, len(edges)))
        left = [base] * len(several)
        for place in range(1, len(several)):
            left[place] = left[place - 1] + counts[place - 1]
        for earlier, later in edges:
            self._followers[left[earlier - start]] = later
            left[earlier - start] += 1

    def _count_messages(self) -> None:
        """Counts messages and receives. Raises `InputError` for a message or a receive without a partner."""
        for one in self._operations:
            if one.kind in {"send", "recv"} and one.peer == one.rank:
                self._wrong(one, f"rank {one.peer} is no other rank; a message goes from a rank to another rank")
            if one.kind == "send":
                self._spare[_channel(one)] += 1
        for one in self._operations:
            if one.kind != "recv":
                continue
            channel = _channel(one)
            if one.peer is None or one.tag is None:
                self._open.setdefault(channel[0], set()).add(channel)
            elif not self._spare[channel]:
                why = f"rank {one.peer} sends rank {one.rank} no message with the tag {one.tag} for this receive"
                self._wrong(one, why)
            else:
                self._spare[channel] -= 1
        left = Counter({channel: count for channel, count in self._spare.items() if not self._accepting(channel)})
        if not left.total():
            return
        for one in reversed(self._operations):
            if one.kind == "send" and left[_channel(one)]:
                left[_channel(one)] -= 1
                if not left.total():
                    self._unreceived(one)

    def _accepting(self, channel: Channel) -> list[Channel]:
        """Returns the kinds of open receives for the messages of a channel."""
        to, source, tag = channel
        found = self._open.get(to, ())
        return [kind for kind in ((to, source, None), (to, None, tag), (to, None, None)) if kind in found]

    def run(self) -> None:
        """Plays all operations. Raises `InputError` for an operation without an end, and for an unreceived message."""
        count = len(self._operations)
        for index in range(count):
            if not self._waits_for[index]:
                self._ready(index, 0)
        while self._events:
            time, event = heappop(self._events)
            if event < count:
                self._end(event, time)
            else:
                self._arrive(event - count, time)
        if (stuck := self._has_ended.find(0)) >= 0:
            self._explain(stuck)
        for index, one in enumerate(self._operations):
            if one.kind == "send" and self._received_by[index] == _NONE:
                self._unreceived(one)

    def _ready(self, index: int, time: int) -> None:
        """Begins an operation, or puts the operation into the queue of the unit."""
        one = self._operations[index]
        if not one.unit or one.kind not in {"compute", "send"}:
            self._begin(index, time)
            return
        queue = self._units.setdefault((one.rank, one.unit), deque())
        queue.append(index)
        if len(queue) == 1:
            self._begin(index, time)

    def _begin(self, index: int, time: int) -> None:
        one = self._operations[index]
        self._has_begun[index] = 1
        if one.kind == "compute":
            heappush(self._events, (time + (one.duration or 0), index))
        elif one.kind == "send":
            sent = time + (one.size or 0) * self._byte_ps
            heappush(self._events, (sent, index))
            ends = one.rank, one.peer
            arrival = max(sent + self._latency_ps, self._last_arrival.get(ends, -1) + 1)
            self._last_arrival[ends] = arrival
            heappush(self._events, (arrival, len(self._operations) + index))
        elif one.kind == "recv":
            self._post(index, time)
        else:
            members = self._collectives.setdefault((one.group, self._number_in_group[index]), [])
            members.append(index)
            if len(members) == len(self._groups.get(one.group, ())):
                for member in members:
                    heappush(self._events, (time, member))

    def _end(self, index: int, time: int) -> None:
        one = self._operations[index]
        self._has_ended[index] = 1
        for follower in self._followers[self._first[index] : self._first[index + 1]]:
            self._waits_for[follower] -= 1
            if not self._waits_for[follower]:
                self._ready(follower, time)
        if one.unit and one.kind in {"compute", "send"}:
            queue = self._units[one.rank, one.unit]
            queue.popleft()
            if queue:
                self._begin(queue[0], time)

    def _post(self, index: int, time: int) -> None:
        """Gives a receive the first waiting message, or notes the receive."""
        channel = _channel(self._operations[index])
        is_open = channel[1] is None or channel[2] is None
        waiting = self._arrived.get(channel)
        while waiting:
            message = waiting.popleft()
            is_spare = not is_open or self._spare[_channel(self._operations[message])] > 0
            if self._received_by[message] == _NONE and is_spare:
                self._match(message, index, time)
                return
        self._posted.setdefault(channel, deque()).append((self._posts, index))
        self._posts += 1

    def _arrive(self, message: int, time: int) -> None:
        """Gives a message to the first posted receive, or notes the message."""
        channel = _channel(self._operations[message])
        kinds = [channel]
        if channel[0] in self._open and self._spare[channel] > 0:
            kinds += self._accepting(channel)
        posted = [queue for kind in kinds if (queue := self._posted.get(kind))]
        if posted:
            _, receive = min(posted, key=lambda queue: queue[0]).popleft()
            self._match(message, receive, time)
            return
        for kind in kinds:
            self._arrived.setdefault(kind, deque()).append(message)

    def _match(self, message: int, receive: int, time: int) -> None:
        self.message_of[receive], self._received_by[message] = message, receive
        one = self._operations[receive]
        if one.peer is None or one.tag is None:
            self._spare[_channel(self._operations[message])] -= 1
        heappush(self._events, (time, receive))

    def result(self) -> list[Operation]:
        """Returns the operations with matched receives."""
        found = list(self._operations)
        last: dict[Channel, int] = {}
        crossed: set[Channel] = set()
        for index, one in self._sends():
            channel, receive = _channel(one), self._received_by[index]
            if receive < last.get(channel, _NONE):
                crossed.add(channel)
            last[channel] = receive
        tags = self._free_tags(crossed)
        for index, one in self._sends():
            receive, channel = self._received_by[index], _channel(one)
            tag = one.tag
            if channel in crossed:
                tag = next(tags[channel[:2]])
                found[index] = replace(one, tag=tag)
            if (found[receive].peer, found[receive].tag) != (one.rank, tag):
                found[receive] = replace(found[receive], peer=one.rank, tag=tag)
        return found

    def _sends(self) -> Iterator[tuple[int, Operation]]:
        return ((index, one) for index, one in enumerate(self._operations) if one.kind == "send")

    def _free_tags(self, crossed: set[Channel]) -> dict[tuple[int, int | None], Iterator[int]]:
        """Returns the free tags between two ranks, for the ranks of some channels."""
        used: dict[tuple[int, int | None], set[int | None]] = {channel[:2]: set() for channel in crossed}
        if used:
            for _, one in self._sends():
                if (ends := _channel(one)[:2]) in used:
                    used[ends].add(one.tag)
        return {ends: _without(tags) for ends, tags in used.items()}

    def _explain(self, stuck: int) -> None:
        """Raises `InputError` for operations in a circle of waits, or for a receive without a message.

        stuck: an operation without an end. Returns if a rank lacks a collective, which the core refuses.
        """
        unsent: dict[Channel, int] = {}
        for index, one in self._sends():
            if not self._has_begun[index]:
                to, source, tag = _channel(one)
                for kind in ((to, source, tag), (to, source, None), (to, None, tag), (to, None, None)):
                    unsent.setdefault(kind, index)
        names: dict[int | None, dict[str, int]] = {}
        for index, one in enumerate(self._operations):
            if not self._has_ended[index]:
                names.setdefault(one.rank, {})[one.name] = index
        way: dict[int, None] = {}
        at: int | None = stuck
        while at is not None and at not in way:
            way[at] = None
            one = self._operations[at]
            if self._waits_for[at]:
                at = next(names[one.rank][name] for name in one.after if name in names[one.rank])
            elif one.kind == "recv":
                if (sent := unsent.get(_channel(one))) is None:
                    self._wrong(one, f"no rank sends rank {one.rank} a message for this receive{self._remedy(one)}")
                at = sent
            else:
                at = self._absent(at)
        if at is None:
            return
        ring = list(way)[list(way).index(at) :]
        one = self._operations[min(ring)]
        if all(self._operations[index].rank == one.rank for index in ring):
            self._wrong(one, "the operation would wait for itself; break the circle")
        self._wrong(
            one, f"the operation would wait for itself, by way of other ranks; break the circle{self._remedy(one)}"
        )

    def _remedy(self, one: Operation) -> str:
        """Returns a remedy where receives accept several messages."""
        if not self._open:
            return ""
        is_open = (one.rank or 0) in self._open
        where = f"of rank {one.rank} " if is_open else ""
        return f"; if another message was meant, give source and tag of the receives {where}from any rank or of any tag"

    def _absent(self, index: int) -> int | None:
        """Returns the same collective at a rank where the collective has not begun; None without such a rank."""
        group, number = self._operations[index].group, self._number_in_group[index]
        return next(
            (
                other
                for other, one in enumerate(self._operations)
                if one.group == group and self._number_in_group[other] == number and not self._has_begun[other]
            ),
            None,
        )

    def _unreceived(self, one: Operation) -> NoReturn:
        why = f"rank {one.peer} receives no message of rank {one.rank} with the tag {one.tag} for this send"
        self._wrong(one, why)

    def _wrong(self, one: Operation, why: str) -> NoReturn:
        raise InputError(f"{self._place(one)}: {why}")


def _channel(one: Operation) -> Channel:
    """Returns the channel of a send, or of the messages for a receive."""
    rank = one.rank or 0
    return (one.peer or 0, rank, one.tag) if one.kind == "send" else (rank, one.peer, one.tag)


def _without(used: set[int | None]) -> Iterator[int]:
    """Yields the free numbers from 0 on."""
    number = 0
    while True:
        if number not in used:
            yield number
        number += 1
