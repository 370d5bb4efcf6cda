//! What parts of a network count, declared where it is counted.

use serde::Serialize;

/// What a number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things, such as frames.
    Number,
    /// Bytes.
    Bytes,
    /// Picoseconds.
    Ps,
}

/// A count: its sum over all nodes stands in the summary, in the group of the part that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Its key; a time ends in `_ps`, a volume in `_bytes`.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// What the number is of.
    pub unit: Unit,
}

impl Count {
    /// A number of things.
    pub const fn number(name: &'static str, label: &'static str) -> Self {
        Self { name, label, unit: Unit::Number }
    }

    /// A volume.
    pub const fn bytes(name: &'static str, label: &'static str) -> Self {
        Self { name, label, unit: Unit::Bytes }
    }

    /// A time.
    pub const fn time(name: &'static str, label: &'static str) -> Self {
        Self { name, label, unit: Unit::Ps }
    }
}

/// The time during which it held queues, or flows: what the node counts for a mechanism.
pub const PAUSED: Count = Count::time("paused_ps", "paused");

/// Holds of flows that were over: what the node counts for a mechanism.
pub const LATE: Count = Count::number("late_holds", "late holds");

/// The counts of one part, such as a mechanism: a group of the summary.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Group {
    /// The part's name, which is its key in scenarios.
    pub name: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// What it counts.
    pub counts: &'static [Count],
    /// The mechanism of switches that the part needs to act.
    pub listens_to: Option<&'static str>,
}

/// Returns the name of the mechanism that a part listens to.
pub const fn listened(to: Option<(&'static str, &'static str)>) -> Option<&'static str> {
    match to {
        Some((name, _)) => Some(name),
        None => None,
    }
}

/// Takes what parts counted.
pub trait Tally {
    /// Adds to a count of the group at hand.
    fn add(&mut self, count: Count, n: u64);
}

impl<F: FnMut(Count, u64)> Tally for F {
    fn add(&mut self, count: Count, n: u64) {
        self(count, n);
    }
}
