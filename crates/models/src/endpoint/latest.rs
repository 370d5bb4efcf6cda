//! When a host last gained a packet or began a flow: from these moments follows how long a run has gained nothing.

use xoff_engine::state::{State, Walk};
use xoff_units::Moment;

/// The last moments, and how many packets chance made late.
#[derive(Debug, Clone, Copy, Default)]
pub struct Latest {
    /// When a new packet arrived.
    pub gained_at: Moment,
    /// When a flow or a message began here.
    pub begun_at: Moment,
    /// How often jitter was drawn. A host that draws does not repeat itself.
    pub drawn: u64,
}

impl State for Latest {
    /// The moments decide nothing at the host.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { gained_at, begun_at, drawn } = self;
        walk.value(*drawn);
        walk.since(gained_at);
        walk.since(begun_at);
    }
}
