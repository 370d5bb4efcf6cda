//! Images of messages and operations of a job.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::index;

use crate::job::{Graph, Shape, What, Work};
use crate::message::MessageId;

/// The ranks of a job by host: the rank at the image of a host is the image of the rank.
#[derive(Debug)]
pub struct RanksByHost {
    pub(super) graph: Arc<Graph>,
    ranks: FxHashMap<u32, u32>,
}

impl RanksByHost {
    /// Returns the ranks of a job.
    pub fn new(job: &Arc<Graph>) -> Self {
        Self { graph: job.clone(), ranks: job.ranks.iter().map(|rank| rank.node).zip(0..).collect() }
    }

    /// Returns the number of hosts with a rank.
    pub fn count(&self) -> usize {
        self.ranks.len()
    }

    /// Returns the rank at a host.
    pub fn rank_at(&self, node: u32) -> Option<u32> {
        self.ranks.get(&node).copied()
    }

    /// Returns the host of the sender of a message.
    pub fn sender(&self, id: MessageId) -> u32 {
        self.graph.ranks[index(self.sending_rank(id).0)].node
    }

    /// Returns the rank that sends a message, and the shape of a collective.
    fn sending_rank(&self, id: MessageId) -> (u32, Option<&Shape>) {
        match self.graph.shared(id.number).what {
            What::Message { from, .. } => (from, None),
            What::Collective { shape, group } => {
                let shape = &self.graph.shapes[index(shape)];
                (self.graph.groups[index(group)].at(shape.piece(id.place).from), Some(shape))
            }
        }
    }

    /// Returns the image of a message, for a renaming of nodes: the same message of the same operation of the image of
    /// the sender.
    pub fn message(&self, rename: &dyn Fn(u32) -> u32, id: MessageId) -> MessageId {
        let job = &self.graph;
        let found = || {
            let (from, shape) = self.sending_rank(id);
            let own = &job.ranks[index(from)];
            let other = &job.ranks[index(self.rank_at(rename(own.node))?)];
            let work = own.place_of(id.number).map(|at| other.operation(at).work)?;
            let number = work.number()?;
            let place = match (shape, work, job.shared(number).what) {
                (Some(shape), Work::Collective { place, .. }, What::Collective { shape: image, .. }) => {
                    let first = shape.sends(shape.piece(id.place).from).start;
                    job.shapes[index(image)].sends(place).start + (id.place - first)
                }
                _ => id.place,
            };
            Some(MessageId { job: id.job, number, place })
        };
        found().unwrap_or(id)
    }
}
