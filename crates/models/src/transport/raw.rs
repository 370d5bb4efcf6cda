//! Raw frames, as of Ethernet or UDP.
//!
//! Models: a source sends each packet once, and is done with a flow when its last packet has left; the receiver answers nothing.
//! A flow is delivered when all of its packets have arrived, so that one that loses a packet never is.
//! Source: the workload of the BCN document ("100 % UDP or raw Ethernet"; mechanisms.md 6.5).
//! Simplifications: none of the protocols above retransmits. Invariants: no packet is sent twice; none is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReceiveState, Reply};

/// `host.transport.raw`: it has no settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// A data packet arrived: it counts.
#[inline]
pub fn on_data(state: &mut ReceiveState) -> (bool, Reply) {
    state.expected += 1;
    (true, Reply::Silence)
}
