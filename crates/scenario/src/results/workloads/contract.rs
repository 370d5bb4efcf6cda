//! The contract of a measure.

use serde::Serialize;
use serde_json::Value;
use xoff_applications::job::Ended;
use xoff_document::Scenario;
use xoff_models::traffic::workload::AllFlows;

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

/// The type of a key's value. The Python classes of summaries follow from it, and so do the metrics of studies.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyType {
    /// A type in `tools/summary_keys.py`. Every group has the key.
    Always(&'static str),
    /// A type in `tools/summary_keys.py`. Some groups have the key.
    Sometimes(&'static str),
    /// A table of these numbers, with their meanings. Some groups have the key.
    Numbers(&'static [(&'static str, &'static str)]),
}

/// The contract of a measure.
pub trait Measure: Sized {
    /// Keys in the summary of a workload, with the types of their values and their meanings.
    const KEYS: &'static [(&'static str, KeyType, &'static str)];

    /// Before the first flow.
    fn new(groups: &[Group], plan: &AllFlows, scenario: &Scenario) -> Self;

    /// Adds a flow to a group.
    fn add(&mut self, group: usize, flow: &Over);

    /// Adds a finished operation of a job.
    fn end(&mut self, _ended: &Ended) {}

    /// See [`crate::results::tally::Tally::fault`].
    fn fault(&self) -> Option<String> {
        None
    }

    /// Writes the results of a group.
    fn say(&mut self, group: usize, of: &Group, say: &mut Say<'_>);

    /// Writes rows of the table of the measure, if any.
    fn rows(&self, _rows: &mut Rows) {}
}
