"""Scenarios of the HPCC family of ns-3 simulators: a topology, flows, and a file of settings.

HPCC's ``third.cc`` and ConWeave's ``network-load-balance.cc`` read these files as streams of words: line breaks do not
matter, and text after the last expected word is a comment. The first line of a topology identifies the program
(``hpcc_topology.py``). A flow has six values in HPCC (source, destination, priority group, destination port, bytes,
start in seconds), and five in ConWeave, which has no port. In these programs kB are 1000 bytes and MB 1024 · 1024,
ports are numbered from 1, and traffic begins at 2 s.
"""

from __future__ import annotations

from array import array
from itertools import islice, takewhile
from typing import TypeAlias

from xoff.importing.document import Flow, Imported, Table, Workload, listed, time
from xoff.importing.hpcc_network import Network
from xoff.importing.hpcc_settings import Settings
from xoff.importing.hpcc_topology import read_topology
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words

_MAX_FLOWS = 2**24
# Each priority group and port is a workload with results of its own; too many workloads would be useless.
_MAX_WORKLOADS = 16
# Start of traffic in the generators of this family.
_BEGIN_PS = 2 * 10**12

Group: TypeAlias = tuple[int, int | None]
"""Priority group and destination port of a flow."""


def convert(topology: Source, flows: Source, config: Source | None) -> Imported:
    """Returns the scenario of the files. Raises `InputError` if they are not valid."""
    notes = Notes()
    network = read_topology(topology, notes)
    is_conweave, read = _flows(flows, network, notes)
    settings = Settings(config, network, notes, is_conweave=is_conweave)
    begin = _begin(flows, read.flows, settings)
    for one in read.flows:
        one.start -= begin
    groups = _groups(flows, read, notes)
    classes = sorted({pg for pg, _ in groups})
    files = listed(one.name for one in (topology, flows, config) if one is not None)
    explicit = Table(
        "network.explicit",
        {"nodes_table": "nodes.csv", "links_table": "links.csv"},
        "Node 7 of the topology is h7 as a host and s7 as a switch. Port p of the original is port p - 1 in xoff.",
    )
    relays = _relays(flows, network, read.flows, notes)
    nodes: list[tuple[str, str, int | None]] = [
        (network.name(node), "switch" if is_switch else "relay" if node in relays else "host", None)
        for node, is_switch in enumerate(network.is_switch)
    ]
    found = Imported(
        about=f"Imported from {files}, files of the HPCC family of ns-3 simulators.",
        name=flows.path.stem,
        top=settings.top(begin),
        tables=[explicit, *settings.tables(len(classes))],
        nodes=nodes,
        links=[(network.name(a), network.name(b), bps, delay) for a, b, bps, delay in network.links],
        workloads=[
            Workload(
                f"group {pg}" if port is None else f"group {pg}, port {port}",
                of_group,
                classes.index(pg),
                _said_of_flows(begin) if index == 0 else "",
            )
            for index, ((pg, port), of_group) in enumerate(groups.items())
        ],
        notes=notes,
    )

    def place(which: int, row: int) -> str:
        index = int([one for one in found.workloads if one.flows][which].flows[row].id)
        return flows.place(_line(flows, index, 5 if is_conweave else 6))

    found.file, found.place, found.origins = flows.path, place, settings.origins
    return found


def _line(source: Source, index: int, values: int) -> int:
    """Returns the line of the last value of a flow."""
    return next(islice((line for _, line in source.words()), (index + 1) * values, None))


def _relays(source: Source, network: Network, flows: list[Flow], notes: Notes) -> set[int]:
    """Returns the hosts that have to relay packets, because a flow has no path over switches alone."""
    meet = network.meets()
    for index, one in enumerate(flows):
        a, b = (int(str(end)[1:]) for end in (one.src, one.dst))
        if not meet(a, b):
            text = (
                f"flow {index}, from {one.src} to {one.dst}, has no path over switches; hosts with several links relay"
            )
            notes.add(source, (), f"{text} packets in xoff (kind relay in nodes.csv), and not in the original")
            return network.joined_hosts()
    return set()


