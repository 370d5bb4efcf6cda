//! Who watches a run, and what is told of how far it is.

use std::ops::ControlFlow;

use crate::table::Table;

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Progress {
    /// Simulated time.
    pub simulated_ps: u64,
    /// Flows delivered.
    pub flows_completed: u64,
    /// Flows in all.
    pub flows_total: u64,
    /// Payload of delivered flows.
    pub bytes_completed: u64,
    /// Payload in all.
    pub bytes_total: u64,
    /// Operations of jobs that are over.
    pub operations_completed: u64,
    /// Operations of jobs in all.
    pub operations_total: u64,
    /// How much of the run is done, from 0 to 1: of its payload (of its operations where nothing is sent), or of its time if `until`
    /// ends it and more of that is over.
    pub share: f64,
}

/// Who watches a run.
pub trait Observer {
    /// Called at most ten times a second; breaking stops the run.
    fn progress(&mut self, progress: Progress) -> ControlFlow<()>;
    /// Whether rows are handed on in batches as they come; otherwise all are kept for the outcome.
    fn takes_rows(&self) -> bool;
    /// Rows that are complete.
    fn rows(&mut self, table: Table);
}

/// Nobody.
impl Observer for () {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn takes_rows(&self) -> bool {
        false
    }
    fn rows(&mut self, _: Table) {}
}
