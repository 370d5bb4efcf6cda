//! The summary of a run: the keys of `xoff run --json`.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use xoff_document::Draws;
use xoff_units::Moment;

use crate::results::serving::summary::ServingSummary;
use crate::results::statistics::{Active, Fct, Flows, Slowdown};
use crate::warnings::Warning;

/// Bandwidths of a collective; null for an unfinished collective. For several collectives in workloads of one
/// name, the slowest by bus bandwidth.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CollectiveSummary {
    /// Time from the start of the first message to the arrival of the last message.
    pub time_ps: Option<u64>,
    /// Data of a rank divided by the time.
    pub algorithm_bps: Option<f64>,
    /// Algorithm bandwidth times the load of each link.
    pub bus_bps: Option<f64>,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The protocol; only with NCCL.
    pub protocol: Option<&'static str>,
    /// Channels that carry data.
    pub channels: u32,
    /// Time that NCCL's own model predicts; only with NCCL.
    pub predicted_ps: Option<u64>,
}

/// Results of the measures for the workloads of one name.
#[derive(Debug, Clone, Default)]
pub struct WorkloadSummary(pub Vec<(&'static str, Value)>);

impl Serialize for WorkloadSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Result of fast-forward in a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FastForward {
    /// Data packet-hops that were not simulated, as repetitions of simulated packet-hops.
    pub packet_hops: u64,
    /// `packet_hops` by the kind of period.
    pub by_kind: PacketHopsByKind,
    /// Part of `packet_hops` repeated by independent components of the network separately.
    pub packet_hops_in_components: u64,
    /// Maximum number of components fast-forwarded separately at one time.
    pub components: u64,
    /// Detected periods. Each period is repeated as often as possible at once.
    pub periods: u64,
    /// Busy periods replayed from a recorded busy period.
    pub busy_periods: u64,
    /// Main reasons against fast-forward: components with a state that never recurred, `traffic` for queues
    /// and packets in flight, `flows` for flows that began or ended too often, `python` for a congestion
    /// control in Python.
    pub blockers: Vec<&'static str>,
}

/// Folding of a run with `ties = "relative"`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Folding {
    /// Number of servers, or other parts of the network, for which one was simulated; 1 without folding.
    pub times: u32,
    /// Rotations of hosts under which nothing changes: stride and size of each. Rotations order ties, also in a run
    /// that is not folded.
    pub rotations: Vec<[u32; 2]>,
    /// `shared` if equal servers share random draws (`draws`); null if every flow and switch draws for itself.
    pub draws: Option<Draws>,
    /// Reason against folding; null for a folded run.
    pub obstacle: Option<String>,
}

/// Fast-forwarded packet-hops by the kind of period.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PacketHopsByKind {
    /// Within a message: packet by packet.
    pub packets: u64,
    /// Steps of collectives.
    pub steps: u64,
    /// Layers, micro-batches and iterations of jobs.
    pub layers: u64,
    /// Busy periods, each from one quiet moment to the next.
    pub busy_periods: u64,
}

/// The cost of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Performance {
    /// Data packets started on links.
    pub data_packet_hops: u64,
    /// Simulated data packet-hops.
    pub packet_hops_simulated: u64,
    /// Fast-forwarded packet-hops.
    pub fast_forward: FastForward,
    /// Folding, with `ties = "relative"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folding: Option<Folding>,
    /// Events handled.
    pub events: u64,
    /// Windows run.
    pub windows: u64,
    /// CPU time of building and simulating the network, over all threads.
    pub cpu_seconds: f64,
    /// CPU time before the first event: network, flows and routes.
    pub build_cpu_seconds: f64,
    /// Time on the clock, with the building.
    pub wall_seconds: f64,
    /// Most memory the process ever had.
    pub peak_rss_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Events handled by one thread alone, because more threads would not have been faster: too few events,
    /// or busy cores.
    pub events_on_one_thread: u64,
}

impl Performance {
    /// Multiplies the packet-hops of simulated nodes by the number of nodes that each stands for.
    pub fn repeat(&mut self, times: u64) {
        self.data_packet_hops *= times;
        let FastForward { packet_hops, by_kind, packet_hops_in_components, .. } = &mut self.fast_forward;
        let PacketHopsByKind { packets, steps, layers, busy_periods } = by_kind;
        for hops in [packet_hops, packet_hops_in_components, packets, steps, layers, busy_periods] {
            *hops *= times;
        }
    }
}

