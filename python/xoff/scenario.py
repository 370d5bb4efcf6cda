"""The scenario as typed classes: `Scenario` and its parts, with the names of the file's keys.

Written by `make generate` from the schema of the Rust types; do not edit.
A field that is left out has the default of the simulator. An alternative, such as the kind of network, is a class
with one field for each choice, of which exactly one is given: ``Network(star=Star(hosts=4))``.
Quantities are texts with a unit, such as ``"150ns"``, ``"200Gbps"`` and ``"400KB"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

__all__ = [
    "Adaptive",
    "Aggregation",
    "AllToAll",
    "Asymmetric",
    "Audits",
    "Bcn",
    "Bernoulli",
    "Bfc",
    "Buffer",
    "ClassScheduler",
    "Classify",
    "Collective",
    "Collectives",
    "Compute",
    "CongestionControl",
    "CongestionControlBcn",
    "CongestionControlQcn",
    "CongestionIsolation",
    "ControlTimes",
    "Conweave",
    "Credits",
    "CutThrough",
    "Dcqcn",
    "Dctcp",
    "Drill",
    "Dynamic",
    "Ecn",
    "Edge",
    "Egress",
    "ExpertTraffic",
    "Explicit",
    "Failover",
    "Family",
    "FatTree",
    "Fault",
    "FaultTime",
    "Faults",
    "FirstHop",
    "Flow",
    "FlowControl",
    "Flowlet",
    "Framing",
    "GoBackN",
    "Graph",
    "Group",
    "HostOverride",
    "HostSettings",
    "Hpcc",
    "HpccPint",
    "Incast",
    "Irn",
    "Kv",
    "LeafSpine",
    "Lengths",
    "Line",
    "Link",
    "LinkOverride",
    "LinkRetry",
    "Measured",
    "Mice",
    "Model",
    "Moe",
    "Nccl",
    "Ndc",
    "Ndp",
    "Network",
    "Node",
    "Nscc",
    "Numbers",
    "NvLink",
    "Override",
    "Oversubscription",
    "Parallel",
    "ParameterServer",
    "Permutation",
    "Pfc",
    "Pint",
    "Poisson",
    "Pool",
    "Portfc",
    "Probe",
    "Processor",
    "Profile",
    "Python",
    "PythonControl",
    "PythonDeclarations",
    "Qcn",
    "Rail",
    "Rccc",
    "Red",
    "Reducers",
    "Relay",
    "RepeatedIncast",
    "Reps",
    "Router",
    "Routing",
    "Row",
    "Scenario",
    "Selective",
    "Servers",
    "Serving",
    "ServingArrivals",
    "ServingCompute",
    "ServingNumbers",
    "ServingRow",
    "Sfc",
    "Shared",
    "Shares",
    "Slo",
    "Spray",
    "Star",
    "Step",
    "Swift",
    "Switch",
    "Telemetry",
    "TensorTraffic",
    "ThreeTierClos",
    "Thresholds",
    "Timely",
    "Training",
    "Transport",
    "Trimming",
    "Turns",
    "Watchdog",
    "Workload",
]


def _plain(value: Any) -> Any:
    if isinstance(value, _Part):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


class _Part:
    """A part of a scenario."""

    def to_dict(self) -> dict[str, Any]:
        """Return the part as the dictionary that a file would hold, without the fields that were left out."""
        values = {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in values.items() if value is not None}


@dataclass(kw_only=True)
class Link(_Part):
    """A full-duplex link's rate and propagation delay."""

    rate: str
    """Bits per second, each way."""

    delay: str
    """Propagation delay, or the length of the cable (`"30m"`, 5 ns a metre); may be zero."""


@dataclass(kw_only=True)
class Star(_Part):
    """`network.star`."""

    hosts: int
    """Hosts."""

    link: Link
    """Every link."""


@dataclass(kw_only=True)
class Line(_Part):
    """`network.line`."""

    switches: int
    """Switches."""

    hosts_per_switch: int | None = None
    """Hosts at each switch."""

    link: Link
    """Every link."""

    fabric_link: Link | None = None
    """Links between switches. Default: `link`."""


@dataclass(kw_only=True)
class LeafSpine(_Part):
    """`network.leaf_spine`."""

    leaves: int
    """Leaf switches."""

    spines: int
    """Spine switches."""

    hosts_per_leaf: int
    """Hosts at each leaf."""

    link: Link
    """Every link."""

    fabric_link: Link | None = None
    """Links between leaves and spines. Default: `link`."""

    parallel: int | None = None
    """Parallel links from each leaf to each spine."""


@dataclass(kw_only=True)
class ThreeTierClos(_Part):
    """`network.three_tier_clos`."""

    pods: int
    """Pods."""

    access_per_pod: int
    """Access switches of a pod."""

    aggregation_per_pod: int
    """Aggregation switches of a pod."""

    cores: int
    """Core switches."""

    hosts_per_access: int
    """Hosts at each access switch."""

    access_uplinks: int | None = None
    """Parallel links from an access switch to each aggregation switch of its pod."""

    core_uplinks: int | None = None
    """Parallel links from an aggregation switch to each linked core."""

    cores_per_aggregation: int | None = None
    """Cores linked to each aggregation switch, those of its plane: aggregation switch a of every pod to cores a·n …
    a·n + n − 1 (mod cores). Default: all.
    """

    link: Link
    """Every link."""

    fabric_link: Link | None = None
    """Links between switches. Default: `link`."""


@dataclass(kw_only=True)
class FatTree(_Part):
    """`network.fat_tree`."""

    k: int
    """Ports of a switch: even, 2 to 64."""

    link: Link
    """Every link."""


@dataclass(kw_only=True)
class Ndc(_Part):
    """`network.ndc`."""

    n: int
    """Ports of a switch, 2 or more."""

    k: int | None = None
    """Levels above level 0."""

    link: Link
    """Every link."""

    levels: Sequence[Link] | None = None
    """Links of each level from 0 on. Default: `link`."""


@dataclass(kw_only=True)
class Aggregation(_Part):
    """`network.rail.aggregation`."""

    switches: int
    """Switches, each linked to every rail switch."""

    link: Link
    """Links from rail switches to aggregation switches."""

    segments: int | None = None
    """Groups of servers with separate rail switches, joined by aggregation switches only."""


@dataclass(kw_only=True)
class Rail(_Part):
    """`network.rail`."""

    servers: int
    """Servers (of each segment)."""

    gpus_per_server: int
    """GPUs of a server with a NIC of their own, which is the number of rails; with `network.servers` the NICs of a
    server.
    """

    scale_up: Link | None = None
    """Links within a server, for packets: the high-bandwidth domain. With `network.servers` there may be none: GPUs
    then do not relay, and `library = "nccl"` has NVLink.
    """

    rail: Link
    """Links from GPUs to rail switches."""

    aggregation: Aggregation | None = None
    """A layer of switches above the rails: rail-optimised. Default: rail-only."""


@dataclass(kw_only=True)
class Node(_Part):
    """A listed node."""

    name: str
    """Unique name."""

    kind: Literal["host", "switch", "relay"]
    """The kind of the node."""

    delay: str | None = None
    """Forwarding delay of the node. Default: that of the scenario."""


@dataclass(kw_only=True)
class Edge(_Part):
    """A listed link."""

    a: str
    """Name of one end."""

    b: str
    """Name of the other end."""

    rate: str
    """Bits per second, each way."""

    delay: str
    """Propagation delay, or the length of the cable."""


@dataclass(kw_only=True)
class Explicit(_Part):
    """`network.explicit`: lists, or CSV or Parquet files with the same columns."""

    nodes: Sequence[Node] | None = None
    """Nodes; hosts are numbered first, each kind in the order listed."""

    links: Sequence[Edge] | None = None
    """Links; their order at a node sets the port numbers of the node."""

    nodes_table: str | None = None
    """A file with nodes: columns name, kind and optionally delay."""

    links_table: str | None = None
    """A file with links: columns a, b, rate, delay."""


@dataclass(kw_only=True)
class LinkOverride(_Part):
    """`network.overrides`: a link that differs from its shape."""

    link: str
    """The link, by the names of its ends in either order, such as `leaf1-spine3`; `*` stands for any characters."""

    rate: str | None = None
    """Bits per second, each way."""

    delay: str | None = None
    """Propagation delay, or the length of the cable."""


@dataclass(kw_only=True)
class Reducers(_Part):
    """`network.reducers`: switches that reduce."""

    switches: str
    """Names of switches; `*` stands for any characters."""

    link: Link
    """The link of the reducer, for the data of all ranks together. A switch that reduces at line rate needs the sum of
    the ranks' rates.
    """


@dataclass(kw_only=True)
class NvLink(_Part):
    """`network.servers.nvlink`."""

    rate: str | None = None
    """Rate of a GPU in each direction. Default: the rate that NCCL assumes for the GPU's type."""

    latency: str | None = None
    """From GPU to GPU without load."""


@dataclass(kw_only=True)
class Servers(_Part):
    """`network.servers`."""

    gpus: int
    """GPUs of a server."""

    nics: int | None = None
    """NICs of a server: a divisor or a multiple of the GPUs. Default: one for each GPU."""

    gpu: Literal["v100", "a100", "a800", "h100", "h800", "h200", "h20", "b200", "b300", "rtx5090"] | None = None
    """Type of the GPUs."""

    cpu: Literal["intel", "amd", "arm"] | None = None
    """Maker of the CPUs."""

    nvlink: NvLink | None = None
    """NVLink of a GPU. Default: the NVLinks of the GPU's type."""


@dataclass(kw_only=True)
class Failover(_Part):
    """`network.failover`."""

    local_repair_delay: str | None = None
    """A node stops choosing a port whose link has been down for this time, and chooses the port again when the link
    has been back for as long. Default: never.
    """

    convergence_time: str | None = None
    """All routes are computed anew this long after a link went down, or came back, and stayed so. Default: never."""


@dataclass(kw_only=True)
class LinkRetry(_Part):
    """`network.link_retry`."""

    links: Sequence[str] | None = None
    """Links, by the names of their ends: `leaf0-spine1`; `*` stands for any characters. Default: all links."""

    frames: int | None = None
    """Largest number of frames without acknowledgement."""

    buffer: str | None = None
    """Largest number of bytes without acknowledgement."""

    timeout: str | None = None
    """A frame that was damaged again is sent again this long after its last start."""

    max_retries: int | None = None
    """A frame that was damaged this often is lost."""


@dataclass(kw_only=True)
class Network(_Part):
    """`network`: exactly one shape."""

    star: Star | None = None
    """Hosts around one switch."""

    line: Line | None = None
    """Switches in a row, hosts at each."""

    leaf_spine: LeafSpine | None = None
    """Leaves with hosts, each linked to every spine."""

    three_tier_clos: ThreeTierClos | None = None
    """Pods of access and aggregation switches under cores."""

    fat_tree: FatTree | None = None
    """The k-ary fat tree (Al-Fares, Loukissas, Vahdat 2008)."""

    ndc: Ndc | None = None
    """The node-centric NDC(n, k) (`BCube`), whose hosts relay."""

    rail: Rail | None = None
    """GPU servers joined by rails: rail-only or rail-optimised."""

    explicit: Explicit | None = None
    """Nodes and links listed."""

    planes: int | None = None
    """Number of copies of all switches. Every host has links to each copy, as a card with a port in each plane; no
    link joins two planes. Switches are then called `p0.leaf0`, `p1.leaf0`, …. A flow leaves by one port
    (`host.first_hop`), and moves to another port when the first leads nowhere (`network.failover`). Default: 1.
    """

    overrides: Sequence[LinkOverride] | None = None
    """Links that differ from the shape. The last override of a link counts."""

    reducers: Sequence[Reducers] | None = None
    """Switches that reduce, for collectives with `algorithm = "in_network"`."""

    servers: Servers | None = None
    """Servers of GPUs, for collectives with `library = "nccl"`."""

    failover: Failover | None = None
    """Routes after links go down (`fault`)."""

    link_retry: LinkRetry | None = None
    """Links repeat damaged frames (`fault.bit_error_rate`), as Ultra Ethernet's LLR."""


