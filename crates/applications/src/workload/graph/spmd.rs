//! Collectives of a program of every rank (SPMD: single program, multiple data).
//!
//! An operation without a rank is one of every rank, and its group is a family: groups that divide the ranks.
//! Each group of the family runs the collective. Example: with `families.TP = { stride = 1, count = 2 }` on
//! 9,216 ranks, an all-reduce of TP is 4,608 all-reduces of two ranks. Invariant: the job is that of the same
//! operations listed rank by rank, with the groups of a family named in the order of their first ranks.

use std::collections::BTreeMap;

use xoff_models::traffic::workload::Problem;

use super::params::{Family, Params, Row};
use super::reading::Reading;
use crate::job::{Shared, What};

/// The names and ranks of groups.
type Groups = Vec<(String, Vec<u64>)>;

impl Params {
    /// Returns the groups by name, and those of families by the name of the family.
    pub(super) fn all_groups(&self, ranks: u64) -> BTreeMap<&str, Groups> {
        let listed = |(name, ranks): (&String, &Vec<u64>)| vec![(name.clone(), ranks.clone())];
        let listed = self.groups.iter().map(|group| (group.0.as_str(), listed(group)));
        let of_family = |(name, family): (&String, &Family)| {
            let groups: Vec<Vec<u64>> = family.groups(ranks).collect();
            // Names of one length have the order of their numbers.
            let digits = (groups.len() - 1).to_string().len();
            let named = |(at, ranks)| (format!("{name}{at:0digits$}"), ranks);
            groups.into_iter().enumerate().map(named).collect::<Groups>()
        };
        let families = self.families.iter().map(|family| (family.0.as_str(), of_family(family)));
        listed.chain(families).collect()
    }
}

impl Reading<'_> {
    /// Lets each group of a family run the collectives of the program.
    pub fn repeat_collectives(&mut self) -> Result<(), Problem> {
        // Of each family the rows, in order.
        let mut rows: BTreeMap<&str, Vec<(usize, &Row)>> = BTreeMap::new();
        for (row, one) in self.rows() {
            let Some(name) = one.group.as_deref().filter(|_| one.kind.collective().is_some()) else {
                continue;
            };
            if !self.groups.contains_key(name) {
                let known = self.params.groups.keys().chain(self.params.families.keys());
                let known: Vec<&str> = known.map(String::as_str).collect();
                let why = format!("unknown family `{name}`; families and groups are {}", known.join(", "));
                return self.wrong(row, "group", why);
            }
            if let Some(ranks) = self.params.groups.get(name)
                && ranks.len() < self.builder.ranks() as usize
            {
                let why = format!(
                    "every rank runs this operation, and the group `{name}` lacks ranks; give a family that \
                     divides the ranks, or give each operation its rank"
                );
                return self.wrong(row, "group", why);
            }
            rows.entry(name).or_default().push((row, one));
        }
        for (name, rows) in rows {
            let groups = self.groups[name].clone();
            let first = groups.start;
            let family = self.builder.family(groups).map_err(|why| self.refused(rows[0].0, why))?;
            for (row, one) in rows {
                let Some(collective) = self.collective(one) else { continue };
                self.check_size(row, &collective)?;
                let (operation, label) = (self.name(row), one.label.as_deref().unwrap_or(name));
                let shared = Shared {
                    what: What::Collective { shape: 0, group: first },
                    label: self.builder.label(label),
                    iteration: one.iteration as u16,
                    name: operation,
                    class: one.class,
                };
                let place = (self.place_of[row], family);
                self.builder.repeat(place, &collective, shared).map_err(|why| self.refused(row, why))?;
            }
        }
        Ok(())
    }
}
