//! Completion times of finished flows.

use crate::flow_statistics::{Fct, Slowdown};

/// A flow at its end, or at the end of the run. Times are in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    /// Workload of the flow.
    pub workload: u32,
    /// Payload of the flow.
    pub size: u64,
    /// Start of the flow.
    pub start: u64,
    /// Arrival of the last byte.
    pub arrived: Option<u64>,
    /// Completion time divided by the ideal FCT.
    pub slowdown: Option<f64>,
}

/// Completion times and slowdowns of finished flows.
#[derive(Debug, Clone, Default)]
pub struct Times {
    pub(super) fct: Vec<u64>,
    pub(super) slowdowns: Vec<f64>,
}

impl Times {
    /// Adds a flow if finished.
    pub fn add(&mut self, flow: &Over) {
        self.fct.extend(flow.arrived.map(|arrived| arrived - flow.start));
        self.slowdowns.extend(flow.slowdown);
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.fct.extend(&other.fct);
        self.slowdowns.extend(&other.slowdowns);
    }

    /// Returns the statistics.
    pub fn summary(mut self) -> (Fct, Slowdown) {
        (Fct::of(&mut self.fct), Slowdown::of(&mut self.slowdowns))
    }
}
