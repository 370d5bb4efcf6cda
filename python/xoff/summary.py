"""The summary of a run as types: `Summary` and its parts, with the keys of ``xoff run --json``.

Written by `make generate` from what the parts of a network declare to count; do not edit.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

__all__ = [
    "ActiveFlows",
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
    "Folding",
    "HighWater",
    "HighWaters",
    "Incident",
    "JobGroup",
    "JobSummary",
    "NdpCounts",
    "NsccCounts",
    "PacketHopsByKind",
    "Performance",
    "PfcCounts",
    "PortfcCounts",
    "PythonCounts",
    "QcnCounts",
    "RcccCounts",
    "ReorderGatesCounts",
    "RepsCounts",
    "ServiceTimes",
    "ServingSummary",
    "SfcCounts",
    "SizeClass",
    "Slowdowns",
    "StepSummary",
    "Summary",
    "Times",
    "TransportCounts",
    "TrimmingCounts",
    "Warning",
    "WorkloadSummary",
]


class Flows(TypedDict):
    """Numbers of flows."""

    total: int
    """All flows."""

    completed: int
    """Flows whose last byte arrived."""


class ActiveFlows(TypedDict):
    """Flows that were active at the end, without connections: their goodput in bits per second, from the start."""

    flows: int
    """Flows."""

    least_goodput_bps: int | None
    """Smallest goodput."""

    mean_goodput_bps: int | None
    """Mean goodput."""

    most_goodput_bps: int | None
    """Largest goodput."""


class Times(TypedDict):
    """Completion times in picoseconds; null without a completed flow. A percentile is the time of an actual flow."""

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
    """Completion times divided by ideal completion times; null without a completed flow."""

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


class Incident(TypedDict):
    """Something out of the ordinary in a run."""

    kind: str
    """A kind of fault (`down`, `rate`, `delay`, `bit errors`, `stall`, `compute`), `disobedience`, `watchdog`, `loss`,
    or the name of an audit.
    """

    key: str | None
    """The key of the scenario that caused it, if one did."""

    start_ps: int | None
    """Start; null if unknown."""

    end_ps: int | None
    """End; null if it lasted until the end of the run."""

    message: str
    """The incident in words, with its times and key."""


class Warning(TypedDict):
    """A warning about a scenario that can run."""

    path: str
    """The key."""

    message: str
    """The problem, and its reason."""


class SizeClass(TypedDict):
    """The flows of a workload in one class of sizes."""

    from_bytes: int
    """Lower end of the class; included."""

    below_bytes: int | None
    """Upper end of the class, excluded; null in the last class."""

    completed: int
    """Flows whose last byte arrived."""

    fct_ps: Times
    """Completion times."""

    slowdown: Slowdowns
    """Slowdowns."""


class CollectiveSummary(TypedDict):
    """The speed of a collective operation; null if it has not ended. Of workloads with equal names, the slowest."""

    time_ps: int | None
    """From the start of the first message to the arrival of the last."""

    algorithm_bps: float | None
    """Algorithm bandwidth: the data of a rank divided by the time."""

    bus_bps: float | None
    """Bus bandwidth: the part of the data that each link carries, by the time."""

    algorithm: str
    """The algorithm."""

    protocol: str | None
    """The protocol; only with NCCL."""

    channels: int
    """Channels that carry data."""

    predicted_ps: int | None
    """Time that NCCL's own model predicts; only with NCCL, and not for pairs."""


class JobGroup(TypedDict):
    """The communication of a job under one label, such as `TP`; null if no iteration has ended."""

    exposed_ps: int | None
    """Exposed communication of a rank in an iteration, on average."""

    bus_bps: float | None
    """Bus bandwidth of the collectives, each from the begin of its last rank."""


