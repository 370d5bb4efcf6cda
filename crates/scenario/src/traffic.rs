//! What the endpoints of a run have done, and have left to do.

use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint::Endpoint;
use xoff_models::network::node::Node;
use xoff_units::Moment;

/// Progress of all flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gains {
    /// New packets that have arrived.
    pub packets: u64,
    /// Time of the last arrival of a new packet.
    pub at: Moment,
    /// Last start of a flow or message.
    pub begun: Moment,
    /// A flow has data to send or waits for an acknowledgement. Connections of computing ranks do not count.
    pub is_busy: bool,
}

fn endpoints<'a>(cp: &'a Checkpoint<'_, Node>) -> impl Iterator<Item = &'a Endpoint> {
    (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_deref())
}

/// True if a flow has an action of its own left, now or later.
pub fn goes_on(cp: &Checkpoint<'_, Node>) -> bool {
    endpoints(cp).any(|endpoint| endpoint.goes_on(cp.now))
}

/// Returns the start of the traffic; zero without traffic.
pub fn first_start(cp: &Checkpoint<'_, Node>) -> Moment {
    let first = endpoints(cp).map(Endpoint::first_start).min();
    first.filter(|at| *at < Moment::NEVER).unwrap_or_default()
}

/// Returns the progress of flows.
pub fn gains(cp: &Checkpoint<'_, Node>) -> Gains {
    endpoints(cp).fold(Gains::default(), |sum, e| Gains {
        packets: sum.packets + e.accepted,
        at: sum.at.max(e.latest.gained_at),
        begun: sum.begun.max(e.latest.begun_at),
        is_busy: sum.is_busy || !e.is_quiet(),
    })
}