@dataclass(kw_only=True)
class Framing(_Part):
    """`framing`: how payload becomes frames."""

    payload: str | None = None
    """Payload of a full packet."""

    header: str | None = None
    """Headers of each packet."""

    preamble_and_ifg: str | None = None
    """Preamble and gap, added to every frame."""

    control_frame_size: str | None = None
    """Size of ACKs and of all other control frames."""

    min_frame_size: str | None = None
    """No frame is smaller."""


@dataclass(kw_only=True)
class CutThrough(_Part):
    """`switch.cut_through`."""

    header: str | None = None
    """Bytes at the start of a frame after which a switch forwards the frame."""


@dataclass(kw_only=True)
class Group(_Part):
    """`switch.buffer.shared.groups[]`: missing keys keep the general value."""

    classes: Sequence[int]
    """The classes with these values."""

    alpha: float | None = None
    """Share of the pool's free bytes."""

    reserve: str | None = None
    """Memory reserved for each ingress port and class."""

    headroom: str | None = None
    """Headroom of each ingress port and class."""

    together: bool | None = None
    """The classes count together, with one threshold, reserve and headroom at each ingress port, as the traffic
    classes of a priority group do. Default: each class counts by itself.
    """


@dataclass(kw_only=True)
class Egress(_Part):
    """`switch.buffer.shared.egress[]`: a packet without room here is dropped, also in a lossless class."""

    classes: Sequence[int] | None = None
    """The classes of the pool. Default: all."""

    total: str
    """Most bytes of all queues of the pool together."""

    limit: str | None = None
    """Most bytes of a queue. Default: the total."""

    alpha: float | None = None
    """Share of the pool's free bytes that a queue may use. Default: no share."""


@dataclass(kw_only=True)
class Shared(_Part):
    """`switch.buffer.shared`."""

    total: str
    """Memory of the switch."""

    alpha: float | None = None
    """Share of the pool's free bytes that a port and class may use (Choudhury, Hahne 1998)."""

    reserve: str | None = None
    """Memory reserved for each ingress port and class."""

    headroom: str | None = None
    """Headroom of each ingress port and class. Default: computed from the port's link. With `headroom_pool` the most
    that a port and class takes of the pool.
    """

    headroom_pool: str | None = None
    """A pool of headroom for all ports and classes, in place of separate headroom. Default: no pool."""

    cell: str | None = None
    """A frame takes whole cells of this size in this memory. Default: a frame takes its bytes."""

    groups: Sequence[Group] | None = None
    """Other shares for some classes. Default: all classes have the values above."""

    egress: Sequence[Egress] | None = None
    """Pools that limit the queues of some classes at the outputs, beside the limits at the inputs. Default: no pool."""


@dataclass(kw_only=True)
class Buffer(_Part):
    """`switch.buffer`."""

    per_port: str | None = None
    """A buffer of this size for each port: for its ingress traffic (`iq`, `voq`, `oq` with ingress accounting) or for
    its egress queues (`oq` with egress accounting).
    """

    per_queue: str | None = None
    """A buffer of this size for each ingress port and class where `per_port` counts ingress, and for each egress queue
    otherwise.
    """

    shared: Shared | None = None
    """A buffer for the whole switch, with dynamic thresholds."""


@dataclass(kw_only=True)
class ClassScheduler(_Part):
    """`switch.scheduler.queues[]`."""

    type: Literal["strict", "dwrr"]
    """Scheduler of the class."""

    weight: int | None = None
    """With `dwrr`: frames of the largest size a round, 1 to 100. Default: 1."""


@dataclass(kw_only=True)
class Turns(_Part):
    """Turns of the classes of a port."""

    drr: str | None = None
    """Deficit round robin with this many bytes a round."""

    queues: Sequence[ClassScheduler] | None = None
    """A scheduler for each class; entry n of the list is for class n. Strict classes go first, a higher class before a
    lower class. The other classes share the rest by weight, in bytes. Default of classes without an entry: `dwrr` with
    weight 1.
    """


@dataclass(kw_only=True)
class Red(_Part):
    """`switch.ecn.red`."""

    kmin: str
    """No packet is marked up to this queue."""

    kmax: str
    """The queue at which the probability is `pmax`."""

    pmax: float | None = None
    """Probability at `kmax`, 0 to 1."""

    above: Literal["certain", "pmax"] | None = None
    """Probability above `kmax`."""


@dataclass(kw_only=True)
class Step(_Part):
    """`switch.ecn.step`."""

    threshold: str
    """The queue above which packets are marked."""


@dataclass(kw_only=True)
class Profile(_Part):
    """`switch.ecn.profiles[]`: one of `red` and `step`."""

    classes: Sequence[int]
    """The classes with this curve."""

    red: Red | None = None
    """Random early detection on the instantaneous queue."""

    step: Step | None = None
    """Mark each packet that leaves more than the threshold behind."""

    ect: bool | None = None
    """Packets of these classes have ECT. Without ECT the curve drops packets that arrive at the queue, with the
    probability of a mark.
    """


@dataclass(kw_only=True)
class Ecn(_Part):
    """`switch.ecn`: one of `red` and `step`, or `profiles`."""

    red: Red | None = None
    """Random early detection on the instantaneous queue."""

    step: Step | None = None
    """Mark each packet that leaves more than the threshold behind."""

    scope: Literal["queue", "port"] | None = None
    """Bytes that are compared with the thresholds."""

    classes: Sequence[int] | None = None
    """Classes with marked packets. Default: all."""

    profiles: Sequence[Profile] | None = None
    """Own curves of some classes, in place of `red` and `step`. Default: all classes have the same curve."""


@dataclass(kw_only=True)
class Pint(_Part):
    """`switch.telemetry.pint`."""

    base: float | None = None
    """Base b of the logarithm, 1.0002 to 2: neighbouring numbers differ by the factor b. The number takes one byte
    from 1.05 on, two bytes below.
    """

    round_trip: str | None = None
    """Longest round trip without queues (T). Default: the network's."""


@dataclass(kw_only=True)
class Telemetry(_Part):
    """`switch.telemetry`."""

    pint: Pint | None = None
    """PINT: one number for the whole way, for HPCC-PINT. Without PINT outputs write INT, for HPCC."""


@dataclass(kw_only=True)
class Trimming(_Part):
    """`switch.trimming`."""

    limit: str | None = None
    """Largest data queue; with virtual output queues the queues of a class and output together. Default: the room of
    the buffer.
    """

    size: str | None = None
    """Bytes of a header on the wire, with preamble and gap. Default: a control frame."""

    turns: int | None = None
    """Control frames, headers included, that go before a waiting packet of data."""

    headers: str | None = None
    """Bound of the control frames that wait at an output, judged when a packet is cut; NDP has twice `limit`. A header
    beyond the bound is dropped. Default: no bound.
    """

    return_to_sender: bool | None = None
    """Headers beyond the bound go back to their sources, which learn of the loss at once (NDP)."""


@dataclass(kw_only=True)
class Watchdog(_Part):
    """`switch.flow_control.pfc.watchdog`."""

    detection: str | None = None
    """A class of an output that is paused for this long is in a storm. `SONiC`'s default is 200 ms, its range 100 ms
    to 5 s.
    """

    restoration: str | None = None
    """The storm ends when the neighbour has not paused the class for this long. Default: twice `detection`."""

    poll: str | None = None
    """Period of the polls, which fall on multiples of the period. Default: half of `detection`."""

    action: Literal["drop", "forward"] | None = None
    """Action on a class in a storm."""


@dataclass(kw_only=True)
class Pfc(_Part):
    """`switch.flow_control.pfc`."""

    xoff: str | None = None
    """Pause at this many bytes. Default: the class's share of the port's buffer less the computed headroom; 100 KB
    with unlimited memory; the dynamic threshold with a shared buffer. With a shared buffer and egress accounting
    `xoff` is required.
    """

    xon: str | None = None
    """Resume at this many bytes or fewer. Default: two packets below XOFF. With the dynamic threshold of a shared
    buffer: resume this far below the threshold; default 3 KiB.
    """

    resume_at: str | None = None
    """With the dynamic threshold of a shared buffer: resume when the port and class holds this many bytes or fewer.
    With `xon`, too, at the larger of both levels; without `xon`, at `resume_at` alone.
    """

    accounting: Literal["ingress", "egress"] | None = None
    """The byte count that is compared with XOFF."""

    quanta: int | None = None
    """A pause expires after this many quanta of 512 bit times unless refreshed. The pausing node refreshes at half of
    the pause time, or as often as its link can. Default: a pause lasts until the resume.
    """

    refresh: bool | None = None
    """With `quanta`: pauses are refreshed. Without refresh a pause expires after its quanta, and the next packet that
    arrives while the count is above XON triggers a new pause. After an expiry the neighbour sends for a round trip,
    until the next pause arrives. The computed headroom covers one round trip.
    """

    response: str | None = None
    """A node begins frames of a paused class until so long after the last bit of the pause: a time, or `"802.3"` for
    the limit of IEEE Std 802.3, 31B.3.7, at the rate of the link. A resume acts at once. The computed headroom counts
    the response. Default: a pause acts with its last bit.
    """

    relays: Literal["native", "forward"] | None = None
    """Action of hosts that relay. Default: holding flows at their sources where `host.relay.per_flow` is in force (as
    in `network.rail`); elsewhere `native`.
    """

    hop_classes: bool | None = None
    """Each host that relays a packet raises the packet by one class: PFC* of the `PortFC` paper."""

    classes: Sequence[int] | None = None
    """Classes under PFC: classes of which pauses are sent and obeyed. Packets of other classes neither cause nor obey
    pauses, and are dropped without room. Default: all classes.
    """

    watchdog: Watchdog | None = None
    """The action of switches on pauses that last too long. Default: none."""


@dataclass(kw_only=True)
class Dynamic(_Part):
    """`switch.flow_control.sfc.dynamic`: with N sources in the queue, round trip R, line rate C."""

    pause: bool | None = None
    """Pause for (N − 1)·R plus half of the queue's drain time. This is the middle of the range between a queue above
    the threshold and an empty queue.
    """

    threshold: bool | None = None
    """Put the threshold (N − 1)·R·C below XOFF, room for the bytes that arrive after the message. `threshold` is the
    least value.
    """


