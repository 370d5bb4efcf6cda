//! The program of a rank: operations with their order.
//!
//! A rank has a listing of its own, or all ranks of a job share one listing (`pattern.rs`).

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{index, number};

use super::operation::Operation;
use super::pattern::Pattern;
use super::shape::Lists;

/// Operations in order, with their dependencies.
#[derive(Debug)]
pub(super) struct Listing {
    operations: Vec<Operation>,
    /// Number of dependencies of each operation.
    needs: Vec<u32>,
    /// Successors of each operation.
    then: Lists,
}

impl Listing {
    /// Returns a listing, from pairs of an operation and its successor. `needs` also counts dependencies on
    /// other workloads.
    pub fn new(operations: Vec<Operation>, needs: Vec<u32>, pairs: &[(u32, u32)]) -> Self {
        let then = Lists::new(operations.len(), pairs.iter().copied());
        Self { operations, needs, then }
    }

    /// Returns the indices of shared operations, by number.
    pub fn places(&self) -> FxHashMap<u32, u32> {
        (0..).zip(&self.operations).filter_map(|(place, o)| Some((o.work.number()?, place))).collect()
    }
}

/// How a rank knows the shared operations of its listing.
#[derive(Debug)]
pub(super) enum Numbers {
    /// Indices of shared operations, by number. The listing has the numbers.
    Listed(FxHashMap<u32, u32>),
    /// The pattern and the rank give the numbers.
    Pattern(Arc<Pattern>, u32),
}

/// Program of a rank.
#[derive(Debug)]
pub struct Rank {
    /// Host of the rank.
    pub node: u32,
    listing: Arc<Listing>,
    numbers: Numbers,
}

impl Rank {
    pub(super) const fn new(node: u32, listing: Arc<Listing>, numbers: Numbers) -> Self {
        Self { node, listing, numbers }
    }

    /// Returns the number of operations.
    pub fn count(&self) -> u32 {
        number(self.listing.operations.len())
    }

    /// Returns an operation.
    pub fn operation(&self, place: u32) -> Operation {
        let operation = self.listing.operations[index(place)];
        match &self.numbers {
            Numbers::Listed(_) => operation,
            Numbers::Pattern(pattern, rank) => pattern.at(*rank, operation),
        }
    }

    /// Returns the operations in order.
    pub fn operations(&self) -> impl Iterator<Item = Operation> {
        (0..self.count()).map(|place| self.operation(place))
    }

    /// Returns the number of dependencies of each operation.
    pub fn needs(&self) -> &[u32] {
        &self.listing.needs
    }

    /// Returns the successors of an operation.
    pub fn then(&self, place: u32) -> &[u32] {
        self.listing.then.of(place)
    }

    /// Returns the index of a shared operation by number.
    pub fn place_of(&self, number: u32) -> Option<u32> {
        match &self.numbers {
            Numbers::Listed(places) => places.get(&number).copied(),
            Numbers::Pattern(pattern, rank) => pattern.place_of(*rank, number),
        }
    }

    /// Returns an operation on a cycle of dependencies, if any.
    pub fn circle(&self) -> Option<u32> {
        let all = 0..self.count();
        let mut missing = vec![0_u32; all.len()];
        all.clone().flat_map(|place| self.then(place)).for_each(|next| missing[index(*next)] += 1);
        let mut ready: Vec<u32> =
            (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(place, _)| place).collect();
        while let Some(place) = ready.pop() {
            for next in self.then(place) {
                missing[index(*next)] -= 1;
                if missing[index(*next)] == 0 {
                    ready.push(*next);
                }
            }
        }
        // An operation behind a cycle is not on the cycle. Following missing dependencies backward leads to
        // the cycle.
        let mut before = vec![None; missing.len()];
        for place in all.filter(|place| missing[index(*place)] > 0) {
            for next in self.then(place) {
                before[index(*next)] = Some(place);
            }
        }
        let mut at = (0..).zip(&missing).find(|(_, missing)| **missing > 0)?.0;
        for _ in 0..missing.len() {
            at = before[index(at)].unwrap_or(at);
        }
        Some(at)
    }
}
