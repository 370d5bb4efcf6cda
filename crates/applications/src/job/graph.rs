//! The graph of a job: the operations of each rank, and their dependencies.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{Duration, Moment, index, number};

use super::operation::{Shared, What};
use super::pattern::Pattern;
use super::piece::{Costs, Way};
use super::rank::Rank;
use super::shape::Shape;

/// Ranks of a collective, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Ranks of the group.
    pub ranks: Vec<u32>,
    /// Reducer of the group, by its index after the ranks of the job.
    pub reducer: Option<u32>,
}

impl Group {
    /// Returns the rank at an index of a collective; the index after the ranks is the reducer.
    pub fn at(&self, place: u32) -> u32 {
        self.ranks.get(index(place)).copied().or(self.reducer).unwrap_or_default()
    }
}

/// Computation of a job, for the utilisation of its processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flops {
    /// FLOP of one iteration over all ranks.
    pub iteration: f64,
    /// Peak FLOP/s of a rank.
    pub peak: f64,
}

/// A job on servers of GPUs, as far as messages between two ranks are concerned.
#[derive(Debug, Clone)]
pub struct OnServers {
    /// The costs of a message between two ranks outside of collectives.
    pub costs: Costs,
    /// For each rank: its server, and its GPU among those of the server.
    pub gpus: Vec<(u32, u32)>,
}

/// Data common to the ranks of a job; constant.
#[derive(Debug)]
pub struct Graph {
    /// Workload of the job.
    pub workload: u32,
    /// Start of the job.
    pub start: Moment,
    /// Ranks, followed by their reducers in switches.
    pub ranks: Vec<Rank>,
    /// Number of ranks without reducers.
    pub processors: u32,
    /// Groups of ranks.
    pub groups: Vec<Group>,
    /// Shapes of the collectives.
    pub shapes: Vec<Shape>,
    /// Names of operations.
    pub names: Vec<String>,
    /// Labels of messages.
    pub labels: Vec<String>,
    /// Iterations.
    pub iterations: u16,
    /// Computation, if known.
    pub flops: Option<Flops>,
    /// The servers of the ranks, for a job with NCCL; `None` for textbook algorithms.
    pub library: Option<OnServers>,
    /// Operations that wait for flows or for operations of other workloads.
    pub outside: Vec<Outside>,
    pub(super) lines: Lines,
    /// The program of all ranks, if the ranks share their program.
    pub(super) pattern: Option<Arc<Pattern>>,
    /// Shared operations by number, unless the ranks share their program.
    pub(super) listed: Vec<Shared>,
    /// By number: the series and the index in the series; and the numbers of each series.
    pub(super) strides: Vec<(u32, u32)>,
    pub(super) series: Vec<Vec<u32>>,
}

/// An operation that waits for a flow, or for an operation of another workload at the same host.
#[derive(Debug, Clone)]
pub struct Outside {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub place: u32,
    /// `WORKLOAD/NAME` of the flow or operation.
    pub name: String,
    /// The problem with its key, if nothing has this name.
    pub unknown: (String, String),
}

impl Graph {
    /// Returns the shared operation with a number.
    pub fn shared(&self, number: u32) -> Shared {
        match &self.pattern {
            Some(pattern) => pattern.shared(number),
            None => self.listed[index(number)],
        }
    }

    /// Returns the number of shared operations.
    pub fn count_shared(&self) -> u32 {
        self.pattern.as_ref().map_or(number(self.listed.len()), |pattern| pattern.count())
    }

    /// Returns a host with ranks of both jobs.
    pub fn first_shared_host(&self, other: &Self) -> Option<u32> {
        let hosts = |graph: &Self| -> Vec<u32> {
            graph.ranks[..index(graph.processors)].iter().map(|rank| rank.node).collect()
        };
        let known: BTreeSet<u32> = hosts(other).into_iter().collect();
        hosts(self).into_iter().find(|host| known.contains(host))
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.ranks[..index(self.processors)].iter().map(|rank| u64::from(rank.count())).sum()
    }

