//! Running programs of the ranks at a host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{Moment, index, number};

use super::graph::{Graph, Operation, Rank, What, Work};
use super::repetition::LoopRegion;
use super::shape::Shape;
use crate::effects::{Effect, Effects};
use crate::message::{After, MessageId, Post};

/// A finished operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Job of the operation.
    pub job: u32,
    /// Rank of the operation.
    pub rank: u32,
    /// Index in the program of the rank.
    pub place: u32,
    /// Start: all predecessors had ended.
    pub start: Moment,
    /// Predecessor that ended last.
    pub after: After,
    /// End of the operation.
    pub end: Moment,
    /// Message that ended the operation; `None` for a computation.
    pub by: Option<By>,
}

/// The message that ended an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// True for an arrival; false for the departure of the last packet.
    pub arrived: bool,
    /// Index of the message in the shared operation.
    pub message: u32,
    /// Time at which an arrived message was posted.
    pub posted: Moment,
}

/// A running operation.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub(super) start: Moment,
    pub(super) after: After,
    /// Number of messages that must arrive before each sent message.
    pub(super) missing: Box<[u16]>,
    /// Messages not yet arrived.
    pub(super) to_come: u32,
    /// Messages not yet departed.
    pub(super) to_leave: u32,
}

/// Program of a rank, with its progress.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) graph: Arc<Graph>,
    pub(super) job: u32,
    pub(super) rank: u32,
    /// Operations with some finished predecessors, by index, with the number of open predecessors.
    pub(super) waiting: BTreeMap<u32, u32>,
    /// Running operations, by index.
    pub(super) active: FxHashMap<u32, Active>,
    /// Messages that arrived before their operation began, by index.
    pub(super) early: FxHashMap<u32, Vec<(u32, Moment)>>,
    /// Flows by receiving rank and line, in order.
    connections: Vec<((u32, u64), u32)>,
    /// The first unfinished operation, and later finished operations.
    pub(super) over: (u32, BTreeSet<u32>),
    /// Finished operations, not yet taken by the results.
    pub(super) ended: Vec<Ended>,
    /// Operations ready to begin, each with its last predecessor.
    ready: VecDeque<(u32, After)>,
    /// Messages ready to be posted.
    due: Vec<u32>,
    /// For each unit: true while busy, and the waiting operations in order.
    pub(super) units: FxHashMap<u16, (bool, VecDeque<u32>)>,
    /// Region of the last detection, and a region with a longer period that contains such regions.
    pub(super) stretches: [LoopRegion; 2],
}

impl Program {
    /// Returns the program of a rank, with its connections by receiving rank and line.
    pub fn new(graph: Arc<Graph>, job: u32, rank: u32, mut connections: Vec<((u32, u64), u32)>) -> Self {
        connections.sort_unstable();
        let whole = LoopRegion::whole(number(graph.ranks[index(rank)].operations().len()));
        let stretches = [whole.clone(), whole];
        let (waiting, active, early, over) =
            (BTreeMap::new(), FxHashMap::default(), FxHashMap::default(), (0, BTreeSet::new()));
        let (ended, ready, due) = (Vec::new(), VecDeque::new(), Vec::new());
        let units = FxHashMap::default();
        Self {
            graph,
            job,
            rank,
            waiting,
            active,
            early,
            connections,
            over,
            ended,
            ready,
            due,
            units,
            stretches,
        }
    }

    pub(super) fn own(&self) -> &Rank {
        &self.graph.ranks[index(self.rank)]
    }

    /// Returns the start of the job.
    pub fn start(&self) -> Moment {
        self.graph.start
    }

    /// True for a reducer, whose operations begin with their first message.
    fn reduces(&self) -> bool {
        self.rank >= self.graph.processors
    }

    /// Begins the program.
    fn begin_all(&mut self) {
        if self.reduces() {
            return;
        }
        let first = (0..).zip(self.graph.ranks[index(self.rank)].needs()).filter(|(_, needs)| **needs == 0);
        self.ready.extend(first.map(|(place, _)| (place, After::Start)));
    }

