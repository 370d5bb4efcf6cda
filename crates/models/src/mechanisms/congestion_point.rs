//! Congestion points of BCN and QCN: the outputs that have congestion points, their numbers, and the frame to
//! a source. Source: `docs/models/bcn.md` and `docs/models/qcn.md`.

use std::sync::Arc;

use xoff_units::{Bytes, number};

use crate::frames::kinds::Payload;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Enqueued, Site, ValidationContext};
use crate::parts::ids::PortId;
use crate::parts::param_error::{Change, ParamError};
use crate::paths::routing::Sources;
use crate::ports::core::Queueing;
use crate::ports::effects::{Effect, Effects};

/// The congestion points of a switch, one an output.
#[derive(Debug, Clone)]
pub struct Points {
    /// Number of the switch's first congestion point, from 1 on over all nodes. A frame with 0 names none.
    first: u32,
    frame_bytes: u16,
    sources: Arc<Sources>,
}

impl Points {
    /// Makes the congestion points of a switch. Hosts have none; switches with hosts have some only if
    /// `edges`.
    pub fn at(site: &Site<'_>, edges: bool) -> Option<Self> {
        let has_points = site.forwards && !site.is_host && (edges || site.hosts.is_empty());
        has_points.then(|| Self {
            first: 1 + site.map.wiring.ports[..site.id as usize]
                .iter()
                .map(|ports| number(ports.len()))
                .sum::<u32>(),
            frame_bytes: site.framing.control,
            sources: site.sources.clone(),
        })
    }

    /// For tests.
    #[cfg(test)]
    pub fn new(first: u32, sources: Sources) -> Self {
        Self { first, frame_bytes: 64, sources: Arc::new(sources) }
    }

    /// Returns the number of a port's congestion point.
    pub const fn id(&self, port: PortId) -> u32 {
        self.first + port.0 as u32
    }

    /// Sends feedback to the source of the sampled frame.
    pub fn tell(&self, sampled: &Enqueued<'_>, feedback: impl Payload, effects: &mut Effects) {
        let flow = sampled.packet.flow();
        let frame =
            Packet::with(feedback, flow, self.sources.of(flow), self.frame_bytes, sampled.packet.class());
        effects.push(Effect::Emit(frame));
    }
}

/// Checks the settings of congestion points.
pub fn check(
    context: &ValidationContext<'_>,
    q_eq: Bytes,
    sample_base: Bytes,
    w: u32,
) -> Result<(), ParamError> {
    if q_eq.0 < 1_000 || q_eq.0 >= 1 << 30 {
        return Err(("q_eq", format!("{q_eq} is out of range; must be 1KB or more and below 1GiB")));
    }
    if sample_base.0 == 0 || sample_base.0 >= 1 << 40 {
        return Err((
            "sample_base",
            format!("{sample_base} is out of range; must be above zero and below 1TB"),
        ));
    }
    if w > 1_000 {
        return Err(("w", format!("{w} is out of range; allowed are 0 to 1000")));
    }
    if context.queueing == Queueing::Iq {
        return Err((
            "q_eq",
            Change::set("switch.queueing", "oq")
                .after("congestion points need output queues, and iq has none"),
        ));
    }
    Ok(())
}