class JobSummary(TypedDict):
    """The iterations of a job. The parts of a rank's time are means over ranks and iterations, and add up to the mean
    time of an iteration. Null if no iteration has ended.
    """  # noqa: D205

    ranks: int
    """Number of ranks."""

    iterations: int
    """Number of iterations."""

    completed: int
    """Iterations that have ended."""

    iteration_ps: int | None
    """Mean time of an iteration."""

    iteration_p99_ps: int | None
    """99th percentile of the times of iterations."""

    longest_iteration_ps: int | None
    """Time of the longest iteration."""

    compute_ps: int | None
    """Time in which a rank computed."""

    exposed_ps: int | None
    """Time in which a rank computed nothing and waited for data on the way to it."""

    bubble_ps: int | None
    """Time in which a rank computed nothing and waited for other ranks."""

    groups: dict[str, JobGroup]
    """Communication by label."""

    mfu: float | None
    """Model FLOPs utilisation: the operations of the model divided by those that all ranks could do."""


class WorkloadSummary(TypedDict):
    """The results of one workload: a key for each measure."""

    flows: Flows
    """Flows, or messages of connections."""

    fct_ps: Times
    """Completion times, from the start to the last byte at the receiver."""

    slowdown: Slowdowns
    """Slowdowns."""

    by_size: NotRequired[list[SizeClass]]
    """Completion times by size; with `probe.size_classes`."""

    collective: NotRequired[CollectiveSummary]
    """Bandwidths and time of the collective; only for a workload with a collective."""

    job: NotRequired[JobSummary]
    """Time of the iterations and the breakdown of the time of ranks; only for a job."""


class ServiceTimes(TypedDict):
    """Times of requests or tokens, in picoseconds; null without a time, and where a request that had not ended could
    move the number.
    """  # noqa: D205

    mean: int | None
    """Mean."""

    p50: int | None
    """Median."""

    p90: int | None
    """90th percentile."""

    p99: int | None
    """99th percentile."""


class StepSummary(TypedDict):
    """The steps of a pool. Shares are of the time from start to end, at the slowest rank; null without a step."""

    steps: int
    """Steps of all DP ranks."""

    tokens: int
    """New tokens."""

    compute: float | None
    """Share in which the rank computed."""

    exposed: float | None
    """Share in which messages were on their way, and the rank computed nothing."""

    exposed_by_label: dict[str, float]
    """`exposed` by label: `TP`, `EP_dispatch`, `EP_combine`."""

    bubble: float | None
    """Share in which the rank waited for other ranks."""


class ServingSummary(TypedDict):
    """The requests and steps of a serving workload, without requests of the warm-up."""

    requests: int
    """Requests that arrived."""

    completed: int
    """Requests that ended."""

    censored: int
    """Requests that had not ended at the end of the run."""

    ttft_ps: ServiceTimes
    """Time to the first token (TTFT)."""

    tpot_ps: ServiceTimes
    """Mean time of a token after the first token (TPOT), of each request."""

    itl_ps: ServiceTimes
    """Time between two tokens (ITL), of all tokens that were made."""

    e2e_ps: ServiceTimes
    """Time from the arrival to the last token."""

    kv_transfer_ps: ServiceTimes
    """From the posting of the first message with a KV cache to the last end."""

    output_tokens_per_second: float | None
    """Output tokens in a second, until the last token."""

    slo_attainment: float | None
    """Share of the requests that met all service levels; null without service levels."""

    goodput: float | None
    """Requests in a second that met all service levels; null without service levels."""

    steps: dict[str, StepSummary]
    """The steps, by pool: `prefill`, `decode`, `aggregated`."""


class HighWater(TypedDict):
    """The highest count of a kind during the run; zero if no count of the kind rose above zero."""

    bytes: int
    """The highest count."""

    threshold_bytes: int | None
    """The threshold of the count; null without a threshold, or if it changes."""

    place: str
    """The node, port and class; empty if the count stayed zero."""


class HighWaters(TypedDict):
    """High-water marks; the table `high_water` has the marks of every port."""

    ingress: HighWater
    """Bytes that arrived by a port in a class and wait. The threshold is XOFF."""

    headroom: HighWater
    """Bytes of `ingress` above XOFF. The threshold is the headroom."""

    pool: HighWater
    """Used bytes of a shared buffer's pool. The threshold is the size of the pool."""

    queue: HighWater
    """Bytes in a queue of an output."""