@dataclass(kw_only=True)
class Sfc(_Part):
    """`switch.flow_control.sfc`: the pause is one of `pause`, `target` and `dynamic.pause`."""

    threshold: str | None = None
    """Send messages while the watched queue holds this many bytes or more. Optional with `dynamic.threshold`."""

    pause: str | None = None
    """Time for which the source holds the flow."""

    target: str | None = None
    """Hold the flow for the time that the queue takes to drain to this level. With a queue for each input (`voq`) the
    queues of an output take turns, and the pause is longer in proportion.
    """

    round_trip: str | None = None
    """Time from a message to its first effect at the queue. Subtracted from a pause to the target; an input of dynamic
    pauses and thresholds.
    """

    dynamic: Dynamic | None = None
    """Pause and threshold from the occupancy and the number of sources."""

    resume: str | None = None
    """Resume the held sources when the queue has fallen to this level."""

    interval: str | None = None
    """Least time between two messages for one flow (or the unit of `hold`). Default: the pause."""

    hold: Literal["flow", "destination", "queue"] | None = None
    """Unit that a source holds."""

    mode: Literal["host", "proxy", "proxy_isolation", "nic_isolation"] | None = None
    """Node that holds the flow."""

    signals: Literal["all", "last_hop"] | None = None
    """Outputs of a switch that send messages."""

    queues: int | None = None
    """Queues of a network interface under `nic_isolation`."""

    fallback: Literal["first", "shortest"] | None = None
    """Queue of a new flow when all queues of the interface are paused."""

    cache: bool | None = None
    """A source's switch remembers paused destinations, and holds new flows to these destinations at once."""

    resume_ends: Literal["flow", "queue"] | None = None
    """Effect of a resume on a queue paused by a source's switch."""


@dataclass(kw_only=True)
class CongestionIsolation(_Part):
    """`switch.flow_control.congestion_isolation`."""

    low: str | None = None
    """With fewer bytes in the non-congested queue no flow is selected. With fewer bytes in the congested queue flows
    return.
    """

    high: str | None = None
    """Bytes in the non-congested queue at which the probability of selection is `pmax`."""

    pmax: float | None = None
    """Probability of selection at `high`; below `high` the probability falls linearly to 0 at `low`."""

    above: Literal["certain", "pmax"] | None = None
    """Probability of selection above `high`."""

    cim_threshold: str | None = None
    """A CIM goes upstream when the congested queue holds this many bytes, or all congested queues together hold as
    many from the neighbour.
    """

    mark: Literal["isolated", "selecting"] | None = None
    """Marked packets of an isolated flow."""

    class_: int | None = None
    """Class of the non-congested queue."""

    congested_class: int | None = None
    """Class of the congested queue."""

    max_flows: int | None = None
    """Size of an output's flow table. Further flows stay in the non-congested queue."""

    aging_time: str | None = None
    """A flow without packets in the congested queue for this time returns, however full the queue is. Default: a flow
    returns only when the queue is below `low`.
    """

    preserve_order: bool | None = None
    """Packets of a flow in both queues keep their order. The document does not say whether they do."""

    hosts: bool | None = None
    """Hosts have both queues and obey CIMs; with `false` hosts ignore CIMs."""


@dataclass(kw_only=True)
class Portfc(_Part):
    """`switch.flow_control.portfc`."""

    xoff: str | None = None
    """Pause when the inter-hop queues of an output hold this many bytes together. Default: 6 products of the link's
    rate and delay, and at least 6 packets.
    """

    xon: str | None = None
    """Resume at this many bytes or fewer. Default: 4 products, and at least 4 packets."""

    direct_xoff: str | None = None
    """`xoff` of the direct queue. Default: `xoff`."""

    direct_xon: str | None = None
    """`xon` of the direct queue. Default: `xon`."""


@dataclass(kw_only=True)
class Bcn(_Part):
    """`switch.flow_control.bcn`: congestion points; the rate limiters are `host.congestion_control.bcn`."""

    q_eq: str | None = None
    """Equilibrium queue (Qeq)."""

    w: int | None = None
    """Weight of the queue's change."""

    sample_base: str | None = None
    """A frame is sampled after this many bytes and a random part of `jitter`."""

    jitter: str | None = None
    """Bytes of which a random part is added to each sampling interval."""

    q_sc: str | None = None
    """Above this queue the message is BCN(0,0), which stops the source. Default: never."""

    max_above: str | None = None
    """Above this queue the message is BCN(max), with the most negative feedback. Default: never."""

    edges: bool | None = None
    """Switches with hosts have congestion points, too."""


@dataclass(kw_only=True)
class Qcn(_Part):
    """`switch.flow_control.qcn`: congestion points; the rate limiters are `host.congestion_control.qcn`."""

    q_eq: str | None = None
    """Equilibrium queue (Qeq)."""

    w: int | None = None
    """Weight of the queue's change."""

    sample_base: str | None = None
    """Bytes between two samples without congestion."""

    jitter: float | None = None
    """Share by which sampling intervals vary at random, to either side."""

    edges: bool | None = None
    """Switches with hosts have congestion points, too."""


@dataclass(kw_only=True)
class Bfc(_Part):
    """`switch.flow_control.bfc`."""

    queues: int | None = None
    """Data queues of each output."""

    round_trip: str | None = None
    """Round trip of a hop (H). Default: twice the delay of the packet's input link."""

    sticky: str | None = None
    """Time for which a flow keeps its queue after its last arrival. Default: two round trips of a hop."""

    entries: int | None = None
    """Entries of a switch's flow table for each of its queues; flows of equal hash are one flow."""

    resume: Literal["counted", "threshold"] | None = None
    """Moment of the resume of a paused queue."""


@dataclass(kw_only=True)
class Credits(_Part):
    """`switch.flow_control.credits`."""

    scheme: Literal["absolute", "cbfc"] | None = None
    """Counters and updates of the two ends of a link."""

    block: str | None = None
    """Bytes of a credit. Default: 64 (`absolute`), or 128 (`cbfc`)."""

    overhead: int | None = None
    """Bytes of memory that a packet takes beyond its wire size: -16 to 127 (`cbfc`)."""

    window: str | None = None
    """Bytes of each class that an input holds. Default: the class's share of the port's memory; with unlimited memory,
    and at hosts, the bytes that the link needs for full rate. Counters bound the window: `absolute` has at most 2048
    blocks.
    """

    update_interval_bytes: str | None = None
    """Least distance of two updates of a class, in bytes of the link. Default: 0, an update for each packet that
    leaves (`absolute`), or 6400 (`cbfc`).
    """

    refresh_interval: str | None = None
    """Period in which a sender that waits for credits repeats its count. Default: the time of 65536 bytes on its link
    (`absolute`), or 256 us (`cbfc`).
    """


@dataclass(kw_only=True)
class FlowControl(_Part):
    """`switch.flow_control`: each mechanism at most once."""

    pfc: Pfc | None = None
    """Priority-based Flow Control."""

    sfc: Sfc | None = None
    """Source Flow Control."""

    congestion_isolation: CongestionIsolation | None = None
    """Congestion Isolation."""

    portfc: Portfc | None = None
    """Flow control by egress port in networks with relays (`PortFC`)."""

    bcn: Bcn | None = None
    """Backward Congestion Notification, the congestion points."""

    qcn: Qcn | None = None
    """Quantized Congestion Notification (IEEE 802.1Qau), the congestion points."""

    bfc: Bfc | None = None
    """Backpressure Flow Control."""

    credits: Credits | None = None
    """Credit-based flow control of links, in the place of PFC."""


@dataclass(kw_only=True)
class Spray(_Part):
    """`switch.routing.spray`."""

    choice: Literal["random", "round_robin", "entropy"] | None = None
    """Rule for the choice of a port."""

    entropy_values: int | None = None
    """With `entropy`: values of a flow. Packets take the values in turn, in an order that changes with each round."""


@dataclass(kw_only=True)
class Reps(_Part):
    """`switch.routing.reps`."""

    entropy_values: int | None = None
    """Number of entropy values of a flow; a few for each path."""

    buffer: int | None = None
    """Number of values that a flow remembers."""

    freeze: str | None = None
    """After a timeout a flow goes round its remembered values for this time. Default: no freeze."""


@dataclass(kw_only=True)
class Flowlet(_Part):
    """`switch.routing.flowlet`."""

    timeout: str | None = None
    """A longer gap between two packets of a flow ends the flowlet."""


@dataclass(kw_only=True)
class Drill(_Part):
    """`switch.routing.drill`."""

    samples: int | None = None
    """Different ports drawn for each packet (d); all ports, if fewer exist."""

    memory: int | None = None
    """Number of remembered ports (m)."""


@dataclass(kw_only=True)
class Adaptive(_Part):
    """`switch.routing.adaptive`."""

    per: Literal["packet", "flowlet"] | None = None
    """Unit that chooses a port."""

    timeout: str | None = None
    """With `flowlet`: a longer gap between two packets of a flow ends the flowlet."""

    load_update_interval: str | None = None
    """Least interval between two load updates of a port to the neighbours. Default: no updates; each node knows its
    own load alone.
    """


@dataclass(kw_only=True)
class Conweave(_Part):
    """`switch.routing.conweave`."""

    reply_slack: str | None = None
    """A flow leaves its path when a REPLY takes longer than the round trip without queues plus this time."""

    path_pause: str | None = None
    """A path is not chosen for this time after a NOTIFY of a marked packet on the path."""

    expiry: str | None = None
    """After a longer gap between two packets a flow begins anew by any path. A flow that pauses held back for this
    time may overtake its earlier packets.
    """

    flush_slack: str | None = None
    """Held packets go on when their TAIL is overdue by this time."""

    flush_default: str | None = None
    """Time from the first held packet to the expected TAIL, where no packet of the old path arrived."""

    queues: int | None = None
    """Reorder queues of each port and class, 1 to 64: the number of flows held at a time."""


@dataclass(kw_only=True)
class Routing(_Part):
    """`switch.routing`: choice among several ports on shortest paths. Default: ECMP by a hash of the flow."""

    spray: Spray | None = None
    """Each packet takes a port by itself, whatever its flow."""

    reps: Reps | None = None
    """Each packet takes a port by an entropy value of its host (REPS)."""

    flowlet: Flowlet | None = None
    """Each flowlet takes a port: a flow draws another port after a gap (`LetFlow`)."""

    drill: Drill | None = None
    """Each packet takes the shortest of a few drawn or remembered queues (DRILL)."""

    adaptive: Adaptive | None = None
    """Each packet, or flowlet, takes the least loaded good port (adaptive routing, DLB)."""

    conweave: Conweave | None = None
    """Flows leave late paths, and the last switch puts packets in order (`ConWeave`)."""


@dataclass(kw_only=True)
class Thresholds(_Part):
    """`switch.overrides.pfc`: missing keys keep the general value."""

    xoff: str | None = None
    """Pause at this many bytes."""

    xon: str | None = None
    """Resume at this many bytes or fewer."""

    send: Sequence[int] | None = None
    """Classes of which such ports pause their neighbours, in place of `classes`."""

    obey: Sequence[int] | None = None
    """Classes of which such ports obey pauses by their neighbours, in place of `classes`."""


@dataclass(kw_only=True)
class Shares(_Part):
    """`switch.overrides.buffer`: missing keys keep the general value."""

    total: str | None = None
    """Memory of such a switch; for whole switches only."""

    headroom_pool: str | None = None
    """The pool of headroom of such a switch; for whole switches only."""

    cell: str | None = None
    """Size of the cells of such a switch; for whole switches only."""

    reserve: str | None = None
    """Memory reserved for each class of such an ingress port."""

    alpha: float | None = None
    """Factor of the dynamic threshold of a class of such an ingress port."""

    headroom: str | None = None
    """Headroom of each class of such an ingress port."""


@dataclass(kw_only=True)
class Override(_Part):
    """`[[switch.overrides]]`: different settings of some switches, or of their ports of some rate or to some
    neighbours.
    """  # noqa: D205

    switches: Sequence[str] | None = None
    """Names of switches; `*` stands for any characters. `leaf* -> spine*` selects only ports to matching nodes,
    switches or hosts. Default: all switches.
    """

    rate: str | None = None
    """Selects only ports of this rate. Default: all ports."""

    cut_through: CutThrough | None = None
    """Cut-through at these inputs, in place of `switch.cut_through`."""

    ecn: Ecn | None = None
    """ECN marking at these outputs, in place of `switch.ecn`."""

    pfc: Thresholds | None = None
    """Thresholds and classes of `switch.flow_control.pfc`."""

    buffer: Shares | None = None
    """Shares of `switch.buffer.shared`."""


