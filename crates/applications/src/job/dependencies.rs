//! Dependencies between workloads: flows that wait for operations of jobs, and operations that wait for flows or for
//! operations of other jobs.
//!
//! All dependencies stay within a host: the awaited operation is of a rank at the host, and the awaited flow ends at the
//! host. An awaited operation has a number above the numbers of flows.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{index, number};

use super::graph::Graph;

/// The place of an operation: job, rank and index.
type Place = (u32, u32, u32);

/// Dependencies between workloads.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependencies {
    /// Numbers of awaited operations.
    numbers: FxHashMap<Place, u32>,
    /// By job and rank: operations by the number of the awaited flow or operation.
    waits: FxHashMap<(u32, u32), FxHashMap<u32, Vec<u32>>>,
}

impl Dependencies {
    /// Returns the number of the operation `WORKLOAD/NAME` of a rank at a node, from jobs and the names of
    /// workloads; `None` without such an operation. An operation without a number gets the number `next`.
    pub fn operation(
        &mut self,
        (jobs, names): (&[Arc<Graph>], &[String]),
        node: u32,
        name: &str,
        next: u32,
    ) -> Option<u32> {
        let (workload, name) = name.split_once('/')?;
        for (job, graph) in (0..).zip(jobs) {
            if names[index(graph.workload)] != workload {
                continue;
            }
            let Some(known) = graph.names.iter().position(|other| other == name) else { continue };
            for (rank, one) in (0..graph.processors).zip(&graph.ranks).filter(|(_, rank)| rank.node == node) {
                if let Some(place) = one.operations().position(|one| index(one.name) == known) {
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
