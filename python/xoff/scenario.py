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
    "Classify",
    "Collective",
    "Collectives",
    "Compute",
    "CongestionControl",
    "CongestionIsolation",
    "Conweave",
    "Credits",
    "CutThrough",
    "Dcqcn",
    "Dctcp",
    "Drill",
    "Dynamic",
    "Ecn",
    "Edge",
    "Explicit",
    "Failover",
    "FatTree",
    "Fault",
    "Faults",
    "FirstHop",
    "Flow",
    "FlowControl",
    "Flowlet",
    "Framing",
    "GoBackN",
    "Graph",
    "HostOverride",
    "HostSettings",
    "Hpcc",
    "HpccPint",
    "Incast",
    "Irn",
    "LeafSpine",
    "Line",
    "Link",
    "LinkOverride",
    "LinkRetry",
    "Mice",
    "Model",
    "Moe",
    "Ndc",
    "Ndp",
    "Network",
    "Node",
    "Nscc",
    "Numbers",
    "Override",
    "Oversubscription",
    "Parallel",
    "ParameterServer",
    "Permutation",
    "Pfc",
    "Pint",
    "Poisson",
    "Portfc",
    "Probe",
    "Processor",
    "Qcn",
    "Rail",
    "Rccc",
    "Red",
    "Reducers",
    "Relay",
    "RepeatedIncast",
    "Reps",
    "Routing",
    "Row",
    "Scenario",
    "Selective",
    "Sfc",
    "Shared",
    "Shares",
    "Spray",
    "Star",
    "Step",
    "Swift",
    "Switch",
    "Telemetry",
    "ThreeTierClos",
    "Thresholds",
    "Time2",
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
    """Links between switches, when they differ."""


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
    """Links between leaves and spines, when they differ."""

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
    """Parallel links from an aggregation switch to each core it is linked to."""

    cores_per_aggregation: int | None = None
    """Cores that each aggregation switch is linked to, those of its plane: aggregation switch a of every pod to cores
    a·n … a·n + n − 1 (mod cores). Default: all.
    """

    link: Link
    """Every link."""

    fabric_link: Link | None = None
    """Links between switches, when they differ."""


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
    """Links of each level from 0 on, when they differ."""


@dataclass(kw_only=True)
class Aggregation(_Part):
    """`network.rail.aggregation`."""

    switches: int
    """Switches, each linked to every rail switch."""

    link: Link
    """Links from rail switches to them."""

    segments: int | None = None
    """Groups of servers with rail switches of their own, joined by aggregation switches alone."""


@dataclass(kw_only=True)
class Rail(_Part):
    """`network.rail`."""

    servers: int
    """Servers (of each segment)."""

    gpus_per_server: int
    """GPUs of a server, which is the number of rails."""

    scale_up: Link
    """Links within a server: the high-bandwidth domain."""

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
    """What it is."""

    delay: str | None = None
    """Its own forwarding delay, when it differs from the scenario's."""


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
    """Links; their order at a node sets its port numbers."""

    nodes_table: str | None = None
    """A file with nodes: columns name, kind and optionally delay."""

    links_table: str | None = None
    """A file with links: columns a, b, rate, delay."""


@dataclass(kw_only=True)
class LinkOverride(_Part):
    """`network.overrides`: a link that differs from what its shape says."""

    link: str
    """Which: the names of its ends, such as `leaf1-spine3`, in either order; `*` stands for any characters."""

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
    """What a switch reduces and gives out, both of all ranks together: as much as all their links, if it does so at
    line rate.
    """


@dataclass(kw_only=True)
class Failover(_Part):
    """`network.failover`."""

    local_repair_delay: str | None = None
    """A node stops choosing a port whose link has been down for so long, and chooses it again once it has been back
    for so long. Default: never.
    """

    convergence_time: str | None = None
    """So long after a link went down, or came back, and stayed so, the routes of all nodes are computed anew. Default:
    never.
    """


@dataclass(kw_only=True)
class LinkRetry(_Part):
    """`network.link_retry`."""

    links: Sequence[str] | None = None
    """Links, by the names of their ends: `leaf0-spine1`; `*` stands for any characters. Default: all."""

    frames: int | None = None
    """Frames that a sender may have under way."""

    buffer: str | None = None
    """Their bytes."""

    timeout: str | None = None
    """So long after it was sent again a frame is sent once more that was damaged again."""

    max_retries: int | None = None
    """A frame that was damaged so often is lost."""


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
    """Copies of all switches, to each of which every host has links of its own, as a card with a port in each plane
    has; no plane meets another. Switches are then called `p0.leaf0`, `p1.leaf0`, …; a flow leaves by one port
    (`host.first_hop`), and is moved to another when that leads nowhere any more (`network.failover`). Default: 1.
    """

    overrides: Sequence[LinkOverride] | None = None
    """Links of the shape that differ; of several that name a link the last one counts."""

    reducers: Sequence[Reducers] | None = None
    """Switches that reduce, for collectives with `algorithm = "in_network"`."""

    failover: Failover | None = None
    """What becomes of routes when links go down (`fault`)."""

    link_retry: LinkRetry | None = None
    """Links send again what was damaged on them (`fault.bit_error_rate`), as Ultra Ethernet's LLR does."""


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
    """Bytes at the start of a frame after which a switch knows where it goes."""


@dataclass(kw_only=True)
class Shared(_Part):
    """`switch.buffer.shared`."""

    total: str
    """All of the memory."""

    alpha: float | None = None
    """A port and class may use this share of what is free in the pool (Choudhury, Hahne 1998)."""

    reserve: str | None = None
    """Set aside for each ingress port and class."""

    headroom: str | None = None
    """Headroom for each ingress port and class; computed from its link when not given."""


@dataclass(kw_only=True)
class Buffer(_Part):
    """`switch.buffer`."""

    per_port: str | None = None
    """A buffer of this size for each port: its ingress traffic (`iq`, `voq`, `oq` with ingress accounting) or its
    egress queue (`oq` with egress accounting).
    """

    per_queue: str | None = None
    """A buffer of this size for each queue: for each ingress port and class where `per_port` counts ingress, and for
    each egress queue otherwise.
    """

    shared: Shared | None = None
    """One buffer for the whole switch, with dynamic thresholds."""


@dataclass(kw_only=True)
class Turns(_Part):
    """How classes of a port take turns."""

    drr: str | None = None
    """Deficit round robin with this many bytes a round."""


@dataclass(kw_only=True)
class Red(_Part):
    """`switch.ecn.red`."""

    kmin: str
    """Nothing is marked up to this queue."""

    kmax: str
    """Everything is marked above this queue."""

    pmax: float | None = None
    """Probability at `kmax`, 0 to 1."""