@dataclass(kw_only=True)
class Faults(_Part):
    """Number of injected faults of each kind. All are zero by default."""

    vanish: int | None = None
    """Number of data packets that vanish uncounted at each switch."""

    overtake: int | None = None
    """Number of data packets that each switch lets overtake the packet before in the queue."""

    hurry: int | None = None
    """Number of data packets at each switch that pass the forwarding latency of the next switch."""

    lose_resumes: int | None = None
    """Number of PFC resumes that each node never sends."""

    lose_credit_updates: int | None = None
    """Number of credit updates that each node loses."""


@dataclass(kw_only=True)
class Switch(_Part):
    """`switch`."""

    forwarding_latency: str | None = None
    """Fixed processing delay of forwarded packets."""

    cut_through: CutThrough | None = None
    """Handles a frame once the header has arrived, before the last bit."""

    queueing: Literal["oq", "iq", "voq"] | None = None
    """Place where packets wait."""

    buffer: Literal["unlimited"] | Buffer | None = None
    """Memory."""

    classes: int | None = None
    """Priority classes of data, 1 to 8."""

    scheduler: Literal["strict", "round_robin"] | Turns | None = None
    """Turns of classes. The queues of one class, such as the input queues of `voq`, share the turns of the class
    packet by packet.
    """

    strict_priority_classes: int | None = None
    """For a scheduler with turns: this many of the highest classes are served strictly before all other classes."""

    ecn: Ecn | None = None
    """ECN marking."""

    telemetry: Telemetry | None = None
    """In-band network telemetry."""

    trimming: Trimming | None = None
    """Packet trimming."""

    flow_control: FlowControl | None = None
    """Flow control."""

    routing: Routing | None = None
    """Choice among several ports on shortest paths, packet by packet. Default: a hash of the flow."""

    plugins: Mapping[str, Any] | None = None
    """Mechanisms of plug-ins."""

    overrides: Sequence[Override] | None = None
    """Different values for some switches, or for ports of some rate. For a port named by several entries the last
    entry counts.
    """

    faults: Faults | None = None
    """Broken on purpose, to see the audits notice."""


@dataclass(kw_only=True)
class GoBackN(_Part):
    """`host.transport.go_back_n`."""

    rto: str | None = None
    """Retransmission timeout, restarted by each packet sent and each ACK with progress. Default: 4ms, or twice the
    longest round trip without load where that is longer.
    """

    nack_interval: str | None = None
    """Least time between two NACKs for the same packet."""

    ack_every: int | None = None
    """Packets in order for each ACK, 1 to 256. The last packet of a message, a packet after which the window is
    closed, a retransmitted and a marked packet are acknowledged at once.
    """


@dataclass(kw_only=True)
class Irn(_Part):
    """`host.transport.irn`."""

    bdp_cap: str | None = None
    """Payload that may be in flight. Default: the line's rate times the longest round trip without queues."""

    rto_low: str | None = None
    """Timeout while at most `rto_low_threshold` packets are in flight. Default: 100us, or twice the longest round trip
    without load if longer.
    """

    rto_high: str | None = None
    """Timeout with more packets in flight. Default: 320us, or `rto_low` if longer."""

    rto_low_threshold: int | None = None
    """`rto_low` applies while at most this many packets are in flight."""


@dataclass(kw_only=True)
class Selective(_Part):
    """`host.transport.selective`."""

    rto: str | None = None
    """A packet without an answer for this time since its start counts as lost. Ultra Ethernet's simulator has 15us and
    the time of six full queues: 100us for 178 KB at 100 Gb/s. Default: 100us, or twice the longest round trip without
    load where that is longer.
    """

    sack_threshold: str | None = None
    """Wire bytes that one answer covers. Ultra Ethernet's simulator has 16KiB. Default: an answer for every packet."""

    reordering_threshold: int | None = None
    """A packet counts as lost when a packet this many later has arrived. Choose a value above the largest reordering.
    Default: never.
    """


@dataclass(kw_only=True)
class Ndp(_Part):
    """`host.transport.ndp`."""

    window: int | None = None
    """Packets that a flow sends unasked. Default: as many packets as fill the longest round trip of the network, with
    the answer.
    """

    rate: float | None = None
    """Share of its line that a host pulls, above 0 and up to 1."""

    rto: str | None = None
    """A packet without an answer for this time since its start counts as lost. The timeout matters if headers are
    lost. Default: 20ms, or twice the longest round trip without load if longer.
    """


@dataclass(kw_only=True)
class Transport(_Part):
    """`host.transport`: at most one transport. Default: Go-Back-N with its defaults."""

    go_back_n: GoBackN | None = None
    """Go-Back-N."""

    irn: Irn | None = None
    """IRN."""

    selective: Selective | None = None
    """Packets in any order: headers of trimmed packets report losses, and gaps do not."""

    ndp: Ndp | None = None
    """NDP: receivers pull packets beyond a first window."""

    raw: Mapping[str, Any] | None = None
    """Raw frames: no acknowledgements and no retransmissions."""

    plugins: Mapping[str, Any] | None = None
    """Transports of plug-ins."""


@dataclass(kw_only=True)
class Dcqcn(_Part):
    """`host.congestion_control.dcqcn`: a preset, and keys that override the preset."""

    preset: (
        Literal["conweave", "hpcc", "hpcc_paper", "hpcc_config", "microsoft", "sfc_proxy", "mellanox", "paper"] | None
    ) = None
    """The source of missing values."""

    g: float | None = None
    """Gain of alpha, 0 to 1."""

    alpha_interval: str | None = None
    """Alpha is updated this often."""

    decrease_interval: str | None = None
    """Least time between two cuts; the presets `paper` and `microsoft` cut with every notification, and take none."""

    increase_interval: str | None = None
    """The rate rises this often."""

    byte_counter: str | None = None
    """The rate also rises each time this much was sent."""

    fast_recovery_steps: int | None = None
    """Steps of fast recovery."""

    additive_increase: str | None = None
    """Additive increase."""

    hyper_increase: str | None = None
    """Hyper increase."""

    minimum_rate: str | None = None
    """No flow goes slower."""

    pacing: Literal["gap", "limiter"] | None = None
    """The effect of a new rate on a packet that waits: `limiter` in the presets `paper` and `mellanox`, `gap` in the
    presets of ns-3 codes.
    """

    clamp_target: bool | None = None
    """Each cut also lowers the target."""

    cnp_interval: str | None = None
    """Least time between two notifications for a flow."""

    cnp: Literal["packet", "ack"] | None = None
    """Packets, or a bit on ACKs."""

    window: str | None = None
    """Payload that a flow may have in flight. Default: no limit."""


@dataclass(kw_only=True)
class CongestionControlBcn(_Part):
    """`host.congestion_control.bcn`."""

    gi: float | None = None
    """Gain of increases: multiples of `ru` for a unit of feedback."""

    gd: float | None = None
    """Gain of decreases: the share of the rate for a unit of feedback."""

    ru: str | None = None
    """Unit of increases."""

    initial_rate: str | None = None
    """Rate of a new limiter, before its first cut. Default: the line's."""

    minimum_rate: str | None = None
    """Least rate of a limiter, and rate of a source after BCN(0,0)."""

    tmax: str | None = None
    """Longest random wait of a source after BCN(0,0)."""

    drift: str | None = None
    """Rate added each `drift_interval`."""

    drift_interval: str | None = None
    """Interval of the drift."""


@dataclass(kw_only=True)
class CongestionControlQcn(_Part):
    """`host.congestion_control.qcn`."""

    increase_interval: str | None = None
    """Cycle of the timer."""

    byte_counter: str | None = None
    """Cycle of the byte counter."""

    fast_recovery_steps: int | None = None
    """Cycles of fast recovery."""

    additive_increase: str | None = None
    """Additive increase of the target."""

    hyper_increase: str | None = None
    """Hyper-active increase of the target."""

    gd: float | None = None
    """Share of the rate for a unit of quantised feedback."""

    min_decrease_factor: float | None = None
    """Least share of the rate that a cut leaves."""

    minimum_rate: str | None = None
    """Least rate of a limiter."""


@dataclass(kw_only=True)
class Hpcc(_Part):
    """`host.congestion_control.hpcc`."""

    eta: float | None = None
    """Target utilisation (η), 0 to 1."""

    max_stage: int | None = None
    """Additive steps in a row before the rate follows the utilisation again."""

    additive_increase: str | None = None
    """Additive increase (AI). Default: 10 Mb/s for each 25 Gb/s of the line."""

    minimum_rate: str | None = None
    """No flow goes slower."""

    round_trip: str | None = None
    """The longest round trip without queues (T). Default: that of the network."""


@dataclass(kw_only=True)
class HpccPint(_Part):
    """`host.congestion_control.hpcc_pint`."""

    eta: float | None = None
    """Target utilisation (η), 0 to 1."""

    max_stage: int | None = None
    """Additive steps in a row before the rate follows the utilisation again."""

    additive_increase: str | None = None
    """Additive increase (AI). Default: 10 Mb/s for each 25 Gb/s of the line."""

    minimum_rate: str | None = None
    """No flow goes slower."""

    round_trip: str | None = None
    """The longest round trip without queues (T), for the window. Default: that of the network."""

    probability: float | None = None
    """With which probability an answer is used, above 0 and up to 1."""


@dataclass(kw_only=True)
class Dctcp(_Part):
    """`host.congestion_control.dctcp`."""

    g: float | None = None
    """Weight of the last round trip in alpha, 0 to 1."""

    additive_increase: str | None = None
    """Additive increase (AI) a round trip. Default: a packet a round trip; 615Mbps for 1000 B and 13 us, the value of
    HPCC's script.
    """

    minimum_rate: str | None = None
    """No flow goes slower."""

    round_trip: str | None = None
    """The longest round trip without queues. The largest window is the line's rate times this round trip. Default:
    that of the network.
    """


@dataclass(kw_only=True)
class Swift(_Part):
    """`host.congestion_control.swift`; windows are in packets."""

    base_target: str | None = None
    """The target delay of a path without switches and without flow scaling; the paper's clusters have 25us."""

    hop_target: str | None = None
    """Added to the target for each switch on the way."""

    scaling_range: str | None = None
    """Largest addition of flow scaling to the target. Default: five base targets."""

    scaling_min: float | None = None
    """Flow scaling adds its whole range at this window and below, in packets."""

    scaling_max: float | None = None
    """Flow scaling adds nothing at this window and above, in packets."""

    additive_increase: float | None = None
    """Packets by which the window grows a round trip."""

    beta: float | None = None
    """Share of the excess delay by which the window shrinks, 0 to 1."""

    max_decrease: float | None = None
    """The largest share that the window loses at once, 0 to 1."""

    retx_reset_threshold: int | None = None
    """After this many timeouts in a row the window is the minimum."""

    minimum_window: float | None = None
    """No window is smaller."""

    maximum_window: float | None = None
    """No window is larger. Default: no limit."""

    initial_window: float | None = None
    """The first window of a flow. Default: the line's rate times the longest round trip without queues."""


