"""A trace for the Perfetto UI and its trace processor: pauses, queues, flows, faults and operations over time.

Source: Perfetto's ``TrackEvent`` protocol buffers; each message in this module is a line of its ``.proto`` files. The
module encodes the messages itself: existing bindings need a specific version of the protobuf library, and ten times the
code. Perfetto's JSON has the same resolution and less structure. Perfetto's times are whole nanoseconds: events within
a nanosecond keep their order, and the exact picoseconds are arguments of each slice.

- A port has a track for each cause and queue that was paused, with a slice for each pause; a pause may have no end.
- A fault has a track, with a slice for each failure of a link, a node or a host.
- A sampled queue (``probe.queues``) has a counter of its bytes, zero when it was sampled empty.
- A host has tracks of its flows: a slice from start to the receiver's last byte. Overlapping flows have own tracks.
- A rank of a job has tracks of computation, and of messages and collectives by label. A message from rank to rank is an
  arrow from its send to its receive.
- A DP rank of a serving instance has a track of its steps, with tokens and the parts of the time. Requests of a serving
  workload have tracks with a slice from the arrival to the last token, which holds a slice for each phase. Overlapping
  requests have own tracks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from xoff import formatting
from xoff._core import InputError
from xoff.exporting.format import Written
from xoff.exporting.rows import again, quantity, rows
from xoff.plots.serving import PHASE_NAMES, PHASES, phases
from xoff.results import Result
from xoff.results.connections import ends

_BEGIN, _END, _COUNTER = 1, 2, 4
_BYTES, _IN_GIVEN_ORDER = 3, 3


def write(result: Result, place: Path, _choices: list[str]) -> Written:
    """Writes the records of a result over time. Raises `InputError` if there are none."""
    found: dict[str, int] = {}
    notes = []
    with place.open("wb") as file:
        tracks = _Tracks(file)
        for name, (put, probe) in _PARTS.items():
            if name in result.tables and (probe is not None or result.table(name).num_rows):
                found[name] = put(result, tracks)
            elif probe is not None:
                notes.append(f"`{name}` are missing; repeat the run to add them: {again(result, probe)}")
    if not found:
        raise InputError(f"the result has no data over time; repeat the run: {again(result, '')}")
    return Written(found, tuple(notes))


def _pauses(result: Result, tracks: _Tracks) -> int:
    count = 0
    columns = ("node", "port", "peer", "queue", "class", "cause", "start_ps", "end_ps?")
    for node, port, peer, queue, classes, cause, start, end in rows(result, "pauses", *columns):
        parent = tracks.port(node, port, peer)
        track = tracks.track((node, port, "paused", cause, queue), f"paused: {cause}, queue {queue}", parent)
        facts = {"class": classes, "queue": queue, "start_ps": start} | ({} if end is None else {"end_ps": end})
        tracks.slice(track, f"paused by {cause}, class {classes}", start, end, facts)
        count += 1
    return count


def _faults(result: Result, tracks: _Tracks) -> int:
    count = 0
    columns = ("fault", "kind", "target", "start_ps", "end_ps?", "lost_packets", "lost_bytes", "lost_control")
    for entry, kind, target, start, end, packets, lost, control in rows(result, "faults", *columns):
        track = tracks.track(("faults", entry, target), f"{kind}: {target}", tracks.node("faults"))
        facts = {"lost_packets": packets, "lost_bytes": lost, "lost_control": control, "start_ps": start}
        tracks.slice(track, f"{target}: {kind}", start, end, facts | ({} if end is None else {"end_ps": end}))
        count += 1
    return count


def _samples(result: Result, tracks: _Tracks) -> int:
    """Writes counters. An empty queue has no row: the counter is zero an interval after the last row."""
    interval = quantity(result, "probe", "queues", 0)
    last: dict[tuple[str, int, int], int] = {}
    counters: dict[tuple[str, int, int], int] = {}
    peers = {(node, port): peer for node, port, peer in rows(result, "links", "node", "port", "peer")}
    count = 0
    for time, node, port, queue, length in rows(result, "samples", "time_ps", "node", "port", "queue", "bytes"):
        key = (node, port, queue)
        if key not in counters:
            parent = tracks.port(node, port, peers.get((node, port), "?"))
            counters[key] = tracks.track((*key, "bytes"), f"queue {queue}", parent, is_counter=True)
        elif time > last[key] + interval:
            tracks.count(counters[key], last[key] + interval, 0)
        tracks.count(counters[key], time, length)
        last[key] = time
        count += 1
    for key, time in last.items():
        tracks.count(counters[key], time + interval, 0)
    return count


def _flows(result: Result, tracks: _Tracks) -> int:
    columns = ("start_ps", "flow", "src", "dst", "workload", "label?", "size_bytes", "fct_ps?", "ideal_fct_ps", "via")
    carried = ends(result)
    # In order of start; a lane of a host is free when its flow has ended.
    lanes: dict[str, list[tuple[float, int]]] = {}
    count = 0
    for start, flow, src, dst, workload, label, size, fct, ideal, via in sorted(
        rows(result, "flows", *columns), key=lambda row: row[:2]
    ):
        busy = lanes.setdefault(src, [])
        # A connection lasts until its last message arrived.
        end = carried.get(flow) if fct is None else start + fct
        until = float("inf") if end is None else end
        if busy and busy[0][0] <= start:
            lane = heapq.heapreplace(busy, (until, busy[0][1]))[1]
        else:
            lane = len(busy)
            heapq.heappush(busy, (until, lane))
        track = tracks.track((src, "flows", lane), "flows", tracks.node(src))
        facts = {"workload": workload, "size_bytes": size, "start_ps": start, "ideal_fct_ps": ideal, "via": via}
        facts |= {} if fct is None else {"fct_ps": fct, "slowdown": f"{fct / ideal:.6g}" if ideal else ""}
        facts |= {} if label is None else {"label": label}
        what = "connection" if flow in carried else "flow"
        tracks.slice(track, f"{what} {flow} to {dst}", start, end, facts)
        count += 1
    return count


def _operations(result: Result, tracks: _Tracks) -> int:
    """Writes the operations of ranks; a send and its receive share an arrow."""
    columns = (
        "workload", "rank", "host", "index", "operation?", "kind", "label?", "name", "iteration", "start_ps", "end_ps",
    )  # fmt: skip
    lanes: dict[tuple[str, int, str], list[tuple[int, int]]] = {}
    jobs: dict[str, int] = {}
    count = 0
    found = sorted(rows(result, "operations", *columns), key=lambda row: (row[9], row[0], row[1], row[3]))
    for workload, rank, host, _, number, kind, label, name, iteration, start, end in found:
        lane = "computation" if number is None else str(label)
        busy = lanes.setdefault((workload, rank, lane), [])
        if busy and busy[0][0] <= start:
            track = heapq.heapreplace(busy, (end, busy[0][1]))[1]
        else:
            parent = tracks.track((workload, "rank", rank), f"{workload}: rank {rank} at {host}", 0)
            track = tracks.track((workload, rank, lane, len(busy)), lane, parent)
            heapq.heappush(busy, (end, track))
        job = jobs.setdefault(workload, len(jobs))
        arrow = None if number is None or kind not in {"send", "recv"} else job << 32 | number
        facts = {"kind": kind, "iteration": iteration, "start_ps": start, "end_ps": end}
        tracks.slice(track, name, start, end, facts, arrow=arrow, is_target=kind == "recv")
        count += 1
    return count


def _steps(result: Result, tracks: _Tracks) -> int:
    """Writes the steps of serving: a track for each pool, instance and DP rank."""
    numbers = (
        "step", "tokens", "sequences", "context_tokens", "compute_ps", "exposed_ps", "exposed_tp_ps",
        "exposed_dispatch_ps", "exposed_combine_ps", "bubble_ps", "slowest_rank",
    )  # fmt: skip
    found = rows(result, "steps", "start_ps", "end_ps", "workload", "phase", "instance", "rank", *numbers)
    count = 0
    for start, end, workload, phase, instance, rank, *values in sorted(found):
        place = (workload, "steps", phase, instance)
        parent = tracks.track(place, f"{workload}: {phase} instance {instance}", 0)
        track = tracks.track((*place, rank), f"DP rank {rank}", parent, rank=rank + 1)
        facts = {"phase": phase} | dict(zip(numbers, values, strict=True)) | {"start_ps": start, "end_ps": end}
        tracks.slice(track, f"step of {phase}", start, end, facts)
        count += 1
    return count


def _requests(result: Result, tracks: _Tracks) -> int:
    """Writes the requests of serving: a slice for each request, around a slice for each phase."""
    parts = [column for columns in PHASES.values() for column in columns]
    facts = ("input_tokens", "cached_tokens", "output_tokens", "kv_bytes")
    optional = ("prefill_instance?", "prefill_rank?", "decode_instance?", "decode_rank?", "ttft_ps?", "itl_max_ps?")
    columns = ("arrival_ps", "workload", "request", "e2e_ps?", *optional, *facts, *parts)
    names = [column.rstrip("?") for column in columns]
    lanes: dict[str, list[tuple[float, int]]] = {}
    orders: dict[str, Mapping[str, tuple[str, ...]]] = {}
    count = 0
    for values in sorted(rows(result, "requests", *columns), key=lambda row: row[:3]):
        row = dict(zip(names, values, strict=True))
        start, workload, length = row["arrival_ps"], row["workload"], row["e2e_ps"]
        end = None if length is None else start + length
        until = float("inf") if end is None else end
        busy = lanes.setdefault(workload, [])
        if busy and busy[0][0] <= start:
            lane = heapq.heapreplace(busy, (until, busy[0][1]))[1]
        else:
            lane = len(busy)
            heapq.heappush(busy, (until, lane))
        parent = tracks.track((workload, "requests"), f"{workload}: requests", 0)
        track = tracks.track((workload, "requests", lane), "requests", parent)
        known = {name: value for name, value in row.items() if name != "workload" and value is not None}
        tracks.begin(track, f"request {row['request']}", start, known)
        if end is not None:
            order = orders.setdefault(workload, phases(result, workload))
            for phase, begun, over in _phases(row, order):
                tracks.slice(track, phase, begun, over, {"start_ps": begun, "end_ps": over})
            tracks.end(track, end)
        count += 1
    return count


def _phases(row: Mapping[str, Any], order: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, int, int]]:
    """Yields name, start and end of each phase of an ended request that took time."""
    at = row["arrival_ps"]
    for phase, columns in order.items():
        if ps := sum(row[column] for column in columns):
            yield PHASE_NAMES[phase], at, at + ps
            at += ps


class _Tracks:
    """The tracks of a trace, each described at its first use."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._known: dict[tuple[object, ...], int] = {}

    def node(self, name: str) -> int:
        return self.track((name,), name, 0)

    def port(self, node: str, port: int, peer: str) -> int:
        return self.track((node, port), f"port {port} to {peer}", self.node(node), rank=port + 1)

    def track(self, key: tuple[object, ...], name: str, parent: int, *, rank: int = 0, is_counter: bool = False) -> int:
        """Returns the number of a track."""
        if key in self._known:
            return self._known[key]
        number = self._known[key] = len(self._known) + 1
        body = _number(1, number) + _text(2, name) + _number(11, _IN_GIVEN_ORDER) + _number(12, rank & 0x7FFFFFFF)
        body += _number(5, parent) if parent else b""
        body += _message(8, _number(3, _BYTES)) if is_counter else b""
        self._packet(_message(60, body))
        return number

    def slice(
        self,
        track: int,
        name: str,
        start: int,
        end: int | None,
        facts: dict[str, int | str],
        *,
        arrow: int | None = None,
        is_target: bool = False,
    ) -> None:
        """Puts a slice on a track, after slices that began before; an arrow leads from one slice to another."""
        # Fields 47 and 48: the flows that pass an event, and the flows that end at the event, 64 bits each.
        leads = b"" if arrow is None else _fixed(48 if is_target else 47, arrow)
        self.begin(track, name, start, facts, leads)
        if end is not None:
            self.end(track, max(end, start))

    def begin(self, track: int, name: str, time: int, facts: Mapping[str, int | str], leads: bytes = b"") -> None:
        """Opens a slice. Slices that a track opens before the end are inside."""
        self._event(time, _BEGIN, track, _text(23, name) + b"".join(_facts(facts)) + leads)

    def end(self, track: int, time: int) -> None:
        """Ends the slice that a track opened last."""
        self._event(time, _END, track, b"")

    def count(self, track: int, time: int, value: int) -> None:
        self._event(time, _COUNTER, track, _number(30, value))

    def _event(self, time: int, kind: int, track: int, rest: bytes) -> None:
        self._packet(_number(8, time // 1000) + _message(11, _number(9, kind) + _number(11, track) + rest))

    def _packet(self, body: bytes) -> None:
        # A trace is one sequence.
        self._file.write(_message(1, body + _number(10, 1)))


def _facts(facts: Mapping[str, int | str]) -> Iterator[bytes]:
    for name, value in facts.items():
        yield _message(4, _text(10, name) + (_number(3, value) if isinstance(value, int) else _text(6, value)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def _text(field: int, value: str) -> bytes:
    return _message(field, formatting.plain(value).encode())


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    """Returns a varint: seven bits per byte, the lowest first."""
    value &= 0xFFFFFFFFFFFFFFFF
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


# The writer of each table, and the setting that records it; a run without jobs, serving or faults gets no note.
_PARTS: dict[str, tuple[Callable[[Result, _Tracks], int], str | None]] = {
    "faults": (_faults, None),
    "pauses": (_pauses, ""),
    "samples": (_samples, "probe.queues=1us"),
    "flows": (_flows, "probe.flows=true"),
    "operations": (_operations, None),
    "steps": (_steps, None),
    "requests": (_requests, None),
}
