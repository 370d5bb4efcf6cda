//! An arriving flow, and the number that marks a flow whose packets have all arrived.

use xoff_engine::state;
use xoff_units::Moment;

use crate::hosts::transport;
use crate::hosts::transport::contract::Received;

/// An arriving flow.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    pub(super) src: u32,
    pub(super) received: Received,
    pub(super) transport: transport::Receiver,
    /// The time of the last notification of a mark.
    pub(super) last_echo: Option<Moment>,
    /// Ends of messages that arrived before earlier packets, for a connection.
    pub(super) ends: u32,
}

state!(Receiver {
    value: src, ends;
    part: received, transport;
    moments: last_echo;
});

impl Receiver {
    /// Reads the memory that the next packet needs.
    #[inline]
    pub fn touch(&self) -> u64 {
        u64::from(self.received.expected) ^ u64::from(self.src)
    }
}

/// In the place of a receiver: all of the flow has arrived.
pub(super) const ALL_HERE: u32 = u32::MAX;
