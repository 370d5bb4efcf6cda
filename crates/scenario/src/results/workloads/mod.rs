//! Measures of groups of flows, for summaries of workloads: a file and a line for each measure.

mod contract;
mod measured;
mod parts;

use std::collections::BTreeMap;

use xoff_applications::job::{self as model, Ended};
use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{index, number};

use self::contract::{Group, KeyType, Measure, Rows};
use super::contract::{Collect, Shared};
use super::news::Over;
use crate::runner::Runner;
use crate::summary::{Summary, WorkloadSummary};

/// Defines [`Workloads`].
macro_rules! registry {
    ($($measure:ident: $type:ident,)*) => {
        $(mod $measure;)*

        /// Collects the measures of workloads.
        pub struct Workloads {
            rows: Rows,
            groups: Vec<Group>,
            /// The group of each workload.
            of: Vec<usize>,
            $($measure: $measure::$type,)*
        }

        impl Collect for Workloads {
            type Rows = Rows;

            fn new(runner: &Runner, _: &Shared) -> Self {
                let (plan, scenario) = (&runner.plan, runner.scenario());
                let (groups, of) = groups(plan);
                Self { rows: Rows::default(), $($measure: Measure::new(&groups, plan, scenario),)* groups, of }
            }

            fn rows(&mut self) -> &mut Rows {
                &mut self.rows
            }

            fn operation(&mut self, ended: &Ended, _: &mut Shared) {
                $(self.$measure.end(ended);)*
            }

            fn over(&mut self, over: &Over, shared: &mut Shared) {
                let group = self.of[index(over.workload)];
                for _ in 0..shared.ends.times() {
                    $(self.$measure.add(group, over);)*
                }
            }

            fn fault(&self) -> Option<String> {
                [$(self.$measure.fault()),*].into_iter().flatten().next()
            }

            fn finish(&mut self, _: &Checkpoint<'_, Node>, _: &mut Shared) {
                $(self.$measure.rows(&mut self.rows);)*
            }

            fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
                for (place, group) in self.groups.iter().enumerate() {
                    let mut own = WorkloadSummary::default();
                    $(self.$measure.say(place, group, &mut |key, value| own.0.push((key, value)));)*
                    summary.workloads.insert(group.name.clone(), own);
                }
            }
        }

        /// Returns the keys of summaries of workloads, with the types of their values and their meanings.
        pub fn keys() -> Vec<(&'static str, KeyType, &'static str)> {
            [$(<$measure::$type as Measure>::KEYS),*].concat()
        }
    };
}

registry! {
    completions: Completions,
    collectives: Collectives,
    jobs: Jobs,
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
    for workload in model::Jobs::of(&plan.applications).iter().map(|job| job.workload) {
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