def _said_of_flows(begin: int) -> str:
    taken = f"Starts are the starts of the input less {time(begin)}. " if begin else ""
    return (
        f"{taken}The id of a flow is the index in the input, from 0. A completion time of the original ends "
        "with the last ACK "
        "at the sender: fct_acked_ps of the table flows."
    )


class _Read:
    """The flows in the order of the input, with the starts of the input in picoseconds."""

    def __init__(self) -> None:
        self.flows: list[Flow] = []
        self.kinds: dict[Group, int] = {}
        """The groups, numbered in order of appearance."""
        self.of = array("L")
        """The number of each flow's group: a million flows have few groups."""


def _flows(source: Source, network: Network, notes: Notes) -> tuple[bool, _Read]:
    """Returns whether flows have five values, and all flows."""
    words = Words(source)
    count = words.whole("the number of flows", _MAX_FLOWS)
    has_port = _values(source, count) == 6
    found = _Read()
    most = len(network.is_switch) - 1
    names = [network.name(node) for node in range(most + 1)]
    for index in range(count):
        ends = []
        for what in ("the source of a flow", "the destination of a flow"):
            node = words.whole(what, most)
            if network.is_switch[node]:
                source.wrong(words.line, f"{what}: node {node} is a switch; flows go from host to host")
            ends.append(node)
        line = words.line
        if ends[0] == ends[1]:
            source.wrong(line, f"host {ends[0]} sends to itself")
        group = words.whole("the priority group of a flow", 7)
        port = words.whole("the destination port of a flow", 65_535) if has_port else None
        size = words.whole("the bytes of a flow")
        if size == 0:
            notes.add(source, words.line, "a flow of 0 B is sent as 1 B")
        start = source.scaled(words.take("the start of a flow"), words.line, "the start of a flow", 10**12)
        found.flows.append(Flow(names[ends[0]], names[ends[1]], max(1, size), start, index))
        found.of.append(found.kinds.setdefault((group, port), len(found.kinds)))
    if not count:
        notes.add(source, (), "the file has no flows")
    notes.add_rest(words, "flow", 6 if has_port else 5)
    notes.add(source, (), "another hash chooses among equal paths: flows share other links than in the original")
    if any(pg == 0 for pg, _ in found.kinds):
        notes.add(
            source, (), "priority group 0 is served before all others in the original, and in turn with others in xoff"
        )
    return not has_port, found


def _values(source: Source, count: int) -> int:
    """Returns the number of values of the first flow, which follows the number of flows on its line or the next."""
    words = islice(source.words(), 1, None)
    _, line = next(words, ("", source.last))
    values = 1 + sum(1 for _ in takewhile(lambda word: word[1] == line, islice(words, 7)))
    if count and values not in {5, 6}:
        many = "more" if values > 7 else values
        why = "a flow has 6 (source, destination, group, port, bytes, start) or 5 (without the port)"
        source.wrong(line, f"{many} values; {why}")
    return values


def _begin(source: Source, flows: list[Flow], settings: Settings) -> int:
    """Returns the time of the input that becomes time zero."""
    begin = settings.begin(_BEGIN_PS)
    if flows and min(one.start for one in flows) < begin:
        why = f"flows start before {time(begin)}: no time is subtracted from starts"
        settings.notes.add(source, (), why, matters=False)
        return 0
    return begin


def _groups(source: Source, read: _Read, notes: Notes) -> dict[Group, list[Flow]]:
    """Returns flows by priority group and port, or only by group if there are many ports."""
    groups = set(read.kinds)
    if len(groups) > _MAX_WORKLOADS:
        why = f"destination ports: {len(groups):,} kinds of flows would be as many workloads"
        notes.add(source, (), why, matters=False)
        groups = {(pg, None) for pg, _ in groups}
    found: dict[Group, list[Flow]] = {group: [] for group in sorted(groups, key=lambda one: (one[0], one[1] or 0))}
    lists = [found[group if group in found else (group[0], None)] for group in read.kinds]
    for kind, one in zip(read.of, read.flows, strict=True):
        lists[kind].append(one)
    if any(port is not None for _, port in found):
        notes.add(source, (), "destination ports are in the names of workloads", matters=False)
    return found
