//! What is measured of groups of flows, for the summaries of workloads: a file and a line for each measure.

use std::collections::BTreeMap;
use xoff_units::{index, number};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use xoff_models::job::Ended;
use xoff_models::workload::AllFlows;

pub use self::completions::Times;
use crate::document::Scenario;
use crate::tables::Rows;

/// A flow that has ended, or that had not when the run did. Times are in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    /// Its workload.
    pub workload: u32,
    /// Its payload.
    pub size: u64,
    /// When it started.
    pub start: u64,
    /// When its last byte arrived.
    pub arrived: Option<u64>,
    /// How long it took, by how long it would have taken alone.
    pub slowdown: Option<f64>,
}

/// What workloads of one name are together.
#[derive(Debug, Clone)]
pub struct Group {
    /// Their name.
    pub name: String,
    /// Their numbers.
    pub workloads: Vec<u32>,
    /// Flows that they have.
    pub flows: u64,
}

/// Says a key of a workload's summary, and what is there.
pub type Say<'a> = dyn FnMut(&'static str, Value) + 'a;

/// The contract of a measure.
pub trait Measure: Sized {
    /// The keys that it has in a workload's summary, and what each means; one that says nothing of a group is left out there.
    const KEYS: &'static [(&'static str, &'static str)];

    /// Before the first flow.
    fn new(groups: &[Group], plan: &AllFlows, scenario: &Scenario) -> Self;

    /// A flow of a group, by its place.
    fn add(&mut self, group: usize, flow: &Over);

    /// An operation of a job that is over.
    fn end(&mut self, _ended: &Ended) {}

    /// What it says of a group in the end.
    fn say(&mut self, group: usize, of: &Group, say: &mut Say<'_>);

    /// Rows of a table of its own.
    fn rows(&self, _rows: &mut Rows) {}
}

/// Makes [`Measures`] and what is done with each of them.
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

            /// A flow that is over.
            pub fn add(&mut self, flow: &Over) {
                let group = self.of[index(flow.workload)];
                $(self.$measure.add(group, flow);)*
            }

            /// An operation of a job that is over.
            pub fn end(&mut self, ended: &Ended) {
                $(self.$measure.end(ended);)*
            }

            /// Rows of measures with tables of their own.
            pub fn rows(&self, rows: &mut Rows) {
                $(self.$measure.rows(rows);)*
            }

            /// What all of them say, by the names of workloads.
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

        /// The keys of workloads' summaries, and what each means.
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

/// Of one workload, or of several of one name: what each measure says.
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

/// The groups in order of their names, and the place of each workload's.
fn groups(plan: &AllFlows) -> (Vec<Group>, Vec<usize>) {
    let mut by_name: BTreeMap<&str, Group> = BTreeMap::new();
    for (i, (first, workload)) in plan.ranges.iter().enumerate() {
        let next = plan.ranges.get(i + 1).map_or(plan.flows, |range| u64::from(range.0));
        let name = &plan.names[index(*workload)];
        let group = by_name.entry(name).or_insert_with(|| Group { name: name.clone(), workloads: Vec::new(), flows: 0 });
        group.workloads.push(*workload);
        if !plan.messages.contains_key(workload) {
            group.flows += next - u64::from(*first);
        }
    }
    for workload in plan.jobs.iter().map(|job| job.workload) {
        // One that only computes has no flow.
        let name = &plan.names[index(workload)];
        let group = by_name.entry(name).or_insert_with(|| Group { name: name.clone(), workloads: Vec::new(), flows: 0 });
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
    let place = |workload: u32| groups.iter().position(|group| group.workloads.contains(&workload)).unwrap_or_default();
    let of = (0..number(plan.names.len())).map(place).collect();
    (groups, of)
}
