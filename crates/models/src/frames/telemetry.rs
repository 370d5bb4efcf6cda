//! Record of a switch output: in-band network telemetry (INT).

use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{Moment, Rate};

use crate::parts::ids::PortId;

/// State of an output at the departure of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The node.
    pub node: u32,
    /// Port of the output.
    pub port: PortId,
    /// Start of transmission of the packet.
    pub at: Moment,
    /// Wire bytes sent by the port before the packet.
    pub sent: u64,
    /// Bytes of data still queued after the packet.
    pub queued: u32,
    /// Line rate.
    pub rate: Rate,
}

impl State for Hop {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { node, port, at, sent, queued, rate: _ } = self;
        walk.value((*node, *port, *queued).word());
        walk.moment(at);
        walk.bytes(*node, port.0, sent);
    }
}
