//! Distinct paths of flows.

use std::collections::HashMap;
use std::sync::Arc;
use xoff_units::{index, number};

/// Distinct paths of flows, as lists of nodes.
#[derive(Default)]
pub struct Ways {
    pub(super) known: HashMap<Vec<u32>, u32>,
    pub(super) names: Arc<Vec<String>>,
}

impl Ways {
    /// Returns the index of a path, and adds a new path.
    pub fn place(&mut self, nodes: Vec<u32>, names: &[String]) -> u32 {
        *self.known.entry(nodes).or_insert_with_key(|nodes| {
            let words: Vec<&str> = nodes.iter().map(|n| names[index(*n)].as_str()).collect();
            Arc::make_mut(&mut self.names).push(words.join(", "));
            number(self.names.len()) - 1
        })
    }
}