@dataclass(kw_only=True)
class Step(_Part):
    """`switch.ecn.step`."""

    threshold: str
    """The queue above which packets are marked."""


@dataclass(kw_only=True)
class Ecn(_Part):
    """`switch.ecn`: one of `red` and `step`."""

    red: Red | None = None
    """Random early detection on the instantaneous queue."""

    step: Step | None = None
    """Every packet that leaves more than the threshold behind is marked."""

    scope: Literal["queue", "port"] | None = None
    """What thresholds are compared with."""

    classes: Sequence[int] | None = None
    """Classes whose packets are marked; default all."""


@dataclass(kw_only=True)
class Pint(_Part):
    """`switch.telemetry.pint`."""

    base: float | None = None
    """Base b of the logarithm that is written, 1.0002 to 2: steps of b, in one byte from 1.05 on, in two below."""

    round_trip: str | None = None
    """The longest round trip without queues (T). Default: that of the network."""


@dataclass(kw_only=True)
class Telemetry(_Part):
    """`switch.telemetry`."""

    pint: Pint | None = None
    """PINT: one number for the whole way, which HPCC-PINT reads, in the place of what INT writes at each output, which
    HPCC reads.
    """


@dataclass(kw_only=True)
class Trimming(_Part):
    """`switch.trimming`."""

    limit: str | None = None
    """The most that a queue of data may hold; with virtual output queues those of a class and output together.
    Default: what the buffer has room for.
    """

    size: str | None = None
    """Bytes of what is left of a packet on the wire, preamble and gap among them. Default: those of a control frame."""

    turns: int | None = None
    """Control frames, headers among them, that go before a packet of data that waits."""

    headers: str | None = None
    """The most that control frames may take that wait for an output when a packet is cut there; NDP has twice `limit`.
    What is left of one beyond that is dropped. Default: no bound.
    """

    return_to_sender: bool | None = None
    """Whether a header beyond that bound goes back to its source instead, which then knows of the loss at once (NDP).
    """


@dataclass(kw_only=True)
class Watchdog(_Part):
    """`switch.flow_control.pfc.watchdog`."""

    detection: str | None = None
    """A class of an output that is paused for this long is in a storm. `SONiC`'s: 200 ms, from 100 ms to 5 s."""

    restoration: str | None = None
    """The storm is over when its neighbour has not paused it for this long. Default: twice `detection`."""

    poll: str | None = None
    """The switch looks this often, at multiples of it. Default: half of `detection`."""

    action: Literal["drop", "forward"] | None = None
    """What becomes of a class in a storm."""


@dataclass(kw_only=True)
class Pfc(_Part):
    """`switch.flow_control.pfc`."""

    xoff: str | None = None
    """Pause at this many bytes. Default: the class's share of the port's buffer less the computed headroom; with a
    shared buffer, its dynamic threshold (and by egress queue none, so that one is needed); with unlimited memory 100
    KB.
    """

    xon: str | None = None
    """Resume at this many bytes or fewer. Default: two packets below XOFF. With the dynamic threshold of a shared
    buffer: resume this far below it; default 3 KiB.
    """

    accounting: Literal["ingress", "egress"] | None = None
    """What XOFF is compared with."""

    quanta: int | None = None
    """Pauses end by themselves after this many quanta of 512 bit times unless refreshed, which the pausing node does
    at half of it, or as often as its link can. Default: pauses last until the resume.
    """

    refresh: bool | None = None
    """With `quanta`: whether pauses are refreshed. One that is not ends by itself, and the next packet that comes
    while the bytes are still above XON makes another; each time a round trip more comes into the headroom, which is
    computed for one.
    """

    relays: Literal["native", "forward"] | None = None
    """What hosts that relay do. Default: they hold flows where `host.relay.per_flow` holds (as in `network.rail`);
    elsewhere `native`.
    """

    hop_classes: bool | None = None
    """Each node that relays a packet puts it into the next higher class: PFC* of the `PortFC` paper."""

    watchdog: Watchdog | None = None
    """What switches do about pauses that last too long. Default: nothing."""


@dataclass(kw_only=True)
class Dynamic(_Part):
    """`switch.flow_control.sfc.dynamic`: with N sources in the queue, round trip R, line rate C."""

    pause: bool | None = None
    """Pause for (N − 1)·R and half of the time that the queue takes to drain: the middle of the range that neither
    leaves the queue above the threshold nor lets it run dry.
    """

    threshold: bool | None = None
    """Put the threshold (N − 1)·R·C below XOFF: what comes in after the message just fits. `threshold` is its least
    value.
    """


@dataclass(kw_only=True)
class Sfc(_Part):
    """`switch.flow_control.sfc`: the pause is one of `pause`, `target` and `dynamic.pause`."""

    threshold: str | None = None
    """Send messages while the watched queue holds this much or more. May be left out with `dynamic.threshold`."""

    pause: str | None = None
    """How long the source holds the flow."""

    target: str | None = None
    """Hold the flow for the time that the queue takes from where it is down to this. Where each input has a queue of
    its own (`voq`), the queues of the sources that share the output take their turns, and the pause is so much longer.
    """

    round_trip: str | None = None
    """The time from a message to the first packet that it kept from coming: subtracted from a pause to the target, and
    what dynamic pauses and thresholds are computed from.
    """

    dynamic: Dynamic | None = None
    """Computed from the occupancy and the number of sources."""

    resume: str | None = None
    """Tell held sources to go on when the queue has fallen to this."""

    interval: str | None = None
    """Least time between two messages for one flow (or what `hold` names). Default: the pause."""

    hold: Literal["flow", "destination", "queue"] | None = None
    """What a source holds."""

    mode: Literal["host", "proxy", "proxy_isolation", "nic_isolation"] | None = None
    """Who holds it."""

    signals: Literal["all", "last_hop"] | None = None
    """Which outputs of a switch send messages."""

    queues: int | None = None
    """Queues of a network interface under `nic_isolation`."""

    fallback: Literal["first", "shortest"] | None = None
    """Which of these a new flow takes when all are paused."""

    cache: bool | None = None
    """A source's switch remembers which destinations are paused, and holds new flows to them at once."""

    resume_ends: Literal["flow", "queue"] | None = None
    """What a resume ends where a source's switch has paused a queue."""