    /// Returns the costs of the library for a shared operation.
    pub fn costs(&self, number: u32) -> Option<Costs> {
        match self.shared(number).what {
            What::Message { .. } => self.library.as_ref().map(|library| library.costs),
            What::Collective { shape, .. } => self.shapes[index(shape)].costs,
        }
    }

    /// Returns the time from the beginning of a shared operation at a rank to the first messages.
    pub fn launch(&self, number: u32) -> Duration {
        let library = self.costs(number).map_or(Duration::ZERO, |costs| costs.launch);
        match self.shared(number).what {
            What::Message { .. } => library,
            What::Collective { shape, .. } => library + self.shapes[index(shape)].of.overhead,
        }
    }

    /// Returns the way of a message between two ranks outside of collectives.
    pub fn way(&self, from: u32, to: u32) -> Way {
        let server = |library: &OnServers, rank: u32| library.gpus[index(rank)].0;
        match &self.library {
            Some(library) if server(library, from) == server(library, to) => Way::NvLink,
            _ => Way::Nic(from),
        }
    }

    /// Returns the connection of a message between its ranks, from the number of the shared operation and the
    /// index of the message. Each group has connections of its own, as communicators of NCCL have, and so do
    /// messages between two ranks, and messages of a class.
    pub fn line(&self, group: Option<u32>, channel: u16, number: u32, place: u32) -> u64 {
        let class = self.shared(number).class.map_or(0, |class| u64::from(class) + 1);
        let line = match self.lines {
            Lines::Shared(spread) => {
                let (spread, turn) = (u64::from(spread), u64::from(number) + u64::from(place));
                u64::from(channel) * spread + turn % spread
            }
            Lines::Own => u64::from(number) << 32 | u64::from(place),
        };
        class << CLASS | group.map_or(0, |group| self.lines_before(group)) | line
    }

    /// Returns the first line of a group, among lines of a class.
    pub(super) fn lines_before(&self, group: u32) -> u64 {
        match self.lines {
            Lines::Shared(_) => (u64::from(group) + 1) << 32,
            Lines::Own => 0,
        }
    }

    /// Returns the group of a line; `None` for messages outside of groups.
    pub(super) fn group_of_line(&self, line: u64) -> Option<u32> {
        let of_group = match self.lines {
            Lines::Shared(_) => (line & ((1 << CLASS) - 1)) >> 32,
            Lines::Own => 0,
        };
        (of_group as u32).checked_sub(1)
    }

    /// True if a message of a collective takes the connection of the message `by` places before.
    pub const fn stays_on_line(&self, by: u32) -> bool {
        match self.lines {
            Lines::Shared(spread) => by.is_multiple_of(spread as u32),
            Lines::Own => false,
        }
    }

    /// True if messages of two shared operations take the same connections.
    pub(super) fn are_on_one_line(&self, a: u32, b: u32) -> bool {
        let class = |number: u32| self.shared(number).class;
        match self.lines {
            Lines::Shared(spread) => a % u32::from(spread) == b % u32::from(spread) && class(a) == class(b),
            Lines::Own => false,
        }
    }

    /// Sorts shared operations into series: collectives of a group, and messages of a channel from one rank
    /// to another, of one class each.
    pub(super) fn arrange(&mut self) {
        let mut known: FxHashMap<(u32, u32, u16, Option<u8>), u32> = FxHashMap::default();
        for (number_of, shared) in (0..).zip(&self.listed) {
            let key = match shared.what {
                What::Message { from, to, channel, .. } => (from, to, channel, shared.class),
                What::Collective { group, .. } => (u32::MAX, group, 0, shared.class),
            };
            let series = *known.entry(key).or_insert(number(self.series.len()));
            if index(series) == self.series.len() {
                self.series.push(Vec::new());
            }
            self.strides.push((series, number(self.series[index(series)].len())));
            self.series[index(series)].push(number_of);
        }
    }
}

/// The first bit of the class, plus one, in the number of a connection.
pub(super) const CLASS: u32 = 60;

/// Connections between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// This many for each channel; messages take turns.
    Shared(u16),
    /// One connection for each message.
    Own,
}
