//! `switch.faults`: faults injected into nodes, to prove that each audit can fail, and to measure
//! consequences. Source: `docs/models/faults.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of injected faults of each kind. All are zero by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Number of data packets that vanish uncounted at each switch.
    pub vanish: u32,
    /// Number of data packets that each switch lets overtake the packet before in the queue.
    pub overtake: u32,
    /// Number of data packets at each switch that pass the forwarding latency of the next packet.
    pub hurry: u32,
    /// Number of PFC resumes that each node never sends.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_resumes: u32,
    /// Number of credit updates that each node loses.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_credit_updates: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