@dataclass(kw_only=True)
class CongestionIsolation(_Part):
    """`switch.flow_control.congestion_isolation`."""

    low: str | None = None
    """Below this many bytes in the non-congested queue no flow is selected; a congested queue below it lets flows
    return.
    """

    high: str | None = None
    """Above this many bytes every flow is selected."""

    pmax: float | None = None
    """A packet is selected with this probability at `high`, and with one in proportion between."""

    cim_threshold: str | None = None
    """The upstream neighbour is told of a flow when its congested queue holds this much, or all congested queues
    together do from that neighbour: PFC, which counts the one or the other, would pause the neighbour next.
    """

    mark: Literal["isolated", "selecting"] | None = None
    """Which packets of an isolated flow are marked."""

    class_: int | None = None
    """Class of the non-congested queue."""

    congested_class: int | None = None
    """Class of the congested queue."""

    max_flows: int | None = None
    """Flows that the table of an output has room for; when it is full, further flows stay in the non-congested queue.
    """

    aging_time: str | None = None
    """A flow that has had no packet in the congested queue for so long returns, however full that queue is; without
    it, only when the queue is below `low`.
    """

    preserve_order: bool | None = None
    """Packets that a flow has in both queues keep their order. The document does not say whether they do."""

    hosts: bool | None = None
    """Hosts have both queues and do what they are told; otherwise they ignore it."""


@dataclass(kw_only=True)
class Portfc(_Part):
    """`switch.flow_control.portfc`."""

    xoff: str | None = None
    """Pause when the inter-hop queues of an output hold so much together. Default: 6 products of rate and delay of its
    link, and at least 6 packets.
    """

    xon: str | None = None
    """Resume at this or less. Default: 4 products, and at least 4 packets."""

    direct_xoff: str | None = None
    """The same for the direct queue. Default: `xoff`."""

    direct_xon: str | None = None
    """The same for the direct queue. Default: `xon`."""


@dataclass(kw_only=True)
class Bcn(_Part):
    """`switch.flow_control.bcn`: congestion points; the rate limiters are `host.congestion_control.bcn`."""

    q_eq: str | None = None
    """The queue that is aimed at (Qeq)."""

    w: int | None = None
    """Weight of the queue's change."""

    sample_base: str | None = None
    """A frame is sampled each time this much has arrived …."""

    jitter: str | None = None
    """… and a random part of this."""

    q_sc: str | None = None
    """Above this queue sources are stopped: BCN(0,0). Default: they never are."""

    max_above: str | None = None
    """Above this queue the feedback is the most negative: BCN(max). Default: it never is for that reason."""

    edges: bool | None = None
    """Switches to which hosts are attached have congestion points, too."""


@dataclass(kw_only=True)
class Qcn(_Part):
    """`switch.flow_control.qcn`: congestion points; the rate limiters are `host.congestion_control.qcn`."""

    q_eq: str | None = None
    """The queue that is aimed at (Qeq)."""

    w: int | None = None
    """Weight of the queue's change."""

    sample_base: str | None = None
    """Bytes between two samples without congestion."""

    jitter: float | None = None
    """Intervals vary at random by this share to either side."""

    edges: bool | None = None
    """Switches to which hosts are attached have congestion points, too."""


@dataclass(kw_only=True)
class Bfc(_Part):
    """`switch.flow_control.bfc`."""

    queues: int | None = None
    """Data queues of each output."""

    round_trip: str | None = None
    """Round trip of a hop (H). Default: twice the delay of the link by which a packet came."""

    sticky: str | None = None
    """How long a flow keeps its queue after its last arrival. Default: two round trips of a hop."""

    entries: int | None = None
    """Entries of a switch's table of flows for each of its queues; flows whose hashes agree are one."""

    resume: Literal["counted", "threshold"] | None = None
    """When a queue that was paused may go on."""


