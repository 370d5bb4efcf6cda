//! Observers of a run, and the progress reported to them.

use std::ops::ControlFlow;

use xoff_models::records::table::Table;

/// Progress of a run.
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
    /// Finished operations of jobs.
    pub operations_completed: u64,
    /// Operations of jobs in all.
    pub operations_total: u64,
    /// Data packets that left a port so far, with fast-forwarded packets.
    pub data_packet_hops: u64,
    /// Work besides packets so far, in data packet-hops that take as long: slices over NVLink, rows, ends of flows.
    pub work_completed: f64,
    /// Work besides packets in all.
    pub work_total: f64,
    /// Finished share of the run, 0 to 1: of packets and other work (of operations without payload), or of `until`, if
    /// larger.
    pub share: f64,
}

/// An observer of a run.
pub trait Observer {
    /// Called at most ten times a second; breaking stops the run.
    fn progress(&mut self, progress: Progress) -> ControlFlow<()>;
    /// True if rows are passed on in batches; otherwise all rows are kept for the outcome.
    fn takes_rows(&self) -> bool;
    /// False if nobody reads rows of flows, messages, operations, requests, steps and tokens, which are then not made.
    fn wants_rows(&self) -> bool {
        true
    }
    /// Takes complete rows.
    fn rows(&mut self, table: Table);
    /// The run begins again: all rows so far are void.
    fn begin_again(&mut self) {}
}

/// Ignores all reports.
impl Observer for () {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn takes_rows(&self) -> bool {
        false
    }
    fn rows(&mut self, _: Table) {}
}