class PacketHopsByKind(TypedDict):
    """Fast-forwarded packet-hops by the kind of period."""

    packets: int
    """Within a message: packet by packet."""

    steps: int
    """Steps of collectives."""

    layers: int
    """Layers, micro-batches and iterations of jobs."""

    busy_periods: int
    """Busy periods, from one quiet moment to the next."""


class FastForward(TypedDict):
    """The result of fast-forward in a run."""

    packet_hops: int
    """Data packet-hops that were not simulated, since they repeat simulated ones."""

    by_kind: PacketHopsByKind
    """`packet_hops` by the kind of period that repeated."""

    packet_hops_in_components: int
    """The part of `packet_hops` that independent components of the network repeated separately."""

    components: int
    """The largest number of components that were fast-forwarded separately at one time."""

    periods: int
    """Periods that were found to repeat; each is repeated as often as possible at once."""

    busy_periods: int
    """Busy periods that were replayed from a recorded one."""

    blockers: list[str]
    """The most frequent obstacles to detection: the parts whose state never recurred, `traffic` if queues and packets
    in flight never recurred, `flows` if flows began and ended before a state could recur.
    """


class Folding(TypedDict):
    """Folding of a run with `ties = "relative"`."""

    times: int
    """Number of equal parts of the network, such as servers, of which one was simulated; 1 without folding."""

    rotations: list[list[int]]
    """Rotations of hosts that map the network and the traffic onto themselves: stride and size of each. Rotations
    order ties, also in a run that is not folded.
    """

    draws: str | None
    """`shared` if equal servers share random draws (`draws`), null otherwise."""

    obstacle: str | None
    """Reason against folding; null for a folded run."""


class Performance(TypedDict):
    """The cost of the run; not part of the result."""

    data_packet_hops: int
    """Data packets started on links."""

    packet_hops_simulated: int
    """Data packet-hops that were simulated."""

    fast_forward: FastForward
    """The packet-hops that were fast-forwarded."""

    folding: NotRequired[Folding]
    """Folding, with `ties = "relative"`."""

    events: int
    """Events handled."""

    windows: int
    """Windows run."""

    cpu_seconds: float
    """CPU time of building the network and simulating it, all threads."""

    build_cpu_seconds: float
    """CPU time before the first event: network, flows and routes."""

    wall_seconds: float
    """Elapsed time, with the building of the network."""

    peak_rss_bytes: int
    """Peak memory of the process."""

    threads: int
    """Threads used."""

    events_on_one_thread: int
    """Events that one thread handled alone, since more threads would not have been faster: too few events, or busy
    cores.
    """


class EcnCounts(TypedDict):
    """The counts of ECN."""

    marked: int
    """Packets marked."""


class TrimmingCounts(TypedDict):
    """The counts of packet trimming."""

    trimmed: int
    """Packets trimmed to headers."""

    bounced: int
    """Headers returned to the sender."""


class PfcCounts(TypedDict):
    """The counts of PFC."""

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
    """Late holds."""

    paused_ps: int
    """Paused, in picoseconds."""


class SfcCounts(TypedDict):
    """The counts of SFC."""

    messages: int
    """SFC messages."""

    resumes: int
    """SFC resumes."""

    late_holds: int
    """Late holds."""

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
    """The counts of Congestion Isolation."""

    isolated_flows: int
    """Flows isolated."""

    flow_table_full: int
    """Flows refused by a full table."""

    aged_flows: int
    """Flows aged."""

    messages: int
    """CI messages."""


class PortfcCounts(TypedDict):
    """The counts of PortFC."""

    pauses: int
    """PortFC pauses."""

    frames: int
    """PortFC frames."""

    relayed: int
    """PortFC frames passed on."""

    paused_ps: int
    """Paused, in picoseconds."""


class BcnCounts(TypedDict):
    """The counts of BCN."""

    samples: int
    """Frames sampled."""

    negative: int
    """Messages with negative feedback."""

    positive: int
    """Messages with positive feedback."""

    stops: int
    """Stop messages."""

    notifications: int
    """Congestion notifications."""


