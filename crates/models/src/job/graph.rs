//! The graph of a job: the operations of each rank, and their dependencies.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use xoff_units::{Duration, Moment, index, number, wide};

use super::collective::{Algorithm, Collective};
use super::handover::QueueKey;
use super::nccl::{Communicators, Team};
use super::piece::{Costs, Way};
use super::shape::{Lists, Shape};
use crate::framing::Framing;
use crate::param_error::ParamError;
use crate::topology::Reach;

/// Work of an operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Computes for this time.
    Compute(Duration),
    /// Sends a message; ends when the last packet starts.
    Send(u32),
    /// Ends at the arrival of the message.
    Receive(u32),
    /// Takes part in a collective; ends when all messages to this rank have arrived and the last packet of
    /// all messages from this rank has started.
    Collective {
        /// The collective's number.
        number: u32,
        /// Index of this rank among the participants.
        place: u32,
    },
}

impl Work {
    /// Returns the number of the operation shared with other ranks.
    pub const fn number(&self) -> Option<u32> {
        match self {
            Self::Compute(_) => None,
            Self::Send(number) | Self::Receive(number) | Self::Collective { number, .. } => Some(*number),
        }
    }
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Work of the operation.
    pub work: Work,
    /// Index of the name in the names of the graph.
    pub name: u32,
    /// Iteration of the operation.
    pub iteration: u16,
    /// Unit of the rank, from 1. One operation of a unit runs at a time; 0 is no unit.
    pub unit: u16,
}

/// An operation shared by several ranks, by its common number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Kind of the shared operation.
    pub what: What,
    /// Index of the label in the labels of the graph.
    pub label: u16,
    /// Iteration of the operation.
    pub iteration: u16,
    /// Index of the name in the names of the graph.
    pub name: u32,
    /// Priority class of the packets; `None` for the class of the workload.
    pub class: Option<u8>,
}

/// A message from rank to rank, or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A message from one rank to another.
    Message {
        /// The sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// By which of several connections between the two.
        channel: u16,
        /// Payload.
        bytes: u64,
    },
    /// All ranks of a group take part.
    Collective {
        /// Index of the shape in the graph.
        shape: u32,
        /// Index of the group in the graph.
        group: u32,
    },
}

/// Program of a rank.
#[derive(Debug)]
pub struct Rank {
    /// Host of the rank.
    pub node: u32,
    operations: Vec<Operation>,
    /// Number of dependencies of each operation.
    needs: Vec<u32>,
    /// Successors of each operation.
    then: Lists,
    /// Indices of shared operations, by number.
    place_of: FxHashMap<u32, u32>,
}

impl Rank {
    /// Returns the operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Returns the number of dependencies of each operation.
    pub fn needs(&self) -> &[u32] {
        &self.needs
    }

    /// Returns the successors of an operation.
    pub fn then(&self, place: u32) -> &[u32] {
        self.then.of(place)
    }

    /// Returns the index of a shared operation by number.
    pub fn place_of(&self, number: u32) -> Option<u32> {
        self.place_of.get(&number).copied()
    }

    /// Returns an operation on a cycle of dependencies, if any.
    pub fn circle(&self) -> Option<u32> {
        let mut missing = self.needs.clone();
        let mut ready: Vec<u32> =
            (0..).zip(&missing).filter(|(_, needs)| **needs == 0).map(|(place, _)| place).collect();
        while let Some(place) = ready.pop() {
            for next in self.then(place) {
                missing[index(*next)] -= 1;
                if missing[index(*next)] == 0 {
                    ready.push(*next);
                }
            }
        }
        // An operation behind a cycle is not on the cycle. Following missing dependencies backward leads to
        // the cycle.
        let mut before = vec![None; missing.len()];
        for place in (0..number(missing.len())).filter(|place| missing[index(*place)] > 0) {
            for next in self.then(place) {
                before[index(*next)] = Some(place);
            }
        }
        let mut at = (0..).zip(&missing).find(|(_, missing)| **missing > 0)?.0;
        for _ in 0..missing.len() {
            at = before[index(at)].unwrap_or(at);
        }
        Some(at)
    }
}

