"""The types of the summary of a run: for each type the meaning, and for each key the type and the meaning."""

COUNTS = "<counts>"
"""In the place of the keys that the parts of a network declare to count."""

# The keys of every summary, by class: documentation of the class, then type and meaning of each key. A test compares
# the keys with those of a run.
SUMMARY: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "Flows": (
        "Numbers of flows.",
        {
            "total": ("int", "All flows."),
            "completed": ("int", "Flows whose last byte arrived."),
        },
    ),
    "ActiveFlows": (
        "Flows that were active at the end, without connections: their goodput in bits per second, from the start.",
        {
            "flows": ("int", "Flows."),
            "least_goodput_bps": ("int | None", "Smallest goodput."),
            "mean_goodput_bps": ("int | None", "Mean goodput."),
            "most_goodput_bps": ("int | None", "Largest goodput."),
        },
    ),
    "Times": (
        "Completion times in picoseconds; null without a completed flow. A percentile is the time of an actual flow.",
        {
            "mean": ("int | None", "Mean."),
            "p50": ("int | None", "Median."),
            "p95": ("int | None", "95th percentile."),
            "p99": ("int | None", "99th percentile."),
            "p999": ("int | None", "99.9th percentile."),
            "max": ("int | None", "Longest."),
        },
    ),
    "Slowdowns": (
        "Completion times divided by ideal completion times; null without a completed flow.",
        {
            "mean": ("float | None", "Mean."),
            "p50": ("float | None", "Median."),
            "p95": ("float | None", "95th percentile."),
            "p99": ("float | None", "99th percentile."),
            "p999": ("float | None", "99.9th percentile."),
            "max": ("float | None", "Largest."),
        },
    ),
    "Incident": (
        "Something out of the ordinary in a run.",
        {
            "kind": (
                "str",
                "A kind of fault (`down`, `rate`, `delay`, `bit errors`, `stall`, `compute`), `disobedience`, "
                "`watchdog`, `loss`, or the name of an audit.",
            ),
            "key": ("str | None", "The key of the scenario that caused it, if one did."),
            "start_ps": ("int | None", "Start; null if unknown."),
            "end_ps": ("int | None", "End; null if it lasted until the end of the run."),
            "message": ("str", "The incident in words, with its times and key."),
        },
    ),
    "Warning": (
        "A warning about a scenario that can run.",
        {"path": ("str", "The key."), "message": ("str", "The problem, and its reason.")},
    ),
    "SizeClass": (
        "The flows of a workload in one class of sizes.",
        {
            "from_bytes": ("int", "Lower end of the class; included."),
            "below_bytes": ("int | None", "Upper end of the class, excluded; null in the last class."),
            "completed": ("int", "Flows whose last byte arrived."),
            "fct_ps": ("Times", "Completion times."),
            "slowdown": ("Slowdowns", "Slowdowns."),
        },
    ),
    "CollectiveSummary": (
        "The speed of a collective operation; null if it has not ended. Of workloads with equal names, the slowest.",
        {
            "time_ps": ("int | None", "From the start of the first message to the arrival of the last."),
            "algorithm_bps": ("float | None", "Algorithm bandwidth: the data of a rank divided by the time."),
            "bus_bps": ("float | None", "Bus bandwidth: the part of the data that each link carries, by the time."),
            "algorithm": ("str", "The algorithm."),
            "protocol": ("str | None", "The protocol; only with NCCL."),
            "channels": ("int", "Channels that carry data."),
            "predicted_ps": ("int | None", "Time that NCCL's own model predicts; only with NCCL, and not for pairs."),
        },
    ),
    "JobGroup": (
        "The communication of a job under one label, such as `TP`; null if no iteration has ended.",
        {
            "exposed_ps": ("int | None", "Exposed communication of a rank in an iteration, on average."),
            "bus_bps": ("float | None", "Bus bandwidth of the collectives, each from the begin of its last rank."),
        },
    ),
    "JobSummary": (
        "The iterations of a job. The parts of a rank's time are means over ranks and iterations, and add up to the "
        "mean time of an iteration. Null if no iteration has ended.",
        {
            "ranks": ("int", "Number of ranks."),
            "iterations": ("int", "Number of iterations."),
            "completed": ("int", "Iterations that have ended."),
            "iteration_ps": ("int | None", "Mean time of an iteration."),
            "iteration_p99_ps": ("int | None", "99th percentile of the times of iterations."),
            "longest_iteration_ps": ("int | None", "Time of the longest iteration."),
            "compute_ps": ("int | None", "Time in which a rank computed."),
            "exposed_ps": ("int | None", "Time in which a rank computed nothing and waited for data on the way to it."),
            "bubble_ps": ("int | None", "Time in which a rank computed nothing and waited for other ranks."),
            "groups": ("dict[str, JobGroup]", "Communication by label."),
            "mfu": (
                "float | None",
                "Model FLOPs utilisation: the operations of the model divided by those that all ranks could do.",
            ),
        },
    ),
    "WorkloadSummary": ("The results of one workload: a key for each measure.", {}),
    "ServiceTimes": (
        "Times of requests or tokens, in picoseconds; null without a time, and where a request that had not ended "
        "could move the number.",
        {
            "mean": ("int | None", "Mean."),
            "p50": ("int | None", "Median."),
            "p90": ("int | None", "90th percentile."),
            "p99": ("int | None", "99th percentile."),
        },
    ),
    "StepSummary": (
        "The steps of a pool. Shares are of the time from start to end, at the slowest rank; null without a step.",
        {
            "steps": ("int", "Steps of all DP ranks."),
            "tokens": ("int", "New tokens."),
            "compute": ("float | None", "Share in which the rank computed."),
            "exposed": ("float | None", "Share in which messages were on their way, and the rank computed nothing."),
            "exposed_by_label": ("dict[str, float]", "`exposed` by label: `TP`, `EP_dispatch`, `EP_combine`."),
            "bubble": ("float | None", "Share in which the rank waited for other ranks."),
        },
    ),
    "ServingSummary": (
        "The requests and steps of a serving workload, without requests of the warm-up.",
        {
            "requests": ("int", "Requests that arrived."),
            "completed": ("int", "Requests that ended."),
            "censored": ("int", "Requests that had not ended at the end of the run."),
            "ttft_ps": ("ServiceTimes", "Time to the first token (TTFT)."),
            "tpot_ps": ("ServiceTimes", "Mean time of a token after the first token (TPOT), of each request."),
            "itl_ps": ("ServiceTimes", "Time between two tokens (ITL), of all tokens that were made."),
            "e2e_ps": ("ServiceTimes", "Time from the arrival to the last token."),
            "kv_transfer_ps": (
                "ServiceTimes",
                "From the posting of the first message with a KV cache to the last end.",
            ),
            "output_tokens_per_second": ("float | None", "Output tokens in a second, until the last token."),
            "slo_attainment": (
                "float | None",
                "Share of the requests that met all service levels; null without service levels.",
            ),
            "goodput": (
                "float | None",
                "Requests in a second that met all service levels; null without service levels.",
            ),
            "steps": ("dict[str, StepSummary]", "The steps, by pool: `prefill`, `decode`, `aggregated`."),
        },
    ),
    "HighWater": (
        "The highest count of a kind during the run; zero if no count of the kind rose above zero.",
        {
            "bytes": ("int", "The highest count."),
            "threshold_bytes": (
                "int | None",
                "The threshold of the count; null without a threshold, or if it changes.",
            ),
            "place": ("str", "The node, port and class; empty if the count stayed zero."),
        },
    ),
    "HighWaters": (
        "High-water marks; the table `high_water` has the marks of every port.",
        {
            "ingress": ("HighWater", "Bytes that arrived by a port in a class and wait. The threshold is XOFF."),
            "headroom": ("HighWater", "Bytes of `ingress` above XOFF. The threshold is the headroom."),
            "pool": ("HighWater", "Used bytes of a shared buffer's pool. The threshold is the size of the pool."),
            "queue": ("HighWater", "Bytes in a queue of an output."),
        },
    ),
    "PacketHopsByKind": (
        "Fast-forwarded packet-hops by the kind of period.",
        {
            "packets": ("int", "Within a message: packet by packet."),
            "steps": ("int", "Steps of collectives."),
            "layers": ("int", "Layers, micro-batches and iterations of jobs."),
            "busy_periods": ("int", "Busy periods, from one quiet moment to the next."),
        },
    ),
    "FastForward": (
        "The result of fast-forward in a run.",
        {
            "packet_hops": ("int", "Data packet-hops that were not simulated, since they repeat simulated ones."),
            "by_kind": ("PacketHopsByKind", "`packet_hops` by the kind of period that repeated."),
            "packet_hops_in_components": (
                "int",
                "The part of `packet_hops` that independent components of the network repeated separately.",
            ),
            "components": ("int", "The largest number of components that were fast-forwarded separately at one time."),
            "periods": ("int", "Periods that were found to repeat; each is repeated as often as possible at once."),
            "busy_periods": ("int", "Busy periods that were replayed from a recorded one."),
            "blockers": (
                "list[str]",
                "The most frequent obstacles to detection: the parts whose state never recurred, `traffic` if queues "
                "and packets in flight never recurred, `flows` if flows began and ended before a state could recur.",
            ),
        },
    ),
    "Folding": (
        'Folding of a run with `ties = "relative"`.',
        {
            "times": (
                "int",
                "Number of equal parts of the network, such as servers, of which one was simulated; 1 without folding.",
            ),
            "rotations": (
                "list[list[int]]",
                "Rotations of hosts that map the network and the traffic onto themselves: stride and size of each. "
                "Rotations order ties, also in a run that is not folded.",
            ),
            "draws": (
                "str | None",
                "`shared` if equal servers share random draws (`draws`), null otherwise.",
            ),
            "obstacle": ("str | None", "Reason against folding; null for a folded run."),
        },
    ),
    "Performance": (
        "The cost of the run; not part of the result.",
        {
            "data_packet_hops": ("int", "Data packets started on links."),
            "packet_hops_simulated": ("int", "Data packet-hops that were simulated."),
            "fast_forward": ("FastForward", "The packet-hops that were fast-forwarded."),
            "folding": ("NotRequired[Folding]", 'Folding, with `ties = "relative"`.'),
            "events": ("int", "Events handled."),
            "windows": ("int", "Windows run."),
            "cpu_seconds": ("float", "CPU time of building the network and simulating it, all threads."),
            "build_cpu_seconds": ("float", "CPU time before the first event: network, flows and routes."),
            "wall_seconds": ("float", "Elapsed time, with the building of the network."),
            "peak_rss_bytes": ("int", "Peak memory of the process."),
            "threads": ("int", "Threads used."),
            "events_on_one_thread": (
                "int",
                "Events that one thread handled alone, since more threads would not have been faster: too few events, "
                "or busy cores.",
            ),
        },
    ),
    "Summary": (
        "The measurements of a run, in numbers.",
        {
            "version": ("NotRequired[str]", "The version of xoff; only in a saved result."),
            "cut": ("NotRequired[bool]", "True for a run that an interrupt ended early; only in a saved result."),
            "name": ("str | None", "The scenario's name."),
            "seed": ("int", "The scenario's seed."),
            "fingerprint": ("str", "A hash of arrivals: equal for equal runs."),
            "simulated_ps": ("int", "Arrival time of the last flow's last byte, or the time at which the run stopped."),
            "sampled_every_ps": (
                "NotRequired[int]",
                "Interval between samples of queues; with `probe.queues` or `probe.replay`.",
            ),
            "flows": ("Flows", "All flows."),
            "active_flows": ("ActiveFlows", "Flows that were active at the end."),
            "fct_ps": (
                "Times",
                "Completion times, from start to the receiver's last byte. Flows that were in flight when their "
                "workload began (`poisson.warm_start`) are left out.",
            ),
            "fct_acked_ps": (
                "Times",
                "Completion times, from start to the sender's last ACK; of the flows of `fct_ps`.",
            ),
            "slowdown": ("Slowdowns", "Completion times (`fct_ps`) divided by ideal completion times."),
            "workloads": ("dict[str, WorkloadSummary]", "The results by workload."),
            "serving": (
                "NotRequired[dict[str, ServingSummary]]",
                "The requests and steps of serving workloads, by name.",
            ),
            "applications": (
                "NotRequired[dict[str, Any]]",
                "What applications of plug-ins report, by application.",
            ),
            "components": (
                "list[str]",
                "The components that the scenario gives: mechanisms, transport, congestion control.",
            ),
            COUNTS: ("", ""),
            "high_water": ("HighWaters", "High-water marks of the counts that have thresholds."),
            "drops": ("int", "Data packets dropped."),
            "retransmitted": ("int", "Data packets retransmitted."),
            "incidents": (
                "list[Incident]",
                "What happened out of the ordinary, in time; with more than five incidents, faults come before their "
                "consequences.",
            ),
            "warnings": ("list[Warning]", "Warnings about the scenario."),
            "audits": (
                "dict[str, str]",
                "Each audit and its state: `ok`; `recorded: …` or `failed: …` with the finding; `cut: …` if the run "
                "stopped before all flows were completed.",
            ),
            "performance": ("Performance", "The cost of the run."),
        },
    ),
}