class QcnCounts(TypedDict):
    """The counts of QCN."""

    samples: int
    """Frames sampled."""

    messages: int
    """QCN messages."""

    notifications: int
    """Congestion notifications."""


class BfcCounts(TypedDict):
    """The counts of BFC."""

    pauses: int
    """BFC pauses."""

    shared: int
    """Flows in a shared queue."""

    paused_ps: int
    """Paused, in picoseconds."""


class CreditsCounts(TypedDict):
    """The counts of credits."""

    waits: int
    """Waits for credits."""

    updates: int
    """Credit updates."""

    recovered: int
    """Credits recovered."""

    paused_ps: int
    """Paused, in picoseconds."""


class RepsCounts(TypedDict):
    """The counts of REPS."""

    recycled: int
    """Packets with a reused entropy value."""


class FlowletCounts(TypedDict):
    """The counts of flowlets."""

    flowlets: int
    """Flowlets with a drawn port."""


class AdaptiveCounts(TypedDict):
    """The counts of adaptive routing."""

    chosen: int
    """Packets or flowlets with a chosen port."""

    no_good_port: int
    """Packets without a good port."""

    load_updates: int
    """Load updates sent."""


class ConweaveCounts(TypedDict):
    """The counts of ConWeave."""

    moved: int
    """Flows moved to another path."""

    held_flows: int
    """Flows held for the TAIL."""

    held_packets: int
    """Packets held."""

    flushed_early: int
    """Flows released before the TAIL."""

    reorder_queue_exhausted: int
    """Packets without a reorder queue."""

    messages: int
    """Frames between switches of racks."""

    paused_ps: int
    """Paused, in picoseconds."""


class ReorderGatesCounts(TypedDict):
    """The counts of reorder gates."""

    paused_ps: int
    """Paused, in picoseconds."""


class FaultCounts(TypedDict):
    """The counts of faults."""

    began: int
    """Faults that began."""

    lost: int
    """Data packets lost by faults."""

    lost_bytes: int
    """Data lost by faults, in bytes."""

    lost_control: int
    """Control frames lost by faults."""

    retried: int
    """Frames retransmitted by links."""

    retried_bytes: int
    """Bytes retransmitted by links, in bytes."""

    reroutes: int
    """Changes of all routes."""

    paused_ps: int
    """Paused, in picoseconds."""


class TransportCounts(TypedDict):
    """The counts of transport."""

    spurious_retransmissions: int
    """Spurious retransmissions."""

    held_back: int
    """Packets held back by full sources."""


class NdpCounts(TypedDict):
    """The counts of NDP."""

    pulls: int
    """Pulls."""


class DcqcnCounts(TypedDict):
    """The counts of DCQCN."""

    notifications: int
    """Congestion notifications."""


class DctcpCounts(TypedDict):
    """The counts of DCTCP."""

    notifications: int
    """Congestion notifications."""


class NsccCounts(TypedDict):
    """The counts of NSCC."""

    notifications: int
    """Congestion notifications."""


class PythonCounts(TypedDict):
    """The counts of Python."""

    notifications: int
    """Congestion notifications."""


class RcccCounts(TypedDict):
    """The counts of RCCC."""

    pulls: int
    """Pulls."""

    slow_pulls: int
    """Pulls of flows without demand."""

    requests: int
    """Requests of flows without credit."""

    granted_bytes: int
    """Credit granted, in bytes."""

    spent_bytes: int
    """Credit spent, in bytes."""

    lapsed_bytes: int
    """Credit that lapsed, in bytes."""


