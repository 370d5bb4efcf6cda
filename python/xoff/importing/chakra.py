"""Jobs in Chakra execution traces: a file for each rank, protobuf or JSON.

Source: MLCommons Chakra's ``et_def.proto`` and feeder; ASTRA-sim for the meaning of nodes.

- A file is a sequence of messages, each after its length: the metadata of the file, then nodes.
- A node is ready when all of its dependencies (control or data) are done. On a rank, at most one computation on the
  processor, one on the accelerator, and one collective or send run at a time.
- The ranks of a collective are those of its group (``pg_name``); without a group, or with ``0``, all ranks
  (``Workload::extract_comm_group``).
- ``comm_size`` is the data of a rank before the collective: see the constructors of ``Ring``, ``AllToAll`` and
  ``HalvingDoubling`` of ASTRA-sim (``system/astraccl/native_collectives/collective_algorithm``), and the inputs that
  Chakra's converter for PyTorch adds up (``PyTorchNode.comm_size``). Of an all-gather it is the share of the rank, and
  the data of the collective is this share times the number of ranks; of an all-reduce, a reduce-scatter and an
  all-to-all it is all data.
- Computation takes its recorded duration. With ``flops``, accelerator nodes with ``num_ops`` take the time of
  ASTRA-sim's ``roofline-enabled`` (``Workload::issue_comp``): the longer of ``num_ops`` at that rate and
  ``tensor_size`` at the rate of the memory.
- Loads and stores of memory, and metadata, take no time. Gathers, scatters, and the dimensions of a topology for a
  collective (``involved_dim``) are not imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xoff._core import InputError
from xoff.importing.document import MAX_OPERATIONS, MAX_STAR, Imported, Job, Operation, Table, Value
from xoff.importing.goal import DELAY, RATE
from xoff.importing.matching import matched
from xoff.importing.notes import Notes
from xoff.importing.source import MAX_JOB_BYTES, MAX_MESSAGE, MAX_NS, Source, read_bytes, shown

_MAX_NODES = 2**22
_NODE_TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
_COLLECTIVES = {
    0: "all_reduce", 1: "reduce", 2: "all_gather", 5: "broadcast", 6: "all_to_all", 7: "reduce_scatter",
    8: "reduce_scatter", 9: "barrier",
}  # fmt: skip
_BY_NAME = {
    "ALL_REDUCE": 0, "REDUCE": 1, "ALL_GATHER": 2, "GATHER": 3, "SCATTER": 4, "BROADCAST": 5, "ALL_TO_ALL": 6,
    "REDUCE_SCATTER": 7, "REDUCE_SCATTER_BLOCK": 8, "BARRIER": 9,
}  # fmt: skip
_ALL = "all"
_WHOLE = re.compile("[0-9]{1,19}")
# Each node of a JSON file has this key; a quote within a text has a backslash before.
_NODE_TYPE = re.compile(rb'"NodeType"\s*:')


@dataclass(slots=True)
class _Node:
    id: int
    type: str
    name: str = ""
    duration_ps: int = 0
    after: list[int] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def wrong(self, path: Path, why: str) -> InputError:
        """Returns an error with the name of the node."""
        called = f" ({shown(self.name)})" if self.name else ""
        return InputError(f"{path}: node {self.id}{called}: {why}")

    def whole(self, path: Path, name: str, most: int) -> int:
        """Returns an attribute that is a whole number, or true or false if `most` is 1; zero if it is missing.

        Raises `InputError` for any other value.
        """
        value = self.values.get(name, 0)
        value = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
        if isinstance(value, bool) and most == 1:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise self.wrong(path, f"{name} is not a whole number from 0 to {most}")
        return value

    def given(self, path: Path, name: str, most: int) -> int:
        """Returns an attribute that is a whole number. Raises `InputError` if it is missing, or any other value."""
        if name not in self.values:
            raise self.wrong(path, f"{name} is missing")
        return self.whole(path, name, most)


def convert(
    *, paths: Sequence[Path], groups: Path | None, flops: float | None = None, memory: float | None = None
) -> Imported:
    """Returns a scenario of traces: a star of their ranks, with default rates, since the files have none.

    flops, memory: floating-point operations, and bytes of memory, per second of an accelerator.

    Raises `InputError` if the traces are not valid.
    """
    if len(paths) > MAX_STAR:
        raise InputError(f"{paths[0]}: {len(paths):,} traces were given; at most {MAX_STAR:,} are allowed")
    notes = Notes()
    job = Job("job")
    if flops is not None:
        job.processor = {"flops": flops} if memory is None else {"flops": flops, "memory": memory}
    _count(paths)
    names = _groups(groups, len(paths))
    for rank, path in enumerate(paths):
        source = Source(path, b"")
        nodes = _nodes(path)
        # A hostile file may hide nodes from the count: JSON allows escapes in keys.
        if (total := len(job.operations) + len(nodes)) > MAX_OPERATIONS:
            raise InputError(f"{path}: {_too_many(total)}")
        known = {node.id for node in nodes}
        for node in nodes:
            lacking = next((other for other in node.after if other not in known), None)
            if lacking is not None:
                raise InputError(f"{path}: node {node.id}: depends on node {lacking}, which is missing")
            if node.type == "COMP":
                job.operations.append(_computation(rank, node, job.processor, notes, source))
            else:
                job.operations.append(_operation(rank, node, path, names, len(paths), notes, source))
    # Groups of the table get generated names, since names in a file may hold any character.
    for number, members in names.values():
        if len(members) > 1:
            job.groups[f"g{number}"] = members
    if (lone := next((one for one in job.operations if one.group and one.group not in job.groups), None)) is not None:
        raise InputError(f"{paths[lone.rank or 0]}: {lone.name}: the group has no other rank")
    job.operations, _ = matched(job.operations, job.groups, lambda one: _place(paths, one))
    text = f"the network is not in the files: a star of {len(paths):,} hosts at {RATE} with {DELAY} a link"
    notes.add(Source(paths[0], b""), (), text)
    tables = [
        Table("network.star", {"hosts": len(paths)}),
        Table("network.star.link", {"rate": RATE, "delay": DELAY}),
        Table("switch.flow_control.pfc"),
    ]
    if not job.operations:
        raise InputError(f"{paths[0]}: the traces have no nodes")
    found = Imported(f"Chakra traces of {len(paths):,} ranks", "job", tables=tables, job=job, notes=notes)

    found.file, found.place = paths[0], lambda _, row: _place(paths, job.operations[row])
    return found


def _place(paths: Sequence[Path], one: Operation) -> str:
    """Returns the place of an operation in the traces."""
    return f"{paths[one.rank or 0]}: node {one.where}"


def _count(paths: Sequence[Path]) -> None:
    """Raises `InputError` with the number of nodes if the traces have too many, before a node is made."""
    total = 0
    for path in paths:
        content = read_bytes(path, MAX_JOB_BYTES)
        is_json = content[:1] in {b"{", b"["}
        # The first message describes the file.
        count = sum(1 for _ in _NODE_TYPE.finditer(content)) if is_json else sum(1 for _ in _bounds(path, content)) - 1
        total += count
        if count > _MAX_NODES:
            raise InputError(f"{path}: has {count:,} nodes; at most {_MAX_NODES:,} are allowed")
        if total > MAX_OPERATIONS:
            raise InputError(f"{path}: {_too_many(total)}")


def _too_many(total: int) -> str:
    return f"the traces up to this file have {total:,} nodes; at most {MAX_OPERATIONS:,} are allowed"


def _groups(file: Path | None, ranks: int) -> dict[str, tuple[int, list[int]]]:
    """Returns the number and the ranks of each group by its name."""
    found: dict[str, tuple[int, list[int]]] = {_ALL: (0, list(range(ranks)))}
    if file is None:
        return found
    document = _json(file)
    if not isinstance(document, dict):
        raise InputError(f"{file}: a table is expected: the ranks of each group, by the name of the group")
    for name, members in document.items():
        is_list = isinstance(members, list) and all(isinstance(one, int) and 0 <= one < ranks for one in members)
        if not is_list or len(set(members)) != len(members):
            raise InputError(f"{file}: a group is a list of different ranks from 0 to {ranks - 1}")
        found[str(name)] = (len(found), members)
    return found


def _computation(rank: int, node: _Node, processor: dict[str, Value], notes: Notes, source: Source) -> Operation:
    """Returns the computation of a node, with the duration or the floating-point operations."""
    name, after = f"n{node.id}", tuple(f"n{other}" for other in dict.fromkeys(node.after))
    unit = "cpu" if node.whole(source.path, "is_cpu_op", 1) else "gpu"
    flop, size = (node.whole(source.path, key, 2**63 - 1) for key in ("num_ops", "tensor_size"))
    if flop and unit == "gpu" and processor:
        if node.duration_ps:
            notes.add(source, (), "with --flops the recorded durations of nodes with num_ops are ignored")
        if "memory" not in processor:
            notes.add(source, (), "memory never limits computation; --memory-bandwidth sets a limit")
        elif not size:
            notes.add(
                source, (), "computation with num_ops and no tensor_size takes no memory; in ASTRA-sim it takes no time"
            )
        memory = size if "memory" in processor and size else None
        return Operation(rank, "compute", name, after, unit=unit, flop=flop, memory=memory, where=node.id)
    if flop and not node.duration_ps:
        remedy = (
            "give --flops"
            if unit == "gpu"
            else "add a duration: the node runs on the CPU, and --flops applies to accelerators"
        )
        raise node.wrong(source.path, f"computes {flop:,} operations (num_ops) and has no duration; {remedy}")
    if not node.duration_ps:
        notes.add(
            source, (), "computation with neither a duration nor num_ops takes no time in xoff, and 1 ns in ASTRA-sim"
        )
    return Operation(rank, "compute", name, after, unit=unit, duration=node.duration_ps, where=node.id)


def _operation(
    rank: int,
    node: _Node,
    path: Path,
    groups: dict[str, tuple[int, list[int]]],
    ranks: int,
    notes: Notes,
    source: Source,
) -> Operation:
    name, after = f"n{node.id}", tuple(f"n{other}" for other in dict.fromkeys(node.after))
    nothing = Operation(rank, "compute", name, after, duration=0, where=node.id)
    if node.type in {"COMM_SEND", "COMM_RECV"}:
        is_send = node.type == "COMM_SEND"
        peer = node.given(path, "comm_dst" if is_send else "comm_src", ranks - 1)
        size = max(node.whole(path, "comm_size", MAX_MESSAGE), 1) if is_send else None
        kind, unit = ("send", "comm") if is_send else ("recv", "")
        if is_send and not node.values.get("comm_size"):
            notes.add(source, (), "a message of 0 B is sent as 1 B")
        tag = node.whole(path, "comm_tag", 2**62)
        return Operation(rank, kind, name, after, unit=unit, peer=peer, tag=tag, size=size, where=node.id)
    if node.type == "COMM_COLL":
        kind = _COLLECTIVES.get(_comm_type(node, path), "")
        if not kind:
            notes.add(source, (), "gathers and scatters are not carried over and take no time")
            return nothing
        if "involved_dim" in node.values:
            notes.add(source, (), "the dimensions of a collective are not carried over")
        group = str(node.values.get("pg_name") or _ALL)
        if group == "0" and group not in groups:
            group = _ALL
        if group not in groups:
            raise node.wrong(path, f"unknown group {shown(group)}; give --groups with the ranks of each group")
        number, members = groups[group]
        if rank not in members:
            raise node.wrong(path, f"rank {rank} is not in the group {shown(group)}")
        size = None
        if kind != "barrier":
            share = node.whole(path, "comm_size", 2**42)
            size = _data(kind, share, len(members))
            if share < (1 if kind == "all_gather" else len(members)):
                notes.add(source, (), "a collective of less than a byte for each rank is run with a byte for each rank")
        return Operation(
            rank, kind, name, after, unit="comm", size=size, group=f"g{number}", label="coll", where=node.id
        )
    if node.type.startswith("MEM"):
        notes.add(source, (), "loads and stores of memory take no time in xoff")
    return nothing


def _comm_type(node: _Node, path: Path) -> int:
    """Returns the number of the kind of a collective. Raises `InputError` for an unknown kind."""
    given = node.values.get("comm_type")
    if isinstance(given, str) and not _WHOLE.fullmatch(given):
        if given not in _BY_NAME:
            raise node.wrong(path, f"comm_type: {shown(given)} is unknown; known are {', '.join(_BY_NAME)}")
        return _BY_NAME[given]
    return node.given(path, "comm_type", 9)


def _data(kind: str, given: int, ranks: int) -> int:
    """Returns the bytes of a collective as ``collective.size`` counts them: at least one byte per pair of ranks."""
    return max(given, 1) * ranks if kind == "all_gather" else max(given, ranks)


def _nodes(path: Path) -> list[_Node]:
    """Returns the nodes of a trace by number. Raises `InputError` at the second node with a number."""
    found: dict[int, _Node] = {}
    for node in _read(path):
        if node.id in found:
            raise node.wrong(path, "an earlier node has the same number")
        if node.type == "INVALID":
            raise node.wrong(path, "is of the type INVALID, which means nothing; remove the node")
        found[node.id] = node
    return [found[number] for number in sorted(found)]


def _read(path: Path) -> Iterator[_Node]:
    content = read_bytes(path, MAX_JOB_BYTES)
    return _of_json(path) if content[:1] in {b"{", b"["} else _of_protobuf(path, content)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path, MAX_JOB_BYTES))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON") from None


def _of_json(path: Path) -> Iterator[_Node]:
    """Yields the nodes of a JSON file as ASTRA-sim's feeder reads them."""
    document = _json(path)
    nodes = document.get("workload_graph") if isinstance(document, dict) else document
    if not isinstance(nodes, list):
        raise InputError(f"{path}: has no list `workload_graph`")
    for number, one in enumerate(nodes):
        if not isinstance(one, dict) or type(one.get("Id")) is not int or one["Id"] < 0:
            raise InputError(f"{path}: node {number}: has no number (Id)")
        kind = one.get("NodeType")
        kind = _NODE_TYPES[kind] if isinstance(kind, int) and 0 <= kind < len(_NODE_TYPES) else str(kind)
        kind = kind.removesuffix("_NODE")
        if kind not in _NODE_TYPES:
            raise InputError(f"{path}: node {one['Id']}: unknown type; allowed are {', '.join(_NODE_TYPES)}")
        lists = [one.get(key) or [] for key in ("data_deps", "ctrl_deps")]
        if not all(isinstance(found, list) and all(isinstance(other, int) for other in found) for found in lists):
            raise InputError(f"{path}: node {one['Id']}: the dependencies are not a list of numbers")
        name = one.get("Name")
        time = _micro(path, one["Id"], one.get("runtime", 0))
        yield _Node(one["Id"], kind, name if isinstance(name, str) else "", time, [*lists[0], *lists[1]], one)


