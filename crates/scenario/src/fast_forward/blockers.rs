//! Blockers: the reasons against repetition, for the summary of a run.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use xoff_engine::state::Snapshot;
use xoff_units::wide;

/// Failed probes, and changes of flows, from which on blockers are reported. No result depends on either.
const BLOCKED: u64 = 32;
const CHANGED: u64 = 12;

/// Reasons against repetition.
#[derive(Default)]
pub struct Blockers {
    /// Changes of flows since the last repetition.
    pub changes: u64,
    /// Probes of the current flows, and the different digests of each component.
    pub probes: u64,
    digests: BTreeMap<&'static str, FxHashSet<u64>>,
}

impl Blockers {
    /// Counts a probe without recurrence.
    pub fn count(&mut self, snapshot: &Snapshot) {
        self.probes += 1;
        for (name, digest) in &snapshot.parts {
            self.digests.entry(name).or_default().insert(*digest);
        }
    }

    /// Starts with other flows.
    pub fn clear(&mut self) {
        (self.probes, self.digests) = (0, BTreeMap::new());
    }

    /// Reports components that never recurred, `traffic` for queues and packets in flight, or `flows` for
    /// frequent changes.
    pub fn report(&self, is_done: bool, to: &mut (u64, Vec<&'static str>)) {
        if self.changes >= CHANGED && self.changes > to.0 {
            *to = (self.changes, vec!["flows"]);
        }
        if is_done || self.probes < BLOCKED || self.probes <= to.0 {
            return;
        }
        let never = self
            .digests
            .iter()
            .filter(|(_, digests)| wide(digests.len()) == self.probes)
            .map(|(name, _)| *name);
        let (named, rest): (Vec<_>, Vec<_>) = never.partition(|name| !name.is_empty());
        *to = (self.probes, if named.is_empty() && !rest.is_empty() { vec!["traffic"] } else { named });
    }
}