@dataclass(kw_only=True)
class Credits(_Part):
    """`switch.flow_control.credits`."""

    scheme: Literal["absolute", "cbfc"] | None = None
    """How ends of a link count."""

    block: str | None = None
    """Bytes of a credit. Default: 64 (`absolute`), or 128 (`cbfc`)."""

    overhead: int | None = None
    """Bytes of memory that a packet takes beside its own on the wire; from -16 to 127 (`cbfc`)."""

    window: str | None = None
    """What an input holds of each class. Default: the class's share of the port's memory; where that has no limit, and
    at hosts, what the link needs for full rate; never more than counters can tell, which is 2048 blocks for
    `absolute`.
    """

    update_interval_bytes: str | None = None
    """An update follows another of its class after this many bytes of its link at least. Default: 0, so that each
    packet that leaves makes one (`absolute`), or 6400 (`cbfc`).
    """

    refresh_interval: str | None = None
    """A sender that waits for credits repeats its count this often. Default: the time of 65536 bytes on its link
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
    """Flow control by egress port where nodes relay (`PortFC`)."""

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
    """How a port is chosen."""

    entropy_values: int | None = None
    """With `entropy`: values that a flow has. Its packets take them in turn, in an order that is another each time
    that all were taken.
    """


@dataclass(kw_only=True)
class Reps(_Part):
    """`switch.routing.reps`."""

    entropy_values: int | None = None
    """Different entropy values of a flow; a few for each path."""

    buffer: int | None = None
    """Values that a flow remembers to use again."""

    freeze: str | None = None
    """After a timeout a flow goes round the values that it remembers for so long. Default: it goes on as before."""


@dataclass(kw_only=True)
class Flowlet(_Part):
    """`switch.routing.flowlet`."""

    timeout: str | None = None
    """A longer gap between two packets of a flow ends its flowlet."""


@dataclass(kw_only=True)
class Drill(_Part):
    """`switch.routing.drill`."""

    samples: int | None = None
    """Different ports that are drawn for each packet (d); all, if there are fewer."""

    memory: int | None = None
    """Ports that are remembered (m)."""


@dataclass(kw_only=True)
class Adaptive(_Part):
    """`switch.routing.adaptive`."""

    per: Literal["packet", "flowlet"] | None = None
    """What chooses a port anew."""

    timeout: str | None = None
    """With `flowlet`: a longer gap between two packets of a flow ends its flowlet."""

    load_update_interval: str | None = None
    """Neighbours are told of the load of ports, at most once in this time for each port. Default: each node knows its
    own alone.
    """


@dataclass(kw_only=True)
class Conweave(_Part):
    """`switch.routing.conweave`."""

    reply_slack: str | None = None
    """A flow leaves its path when an answer takes longer than the round trip without queues and this."""

    path_pause: str | None = None
    """A path is not chosen for so long after word of a marked packet on it."""

    expiry: str | None = None
    """After a gap of more than this between two packets a flow begins anew, by any path: one that pauses held up so
    long may overtake what it sent before.
    """

    flush_slack: str | None = None
    """Held packets go on so long after their TAIL was to come."""

    flush_default: str | None = None
    """When it was to come, after the first that is held, where no packet of the old path tells."""

    queues: int | None = None
    """Reorder queues of each port and class, 1 to 64: flows that can be held there at a time."""


@dataclass(kw_only=True)
class Routing(_Part):
    """`switch.routing`: who chooses among several ports on shortest paths; ECMP by a hash of the flow when nobody
    does.
    """  # noqa: D205

    spray: Spray | None = None
    """Each packet by itself, whatever its flow."""

    reps: Reps | None = None
    """Each packet by an entropy value that its host chooses (REPS)."""

    flowlet: Flowlet | None = None
    """Each flowlet by itself: a flow draws another port after a gap (`LetFlow`)."""

    drill: Drill | None = None
    """Each packet to the shortest of a few queues that are drawn or remembered (DRILL)."""

    adaptive: Adaptive | None = None
    """Each packet, or flowlet, to the least loaded good port (what switches call adaptive routing, or DLB)."""

    conweave: Conweave | None = None
    """Flows leave paths that are late, and the last switch puts their packets in order (`ConWeave`)."""


@dataclass(kw_only=True)
class Thresholds(_Part):
    """`switch.overrides.pfc`: what is left out is as everywhere."""

    xoff: str | None = None
    """Pause at this many bytes."""

    xon: str | None = None
    """Resume at this many bytes or fewer."""


@dataclass(kw_only=True)
class Shares(_Part):
    """`switch.overrides.buffer`: what is left out is as everywhere."""

    alpha: float | None = None
    """A class of such an ingress port may use this share of what is free in the pool."""

    headroom: str | None = None
    """Headroom for each class of such an ingress port."""


@dataclass(kw_only=True)
class Override(_Part):
    """`[[switch.overrides]]`: what is different at some switches, or at their ports of some speed or to some
    neighbours.
    """  # noqa: D205

    switches: Sequence[str] | None = None
    """Names of switches; `*` stands for any characters. `leaf* -> spine*` means those ports alone that lead to such
    nodes, switches or hosts. Default: all.
    """

    rate: str | None = None
    """Only their ports of this speed. Default: all."""

    cut_through: CutThrough | None = None
    """Cut-through at these inputs, in the place of `switch.cut_through`."""

    ecn: Ecn | None = None
    """ECN marking at these outputs, in the place of `switch.ecn`."""

    pfc: Thresholds | None = None
    """Thresholds of `switch.flow_control.pfc`."""

    buffer: Shares | None = None
    """Shares of `switch.buffer.shared`."""


@dataclass(kw_only=True)
class Faults(_Part):
    """How often a node does each thing wrong. All are zero by default."""

    vanish: int | None = None
    """Each switch makes this many data packets vanish without counting them."""

    overtake: int | None = None
    """Each switch lets this many data packets overtake the one before them in their queue."""

    hurry: int | None = None
    """Each switch lets this many data packets pass the forwarding delay of the next."""

    lose_resumes: int | None = None
    """PFC at each node never sends this many resumes."""

    lose_credit_updates: int | None = None
    """Credits at each node lose this many updates."""


@dataclass(kw_only=True)
class Switch(_Part):
    """`switch`."""

    forwarding_latency: str | None = None
    """Fixed processing delay of what is forwarded."""

    cut_through: CutThrough | None = None
    """Handles frames when their headers are in, and not at their last bit."""

    queueing: Literal["oq", "iq", "voq"] | None = None
    """Where packets wait."""

    buffer: Literal["unlimited"] | Buffer | None = None
    """Memory."""

    classes: int | None = None
    """Priority classes of data, 1 to 8."""

    scheduler: Literal["strict", "round_robin"] | Turns | None = None
    """How classes take turns. The queues of one class, such as those of the inputs with `voq`, share its turns packet
    by packet.
    """

    strict_priority_classes: int | None = None
    """Where classes take turns: so many of the highest classes are served strictly before all others."""

    ecn: Ecn | None = None
    """ECN marking."""

    telemetry: Telemetry | None = None
    """In-band network telemetry."""

    trimming: Trimming | None = None
    """Packet trimming."""

    flow_control: FlowControl | None = None
    """Flow control."""

    routing: Routing | None = None
    """Who chooses among several ports on shortest paths, packet by packet; a hash of the flow when nobody does."""

    overrides: Sequence[Override] | None = None
    """What is different at some switches, or at their ports of some speed; of several that are for a port the last one
    counts.
    """

    faults: Faults | None = None
    """Broken on purpose, to see the audits notice."""


@dataclass(kw_only=True)
class GoBackN(_Part):
    """`host.transport.go_back_n`."""

    rto: str | None = None
    """Retransmission timeout, restarted by each packet sent and each ACK that makes progress. Default: 4ms, or twice
    the longest round trip without load where that is longer.
    """

    nack_interval: str | None = None
    """Least time between two NACKs for the same packet."""


@dataclass(kw_only=True)
class Irn(_Part):
    """`host.transport.irn`."""

    bdp_cap: str | None = None
    """Payload that may be in flight. Default: the product of the line's rate and the longest round trip without
    queues.
    """

    rto_low: str | None = None
    """Timeout while at most `rto_low_threshold` packets are in flight. Default: 100us, or twice the longest round trip
    without load where that is longer.
    """

    rto_high: str | None = None
    """Timeout otherwise. Default: 320us, or `rto_low` where that is longer."""

    rto_low_threshold: int | None = None
    """`rto_low` applies while at most this many packets are in flight."""


@dataclass(kw_only=True)
class Selective(_Part):
    """`host.transport.selective`."""

    rto: str | None = None
    """A packet that was not heard of for so long since it started counts as lost. Ultra Ethernet's simulator has 15us
    and the time that six full queues take: 100us for 178 KB at 100 Gb/s. Default: 100us, or twice the longest round
    trip without load where that is longer.
    """

    sack_threshold: str | None = None
    """Answers come for so many bytes on the wire that have arrived; `sack_threshold` of Ultra Ethernet's simulator,
    where it is 16KiB. Default: for every packet.
    """

    reordering_threshold: int | None = None
    """A packet counts as lost when one so many later has arrived; above what packets may overtake. Default: never."""


@dataclass(kw_only=True)
class Ndp(_Part):
    """`host.transport.ndp`."""

    window: int | None = None
    """Packets that a flow sends unasked. Default: what fills the longest round trip of the network, with the answer."""

    rate: float | None = None
    """Share of its line that a host pulls, above 0 and up to 1."""

    rto: str | None = None
    """A packet that was not heard of for so long since it started counts as lost; it matters where headers are lost.
    Default: 20ms, or twice the longest round trip without load where that is longer.
    """


@dataclass(kw_only=True)
class Transport(_Part):
    """`host.transport`: at most one; Go-Back-N with its defaults when none is given."""

    go_back_n: GoBackN | None = None
    """Go-Back-N."""

    irn: Irn | None = None
    """IRN."""

    selective: Selective | None = None
    """Any order: what is lost is known by headers that switches cut, and not by gaps."""

    ndp: Ndp | None = None
    """NDP: receivers pull what goes beyond a first window."""

    raw: Mapping[str, Any] | None = None
    """Raw frames: nothing is acknowledged and nothing sent again."""


@dataclass(kw_only=True)
class Dcqcn(_Part):
    """`host.congestion_control.dcqcn`: a preset, and what differs from it."""

    preset: (
        Literal["conweave", "hpcc", "hpcc_paper", "hpcc_config", "microsoft", "sfc_proxy", "mellanox", "paper"] | None
    ) = None
    """Where values that are not given come from."""

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
    """What a packet that waits does when the rate changes; a limiter in `paper` and `mellanox`, a gap in the presets
    of ns-3 codes.
    """

    clamp_target: bool | None = None
    """Whether each cut also lowers the target."""

    cnp_interval: str | None = None
    """Least time between two notifications for a flow."""

    cnp: Literal["packet", "ack"] | None = None
    """Packets, or a bit on ACKs."""

    window: str | None = None
    """Payload that a flow may have under way. Default: no limit."""


@dataclass(kw_only=True)
class Hpcc(_Part):
    """`host.congestion_control.hpcc`."""

    eta: float | None = None
    """The utilisation that is aimed at (η), 0 to 1."""

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
    """The utilisation that is aimed at (η), 0 to 1."""

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
    """The longest round trip without queues, of which the largest window is the product with the line's rate. Default:
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
    """The most that flow scaling adds. Default: five base targets."""

    scaling_min: float | None = None
    """The window from which down flow scaling adds all of its range."""

    scaling_max: float | None = None
    """The window from which up it adds nothing."""

    additive_increase: float | None = None
    """Packets by which the window grows a round trip."""

    beta: float | None = None
    """Share of the excess delay by which it shrinks, 0 to 1."""

    max_decrease: float | None = None
    """The largest share that it loses at once, 0 to 1."""

    retx_reset_threshold: int | None = None
    """Timeouts in a row after which it is the minimum."""

    minimum_window: float | None = None
    """No window is smaller."""

    maximum_window: float | None = None
    """No window is larger. Default: no limit."""

    initial_window: float | None = None
    """The window of a flow that starts. Default: the product of the line's rate and the longest round trip without
    queues.
    """


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
    """Above this one it falls."""

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
    """The longest round trip without queues, from which a flow's own begins and only falls. Default: that of the
    network.
    """

    target: str | None = None
    """The delay that is aimed at. Default: three quarters of the round trip where switches trim packets, and else the
    round trip.
    """

    proportional_increase: float | None = None
    """Packets by which a window grows each round trip of 12us, for each 12us of distance to the target and 150KB of
    product.
    """

    fair_increase: float | None = None
    """Packets by which it grows each window above the target, for each 150KB of product."""

    fast_increase: float | None = None
    """Share of what arrives by which it grows without delay, for each 150KB of product."""

    additive_increase: float | None = None
    """Packets by which it grows each round trip in any case, for each 150KB of product."""

    gamma: float | None = None
    """Share of the excess delay by which it shrinks, 0 to 1."""

    quick_adapt: bool | None = None
    """Whether a window falls to what arrived, after a trim or a long delay."""

    maximum: float | None = None
    """The largest window, and the first: products of the line's rate and a flow's round trip."""


