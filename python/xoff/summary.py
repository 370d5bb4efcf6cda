"""The summary of a run as types: `Summary` and its parts, with the keys of ``xoff run --json``.

Written by `make generate` from what the parts of a network declare to count; do not edit.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

__all__ = [
    "AdaptiveCounts",
    "BcnCounts",
    "BfcCounts",
    "CollectiveSummary",
    "CongestionIsolationCounts",
    "ConweaveCounts",
    "CreditsCounts",
    "DcqcnCounts",
    "DctcpCounts",
    "EcnCounts",
    "FastForward",
    "FaultCounts",
    "FlowletCounts",
    "Flows",
    "HighWater",
    "HighWaters",
    "JobGroup",
    "JobSummary",
    "NdpCounts",
    "NsccCounts",
    "PacketHopsByKind",
    "Performance",
    "PfcCounts",
    "PortfcCounts",
    "QcnCounts",
    "RcccCounts",
    "ReorderGatesCounts",
    "RepsCounts",
    "SfcCounts",
    "SizeClass",
    "Slowdowns",
    "Summary",
    "Times",
    "TransportCounts",
    "TrimmingCounts",
    "Warning",
    "WorkloadSummary",
]


class Flows(TypedDict):
    """How many flows."""

    total: int
    """All flows."""

    completed: int
    """Those whose last byte arrived."""


class Times(TypedDict):
    """Completion times in picoseconds; null if no flow has one. A percentile is the time of a flow."""

    mean: int | None
    """Mean."""

    p50: int | None
    """Median."""

    p95: int | None
    """95th percentile."""

    p99: int | None
    """99th percentile."""

    p999: int | None
    """99.9th percentile."""

    max: int | None
    """Longest."""


class Slowdowns(TypedDict):
    """Completion times over those that flows would have alone in the network; null if no flow has one."""

    mean: float | None
    """Mean."""

    p50: float | None
    """Median."""

    p95: float | None
    """95th percentile."""

    p99: float | None
    """99th percentile."""

    p999: float | None
    """99.9th percentile."""

    max: float | None
    """Largest."""


class Warning(TypedDict):
    """What looks wrong with a scenario that can run."""

    path: str
    """The key that it is about."""

    message: str
    """What, and why."""


class SizeClass(TypedDict):
    """The flows of a workload that are smaller than the next class."""

    from_bytes: int
    """No flow is smaller."""

    below_bytes: int | None
    """All are smaller; null in the last class."""

    completed: int
    """Flows whose last byte arrived."""

    fct_ps: Times
    """Their times."""

    slowdown: Slowdowns
    """Their slowdowns."""


class CollectiveSummary(TypedDict):
    """How fast a collective operation was; null if it has not ended. Of workloads of one name the slowest."""

    time_ps: int | None
    """From its first message's start to its last one's arrival."""

    algorithm_bps: float | None
    """Algorithm bandwidth: the data of a rank by that time."""

    bus_bps: float | None
    """Bus bandwidth: the same by what each link has to carry of it."""


class JobGroup(TypedDict):
    """Of a job, what is counted as one thing, such as `TP`; null if no iteration has ended."""

    exposed_ps: int | None
    """How long a rank waited for what was on its way, in an iteration on average."""

    bus_bps: float | None
    """Bus bandwidth of its collectives, since the last rank had begun each."""


class JobSummary(TypedDict):
    """How long the iterations of a job took, and what the time of its ranks went by with: means over ranks and
    iterations, which add up to the time of an iteration. Null if none has ended.
    """  # noqa: D205

    ranks: int
    """Ranks."""

    iterations: int
    """Iterations."""

    completed: int
    """Those that have ended."""

    iteration_ps: int | None
    """Mean time of an iteration."""

    longest_iteration_ps: int | None
    """Longest."""

    compute_ps: int | None
    """A rank computed."""

    exposed_ps: int | None
    """It computed nothing, and waited for what was on its way."""

    bubble_ps: int | None
    """It computed nothing, and waited for other ranks."""

    groups: dict[str, JobGroup]
    """By what exposed time is counted as."""

    mfu: float | None
    """Model FLOPs utilisation: what the model takes by what all ranks could do."""


class WorkloadSummary(TypedDict):
    """What became of one workload: what each measure says."""

    flows: Flows
    """Its flows, or the messages of its connections."""

    fct_ps: Times
    """Their times, from start to the receiver's last byte."""

    slowdown: Slowdowns
    """Their slowdowns."""

    by_size: NotRequired[list[SizeClass]]
    """Their times by size; with `probe.size_classes`."""

    collective: NotRequired[CollectiveSummary]
    """How fast its collective operation was, if it is one."""

    job: NotRequired[JobSummary]
    """How long its iterations took, and what the time of ranks went by with, if it is a job."""


