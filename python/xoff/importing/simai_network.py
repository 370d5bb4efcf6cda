"""The network of a job of SimAI: SimAI's own topology file, or the rails of its template.

In a topology of SimAI the first nodes are GPUs. NVSwitches follow; their links are NVLink. The other switches are the
network. The first line names the GPUs of a server and their type.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xoff.importing.document import Table
from xoff.importing.hpcc_topology import read_topology
from xoff.importing.notes import Notes
from xoff.importing.source import Source, Words, shown

# Types of GPUs that NCCL's tables of xoff know, by their words in the first line.
_GPUS = ("V100", "A100", "A800", "H100", "H800", "H200", "H20", "B200", "B300")
_NVLINK = "2880Gbps"


@dataclass(slots=True)
class Fabric:
    """Tables of the scenario, nodes and links for `network.explicit`, and the GPUs of a server."""

    tables: list[Table]
    per_server: int
    nodes: list[tuple[str, str, int | None]] = field(default_factory=list)
    links: list[tuple[str, str, int, int]] = field(default_factory=list)
    has_servers: bool = True


def servers(per_server: int, nvlink: str, gpu: str = "h100") -> list[Table]:
    """Returns the tables of servers for the library ``nccl``."""
    found = Table("network.servers", {"gpus": per_server, "gpu": gpu})
    return [found, Table("network.servers.nvlink", {"rate": nvlink})]


def of_template(ranks: int, per_server: int, *, is_nccl: bool) -> Fabric:
    """Returns servers on rails as in SimAI's template, or a star if the GPUs do not fill several servers."""
    if ranks % per_server or ranks <= per_server:
        star = [
            Table("network.star", {"hosts": ranks}),
            Table("network.star.link", {"rate": _NVLINK, "delay": "25ns"}),
        ]
        return Fabric(star, ranks, has_servers=False)
    tables = [Table("network.rail", {"servers": ranks // per_server, "gpus_per_server": per_server})]
    if is_nccl:
        tables += servers(per_server, _NVLINK)
    else:
        tables.append(Table("network.rail.scale_up", {"rate": _NVLINK, "delay": "25ns"}))
    return Fabric([*tables, Table("network.rail.rail", {"rate": "400Gbps", "delay": "500ns"})], per_server)


def of_topology(source: Source, ranks: int, notes: Notes) -> Fabric:
    """Returns the network of a topology file of SimAI. Raises `InputError` with the line if it is not one."""
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
    if per_server == 0 or gpus % per_server:
        source.wrong(1, f"{gpus:,} GPUs do not fill servers of {per_server:,}")
    inside = range(gpus, gpus + nvswitches)
    nvlink = [bps for a, b, bps, _ in network.links if a in inside or b in inside]
    kept = [link for link in network.links if link[0] not in inside and link[1] not in inside]
    linked = {end for a, b, _, _ in kept for end in (a, b)}
    if alone := [gpu for gpu in range(gpus) if gpu not in linked]:
        source.wrong(1, f"GPU {alone[0]} has no link to a switch of the network")
    notes.add(source, 1, "NVSwitches and their links are NVLink of the servers (network.servers)", matters=False)
    explicit = Table("network.explicit", {"nodes_table": "nodes.csv", "links_table": "links.csv"})
    rate = f"{max(nvlink)}bps" if nvlink else _NVLINK
    return Fabric(
        [explicit, *servers(per_server, rate, gpu.lower())],
        per_server,
        [
            (network.name(node), "switch" if is_switch else "host", None)
            for node, is_switch in enumerate(network.is_switch)
            if node not in inside
        ],
        [(network.name(a), network.name(b), bps, delay) for a, b, bps, delay in kept],
    )
