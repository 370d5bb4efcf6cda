//! What parts of a network counted: a group for each that there is, given in the scenario or not, so that runs compare.

use std::collections::BTreeMap;

use xoff_models::count::{Count, Group, Tally};
use xoff_models::network::{Settings, groups};

/// Sums over all nodes, by part and name.
pub struct Counts {
    /// All that parts declare, zero where nothing was counted.
    pub groups: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    /// The parts that the scenario gives.
    pub parts: Vec<&'static str>,
}

/// Adds to the group of one part.
pub struct Of<'a> {
    counts: &'a mut Counts,
    part: &'static str,
}

impl Counts {
    /// Nothing yet.
    pub fn new(settings: &Settings) -> Self {
        let mut all: BTreeMap<&'static str, BTreeMap<&'static str, u64>> = BTreeMap::new();
        for Group { name, counts, .. } in groups() {
            all.entry(name).or_default().extend(counts.iter().map(|c| (c.name, 0)));
        }
        all.retain(|_, counts| !counts.is_empty());
        Self { groups: all, parts: settings.parts() }
    }

    /// The group of a part.
    pub fn of(&mut self, part: &'static str) -> Of<'_> {
        Of { counts: self, part }
    }
}

impl Tally for Of<'_> {
    fn add(&mut self, count: Count, n: u64) {
        *self.counts.groups.entry(self.part).or_default().entry(count.name).or_default() += n;
    }
}
