//! The programs of the ranks at a host, as they run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{Moment, index, number};

use super::graph::{Graph, Operation, Rank, What, Work};
use super::repetition::LoopRegion;
use super::shape::Shape;
use crate::effects::{Effect, Effects};
use crate::message::{After, MessageId, Post};

/// An operation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its job.
    pub job: u32,
    /// Its rank.
    pub rank: u32,
    /// Its place in the rank's program.
    pub place: u32,
    /// When it began: all before it was over.
    pub start: Moment,
    /// The last of that.
    pub after: After,
    /// When it ended.
    pub end: Moment,
    /// What ended it; itself, if it only computed.
    pub by: Option<By>,
}

/// The message that ended an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// It arrived; otherwise its last packet left.
    pub arrived: bool,
    /// Which of what is known by the operation's number.
    pub message: u32,
    /// When it was handed to its connection, if it arrived.
    pub posted: Moment,
}

/// An operation that has begun.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub(super) start: Moment,
    pub(super) after: After,
    /// Messages that have to arrive before each that it sends.
    pub(super) missing: Box<[u16]>,
    /// Messages that have not arrived.
    pub(super) to_come: u32,
    /// Messages that have not left.
    pub(super) to_leave: u32,
}

/// What a rank does, and how far it is.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) graph: Arc<Graph>,
    pub(super) job: u32,
    pub(super) rank: u32,
    /// Operations that some of what they wait for is over of, by place, and how many each still waits for.
    pub(super) waiting: BTreeMap<u32, u32>,
    /// Those that have begun, by place.
    pub(super) active: FxHashMap<u32, Active>,
    /// Messages of operations that have not begun, by place.
    pub(super) early: FxHashMap<u32, Vec<(u32, Moment)>>,
    /// Flows by receiving rank and line, in order.
    connections: Vec<((u32, u64), u32)>,
    /// The first operation that is not over, and those behind it that are.
    pub(super) over: (u32, BTreeSet<u32>),
    /// Those that the results do not have yet.
    pub(super) ended: Vec<Ended>,
    /// Operations that are about to begin, and the last of what each waited for.
    ready: VecDeque<(u32, After)>,
    /// Messages for which nothing has to come any more.
    due: Vec<u32>,
    /// Of units, whether each is busy, and the operations that could begin otherwise, in order.
    pub(super) units: FxHashMap<u16, (bool, VecDeque<u32>)>,
    /// The stretch of operations that it was in when somebody looked last, and one with a longer period that holds such.
    pub(super) stretches: [LoopRegion; 2],
}

impl Program {
    /// A rank's, with the flows that are its connections, by receiving rank and line.
    pub fn new(graph: Arc<Graph>, job: u32, rank: u32, mut connections: Vec<((u32, u64), u32)>) -> Self {
        connections.sort_unstable();
        let whole = LoopRegion::whole(number(graph.ranks[index(rank)].operations().len()));
        let stretches = [whole.clone(), whole];
        let (waiting, active, early, over) = (BTreeMap::new(), FxHashMap::default(), FxHashMap::default(), (0, BTreeSet::new()));
        let (ended, ready, due) = (Vec::new(), VecDeque::new(), Vec::new());
        let units = FxHashMap::default();
        Self { graph, job, rank, waiting, active, early, connections, over, ended, ready, due, units, stretches }
    }

    pub(super) fn own(&self) -> &Rank {
        &self.graph.ranks[index(self.rank)]
    }

    /// When it begins.
    pub fn start(&self) -> Moment {
        self.graph.start
    }

    /// Whether it is of what reduces in a switch, each of whose operations begins with the first message that comes.
    fn reduces(&self) -> bool {
        self.rank >= self.graph.processors
    }

    /// Begins it.
    fn begin_all(&mut self) {
        if self.reduces() {
            return;
        }
        let first = (0..).zip(self.graph.ranks[index(self.rank)].needs()).filter(|(_, needs)| **needs == 0);
        self.ready.extend(first.map(|(place, _)| (place, After::Start)));
    }

    /// Begins what is ready, and what is ready with that.
    fn go_on(&mut self, of: u8, effects: &mut Effects) {
        while let Some((place, after)) = self.ready.pop_front() {
            self.begin(of, place, after, effects);
        }
    }

    /// The next message of what is known by a number.
    fn post(&self, number: u32, place: u32, after: After) -> Effect {
        let (to, line, bytes) = match self.graph.shared[index(number)].what {
            What::Message { to, channel, bytes, .. } => (to, self.graph.line(None, channel, number, 0), bytes),
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

    /// Everything before an operation is over.
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
        if let Work::Collective { number, place: own } = self.graph.ranks[index(self.rank)].operations()[index(place)].work
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

    /// An operation is over; those that waited for it alone are ready.
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

/// The programs of a host, one for each job that has a rank there.
#[derive(Debug, Clone, Default)]
pub struct Programs(pub(super) Vec<Program>);

impl Programs {
    /// Of ranks at one host.
    pub const fn new(programs: Vec<Program>) -> Self {
        Self(programs)
    }

    /// When each begins.
    pub fn starts(&self) -> impl Iterator<Item = Moment> + '_ {
        self.0.iter().map(Program::start)
    }

    /// Whether an operation that begins later, or computes, goes on by itself.
    pub fn goes_on(&self, now: Moment) -> bool {
        let computes = |program: &Program| program.active.values().any(|a| a.to_come == 0 && a.to_leave == 0);
        self.0.iter().any(|program| program.start() >= now || computes(program))
    }

    /// Operations that have begun and wait for others: job, rank and place.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.0.iter().flat_map(|program| {
            let mut places: Vec<u32> = program.active.iter().filter(|(_, a)| a.to_come > 0).map(|(place, _)| *place).collect();
            places.sort_unstable();
            places.into_iter().map(move |place| (program.job, program.rank, place))
        })
    }

    /// Takes operations that are over.
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
