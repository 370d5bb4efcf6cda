//! A flow as its source knows it.

use xoff_engine::state;
use xoff_units::Moment;

/// A flow as the source knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// The number.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// The start.
    pub start: Moment,
    /// Pinned path, or 0.
    pub path: u16,
    /// Priority class.
    pub class: u8,
}

state!(FlowSpec {
    value: flow, dst, size, path, class;
    due: start;
});
