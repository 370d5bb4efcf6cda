//! Counts of the components of a network: a group for each registered component, given in the scenario or
//! not, which keeps runs comparable.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_models::network::{self, Settings};
use xoff_models::parts::count::{Count, Tally};

/// Counts of a component at switches, at hosts, or at both.
#[derive(Debug, Clone, Serialize)]
pub struct Declared {
    /// Name of the component, the key of its group in summaries.
    pub name: &'static str,
    /// Label for readers.
    pub label: &'static str,
    /// Counts of the component, in the order of summaries.
    pub counts: Vec<Count>,
}

/// Returns all groups of a summary, in the order of summaries.
pub fn groups() -> Vec<Declared> {
    let mut list: Vec<Declared> = Vec::new();
    for group in network::groups().filter(|g| !g.counts.is_empty()) {
        match list.iter_mut().find(|d| d.name == group.name) {
            Some(known) => known.counts.extend(group.counts),
            None => {
                list.push(Declared { name: group.name, label: group.label, counts: group.counts.to_vec() });
            }
        }
    }
    list
}

/// Returns the components that need a mechanism of switches, each with its mechanism.
pub fn listeners() -> BTreeMap<&'static str, &'static str> {
    network::groups().filter_map(|group| Some((group.name, group.listens_to?))).collect()
}

/// Sums over all nodes, by part and name.
pub struct Counts {
    /// All declared counts, zero by default.
    pub groups: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// Components given in the scenario.
    pub components: Vec<&'static str>,
}

/// Adds to the group of one component.
pub struct Of<'a> {
    counts: &'a mut Counts,
    part: &'static str,
}

impl Counts {
    /// Returns empty counts.
    pub fn new(settings: &Settings) -> Self {
        let zeros = |d: Declared| (d.name, d.counts.iter().map(|c| (c.name, 0)).collect());
        let all = groups().into_iter().map(zeros).collect();
        Self { groups: all, components: settings.parts() }
    }

    /// Returns the group of the component that declares a count; another component may add to the count.
    pub fn declaring(&mut self, count: Count) -> Of<'_> {
        let part =
            groups().into_iter().find(|group| group.counts.contains(&count)).map_or("", |group| group.name);
        self.of(part)
    }

    /// The group of a part.
    pub fn of(&mut self, part: &'static str) -> Of<'_> {
        Of { counts: self, part }
    }
}

impl Tally for Of<'_> {
    fn add(&mut self, count: Count, n: u64) {
        if n > 0 {
            *self.counts.groups.entry(self.part).or_default().entry(count.name).or_default() += n;
        }
    }
}
