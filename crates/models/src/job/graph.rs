//! The graph of a job: what each of its ranks does, and what each operation waits for.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use xoff_units::{Duration, Moment, index, number, wide};

use super::collective::{Algorithm, Collective};
use super::shape::{Lists, Shape};
use crate::framing::Framing;
use crate::param_error::ParamError;
use crate::topology::Reach;

/// What an operation of a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Keeps its rank busy.
    Compute(Duration),
    /// Sends a message; it is over when the last packet begins to leave.
    Send(u32),
    /// Is over when that message is here.
    Receive(u32),
    /// Takes part in a collective: it is over when all that this rank receives in it is here, and the last packet of all that it sends begins to leave.
    Collective {
        /// The collective's number.
        number: u32,
        /// Which of its ranks this is.
        place: u32,
    },
}

impl Work {
    /// The number of what it does together with other ranks.
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
    /// What it does.
    pub work: Work,
    /// Its name's place among the names of the graph.
    pub name: u32,
    /// The iteration that it is of.
    pub iteration: u16,
    /// Of those of one unit of the rank, which are numbered from 1 on, one is under way at a time; 0 is no unit.
    pub unit: u16,
}

/// What several ranks do together, by the number that all of them know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// What it is.
    pub what: What,
    /// What its time is counted as, by its place among the labels of the graph.
    pub label: u16,
    /// The iteration that it is of.
    pub iteration: u16,
    /// Its name's place among the names of the graph.
    pub name: u32,
}

/// A message from rank to rank, or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// One sends, one receives.
    Message {
        /// The sending rank.
        from: u32,
        /// The receiving one.
        to: u32,
        /// By which of several connections between the two.
        channel: u16,
        /// Payload.
        bytes: u64,
    },
    /// All ranks of a group take part.
    Collective {
        /// What is sent, by its place in the graph.
        shape: u32,
        /// Among which ranks, by their place in the graph.
        group: u32,
    },
}

/// What a rank does.
#[derive(Debug)]
pub struct Rank {
    /// Its host.
    pub node: u32,
    operations: Vec<Operation>,
    /// How many operations each waits for.
    needs: Vec<u32>,
    /// Of each operation, those that wait for it.
    then: Lists,
    /// The places of operations that other ranks take part in, by their numbers.
    place_of: FxHashMap<u32, u32>,
}

impl Rank {
    /// Its operations.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// How many operations each waits for.
    pub fn needs(&self) -> &[u32] {
        &self.needs
    }

    /// The operations that wait for one.
    pub fn then(&self, place: u32) -> &[u32] {
        self.then.of(place)
    }

    /// The place of what is known by a number.
    pub fn place_of(&self, number: u32) -> Option<u32> {
        self.place_of.get(&number).copied()
    }

    /// An operation that waits for itself, by way of others or not.
    pub fn circle(&self) -> Option<u32> {
        let mut missing = self.needs.clone();
        let mut ready: Vec<u32> = (0..).zip(&missing).filter(|(_, needs)| **needs == 0).map(|(place, _)| place).collect();
        while let Some(place) = ready.pop() {
            for next in self.then(place) {
                missing[index(*next)] -= 1;
                if missing[index(*next)] == 0 {
                    ready.push(*next);
                }
            }
        }
        // What waits behind a circle is not in it: back along what is missing, one comes to the circle.
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

/// A connection between two ranks, and all that it will carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The sending rank.
    pub from: u32,
    /// The receiving one.
    pub to: u32,
    /// Which of several between them.
    pub line: u64,
    /// Messages.
    pub messages: u32,
    /// Their payload.
    pub bytes: u64,
    /// Their packets.
    pub packets: u64,
}

/// Ranks that take part in a collective, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Who is in it.
    pub ranks: Vec<u32>,
    /// What reduces for it in a switch, by its place after the job's ranks.
    pub reducer: Option<u32>,
}

impl Group {
    /// Who has a place in a collective: a rank, or after them the reducer.
    pub fn at(&self, place: u32) -> u32 {
        self.ranks.get(index(place)).copied().or(self.reducer).unwrap_or_default()
    }
}