/// A connection between two ranks, with its total traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Number among several connections between the ranks.
    pub line: u64,
    /// Messages.
    pub messages: u32,
    /// Payload of the messages.
    pub bytes: u64,
    /// Packets of the messages.
    pub packets: u64,
    /// Priority class of the packets; `None` for the class of the workload.
    pub class: Option<u8>,
}

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
    /// Shared operations by number.
    pub shared: Vec<Shared>,
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
    lines: Lines,
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
    /// Lets operations wait for flows and operations of other workloads.
    pub fn wait_outside(&mut self, outside: Vec<Outside>) {
        for one in &outside {
            self.ranks[index(one.rank)].needs[index(one.place)] += 1;
        }
        self.outside = outside;
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
        self.ranks[..index(self.processors)].iter().map(|rank| wide(rank.operations().len())).sum()
    }

    /// Returns the costs of the library for a shared operation.
    pub fn costs(&self, number: u32) -> Option<Costs> {
        match self.shared[index(number)].what {
            What::Message { .. } => self.library.as_ref().map(|library| library.costs),
            What::Collective { shape, .. } => self.shapes[index(shape)].costs,
        }
    }

    /// Returns the time from the beginning of a shared operation at a rank to the first messages.
    pub fn launch(&self, number: u32) -> Duration {
        let library = self.costs(number).map_or(Duration::ZERO, |costs| costs.launch);
        match self.shared[index(number)].what {
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
        let class = self.shared[index(number)].class.map_or(0, |class| u64::from(class) + 1);
        let line = match self.lines {
            Lines::Shared(spread) => {
                let of = match group {
                    Some(group) => u64::from(group) + 1,
                    None => 0,
                };
                let (spread, turn) = (u64::from(spread), u64::from(number) + u64::from(place));
                of << 32 | (u64::from(channel) * spread + turn % spread)
            }
            Lines::Own => u64::from(number) << 32 | u64::from(place),
        };
        class << CLASS | line
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
        let class = |number: u32| self.shared[index(number)].class;
        match self.lines {
            Lines::Shared(spread) => a % u32::from(spread) == b % u32::from(spread) && class(a) == class(b),
            Lines::Own => false,
        }
    }

    /// Sorts shared operations into series: collectives of a group, and messages of a channel from one rank
    /// to another, of one class each.
    fn arrange(&mut self) {
        let mut known: FxHashMap<(u32, u32, u16, Option<u8>), u32> = FxHashMap::default();
        for (number_of, shared) in (0..).zip(&self.shared) {
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

    /// Calls back with each message that differs in its ranks, line, way or bytes, and with the number of such
    /// messages: sender, receiver, line, way by the ranks of the job, bytes, number.
    fn each_message(&self, found: &mut dyn FnMut(u32, u32, u64, Way, u64, u64)) {
        // Collectives whose messages take the same connections: the first number, and how many.
        let mut collectives: BTreeMap<(u32, u32, u64), (u32, u64)> = BTreeMap::new();
        for (number, one) in (0..).zip(&self.shared) {
            match one.what {
                What::Message { from, to, channel, bytes } => {
                    let line = self.line(None, channel, number, 0);
                    found(from, to, line, self.way(from, to), bytes, 1);
                }
                What::Collective { shape, group } => {
                    let line = self.line(Some(group), 0, number, 0);
                    collectives.entry((shape, group, line)).or_insert((number, 0)).1 += 1;
                }
            }
        }
        for ((shape, group, ..), (number, times)) in collectives {
            let members = &self.groups[index(group)];
            for (place, piece) in (0..).zip(self.shapes[index(shape)].pieces()) {
                let line = self.line(Some(group), piece.channel, number, place);
                let way = match piece.way {
                    Way::Nic(via) => Way::Nic(members.at(via)),
                    way => way,
                };
                found(members.at(piece.from), members.at(piece.to), line, way, piece.bytes, times);
            }
        }
    }

    /// Returns the needed connections, by the rank of the sending NIC, receiving rank and line.
    pub fn connections(&self, framing: &Framing) -> Vec<Connection> {
        let mut found: Vec<Connection> = Vec::new();
        self.each_message(&mut |_, to, line, way, bytes, times| {
            if let Way::Nic(from) = way {
                let (messages, packets) = (times as u32, framing.packets(bytes) * times);
                let class = ((line >> CLASS) as u8).checked_sub(1);
                found.push(Connection { from, to, line, messages, bytes: bytes * times, packets, class });
            }
        });
        found.sort_unstable_by_key(|one| (one.from, one.to, one.line));
        found.dedup_by(|next, one| {
            let is_same = (next.from, next.to, next.line) == (one.from, one.to, one.line);
            if is_same {
                one.messages += next.messages;
                one.bytes += next.bytes;
                one.packets += next.packets;
            }
            is_same
        });
        found
    }

    /// Returns the queues of slices over NVLink that a rank needs, for a job with a library.
    pub fn queues(&self) -> BTreeSet<(u32, QueueKey)> {
        let mut found = BTreeSet::new();
        self.each_message(&mut |from, to, line, way, _, _| {
            let end = match way {
                Way::Nic(via) if via == from => return,
                Way::Nic(via) => via,
                Way::NvLink | Way::Reduce | Way::Multicast => to,
            };
            found.insert((from, (end, line, way.kind())));
        });
        found
    }
}

/// The first bit of the class, plus one, in the number of a connection.
const CLASS: u32 = 60;

/// Connections between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// This many for each channel; messages take turns.
    Shared(u16),
    /// One connection for each message.
    Own,
}

/// A rank during the listing of its operations.
#[derive(Debug, Default)]
struct Draft {
    operations: Vec<Operation>,
    needs: Vec<u32>,
    /// Operations with their successors.
    pairs: Vec<(u32, u32)>,
}

/// A graph under construction.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    nodes: Vec<u32>,
    drafts: Vec<Draft>,
    names: FxHashMap<String, u32>,
    labels: FxHashMap<String, u16>,
    shapes: FxHashMap<(Collective, usize), u32>,
    /// Shapes of NCCL by collective and team.
    teams: FxHashMap<(Collective, Team), u32>,
    communicators: Option<Communicators>,
    /// Possible reducers, each with its index after the ranks once used.
    reducers: Vec<(Reach, Option<u32>)>,
}