class HighWater(TypedDict):
    """The most that the highest count of a kind ever was; zero if it was never above zero."""

    bytes: int
    """How much."""

    threshold_bytes: int | None
    """What it is compared with; null where there is none, or where it moves."""

    place: str
    """The node, port and class; empty if it was never above zero."""


class HighWaters(TypedDict):
    """High-water marks; the table `high_water` has those of every port."""

    ingress: HighWater
    """What came by a port in a class and waits; compared with XOFF."""

    headroom: HighWater
    """What of it is above XOFF; compared with the room that there is."""

    pool: HighWater
    """What of a shared buffer's pool is used; compared with its size."""

    queue: HighWater
    """What waits in a queue of an output."""


class PacketHopsByKind(TypedDict):
    """Fast-forwarded packet-hops by the kind of period."""

    packets: int
    """Within a message: packet by packet."""

    steps: int
    """Steps of collectives."""

    layers: int
    """Layers, micro-batches and iterations of jobs."""

    episodes: int
    """Busy periods, from one quiet moment to the next."""


class FastForward(TypedDict):
    """What fast-forward did in a run."""

    packet_hops: int
    """Data packet-hops that were not simulated, since they repeat simulated ones."""

    by_kind: PacketHopsByKind
    """`packet_hops` by the kind of period that repeated."""

    packet_hops_in_components: int
    """Those of `packet_hops` that independent components of the network repeated apart from one another."""

    components: int
    """The most components that were fast-forwarded apart from one another at once."""

    periods: int
    """Periods that were found to repeat; each is repeated as often as possible at once."""

    episodes: int
    """Busy periods that were replayed from a recorded one."""

    blockers: list[str]
    """Where detection failed most: the parts whose state never recurred, `traffic` if queues and packets under way
    never did, and `flows` if flows began and ended before any state could recur.
    """


class Performance(TypedDict):
    """The cost of the run; not part of the result."""

    data_packet_hops: int
    """Data packets started on links."""

    packet_hops_simulated: int
    """Those of them that were simulated."""

    fast_forward: FastForward
    """The packet-hops that were fast-forwarded."""

    events: int
    """Events handled."""

    windows: int
    """Windows run."""

    cpu_seconds: float
    """CPU time of building the network and simulating it, all threads."""

    build_cpu_seconds: float
    """What of it passed before the first event: network, flows and routes."""

    wall_seconds: float
    """Time on the clock, with the building."""

    peak_rss_bytes: int
    """Most memory that the process ever had."""

    threads: int
    """Threads used."""

    events_on_one_thread: int
    """Events that one thread handled alone, since more would have been no faster: too few events, or cores that others
    use.
    """


class EcnCounts(TypedDict):
    """What ECN counted."""

    marked: int
    """Packets marked."""


class TrimmingCounts(TypedDict):
    """What packet trimming counted."""

    trimmed: int
    """Packets cut to their headers."""

    bounced: int
    """Headers sent back to their sources."""


class PfcCounts(TypedDict):
    """What PFC counted."""

    pauses: int
    """PFC pauses."""

    frames: int
    """PFC frames."""

    above_xoff_ps: int
    """Above XOFF, in picoseconds."""

    storms: int
    """PFC storms."""

    dropped_in_storms: int
    """Dropped in PFC storms."""

    late_holds: int
    """Holds that came too late."""

    paused_ps: int
    """Paused, in picoseconds."""


