//! Labels of random streams, and keys of flows: the inputs of each draw.
//!
//! A draw depends on the seed, the drawing component and the subject of the draw alone. Scenarios with and
//! without another workload, flow or fault therefore have common random numbers. The key of a flow is the
//! name of its workload, the index of the workload among workloads of this name, and the number in the
//! workload. Labels never change, whatever the present name of a component. Limits: a switch that draws at
//! intervals (QCN, BCN, PINT) or chooses by load (DRILL, adaptive routing, flowlets, `ConWeave`), and a link
//! with bit errors, draw in the order of packets, and other traffic changes these draws.

use std::sync::Arc;

use xoff_engine::random::{Stream, fold, mix};
use xoff_units::{index, wide};

/// A normally distributed number (Box and Muller 1958).
pub fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform())
}

/// Damaged bits on a link.
pub const BIT_ERRORS: &str = "bit errors";
/// Beginning and end of a fault.
pub const FAULT: &str = "fault";
/// By which of a host's ports a flow leaves.
pub const FIRST_HOP: &str = "first hop";
/// Checks of oversubscription by a receiver.
pub const PULLS: &str = "share of pulls";
/// Acknowledgements that HPCC-PINT reads.
pub const PINT_ANSWERS: &str = "hpcc_pint";
/// Duration of a stop of a BCN rate limiter.
pub const BCN_STOP: &str = "bcn stop";
/// Active flows at the start of a workload.
pub const WARM: &str = "poisson warm";

/// Times from one incast to the next.
pub const INCAST_GAPS: &str = "incast gaps";

/// Random delay of packet starts at hosts.
pub const JITTER: &str = "jitter";

/// Labels of components that were renamed.
const RENAMED: &[(&str, &str)] = &[("repeated_incast", "incasts")];

/// Returns the label of a mechanism or kind of traffic: its first name.
pub fn label(part: &str) -> &str {
    RENAMED.iter().find(|renamed| renamed.0 == part).map_or(part, |renamed| renamed.1)
}

/// A hash of a name.
fn hash(name: &str) -> u64 {
    mix(name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| fold(hash, u64::from(byte))))
}

/// Returns the key of the streams of a workload, from its name, or the label of its kind, and its index among
/// workloads of this name.
pub fn workload(name: &str, turn: u32) -> u64 {
    mix(hash(name) ^ u64::from(turn))
}

/// Returns the key for a host with draws of its own.
pub fn at_host(workload: u64, host: u32) -> u64 {
    mix(workload ^ mix(u64::from(host) + 1))
}

/// Key of each flow by number: the input of hashes and draws of a flow.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<[u32]>);

impl Keys {
    /// Returns the keys of all flows.
    pub fn new(keys: Vec<u32>) -> Self {
        Self(keys.into())
    }

    /// Returns the key of a flow with a number in `of`: a workload, or the flows drawn at a host.
    pub fn key(of: u64, number: u64) -> u32 {
        (mix(of ^ number) >> 32) as u32
    }

    /// Returns the key of a flow; the number of the flow if no workload made the flow.
    #[inline]
    pub fn of(&self, flow: u32) -> u32 {
        self.0.get(index(flow)).copied().unwrap_or(flow)
    }
}

/// Draws of a mechanism at a node by packet.
#[derive(Debug, Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// Returns the draws of a mechanism, by name.
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
        // A renamed component gets a line in `RENAMED`, which keeps its draws.
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
        let missing: Vec<&str> =
            known.into_iter().filter(|one| !names.clone().any(|name| name == *one)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn draws_differ_by_flow_packet_copy_and_mechanism_and_spread() {
        let red = Draws::new(1, 2, "ecn");
        let all = [
            red.draw(3, 4, 0),
            red.draw(4, 4, 0),
            red.draw(3, 5, 0),
            red.draw(3, 4, 1),
            Draws::new(1, 3, "ecn").draw(3, 4, 0),
        ];
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])));
        let low = (0..40_000).filter(|seq| red.draw(7, *seq, 0) >> 62 == 0).count();
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(low.abs_diff(10_000) < 346, "{low}");
    }
}
