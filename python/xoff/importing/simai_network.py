"""The network of a job of SimAI: SimAI's own topology file, or the rails of its template.

In a topology of SimAI the first nodes are GPUs. NVSwitches follow; their links are NVLink. The other switches are the
network. The first line names the GPUs of a server and their type.

NCCL's collectives (``library = nccl``) have the NVLink of ``network.servers``. Textbook collectives send packets:
NVSwitches become switches, and NVLinks become links for packets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NoReturn

from xoff.importing.document import Table, Value, rate, time
from xoff.importing.hpcc_errors import faults
from xoff.importing.hpcc_network import Network
from xoff.importing.hpcc_topology import read_topology
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words, shown

PAYLOAD = 9000
"""Bytes of a packet's payload."""
# Types of GPUs that NCCL's tables of xoff know, by their words in the first line.
_GPUS = ("V100", "A100", "A800", "H100", "H800", "H200", "H20", "B200", "B300")
_NVLINK, _RAIL = "2880Gbps", "400Gbps"
_HEADER = 48


@dataclass(slots=True)
class Fabric:
    """Tables of the scenario, and nodes and links for `network.explicit`."""

    tables: list[Table]
    nodes: list[tuple[str, str, int | None]] = field(default_factory=list)
    links: list[tuple[str, str, int, int]] = field(default_factory=list)


def fills_servers(ranks: int, per_server: int) -> bool:
    """Whether the GPUs fill several servers."""
    return ranks % per_server == 0 and ranks > per_server