@dataclass(kw_only=True)
class Timely(_Part):
    """`host.congestion_control.timely`."""

    alpha: float | None = None
    """Weight of the newest difference in the average, 0 to 1."""

    beta: float | None = None
    """Share of the excess, or of the gradient, by which the rate falls, 0 to 1."""

    t_low: str | None = None
    """Below this round trip the rate rises."""

    t_high: str | None = None
    """Above this round trip the rate falls."""

    min_rtt: str | None = None
    """The round trip of which the gradient is a share."""

    additive_increase: str | None = None
    """Additive increase (AI). Default: 1 Mb/s for each Gb/s of the line."""

    hyper_increase: str | None = None
    """Hyper increase (HAI). Default: 5 Mb/s for each Gb/s of the line."""

    hai_threshold: int | None = None
    """Rises in a row before the hyper increase."""

    minimum_rate: str | None = None
    """No flow goes slower."""

    window: bool | None = None
    """Under way may be no more than the bandwidth-delay product times the rate's share of the line."""

    round_trip: str | None = None
    """The longest round trip without queues, for the window. Default: that of the network."""


@dataclass(kw_only=True)
class Nscc(_Part):
    """`host.congestion_control.nscc`."""

    round_trip: str | None = None
    """The longest round trip without queues. A flow's smallest round trip begins with this value and only falls.
    Default: that of the network.
    """

    target: str | None = None
    """Target delay. Default: three quarters of the round trip if switches trim packets, otherwise the round trip."""

    proportional_increase: float | None = None
    """Packets by which a window grows each round trip of 12us, for each 12us of distance to the target and 150KB of
    product.
    """

    fair_increase: float | None = None
    """Packets by which a window above the target grows each window, for each 150KB of product."""

    fast_increase: float | None = None
    """Share of the arrivals by which a window without delay grows, for each 150KB of product."""

    additive_increase: float | None = None
    """Packets by which a window always grows each round trip, for each 150KB of product."""

    gamma: float | None = None
    """Share of the excess delay by which a window shrinks, 0 to 1."""

    quick_adapt: bool | None = None
    """After a trim or a long delay the window falls to the bytes that arrived."""

    maximum: float | None = None
    """The largest window, and the first: products of the line's rate and a flow's round trip."""


@dataclass(kw_only=True)
class PythonDeclarations(_Part):
    """The declarations of a class: attributes and methods."""

    code: str
    """A hash of the code: of the module of the class and of the imported modules of the same folder."""

    methods: Sequence[Literal["on_ack", "on_loss", "on_notification", "on_sent", "on_timer"]]
    """The methods of the class."""

    echo: Literal["packet", "ack"] | None = None
    """The form in which receivers tell the sender of marked packets. Default: receivers ignore marks."""

    echo_interval: str | None = None
    """The least time between two notifications of marks for a flow."""

    listens_to: Literal["ecn", "telemetry"] | None = None
    """The mechanism of switches that the class needs."""


@dataclass(kw_only=True)
class PythonControl(_Part):
    """`host.congestion_control.python`."""

    class_: str
    """The class as `module:Class`, called as `Class(line, flow, **parameters)` for each flow. The module is looked up
    beside the file of the scenario, then among the installed modules.
    """

    parameters: Mapping[str, Any] | None = None
    """Further arguments of the class, by name."""

    declared: PythonDeclarations | None = None
    """The declarations of the class, which xoff reads before a run. Results of runs have this key."""


@dataclass(kw_only=True)
class Oversubscription(_Part):
    """`host.congestion_control.rccc.oversubscription`."""

    interval: str | None = None
    """Mean time between two adaptions. Default: one and a half round trips of 12us."""

    target: float | None = None
    """Tolerated average share of marked packets, 0 to 1."""

    increase: float | None = None
    """Growth of the share of the line at each adaption without congestion."""

    decrease: float | None = None
    """Factor by which marks above the target lower the share of the line."""

    minimum: float | None = None
    """Smallest share of the line. For a network of known oversubscription choose nine tenths of the ratio."""


@dataclass(kw_only=True)
class Rccc(_Part):
    """`host.congestion_control.rccc`."""

    round_trip: str | None = None
    """The longest round trip without queues. Default: that of the network."""

    maximum: float | None = None
    """The largest and the first credit of a flow, in products of a host's rate and the round trip."""

    batch: str | None = None
    """Credit of a pull at most, in bytes; the public simulator has four packets of 4096 B for any packet size."""

    quantum: str | None = None
    """Bytes in which credit is counted."""

    rate: float | None = None
    """Share of its line that a host grants, above 0 and up to 1."""

    slow_pulls: bool | None = None
    """Flows without demand get credit while no flow has demand."""

    oversubscription: Oversubscription | None = None
    """The grants of a host follow congestion in the network. Default: no reaction."""


@dataclass(kw_only=True)
class CongestionControl(_Part):
    """`host.congestion_control`: at most one congestion control (`rccc` may stand beside it). Default: line rate."""

    dcqcn: Dcqcn | None = None
    """DCQCN."""

    bcn: CongestionControlBcn | None = None
    """Rate limiters for Backward Congestion Notification."""

    qcn: CongestionControlQcn | None = None
    """Rate limiters for Quantized Congestion Notification (IEEE 802.1Qau)."""

    hpcc: Hpcc | None = None
    """HPCC, from in-band telemetry."""

    hpcc_pint: HpccPint | None = None
    """HPCC with one number per packet (PINT) instead of a record per output."""

    dctcp: Dctcp | None = None
    """DCTCP, from the share of marked packets."""

    swift: Swift | None = None
    """Swift, from the delay of packets."""

    timely: Timely | None = None
    """TIMELY, from how round trips change."""

    nscc: Nscc | None = None
    """NSCC, Ultra Ethernet's, from marks, delays and trims."""

    python: PythonControl | None = None
    """A class in Python: a new idea at small scale."""

    rccc: Rccc | None = None
    """RCCC, Ultra Ethernet's, from credit that receivers grant. One more congestion control may be given beside it."""

    plugins: Mapping[str, Any] | None = None
    """Congestion controls of plug-ins."""


@dataclass(kw_only=True)
class Mice(_Part):
    """`host.classify.mice`."""

    below: str
    """Flows of less payload than this …."""

    class_: int
    """… are of this class."""


@dataclass(kw_only=True)
class Classify(_Part):
    """`host.classify`: a class for flows instead of the class of the workload. The first matching rule applies."""

    mice: Mice | None = None
    """Flows below a size."""

    by_destination: int | None = None
    """Spread the remaining flows over this many classes from 0 on, by a hash of the destination."""


@dataclass(kw_only=True)
class Asymmetric(_Part):
    """`host.first_hop.asymmetric`."""

    threshold: float | None = None
    """Share of the faster domain's bandwidth that flows may take."""

    volume: Literal["in_flight", "started"] | None = None
    """Volume that is compared with the faster domain's bandwidth."""

    window: str | None = None
    """Time in which the faster domain carries the volume. Default: the round trip of the faster hop for `in_flight`,
    and 10us for `started`.
    """

    raises: bool | None = None
    """The weight of the faster domain rises again while the volume is below the threshold (equation 3)."""


@dataclass(kw_only=True)
class FirstHop(_Part):
    """`host.first_hop`: the port by which a flow leaves its host, when several ports are on shortest paths."""

    asymmetric: Asymmetric | None = None
    """Asymmetric Traffic Engineering over two domains of unequal bandwidth."""


@dataclass(kw_only=True)
class Relay(_Part):
    """`host.relay`: hosts that relay."""

    delay: str | None = None
    """Processing delay of relayed packets."""

    buffer: Literal["unlimited"] | Buffer | None = None
    """Memory for relayed packets."""

    per_flow: str | None = None
    """Under PFC: bound of each flow's bytes in a relaying host. At the bound the source holds the flow until an eighth
    of the bytes is free. Relays then pause no neighbour, so that no pause spreads into a server. Default: 4 MiB in
    `network.rail` (the buffer of a connection in NCCL), unless `switch.flow_control.pfc.relays` is given; elsewhere no
    bound.
    """

    scheduler: Literal["relay_first", "round_robin", "per_flow"] | None = None
    """Order of own flows and relayed packets."""

    ecn: bool | None = None
    """Relays mark relayed packets as switches do (`switch.ecn`), by their queues of relayed packets."""


@dataclass(kw_only=True)
class HostOverride(_Part):
    """`[[host.overrides]]`: different settings of some hosts. A flow uses the settings of its source at both ends."""

    hosts: Sequence[str]
    """Names of hosts; `*` stands for any characters."""

    classes: Sequence[int] | None = None
    """Priority classes: flows of other classes keep the settings of the host. Such an override has a congestion
    control alone, and wins over overrides without classes. Default: all classes.
    """

    transport: Transport | None = None
    """Retransmission, in the place of all of `host.transport`."""

    congestion_control: CongestionControl | None = None
    """Rates, in the place of all of `host.congestion_control`; empty for line rate."""


@dataclass(kw_only=True)
class HostSettings(_Part):
    """`host`."""

    transport: Transport | None = None
    """Retransmission."""

    congestion_control: CongestionControl | None = None
    """Rates."""

    acks: Literal["control", "data", "switches"] | None = None
    """Queue of ACKs and NACKs."""

    classify: Classify | None = None
    """Class of a flow that differs from the class of the workload."""

    jitter: float | None = None
    """Random delay of packet starts, as a share of the packet time: each packet of a flow starts up to this share
    late, with an independent draw; 0 to 10. Jitter disables fast-forward.
    """

    first_hop: Literal["hash", "lowest", "highest"] | FirstHop | None = None
    """Port by which a flow leaves a host with several ports. Default: `lowest` in `network.rail`, `hash` elsewhere."""

    relay: Relay | None = None
    """Hosts that relay packets."""

    overrides: Sequence[HostOverride] | None = None
    """Other transports and congestion controls for some hosts. For a host named by several entries the last entry
    counts, table by table.
    """


@dataclass(kw_only=True)
class Nccl(_Part):
    """`workload[…].nccl`: NCCL's settings, by NCCL's words."""

    protocol: Literal["ll", "ll128", "simple"] | None = None
    """Only this protocol (`NCCL_PROTO`). Default: the protocol with the least predicted time."""

    version: str | None = None
    """Version, such as `2.30`. Versions before 2.23 count two more steps between servers in the choice."""

    pxn: bool | None = None
    """A rank may send by the NIC of another rank of its server, over NVLink."""

    nvls: bool | None = None
    """NVSwitches reduce and multicast (`NCCL_NVLS_ENABLE`)."""

    steps: int | None = None
    """Slots of a connection (`NCCL_STEPS`)."""

    buffer: str | None = None
    """Buffer of a connection with the protocol Simple, at least 64 KiB (`NCCL_BUFFSIZE`): 8 slots."""

    qps_per_connection: int | None = None
    """Queue pairs of a connection, over which messages take turns (`NCCL_IB_QPS_PER_CONNECTION`)."""

    split_data_on_qps: bool | None = None
    """Cuts each message into equal parts, one for each queue pair (`NCCL_IB_SPLIT_DATA_ON_QPS`)."""

    min_ctas: int | None = None
    """Fewest channels (`NCCL_MIN_CTAS`)."""

    max_ctas: int | None = None
    """Most channels (`NCCL_MAX_CTAS`)."""

    net_overhead: str | None = None
    """Time of the proxy for a message on the network. Default: 1 µs, with CPUs of AMD 2 µs."""

    base_latency: str | None = None
    """Latency of an operation without a step. Default: NCCL's base latency of the algorithm and protocol."""

    nvlink_latency: str | None = None
    """Latency of a hand-over over NVLink, including the latency of NVLink itself. Default: NCCL's hardware latency of
    the algorithm and protocol.
    """

    net_latency: str | None = None
    """Latency of a hand-over over the network, including the network's own time between neighbours. Default: NCCL's
    hardware latency of the algorithm and protocol.
    """