@dataclass(kw_only=True)
class Oversubscription(_Part):
    """`host.congestion_control.rccc.oversubscription`."""

    interval: str | None = None
    """The mean time between two looks at what arrived. Default: one and a half round trips of 12us."""

    target: float | None = None
    """The average share of marked packets that is borne, 0 to 1."""

    increase: float | None = None
    """What the share of the line grows by, each time that there is no congestion."""

    decrease: float | None = None
    """What part of it goes, for the whole of what is marked above the target."""

    minimum: float | None = None
    """The least share of the line; where it is known how many times narrower the network is, nine tenths of that share
    suit.
    """


@dataclass(kw_only=True)
class Rccc(_Part):
    """`host.congestion_control.rccc`."""

    round_trip: str | None = None
    """The longest round trip without queues. Default: that of the network."""

    maximum: float | None = None
    """The most credit that a flow has, and its first: products of a host's rate and the round trip."""

    batch: str | None = None
    """What a pull grants at most; the reference has four packets of 4096 B, whatever size packets are."""

    quantum: str | None = None
    """Bytes in which credit is counted."""

    rate: float | None = None
    """Share of its line that a host grants, above 0 and up to 1."""

    slow_pulls: bool | None = None
    """Whether flows that want nothing get credit while nobody wants any."""

    oversubscription: Oversubscription | None = None
    """What a host grants follows congestion in the network. Default: it does not."""


@dataclass(kw_only=True)
class CongestionControl(_Part):
    """`host.congestion_control`: at most one, and `rccc` beside it; none means line rate."""

    dcqcn: Dcqcn | None = None
    """DCQCN."""

    bcn: Bcn | None = None
    """Rate limiters that obey Backward Congestion Notification."""

    qcn: Qcn | None = None
    """Rate limiters that obey Quantized Congestion Notification (IEEE 802.1Qau)."""

    hpcc: Hpcc | None = None
    """HPCC, from in-band telemetry."""

    hpcc_pint: HpccPint | None = None
    """HPCC from one number a packet (PINT), in the place of what each output writes."""

    dctcp: Dctcp | None = None
    """DCTCP, from the share of marked packets."""

    swift: Swift | None = None
    """Swift, from the delay of packets."""

    timely: Timely | None = None
    """TIMELY, from how round trips change."""

    nscc: Nscc | None = None
    """NSCC, Ultra Ethernet's, from marks, delays and trims."""

    rccc: Rccc | None = None
    """RCCC, Ultra Ethernet's, from credit that receivers grant; another may be given beside it."""


@dataclass(kw_only=True)
class Mice(_Part):
    """`host.classify.mice`."""

    below: str
    """Flows of less payload than this …."""

    class_: int
    """… are of this class."""


@dataclass(kw_only=True)
class Classify(_Part):
    """`host.classify`: which class a flow gets, when it is not that of its workload. The first rule that fits holds."""

    mice: Mice | None = None
    """Flows below a size."""

    by_destination: int | None = None
    """Spread the others over this many classes from 0 on, by a hash of the destination."""


@dataclass(kw_only=True)
class Asymmetric(_Part):
    """`host.first_hop.asymmetric`."""

    threshold: float | None = None
    """The share of the faster domain's bandwidth that may be committed."""

    window: str | None = None
    """Over which the committed volume is measured."""

    raises: bool | None = None
    """Whether the weight of the faster domain rises again when less is committed."""


@dataclass(kw_only=True)
class FirstHop(_Part):
    """`host.first_hop`: by which of several ports a flow leaves its host, when more than one is on a shortest path."""

    asymmetric: Asymmetric | None = None
    """Asymmetric Traffic Engineering over two domains of unequal bandwidth."""


