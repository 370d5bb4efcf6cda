//! `switch.faults`: faults that are injected into nodes. With them tests prove that each audit can fail, and studies measure consequences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often a node does each thing wrong. All are zero by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Each switch makes this many data packets vanish without counting them.
    pub vanish: u32,
    /// Each switch lets this many data packets overtake the one before them in their queue.
    pub overtake: u32,
    /// Each switch lets this many data packets pass the forwarding delay of the next.
    pub hurry: u32,
    /// PFC at each node never sends this many resumes.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_resumes: u32,
    /// Credits at each node lose this many updates.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_credit_updates: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}
