//! Hosts that pass packets on: the nodes of NDC (`BCube`) and GPUs between rails.
//!
//! A relaying host has queues for its own flows and queues for what it relays, for each class. Its forwarding takes a delay of
//! its own, and its memory is not that of the switches. What it receives or sends itself is in no count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Duration;

use crate::queueing::buffer;

/// Who goes first at a port of a relaying host, within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// What is relayed.
    #[default]
    RelayFirst,
    /// Neither: queues of own flows and that of relayed packets take turns, packet by packet.
    RoundRobin,
    /// Neither: each own flow and the queue of relayed packets take turns, so that many own flows leave little to what is relayed.
    PerFlow,
}

/// `host.relay`: hosts that pass packets on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Processing delay of what is relayed.
    pub delay: Duration,
    /// Memory for what is relayed.
    pub buffer: buffer::Params,
    /// Who goes first.
    pub scheduler: Scheduler,
    /// They mark what they relay as switches do (`switch.ecn`), by what waits in their queues for it.
    pub ecn: bool,
}