@dataclass(kw_only=True)
class Relay(_Part):
    """`host.relay`: hosts that pass packets on."""

    delay: str | None = None
    """Processing delay of what is relayed."""

    buffer: Literal["unlimited"] | Buffer | None = None
    """Memory for what is relayed."""

    per_flow: str | None = None
    """Under PFC: bytes of each flow that may wait in a host that relays the flow. At this bound the source holds the
    flow until an eighth of the bytes is free. Hosts that relay then pause nobody, so that no pause spreads into a
    server. Default: in `network.rail`, unless `switch.flow_control.pfc.relays` is given, 4 MiB, the buffer of a
    connection in NCCL; elsewhere no bound.
    """

    scheduler: Literal["relay_first", "round_robin", "per_flow"] | None = None
    """Who goes first."""

    ecn: bool | None = None
    """They mark what they relay as switches do (`switch.ecn`), by what waits in their queues for it."""


@dataclass(kw_only=True)
class HostOverride(_Part):
    """`[[host.overrides]]`: what is different at some hosts. A flow is as its source has it, and its receiver answers
    accordingly.
    """  # noqa: D205

    hosts: Sequence[str]
    """Names of hosts; `*` stands for any characters."""

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
    """Where ACKs and NACKs wait."""

    classify: Classify | None = None
    """Which class a flow gets, when it is not that of its workload."""

    jitter: float | None = None
    """Packets of a flow start up to this share of a packet's time late, each by a draw of its own: 0 to 10. Nothing is
    skipped then, as nothing repeats itself.
    """

    first_hop: Literal["hash", "lowest", "highest"] | FirstHop | None = None
    """By which of several ports a flow leaves its host. Default: `lowest` in `network.rail`, elsewhere `hash`."""

    relay: Relay | None = None
    """Hosts that pass packets on."""

    overrides: Sequence[HostOverride] | None = None
    """Other transports and congestion controls at some hosts: of several that name a host the last holds, table by
    table.
    """


@dataclass(kw_only=True)
class Incast(_Part):
    """`workload[…].incast`: several senders, one receiver."""

    senders: Sequence[int | str]
    """Who sends."""

    receiver: int | str
    """Who receives."""

    size: str
    """Payload of each sender."""


@dataclass(kw_only=True)
class RepeatedIncast(_Part):
    """`workload[…].repeated_incast`."""

    senders: int
    """How many send at a time."""

    size: str
    """Payload of each."""

    period: str
    """From one incast to the next; the first comes at the workload's start."""

    count: int
    """How many incasts there are."""

    hosts: Sequence[int | str] | None = None
    """Hosts among which the receiver and the senders of each incast are drawn; default all."""


@dataclass(kw_only=True)
class ParameterServer(_Part):
    """`workload[…].parameter_server`."""

    server: int | str
    """The server."""

    workers: Sequence[int | str] | None = None
    """Who pushes; default all other hosts."""

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
    """Experts that a token goes to."""

    zipf_exponent: float | None = None
    """Exponent of Zipf's law over experts; 0 makes all equally wanted."""

    rounds: int | None = None
    """Dispatches and answers."""

    hosts: Sequence[int | str] | None = None
    """Hosts that take part; default all."""


@dataclass(kw_only=True)
class Permutation(_Part):
    """`workload[…].permutation`: every host sends to another, in one random cycle over all of them."""

    size: str
    """Payload of each."""

    hosts: Sequence[int | str] | None = None
    """Which hosts; default all."""


@dataclass(kw_only=True)
class AllToAll(_Part):
    """`workload[…].all_to_all`: every host sends to every other."""

    size: str
    """Payload of each pair."""

    hosts: Sequence[int | str] | None = None
    """Which hosts; default all."""


@dataclass(kw_only=True)
class Collective(_Part):
    """`workload[…].collective`."""

    operation: Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "barrier"]
    """What the ranks have in the end."""

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
        ]
        | None
    ) = None
    """How they come to it. Default: a ring, or all at once for `all_to_all`."""

    size: str
    """The vector of each rank; of `all_gather` what each has in the end, of `all_to_all` all that it has for ranks."""

    hosts: Sequence[int | str] | None = None
    """The ranks, in order. Default: all hosts."""

    channels: int | None = None
    """Channels that share the data and run beside one another."""

    chunk: str | None = None
    """The largest piece of a message that goes on by itself. Default: whole messages."""

    group: int | None = None
    """Ranks of a group, those that follow one another, for `hierarchical`."""


@dataclass(kw_only=True)
class Row(_Part):
    """An operation of a rank: a row of `operations`, or of the table."""

    rank: int
    """Whose it is."""

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
    """What it is."""

    name: str | None = None
    """What others are `after`, unique in its rank. Default: its number among the operations of the rank."""

    after: Sequence[str] | None = None
    """Begins when all of these of its rank are over."""

    stream: str | None = None
    """Begins when the operation before it in this stream of its rank is over."""

    unit: str | None = None
    """Of those of this unit of its rank, a processor or a network interface, one is under way at a time, in the order
    in which they could begin.
    """

    iteration: int | None = None
    """The iteration of the job that it is of."""

    duration: str | None = None
    """How long it computes."""

    flop: float | None = None
    """What it computes: floating-point operations."""

    memory: str | None = None
    """What it reads and writes in memory meanwhile."""

    peer: int | None = None
    """To whom it sends, or from whom it receives."""

    tag: int | None = None
    """Of several messages from one rank to another, which: those of a tag are received in the order in which they are
    sent.
    """

    size: str | None = None
    """Payload of a message; of a collective as `collective.size`."""

    group: str | None = None
    """Who takes part in a collective."""

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
        ]
        | None
    ) = None
    """How a collective is done."""

    channels: int | None = None
    """Channels of a collective; of a message, which channel it takes."""

    chunk: str | None = None
    """The largest piece of a collective's messages that goes on by itself."""

    server: int | None = None
    """Ranks of a server, for `hierarchical`."""

    label: str | None = None
    """What its time is counted as, such as `TP`. Default: the name of its group, or `p2p`."""


@dataclass(kw_only=True)
class Processor(_Part):
    """`workload[…].graph.processor`: what computes where an operation has FLOP or memory traffic in the place of a
    duration.
    """  # noqa: D205

    flops: float
    """Floating-point operations in a second."""

    memory: float | None = None
    """Bytes that its memory reads or writes in a second. Default: as many as are needed."""


