//! Flows that the scenario or a table lists: a trace, a collective, or a case worked out by hand. Source:
//! `docs/models/flows.md`.
//!
//! Dependencies and pinned paths need the flows of all workloads. Both are checked during numbering.

use xoff_models::traffic::workload::Flow;

/// `workload[…].flows`
pub type Params = Vec<Flow>;
