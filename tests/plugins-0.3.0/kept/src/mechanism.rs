//! Kept: its effect, in one sentence.
//!
//! Models: (the deciding node, its counters, and the acting node). Source: (document and section).
//! Simplifications: (omissions).
//! Invariants: (statements that always hold, and the audit or test of each).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::state;
use xoff_units::{Bytes, Moment};

use xoff_models::core::Core;
use xoff_models::count::{Count, Tally};
use xoff_models::effects::Effects;
use xoff_models::mechanism::{Dequeued, Hooks, Install, Site, ValidationContext, Watches};
use xoff_models::param_error::ParamError;

/// `switch.plugins.kept`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Threshold of the egress queue behind a packet; at the threshold or above the packet is marked.
    pub threshold: Bytes,
}

impl Default for Params {
    /// (Reasons for these values.)
    fn default() -> Self {
        Self { threshold: Bytes(100_000) }
    }
}

/// Kept at one node.
#[derive(Debug, Clone)]
pub struct Kept {
    threshold: u32,
    marks: u64,
}

state!(Kept {
    total: marks;
    constant: threshold;
});

const MARKS: Count = Count::number("marks", "packets marked by kept");

impl Install for Kept {
    type Params = Params;
    const LABEL: &'static str = "Kept";
    const COUNTS: &'static [Count] = &[MARKS];

    /// Forwarding nodes have the mechanism.
    fn install(params: &Params, site: &Site<'_>, _core: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self { threshold: params.threshold.0 as u32, marks: 0 })
    }

    fn validate(params: &Params, _context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if params.threshold.0 == 0 || params.threshold.0 >= 1 << 32 {
            return Err(("threshold", format!("{} is out of range; must be above zero and below 4GiB", params.threshold)));
        }
        Ok(())
    }
}

impl Hooks for Kept {
    fn watches(&self) -> Watches {
        Watches::DEQUEUE
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if core.egress_bytes(event.port, event.queue) >= self.threshold {
            self.marks += 1;
            effects.mark();
        }
    }

    fn counts(&self, _now: Moment, tally: &mut dyn Tally) {
        tally.add(MARKS, self.marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_models::ids::{PortId, QueueId};
    use xoff_models::frames::Kind;
    use xoff_models::packet::Packet;

    #[test]
    fn marks_from_the_threshold_on() {
        let (mut mechanism, mut core) = (Kept { threshold: 1000, marks: 0 }, Core::for_tests(2, 1));
        let mut effects = Effects::for_tests(1);
        let packet = Packet::new(Kind::Data, 0, 0, 9, 500, 0);
        for (bytes, marks) in [(999, 0), (1, 1)] {
            core.ports[0].queues[1].bytes.add(bytes);
            mechanism.on_dequeue(&Dequeued { packet: &packet, port: PortId(0), queue: QueueId(1), is_whole: true }, &core, &mut effects);
            assert_eq!(mechanism.marks, marks);
        }
    }
}