class SfcCounts(TypedDict):
    """What SFC counted."""

    messages: int
    """SFC messages."""

    resumes: int
    """SFC resumes."""

    late_holds: int
    """Holds that came too late."""

    above_threshold_ps: int
    """Above the SFC threshold, in picoseconds."""

    above_threshold_after_pause_ps: int
    """Above the SFC threshold after a pause, in picoseconds."""

    egress_idle_paused_ps: int
    """Egress idle behind SFC pauses, in picoseconds."""

    proxy_pauses: int
    """Pauses by SFC proxies."""

    isolated_flows: int
    """Flows isolated by SFC proxies."""

    paused_ps: int
    """Paused, in picoseconds."""


class CongestionIsolationCounts(TypedDict):
    """What Congestion Isolation counted."""

    isolated_flows: int
    """Flows isolated."""

    flow_table_full: int
    """Flows refused for a full table."""

    aged_flows: int
    """Flows aged."""

    messages: int
    """CI messages."""


class PortfcCounts(TypedDict):
    """What PortFC counted."""

    pauses: int
    """PortFC pauses."""

    frames: int
    """PortFC frames."""

    relayed: int
    """PortFC frames passed on."""

    paused_ps: int
    """Paused, in picoseconds."""


class BcnCounts(TypedDict):
    """What BCN counted."""

    samples: int
    """Frames sampled."""

    negative: int
    """Messages that slow down."""

    positive: int
    """Messages that speed up."""

    stops: int
    """Messages that stop."""

    notifications: int
    """Congestion notifications."""


class QcnCounts(TypedDict):
    """What QCN counted."""

    samples: int
    """Frames sampled."""

    messages: int
    """QCN messages."""

    notifications: int
    """Congestion notifications."""


class BfcCounts(TypedDict):
    """What BFC counted."""

    pauses: int
    """BFC pauses."""

    shared: int
    """Flows that got a queue in use."""

    paused_ps: int
    """Paused, in picoseconds."""


class CreditsCounts(TypedDict):
    """What credits counted."""

    waits: int
    """Waits for credits."""

    updates: int
    """Credit updates."""

    recovered: int
    """Credits recovered."""

    paused_ps: int
    """Paused, in picoseconds."""


class RepsCounts(TypedDict):
    """What REPS counted."""

    recycled: int
    """Packets sent by a path that went well."""


class FlowletCounts(TypedDict):
    """What flowlets counted."""

    flowlets: int
    """Flowlets that drew a port."""


class AdaptiveCounts(TypedDict):
    """What adaptive routing counted."""

    chosen: int
    """Packets or flowlets that chose a port."""

    no_good_port: int
    """Packets that no good port was left for."""

    load_updates: int
    """Frames that told a neighbour of a load."""


class ConweaveCounts(TypedDict):
    """What ConWeave counted."""

    moved: int
    """Flows moved to another path."""

    held_flows: int
    """Flows held for their TAIL."""

    held_packets: int
    """Packets held."""

    flushed_early: int
    """Flows let go before their TAIL."""

    reorder_queue_exhausted: int
    """Packets that no queue was left for."""

    messages: int
    """Frames between switches of racks."""

    paused_ps: int
    """Paused, in picoseconds."""


class ReorderGatesCounts(TypedDict):
    """What reorder gates counted."""

    paused_ps: int
    """Paused, in picoseconds."""


class FaultCounts(TypedDict):
    """What faults counted."""

    began: int
    """Faults that began."""

    lost: int
    """Data packets lost by faults."""

    lost_bytes: int
    """Data lost by faults, in bytes."""

    lost_control: int
    """Control frames lost by faults."""

    retried: int
    """Frames that links sent again."""

    retried_bytes: int
    """What links sent again, in bytes."""

    reroutes: int
    """Changes of all routes."""

    paused_ps: int
    """Paused, in picoseconds."""


class TransportCounts(TypedDict):
    """What transport counted."""

    spurious_retransmissions: int
    """Spurious retransmissions."""

    held_back: int
    """Packets held back by full sources."""


class NdpCounts(TypedDict):
    """What NDP counted."""

    pulls: int
    """Pulls."""


class DcqcnCounts(TypedDict):
    """What DCQCN counted."""

    notifications: int
    """Congestion notifications."""


class DctcpCounts(TypedDict):
    """What DCTCP counted."""

    notifications: int
    """Congestion notifications."""


