//! Hosts that relay: the nodes of NDC (`BCube`), and GPUs between rails.
//! A relay has queues for its own flows and queues for relayed packets, for each class. Its forwarding has a
//! delay of its own, and its memory is separate from that of switches. Own packets are in no count.
//! Source: the `PortFC` paper and NCCL; `docs/models/relay.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use crate::paths::topology::Topology;
use crate::ports::queueing::buffer;

/// Buffer of a connection in a relaying GPU (NCCL's `NCCL_BUFFSIZE`).
const BUFFER: Bytes = Bytes(4 << 20);

/// Order of own flows and relayed packets at a port, within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Relayed packets first.
    #[default]
    RelayFirst,
    /// Queues of own flows and the queue of relayed packets take turns, packet by packet.
    RoundRobin,
    /// Each own flow and the queue of relayed packets take turns; many own flows leave little to relayed
    /// packets.
    PerFlow,
}

/// `host.relay`: hosts that relay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Processing delay of relayed packets.
    pub delay: Duration,
    /// Memory for relayed packets.
    pub buffer: buffer::Params,
    /// Under PFC: bound of each flow's bytes in a relaying host. At the bound the source holds the flow until
    /// an eighth of the bytes is free. Relays then pause no neighbour, so that no pause spreads into a
    /// server. Default: 4 MiB in `network.rail` (the buffer of a connection in NCCL), unless
    /// `switch.flow_control.pfc.relays` is given; elsewhere no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_flow: Option<Bytes>,
    /// Order of own flows and relayed packets.
    pub scheduler: Scheduler,
    /// Relays mark relayed packets as switches do (`switch.ecn`), by their queues of relayed packets.
    pub ecn: bool,
}

impl Params {
    /// Returns the parameters with the defaults of the network.
    #[must_use]
    pub fn settled(&self, topology: &Topology) -> Self {
        Self { per_flow: self.per_flow.or(topology.has_servers.then_some(BUFFER)), ..self.clone() }
    }
}
