//! Hosts that pass packets on: the nodes of NDC (`BCube`) and GPUs between rails.
//!
//! A relaying host has queues for its own flows and queues for what it relays, for each class. Its forwarding takes a delay of
//! its own, and its memory is not that of the switches. What it receives or sends itself is in no count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use crate::queueing::buffer;
use crate::topology::Topology;

/// The buffer that NCCL has for a connection in the GPU that relays it (`NCCL_BUFFSIZE`).
const BUFFER: Bytes = Bytes(4 << 20);

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
    /// Under PFC: bytes of each flow that may wait in a host that relays the flow. At this bound the source holds the flow until an
    /// eighth of the bytes is free. Hosts that relay then pause nobody, so that no pause spreads into a server. Default: in
    /// `network.rail`, unless `switch.flow_control.pfc.relays` is given, 4 MiB, the buffer of a connection in NCCL; elsewhere no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_flow: Option<Bytes>,
    /// Who goes first.
    pub scheduler: Scheduler,
    /// They mark what they relay as switches do (`switch.ecn`), by what waits in their queues for it.
    pub ecn: bool,
}

impl Params {
    /// The same with what follows from the network.
    #[must_use]
    pub fn settled(&self, topology: &Topology) -> Self {
        Self { per_flow: self.per_flow.or(topology.has_servers.then_some(BUFFER)), ..self.clone() }
    }
}
