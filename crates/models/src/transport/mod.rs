//! Transports: what is sent again, and what the receiver answers.

pub mod go_back_n;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `host.transport`: at most one; Go-Back-N with its defaults when none is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Go-Back-N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_back_n: Option<go_back_n::Params>,
}

/// What the sender remembers of a flow's packets.
#[derive(Debug, Clone, Copy, Default)]
pub struct SendState {
    /// Packets in all.
    pub packets: u32,
    /// The next packet to send.
    pub next: u32,
    /// The oldest packet that is not acknowledged.
    pub unacknowledged: u32,
    /// Packets ever sent, one past the highest.
    pub highest: u32,
}

/// What the receiver remembers of a flow's packets.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceiveState {
    /// The packet that comes next in order.
    pub expected: u32,
    /// When a gap was last reported, and which packet was expected.
    pub nacked: Option<(u32, xoff_units::Time)>,
    /// One past the highest first-time packet seen, to notice reordering.
    pub highest: u32,
}

/// What a receiver sends back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Everything before this packet arrived.
    Ack(u32),
    /// This packet is missing.
    Nack(u32),
    /// Nothing.
    Silence,
}
