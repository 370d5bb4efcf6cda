//! Measures of groups of flows, for summaries of workloads: a file and a line for each measure.

use std::collections::BTreeMap;
use xoff_units::{index, number};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use xoff_models::job::Ended;
use xoff_models::workload::AllFlows;

mod times;

pub use self::times::{Over, Times};
use crate::document::Scenario;
use crate::tables::Rows;

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

/// Defines [`Measures`] and its methods.
macro_rules! registry {
    ($($measure:ident: $type:ident,)*) => {
        $(mod $measure;)*

        /// All measures of the workloads of a run.
        pub struct Measures {
            groups: Vec<Group>,
            /// The group of each workload.
            of: Vec<usize>,
            $($measure: $measure::$type,)*
        }

        impl Measures {
            /// Before the first flow.
            pub fn new(plan: &AllFlows, scenario: &Scenario) -> Self {
                let (groups, of) = groups(plan);
                Self { $($measure: Measure::new(&groups, plan, scenario),)* groups, of }
            }

            /// Adds a finished flow.
            pub fn add(&mut self, flow: &Over) {
                let group = self.of[index(flow.workload)];
                $(self.$measure.add(group, flow);)*
            }

            /// Adds a finished operation of a job.
            pub fn end(&mut self, ended: &Ended) {
                $(self.$measure.end(ended);)*
            }

            /// Writes rows of measures with tables.
            pub fn rows(&self, rows: &mut Rows) {
                $(self.$measure.rows(rows);)*
            }

            /// Returns the results of all measures by name of workloads.
            pub fn summaries(&mut self) -> BTreeMap<String, WorkloadSummary> {
                let mut all = BTreeMap::new();
                for (place, group) in self.groups.iter().enumerate() {
                    let mut summary = WorkloadSummary::default();
                    $(self.$measure.say(place, group, &mut |key, value| summary.0.push((key, value)));)*
                    all.insert(group.name.clone(), summary);
                }
                all
            }
        }

        /// Returns the keys of summaries of workloads, with their meanings.
        pub fn keys() -> Vec<(&'static str, &'static str)> {
            [$(<$measure::$type as Measure>::KEYS),*].concat()
        }
    };
}

registry! {
    completions: Completions,
    collectives: Collectives,
    jobs: Jobs,
}

/// Results of the measures for the workloads of one name.
#[derive(Debug, Clone, Default)]
pub struct WorkloadSummary(Vec<(&'static str, Value)>);

impl Serialize for WorkloadSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Returns the groups in order of names, and the index of the group of each workload.
fn groups(plan: &AllFlows) -> (Vec<Group>, Vec<usize>) {
    let mut by_name: BTreeMap<&str, Group> = BTreeMap::new();
    for (i, (first, workload)) in plan.ranges.iter().enumerate() {
        let next = plan.ranges.get(i + 1).map_or(plan.flows, |range| u64::from(range.0));
        let name = &plan.names[index(*workload)];
        let group = by_name.entry(name).or_insert_with(|| Group {
            name: name.clone(),
            workloads: Vec::new(),
            flows: 0,
        });
        group.workloads.push(*workload);
        if !plan.messages.contains_key(workload) && !plan.open.contains_key(workload) {
            group.flows += next - u64::from(*first);
        }
    }
    for workload in plan.jobs.iter().map(|job| job.workload) {
        // A workload with computations alone has no flow.
        let name = &plan.names[index(workload)];
        let group = by_name.entry(name).or_insert_with(|| Group {
            name: name.clone(),
            workloads: Vec::new(),
            flows: 0,
        });
        if !group.workloads.contains(&workload) {
            group.workloads.push(workload);
        }
    }
    for (workload, messages) in &plan.messages {
        if let Some(group) = by_name.get_mut(plan.names[index(*workload)].as_str()) {
            group.flows += messages;
        }
    }
    let groups: Vec<Group> = by_name.into_values().collect();
    let place = |workload: u32| {
        groups.iter().position(|group| group.workloads.contains(&workload)).unwrap_or_default()
    };
    let of = (0..number(plan.names.len())).map(place).collect();
    (groups, of)
}
