//! `network.failover`: the times of route changes after link failures. See `routing/failover.rs` and
//! `docs/models/failover.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Duration;

use crate::parts::param_error::ParamError;

/// `network.failover`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Failover {
    /// A node stops choosing a port whose link has been down for this time, and chooses the port again when
    /// the link has been back for as long. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_repair_delay: Option<Duration>,
    /// All routes are computed anew this long after a link went down, or came back, and stayed so. Default:
    /// never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence_time: Option<Duration>,
}

impl Failover {
    /// True when any time is given.
    pub const fn is_given(&self) -> bool {
        self.local_repair_delay.is_some() || self.convergence_time.is_some()
    }

    /// Refuses values out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        for (key, time) in
            [("local_repair_delay", self.local_repair_delay), ("convergence_time", self.convergence_time)]
        {
            if let Some(time) = time.filter(|time| !(Duration(1)..=Duration::ms(60_000)).contains(time)) {
                return Err((key, format!("{time} is out of range; allowed are 1ps to 60s")));
            }
        }
        Ok(())
    }
}
