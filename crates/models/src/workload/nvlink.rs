//! The queues of slices over NVLink that jobs need.

use std::collections::{BTreeMap, HashMap};

use xoff_units::index;

use crate::endpoint::nvlink::Direction;
use crate::job::{Graph, QueueKey};
use crate::serving::{Connects, Plan, job_of};
use crate::topology::Servers;

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

/// NVLink of all servers.
#[derive(Debug, Clone, Default)]
pub struct NvLinkPlan {
    /// Queues, in the order of their numbers at each node.
    pub queues: Vec<Queue>,
    /// Slices of jobs.
    pub slices: u64,
    /// The servers, if a job has a library.
    pub servers: Option<Servers>,
    /// The number of queues that leave each node.
    counts: HashMap<u32, u32>,
}

impl NvLinkPlan {
    /// Returns NVLink of servers without queues.
    pub(super) fn new(servers: Option<Servers>) -> Self {
        Self { servers, ..Self::default() }
    }

    /// Adds the queues of a job. Returns for each rank the queues by key, with their numbers at its node.
    pub(super) fn add(&mut self, job: u32, graph: &Graph) -> BTreeMap<u32, Vec<(QueueKey, u32)>> {
        let mut found: BTreeMap<u32, Vec<(QueueKey, u32)>> = BTreeMap::new();
        let (Some(library), Some(servers)) = (&graph.library, self.servers) else { return found };
        let place = |rank: u32| {
            let gpu = library.gpus[index(rank)].1;
            (graph.ranks[index(rank)].node, gpu % servers.gpus_of_host())
        };
        let (queues, slices) = graph.queues();
        self.slices += slices;
        for (from, key) in queues {
            let directions = match key.2 {
                2 => [Direction::Reduce; 2],
                3 => [Direction::Multicast; 2],
                _ => [Direction::Out, Direction::In],
            };
            let queue = Queue { from: place(from), to: place(key.0), directions, of: (job, key.0) };
            found.entry(from).or_default().push((key, self.push(queue)));
        }
        found
    }

    /// Adds the queues of a serving workload. Returns the queues with the numbers at the sending nodes.
    pub(super) fn add_serving(&mut self, plan: &Plan) -> Vec<(Connects, u32)> {
        let Some(servers) = self.servers else { return Vec::new() };
        let place = |rank: u32| {
            let gpu = plan.gpus[index(rank)].1;
            (plan.nodes[index(rank)], gpu % servers.gpus_of_host())
        };
        let mut found = Vec::new();
        for one in plan.queues() {
            let [from, to] = [place(one.from), place(one.to)];
            let directions = [Direction::Out, Direction::In];
            let queue = Queue { from, to, directions, of: (job_of(plan.number, one.from), one.to) };
            found.push((one, self.push(queue)));
        }
        found
    }

    /// Adds a queue. Returns the number at the sending node.
    fn push(&mut self, queue: Queue) -> u32 {
        self.queues.push(queue);
        let count = self.counts.entry(queue.from.0).or_default();
        *count += 1;
        *count - 1
    }
}
