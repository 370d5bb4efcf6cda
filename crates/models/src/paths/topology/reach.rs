//! Distances from reducers to ranks.

use xoff_units::index;

use crate::parts::param_error::ParamError;

/// A reducer and its distances to ranks.
#[derive(Debug)]
pub struct Reach {
    /// The node of the reducer.
    pub node: u32,
    /// Links to each rank; `u32::MAX` without a path.
    pub links: Vec<u32>,
}

impl Reach {
    /// Returns the reducer closest to its farthest rank, then by the sum of distances, then by order.
    pub fn closest<'a>(all: impl Iterator<Item = &'a Self>, ranks: &[u32]) -> Option<usize> {
        let far = |reach: &Self| {
            let links = || ranks.iter().map(|rank| reach.links[index(*rank)]);
            (links().max().unwrap_or(u32::MAX), links().map(u64::from).sum::<u64>())
        };
        let reached = all.map(far).enumerate().filter(|(_, far)| far.0 != u32::MAX);
        reached.min_by_key(|(place, far)| (*far, *place)).map(|(place, _)| place)
    }

    /// The problem of ranks without a reachable reducer.
    pub fn none() -> ParamError {
        let why = "no reducer can be reached by all ranks; add switches to network.reducers, or use another algorithm";
        ("algorithm", why.into())
    }
}