@dataclass(kw_only=True)
class Graph(_Part):
    """`workload[…].graph`."""

    operations: Sequence[Row] | None = None
    """What the ranks do; those of a rank in the order in which streams, messages and collectives take them."""

    operations_table: str | None = None
    """The same as a CSV or Parquet file, a column for each key of an operation; `after` separated by `;`."""

    groups: Mapping[str, Sequence[int]] | None = None
    """The ranks that take part in collectives, by the names of groups."""

    groups_table: str | None = None
    """The same as a CSV or Parquet file with the columns group and rank, members of a group in order."""

    ranks: int | None = None
    """How many there are. Default: up to the last that does something or is in a group."""

    hosts: Sequence[int | str] | None = None
    """Where they are, in order. Default: by `placement`."""

    placement: Literal["linear", "rail", "random"] | None = None
    """How they are put at hosts."""

    processor: Processor | None = None
    """What computes."""


@dataclass(kw_only=True)
class Model(_Part):
    """`workload[…].training.model`: a preset, numbers, or a preset with some numbers changed."""

    preset: Literal["gpt_13b", "gpt_175b", "llama3_70b", "llama3_405b", "mixtral_8x7b", "deepseek_v3"] | None = None
    """A model by name."""

    layers: int | None = None
    """Layers."""

    hidden: int | None = None
    """Width of a token."""

    heads: int | None = None
    """Heads of attention."""

    kv_heads: int | None = None
    """Heads of keys and values. Default: as many."""

    feed_forward: int | None = None
    """Width inside a layer's network, of one expert. Default: four times `hidden`."""

    gated: bool | None = None
    """Networks have a gate, and so a third matrix. Default: no."""

    sequence: int | None = None
    """Tokens of a sequence."""

    vocabulary: int | None = None
    """Tokens that there are."""

    positions: bool | None = None
    """Positions have vectors of their own, as in GPT. Default: no."""

    experts: int | None = None
    """Experts of a layer. Default: one network, for all tokens."""

    top_k: int | None = None
    """Experts that a token takes."""


@dataclass(kw_only=True)
class Parallel(_Part):
    """`workload[…].training.parallel`."""

    tensor: int | None = None
    """Ranks that share each matrix (TP)."""

    sequence: bool | None = None
    """Tensor-parallel ranks share sequences, too, so that all-gathers and reduce-scatters take the place of
    all-reduces (SP).
    """

    pipeline: int | None = None
    """Stages of the pipeline (PP)."""

    interleave: int | None = None
    """Pieces of the model that a stage has, one after the other around the pipeline (VPP)."""

    context: int | None = None
    """Ranks that share a sequence (CP)."""

    data: int | None = None
    """Replicas (DP)."""

    expert: int | None = None
    """Ranks that are replicas or share a sequence, over which experts are spread (EP)."""

    zero: int | None = None
    """What replicas share of the optimizer: nothing (0), its state (1), gradients, too (2), parameters, too (3)."""


@dataclass(kw_only=True)
class Compute(_Part):
    """`workload[…].training.compute`: how long a rank computes."""

    peak: float | None = None
    """Floating-point operations of a processor in a second, at most: by default an A100's 312e12 with 16 bits."""

    efficiency: float | None = None
    """What share of that is reached."""

    forward: str | None = None
    """What a layer takes forward on a rank, with a micro-batch, if it was measured."""

    backward: str | None = None
    """What it takes backward. Default: twice as long as forward."""

    optimizer: str | None = None
    """What the optimizer takes."""

    jitter: float | None = None
    """Standard deviation of each time, as a share of it; drawn from the seed, each rank for itself."""


@dataclass(kw_only=True)
class Numbers(_Part):
    """`workload[…].training.bytes`: of a number of each kind."""

    activation: int | None = None
    """Activations."""

    parameter: int | None = None
    """Parameters, as they are gathered."""

    gradient: int | None = None
    """Gradients, as they are reduced."""


@dataclass(kw_only=True)
class Collectives(_Part):
    """`workload[…].training.collectives`: how groups do theirs."""

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
        ]
        | None
    ) = None
    """All-reduces of tensor-parallel ranks; with `in_network` their reduce-scatters and all-gathers, too."""

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
        ]
        | None
    ) = None
    """All-reduces of replicas, without `ZeRO`; with `in_network` their reduce-scatters and all-gathers, too."""

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
        ]
        | None
    ) = None
    """All-to-alls of experts."""

    channels: int | None = None
    """Channels of all of them."""

    chunk: str | None = None
    """The largest piece of a message that goes on by itself. Default: whole messages."""


@dataclass(kw_only=True)
class Training(_Part):
    """`workload[…].training`."""

    model: Model
    """What is trained."""

    parallel: Parallel | None = None
    """How it is shared out."""

    micro_batch: int | None = None
    """Sequences of a micro-batch."""

    global_batch: int | None = None
    """Sequences of an iteration, of all replicas together. Default: as many micro-batches for each replica as the
    pipeline has stages.
    """

    iterations: int | None = None
    """Iterations."""

    compute: Compute | None = None
    """How long ranks compute."""

    bytes: Numbers | None = None
    """Sizes of numbers."""

    overlap: bool | None = None
    """Gradients are reduced as soon as they are there, and not when all are."""

    buckets: int | None = None
    """Into how many parts gradients are cut, layer by layer, that are reduced while others are computed."""

    collectives: Collectives | None = None
    """How collectives are done."""

    hosts: Sequence[int | str] | None = None
    """Where ranks are, in order. Default: by `placement`."""

    placement: Literal["linear", "rail", "random"] | None = None
    """How they are put at hosts."""


@dataclass(kw_only=True)
class Poisson(_Part):
    """`workload[…].poisson`."""

    load: float
    """Share of each source's line rate that its payload takes, above 0 and up to 1.5."""

    sizes: Literal["websearch", "hadoop", "hadoop_fine", "storage", "datamining", "google_rpc"] | None = None
    """A published distribution of flow sizes."""

    cdf: Sequence[Sequence[float]] | None = None
    """A distribution of your own: pairs of bytes and cumulative percent."""

    cdf_file: str | None = None
    """A CSV or Parquet file with it: columns bytes and percent."""

    duration: str | None = None
    """Flows arrive for this long."""

    flows: int | None = None
    """This many flows arrive in all, shared evenly over sources."""

    warm_start: bool | float | None = None
    """Flows are under way at each source when the workload begins, so that the network carries its load from then on:
    with `true` as many as a processor-sharing queue of this load has in equilibrium, load / (1 − load) on average, or
    with a number so many on average. They are named as the workload with ` warm` behind it, and no part of the run's
    completion times.
    """

    sources: Sequence[int | str] | None = None
    """Hosts that send; default all."""

    destinations: Sequence[int | str] | None = None
    """Hosts that receive; default all."""


@dataclass(kw_only=True)
class Bernoulli(_Part):
    """`workload[…].bernoulli`: one flow from each source."""

    sources: Sequence[int | str]
    """Who sends."""

    destinations: Sequence[int | str]
    """Who receives: one host for all sources, or one for each."""

    load: float
    """Share of its line rate that each source offers, headers included, above 0 and up to 1."""

    duration: str
    """Frames come for this long."""

    queue: str | None = None
    """What waits at a source at most."""


