//! The queues of slices over NVLink that jobs and serving need.

use std::collections::BTreeMap;

use xoff_units::index;

use crate::job::{Graph, QueueKey};
use crate::nvlink::pipes::Direction;
use crate::nvlink::queues::{Queue, Queues};
use crate::serving::{Connects, Plan, job_of};

/// Adds the queues of a job. Returns for each rank the queues by key, with their numbers at its node.
pub(super) fn add(nvlink: &mut Queues, job: u32, graph: &Graph) -> BTreeMap<u32, Vec<(QueueKey, u32)>> {
    let mut found: BTreeMap<u32, Vec<(QueueKey, u32)>> = BTreeMap::new();
    let (Some(library), Some(servers)) = (&graph.library, nvlink.servers) else { return found };
    let place = |rank: u32| {
        let gpu = library.gpus[index(rank)].1;
        (graph.ranks[index(rank)].node, gpu % servers.gpus_of_host())
    };
    let (queues, slices) = graph.queues();
    nvlink.slices += slices;
    for (from, key) in queues {
        let directions = match key.2 {
            2 => [Direction::Reduce; 2],
            3 => [Direction::Multicast; 2],
            _ => [Direction::Out, Direction::In],
        };
        let queue = Queue { from: place(from), to: place(key.0), directions, of: (job, key.0) };
        found.entry(from).or_default().push((key, nvlink.push(queue)));
    }
    found
}

/// Adds the queues of a serving workload. Returns the queues with the numbers at the sending nodes.
pub(super) fn add_serving(nvlink: &mut Queues, plan: &Plan) -> Vec<(Connects, u32)> {
    let Some(servers) = nvlink.servers else { return Vec::new() };
    let place = |rank: u32| {
        let gpu = plan.gpus[index(rank)].1;
        (plan.nodes[index(rank)], gpu % servers.gpus_of_host())
    };
    let mut found = Vec::new();
    for one in plan.queues() {
        let [from, to] = [place(one.from), place(one.to)];
        let directions = [Direction::Out, Direction::In];
        let queue = Queue { from, to, directions, of: (job_of(plan.number, one.from), one.to) };
        found.push((one, nvlink.push(queue)));
    }
    found
}
