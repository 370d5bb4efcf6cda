//! The last gain of a packet and the last start of a flow at a host: the basis for finding runs without
//! progress.

use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

/// The last moments, and how many packets chance made late.
#[derive(Debug, Clone, Copy, Default)]
pub struct Latest {
    /// The last arrival of a new packet.
    pub gained_at: Moment,
    /// The last start of a flow or message.
    pub begun_at: Moment,
    /// Number of draws of jitter. A host with draws does not repeat.
    pub drawn: u64,
}

impl State for Latest {
    /// The times have no effect at the host.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { gained_at, begun_at, drawn } = self;
        walk.value(*drawn);
        walk.since(gained_at);
        walk.since(begun_at);
    }
}
