//! Parameters of `ConWeave`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Duration;

/// `switch.routing.conweave`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A flow leaves its path when a REPLY takes longer than the round trip without queues plus this time.
    pub reply_slack: Duration,
    /// A path is not chosen for this time after a NOTIFY of a marked packet on the path.
    pub path_pause: Duration,
    /// After a longer gap between two packets a flow begins anew by any path. A flow that pauses held back
    /// for this time may overtake its earlier packets.
    pub expiry: Duration,
    /// Held packets go on when their TAIL is overdue by this time.
    pub flush_slack: Duration,
    /// Time from the first held packet to the expected TAIL, where no packet of the old path arrived.
    pub flush_default: Duration,
    /// Reorder queues of each port and class, 1 to 64: the number of flows held at a time.
    pub queues: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            reply_slack: Duration::us(4),
            path_pause: Duration::us(16),
            expiry: Duration::us(300),
            flush_slack: Duration::us(16),
            flush_default: Duration::us(200),
            queues: 16,
        }
    }
}
