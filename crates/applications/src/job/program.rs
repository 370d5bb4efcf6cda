//! Running programs of the ranks at a host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_models::frames::message::{After, MessageId, Post};
use xoff_models::parts::ids::ApplicationId;
use xoff_models::ports::effects::{Effect, Effects};
use xoff_units::{Duration, Moment, index};

use super::graph::Graph;
use super::handover::{Delay, Handover, Handovers, QueueKey, Work as BlockWork};
use super::operation::{Operation, What, Work};
use super::piece::{Costs, Way};
use super::rank::Rank;
use super::repetition::LoopRegion;
use super::shape::Shape;

/// The number of the application.
pub const NUMBER: ApplicationId = ApplicationId::new(0);

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
    /// False before the end of the launch.
    pub(super) is_launched: bool,
}

/// A message that a rank sends, by the ranks of the job.
pub(super) struct Outgoing {
    pub(super) to: u32,
    pub(super) line: u64,
    pub(super) bytes: u64,
    pub(super) way: Way,
    /// Group and channel, if a thread block hands the message over.
    block: Option<(u32, u16)>,
}

/// Program of a rank, with its progress.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) graph: Arc<Graph>,
    pub(super) job: u32,
    pub(super) rank: u32,
    /// Place among the programs of the host.
    pub(super) of: u8,
    /// Operations with some finished predecessors, by index, with the number of open predecessors.
    pub(super) waiting: BTreeMap<u32, u32>,
    /// Running operations, by index.
    pub(super) active: FxHashMap<u32, Active>,
    /// Messages that arrived before their operation began, by index.
    pub(super) early: FxHashMap<u32, Vec<(u32, Moment)>>,
    /// Flows by receiving rank and line, in order.
    connections: Vec<((u32, u64), u32)>,
    /// Messages between their data and NVLink or a NIC, for a job with a library.
    pub(super) handovers: Option<Box<Handovers>>,
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
    /// The number under which others wait for an operation, by index.
    calls: FxHashMap<u32, u32>,
    /// Numbers of operations with waiting others that have ended.
    called: Vec<u32>,
    /// Operations that wait for a flow, or for an operation of another workload, by number.
    pub(super) awaits: FxHashMap<u32, Vec<u32>>,
    /// Region of the last detection, and a region with a longer period that contains such regions.
    pub(super) stretches: [LoopRegion; 2],
}

impl Program {
    /// Returns the program of a rank, with its connections by receiving rank and line.
    pub fn new(
        graph: Arc<Graph>,
        job: u32,
        rank: u32,
        mut connections: Vec<((u32, u64), u32)>,
        queues: Option<Vec<(QueueKey, u32)>>,
    ) -> Self {
        connections.sort_unstable();
        let handovers =
            queues.map(|queues| Box::new(Handovers::new(connections.iter().map(|c| c.1), queues)));
        let whole = LoopRegion::whole(graph.ranks[index(rank)].count());
        let stretches = [whole.clone(), whole];
        let (waiting, active, early, over) =
            (BTreeMap::new(), FxHashMap::default(), FxHashMap::default(), (0, BTreeSet::new()));
        let (ended, ready, due) = (Vec::new(), VecDeque::new(), Vec::new());
        let units = FxHashMap::default();
        let (calls, called, awaits) = (FxHashMap::default(), Vec::new(), FxHashMap::default());
        Self {
            graph,
            job,
            rank,
            of: 0,
            waiting,
            active,
            early,
            connections,
            handovers,
            over,
            ended,
            ready,
            due,
            units,
            calls,
            called,
            awaits,
            stretches,
        }
    }

    /// Lets others wait for operations by index, and operations for flows and others, by number.
    pub fn depend(&mut self, calls: FxHashMap<u32, u32>, awaits: FxHashMap<u32, Vec<u32>>) {
        (self.calls, self.awaits) = (calls, awaits);
    }

    /// True if operations wait for others, or others wait for operations.
    pub(super) fn depends_on_others(&self) -> bool {
        !(self.calls.is_empty() && self.awaits.is_empty())
    }

    /// A flow is over, or an operation of another workload has ended.
    pub(super) fn hear(&mut self, number: u32) {
        let graph = self.graph.clone();
        let places = self.awaits.remove(&number).unwrap_or_default();
        self.count_down(&graph.ranks[index(self.rank)], &places, After::Elsewhere);
    }