class Summary(TypedDict):
    """The measurements of a run, in numbers."""

    version: NotRequired[str]
    """The version of xoff; only in a saved result."""

    cut: NotRequired[bool]
    """True for a run that an interrupt ended early; only in a saved result."""

    name: str | None
    """The scenario's name."""

    seed: int
    """The scenario's seed."""

    fingerprint: str
    """A hash of arrivals: equal for equal runs."""

    simulated_ps: int
    """Arrival time of the last flow's last byte, or the time at which the run stopped."""

    sampled_every_ps: NotRequired[int]
    """Interval between samples of queues; with `probe.queues` or `probe.replay`."""

    flows: Flows
    """All flows."""

    active_flows: ActiveFlows
    """Flows that were active at the end."""

    fct_ps: Times
    """Completion times, from start to the receiver's last byte. Flows that were in flight when their workload began
    (`poisson.warm_start`) are left out.
    """

    fct_acked_ps: Times
    """Completion times, from start to the sender's last ACK; of the flows of `fct_ps`."""

    slowdown: Slowdowns
    """Completion times (`fct_ps`) divided by ideal completion times."""

    workloads: dict[str, WorkloadSummary]
    """The results by workload."""

    serving: NotRequired[dict[str, ServingSummary]]
    """The requests and steps of serving workloads, by name."""

    applications: NotRequired[dict[str, Any]]
    """What applications of plug-ins report, by application."""

    components: list[str]
    """The components that the scenario gives: mechanisms, transport, congestion control."""

    ecn: EcnCounts
    """The counts of ECN; zeros if the scenario does not give it."""

    trimming: TrimmingCounts
    """The counts of packet trimming; zeros if the scenario does not give it."""

    pfc: PfcCounts
    """The counts of PFC; zeros if the scenario does not give it."""

    sfc: SfcCounts
    """The counts of SFC; zeros if the scenario does not give it."""

    congestion_isolation: CongestionIsolationCounts
    """The counts of Congestion Isolation; zeros if the scenario does not give it."""

    portfc: PortfcCounts
    """The counts of PortFC; zeros if the scenario does not give it."""

    bcn: BcnCounts
    """The counts of BCN; zeros if the scenario does not give it."""

    qcn: QcnCounts
    """The counts of QCN; zeros if the scenario does not give it."""

    bfc: BfcCounts
    """The counts of BFC; zeros if the scenario does not give it."""

    credits: CreditsCounts
    """The counts of credits; zeros if the scenario does not give it."""

    reps: RepsCounts
    """The counts of REPS; zeros if the scenario does not give it."""

    flowlet: FlowletCounts
    """The counts of flowlets; zeros if the scenario does not give it."""

    adaptive: AdaptiveCounts
    """The counts of adaptive routing; zeros if the scenario does not give it."""

    conweave: ConweaveCounts
    """The counts of ConWeave; zeros if the scenario does not give it."""

    reorder_gates: ReorderGatesCounts
    """The counts of reorder gates; zeros if the scenario does not give it."""

    fault: FaultCounts
    """The counts of faults; zeros if the scenario does not give it."""

    transport: TransportCounts
    """The counts of transport; zeros if the scenario does not give it."""

    ndp: NdpCounts
    """The counts of NDP; zeros if the scenario does not give it."""

    dcqcn: DcqcnCounts
    """The counts of DCQCN; zeros if the scenario does not give it."""

    dctcp: DctcpCounts
    """The counts of DCTCP; zeros if the scenario does not give it."""

    nscc: NsccCounts
    """The counts of NSCC; zeros if the scenario does not give it."""

    python: PythonCounts
    """The counts of Python; zeros if the scenario does not give it."""

    rccc: RcccCounts
    """The counts of RCCC; zeros if the scenario does not give it."""

    high_water: HighWaters
    """High-water marks of the counts that have thresholds."""

    drops: int
    """Data packets dropped."""

    retransmitted: int
    """Data packets retransmitted."""

    incidents: list[Incident]
    """What happened out of the ordinary, in time; with more than five incidents, faults come before their
    consequences.
    """

    warnings: list[Warning]
    """Warnings about the scenario."""

    audits: dict[str, str]
    """Each audit and its state: `ok`; `recorded: …` or `failed: …` with the finding; `cut: …` if the run stopped
    before all flows were completed.
    """

    performance: Performance
    """The cost of the run."""