@dataclass(kw_only=True)
class Flow(_Part):
    """A listed flow."""

    src: int | str
    """Who sends."""

    dst: int | str
    """Who receives."""

    size: str
    """Payload."""

    start: str | None = None
    """When, after the workload's start."""

    id: str | None = None
    """A unique name, to be shown and to wait for."""

    after: Sequence[str] | None = None
    """Starts when all of these have arrived at its source (and not before its start)."""

    via: Sequence[str] | None = None
    """The nodes it passes, in order; `name/k` takes the k-th of parallel links into that node. Default: ECMP."""


@dataclass(kw_only=True)
class Workload(_Part):
    """`[[workload]]`: exactly one kind of traffic."""

    name: str | None = None
    """Shown in tables. Default: the kind of traffic."""

    start: str | None = None
    """When it begins."""

    class_: int | None = None
    """Priority class of its packets."""

    connections: Literal["persistent", "per_message"] | None = None
    """Of collectives and jobs: whether messages go over connections that keep their state (`persistent`, the default),
    or each is a flow of its own.
    """

    connections_per_channel: int | None = None
    """Connections, each with a path of its own, over which the messages of a channel from one rank to another take
    turns, 1 to 64. Default: one.
    """

    incast: Incast | None = None
    """Several senders, one receiver."""

    repeated_incast: RepeatedIncast | None = None
    """Incasts again and again, at random hosts."""

    parameter_server: ParameterServer | None = None
    """Pushes to a server and its broadcast."""

    moe: Moe | None = None
    """Tokens to experts and back."""

    permutation: Permutation | None = None
    """One random cycle."""

    all_to_all: AllToAll | None = None
    """Every pair."""

    collective: Collective | None = None
    """A collective operation of a job: its messages wait for one another."""

    graph: Graph | None = None
    """A job: a graph of what its ranks compute, send and receive."""

    training: Training | None = None
    """A job that trains a model."""

    poisson: Poisson | None = None
    """Random arrivals."""

    bernoulli: Bernoulli | None = None
    """Open-loop sources: frames at random in the slots of their lines."""

    flows: Sequence[Flow] | None = None
    """A list."""

    table: str | None = None
    """A CSV or Parquet file with a list: columns src, dst, size and optionally start, id, after, via (both separated
    by `;`).
    """


@dataclass(kw_only=True)
class Time2(_Part):
    """A time that is drawn."""

    fixed: str | None = None
    """Always this."""

    exponential: str | None = None
    """Exponentially distributed, with this mean: what happens without memory."""

    uniform: Sequence[str] | None = None
    """From the first to the second, each as likely."""


@dataclass(kw_only=True)
class Fault(_Part):
    """`fault`: what fails, when, and how."""

    at: str | None = None
    """From when on. With `time_between_failures`: nothing fails before."""

    duration: str | None = None
    """How long. Default: for ever."""

    link: str | None = None
    """Links, by the names of their ends: `leaf0-spine1` both ways, `leaf0 -> spine1` what leaf0 sends; `*` stands for
    any characters.
    """

    node: str | None = None
    """Nodes by name, all of whose links are meant; `*` stands for any characters."""

    host: str | None = None
    """Hosts by name; `*` stands for any characters."""

    state: Literal["down"] | None = None
    """What they are then."""

    queued: Literal["flush", "wait"] | None = None
    """With `state`: what becomes of frames that are to go by such a link."""

    rate: str | None = None
    """Bits per second of a link, in the place of its own."""

    delay: str | None = None
    """Propagation delay of a link, or the length of the cable, in the place of its own."""

    bit_error_rate: float | None = None
    """Each bit of a link is damaged with this probability, and a frame with a damaged bit is lost where it arrives.
    With 1 all are: a link that loses everything one way, and says nothing.
    """

    stall: bool | None = None
    """The host reads nothing that comes to it, and its interface has its neighbour pause all classes."""

    compute: float | None = None
    """What the host computes for jobs takes so many times as long: a straggler. What it is in the middle of, too, for
    as long as this lasts.
    """

    time_between_failures: Time2 | None = None
    """Fails again and again: how long from one repair, or `at`, until the next failure. Each link, node or host draws
    for itself.
    """

    time_to_repair: Time2 | None = None
    """With `time_between_failures`: how long from a failure until its repair."""


@dataclass(kw_only=True)
class Probe(_Part):
    """`probe`."""

    packets: bool | None = None
    """Writes each frame that leaves or arrives to the table `packets`."""

    queues: str | None = None
    """Writes queue lengths at this interval to the table `samples`."""

    delays: Literal["all"] | Sequence[int] | None = None
    """Cuts the completion times of these flows, or of `all`, into what they went by with, in the table `delays`; and
    writes to the table `contributions` whose bytes made a switch pause its neighbours.
    """

    replay: bool | None = None
    """Writes queue lengths to the table `samples` for the replay on the page of a run (`xoff report`): each 100 ns at
    first, and half as often whenever there would be more than 100,000 rows.
    """

    size_classes: Sequence[str] | None = None
    """Reports completion times of each workload by size, too: flows below the first of these, below the second, and so
    on.
    """

    flows: bool | None = None
    """Writes a row for each flow to the table `flows`."""


@dataclass(kw_only=True)
class Audits(_Part):
    """`audits`."""

    loss: Literal["fail", "record"] | None = None
    """A loss in a class under PFC."""

    deadlock: Literal["fail", "record"] | None = None
    """A cycle of ports that wait for one another."""

    pauses: Literal["fail", "record"] | None = None
    """A pause that is never taken back."""

    completion: Literal["fail", "record"] | None = None
    """Flows that are not delivered when nothing is left to do."""


@dataclass(kw_only=True)
class Scenario(_Part):
    """A scenario: a network, its switches and hosts, and what is sent."""

    name: str | None = None
    """Shown in results."""

    description: str | None = None
    """What it is about."""

    seed: int | None = None
    """Of all random numbers."""

    until: str | None = None
    """Ends the run at this time even if flows are under way. Default: when nothing is left to do."""

    network: Network
    """Nodes and links."""

    framing: Framing | None = None
    """Packet sizes."""

    switch: Switch | None = None
    """All switches."""

    host: HostSettings | None = None
    """All hosts."""

    workload: Sequence[Workload] | None = None
    """What is sent."""

    fault: Sequence[Fault] | None = None
    """What fails: links, nodes and hosts, at moments that are given or drawn."""

    probe: Probe | None = None
    """What is written down beside the usual tables."""

    audits: Audits | None = None
    """What happens when an audit fails."""
