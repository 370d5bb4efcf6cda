//! When nodes see that a link is down, and all routes follow; what that means is in `routing/failover.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Duration;

use crate::wrong::Wrong;

/// `network.failover`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Failover {
    /// A node stops choosing a port whose link has been down for so long, and chooses it again once it has been back for so long.
    /// Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_repair_delay: Option<Duration>,
    /// So long after a link went down, or came back, and stayed so, the routes of all nodes are computed anew. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence_time: Option<Duration>,
}

impl Failover {
    /// Whether anything is done.
    pub const fn is_given(&self) -> bool {
        self.local_repair_delay.is_some() || self.convergence_time.is_some()
    }

    /// Says what of it makes no sense.
    pub fn validate(&self) -> Result<(), Wrong> {
        for (key, time) in [("local_repair_delay", self.local_repair_delay), ("convergence_time", self.convergence_time)] {
            if let Some(time) = time.filter(|time| !(Duration(1)..=Duration::ms(60_000)).contains(time)) {
                return Err((key, format!("{time} is out of range; allowed are 1ps to 60s")));
            }
        }
        Ok(())
    }
}
