//! Limits at the outputs of a shared buffer: pools, and the bytes of a class at an output.

use xoff_engine::state;

use super::params::{Egress, Shared};
use crate::parts::ids::PortId;

/// The limits of a pool of outputs.
#[derive(Debug, Clone, Copy)]
struct Pool {
    total: i64,
    limit: i64,
    alpha: Option<f64>,
}

impl Pool {
    fn new(pool: &Egress) -> Self {
        let total = pool.total.0 as i64;
        Self { total, limit: pool.limit.map_or(total, |limit| limit.0 as i64), alpha: pool.alpha }
    }
}

/// The pools of outputs of a node.
#[derive(Debug, Clone)]
pub struct Outputs {
    pools: Vec<Pool>,
    /// For each class the index of the pool.
    pool_of: Vec<Option<u8>>,
    /// Bytes in each pool.
    used: Vec<i64>,
    /// Bytes of each output and class.
    at: Vec<i64>,
}

state!(Outputs {
    value: used, at;
    constant: pools, pool_of;
});

impl Outputs {
    /// Returns none for a memory without pools of outputs. `places` is the number of ports times classes.
    pub fn new(memory: &Shared, classes: usize, places: usize) -> Option<Self> {
        (!memory.egress.is_empty()).then(|| Self {
            pools: memory.egress.iter().map(Pool::new).collect(),
            pool_of: (0..classes).map(|class| memory.output_of(class as u8)).collect(),
            used: vec![0; memory.egress.len()],
            at: vec![0; places],
        })
    }

    /// Returns the bytes in a pool.
    #[cfg(test)]
    pub fn used(&self, pool: usize) -> i64 {
        self.used[pool]
    }

    /// True if an output may hold more bytes of a class.
    pub fn has_room(&self, class: usize, out: PortId, bytes: i64) -> bool {
        let Some(pool) = self.pool_of[class].map(usize::from) else { return true };
        let (Pool { total, limit, alpha }, used) = (self.pools[pool], self.used[pool]);
        let queue = self.at[out.index() * self.pool_of.len() + class] + bytes;
        used + bytes <= total
            && queue <= limit
            && alpha.is_none_or(|a| queue as f64 <= a * (total - used) as f64)
    }

    /// Counts bytes at an output; negative bytes leave.
    pub fn count(&mut self, class: usize, out: PortId, bytes: i64) {
        if let Some(pool) = self.pool_of[class] {
            self.used[usize::from(pool)] += bytes;
            self.at[out.index() * self.pool_of.len() + class] += bytes;
        }
    }
}
