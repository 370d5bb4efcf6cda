//! Messages of a step between ranks: rings of tensor-parallel ranks, and exchanges with experts.

use xoff_units::Moment;

use super::plan::{Kind, Plan};

/// Bytes of a message without tokens.
const EMPTY: u64 = 8;

/// An operation of a step in which ranks exchange messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    pub kind: Kind,
    /// Number of the operation among operations of the kind at the rank.
    pub number: u32,
    /// Messages sent and received so far.
    pub sent: u32,
    pub got: u32,
    /// Messages to send, and to receive.
    pub total: u32,
    /// For a ring: bytes of all parts.
    pub bytes: u64,
    /// The posting of the last message.
    pub posted: Moment,
}

impl Exchange {
    /// True when all messages are here.
    pub const fn is_over(&self) -> bool {
        self.got == self.total && self.sent == self.total
    }

    /// Returns the bytes of the next message of a ring of `ranks` ranks at a place: the part received
    /// last, or the own part.
    pub fn ring_bytes(&self, ranks: u32, place: u32) -> u64 {
        let part = (place + 2 * ranks - self.sent % ranks) % ranks;
        Plan::share(self.bytes, ranks, part).max(1)
    }

    /// True if the next message of a ring can leave.
    pub const fn ring_goes_on(&self) -> bool {
        self.sent < self.total && self.sent <= self.got
    }
}

/// Returns the bytes of a message with the tokens of a rank for each other rank of a group.
pub(super) fn expert_bytes(copies: f64, tokens: u64, of_token: u64) -> u64 {
    ((tokens as f64 * copies * of_token as f64).round() as u64).max(EMPTY)
}
