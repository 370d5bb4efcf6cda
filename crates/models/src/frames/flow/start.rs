//! The starts of a host's flows: a list, or draws.

use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

use super::drawn::Drawn;
use super::spec::FlowSpec;

/// The source of a host's flows.
#[derive(Debug, Clone)]
pub enum Start {
    /// Flows that have not started, the latest start first: the next flow is the last entry.
    List(Vec<FlowSpec>),
    /// Flows drawn one by one.
    Drawn(Box<dyn Drawn>),
}

impl State for Start {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        match self {
            Self::List(list) => list.walk(walk),
            Self::Drawn(flows) => flows.walk(walk),
        }
    }
}

impl Start {
    /// Makes a list from flows in the order of their starts, the earliest first.
    pub fn list(mut flows: Vec<FlowSpec>) -> Self {
        flows.reverse();
        Self::List(flows)
    }

    /// The start of the next flow.
    pub fn peek(&self) -> Option<Moment> {
        match self {
            Self::List(list) => list.last().map(|f| f.start),
            Self::Drawn(flows) => flows.peek(),
        }
    }

    /// Takes the next flow.
    pub fn take(&mut self) -> Option<FlowSpec> {
        match self {
            Self::List(list) => {
                let next = list.pop();
                if list.len() < list.capacity() / 4 {
                    // A list with less than a quarter of its capacity in use gives memory back.
                    list.shrink_to(2 * list.len());
                }
                next
            }
            Self::Drawn(flows) => flows.take(),
        }
    }
}