    /// Begins all ready operations, and operations that become ready.
    fn go_on(&mut self, of: u8, effects: &mut Effects) {
        while let Some((place, after)) = self.ready.pop_front() {
            self.begin(of, place, after, effects);
        }
    }

    /// Posts a message of a shared operation.
    fn post(&self, number: u32, place: u32, after: After) -> Effect {
        let (to, line, bytes) = match self.graph.shared[index(number)].what {
            What::Message { to, channel, bytes, .. } => {
                (to, self.graph.line(None, channel, number, 0), bytes)
            }
            What::Collective { shape, group } => {
                let piece = self.graph.shapes[index(shape)].piece(place);
                let to = self.graph.groups[index(group)].at(piece.to);
                (to, self.graph.line(Some(group), piece.channel, number, place), piece.bytes)
            }
        };
        let at = self.connections.binary_search_by_key(&(to, line), |c| c.0);
        let flow = at.map_or(u32::MAX, |at| self.connections[at].1);
        Effect::Post(Post { id: MessageId { job: self.job, number, place }, flow, bytes, after })
    }

    pub(super) fn shape(&self, number: u32) -> Option<&Shape> {
        match self.graph.shared[index(number)].what {
            What::Collective { shape, .. } => Some(&self.graph.shapes[index(shape)]),
            What::Message { .. } => None,
        }
    }

    /// Begins an operation whose predecessors have ended.
    fn begin(&mut self, of: u8, place: u32, after: After, effects: &mut Effects) {
        let start = effects.now;
        let (mut missing, mut to_come, mut to_leave) = (Box::default(), 0, 0);
        let Operation { work, unit, .. } = self.own().operations()[index(place)];
        if unit > 0 {
            let (is_busy, queue) = self.units.entry(unit).or_default();
            if *is_busy {
                return queue.push_back(place);
            }
            *is_busy = true;
        }
        match work {
            Work::Compute(time) => effects.push(Effect::Operation(of, start + time, place)),
            Work::Send(number) => {
                to_leave = 1;
                effects.push(self.post(number, 0, After::Begun));
            }
            Work::Receive(_) => to_come = 1,
            Work::Collective { number, place: own } => {
                if let Some(shape) = self.shape(number) {
                    let sends = shape.sends(own);
                    (to_come, to_leave) = (shape.receives(own), sends.len() as u32);
                    missing = sends.clone().map(|m| shape.needs(m)).collect();
                    for m in sends.filter(|m| shape.needs(*m) == 0) {
                        effects.push(self.post(number, m, After::Begun));
                    }
                }
            }
        }
        self.active.insert(place, Active { start, after, missing, to_come, to_leave });
        for (message, posted) in self.early.remove(&place).unwrap_or_default() {
            self.arrive(place, message, posted, effects);
        }
    }

    /// A message of an operation arrived.
    fn arrive(&mut self, place: u32, message: u32, posted: Moment, effects: &mut Effects) {
        if self.reduces() && !self.active.contains_key(&place) {
            self.begin(0, place, After::Start, effects);
        }
        let Some(active) = self.active.get_mut(&place) else {
            self.early.entry(place).or_default().push((message, posted));
            return;
        };
        active.to_come -= 1;
        let is_over = active.to_come == 0 && active.to_leave == 0;
        if let Work::Collective { number, place: own } =
            self.graph.ranks[index(self.rank)].operations()[index(place)].work
            && let What::Collective { shape, .. } = self.graph.shared[index(number)].what
        {
            let shape = &self.graph.shapes[index(shape)];
            let first = shape.sends(own).start;
            for m in shape.then(message) {
                let missing = &mut active.missing[index(*m - first)];
                *missing -= 1;
                if *missing == 0 {
                    self.due.push(*m);
                }
            }
            let mut due = std::mem::take(&mut self.due);
            for m in due.drain(..) {
                effects.push(self.post(number, m, After::Message(message)));
            }
            self.due = due;
        }
        if is_over {
            self.end(place, Some(By { arrived: true, message, posted }), effects.now);
        }
    }