def of_template(source: Source, ranks: int, per_server: int, notes: Notes, *, is_nccl: bool) -> Fabric:
    """Returns servers on rails as in SimAI's template, or a star if the GPUs do not fill several servers."""
    text = "the network is not in the file"
    if not fills_servers(ranks, per_server):
        notes.add(
            source, (), f"{text}: a star of {ranks:,} GPUs at {_NVLINK}, which do not fill servers of {per_server:,}"
        )
        link: dict[str, Value] = {"rate": _NVLINK, "delay": "25ns"}
        return Fabric([Table("network.star", {"hosts": ranks}), Table("network.star.link", link)])
    notes.add(
        source, (), f"{text}: rails as in SimAI's template, {_NVLINK} in servers of {per_server:,}, {_RAIL} on rails"
    )
    tables = [Table("network.rail", {"servers": ranks // per_server, "gpus_per_server": per_server})]
    if is_nccl:
        tables += [_servers(per_server, "H100"), Table("network.servers.nvlink", {"rate": _NVLINK})]
    else:
        tables.append(Table("network.rail.scale_up", {"rate": _NVLINK, "delay": "25ns"}))
    return Fabric([*tables, Table("network.rail.rail", {"rate": _RAIL, "delay": "500ns"})])


def _servers(per_server: int, gpu: str) -> Table:
    return Table("network.servers", {"gpus": per_server, "gpu": gpu.lower()})


@dataclass(slots=True)
class Topology:
    """A topology file of SimAI."""

    source: Source
    network: Network
    gpus: int
    per_server: int
    nvswitches: range
    gpu: str
    """The type of the GPUs."""

    @property
    def has_nvlink(self) -> bool:
        """Whether NCCL's collectives can run: servers of several GPUs have NVSwitches."""
        return self.per_server == 1 or bool(self.nvswitches)

    def fabric(self, notes: Notes, *, is_nccl: bool) -> Fabric:
        """Returns the network for the collectives of a library. Raises `InputError` if NCCL cannot use the NVLink."""
        return self._with_servers(notes) if is_nccl else self._of_packets(notes)

    def _with_servers(self, notes: Notes) -> Fabric:
        inside = self.nvswitches
        kept = Network(self.network.is_switch)
        kept.links = [link for link in self.network.links if link[0] not in inside and link[1] not in inside]
        kept.errors = {ends: error for ends, error in self.network.errors.items() if not {*ends}.intersection(inside)}
        if len(kept.errors) < len(self.network.errors):
            notes.add(self.source, (), "NVLink loses no packets in xoff: the error rates of its links are left out")
        tables = [_servers(self.per_server, self.gpu)]
        if self.per_server > 1:
            tables.append(self._nvlink(notes))
        nodes: list[tuple[str, str, int | None]] = [
            (self.network.name(node), "switch" if is_switch else "host", None)
            for node, is_switch in enumerate(self.network.is_switch)
            if node not in inside
        ]
        return self._made(kept, tables, nodes)

    def _nvlink(self, notes: Notes) -> Table:
        """Returns the NVLink of a GPU: the sum of the GPU's links to NVSwitches, each with the GPUs of a server."""
        rates, delays = Counter[int](), set()
        joined: dict[int, set[int]] = {node: set() for node in self.nvswitches}
        for a, b, bps, delay in self.network.links:
            for switch, gpu in ((a, b), (b, a)):
                if switch in joined:
                    if gpu >= self.gpus:
                        self._wrong(
                            f"NVSwitch {switch} is linked to node {gpu}, which is no GPU; give --library textbook"
                        )
                    joined[switch].add(gpu // self.per_server)
                    rates[gpu] += bps
                    delays.add(delay)
        if several := [switch for switch, servers in joined.items() if len(servers) > 1]:
            self._wrong(f"NVSwitch {several[0]} joins several servers; give --library textbook")
        for gpu in range(self.gpus):
            if rates[gpu] != rates[0]:
                unlike = f"GPU {gpu} has NVLinks of {rate(rates[gpu])} together, and GPU 0 of {rate(rates[0])}"
                self._wrong(f"{unlike}; give --library textbook")
        latency = 2 * max(delays)
        if len(delays) > 1:
            notes.add(self.source, (), f"NVLinks have several delays: the longest, {time(max(delays))}, is that of all")
        text = (
            "NVSwitches and their links are the NVLink of the servers (network.servers): the rates of a GPU's links add"
        )
        notes.add(self.source, 1, f"{text} up", matters=False)
        return Table("network.servers.nvlink", {"rate": rate(rates[0]), "latency": time(max(latency, 1))})

    def _of_packets(self, notes: Notes) -> Fabric:
        network, inside = self.network, self.nvswitches
        # A host takes its lowest port of several, and ports are in the order of links.
        network.links.sort(key=lambda link: link[0] not in inside and link[1] not in inside)
        tables = []
        switches: list[set[int]] = [set() for _ in range(self.gpus)]
        for a, b, _, _ in network.links:
            for gpu, switch in ((a, b), (b, a)):
                if gpu < self.gpus and switch not in inside:
                    switches[gpu].add(switch)
        if inside:
            notes.add(self.source, 1, "NVSwitches are switches, and NVLinks are links for packets", matters=False)
            if self._has_ties(switches):
                tables.append(Table("host", {"first_hop": "lowest"}, "Within a server packets take NVLink."))
                if any(len(one) > 1 for one in switches):
                    text = "GPUs of a server have a common switch: packets leave by the first port of several, which is"
                    notes.add(self.source, (), f"{text} NVLink in a server, and always the same NIC to other servers")
        else:
            notes.add(self.source, 1, "the topology has no NVSwitch: GPUs of a server talk over their NICs")
        kind = "host" if self._is_joined(switches) else "relay"
        if kind == "relay":
            text = "no part of the network joins all GPUs over switches: GPUs relay packets (kind relay in nodes.csv)"
            notes.add(self.source, (), text)
        nodes: list[tuple[str, str, int | None]] = [
            (network.name(node), "switch" if is_switch else kind, None)
            for node, is_switch in enumerate(network.is_switch)
        ]
        return self._made(network, tables, nodes)

    def _has_ties(self, switches: list[set[int]]) -> bool:
        """Whether two GPUs of a server have a common switch of the network, as near as an NVSwitch."""
        for first in range(0, self.gpus, self.per_server):
            counts = Counter(switch for one in switches[first : first + self.per_server] for switch in one)
            if any(count > 1 for count in counts.values()):
                return True
        return False

    def _is_joined(self, switches: list[set[int]]) -> bool:
        """Whether switches of the network join all GPUs.

        switches: the switches at each GPU.
        """
        found = self.network.joined_switches(set(self.nvswitches))
        return bool(set.intersection(*({found(switch) for switch in one} for one in switches)))

    def _made(self, network: Network, tables: list[Table], nodes: list[tuple[str, str, int | None]]) -> Fabric:
        explicit = Table("network.explicit", {"nodes_table": "nodes.csv", "links_table": "links.csv"})
        links = [(network.name(a), network.name(b), bps, delay) for a, b, bps, delay in network.links]
        lossy = faults(network, PAYLOAD + _HEADER, 0, has_pfc=True)
        return Fabric([explicit, *tables, *lossy], nodes, links)

    def _wrong(self, why: str) -> NoReturn:
        self.source.wrong(1, why)


def of_topology(source: Source, ranks: int, notes: Notes) -> Topology:
    """Returns a topology file of SimAI. Raises `InputError` with the line if it is not one."""
    words = Words(source)
    nodes, per_server, nvswitches, switches, _ = (words.whole("a number of the first line", 2**22) for _ in range(5))
    kind = words.take("the type of GPUs")
    gpu = next((one for one in _GPUS if one == kind.upper()), None)
    if gpu is None:
        source.wrong(1, f"{shown(kind)} is no type of GPUs; known are {', '.join(_GPUS)}")
    network = read_topology(source, notes, has_servers=True)
    gpus = nodes - nvswitches - switches
    if gpus != ranks or any(network.is_switch[:gpus]):
        source.wrong(1, f"the topology has {gpus:,} GPUs, and the workload {ranks:,}")
    if not all(network.is_switch[gpus:]):
        source.wrong(1, f"node {network.is_switch.index(False, gpus)} is none of the {gpus:,} GPUs, and is no switch")
    if per_server == 0 or gpus % per_server:
        source.wrong(1, f"{gpus:,} GPUs do not fill servers of {per_server:,}")
    inside = range(gpus, gpus + nvswitches)
    linked = {
        gpu for a, b, _, _ in network.links for gpu, other in ((a, b), (b, a)) if gpu < gpus and other not in inside
    }
    if alone := [gpu for gpu in range(gpus) if gpu not in linked]:
        source.wrong(1, f"GPU {alone[0]} has no link to a switch of the network")
    return Topology(source, network, gpus, per_server, inside, gpu)
