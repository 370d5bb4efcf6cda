//! Numbers of finished flows, and completion times, of all flows and by size.

use serde::Serialize;
use serde_json::json;
use xoff_document::Scenario;
use xoff_models::traffic::workload::AllFlows;

use super::contract::{Group, KeyType, Measure, Say};
use crate::results::news::Over;
use crate::results::statistics::{Fct, Flows, Slowdown, Times};

/// Flows of a workload below the next size class.
#[derive(Debug, Clone, Serialize)]
struct SizeClass {
    from_bytes: u64,
    below_bytes: Option<u64>,
    completed: u64,
    fct_ps: Fct,
    slowdown: Slowdown,
}

pub struct Completions {
    /// Sizes at which classes end, but for the last; nothing without classes.
    bounds: Vec<u64>,
    /// For each group its times, and those by class.
    groups: Vec<(Times, Vec<Times>)>,
}

impl Measure for Completions {
    const KEYS: &'static [(&'static str, KeyType, &'static str)] = &[
        ("flows", KeyType::Always("Flows"), "Flows, or messages of connections."),
        (
            "fct_ps",
            KeyType::Always("Times"),
            "Completion times, from the start to the last byte at the receiver.",
        ),
        ("slowdown", KeyType::Always("Slowdowns"), "Slowdowns."),
        (
            "by_size",
            KeyType::Sometimes("list[SizeClass]"),
            "Completion times by size; with `probe.size_classes`.",
        ),
    ];

    fn new(groups: &[Group], _: &AllFlows, scenario: &Scenario) -> Self {
        let bounds: Vec<u64> = scenario.probe.size_classes.iter().map(|bound| bound.0).collect();
        let classes = if bounds.is_empty() { 0 } else { bounds.len() + 1 };
        let group = |_: &Group| (Times::default(), (0..classes).map(|_| Times::default()).collect());
        Self { groups: groups.iter().map(group).collect(), bounds }
    }

    fn add(&mut self, group: usize, flow: &Over) {
        let (all, classes) = &mut self.groups[group];
        all.add(flow);
        let class = self.bounds.partition_point(|bound| *bound <= flow.size);
        if let Some(class) = classes.get_mut(class) {
            class.add(flow);
        }
    }

    fn fault(&self) -> Option<String> {
        self.groups
            .iter()
            .flat_map(|(all, classes)| std::iter::once(all).chain(classes))
            .find_map(Times::fault)
    }

    fn say(&mut self, group: usize, of: &Group, say: &mut Say<'_>) {
        let (all, classes) = std::mem::take(&mut self.groups[group]);
        say("flows", json!(Flows { total: of.flows, completed: all.completed() }));
        let (fct, slowdown) = all.summary();
        say("fct_ps", json!(fct));
        say("slowdown", json!(slowdown));
        if classes.is_empty() {
            return;
        }
        let class = |(i, times): (usize, Times)| {
            let completed = times.completed();
            let (fct_ps, slowdown) = times.summary();
            let (from_bytes, below_bytes) =
                (i.checked_sub(1).map_or(0, |i| self.bounds[i]), self.bounds.get(i).copied());
            SizeClass { from_bytes, below_bytes, completed, fct_ps, slowdown }
        };
        say("by_size", json!(classes.into_iter().enumerate().map(class).collect::<Vec<_>>()));
    }
}
