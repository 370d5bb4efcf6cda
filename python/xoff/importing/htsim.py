"""Scenarios of htsim: a connection matrix (``.cm``), and the topology of a fat tree (``.topo``).

Both files are lines of words. A connection begins at a time or with a trigger, and one of size 0 never ends. Other
connections fire the trigger when they end. A ``oneshot`` trigger fires after one connection, and a ``barrier`` after a
given number of connections. A ``multishot`` trigger starts the next waiting connection each time. All other values
(rates and packets without a topology, queues, transports, the end of the run) are options of htsim, and no part of the
files.

In xoff, a flow can wait for flows that arrive at the source of the waiting flow. If the firing flow arrives at another
host, the import adds a message of one byte from that host to the source of the waiting flow. The class of the message
precedes all other classes, like ACKs in htsim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from xoff.importing.document import Flow, Imported, Table, Value, Workload, listed, time
from xoff.importing.htsim_topology import default_fabric, fabric
from xoff.importing.notes import Notes
from xoff.importing.source import MAX_MESSAGE, Source, shown

_MAX_HOSTS = 2**20
_MAX_FLOWS = 2**24
# A connection that a barrier starts waits for each firing connection, and for a message if the end is elsewhere.
_MAX_WAITS = 2**22
# Programs of htsim end a run after this time without ``-end``; only ``main_swift`` takes 1.2 ms.
_RUN_PS = 10**9
_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6}
UNITS = tuple(_UNITS)
"""The units of the start of a connection."""

_COUNTS = ("Nodes", "Connections", "Triggers", "Failures")
_CONNECTION = re.compile("([0-9]{1,19})->([0-9]{1,19})")
_KINDS = ("oneshot", "multishot", "barrier")


@dataclass(slots=True)
class _Connection:
    line: int
    src: int
    dst: int
    id: str = ""
    size: int = 0
    """In bytes; 0 for a connection without an end."""
    start: str | None = None
    """The text of the file."""
    trigger: str | None = None
    fires: list[str] = field(default_factory=list)
    """The triggers fired at the end of the connection."""


@dataclass(slots=True)
class _Trigger:
    line: int
    kind: str
    count: int = 0
    fired_by: list[_Connection] = field(default_factory=list)
    starts: list[_Connection] = field(default_factory=list)


@dataclass(slots=True)
class _Wait:
    """Connections that start together, after the end of a set of connections."""

    line: int
    """The line of the trigger."""
    fired_by: list[_Connection]
    """The connections waited for, each once."""
    starts: list[_Connection]
    left: int
    """The number of unfinished connections of the set."""


@dataclass(slots=True)
class _Matrix:
    nodes: int
    connections: list[_Connection]
    triggers: dict[str, _Trigger]


def convert(matrix: Source, topology: Source | None, unit: str | None) -> Imported:
    """Returns the scenario of the files. Raises `InputError` if they are not valid.

    unit: the unit of starts; needed for starts other than zero.
    """
    notes = Notes()
    read = _matrix(matrix, notes)
    network = default_fabric(read.nodes, matrix, notes) if topology is None else fabric(topology, notes)
    if topology is not None and network.hosts < read.nodes:
        topology.wrong(1, f"has {network.hosts} hosts; {matrix.name} needs {read.nodes}")
    waits = _waits(matrix, read, notes)
    flows, messages = _flows(matrix, read, waits, unit, notes)
    if read.connections and not flows:
        matrix.wrong(read.connections[0].line, "none of the connections ever starts; check their triggers")
    notes.add(
        matrix, (), "packets, queues, routes and transport are options of the original program; in xoff see the tables"
    )
    files = listed(one.name for one in (matrix, topology) if one is not None)
    pfc = Table(
        "switch.flow_control.pfc", comment="Not from the input: no packet is lost, and flows send at line rate."
    )
    classes = Table("switch", {"classes": 2}, "Class 1 carries the messages of triggers.")
    more = [
        Workload(
            "triggers",
            messages,
            1,
            "Not from the input: a message of 1 B to the source of a flow that a trigger of another host starts.",
            is_added=True,
        )
    ]
    found = Imported(
        about=f"Imported from {files}, of htsim.",
        name=matrix.path.stem,
        top=_until(matrix, flows, notes),
        tables=[*network.tables, *([classes] if messages else []), pfc],
        nodes=network.nodes,
        links=network.links,
        workloads=[Workload("connections", flows, 0, "The id of a flow is the id of the connection."), *more],
        notes=notes,
    )

    def place(which: int, row: int) -> str:
        one = [one for one in found.workloads if one.flows][which].flows[row]
        # A message in place of a trigger follows the firing flow.
        name = one.after[0] if which else one.id
        return matrix.place(next(other.line for other in read.connections if other.id == name))

    found.file, found.place = matrix.path, place
    return found


def _matrix(source: Source, notes: Notes) -> _Matrix:
    """Returns a connection matrix. Raises `InputError` if the counts of the header differ from its lines."""
    counts: dict[str, tuple[int, int]] = {}
    found = _Matrix(0, [], {})
    failures = 0
    ids: dict[str, int] = {}
    for line, words in source.lines():
        first = words[0]
        if first in _COUNTS and not found.connections and not found.triggers:
            if first in counts:
                source.wrong(line, f"{first} is also given in line {counts[first][1]}")
            most = _MAX_HOSTS if first == "Nodes" else _MAX_FLOWS
            counts[first] = (source.whole(" ".join(words[1:]), line, first, most), line)
        elif "->" in first:
            if "Nodes" not in counts:
                source.wrong(line, "the number of nodes is needed before: Nodes 16")
            one = _connection(source, line, words, counts["Nodes"][0], notes)
            if one.id in ids:
                source.wrong(line, f"duplicate id {one.id} (also in line {ids[one.id]})")
            ids[one.id] = line
            found.connections.append(one)
        elif first == "trigger":
            name, trigger = _trigger(source, line, words)
            if name in found.triggers:
                source.wrong(line, f"duplicate trigger {name} (also in line {found.triggers[name].line})")
            found.triggers[name] = trigger
        elif first == "failure":
            notes.add(source, line, "link failures are not carried over")
            failures += 1
        else:
            source.wrong(
                line, f"{shown(first)} is none of {', '.join(_COUNTS)}, a connection (0->1), trigger and failure"
            )
    if "Nodes" not in counts:
        source.wrong(1, "the number of nodes is missing: Nodes 16")
    there = {"Connections": len(found.connections), "Triggers": len(found.triggers), "Failures": failures}
    for what, number in there.items():
        said, line = counts.get(what, (0, source.last))
        if said != number:
            source.wrong(line, f"{what} {said}: there are {number}")
    found.nodes = counts["Nodes"][0]
    return found


def _connection(source: Source, line: int, words: list[str], nodes: int, notes: Notes) -> _Connection:
    ends = _CONNECTION.fullmatch(words[0])
    if ends is None:
        source.wrong(line, f"{shown(words[0])} is not two hosts, such as 0->1")
    src, dst = (source.whole(end, line, "a host", max(0, nodes - 1)) for end in ends.groups())
    if src == dst:
        source.wrong(line, f"host {src} sends to itself")
    one = _Connection(line, src, dst, f"line{line}")
    seen: set[str] = set()
    rest = iter(words[1:])
    for word in rest:
        if word not in {"id", "msg", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio"}:
            source.wrong(line, f"{shown(word)} is not a key of a connection")
        if word in seen:
            source.wrong(line, f"{word} is given twice; remove one")
        # Only triggers to fire may be several.
        if not word.endswith("_done_trigger"):
            seen.add(word)
        value = next(rest, "")
        if word == "start":
            source.number(value, line, word)
            one.start = value
            continue
        number = source.whole(value, line, word)
        if number == 0 and word not in {"size", "prio"}:
            source.wrong(line, f"{word}: must be above zero")
        if word == "id":
            one.id = str(number)
        elif word == "msg":
            one.id += f".{number}"
            notes.add(source, line, "msg: each message is a flow of its own")
        elif word == "size":
            one.size = number
        elif word == "trigger":
            one.trigger = str(number)
        elif word == "prio":
            notes.add(source, line, "prio: priorities of receivers are not carried over")
        else:
            one.fires.append(str(number))
    if "size" not in seen:
        source.wrong(line, "size is missing")
    if (one.start is None) == (one.trigger is None):
        source.wrong(line, "a connection has either a start or a trigger")
    return one


def _trigger(source: Source, line: int, words: list[str]) -> tuple[str, _Trigger]:
    name = ""
    trigger = _Trigger(line, "")
    rest = iter(words[1:])
    for word in rest:
        if word in _KINDS and not trigger.kind:
            trigger.kind = word
        elif word == "id" and not name:
            name = str(source.whole(next(rest, ""), line, "id"))
        elif word == "count" and not trigger.count:
            trigger.count = source.whole(next(rest, ""), line, "count")
        else:
            source.wrong(line, f"{shown(word)} is not a key of a trigger, or is given twice")
    if not name or name == "0":
        source.wrong(line, "a trigger needs an id above zero")
    if not trigger.kind:
        source.wrong(line, f"a trigger is one of {', '.join(_KINDS)}")
    return name, trigger


def _waits(source: Source, read: _Matrix, notes: Notes) -> dict[str, _Wait]:
    """Returns, by id, the wait of each connection with a trigger; connections that never start are left out."""
    for one in read.connections:
        for name in one.fires:
            _named(source, read, one, name).fired_by.append(one)
        if one.trigger is not None:
            _named(source, read, one, one.trigger).starts.append(one)
    found = [wait for name, trigger in read.triggers.items() for wait in _of_trigger(source, name, trigger, notes)]
    # In the order of starts: flows in a cycle never start.
    following = _following(found)
    # A connection without an end fires nothing.
    queue = [one.id for one in read.connections if one.start is not None and one.size] if found else []
    waits: dict[str, _Wait] = {}
    while queue:
        for wait in following.get(queue.pop(), ()):
            wait.left -= 1
            if not wait.left:
                waits.update((one.id, wait) for one in wait.starts)
                queue += [one.id for one in wait.starts if one.size]
    never = [one.line for one in read.connections if one.trigger is not None and one.id not in waits]
    if never:
        why = "never starts, as in htsim, because its trigger does not fire, or not often enough; left out"
        notes.add(source, never, why)
    return waits


def _of_trigger(source: Source, name: str, trigger: _Trigger, notes: Notes) -> list[_Wait]:
    """Returns the waits of a trigger; none for a trigger that is fired too rarely."""
    fired, starts = trigger.fired_by, trigger.starts
    if trigger.kind == "oneshot" and len(fired) > 1:
        source.wrong(
            fired[1].line, f"trigger {name} is oneshot, and fired by {len(fired)}; a barrier waits for several"
        )
    if trigger.kind == "barrier" and len(fired) > trigger.count:
        source.wrong(trigger.line, f"trigger {name} counts to {trigger.count}, and is fired {len(fired)} times")
    if trigger.kind == "multishot":
        if len(fired) > 1:
            notes.add(source, trigger.line, "multishot: the flows wait for one firing each, in the order of the file")
        return [_Wait(trigger.line, [by], [one], 1) for one, by in zip(starts, fired, strict=False)]
    if not fired or (trigger.kind == "barrier" and len(fired) < trigger.count):
        return []
    # A connection may fire a trigger with its first message and with its last.
    each = list({by.id: by for by in fired}.values())
    return [_Wait(trigger.line, each, starts, len(each))]


def _following(waits: Iterable[_Wait]) -> dict[str, list[_Wait]]:
    """Returns the waits for each connection, by id."""
    found: dict[str, list[_Wait]] = {}
    for wait in waits:
        for by in wait.fired_by:
            found.setdefault(by.id, []).append(wait)
    return found


def _named(source: Source, read: _Matrix, one: _Connection, name: str) -> _Trigger:
    if name not in read.triggers:
        source.wrong(one.line, f"unknown trigger {name}")
    return read.triggers[name]


def _flows(
    source: Source, read: _Matrix, waits: dict[str, _Wait], unit: str | None, notes: Notes
) -> tuple[list[Flow], list[Flow]]:
    """Returns the flows, and the messages that stand for triggers."""
    flows: list[Flow] = []
    messages: dict[tuple[str, int], Flow] = {}
    _check_waits(source, waits.values())
    for one in read.connections:
        if one.start is None and one.id not in waits:
            continue
        start = 0
        if one.start is not None and unit is None:
            if source.number(one.start, one.line, "start"):
                why = (
                    "is in microseconds for some programs and in picoseconds for others: give --start-unit us, ns or ps"
                )
                source.wrong(one.line, f"start {shown(one.start)} {why}")
        elif one.start is not None:
            start = source.scaled(one.start, one.line, "start", _UNITS[unit or "ps"])
        after: list[str] = []
        for by in waits[one.id].fired_by if one.id in waits else ():
            if by.dst == one.src:
                after.append(by.id)
                continue
            after.append(f"{by.id}-{one.src}")
            messages.setdefault((by.id, one.src), Flow(by.dst, one.src, 1, 0, after[-1], (by.id,)))
            notes.add(
                source, one.line, "waits for a flow that ends at another host: a message of 1 B carries the trigger"
            )
        if not one.size:
            notes.add(source, one.line, f"size 0: a flow without an end, of {MAX_MESSAGE} B here")
        flows.append(
            Flow(one.src, one.dst, one.size or MAX_MESSAGE, start, one.id, tuple(after), is_endless=not one.size)
        )
    return flows, list(messages.values())


def _check_waits(source: Source, waits: Iterable[_Wait]) -> None:
    """Raises `InputError` if barriers have more pairs of waiting and firing connections than can be simulated."""
    total = 0
    for wait in {id(one): one for one in waits}.values():
        total += len(wait.starts) * len(wait.fired_by)
        if total > _MAX_WAITS:
            many = f"{len(wait.starts):,} connections wait for {len(wait.fired_by):,} each"
            source.wrong(wait.line, f"{many}; {_MAX_WAITS:,} waits are allowed in all")


def _until(source: Source, flows: list[Flow], notes: Notes) -> dict[str, Value]:
    """Returns the end of the run if flows have no end of their own."""
    if not any(flow.is_endless for flow in flows):
        return {}
    until = time(max(flow.start for flow in flows) + _RUN_PS)
    text = f"flows without an end last until the end of the run (until), {time(_RUN_PS)} after the last start"
    notes.add(source, (), f"{text}, which is the default of htsim's -end; set until to the time that you gave htsim")
    return {"until": until}