/// What a job computes, to say how well it uses its processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flops {
    /// Of one iteration, by all ranks together.
    pub iteration: f64,
    /// What a rank could do in a second.
    pub peak: f64,
}

/// All that is common to the ranks of a job; it never changes.
#[derive(Debug)]
pub struct Graph {
    /// The workload that it is.
    pub workload: u32,
    /// When it begins.
    pub start: Moment,
    /// Its ranks, and after them what reduces for them in switches.
    pub ranks: Vec<Rank>,
    /// How many are ranks.
    pub processors: u32,
    /// Groups of them.
    pub groups: Vec<Group>,
    /// Collectives that occur, whoever takes part.
    pub shapes: Vec<Shape>,
    /// What several ranks do together, by number.
    pub shared: Vec<Shared>,
    /// Names of operations.
    pub names: Vec<String>,
    /// What the time of messages is counted as.
    pub labels: Vec<String>,
    /// Iterations.
    pub iterations: u16,
    /// What it computes, if that is known.
    pub flops: Option<Flops>,
    lines: Lines,
    /// By number: the series that it is in, and its place there; and the numbers in each series.
    pub(super) strides: Vec<(u32, u32)>,
    pub(super) series: Vec<Vec<u32>>,
}

impl Graph {
    /// A host of its ranks at which another job has one, too.
    pub fn first_shared_host(&self, other: &Self) -> Option<u32> {
        let hosts = |graph: &Self| -> Vec<u32> { graph.ranks[..index(graph.processors)].iter().map(|rank| rank.node).collect() };
        let known: BTreeSet<u32> = hosts(other).into_iter().collect();
        hosts(self).into_iter().find(|host| known.contains(host))
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.ranks[..index(self.processors)].iter().map(|rank| wide(rank.operations().len())).sum()
    }

    /// Which of the connections between its ranks a message takes, by the number of what is shared and its place there. Each group has
    /// connections of its own, as communicators of NCCL have, and so have messages from rank to rank.
    pub const fn line(&self, group: Option<u32>, channel: u16, number: u32, place: u32) -> u64 {
        match self.lines {
            Lines::Shared(spread) => {
                let of = match group {
                    Some(group) => group as u64 + 1,
                    None => 0,
                };
                let (spread, turn) = (spread as u64, number as u64 + place as u64);
                of << 32 | (channel as u64 * spread + turn % spread)
            }
            Lines::Own => (number as u64) << 32 | place as u64,
        }
    }

    /// Whether a message of a collective takes the connection of the one before it by so many.
    pub const fn stays_on_line(&self, by: u32) -> bool {
        match self.lines {
            Lines::Shared(spread) => by.is_multiple_of(spread as u32),
            Lines::Own => false,
        }
    }

    /// Whether messages of what has one number take the same connections as those of what has another.
    pub(super) const fn are_on_one_line(&self, a: u32, b: u32) -> bool {
        match self.lines {
            Lines::Shared(spread) => a % spread as u32 == b % spread as u32,
            Lines::Own => false,
        }
    }

    /// Puts all that is shared into series: the collectives of a group, the messages of a channel from one rank to another.
    fn arrange(&mut self) {
        let mut known: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
        for (number_of, shared) in (0..).zip(&self.shared) {
            let key = match shared.what {
                What::Message { from, to, channel, .. } => (from, to, channel.into()),
                What::Collective { group, .. } => (u32::MAX, group, 0),
            };
            let series = *known.entry(key).or_insert(number(self.series.len()));
            if index(series) == self.series.len() {
                self.series.push(Vec::new());
            }
            self.strides.push((series, number(self.series[index(series)].len())));
            self.series[index(series)].push(number_of);
        }
    }

