//! Labels of random streams, and the keys of flows: what each draw of a scenario depends on.
//!
//! A draw depends on the seed, on the part that draws, and on what the draw is about, and on nothing beside: with and without another
//! workload, flow or fault, a scenario has common random numbers. A flow is known by the name of its workload, the turn of that
//! workload among those of its name, and its number in the workload. The labels here never change, whatever the parts are called.
//! Limits: a switch that draws at intervals (QCN, BCN, PINT) or chooses by load (DRILL, adaptive routing, flowlets, `ConWeave`), and a
//! link that damages bits, draw in the order in which packets come, so that other traffic moves these draws.

use std::sync::Arc;

use xoff_engine::random::{fold, mix};
use xoff_units::{index, wide};

/// What bits are damaged on a link.
pub const BIT_ERRORS: &str = "bit errors";
/// When a fault comes and goes.
pub const FAULT: &str = "fault";
/// By which of a host's ports a flow leaves.
pub const FIRST_HOP: &str = "first hop";
/// When a receiver looks at its oversubscription.
pub const PULLS: &str = "share of pulls";
/// Which answers HPCC-PINT reads.
pub const PINT_ANSWERS: &str = "hpcc_pint";
/// How long a rate limiter of BCN stops.
pub const BCN_STOP: &str = "bcn stop";
/// Flows that are under way when their workload begins.
pub const WARM: &str = "poisson warm";

/// How late packets start at hosts.
pub const JITTER: &str = "jitter";

/// The labels of parts whose names are others today.
const RENAMED: &[(&str, &str)] = &[("repeated_incast", "incasts")];

/// The label of a mechanism or of a kind of traffic: the name that it had first.
pub fn label(part: &str) -> &str {
    RENAMED.iter().find(|renamed| renamed.0 == part).map_or(part, |renamed| renamed.1)
}

/// A hash of a name.
fn hash(name: &str) -> u64 {
    mix(name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| fold(hash, u64::from(byte))))
}

/// What the streams of a workload are keyed by: its name, or the label of its kind, and its turn among those of that name.
pub fn workload(name: &str, turn: u32) -> u64 {
    mix(hash(name) ^ u64::from(turn))
}

/// The same for a host, where each host draws for itself.
pub fn at_host(workload: u64, host: u32) -> u64 {
    mix(workload ^ mix(u64::from(host) + 1))
}

/// The key of each flow, by its number: what hashes and draws of a flow depend on.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<[u32]>);

impl Keys {
    /// Those of all flows.
    pub fn new(keys: Vec<u32>) -> Self {
        Self(keys.into())
    }

    /// The key of a flow that has a number in `of`: a workload, or the flows that it draws at a host.
    pub fn key(of: u64, number: u64) -> u32 {
        (mix(of ^ number) >> 32) as u32
    }

    /// That of a flow; its number where no workload made it.
    #[inline]
    pub fn of(&self, flow: u32) -> u32 {
        self.0.get(index(flow)).copied().unwrap_or(flow)
    }
}

/// Draws of a mechanism at a node that belong to packets.
#[derive(Debug, Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// Those of a mechanism, by its name.
    pub fn new(seed: u64, node: u32, mechanism: &str) -> Self {
        Self(mix(seed ^ mix(wide(index(node)) + 1) ^ hash(label(mechanism))))
    }

    /// 64 random bits for a copy of a packet of the flow with this key.
    #[inline]
    pub const fn draw(self, key: u32, seq: u32, copy: u8) -> u64 {
        mix(mix((key as u64) << 32 | seq as u64) ^ self.0 ^ (copy as u64) << 62)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_parts_never_change() {
        // A part that gets another name gets a line in `RENAMED`, which keeps its draws.
        let names = crate::mechanisms::GROUPS.iter().map(|group| label(group.name));
        let known = [
            "pfc",
            "sfc",
            "congestion_isolation",
            "portfc",
            "bcn",
            "qcn",
            "bfc",
            "credits",
            "ecn",
            "telemetry",
            "trimming",
            "spray",
            "reps",
            "flowlet",
            "drill",
            "adaptive",
            "conweave",
        ];
        let missing: Vec<&str> = known.into_iter().filter(|one| !names.clone().any(|name| name == *one)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn draws_differ_by_flow_packet_copy_and_mechanism_and_spread() {
        let red = Draws::new(1, 2, "ecn");
        let all = [red.draw(3, 4, 0), red.draw(4, 4, 0), red.draw(3, 5, 0), red.draw(3, 4, 1), Draws::new(1, 3, "ecn").draw(3, 4, 0)];
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])));
        let low = (0..40_000).filter(|seq| red.draw(7, *seq, 0) >> 62 == 0).count();
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(low.abs_diff(10_000) < 346, "{low}");
    }
}