impl Builder {
    /// Returns a builder for the job of a workload, with ranks at these hosts and possible reducers.
    pub fn new(workload: u32, start: Moment, nodes: Vec<u32>, lines: Lines, reducers: Vec<Reach>) -> Self {
        let graph = Graph {
            workload,
            start,
            ranks: Vec::new(),
            processors: number(nodes.len()),
            groups: Vec::new(),
            shapes: Vec::new(),
            shared: Vec::new(),
            names: Vec::new(),
            labels: Vec::new(),
            iterations: 1,
            flops: None,
            library: None,
            outside: Vec::new(),
            lines,
            strides: Vec::new(),
            series: Vec::new(),
        };
        let drafts = nodes.iter().map(|_| Draft::default()).collect();
        let (names, labels, shapes) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let reducers = reducers.into_iter().map(|reach| (reach, None)).collect();
        let (teams, communicators) = (FxHashMap::default(), None);
        Self { graph, nodes, drafts, names, labels, shapes, teams, communicators, reducers }
    }

    /// Returns the number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.graph.processors
    }

    /// Returns the number of messages of all shared operations so far.
    pub fn messages(&self) -> u64 {
        let of = |shared: &Shared| match shared.what {
            What::Message { .. } => 1,
            What::Collective { shape, .. } => wide(self.graph.shapes[index(shape)].pieces().len()),
        };
        self.graph.shared.iter().map(of).sum()
    }

    /// The place of a name.
    pub fn name(&mut self, name: &str) -> u32 {
        place_of(&mut self.names, &mut self.graph.names, name, number)
    }

    /// The place of a label.
    pub fn label(&mut self, label: &str) -> u16 {
        place_of(&mut self.labels, &mut self.graph.labels, label, |place| place as u16)
    }

    /// Adds a group.
    pub fn group(&mut self, name: &str, ranks: Vec<u32>) -> u32 {
        self.graph.groups.push(Group { name: name.into(), ranks, reducer: None });
        number(self.graph.groups.len()) - 1
    }

    /// The place of a collective among the ranks of a group.
    pub fn shape(&mut self, collective: &Collective, group: u32) -> Result<u32, ParamError> {
        if let Some(communicators) = self.communicators.take() {
            let place = self.shape_of_nccl(&communicators, collective, group);
            self.communicators = Some(communicators);
            return place;
        }
        if collective.algorithm == Algorithm::InNetwork && self.graph.groups[index(group)].reducer.is_none() {
            self.graph.groups[index(group)].reducer = Some(self.reducer(group)?);
        }
        let ranks = self.graph.groups[index(group)].ranks.len();
        let place = number(self.graph.shapes.len());
        Ok(match self.shapes.entry((collective.clone(), ranks)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                self.graph.shapes.push(collective.shape(ranks)?);
                *unknown.insert(place)
            }
        })
    }

    /// Returns the builder of a job whose messages go by NCCL.
    #[must_use]
    pub fn on(mut self, communicators: Communicators) -> Self {
        let all: Vec<u32> = (0..self.graph.processors).collect();
        let costs = communicators.costs(number(all.len()));
        self.graph.library = Some(OnServers { costs, gpus: communicators.gpus.clone() });
        self.graph.lines = Lines::Shared(communicators.options.qps);
        self.communicators = Some(communicators);
        self
    }

    /// True for a job whose messages go by NCCL.
    pub const fn is_nccl(&self) -> bool {
        self.communicators.is_some()
    }

    /// The place of a collective of NCCL among the ranks of a group.
    fn shape_of_nccl(
        &mut self,
        communicators: &Communicators,
        collective: &Collective,
        group: u32,
    ) -> Result<u32, ParamError> {
        let team = communicators.team(&self.graph.groups[index(group)].ranks)?;
        let place = number(self.graph.shapes.len());
        Ok(match self.teams.entry((collective.clone(), team)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let plan = communicators.plan(&unknown.key().1, collective)?;
                let of = Collective {
                    experts: collective.experts,
                    overhead: collective.overhead,
                    ..plan.collective(collective.operation, collective.size)
                };
                let ranks = unknown.key().1.ranks();
                let costs = Some(plan.costs);
                let mut shape = Shape::new(ranks, of, &plan.messages);
                if let Some(messages) = plan.in_loop {
                    shape.find_loop(messages);
                }
                (shape.costs, shape.protocol, shape.predicted) = (costs, Some(plan.protocol), plan.predicted);
                self.graph.shapes.push(shape);
                *unknown.insert(place)
            }
        })
    }

    /// Returns the reducer of a group, by its index after the ranks.
    fn reducer(&mut self, group: u32) -> Result<u32, ParamError> {
        let reaches = self.reducers.iter().map(|(reach, _)| reach);
        let place =
            Reach::closest(reaches, &self.graph.groups[index(group)].ranks).ok_or_else(Reach::none)?;
        let (reach, known) = &mut self.reducers[place];
        Ok(*known.get_or_insert_with(|| {
            self.nodes.push(reach.node);
            self.drafts.push(Draft::default());
            number(self.drafts.len()) - 1
        }))
    }

    /// Adds a shared operation and returns its number. A reducer takes part implicitly.
    pub fn share(&mut self, shared: Shared) -> u32 {
        self.graph.iterations = self.graph.iterations.max(shared.iteration + 1);
        self.graph.shared.push(shared);
        let number = number(self.graph.shared.len()) - 1;
        let Shared { what, name, iteration, .. } = shared;
        if let What::Collective { shape, group } = what
            && self.graph.shapes[index(shape)].of.algorithm == Algorithm::InNetwork
            && let Group { ranks, reducer: Some(reducer), .. } = &self.graph.groups[index(group)]
        {
            let (reducer, work) = (*reducer, Work::Collective { number, place: ranks.len() as u32 });
            self.add(reducer, Operation { work, name, iteration, unit: 0 }, &[]);
        }
        number
    }

    /// Adds an operation of a rank after other operations of the rank; returns its index.
    pub fn add(&mut self, rank: u32, operation: Operation, after: &[u32]) -> u32 {
        self.graph.iterations = self.graph.iterations.max(operation.iteration + 1);
        let draft = &mut self.drafts[index(rank)];
        let place = number(draft.operations.len());
        draft.operations.push(operation);
        draft.needs.push(0);
        for before in after {
            self.wait(rank, place, *before);
        }
        place
    }

    /// Sets the work of an operation.
    pub fn set(&mut self, rank: u32, place: u32, work: Work) {
        self.drafts[index(rank)].operations[index(place)].work = work;
    }

    /// Adds a dependency between two operations of a rank; the predecessor may be listed later.
    pub fn wait(&mut self, rank: u32, place: u32, before: u32) {
        let draft = &mut self.drafts[index(rank)];
        draft.needs[index(place)] += 1;
        draft.pairs.push((before, place));
    }

    /// Sets the computation of the job.
    pub const fn compute(&mut self, flops: Flops) {
        self.graph.flops = Some(flops);
    }

    /// The graph.
    pub fn build(self) -> Graph {
        let Self { mut graph, nodes, drafts, .. } = self;
        graph.ranks = nodes.into_iter().zip(drafts).map(|(node, draft)| draft.rank(node)).collect();
        graph.arrange();
        graph
    }
}

impl Draft {
    fn rank(self, node: u32) -> Rank {
        let Self { operations, needs, pairs } = self;
        let place_of =
            (0..).zip(&operations).filter_map(|(place, o)| Some((o.work.number()?, place))).collect();
        let then = Lists::new(operations.len(), pairs.into_iter());
        Rank { node, operations, needs, then, place_of }
    }
}

fn place_of<T: Copy>(
    known: &mut FxHashMap<String, T>,
    list: &mut Vec<String>,
    name: &str,
    place: impl Fn(usize) -> T,
) -> T {
    if let Some(place) = known.get(name) {
        return *place;
    }
    let place = place(list.len());
    list.push(name.into());
    known.insert(name.into(), place);
    place
}
