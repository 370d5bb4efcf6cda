"""Frames on the wires of links as a packet capture for Wireshark: pcapng.

Source: draft-ietf-opsawg-pcapng. Each direction of a link is an interface. The time stamp of a frame is the start of
its transmission in picoseconds (``if_tsresol`` 12; Wireshark shows nanoseconds). Frames are complete, since Wireshark
takes cut packets of RoCE for malformed. Payload is zeros, so a file with the suffix ``.gz``, which Wireshark reads
directly, is small. `frames` describes the frames.
"""

from __future__ import annotations

import difflib
import gzip
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow.compute

from xoff import formatting
from xoff._core import InputError
from xoff.exporting import frames
from xoff.exporting.format import Written
from xoff.exporting.rows import Nodes, given, quantity, recorded, rows
from xoff.results import Result
from xoff.version import __version__

_LONGEST_NAME = 128
_END = b"\0\0\0\0"


def write(result: Result, place: Path, choices: list[str]) -> Written:
    """Writes the frames of the chosen links."""
    nodes = Nodes(result)
    links = _links(nodes, choices)
    packets = recorded(result, "packets", "probe.packets=true")
    known = rows(result, "flows", "flow", "src", "dst", "size_bytes")
    flows = {number: frames.Flow(nodes.number(src), nodes.number(dst), size) for number, src, dst, size in known}
    gap = quantity(result, "framing", "preamble_and_ifg", 0)
    is_raw = given(result, "host", "transport", "raw") is not None
    interfaces = {end: index for index, end in enumerate(links)}
    compute = pyarrow.compute
    departs = packets.filter(compute.equal(packets.column("event").cast("string"), "depart"))
    departs = departs.filter(compute.is_in(departs.column("node").cast("string"), _array({node for node, _ in links})))
    columns = (
        "time_ps",
        "node",
        "port",
        "kind",
        "flow",
        "seq",
        "bytes",
        "class",
        "marked",
        "last_of_flow",
        "payload_field",
    )
    written = unknown = 0
    with _opened(place) as file:
        _begin(file, nodes, links)
        for time, node, port, kind, number, seq, length, classes, marked, last, value in rows(
            result, "packets", *columns, table=departs
        ):
            if (interface := interfaces.get((node, port))) is None:
                continue
            frame = frames.Frame(
                kind=kind,
                sender=nodes.number(node),
                receiver=nodes.number(nodes.ports[node, port][0]),
                number=number,
                flow=flows.get(number),
                seq=seq,
                value=value,
                length=max(length - gap, 0),
                classes=classes,
                is_marked=bool(marked),
                is_last=bool(last),
                is_raw=is_raw,
            )
            unknown += frame.flow is None and kind == "data"
            data = frames.encode(frame)
            stamp = struct.pack("<5I", interface, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
            _block(file, 6, stamp + data + bytes(-len(data) % 4))
            written += 1
    notes = (f"the flows of {unknown:,} packets are not in the table of flows (probe.flows = true)",) if unknown else ()
    return Written({"frames": written, "directions of links": len(links)}, notes)


@contextmanager
def _opened(place: Path) -> Iterator[BinaryIO]:
    """Yields a file for writing, compressed if the suffix is ``.gz``. The same result gives the same bytes."""
    with place.open("wb") as file:
        if place.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def _array(names: set[str]) -> object:
    import pyarrow as pa

    return pa.array(sorted(names), pa.string())


def _links(nodes: Nodes, choices: list[str]) -> list[tuple[str, int]]:
    """Returns the ports at both ends of the chosen links, by the names of the ends, in which ``*`` is any text.

    Raises `InputError` if no link has such a name.
    """
    names = {end: (f"{end[0]}-{peer}", f"{peer}-{end[0]}") for end, (peer, _) in nodes.ports.items()}
    found: dict[tuple[str, int], None] = {}
    for choice in choices:
        pattern = re.compile(".*".join(map(re.escape, choice.split("*"))), re.DOTALL)
        ends = [end for end, both in names.items() if any(pattern.fullmatch(name) for name in both)]
        if not ends:
            known = list(dict.fromkeys(name for both in names.values() for name in both))
            near = difflib.get_close_matches(choice, known, n=3, cutoff=0.5) or known[:3]
            hint = ", ".join(f"`{formatting.plain(name)}`" for name in near)
            raise InputError(f"--pcapng: no link is called `{choice}`; near are {hint}")
        found |= dict.fromkeys(ends)
    # Both directions of a link are adjacent, and links are in their order.
    order = {end: index for index, end in enumerate(nodes.ports)}
    return sorted(found, key=order.__getitem__)


def _begin(file: BinaryIO, nodes: Nodes, links: list[tuple[str, int]]) -> None:
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    _block(file, 0x0A0D0D0A, section + _option(4, f"xoff {__version__}".encode()) + _END)
    for node, port in links:
        peer, rate = nodes.ports[node, port]
        name = formatting.plain(f"{node} port {port} to {peer}").encode()[:_LONGEST_NAME]
        options = _option(2, name) + _option(8, struct.pack("<Q", rate)) + _option(9, b"\x0c") + _END
        _block(file, 1, struct.pack("<HHI", 1, 0, 0) + options)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(file: BinaryIO, kind: int, body: bytes) -> None:
    length = len(body) + 12
    file.write(struct.pack("<II", kind, length) + body + struct.pack("<I", length))
