//! Counts of the components of a network, declared next to the counting code.

use serde::Serialize;

/// Unit of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Items, such as frames.
    Number,
    /// Bytes.
    Bytes,
    /// Picoseconds.
    Ps,
}

/// A count. The summary has the sum over all nodes, in the group of the declaring component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Key of the count; a time ends in `_ps`, a volume in `_bytes`.
    pub name: &'static str,
    /// Label for readers.
    pub label: &'static str,
    /// Unit of the number.
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

/// Time of held queues or flows, counted by the node for a mechanism.
pub const PAUSED: Count = Count::time("paused_ps", "paused");

/// Holds of flows that had already ended, counted by the node for a mechanism.
pub const LATE: Count = Count::number("late_holds", "late holds");

/// The counts of one component, such as a mechanism: a group of the summary.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Group {
    /// Name of the component, the key in scenarios.
    pub name: &'static str,
    /// Label for readers.
    pub label: &'static str,
    /// Declared counts.
    pub counts: &'static [Count],
    /// Mechanism of switches that the component needs to act.
    pub listens_to: Option<&'static str>,
}

/// Returns the name of the mechanism that a component listens to.
pub const fn listened(to: Option<(&'static str, &'static str)>) -> Option<&'static str> {
    match to {
        Some((name, _)) => Some(name),
        None => None,
    }
}

/// Receiver of counts.
pub trait Tally {
    /// Adds to a count of the group at hand.
    fn add(&mut self, count: Count, n: u64);
}

impl<F: FnMut(Count, u64)> Tally for F {
    fn add(&mut self, count: Count, n: u64) {
        self(count, n);
    }
}
