//! Flows that the document lists, or a table beside it: a trace, a collective, or a case that is worked out by hand.
//!
//! What a flow waits for and the path that it is pinned to need the flows of all workloads: both are checked where flows are
//! numbered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use super::{Host, Making, Problem, Traffic, Workload};

/// `workload[…].flows`
pub type Params = Vec<Flow>;

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
    pub start: Time,
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

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let at = making.at();
        making.check_room(self.len() as u64, &at)?;
        for (i, flow) in self.iter().enumerate() {
            let key = row(&at, making.workload, i);
            let src = making.host(&flow.src, &format!("{key}.src"))?;
            let dst = making.host(&flow.dst, &format!("{key}.dst"))?;
            making.check_ends(src, dst, &key)?;
            making.check_size(flow.size, &key)?;
            making.list(src, dst, flow.size.0, making.workload.start + flow.start).detail = Some((i, flow));
        }
        Ok(())
    }
}

/// Where a row stands: in the document, or in the table that the workload names.
pub(super) fn row(at: &str, workload: &Workload, index: usize) -> String {
    format!("{at}.{}[{index}]", if workload.table.is_some() { "table" } else { "flows" })
}
