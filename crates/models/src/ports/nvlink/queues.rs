//! The queues of slices over NVLink that applications need.

use std::collections::HashMap;

use xoff_units::Rate;

use super::pipes::Direction;
use crate::paths::topology::Servers;

/// A queue of slices from a GPU to a GPU.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// Node and GPU at the node where slices leave.
    pub from: (u32, u32),
    /// Node and GPU at the node where slices enter.
    pub to: (u32, u32),
    /// The pipes that slices leave and enter.
    pub directions: [Direction; 2],
    /// The job and the rank of the receiving GPU.
    pub of: (u32, u32),
}

/// The queues of all servers.
#[derive(Debug, Clone, Default)]
pub struct Queues {
    /// Queues, in the order of their numbers at each node.
    pub queues: Vec<Queue>,
    /// Slices of applications.
    pub slices: u64,
    /// The servers, if an application has a library.
    pub servers: Option<Servers>,
    /// The rate at which a GPU reduces and multicasts in the NVSwitch, which an application sets that does so.
    pub in_switch: Rate,
    /// The number of queues that leave each node.
    counts: HashMap<u32, u32>,
}

impl Queues {
    /// Returns NVLink of servers without queues.
    pub fn new(servers: Option<Servers>) -> Self {
        let in_switch = servers.map_or(Rate::default(), |servers| servers.nvlink);
        Self { servers, in_switch, ..Self::default() }
    }

    /// Adds a queue. Returns the number at the sending node.
    pub fn push(&mut self, queue: Queue) -> u32 {
        self.queues.push(queue);
        let count = self.counts.entry(queue.from.0).or_default();
        *count += 1;
        *count - 1
    }
}
