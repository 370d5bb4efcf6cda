//! A row of a list of flows, in the scenario or in a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use super::host::Host;

/// A listed flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The host that sends.
    pub src: Host,
    /// The host that receives.
    pub dst: Host,
    /// Payload.
    pub size: Bytes,
    /// The start, after the workload's start.
    #[serde(default)]
    pub start: Duration,
    /// A unique name, to be shown and to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Starts when all of these flows have arrived at the source, but not before `start`. `WORKLOAD/NAME` is an operation
    /// of a job at the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The nodes of the path, in order; `name/k` takes the k-th of parallel links into the node. Default:
    /// ECMP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

/// Returns the key of a row: in the scenario, or in the table of the workload.
pub(super) fn place(at: &str, is_table: bool, index: usize) -> String {
    format!("{at}.{}[{index}]", if is_table { "table" } else { "flows" })
}
