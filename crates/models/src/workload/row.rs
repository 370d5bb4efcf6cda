//! A row of a list of flows, in the document or in a table beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use super::Host;

/// A listed flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Who sends.
    pub src: Host,
    /// Who receives.
    pub dst: Host,
    /// Payload.
    pub size: Bytes,
    /// When, after the workload's start.
    #[serde(default)]
    pub start: Duration,
    /// A unique name, to be shown and to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Starts when all of these have arrived at its source (and not before its start).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The nodes it passes, in order; `name/k` takes the k-th of parallel links into that node. Default: ECMP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

/// Where a row stands: in the document, or in the table that its workload names.
pub(super) fn place(at: &str, is_table: bool, index: usize) -> String {
    format!("{at}.{}[{index}]", if is_table { "table" } else { "flows" })
}
