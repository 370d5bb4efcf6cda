//! ECN marking at an egress queue: RED or a step.
//!
//! Models: a mark for data packets by the queue that a packet leaves behind. Source: RED as HPCC and `ConWeave` use it
//! (mechanisms.md 2.1): nothing up to `kmin`, linear to `pmax` at `kmax`, every packet above; judged at dequeue, after removing
//! the packet, on the instantaneous length. Leaves out: RED's average.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Bytes;

use crate::core::{Core, Queueing};
use crate::count::Count;
use crate::effects::Effects;
use crate::mechanism::{Around, Dequeued, Hooks, Install, Levels, Properties, Site, Watches, Wrong};

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

/// Packets marked, by whichever mechanism, which the node counts.
pub const MARKED: Count = Count::number("marked", "packets marked");

impl Install for Ecn {
    type Params = Params;
    const LABEL: &'static str = "ECN";
    const COUNTS: &'static [Count] = &[MARKED];

    /// Hosts that relay mark nothing.
    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        (site.forwards && !site.is_host).then(|| Self::new(params))
    }

    fn properties(_: &Params) -> Properties {
        Properties { tells_sources: Some("no host reacts to marks (host.congestion_control)"), ..Properties::default() }
    }

    fn validate(params: &Params, around: &Around<'_>) -> Result<(), Wrong> {
        match params {
            Params::Red(red) => {
                if red.kmin > red.kmax || red.kmax.0 >= 1 << 32 {
                    return Err(("red.kmin", format!("{} is above kmax, {}; it must not be", red.kmin, red.kmax)));
                }
                if !(0.0..=1.0).contains(&red.pmax) {
                    return Err(("red.pmax", format!("{} is out of range; allowed are 0 to 1", red.pmax)));
                }
            }
            Params::Step(step) if step.threshold.0 >= 1 << 32 => {
                return Err(("step.threshold", format!("{} is too large; it must be below 4GiB", step.threshold)));
            }
            Params::Step(_) => {}
        }
        if around.queueing == Queueing::Iq {
            return Err(("", "marking looks at egress queues, and `iq` has none; use oq or voq".into()));
        }
        Ok(())
    }

    fn warn(params: &Params, levels: &Levels) -> Option<Wrong> {
        let least = match params {
            Params::Red(red) => red.kmin.0,
            Params::Step(step) => step.threshold.0,
        };
        (least > levels.xoff).then(|| ("", format!("marking starts above XOFF, {}: PFC acts first", Bytes(levels.xoff))))
    }
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
