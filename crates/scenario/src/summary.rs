//! The summary of a run: the keys of `xoff run --json`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::measures::WorkloadSummary;
use crate::warnings::Warning;

/// Flows in all and done.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Flows {
    /// All.
    pub total: u64,
    /// Those whose last byte arrived.
    pub completed: u64,
}

/// Flow completion times, in picoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Fct {
    /// Mean.
    pub mean: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
}

impl Fct {
    /// Of a list, which gets sorted; percentiles are the element at ⌈p·n⌉.
    pub fn of(times: &mut [u64]) -> Self {
        times.sort_unstable();
        let n = times.len();
        if n == 0 {
            return Self::default();
        }
        let at = |permille: usize| Some(times[rank(permille, n)]);
        let mean = times.iter().map(|t| u128::from(*t)).sum::<u128>() / n as u128;
        Self { mean: Some(mean as u64), p50: at(500), p95: at(950), p99: at(990), p999: at(999), max: at(1000) }
    }
}

/// Which of `n` sorted numbers is a percentile.
fn rank(permille: usize, n: usize) -> usize {
    (permille * n).div_ceil(1000).max(1) - 1
}

/// Slowdowns: completion times over those that flows alone would have.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Slowdown {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Slowdown {
    /// Of a list, which gets sorted; percentiles are the element at ⌈p·n⌉.
    pub fn of(ratios: &mut [f64]) -> Self {
        ratios.sort_unstable_by(f64::total_cmp);
        if ratios.is_empty() {
            return Self::default();
        }
        let at = |permille: usize| Some(ratios[rank(permille, ratios.len())]);
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        Self { mean: Some(mean), p50: at(500), p95: at(950), p99: at(990), p999: at(999), max: at(1000) }
    }
}

/// How fast a collective operation was; nothing if it has not ended. Of several in workloads of one name the slowest by the bus.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CollectiveSummary {
    /// From its first message's start to its last one's arrival.
    pub time_ps: Option<u64>,
    /// The data of a rank by that time.
    pub algorithm_bps: Option<f64>,
    /// The same by what each link has to carry of it.
    pub bus_bps: Option<f64>,
}

/// What fast-forward did in a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FastForward {
    /// Data packet-hops that were not simulated, since they repeat simulated ones.
    pub packet_hops: u64,
    /// `packet_hops` by the kind of period that repeated.
    pub by_kind: PacketHopsByKind,
    /// Those of `packet_hops` that independent components of the network repeated apart from one another.
    pub packet_hops_in_components: u64,
    /// The most components that were fast-forwarded apart from one another at once.
    pub components: u64,
    /// Periods that were found to repeat; each is repeated as often as possible at once.
    pub periods: u64,
    /// Busy periods that were replayed from a recorded one.
    pub episodes: u64,
    /// Where detection failed most: the parts whose state never recurred, `traffic` if queues and packets under way never did, and
    /// `flows` if flows began and ended before any state could recur.
    pub blockers: Vec<&'static str>,
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
    /// Busy periods, from one quiet moment to the next.
    pub episodes: u64,
}

/// The cost of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Performance {
    /// Data packets started on links.
    pub data_packet_hops: u64,
    /// Those of them that were simulated.
    pub packet_hops_simulated: u64,
    /// The packet-hops that were fast-forwarded.
    pub fast_forward: FastForward,
    /// Events handled.
    pub events: u64,
    /// Windows run.
    pub windows: u64,
    /// CPU time of building the network and simulating it, all threads.
    pub cpu_seconds: f64,
    /// What of it passed before the first event: network, flows and routes.
    pub build_cpu_seconds: f64,
    /// Time on the clock, with the building.
    pub wall_seconds: f64,
    /// Most memory the process ever had.
    pub peak_rss_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Events that one thread handled alone, since more would have been no faster: too few events, or cores that others use.
    pub events_on_one_thread: u64,
}

/// The highest of the high-water marks of one kind.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HighWater {
    /// The most that there ever was.
    pub bytes: u64,
    /// What it is compared with.
    pub threshold_bytes: Option<u64>,
    /// Where; empty if it was never above zero.
    pub place: String,
}

/// The summary.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub name: Option<String>,
    /// Seed.
    pub seed: u64,
    /// A hash of every event.
    pub fingerprint: String,
    /// The end of what was simulated: when the last flow or operation ended; where some are unfinished, when the last data packet left a port;
    /// where the run was ended before, that moment.
    pub simulated_ps: u64,
    /// How often queues were looked at, with `probe.queues` or `probe.replay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_every_ps: Option<u64>,
    /// Flows.
    pub flows: Flows,
    /// Their times, start to the receiver's last byte, but of those that were under way when their workload began.
    pub fct_ps: Fct,
    /// The same, to the sender's last ACK.
    pub fct_acked_ps: Fct,
    /// Their times over those that they would have alone in the network.
    pub slowdown: Slowdown,
    /// By workload.
    pub workloads: BTreeMap<String, WorkloadSummary>,
    /// The parts that the scenario gives: mechanisms, transport, congestion control.
    pub components: Vec<&'static str>,
    /// What parts counted, by their names, whether the scenario gives them or not.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// By kind of count.
    pub high_water: BTreeMap<&'static str, HighWater>,
    /// Data packets dropped.
    pub drops: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// What looks wrong with the scenario.
    pub warnings: Vec<Warning>,
    /// Verdicts.
    pub audits: BTreeMap<&'static str, String>,
    /// Cost; not part of the result.
    pub performance: Performance,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_elements() {
        let mut times: Vec<u64> = (1..=200).rev().collect();
        let fct = Fct::of(&mut times);
        assert_eq!((fct.p50, fct.p99, fct.max, fct.mean), (Some(100), Some(198), Some(200), Some(100)));
        assert_eq!(Fct::of(&mut []).max, None);
        let slowdown = Slowdown::of(&mut [3.0, 1.0]);
        assert_eq!((slowdown.mean, slowdown.p50, slowdown.p999, slowdown.max), (Some(2.0), Some(1.0), Some(3.0), Some(3.0)));
        assert_eq!(Slowdown::of(&mut []).mean, None);
    }
}
