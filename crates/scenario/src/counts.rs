//! What parts of a network counted: a group for each that there is, given in the scenario or not, so that runs compare.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_models::count::{Count, Tally};
use xoff_models::network::{self, Settings};

/// What a part counts, whether it lives at switches, at hosts, or at both.
#[derive(Debug, Clone, Serialize)]
pub struct Declared {
    /// The part's name: the key of its group in summaries.
    pub name: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// Its counts, in the order in which people read them.
    pub counts: Vec<Count>,
}

/// All groups of a summary, in the order in which people read them.
pub fn groups() -> Vec<Declared> {
    let mut list: Vec<Declared> = Vec::new();
    for group in network::groups().filter(|g| !g.counts.is_empty()) {
        match list.iter_mut().find(|d| d.name == group.name) {
            Some(known) => known.counts.extend(group.counts),
            None => list.push(Declared { name: group.name, label: group.label, counts: group.counts.to_vec() }),
        }
    }
    list
}

/// Returns the parts that need a mechanism of switches to act, with that mechanism.
pub fn listeners() -> BTreeMap<&'static str, &'static str> {
    network::groups().filter_map(|group| Some((group.name, group.listens_to?))).collect()
}

/// Sums over all nodes, by part and name.
pub struct Counts {
    /// All that parts declare, zero where nothing was counted.
    pub groups: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// The parts that the scenario gives.
    pub components: Vec<&'static str>,
}

/// Adds to the group of one part.
pub struct Of<'a> {
    counts: &'a mut Counts,
    part: &'static str,
}

impl Counts {
    /// Nothing yet.
    pub fn new(settings: &Settings) -> Self {
        let zeros = |d: Declared| (d.name, d.counts.iter().map(|c| (c.name, 0)).collect());
        let all = groups().into_iter().map(zeros).collect();
        Self { groups: all, components: settings.parts() }
    }

    /// The group of the part that declares a count, which others count for it.
    pub fn declaring(&mut self, count: Count) -> Of<'_> {
        let part = groups().into_iter().find(|group| group.counts.contains(&count)).map_or("", |group| group.name);
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
