//! The contract of a measure.

use serde_json::Value;
use xoff_document::Scenario;
use xoff_models::job::Ended;
use xoff_models::workload::AllFlows;

use super::measured::Measured;
use super::parts::Part;
use crate::results::news::Over;
use crate::results::rows::row_set;

row_set! { collectives: Measured, jobs: Part }

/// The workloads of one name.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Numbers of the workloads.
    pub workloads: Vec<u32>,
    /// Number of flows.
    pub flows: u64,
}

/// Adds a key to the summary of a workload, with its value.
pub type Say<'a> = dyn FnMut(&'static str, Value) + 'a;

/// The contract of a measure.
pub trait Measure: Sized {
    /// Keys in the summary of a workload, with their meanings. A key may be missing for a group.
    const KEYS: &'static [(&'static str, &'static str)];

    /// Before the first flow.
    fn new(groups: &[Group], plan: &AllFlows, scenario: &Scenario) -> Self;

    /// Adds a flow to a group.
    fn add(&mut self, group: usize, flow: &Over);

    /// Adds a finished operation of a job.
    fn end(&mut self, _ended: &Ended) {}

    /// Writes the results of a group.
    fn say(&mut self, group: usize, of: &Group, say: &mut Say<'_>);

    /// Writes rows of the table of the measure, if any.
    fn rows(&self, _rows: &mut Rows) {}
}
