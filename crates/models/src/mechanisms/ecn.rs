//! ECN marking at an egress queue: RED or a step.
//!
//! Models: a mark for data packets by the queue that a packet leaves behind. Source: RED as HPCC and `ConWeave` use it
//! (mechanisms.md 2.1): nothing up to `kmin`, linear to `pmax` at `kmax`, every packet above; judged at dequeue, after removing
//! the packet, on the instantaneous length. Leaves out: RED's average.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Bytes;

use crate::mechanism::{Core, Dequeued, Effects, Hooks, Watches};

/// `switch.ecn`: at most one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Params {
    /// Random early detection on the instantaneous queue.
    Red(Red),
    /// Every packet that leaves more than the threshold behind is marked.
    Step(Step),
}

/// `switch.ecn.red`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Nothing is marked up to this queue.
    pub kmin: Bytes,
    /// Everything is marked above this queue.
    pub kmax: Bytes,
    /// Probability at `kmax`, 0 to 1.
    #[serde(default = "default_pmax")]
    pub pmax: f64,
}

/// `switch.ecn.step`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The queue above which packets are marked.
    pub threshold: Bytes,
}

fn default_pmax() -> f64 {
    0.2
}

/// The marker of one node.
#[derive(Debug)]
pub struct Ecn {
    kmin: u32,
    kmax: u32,
    pmax: f64,
}

impl Ecn {
    /// The marker that `params` describe.
    pub fn new(params: &Params) -> Self {
        match params {
            Params::Red(red) => Self { kmin: red.kmin.0 as u32, kmax: red.kmax.0 as u32, pmax: red.pmax },
            Params::Step(step) => Self { kmin: step.threshold.0 as u32, kmax: step.threshold.0 as u32, pmax: 1.0 },
        }
    }

    fn probability(&self, queue_bytes: u32) -> f64 {
        if queue_bytes <= self.kmin {
            0.0
        } else if queue_bytes > self.kmax {
            1.0
        } else {
            self.pmax * f64::from(queue_bytes - self.kmin) / f64::from(self.kmax - self.kmin)
        }
    }
}

impl Hooks for Ecn {
    fn watches(&self) -> Watches {
        Watches::DEQUEUE
    }

    #[inline]
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let queue = core.egress_bytes(event.port, event.queue);
        if queue > self.kmin && (queue > self.kmax || effects.stream.uniform() < self.probability(queue)) {
            effects.mark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn red_is_linear_between_its_thresholds() {
        let red = Ecn::new(&Params::Red(Red { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax: 0.2 }));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(red.probability(100_000), 0.0));
        assert!(near(red.probability(250_000), 0.1));
        assert!(near(red.probability(400_000), 0.2));
        assert!(near(red.probability(400_001), 1.0));
        let step = Ecn::new(&Params::Step(Step { threshold: Bytes(200_000) }));
        assert!(near(step.probability(200_000), 0.0));
        assert!(near(step.probability(200_001), 1.0));
    }
}