    /// The last packet of a message of an operation begins to leave.
    fn leave(&mut self, place: u32, message: u32, now: Moment) {
        let Some(active) = self.active.get_mut(&place) else { return };
        active.to_leave -= 1;
        if active.to_come == 0 && active.to_leave == 0 {
            self.end(place, Some(By { arrived: false, message, posted: now }), now);
        }
    }

    /// Ends an operation; successors without open predecessors become ready.
    fn end(&mut self, place: u32, by: Option<By>, now: Moment) {
        let Some(Active { start, after, .. }) = self.active.remove(&place) else { return };
        self.over.1.insert(place);
        while self.over.1.remove(&self.over.0) {
            self.over.0 += 1;
        }
        let unit = self.own().operations()[index(place)].unit;
        if let Some((is_busy, queue)) = self.units.get_mut(&unit) {
            *is_busy = false;
            self.ready.extend(queue.pop_front().map(|next| (next, After::Operation(place))));
        }
        self.ended.push(Ended { job: self.job, rank: self.rank, place, start, after, end: now, by });
        let rank = &self.graph.ranks[index(self.rank)];
        for next in rank.then(place) {
            let missing = self.waiting.entry(*next).or_insert(rank.needs()[index(*next)]);
            *missing -= 1;
            if *missing == 0 {
                self.waiting.remove(next);
                self.ready.push_back((*next, After::Operation(place)));
            }
        }
    }
}

/// The programs of a host, one for each job with a rank at the host.
#[derive(Debug, Clone, Default)]
pub struct Programs(pub(super) Vec<Program>);

impl Programs {
    /// Returns the programs of ranks at one host.
    pub const fn new(programs: Vec<Program>) -> Self {
        Self(programs)
    }

    /// Returns the start of each program.
    pub fn starts(&self) -> impl Iterator<Item = Moment> + '_ {
        self.0.iter().map(Program::start)
    }

    /// True if an operation will begin later or is computing, without an event from elsewhere.
    pub fn goes_on(&self, now: Moment) -> bool {
        let computes = |program: &Program| program.active.values().any(|a| a.to_come == 0 && a.to_leave == 0);
        self.0.iter().any(|program| program.start() >= now || computes(program))
    }

    /// Returns operations that wait for messages: job, rank and index.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.0.iter().flat_map(|program| {
            let mut places: Vec<u32> =
                program.active.iter().filter(|(_, a)| a.to_come > 0).map(|(place, _)| *place).collect();
            places.sort_unstable();
            places.into_iter().map(move |place| (program.job, program.rank, place))
        })
    }

    /// Takes finished operations.
    pub fn take_ended(&mut self) -> impl Iterator<Item = Ended> + '_ {
        self.0.iter_mut().flat_map(|program| program.ended.drain(..))
    }

    /// A program begins.
    pub fn begin(&mut self, of: u8, effects: &mut Effects) {
        let program = &mut self.0[usize::from(of)];
        program.begin_all();
        program.go_on(of, effects);
    }

    /// An operation of a program has computed.
    pub fn compute(&mut self, of: u8, place: u32, effects: &mut Effects) {
        let program = &mut self.0[usize::from(of)];
        program.end(place, None, effects.now);
        program.go_on(of, effects);
    }

    /// A message arrived.
    pub fn deliver(&mut self, id: MessageId, posted: Moment, effects: &mut Effects) {
        if let Some((of, place)) = self.find(id) {
            let program = &mut self.0[usize::from(of)];
            program.arrive(place, id.place, posted, effects);
            program.go_on(of, effects);
        }
    }

    /// The last packet of a message begins to leave.
    pub fn leave(&mut self, id: MessageId, effects: &mut Effects) {
        if let Some((of, place)) = self.find(id) {
            let program = &mut self.0[usize::from(of)];
            program.leave(place, id.place, effects.now);
            program.go_on(of, effects);
        }
    }

    fn find(&self, id: MessageId) -> Option<(u8, u32)> {
        let of = self.0.iter().position(|program| program.job == id.job)?;
        Some((of as u8, self.0[of].own().place_of(id.number)?))
    }
}