/// Something out of the ordinary.
#[derive(Debug, Clone, Serialize)]
pub struct Incident {
    /// Kind: the kind of a fault in the table `faults`, `disobedience`, `watchdog`, `loss`, or the name of an audit.
    pub kind: &'static str,
    /// The key of the scenario that caused the incident, if one did.
    pub key: Option<String>,
    /// Start; null if it is unknown.
    pub start_ps: Option<u64>,
    /// End; null for an incident at the end of the run.
    pub end_ps: Option<u64>,
    /// The incident in words, with its times and key.
    pub message: String,
}

impl Incident {
    /// Returns the incident; the message gets its times and key.
    pub fn new(
        kind: &'static str,
        key: Option<String>,
        times: (Option<Moment>, Option<Moment>),
        what: &str,
    ) -> Self {
        let when = match times {
            (None, _) => String::new(),
            (Some(start), None) => format!("from {} on: ", clock(start)),
            (Some(start), Some(end)) if start == end => format!("at {}: ", clock(start)),
            (Some(start), Some(end)) => format!("{} to {}: ", clock(start), clock(end)),
        };
        let because = key.as_ref().map_or_else(String::new, |key| format!(" ({key})"));
        let message = format!("{when}{what}{because}");
        let [start_ps, end_ps] = [times.0, times.1].map(|time| time.map(Moment::ps));
        Self { kind, key, start_ps, end_ps, message }
    }
}

/// Returns a time with three decimals.
fn clock(time: Moment) -> String {
    let ps = time.ps();
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "µs"), (1_000, "ns")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| ps >= *size) else {
        return format!("{ps} ps");
    };
    let thousandths = (u128::from(ps) * 1000 + u128::from(size) / 2) / u128::from(size);
    format!("{}.{:03} {unit}", thousandths / 1000, thousandths % 1000)
}

/// The largest high-water mark of one kind.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HighWater {
    /// High-water mark.
    pub bytes: u64,
    /// Threshold of the count; null without a fixed threshold.
    pub threshold_bytes: Option<u64>,
    /// Place of the count; empty for a count that stayed zero.
    pub place: String,
}

/// The summary.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub name: Option<String>,
    /// Seed.
    pub seed: u64,
    /// A hash of the arrivals at all nodes; with relative ties at one node of each orbit.
    pub fingerprint: String,
    /// End of the simulated time: the end of the last flow or operation; with unfinished flows, the departure
    /// of the last data packet; for a run that was ended early, the moment of the end.
    pub simulated_ps: u64,
    /// Sampling interval of queues, with `probe.queues` or `probe.replay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_every_ps: Option<u64>,
    /// Flows.
    pub flows: Flows,
    /// Flows that were active at the end.
    pub active_flows: Active,
    /// Completion times, start to the receiver's last byte, without flows of a warm start.
    pub fct_ps: Fct,
    /// The same, to the sender's last ACK.
    pub fct_acked_ps: Fct,
    /// Completion times divided by ideal FCTs.
    pub slowdown: Slowdown,
    /// By workload.
    pub workloads: BTreeMap<String, WorkloadSummary>,
    /// Requests and steps of serving workloads, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub serving: BTreeMap<String, ServingSummary>,
    /// What applications of plug-ins report, by application.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub applications: BTreeMap<&'static str, serde_json::Value>,
    /// Components given in the scenario: mechanisms, transport, congestion control.
    pub components: Vec<&'static str>,
    /// Counts by component, given in the scenario or not.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// By kind of count.
    pub high_water: BTreeMap<&'static str, HighWater>,
    /// Data packets dropped.
    pub drops: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// What happened out of the ordinary, in time.
    pub incidents: Vec<Incident>,
    /// Warnings about the scenario.
    pub warnings: Vec<Warning>,
    /// Verdicts.
    pub audits: BTreeMap<&'static str, String>,
    /// Cost; not part of the result.
    pub performance: Performance,
}

impl Summary {
    /// True if no audit has a finding.
    pub fn have_audits_passed(&self) -> bool {
        !self
            .audits
            .values()
            .any(|verdict| verdict.starts_with("failed: ") || verdict.starts_with("recorded: "))
    }
}