@dataclass(kw_only=True)
class Incast(_Part):
    """`workload[…].incast`: several senders and one receiver."""

    senders: Sequence[int | str]
    """Hosts that send."""

    receiver: int | str
    """The host that receives."""

    size: str
    """Payload of each sender."""


@dataclass(kw_only=True)
class RepeatedIncast(_Part):
    """`workload[…].repeated_incast`."""

    senders: int
    """Senders of each incast."""

    size: str
    """Payload of each."""

    period: str | None = None
    """Mean time from one incast to the next. Give `period` or `load`."""

    load: float | None = None
    """Payload of all incasts as a share of the line rates of all `hosts`, above 0 and up to 1.5."""

    count: int | None = None
    """Number of incasts. Give `count` or `duration`."""

    duration: str | None = None
    """Incasts start for this long."""

    arrivals: Literal["periodic", "poisson"] | None = None
    """Times from one incast to the next."""

    hosts: Sequence[int | str] | None = None
    """Hosts among which the receiver and the senders of each incast are drawn; default all."""


@dataclass(kw_only=True)
class ParameterServer(_Part):
    """`workload[…].parameter_server`."""

    server: int | str
    """The server."""

    workers: Sequence[int | str] | None = None
    """Hosts that push. Default: all other hosts."""

    size: str
    """Payload of each push and of each part of the broadcast."""

    rounds: int | None = None
    """Pushes and broadcasts."""


@dataclass(kw_only=True)
class Moe(_Part):
    """`workload[…].moe`."""

    tokens: int
    """Tokens of each host in a round."""

    token_size: str
    """Payload of a token."""

    experts_per_token: int | None = None
    """Experts per token."""

    zipf_exponent: float | None = None
    """Exponent of Zipf's law over experts; 0 makes all equally wanted."""

    rounds: int | None = None
    """Dispatches and answers."""

    hosts: Sequence[int | str] | None = None
    """Hosts that take part. Default: all."""


@dataclass(kw_only=True)
class Permutation(_Part):
    """`workload[…].permutation`: every host sends to another host, in one random cycle over all hosts."""

    size: str
    """Payload of each."""

    hosts: Sequence[int | str] | None = None
    """Hosts that take part. Default: all."""


@dataclass(kw_only=True)
class AllToAll(_Part):
    """`workload[…].all_to_all`: every host sends to every other."""

    size: str
    """Payload of each pair."""

    hosts: Sequence[int | str] | None = None
    """Hosts that take part. Default: all."""


@dataclass(kw_only=True)
class Collective(_Part):
    """`workload[…].collective`."""

    operation: Literal[
        "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "barrier", "send_receive"
    ]
    """The operation: the data of each rank at the end."""

    library: Literal["textbook", "nccl"] | None = None
    """The library. Default: `textbook`."""

    algorithm: (
        Literal[
            "ring",
            "double_tree",
            "halving_doubling",
            "hierarchical",
            "direct",
            "rounds",
            "chain",
            "dissemination",
            "in_network",
            "tree",
            "nvls",
            "nvls_tree",
            "pat",
            "auto",
        ]
        | None
    ) = None
    """The algorithm. Default: a ring, or all messages at once for `all_to_all`; with NCCL the algorithm with the least
    predicted time (`auto`).
    """

    size: str
    """The vector of each rank; for `all_gather` the data of a rank at the end, for `all_to_all` the data of a rank for
    all ranks.
    """

    hosts: Sequence[int | str] | None = None
    """The hosts of the ranks, in order. Default: all hosts. With NCCL each GPU at a host is a rank."""

    channels: int | None = None
    """Channels that share the data and run in parallel. Default: one; with NCCL as many as NCCL uses."""

    chunk: str | None = None
    """Largest piece of a message that is passed on separately. Default: whole messages; with NCCL the chunk of the
    protocol.
    """

    group: int | None = None
    """Consecutive ranks of a group, for `hierarchical`."""


@dataclass(kw_only=True)
class Row(_Part):
    """An operation of a rank: a row of `operations`, or of the table."""

    rank: int | None = None
    """The rank of the operation. Without ranks, all operations are those of every rank (SPMD: single program, multiple
    data).
    """

    kind: Literal[
        "compute",
        "send",
        "recv",
        "all_reduce",
        "reduce_scatter",
        "all_gather",
        "all_to_all",
        "broadcast",
        "reduce",
        "barrier",
    ]
    """The kind of the operation."""

    name: str | None = None
    """Name for `after`, unique in the rank. Default: the number of the operation in its rank."""

    after: Sequence[str] | None = None
    """Begins when all of these operations of the rank have ended. `WORKLOAD/NAME` is a flow with this id that ends at
    the host of the rank, or an operation of another job at the host.
    """

    stream: str | None = None
    """Begins when the previous operation in this stream of the rank has ended."""

    unit: str | None = None
    """A processor or network interface of the rank, which runs one operation at a time, in the order in which
    operations could begin.
    """

    iteration: int | None = None
    """The iteration of the job."""

    duration: str | None = None
    """Duration of a computation."""

    flop: float | None = None
    """Floating-point operations of a computation."""

    memory: str | None = None
    """Bytes that a computation reads and writes in memory."""

    peer: int | None = None
    """The other rank of a send or receive."""

    tag: int | None = None
    """Distinguishes messages between the same ranks. Messages of one tag are received in the order of sending."""

    size: str | None = None
    """Payload of a message; of a collective as `collective.size`."""

    group: str | None = None
    """The group of a collective, or the family of groups."""

    algorithm: (
        Literal[
            "ring",
            "double_tree",
            "halving_doubling",
            "hierarchical",
            "direct",
            "rounds",
            "chain",
            "dissemination",
            "in_network",
            "tree",
            "nvls",
            "nvls_tree",
            "pat",
            "auto",
        ]
        | None
    ) = None
    """The algorithm of a collective."""

    channels: int | None = None
    """Channels of a collective; for a message, the channel."""

    chunk: str | None = None
    """Largest piece of a collective's messages that is passed on separately."""

    server: int | None = None
    """Ranks of a server, for `hierarchical`."""

    copies: Literal["expert", "rank", "server"] | None = None
    """For an all-to-all of experts: how often a token crosses the network. `size` counts one copy for each chosen
    expert.
    """

    experts: int | None = None
    """For `copies`: experts of the layer."""

    top_k: int | None = None
    """For `copies`: experts of a token."""

    combine: bool | None = None
    """For `copies`: the way back from the experts."""

    overhead: str | None = None
    """Time from the beginning of a collective at a rank to its first messages, besides the library's own."""

    class_: int | None = None
    """Priority class of the packets of a send or collective. Default: the class of the workload."""

    label: str | None = None
    """Name under which the time is counted, such as `TP`. Default: the name of the group, or `p2p`."""


@dataclass(kw_only=True)
class Family(_Part):
    """`workload[…].graph.families`: groups of ranks a stride apart. Group i begins at rank (i ÷ stride) × stride ×
    count + i mod stride. Example: stride 2 and count 3 divide 12 ranks into the groups 0 2 4, 1 3 5, 6 8 10 and 7 9
    11.
    """  # noqa: D205

    stride: int | None = None
    """Distance between neighbours of a group. Stride × count divides the ranks. Default: 1."""

    count: int
    """Ranks of a group."""


@dataclass(kw_only=True)
class Processor(_Part):
    """`workload[…].graph.processor`: the processor of operations with FLOP or memory traffic instead of a duration."""

    flops: float
    """Floating-point operations in a second."""

    memory: float | None = None
    """Bytes per second that the memory reads or writes. Default: no limit."""


@dataclass(kw_only=True)
class Graph(_Part):
    """`workload[…].graph`."""

    operations: Sequence[Row] | None = None
    """The operations. Streams, messages and collectives take the operations of a rank in this order."""

    operations_table: str | None = None
    """The same as a CSV or Parquet file, a column for each key of an operation; `after` separated by `;`."""

    groups: Mapping[str, Sequence[int]] | None = None
    """The ranks of collectives, by the names of groups."""

    groups_table: str | None = None
    """The same as a CSV or Parquet file with the columns group and rank, members of a group in order."""

    families: Mapping[str, Family] | None = None
    """Families of groups, for operations of every rank: `TP = { stride = 1, count = 2 }` divides the ranks into groups
    of `count` ranks that are `stride` apart (default: 1).
    """

    library: Literal["textbook", "nccl"] | None = None
    """The library of collectives. Default: `textbook`."""

    ranks: int | None = None
    """Number of ranks. Default: up to the last rank with an operation or in a group; required with families."""

    hosts: Sequence[int | str] | None = None
    """The hosts of the ranks, in order. Default: by `placement`."""

    placement: Literal["linear", "rail", "random"] | None = None
    """The order in which ranks are placed at hosts."""

    processor: Processor | None = None
    """The processor."""


@dataclass(kw_only=True)
class Model(_Part):
    """A model: a preset, numbers, or a preset with some numbers changed."""

    preset: (
        Literal["gpt_13b", "gpt_175b", "llama3_70b", "llama3_405b", "mixtral_8x7b", "deepseek_v3", "qwen3_235b"] | None
    ) = None
    """A model by name."""

    layers: int | None = None
    """Layers. Fewer layers than in the preset cut `dense_layers` in proportion, rounded."""

    dense_layers: int | None = None
    """First layers that have one network in the place of experts. Default: none."""

    hidden: int | None = None
    """Width of a token."""

    heads: int | None = None
    """Heads of attention."""

    kv_heads: int | None = None
    """Heads of keys and values. Default: as many."""

    head_dim: int | None = None
    """Width of a head, without rotary positions of MLA. Default: `hidden` / `heads`."""

    kv_lora_rank: int | None = None
    """MLA: width of the latent of keys and values. Default: no latent."""

    q_lora_rank: int | None = None
    """MLA: width of the latent of queries."""

    qk_rope_head_dim: int | None = None
    """MLA: width of rotary positions beside the latent and in each head."""

    v_head_dim: int | None = None
    """MLA: width of a head's values. Default: `head_dim`."""

    feed_forward: int | None = None
    """Width inside a layer's network, or inside one expert. Default: four times `hidden`."""

    dense_feed_forward: int | None = None
    """Width inside the network of a dense layer of a model with experts. Default: `feed_forward`."""

    gated: bool | None = None
    """Networks have a gate, and so a third matrix. Default: no."""

    sequence: int | None = None
    """Tokens of a sequence."""

    vocabulary: int | None = None
    """Number of different tokens."""

    positions: bool | None = None
    """Positions have learned vectors, as in GPT. Default: no."""

    experts: int | None = None
    """Experts of a layer. Default: one network for all tokens."""

    top_k: int | None = None
    """Experts per token."""

    shared_experts: int | None = None
    """Experts that every token takes, at the token's own rank. Default: none."""


@dataclass(kw_only=True)
class Parallel(_Part):
    """`workload[…].training.parallel`."""

    tensor: int | None = None
    """Ranks that share each matrix (TP)."""

    sequence: bool | None = None
    """Tensor-parallel ranks also share sequences: all-gathers and reduce-scatters replace all-reduces (SP)."""

    pipeline: int | None = None
    """Stages of the pipeline (PP)."""

    interleave: int | None = None
    """Pieces of the model per stage, around the pipeline (VPP)."""

    context: int | None = None
    """Ranks that share a sequence (CP)."""

    data: int | None = None
    """Replicas (DP)."""

    expert: int | None = None
    """Ranks over which experts are spread, among replicas and ranks that share a sequence (EP)."""

    zero: int | None = None
    """State that replicas share: none (0), optimizer state (1), also gradients (2), also parameters (3)."""