def _micro(path: Path, id: int, value: Any) -> int:
    """Returns a time in microseconds as picoseconds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MAX_NS // 1000:
        raise InputError(f"{path}: node {id}: the time is not a number of microseconds from 0 to {MAX_NS // 1000}")
    return round(value * 10**6)


def _of_protobuf(path: Path, content: bytes) -> Iterator[_Node]:
    """Yields the nodes of a file of messages, each after its length."""
    try:
        from google.protobuf.message import DecodeError

        from xoff.importing.chakra_messages import METADATA, NODE
    except ImportError:
        raise InputError("chakra: traces are read by the library protobuf (pip install 'xoff[chakra]')") from None
    is_first = True
    for start, end in _bounds(path, content):
        message = (METADATA if is_first else NODE)()
        try:
            message.ParseFromString(content[start:end])
        except DecodeError:
            raise InputError(f"{path}: the message at byte {start} is not a message of a Chakra trace") from None
        if not is_first:
            if not 0 <= message.type < len(_NODE_TYPES):
                raise InputError(f"{path}: node {message.id}: unknown type; allowed are {', '.join(_NODE_TYPES)}")
            after = [*message.ctrl_deps, *message.data_deps]
            time = _micro(path, message.id, message.duration_micros)
            yield _Node(message.id, _NODE_TYPES[message.type], message.name, time, after, _values(message.attr))
        is_first = False


def _bounds(path: Path, content: bytes) -> Iterator[tuple[int, int]]:
    """Yields begin and end of each message."""
    at = 0
    while at < len(content):
        length, start = _length(path, content, at)
        # The first message describes the file, and may have nothing to say. A node has a number or a type.
        if not length and at:
            raise InputError(f"{path}: the message at byte {at} is empty; is this file a Chakra trace?")
        at = start + length
        if at > len(content):
            raise InputError(f"{path}: ends within a message, at byte {start}")
        yield start, at


def _values(attributes: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in attributes:
        if (kind := one.WhichOneof("value")) is not None:
            found[one.name] = getattr(one, kind)
    return found


def _length(path: Path, content: bytes, at: int) -> tuple[int, int]:
    """Returns the length of a message, coded in seven bits per byte, and the position of the message."""
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(content):
            break
        value |= (content[at] & 0x7F) << shift
        at += 1
        if content[at - 1] < 0x80:
            return value, at
    raise InputError(f"{path}: is not a sequence of messages with lengths, at byte {at}")