    /// The connections that its messages need, by sending rank, receiving rank and line.
    pub fn connections(&self, framing: &Framing) -> Vec<Connection> {
        let mut found: BTreeMap<(u32, u32, u64), (u64, u64, u64)> = BTreeMap::new();
        let mut add = |from: u32, to: u32, line: u64, bytes: u64, times: u64| {
            let of = found.entry((from, to, line)).or_default();
            *of = (of.0 + times, of.1 + bytes * times, of.2 + framing.packets(bytes) * times);
        };
        // Collectives all together whose messages take the same connections.
        let mut collectives: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
        for (number, one) in (0..).zip(&self.shared) {
            match one.what {
                What::Message { from, to, channel, bytes } => add(from, to, self.line(None, channel, number, 0), bytes, 1),
                What::Collective { shape, group } => {
                    let like = match self.lines {
                        Lines::Shared(spread) => number % u32::from(spread),
                        Lines::Own => number,
                    };
                    *collectives.entry((shape, group, like)).or_default() += 1;
                }
            }
        }
        for ((shape, group, number), times) in collectives {
            let members = &self.groups[index(group)];
            for (place, piece) in (0..).zip(self.shapes[index(shape)].pieces()) {
                let line = self.line(Some(group), piece.channel, number, place);
                add(members.at(piece.from), members.at(piece.to), line, piece.bytes, times);
            }
        }
        let made = found.into_iter().map(|((from, to, line), (messages, bytes, packets))| Connection {
            from,
            to,
            line,
            messages: messages as u32,
            bytes,
            packets,
        });
        made.collect()
    }
}

/// What connections there are between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// So many for each channel, whose messages take turns.
    Shared(u16),
    /// One for each message.
    Own,
}

/// A rank whose operations are being listed.
#[derive(Debug, Default)]
struct Draft {
    operations: Vec<Operation>,
    needs: Vec<u32>,
    /// Operations, and those that wait for each.
    pairs: Vec<(u32, u32)>,
}

/// A graph that is being made.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    nodes: Vec<u32>,
    drafts: Vec<Draft>,
    names: FxHashMap<String, u32>,
    labels: FxHashMap<String, u16>,
    shapes: FxHashMap<(Collective, usize), u32>,
    /// What could reduce for the ranks, and the place after them of what does.
    reducers: Vec<(Reach, Option<u32>)>,
}

impl Builder {
    /// Of a workload's job, whose ranks are at these hosts, and for which these could reduce.
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
            lines,
            strides: Vec::new(),
            series: Vec::new(),
        };
        let drafts = nodes.iter().map(|_| Draft::default()).collect();
        let (names, labels, shapes) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let reducers = reducers.into_iter().map(|reach| (reach, None)).collect();
        Self { graph, nodes, drafts, names, labels, shapes, reducers }
    }

    /// How many ranks there are.
    pub const fn ranks(&self) -> u32 {
        self.graph.processors
    }

    /// Messages of all that is shared so far.
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

    /// What reduces for a group, by its place after the ranks.
    fn reducer(&mut self, group: u32) -> Result<u32, ParamError> {
        let reaches = self.reducers.iter().map(|(reach, _)| reach);
        let place = Reach::closest(reaches, &self.graph.groups[index(group)].ranks).ok_or_else(Reach::none)?;
        let (reach, known) = &mut self.reducers[place];
        Ok(*known.get_or_insert_with(|| {
            self.nodes.push(reach.node);
            self.drafts.push(Draft::default());
            number(self.drafts.len()) - 1
        }))
    }

    /// Adds what several ranks do together; returns its number. What reduces in a switch takes part without being told.
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

    /// Adds an operation of a rank, after others of the same rank; returns its place.
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

    /// Says what an operation does.
    pub fn set(&mut self, rank: u32, place: u32, work: Work) {
        self.drafts[index(rank)].operations[index(place)].work = work;
    }

    /// Lets an operation of a rank wait for another, which may be listed after it.
    pub fn wait(&mut self, rank: u32, place: u32, before: u32) {
        let draft = &mut self.drafts[index(rank)];
        draft.needs[index(place)] += 1;
        draft.pairs.push((before, place));
    }

    /// Says what it computes.
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
        let place_of = (0..).zip(&operations).filter_map(|(place, o)| Some((o.work.number()?, place))).collect();
        let then = Lists::new(operations.len(), pairs.into_iter());
        Rank { node, operations, needs, then, place_of }
    }
}

fn place_of<T: Copy>(known: &mut FxHashMap<String, T>, list: &mut Vec<String>, name: &str, place: impl Fn(usize) -> T) -> T {
    if let Some(place) = known.get(name) {
        return *place;
    }
    let place = place(list.len());
    list.push(name.into());
    known.insert(name.into(), place);
    place
}