class NsccCounts(TypedDict):
    """What NSCC counted."""

    notifications: int
    """Congestion notifications."""


class RcccCounts(TypedDict):
    """What RCCC counted."""

    pulls: int
    """Pulls."""

    slow_pulls: int
    """Pulls that nobody asked for."""

    requests: int
    """Requests of flows without credit."""

    granted_bytes: int
    """Credit granted, in bytes."""

    spent_bytes: int
    """Credit spent, in bytes."""

    lapsed_bytes: int
    """Credit that lapsed, in bytes."""


class Summary(TypedDict):
    """What a run measured, in numbers."""

    version: NotRequired[str]
    """The version of xoff; in a result that was kept."""

    name: str | None
    """The scenario's name."""

    seed: int
    """Its seed."""

    fingerprint: str
    """A hash of every event: equal for equal runs."""

    simulated_ps: int
    """When the last flow's last byte arrived, or where the run was stopped."""

    sampled_every_ps: NotRequired[int]
    """How often queues were looked at; with `probe.queues` or `probe.replay`."""

    flows: Flows
    """All flows."""

    fct_ps: Times
    """Their times, from start to the receiver's last byte, but of those that were under way when their workload began
    (`poisson.warm`).
    """

    fct_acked_ps: Times
    """The same, to the sender's last ACK."""

    slowdown: Slowdowns
    """Their times (`fct_ps`) over those that they would have alone in the network."""

    workloads: dict[str, WorkloadSummary]
    """By workload."""

    components: list[str]
    """The components that the scenario gives: mechanisms, transport, congestion control."""

    ecn: EcnCounts
    """What ECN counted; zeros where the scenario does not give it."""

    trimming: TrimmingCounts
    """What packet trimming counted; zeros where the scenario does not give it."""

    pfc: PfcCounts
    """What PFC counted; zeros where the scenario does not give it."""

    sfc: SfcCounts
    """What SFC counted; zeros where the scenario does not give it."""

    congestion_isolation: CongestionIsolationCounts
    """What Congestion Isolation counted; zeros where the scenario does not give it."""

    portfc: PortfcCounts
    """What PortFC counted; zeros where the scenario does not give it."""

    bcn: BcnCounts
    """What BCN counted; zeros where the scenario does not give it."""

    qcn: QcnCounts
    """What QCN counted; zeros where the scenario does not give it."""

    bfc: BfcCounts
    """What BFC counted; zeros where the scenario does not give it."""

    credits: CreditsCounts
    """What credits counted; zeros where the scenario does not give it."""

    reps: RepsCounts
    """What REPS counted; zeros where the scenario does not give it."""

    flowlet: FlowletCounts
    """What flowlets counted; zeros where the scenario does not give it."""

    adaptive: AdaptiveCounts
    """What adaptive routing counted; zeros where the scenario does not give it."""

    conweave: ConweaveCounts
    """What ConWeave counted; zeros where the scenario does not give it."""

    reorder_gates: ReorderGatesCounts
    """What reorder gates counted; zeros where the scenario does not give it."""

    fault: FaultCounts
    """What faults counted; zeros where the scenario does not give it."""

    transport: TransportCounts
    """What transport counted; zeros where the scenario does not give it."""

    ndp: NdpCounts
    """What NDP counted; zeros where the scenario does not give it."""

    dcqcn: DcqcnCounts
    """What DCQCN counted; zeros where the scenario does not give it."""

    dctcp: DctcpCounts
    """What DCTCP counted; zeros where the scenario does not give it."""

    nscc: NsccCounts
    """What NSCC counted; zeros where the scenario does not give it."""

    rccc: RcccCounts
    """What RCCC counted; zeros where the scenario does not give it."""

    high_water: HighWaters
    """The most that counts which thresholds are compared with ever were."""

    drops: int
    """Data packets dropped."""

    retransmitted: int
    """Data packets sent again."""

    warnings: list[Warning]
    """What looks wrong with the scenario."""

    audits: dict[str, str]
    """Each audit and its state: `ok`, `recorded: …` or `failed: …` with what it found, `cut: …` where the run was
    ended before all was over.
    """

    performance: Performance
    """What the run cost."""
