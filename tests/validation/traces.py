"""Measures from the table `packets` for the tests of closed forms: queues, ingress counts and departures."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import xoff


class Event(NamedTuple):
    """A frame that arrived or departed."""

    time_ps: int
    node: str
    port: int
    event: str
    kind: str
    flow: int
    seq: int
    bytes: int


def events(result: xoff.Result, node: str | None = None, kind: str = "data") -> list[Event]:
    """Frames of one kind in order of handling, at one node or everywhere."""
    columns = result.table("packets").select(Event._fields).to_pydict()
    rows = (Event(*values) for values in zip(*columns.values(), strict=True))
    return [row for row in rows if row.kind == kind and node in (None, row.node)]


def departures(result: xoff.Result, node: str, flow: int) -> list[int]:
    """Starts of transmission of a flow's data packets at a node."""
    return [row.time_ps for row in events(result, node) if row.event == "depart" and row.flow == flow]


def arrivals(result: xoff.Result, node: str, flow: int, kind: str = "data") -> list[int]:
    """Arrivals of a flow's packets at a node."""
    return [row.time_ps for row in events(result, node, kind) if row.event == "arrive" and row.flow == flow]


def ingress_counts(result: xoff.Result, switch: str) -> Iterator[tuple[int, int, int]]:
    """Yields (time, ingress port, bytes that entered by the port and wait) at each change of a switch's count.

    A packet counts from its arrival to the start of its transmission.
    """
    came_by: dict[int, int] = {}
    counts: dict[int, int] = {}
    for row in events(result, switch):
        if row.event == "arrive":
            came_by[row.flow] = row.port
            counts[row.port] = counts.get(row.port, 0) + row.bytes
        else:
            counts[came_by[row.flow]] -= row.bytes
        yield row.time_ps, came_by[row.flow], counts[came_by[row.flow]]


def ingress_peaks(result: xoff.Result, switch: str) -> dict[int, int]:
    """Largest count of each ingress port of a switch."""
    peaks: dict[int, int] = {}
    for _, port, count in ingress_counts(result, switch):
        peaks[port] = max(peaks.get(port, 0), count)
    return peaks


def egress_counts(result: xoff.Result, switch: str, destination_port: dict[int, int]) -> Iterator[tuple[Event, int]]:
    """Yields each data event of a switch with the bytes then waiting for its output.

    `destination_port` has the output port of each flow.
    """
    counts: dict[int, int] = {}
    for row in events(result, switch):
        port = destination_port[row.flow]
        counts[port] = counts.get(port, 0) + (row.bytes if row.event == "arrive" else -row.bytes)
        yield row, counts[port]


def flow_rows(result: xoff.Result) -> list[dict[str, Any]]:
    """Rows of the table `flows` by flow number."""
    rows: list[dict[str, Any]] = result.flows.to_pylist()
    return sorted(rows, key=lambda row: int(row["flow"]))