@dataclass(kw_only=True)
class Compute(_Part):
    """`workload[…].training.compute`: how long a rank computes."""

    peak: float | None = None
    """Floating-point operations of a processor in a second, at most: by default an A100's 312e12 with 16 bits."""

    efficiency: float | None = None
    """Share of the peak that is reached."""

    forward: str | None = None
    """Measured time of a layer's forward pass on a rank, for a micro-batch."""

    backward: str | None = None
    """Measured time of a layer's backward pass. Default: twice the forward time."""

    optimizer: str | None = None
    """Time of the optimizer."""

    jitter: float | None = None
    """Standard deviation of each time as a share of the time; drawn from the seed, per rank."""


@dataclass(kw_only=True)
class Numbers(_Part):
    """`workload[…].training.bytes`: of a number of each kind."""

    activation: int | None = None
    """Activations."""

    parameter: int | None = None
    """Parameters in all-gathers."""

    gradient: int | None = None
    """Gradients in reductions."""


@dataclass(kw_only=True)
class Collectives(_Part):
    """`workload[…].training.collectives`: the algorithms of groups."""

    tensor: (
        Literal[
            "ring",
            "double_tree",
            "halving_doubling",
            "hierarchical",
            "direct",
            "rounds",
            "chain",
            "dissemination",
            "in_network",
            "tree",
            "nvls",
            "nvls_tree",
            "pat",
            "auto",
        ]
        | None
    ) = None
    """Of tensor-parallel ranks. Textbook: all-reduces, with `in_network` also reduce-scatters and all-gathers; default
    a ring. NCCL: all collectives; default `auto`.
    """

    data: (
        Literal[
            "ring",
            "double_tree",
            "halving_doubling",
            "hierarchical",
            "direct",
            "rounds",
            "chain",
            "dissemination",
            "in_network",
            "tree",
            "nvls",
            "nvls_tree",
            "pat",
            "auto",
        ]
        | None
    ) = None
    """Of replicas. Textbook: all-reduces without `ZeRO`, with `in_network` also reduce-scatters and all-gathers;
    default a ring. NCCL: all collectives but those of tensor-parallel ranks and experts; default `auto`.
    """

    expert: (
        Literal[
            "ring",
            "double_tree",
            "halving_doubling",
            "hierarchical",
            "direct",
            "rounds",
            "chain",
            "dissemination",
            "in_network",
            "tree",
            "nvls",
            "nvls_tree",
            "pat",
            "auto",
        ]
        | None
    ) = None
    """All-to-alls of experts. Textbook: default `direct`. NCCL: messages between pairs, without a choice."""

    copies: Literal["expert", "rank", "server"] | None = None
    """How often a token crosses the network on its way to its experts."""

    overhead: str | None = None
    """Time before each exchange with the experts, besides the library's own."""

    channels: int | None = None
    """Channels of all collectives. Default: one; with NCCL as many as NCCL uses."""

    chunk: str | None = None
    """Largest piece of a message that is passed on separately. Default: whole messages; with NCCL the chunk of the
    protocol.
    """


@dataclass(kw_only=True)
class Training(_Part):
    """`workload[…].training`."""

    model: Model
    """The model."""

    parallel: Parallel | None = None
    """The parallelism."""

    micro_batch: int | None = None
    """Sequences of a micro-batch."""

    global_batch: int | None = None
    """Sequences of an iteration, of all replicas together. Default: as many micro-batches for each replica as the
    pipeline has stages.
    """

    iterations: int | None = None
    """Iterations."""

    compute: Compute | None = None
    """Times of computations."""

    bytes: Numbers | None = None
    """Sizes of numbers."""

    overlap: bool | None = None
    """Reduces gradients during the backward pass, instead of after it."""

    buckets: int | None = None
    """Number of parts of the gradients, layer by layer, that are reduced during later computations."""

    collectives: Collectives | None = None
    """The algorithms of collectives."""

    library: Literal["textbook", "nccl"] | None = None
    """The library of collectives. Default: `nccl` if `network.servers` is given, otherwise `textbook`."""

    hosts: Sequence[int | str] | None = None
    """The hosts of the ranks, in order. Default: by `placement`."""

    placement: Literal["linear", "rail", "random"] | None = None
    """The order in which ranks are placed at hosts."""


@dataclass(kw_only=True)
class ServingNumbers(_Part):
    """`workload[…].serving.bytes`: of a number of each kind."""

    weight: int | None = None
    """Weights."""

    kv: int | None = None
    """Keys and values in the KV cache."""

    activation: int | None = None
    """Activations."""


@dataclass(kw_only=True)
class Measured(_Part):
    """`workload[…].serving.compute.times[]`: a measured computing time of a rank."""

    part: Literal["attention", "network", "shared_experts", "experts", "head"]
    """The part."""

    tokens: int
    """New tokens; of experts the pairs of a token and an expert of the rank; of the head the sequences."""

    context_tokens: int | None = None
    """Of attention: tokens in the context of all sequences, with the new tokens."""

    time: str
    """The computing time of the part in a layer."""


@dataclass(kw_only=True)
class ServingCompute(_Part):
    """`workload[…].serving.compute`: how long a rank computes."""

    device: Literal["h100", "h200", "b200", "h20", "h800"] | None = None
    """The GPU. Weights of one byte take the FLOP/s of 8 bits."""

    peak: float | None = None
    """Floating-point operations in a second, in the place of a device."""

    memory: float | None = None
    """Bytes of memory in a second, in the place of a device."""

    efficiency: float | None = None
    """Share of the peak that is reached."""

    memory_efficiency: float | None = None
    """Share of the memory bandwidth that is reached."""

    kernel: str | None = None
    """Time of each part of a layer besides."""

    times: Sequence[Measured] | None = None
    """Measured times in the place of the roofline, interpolated linearly. A part without rows needs a device, or peak
    and memory.
    """

    times_table: str | None = None
    """The same as a CSV or Parquet file with the columns part, tokens, `context_tokens` and time."""

    jitter: float | None = None
    """Standard deviation of each computing time of a rank, as a share of the time; 0 to 0.5."""


@dataclass(kw_only=True)
class ServingArrivals(_Part):
    """`workload[…].serving.arrivals`: independent arrivals of requests."""

    rate: float
    """Requests in a second."""

    cv: float | None = None
    """Coefficient of variation of the gaps between requests: gaps of a Gamma distribution. 1: a Poisson process; 0:
    equal gaps.
    """

    duration: str | None = None
    """No request arrives later."""

    requests: int | None = None
    """Number of requests."""


@dataclass(kw_only=True)
class Lengths(_Part):
    """`workload[…].serving.lengths`: tokens of all requests."""

    input: int
    """Tokens of the prompt."""

    output: int
    """Tokens of the answer."""


@dataclass(kw_only=True)
class ServingRow(_Part):
    """A request: a row of `requests`, or of the table."""

    arrival: str
    """Arrival, after the start of the workload."""

    input_tokens: int
    """Tokens of the prompt."""

    output_tokens: int
    """Tokens of the answer."""

    cached_tokens: int | None = None
    """Tokens of the prompt whose keys and values the prefill rank has."""


@dataclass(kw_only=True)
class Pool(_Part):
    """`workload[…].serving.prefill`, `.decode` and `.aggregated`: a pool of equal instances of the model."""

    instances: int | None = None
    """Copies of the model."""

    tensor: int | None = None
    """Ranks that share each matrix (TP)."""

    data: int | None = None
    """DP ranks of an instance, each with a batch of its own."""

    expert: int | None = None
    """Ranks over which experts are spread (EP): 1, or all ranks of an instance."""

    microbatches: int | None = None
    """Parts of each batch, 1 to 4, that take turns: one communicates while another computes."""

    max_sequences: int | None = None
    """Most running sequences of a DP rank."""

    max_tokens: int | None = None
    """Most tokens of a step of a DP rank. A longer prompt without `chunk` is computed alone."""

    chunk: int | None = None
    """Largest piece of a prompt in a step (chunked prefill). Default: whole prompts."""

    kv_tokens: int | None = None
    """Tokens whose keys and values a DP rank can hold. Default: no limit."""

    warm: bool | int | None = None
    """Sequences that run at each DP rank of decode from the start: a number, or `true` for the equilibrium of arrivals
    and steps. Lengths are drawn by their share of time, and ages evenly. Default: none.
    """

    hosts: Sequence[int | str] | None = None
    """The hosts of the ranks, in order. Default: by `placement`, after the hosts of the pool before."""


@dataclass(kw_only=True)
class Router(_Part):
    """`workload[…].serving.router`."""

    policy: Literal["round_robin", "random", "least_loaded", "power_of_two"] | None = None
    """Choice of a DP rank."""

    prefill: Literal["round_robin", "random", "least_loaded", "power_of_two"] | None = None
    """Choice for prefill. Default: `policy`."""

    decode: Literal["round_robin", "random", "least_loaded", "power_of_two"] | None = None
    """Choice for decode. Default: `policy`."""


@dataclass(kw_only=True)
class Kv(_Part):
    """`workload[…].serving.kv`: the way of KV caches from prefill to decode."""

    handoff: Literal["push", "pull"] | None = None
    """Who starts the transfer."""

    granularity: Literal["whole", "chunk", "layer"] | None = None
    """The pieces; `chunk` and `layer` need `push`."""

    nics: Literal["own", "server"] | None = None
    """The NICs that a KV cache takes."""

    overhead: str | None = None
    """Time before each piece leaves."""

    class_: int | None = None
    """Priority class. Default: the class of the workload."""


@dataclass(kw_only=True)
class ExpertTraffic(_Part):
    """`workload[…].serving.experts`: the way of tokens to experts and back."""

    dispatch: Literal["bf16", "fp8"] | None = None
    """Numbers of a token on the way to experts; results come back with two bytes a number."""

    copies: Literal["expert", "rank", "server"] | None = None
    """How often a token crosses the network: `expert`, `rank` or `server`."""

    skew: float | None = None
    """Exponent of Zipf's law for the popularity of the experts of a layer, 0 to 10; the order of the experts is drawn
    for each layer. 0: all experts are equal.
    """

    redundant: int | None = None
    """Copies of experts beyond one of each expert, for the most popular experts of each layer."""

    overhead: str | None = None
    """Time before each dispatch and combine."""

    class_: int | None = None
    """Priority class. Default: the class of the workload."""


@dataclass(kw_only=True)
class TensorTraffic(_Part):
    """`workload[…].serving.tensor`: the collectives of tensor-parallel ranks."""

    class_: int | None = None
    """Priority class. Default: the class of the workload."""


@dataclass(kw_only=True)
class ControlTimes(_Part):
    """`workload[…].serving.control`: the messages of routers and schedulers."""

    delay: str | None = None
    """Time of a message from a rank to a scheduler and on to a rank; half of the time each way."""

    step: str | None = None
    """Time of a scheduler before a step."""


@dataclass(kw_only=True)
class Slo(_Part):
    """Limits of service levels; a request meets the levels if all given times are within the limits."""

    ttft: str | None = None
    """Time to the first token."""

    tpot: str | None = None
    """Mean time of a token after the first token."""

    itl: str | None = None
    """Longest time between two tokens."""

    e2e: str | None = None
    """Time from the arrival to the last token."""