    /// A predecessor of operations has ended; operations without open predecessors become ready.
    fn count_down(&mut self, rank: &Rank, places: &[u32], after: After) {
        for place in places {
            let missing = self.waiting.entry(*place).or_insert(rank.needs()[index(*place)]);
            *missing -= 1;
            if *missing == 0 {
                self.waiting.remove(place);
                self.ready.push_back((*place, after));
            }
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
    pub(super) fn begin_all(&mut self) {
        if self.reduces() {
            return;
        }
        let first = (0..).zip(self.graph.ranks[index(self.rank)].needs()).filter(|(_, needs)| **needs == 0);
        self.ready.extend(first.map(|(place, _)| (place, After::Start)));
    }

    /// Begins all ready operations, and operations that become ready.
    pub(super) fn go_on(&mut self, of: u8, effects: &mut Effects) {
        while let Some((place, after)) = self.ready.pop_front() {
            self.begin(of, place, after, effects);
        }
        for number in self.called.drain(..) {
            effects.push(Effect::OperationEnded(number));
        }
    }

    /// Returns a message of a shared operation.
    pub(super) fn outgoing(&self, number: u32, place: u32) -> Outgoing {
        match self.graph.shared(number).what {
            What::Message { from, to, channel, bytes } => Outgoing {
                to,
                line: self.graph.line(None, channel, number, 0),
                bytes,
                way: self.graph.way(from, to),
                block: None,
            },
            What::Collective { shape, group } => {
                let piece = self.graph.shapes[index(shape)].piece(place);
                let members = &self.graph.groups[index(group)];
                let way = match piece.way {
                    Way::Nic(via) => Way::Nic(members.at(via)),
                    way => way,
                };
                let line = self.graph.line(Some(group), piece.channel, number, place);
                let is_copied = matches!(way, Way::Nic(_) | Way::NvLink);
                let block = is_copied.then_some((group, piece.channel));
                Outgoing { to: members.at(piece.to), line, bytes: piece.bytes, way, block }
            }
        }
    }

    /// Sends a message of a shared operation: at once, or after the delay of a hand-over of the library.
    fn send(&mut self, number: u32, place: u32, after: After, effects: &mut Effects) {
        let id = MessageId { job: self.job, number, place };
        let Some(costs) = self.graph.costs(number) else { return self.post(id, after, effects) };
        let Outgoing { way, bytes, block, .. } = self.outgoing(number, place);
        let (delay, time) = match way {
            Way::Nic(_) => (Delay::Network, costs.network),
            Way::NvLink | Way::Reduce | Way::Multicast => (Delay::NvLink, costs.nvlink),
        };
        let Some(handovers) = &mut self.handovers else { return };
        let begins = match (costs.block, block) {
            (Some(rate), Some(block)) => {
                let time = rate.serializer().time(bytes);
                let work = BlockWork { block, after, time, streams: costs.streams };
                handovers.pass_block(work, effects.now)
            }
            _ => effects.now,
        };
        let at = begins + time;
        handovers.delay(delay, Handover { at, id, after });
        effects.push(Effect::Call(NUMBER, self.of, at, delay as u32));
    }

    /// Posts a message to its connection.
    fn post(&self, id: MessageId, after: After, effects: &mut Effects) {
        let Outgoing { to, line, bytes, .. } = self.outgoing(id.number, id.place);
        let flow = self.connection(to, line).map_or(u32::MAX, |at| self.connections[at].1);
        effects.push(Effect::Post(Post { id, flow, bytes, after }));
    }

    /// Returns the connections by receiving rank and line, in order, each with its flow.
    pub(crate) fn connections(&self) -> &[((u32, u64), u32)] {
        &self.connections
    }

    /// Returns the queues of slices over NVLink by key, in order, each with its number at the host.
    pub(super) fn queues(&self) -> &[(QueueKey, u32)] {
        self.handovers.as_ref().map_or(&[], |handovers| handovers.queues())
    }

    /// Returns the number of a queue of slices over NVLink.
    pub(super) fn queue(&self, key: QueueKey) -> Option<u32> {
        self.handovers.as_ref().and_then(|handovers| handovers.queue(key))
    }

    /// Returns the job and the rank of the program.
    pub const fn of(&self) -> (u32, u32) {
        (self.job, self.rank)
    }

    /// Returns the index of the connection to a rank on a line.
    pub(super) fn connection(&self, to: u32, line: u64) -> Option<usize> {
        self.connections.binary_search_by_key(&(to, line), |c| c.0).ok()
    }

    /// The first message of a delay goes on.
    pub(super) fn hand_over(&mut self, delay: Delay, effects: &mut Effects) {
        let Some(Handover { id, after, .. }) = self.handovers.as_mut().and_then(|h| h.take(delay)) else {
            return;
        };
        if delay == Delay::Proxy {
            return self.post(id, after, effects);
        }
        let Outgoing { to, line, bytes, way, .. } = self.outgoing(id.number, id.place);
        let end = match way {
            Way::Nic(via) if via == self.rank => {
                self.offer(id, after, effects);
                return self.leave_library(id, effects.now);
            }
            Way::Nic(via) => via,
            Way::NvLink | Way::Reduce | Way::Multicast => to,
        };
        let Some(queue) = self.handovers.as_ref().and_then(|h| h.queue((end, line, way.kind()))) else {
            return;
        };
        effects.push(Effect::SendSlice(queue, Post { id, flow: Post::NVLINK, bytes, after }));
        self.leave_library(id, effects.now);
    }

    /// Offers a message to its connection: the proxy posts the message once a slot is free.
    pub(super) fn offer(&mut self, id: MessageId, after: After, effects: &mut Effects) {
        let Outgoing { to, line, .. } = self.outgoing(id.number, id.place);
        let (Some(at), Some(costs)) = (self.connection(to, line), self.graph.costs(id.number)) else {
            return;
        };
        let Some(handovers) = &mut self.handovers else { return };
        let slots = &mut handovers.slots[at];
        let message = Handover { at: effects.now, id, after };
        if slots.used >= costs.slots || !slots.waiting.is_empty() {
            return slots.waiting.push_back(message);
        }
        slots.used += 1;
        self.pass_proxy(costs, message, effects);
    }

    /// The proxy posts a message that has a slot.
    fn pass_proxy(&mut self, costs: Costs, message: Handover, effects: &mut Effects) {
        let bytes = self.outgoing(message.id.number, message.id.place).bytes;
        let on_pcie = costs.pcie.map_or(Duration::ZERO, |rate| rate.time(bytes));
        let Some(handovers) = &mut self.handovers else { return };
        let at = handovers.post(costs.proxy.max(on_pcie), effects.now);
        handovers.delay(Delay::Proxy, Handover { at, ..message });
        effects.push(Effect::Call(NUMBER, self.of, at, Delay::Proxy as u32));
    }

    /// A message of a connection is acknowledged. True if the connection is one of this rank.
    pub(super) fn free_slot(&mut self, flow: u32, effects: &mut Effects) -> bool {
        let Some(handovers) = &mut self.handovers else { return false };
        let Some(at) = handovers.place(flow) else { return false };
        let slots = &mut handovers.slots[at];
        slots.used -= 1;
        if let Some(next) = slots.waiting.front().copied()
            && let Some(costs) = self.graph.costs(next.id.number)
            && slots.used < costs.slots
        {
            slots.waiting.pop_front();
            slots.used += 1;
            self.pass_proxy(costs, next, effects);
        }
        true
    }

    /// A message of a library left the rank: NVLink or the network has the data.
    fn leave_library(&mut self, id: MessageId, now: Moment) {
        if let Some(place) = self.own().place_of(id.number) {
            self.leave(place, id.place, now);
        }
    }

    pub(super) fn shape(&self, number: u32) -> Option<&Shape> {
        match self.graph.shared(number).what {
            What::Collective { shape, .. } => Some(&self.graph.shapes[index(shape)]),
            What::Message { .. } => None,
        }
    }

    /// Begins an operation whose predecessors have ended.
    fn begin(&mut self, of: u8, place: u32, after: After, effects: &mut Effects) {
        let start = effects.now;
        let (mut missing, mut to_come, mut to_leave) = (Box::default(), 0, 0);
        let Operation { work, unit, .. } = self.own().operation(place);
        if unit > 0 {
            let (is_busy, queue) = self.units.entry(unit).or_default();
            if *is_busy {
                return queue.push_back(place);
            }
            *is_busy = true;
        }
        match work {
            Work::Compute(time) => effects.push(Effect::Compute(NUMBER, of, start + time, place)),
            Work::Send(_) => to_leave = 1,
            Work::Receive(_) => to_come = 1,
            Work::Collective { number, place: own } => {
                if let Some(shape) = self.shape(number) {
                    let sends = shape.sends(own);
                    (to_come, to_leave) = (shape.receives(own), sends.len() as u32);
                    missing = sends.map(|m| shape.needs(m)).collect();
                }
            }
        }
        let launch = match work {
            Work::Send(number) | Work::Collective { number, .. } => self.graph.launch(number),
            Work::Compute(_) | Work::Receive(_) => Duration::ZERO,
        };
        let is_launched = launch == Duration::ZERO;
        self.active.insert(place, Active { start, after, missing, to_come, to_leave, is_launched });
        if is_launched {
            self.launch(place, effects);
        } else {
            effects.push(Effect::Compute(NUMBER, of, start + launch, place));
        }
    }

    /// Sends the messages of an operation that need no other message, and takes messages that arrived early.
    pub(super) fn launch(&mut self, place: u32, effects: &mut Effects) {
        if let Some(active) = self.active.get_mut(&place) {
            active.is_launched = true;
        }
        match self.own().operation(place).work {
            Work::Send(number) => self.send(number, 0, After::Begun, effects),
            Work::Collective { number, place: own } => {
                let mut due = std::mem::take(&mut self.due);
                if let Some(shape) = self.shape(number) {
                    due.extend(shape.sends(own).filter(|m| shape.needs(*m) == 0));
                }
                for m in due.drain(..) {
                    self.send(number, m, After::Begun, effects);
                }
                self.due = due;
            }
            Work::Compute(_) | Work::Receive(_) => {}
        }
        for (message, posted) in self.early.remove(&place).unwrap_or_default() {
            self.arrive(place, message, posted, effects);
        }
    }

    /// A message of an operation arrived.
    pub(super) fn arrive(&mut self, place: u32, message: u32, posted: Moment, effects: &mut Effects) {
        if self.reduces() && !self.active.contains_key(&place) {
            self.begin(0, place, After::Start, effects);
        }
        let Some(active) = self.active.get_mut(&place).filter(|active| active.is_launched) else {
            self.early.entry(place).or_default().push((message, posted));
            return;
        };
        active.to_come -= 1;
        let is_over = active.to_come == 0 && active.to_leave == 0;
        if let Work::Collective { number, place: own } =
            self.graph.ranks[index(self.rank)].operation(place).work
            && let What::Collective { shape, .. } = self.graph.shared(number).what
        {
            let shape = &self.graph.shapes[index(shape)];
            let first = shape.sends(own).start;
            for m in shape.then(message) {
                let missing = &mut active.missing[index(m - first)];
                *missing -= 1;
                if *missing == 0 {
                    self.due.push(m);
                }
            }
            let mut due = std::mem::take(&mut self.due);
            for m in due.drain(..) {
                self.send(number, m, After::Message(message), effects);
            }
            self.due = due;
        }
        if is_over {
            self.end(place, Some(By { arrived: true, message, posted }), effects.now);
        }
    }

    /// The last packet of a message of an operation begins to leave.
    pub(super) fn leave(&mut self, place: u32, message: u32, now: Moment) {
        let Some(active) = self.active.get_mut(&place) else { return };
        active.to_leave -= 1;
        if active.to_come == 0 && active.to_leave == 0 {
            self.end(place, Some(By { arrived: false, message, posted: now }), now);
        }
    }

    /// Ends an operation; successors without open predecessors become ready.
    pub(super) fn end(&mut self, place: u32, by: Option<By>, now: Moment) {
        let Some(Active { start, after, .. }) = self.active.remove(&place) else { return };
        self.over.1.insert(place);
        while self.over.1.remove(&self.over.0) {
            self.over.0 += 1;
        }
        let unit = self.own().operation(place).unit;
        if let Some((is_busy, queue)) = self.units.get_mut(&unit) {
            *is_busy = false;
            self.ready.extend(queue.pop_front().map(|next| (next, After::Operation(place))));
        }
        self.ended.push(Ended { job: self.job, rank: self.rank, place, start, after, end: now, by });
        self.called.extend(self.calls.get(&place));
        let graph = self.graph.clone();
        let rank = &graph.ranks[index(self.rank)];
        self.count_down(rank, rank.then(place), After::Operation(place));
    }
}

/// The programs of a host, one for each job with a rank at the host.
#[derive(Debug, Clone, Default)]
pub struct Programs(pub(super) Vec<Program>);

impl Programs {
    /// Returns the programs of ranks at one host.
    pub fn new(mut programs: Vec<Program>) -> Self {
        for (of, program) in programs.iter_mut().enumerate() {
            program.of = of as u8;
        }
        Self(programs)
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

    /// Returns the program of the rank that receives or sends a message, and the operation. A library knows
    /// by itself when a message left.
    pub(super) fn find(&self, id: MessageId, receives: bool) -> Option<(u8, u32)> {
        let first = self.0.iter().position(|program| program.job == id.job)?;
        if self.0[first].handovers.is_none() {
            return Some((first as u8, self.0[first].own().place_of(id.number)?));
        }
        if !receives {
            return None;
        }
        let to = self.0[first].outgoing(id.number, id.place).to;
        let of = self.0.iter().position(|program| (program.job, program.rank) == (id.job, to))?;
        Some((of as u8, self.0[of].own().place_of(id.number)?))
    }
}
