//! Dependencies between workloads: flows that wait for operations of jobs, and operations that wait for flows or for
//! operations of other jobs.
//!
//! All dependencies stay within a host: the awaited operation is of a rank at the host, and the awaited flow ends at the
//! host. An awaited operation has a number above the numbers of flows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{index, number};

use crate::job::Graph;
use crate::message::Post;

/// The place of an operation: job, rank and index.
type Place = (u32, u32, u32);

/// Dependencies between workloads.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    /// Numbers of awaited operations.
    numbers: FxHashMap<Place, u32>,
    /// By job and rank: operations by the number of the awaited flow or operation.
    waits: FxHashMap<(u32, u32), FxHashMap<u32, Vec<u32>>>,
}

impl Dependencies {
    /// Returns the number of the operation `WORKLOAD/NAME` of a rank at a node, from jobs and the names of
    /// workloads; `None` without such an operation.
    pub fn operation(
        &mut self,
        (jobs, names): (&[Arc<Graph>], &[String]),
        node: u32,
        name: &str,
    ) -> Option<u32> {
        let (workload, name) = name.split_once('/')?;
        for (job, graph) in (0..).zip(jobs) {
            if names[index(graph.workload)] != workload {
                continue;
            }
            let Some(known) = graph.names.iter().position(|other| other == name) else { continue };
            for (rank, one) in (0..graph.processors).zip(&graph.ranks).filter(|(_, rank)| rank.node == node) {
                if let Some(place) = one.operations().position(|one| index(one.name) == known) {
                    // The last number stands for NVLink in messages.
                    let next = Post::NVLINK - 1 - number(self.numbers.len());
                    return Some(*self.numbers.entry((job, rank, number(place))).or_insert(next));
                }
            }
        }
        None
    }

    /// Lets an operation of a rank wait for a flow or an operation, by number.
    pub fn wait(&mut self, rank: (u32, u32), number: u32, place: u32) {
        self.waits.entry(rank).or_default().entry(number).or_default().push(place);
    }

    /// Returns the numbers of awaited operations of a rank by index, and the waiting operations by number.
    pub fn of(&mut self, job: u32, rank: u32) -> (FxHashMap<u32, u32>, FxHashMap<u32, Vec<u32>>) {
        let own = self.numbers.iter().filter(|((other, of, _), _)| (*other, *of) == (job, rank));
        let calls = own.map(|((_, _, place), number)| (*place, *number)).collect();
        (calls, self.waits.remove(&(job, rank)).unwrap_or_default())
    }
}

/// Returns a circle of waiting flows, each before the flow that it waits for; the search begins with the
/// first flow.
pub(super) fn circle(waits_for: &HashMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = waits_for.keys().copied().collect();
    order.sort_unstable();
    let mut searched = HashSet::new();
    for start in order {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut on_path = HashMap::new();
        if searched.insert(start) {
            on_path.insert(start, 0);
            path.push((start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let Some(to) = waits_for.get(at).and_then(|w| w.get(*next)).copied() else {
                on_path.remove(at);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = on_path.get(&to) {
                return Some(path[*from..].iter().map(|p| p.0).collect());
            }
            if searched.insert(to) {
                on_path.insert(to, path.len());
                path.push((to, 0));
            }
        }
    }
    None
}