@dataclass(kw_only=True)
class Serving(_Part):
    """`workload[…].serving`."""

    model: Model
    """The model."""

    bytes: ServingNumbers | None = None
    """Sizes of numbers."""

    compute: ServingCompute
    """Times of computations."""

    arrivals: ServingArrivals | None = None
    """Arrivals at random."""

    lengths: Lengths | None = None
    """Lengths of requests that arrive at random."""

    requests: Sequence[ServingRow] | None = None
    """Requests in the place of random arrivals. With `arrivals`: lengths that are drawn together, row by row."""

    requests_table: str | None = None
    """The same as a CSV or Parquet file with the columns arrival, `input_tokens`, `output_tokens` and optionally
    `cached_tokens`, such as `xoff import requests` writes.
    """

    prefill: Pool | None = None
    """The pool that computes prompts."""

    decode: Pool | None = None
    """The pool that makes tokens."""

    aggregated: Pool | None = None
    """One pool for both."""

    router: Router | None = None
    """The choice of DP ranks."""

    kv: Kv | None = None
    """The transfer of KV caches."""

    experts: ExpertTraffic | None = None
    """The traffic of experts."""

    tensor: TensorTraffic | None = None
    """The traffic of tensor-parallel ranks."""

    first_token: Literal["prefill", "transfer", "decode"] | None = None
    """Who shows the first token."""

    control: ControlTimes | None = None
    """Messages of routers and schedulers."""

    slo: Slo | None = None
    """Service levels."""

    warmup: str | None = None
    """Requests that arrive earlier, after the start of the workload, are in the table and in no percentile."""

    placement: Literal["linear", "rail", "random"] | None = None
    """The order in which ranks are placed at hosts."""


@dataclass(kw_only=True)
class Poisson(_Part):
    """`workload[…].poisson`."""

    load: float
    """Payload as a share of each source's line rate, above 0 and up to 1.5."""

    sizes: Literal["websearch", "hadoop", "hadoop_fine", "storage", "datamining", "google_rpc"] | None = None
    """A published distribution of flow sizes."""

    cdf: Sequence[Sequence[float]] | None = None
    """A distribution of your own: pairs of bytes and cumulative percent."""

    cdf_file: str | None = None
    """A CSV or Parquet file with a distribution: columns bytes and percent."""

    duration: str | None = None
    """Flows arrive for this long."""

    flows: int | None = None
    """This many flows arrive in all, shared evenly over sources. If there are fewer flows than sources, the sources
    are drawn.
    """

    warm_start: bool | float | None = None
    """Flows are under way at each source when the workload begins, so that the network carries its load from the
    start. `true`: as many as a processor-sharing queue of this load has in equilibrium, load / (1 − load) on average.
    A number: this mean number. These flows have the workload's name with ` warm` behind, and are no part of the run's
    completion times.
    """

    sources: Sequence[int | str] | None = None
    """Hosts that send. Default: all."""

    destinations: Sequence[int | str] | None = None
    """Hosts that receive. Default: all."""


@dataclass(kw_only=True)
class Bernoulli(_Part):
    """`workload[…].bernoulli`: one flow from each source."""

    sources: Sequence[int | str]
    """Hosts that send."""

    destinations: Sequence[int | str]
    """Hosts that receive: one host for all sources, or one for each source."""

    load: float
    """Share of its line rate that each source offers, headers included, above 0 and up to 1."""

    duration: str
    """Frames come for this long."""

    queue: str | None = None
    """Most bytes that wait at a source."""


@dataclass(kw_only=True)
class Flow(_Part):
    """A listed flow."""

    src: int | str
    """The host that sends."""

    dst: int | str
    """The host that receives."""

    size: str
    """Payload."""

    start: str | None = None
    """The start, after the workload's start."""

    id: str | None = None
    """A unique name, to be shown and to wait for."""

    after: Sequence[str] | None = None
    """Starts when all of these flows have arrived at the source, but not before `start`. `WORKLOAD/NAME` is an
    operation of a job at the source.
    """

    via: Sequence[str] | None = None
    """The nodes of the path, in order; `name/k` takes the k-th of parallel links into the node. Default: ECMP."""


@dataclass(kw_only=True)
class Python(_Part):
    """`workload[…].python`."""

    function: str
    """The function as `module:function`, called as `function(hosts, seed, **parameters)`. The module is looked up
    beside the file of the scenario, then among the installed modules.
    """

    parameters: Mapping[str, Any] | None = None
    """Further arguments of the function, by name."""

    rows: str | None = None
    """A CSV or Parquet file with the rows, which takes the place of the call. Results of runs have this key."""

    groups: str | None = None
    """Beside `graph`: a CSV or Parquet file with the groups that the function returned. Results of runs have this key.
    """


@dataclass(kw_only=True)
class Workload(_Part):
    """`[[workload]]`: exactly one kind of traffic."""

    name: str | None = None
    """Shown in tables. Default: the kind of traffic."""

    start: str | None = None
    """The start of the workload."""

    class_: int | None = None
    """Priority class of the packets."""

    connections: Literal["persistent", "per_message"] | None = None
    """For collectives and jobs: messages share connections that keep their state (`persistent`, the default), or each
    message is a flow.
    """

    connections_per_channel: int | None = None
    """Connections with separate paths over which the messages of a channel between two ranks take turns, 1 to 64.
    Default: one.
    """

    nccl: Nccl | None = None
    """Settings of collectives with `library = "nccl"`."""

    incast: Incast | None = None
    """Several senders and one receiver."""

    repeated_incast: RepeatedIncast | None = None
    """Incasts again and again, at random hosts."""

    parameter_server: ParameterServer | None = None
    """Pushes to a server, and the broadcast of the server."""

    moe: Moe | None = None
    """Tokens to experts and back."""

    permutation: Permutation | None = None
    """One random cycle of flows over the hosts."""

    all_to_all: AllToAll | None = None
    """Every pair."""

    collective: Collective | None = None
    """A collective operation of a job, whose messages depend on one another."""

    graph: Graph | None = None
    """A job as a graph of computations, sends and receives of ranks."""

    training: Training | None = None
    """A job that trains a model."""

    serving: Serving | None = None
    """Requests to a language model: prefill, KV caches, decode."""

    poisson: Poisson | None = None
    """Random arrivals."""

    bernoulli: Bernoulli | None = None
    """Open-loop sources: frames at random in the slots of a line."""

    flows: Sequence[Flow] | None = None
    """A list."""

    plugins: Mapping[str, Any] | None = None
    """Kinds of traffic of plug-ins."""

    table: str | None = None
    """A CSV or Parquet file with a list: columns src, dst, size and optionally start, id, after, via (both separated
    by `;`).
    """

    python: Python | None = None
    """A Python function that returns the rows: flows as in `table`, or beside `graph` the operations of the job.
    Called with `--allow-python` alone.
    """


@dataclass(kw_only=True)
class FaultTime(_Part):
    """A distribution of times."""

    fixed: str | None = None
    """This time."""

    exponential: str | None = None
    """Exponentially distributed, with this mean: failures without memory."""

    uniform: Sequence[str] | None = None
    """Uniformly distributed between the two times."""


@dataclass(kw_only=True)
class Fault(_Part):
    """`fault`: target, moments, and effect of a failure."""

    at: str | None = None
    """Start of the fault. With `time_between_failures`: no failure before."""

    duration: str | None = None
    """Duration of the fault. Default: for ever."""

    link: str | None = None
    """Links, by the names of their ends: `leaf0-spine1` for both directions, `leaf0 -> spine1` for frames of leaf0;
    `*` stands for any characters.
    """

    node: str | None = None
    """Nodes by name, with all their links; `*` stands for any characters."""

    host: str | None = None
    """Hosts by name; `*` stands for any characters."""

    state: Literal["down"] | None = None
    """State of the links or nodes."""

    queued: Literal["flush", "wait"] | None = None
    """With `state`: action on frames for a dead link."""

    rate: str | None = None
    """Rate of a link, in place of its own."""

    delay: str | None = None
    """Propagation delay of a link, or the length of the cable, in place of its own."""

    bit_error_rate: float | None = None
    """Probability of damage of each bit of a link. A frame with a damaged bit is lost where the frame arrives. With 1
    a link silently loses all frames.
    """

    stall: bool | None = None
    """The host reads no frame, and its interface pauses all classes of the neighbour."""

    compute: float | None = None
    """Factor of the host's computation times in jobs (a straggler), also for a computation in progress, while the
    fault lasts.
    """

    time_between_failures: FaultTime | None = None
    """Repeated failures: the time from a repair, or `at`, until the next failure. Each link, node or host draws
    separately.
    """

    time_to_repair: FaultTime | None = None
    """With `time_between_failures`: the time from a failure until its repair."""


@dataclass(kw_only=True)
class Probe(_Part):
    """`probe`."""

    packets: bool | None = None
    """Writes each departure and arrival of a frame to the table `packets`."""

    queues: str | None = None
    """Writes queue lengths at this interval to the table `samples`."""

    delays: Literal["all"] | Sequence[int] | None = None
    """Cuts the completion times of these flows, or of `all`, into parts, in the table `delays`. The table
    `contributions` lists the bytes that made a switch pause its neighbours.
    """

    replay: bool | None = None
    """Writes queue lengths to the table `samples` for the replay on the page of a run (`xoff report`): every 100 ns at
    first. The interval doubles whenever more than 100,000 rows would result.
    """

    size_classes: Sequence[str] | None = None
    """Also reports completion times of each workload by size: flows below the first size, below the second size, and
    above.
    """

    flows: bool | None = None
    """Writes a row for each flow to the table `flows`."""

    slices: bool | None = None
    """Writes a row for each message of a job over NVLink to the table `messages`. Most messages of a large job stay
    inside servers, so these rows can be 98 % of the table.
    """

    tokens: bool | None = None
    """Writes a row for each token of serving to the table `tokens`."""


@dataclass(kw_only=True)
class Audits(_Part):
    """`audits`."""

    loss: Literal["fail", "record"] | None = None
    """A loss in a class under PFC."""

    deadlock: Literal["fail", "record"] | None = None
    """A ring of ports that wait for one another."""

    pauses: Literal["fail", "record"] | None = None
    """A pause that never ends."""

    completion: Literal["fail", "record"] | None = None
    """Flows that are undelivered after the last event."""


@dataclass(kw_only=True)
class Scenario(_Part):
    """A scenario: a network, switches, hosts and workloads."""

    name: str | None = None
    """Shown in results."""

    description: str | None = None
    """Description for readers."""

    seed: int | None = None
    """Of all random numbers."""

    until: str | None = None
    """Ends the run at this time, also with unfinished flows. Default: the last event."""

    ties: Literal["relative"] | None = None
    """Order of frames that reach a switch at the same moment. `relative`: by the distance from the sender to the
    destination, so that one server may stand for many (docs/folding.md). Default: by the port of arrival.
    """

    draws: Literal["shared"] | None = None
    """Random draws of equal servers, with `ties`: hashes of ECMP, marks of RED, jitter. `shared`: equal servers share
    each draw, so that chance does not tell them apart. This changes the model: collisions of their flows vanish
    (docs/folding.md). Default: every flow and every switch draws for itself.
    """

    network: Network
    """Nodes and links."""

    framing: Framing | None = None
    """Packet sizes."""

    switch: Switch | None = None
    """All switches."""

    host: HostSettings | None = None
    """All hosts."""

    workload: Sequence[Workload] | None = None
    """Traffic."""

    fault: Sequence[Fault] | None = None
    """Faults of links, nodes and hosts, at given or drawn moments."""

    probe: Probe | None = None
    """Additional tables."""

    audits: Audits | None = None
    """Reaction to a failed audit."""
