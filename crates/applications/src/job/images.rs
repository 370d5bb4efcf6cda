//! The images of ranks, messages and operations of jobs in a folded run.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_models::frames::message::MessageId;
use xoff_models::paths::symmetry::{MessageImages, Symmetry};
use xoff_units::index;

use super::graph::Graph;
use super::operation::{What, Work};
use super::program::{By, Ended};
use super::shape::Shape;

/// The ranks of a job by host: the rank at the image of a host is the image of the rank.
#[derive(Debug)]
pub struct RanksByHost {
    graph: Arc<Graph>,
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

    /// Returns the same message of the same operation of the image of the sender.
    fn message(&self, rename: &dyn Fn(u32) -> u32, id: MessageId) -> MessageId {
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

/// The images of all jobs, in the order of the jobs.
#[derive(Debug)]
pub struct JobImages(pub(super) Vec<RanksByHost>);

impl MessageImages for JobImages {
    fn sender(&self, id: MessageId) -> u32 {
        let job = &self.0[index(id.job)];
        job.graph.ranks[index(job.sending_rank(id).0)].node
    }

    fn message(&self, rename: &dyn Fn(u32) -> u32, id: MessageId) -> MessageId {
        self.0[index(id.job)].message(rename, id)
    }
}

impl JobImages {
    /// Returns the rank of a job at a host.
    pub fn rank_at(&self, job: u32, node: u32) -> Option<u32> {
        self.0[index(job)].rank_at(node)
    }

    /// Returns the image of a finished operation under an element of the group.
    pub fn operation(&self, group: &Symmetry, element: u32, ended: &Ended) -> Ended {
        let job = &self.0[index(ended.job)];
        let own = &job.graph.ranks[index(ended.rank)];
        let rank = job.rank_at(group.image(element, own.node)).unwrap_or(ended.rank);
        let id = |place| {
            let number = own.operation(ended.place).work.number().unwrap_or_default();
            MessageId { job: ended.job, number, place }
        };
        let by =
            ended.by.map(|by| By { message: group.image_of_message(element, id(by.message)).place, ..by });
        let after = group.image_of_condition(element, id(0), ended.after);
        Ended { rank, after, by, ..*ended }
    }
}
