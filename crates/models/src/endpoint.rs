//! Where flows start and end: the network interface of a host.
//!
//! A flow waits for its turn in a queue of its port and produces a packet at the moment of transmission, so that a pause, a rate or
//! a window that changes applies to the very next packet. Invariants: a flow is in its queue's round, or something (a hold, the
//! pacing timer, the window, the end of its data) will bring it back; each packet is delivered once, in order.

mod answers;
mod classify;
mod credit;
mod holds;
mod jitter;
mod latest;
mod messages;
mod receive;
mod sender;
mod slow;
mod stamps;
#[cfg(test)]
mod tests;
pub mod token;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::random::fold;
use xoff_engine::state;
use xoff_engine::state::{Across, State as _, Walk, Word};
use xoff_units::{Duration, Moment, index, number, wide};

pub use self::classify::{Classify, Mice};
pub use self::jitter::Jitter;
pub use self::latest::Latest;
use self::messages::Messages;
pub use self::messages::{Connection, Log};
use self::receive::{ALL_HERE, Receiver};
use self::sender::Sender;
pub use self::sender::Sent;
pub use self::slow::Bottlenecks;
pub use self::turn::{Relist, Turn};

use crate::congestion_control::Scheme;
use crate::congestion_control::contract::{Echo, Tag};
use crate::count::{Count, Group, Tally};
use crate::framing::Framing;
use crate::ids::PortId;
use crate::job::{Cycle, Programs};
use crate::message::{Delivered, MessageId};
use crate::pulls::{Books, Demand, Pacer, Rules};
use crate::routing::Sources;
use crate::routing::ate::Weight;
use crate::transport::Protocol;
use crate::workload::{Feed, FlowSpec, Start};

/// What all flows of a host share.
#[derive(Debug, Clone)]
pub struct Config {
    /// Packet sizes.
    pub framing: Framing,
    /// Retransmission.
    pub transport: Protocol,
    /// Rates, worked out for each port.
    pub schemes: Vec<Scheme>,
    /// How receivers tell senders of marks.
    pub echo: Option<Echo>,
    /// How receivers pull what senders send, if they do.
    pub pulls: Option<Rules>,
    /// Frames that let flows go on may be lost, since something fails in the network.
    pub loses_frames: bool,
    /// Which class a new flow gets.
    pub classify: Classify,
    /// How late packets start, if they do.
    pub jitter: Option<Jitter>,
    /// Whose flow a number is.
    pub sources: Arc<Sources>,
    /// The slowest link that the path of a flow may have.
    pub bottlenecks: Bottlenecks,
}

impl Config {
    /// Answers bring back the tags of packets.
    #[inline]
    fn echoes_tags(&self) -> bool {
        self.schemes.first().is_some_and(|scheme| scheme.tag() == Tag::Echoed)
    }
}

/// What flows are that end at a host, where hosts differ: as their sources have them.
#[derive(Debug, Clone)]
pub struct Mixed {
    /// What holds of the flows of each stack.
    pub configs: Vec<Arc<Config>>,
    /// The stack of each node.
    pub places: Arc<[u16]>,
}

impl Mixed {
    #[cold]
    fn of(&self, source: u32) -> &Config {
        &self.configs[usize::from(self.places[index(source)])]
    }
}

/// What holds of a flow that ends at a host, which has `own` for flows that start there.
#[inline]
fn arriving<'a>(own: &'a Config, mixed: Option<&'a Mixed>, flow: u32) -> &'a Config {
    mixed.map_or(own, |mixed| mixed.of(own.sources.of(flow)))
}

const NO_SLOT: u32 = u32::MAX;

const DUPLICATES: Count = Count::number("spurious_retransmissions", "spurious retransmissions");
const HELD_BACK: Count = Count::number("held_back", "packets held back by full sources");

/// What endpoints count, whatever their transport.
pub const GROUP: Group = Group { name: "transport", label: "transport", counts: &[DUPLICATES, HELD_BACK] };

/// How far a flow is.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay {
    /// The flow.
    pub flow: u32,
    /// Packets that nothing is waited for any more: acknowledged, or sent where none are.
    pub passed: u32,
    /// Packets that were sent.
    pub sent: u32,
    /// Packets up to the first that ends something, and is not like those before it.
    pub alike: u32,
    /// What its receiver granted, if it waits for that, and the same if its packets ask for it.
    pub credit: Option<(u32, u32)>,
    /// If it carries messages: the packets of the first that is not acknowledged, zero if all are; and how many are to come.
    pub message: Option<(u32, u32)>,
}

/// A host's flows. What each packet needs comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Endpoint {
    config: Arc<Config>,
    senders: Vec<Option<Sender>>,
    /// Slot of each flow of this node, by its number here.
    slots: Vec<u32>,
    node: u32,
    first_flow: u32,
    receivers: Vec<Receiver>,
    last_receiver: (u32, u32),
    /// What flows are that arrive, where hosts differ.
    pub mixed: Option<Box<Mixed>>,
    /// Wire bytes of data that entered the network here, again ones included.
    pub injected_bytes: u64,
    /// Wire bytes of data that arrived here.
    pub delivered_bytes: u64,
    /// Packets that arrived and were new: what flows gained.
    pub accepted: u64,
    /// What happened last.
    pub latest: Latest,
    duplicates: u64,
    /// Packets that arrived out of order without having been sent again.
    pub reordered: u64,
    held_back: u64,
    /// What congestion control was told by the network.
    pub notifications: u64,
    /// Flows in the order of their first packets, and when they would time out.
    first_timeouts: VecDeque<(Moment, u32)>,
    free: Vec<u32>,
    /// What pulls them, and what credit flows that start here had.
    pacer: Option<Box<Pacer>>,
    books: Books,
    free_receivers: Vec<u32>,
    receiver_of: FxHashMap<u32, u32>,
    /// By which ports flows left first that were moved to others.
    homes: FxHashMap<u32, PortId>,
    /// By which of two domains flows leave.
    weight: Option<Weight>,
    /// Flows to come.
    pub starts: Vec<Start>,
    /// How many flows a waiting flow still needs, and the flow.
    waiting: Vec<(u32, FlowSpec)>,
    /// For a flow that arrives here, or leaves: the waiting flows that need it.
    dependents: FxHashMap<u32, Vec<u32>>,
    /// For flows to come: when their packets do.
    pub arrivals: FxHashMap<u32, Box<Feed>>,
    /// Until when destinations are held.
    held_destinations: FxHashMap<u32, Moment>,
    /// What the ranks at this host do.
    pub programs: Programs,
    /// Connections that start here, by their numbers.
    pub connections: Vec<Connection>,
    /// The messages of the one that is about to start.
    opening: Option<Box<Messages>>,
    /// Of connections that end here, what they are told of their messages.
    pub incoming: FxHashMap<u32, Arc<Log>>,
    /// Messages delivered here since the last checkpoint.
    pub delivered: Vec<Delivered>,
    /// Flows acknowledged since the last checkpoint.
    pub sent: Vec<Sent>,
    /// Flows arrived since the last checkpoint, and when.
    pub arrived: Vec<(u32, Moment)>,
    /// For each mechanism, by name: holds of flows that were over.
    pub late_holds: BTreeMap<&'static str, u64>,
}

impl state::State for Endpoint {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            senders,
            receivers,
            first_timeouts,
            pacer,
            free,
            receiver_of,
            homes,
            weight,
            starts,
            waiting,
            dependents,
            arrivals,
            held_destinations,
            programs,
            connections,
            delivered,
            // What never changes, follows from the rest, or is kept to be fast.
            config: _,
            mixed: _,
            slots: _,
            node: _,
            first_flow: _,
            opening: _,
            incoming: _,
            last_receiver: _,
            free_receivers: _,
            injected_bytes,
            delivered_bytes,
            accepted,
            latest,
            duplicates,
            reordered,
            held_back,
            notifications,
            books,
            sent,
            arrived,
            late_holds,
        } = self;
        for total in [injected_bytes, delivered_bytes, accepted, duplicates, reordered, held_back, notifications] {
            walk.total(total);
        }
        latest.walk(walk);
        books.walk(walk);
        walk.total_each(late_holds.values_mut());
        // A flow that ends is no repetition.
        walk.same(wide(sent.len()));
        walk.same(wide(arrived.len()));
        walk.rows(delivered);
        walk.total_each(connections.iter_mut().map(|connection| &mut connection.to_come));
        programs.walk(walk);
        senders.walk(walk);
        for sender in senders.iter_mut().flatten() {
            sender.follow_messages();
            sender.walk_deadline(walk);
        }
        walk.value(free.word());
        // A flow that has arrived whole is told by its sender; the places of the others are nobody's business.
        walk.keyed(receiver_of.iter_mut().filter(|r| *r.1 != ALL_HERE), |walk, flow, place| {
            walk.of_flow(*flow);
            receivers[index(*place)].walk(walk);
        });
        for (at, flow) in first_timeouts {
            walk.reminder(at);
            walk.value(u64::from(*flow));
        }
        walk.within("pulls", |walk| pacer.walk(walk));
        weight.walk(walk);
        if !homes.is_empty() {
            walk.refuse();
        }
        // Nor is one that begins from outside.
        walk.same(starts.iter().fold(wide(starts.len()), |hash, start| fold(hash, start.peek().map_or(0, Moment::ps))));
        walk.same(waiting.iter().map(|(missing, _)| u64::from(*missing)).sum());
        walk.outside(|walk| walk_to_come(starts, waiting, dependents, arrivals, walk));
        walk.keyed(held_destinations.iter_mut(), |walk, _, until| walk.due(until));
    }
}

/// Shows flows to come, those that wait for others, and when packets of flows do.
fn walk_to_come(
    starts: &mut Vec<Start>,
    waiting: &mut [(u32, FlowSpec)],
    dependents: &mut FxHashMap<u32, Vec<u32>>,
    arrivals: &mut FxHashMap<u32, Box<Feed>>,
    walk: &mut Walk<'_>,
) {
    starts.walk(walk);
    for (missing, spec) in waiting {
        walk.value(u64::from(*missing));
        spec.walk(walk);
    }
    walk.keyed(dependents.iter_mut(), |walk, _, flows| walk.value(flows.word()));
    walk.keyed(arrivals.iter_mut(), |walk, flow, arrivals| {
        walk.of_flow(*flow);
        arrivals.walk(walk);
    });
}

impl Endpoint {
    /// A host without flows yet.
    pub fn new(node: u32, config: Arc<Config>, weight: Option<Weight>, starts: Vec<Start>, waiting: Vec<(Vec<u32>, FlowSpec)>) -> Self {
        let mut dependents: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let waiting = waiting
            .into_iter()
            .enumerate()
            .map(|(i, (after, spec))| {
                for flow in &after {
                    dependents.entry(*flow).or_default().push(number(i));
                }
                (number(after.len()), spec)
            })
            .collect();
        Self {
            node,
            first_flow: config.sources.first[index(node)],
            pacer: config.pulls.as_ref().map(|rules| Box::new(Pacer::new(rules, node))),
            books: Books::default(),
            config,
            slots: Vec::new(),
            first_timeouts: VecDeque::new(),
            senders: Vec::new(),
            free: Vec::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            receiver_of: FxHashMap::default(),
            homes: FxHashMap::default(),
            last_receiver: (u32::MAX, 0),
            mixed: None,
            weight,
            starts,
            waiting,
            dependents,
            arrivals: FxHashMap::default(),
            held_destinations: FxHashMap::default(),
            programs: Programs::default(),
            connections: Vec::new(),
            opening: None,
            incoming: FxHashMap::default(),
            delivered: Vec::new(),
            sent: Vec::new(),
            arrived: Vec::new(),
            injected_bytes: 0,
            delivered_bytes: 0,
            accepted: 0,
            latest: Latest::default(),
            duplicates: 0,
            reordered: 0,
            late_holds: BTreeMap::new(),
            notifications: 0,
            held_back: 0,
        }
    }

    /// How far the flows under way from here are.
    pub fn under_way(&self) -> impl Iterator<Item = UnderWay> {
        // Who asks for credit looks at what is left, up to the most that it asks for.
        let ahead = self.config.pulls.as_ref().map_or(0, |rules| rules.looks_ahead(self.config.framing.payload));
        let asks = self.config.pulls.as_ref().is_some_and(|rules| matches!(rules.demand, Demand::Targets(_)));
        self.senders.iter().flatten().map(move |s| UnderWay {
            flow: s.flow,
            passed: s.progress.unacknowledged,
            sent: s.progress.highest,
            alike: s.messages.as_ref().map_or(s.progress.packets, |messages| messages.first_end()).saturating_sub(1 + ahead),
            credit: s.credit.as_ref().map(|credit| (credit.pulled(), if asks { credit.pulled() } else { 0 })),
            message: s.messages.as_ref().map(|messages| (messages.first_packets(), self.to_come(s.flow))),
        })
    }

    /// Messages of a connection that were not handed over yet.
    fn to_come(&self, flow: u32) -> u32 {
        self.connections.binary_search_by_key(&flow, |c| c.spec.flow).map_or(0, |place| self.connections[place].to_come)
    }

    /// Messages that were handed over here and that their other ends do not have.
    pub fn undelivered(&self) -> impl Iterator<Item = MessageId> {
        self.senders.iter().flatten().filter_map(|s| s.messages.as_ref()).flat_map(|messages| messages.undelivered())
    }

    /// What a rank here does again and again, if one does.
    pub fn cycle(&self, across: Across) -> Option<Cycle> {
        self.programs.cycle(across, &self.config.framing)
    }

    /// Reads what the next packets of its first flows need.
    #[inline]
    pub fn touch(&self) -> u64 {
        let sender = self.senders.first().and_then(Option::as_ref).map_or(0, |s| s.next_send.0 ^ s.deadline.0 ^ u64::from(s.progress.next));
        let slot = self.slots.last().map_or(0, |slot| u64::from(*slot));
        self.accepted ^ sender ^ slot ^ self.receivers.first().map_or(0, Receiver::touch)
    }

    fn slot(&self, flow: u32) -> Option<usize> {
        let slot = *self.slots.get(index(flow.wrapping_sub(self.first_flow)))?;
        (slot != NO_SLOT).then_some(index(slot))
    }

    /// The shortest and the longest timeout of its flows; none where nothing is acknowledged.
    pub fn timeouts(&self) -> Option<(Duration, Duration)> {
        self.config.transport.acknowledges().then(|| self.config.transport.timeouts())
    }

    /// Says what it counted.
    pub fn counts(&self, tally: &mut dyn Tally) {
        tally.add(DUPLICATES, self.duplicates);
        tally.add(HELD_BACK, self.held_back);
    }

    /// The name of the congestion control, if there is one.
    pub fn control(&self) -> Option<&'static str> {
        self.config.schemes.first()?.name()
    }

    /// Whether this flow has started and is not over.
    pub fn is_under_way(&self, flow: u32) -> bool {
        self.slot(flow).is_some()
    }

    /// Whether no flow has anything to send or to hear.
    pub fn is_quiet(&self) -> bool {
        self.senders.iter().flatten().all(|s| s.is_idle(&self.config))
    }

    /// Whether a flow has something to send or to hear, or something starts here, or will, without anything else having to happen.
    pub fn goes_on(&self, now: Moment) -> bool {
        let is_released = |(missing, spec): &(u32, FlowSpec)| *missing == 0 && spec.start >= now;
        self.senders.iter().flatten().any(|s| !s.is_idle(&self.config))
            || self.starts.iter().any(|start| start.peek().is_some())
            || self.waiting.iter().any(is_released)
            || self.programs.goes_on(now)
    }

    /// Flows that started and are not over; what they are held for beyond `now` does not count.
    pub fn unfinished(&self, now: Moment) -> Vec<Sent> {
        let record = |s: &Sender| s.record(None, &self.config.framing, now);
        let mut list: Vec<Sent> = self.senders.iter().flatten().map(record).collect();
        list.sort_by_key(|s| s.flow);
        list
    }

    /// The node's number.
    pub const fn node(&self) -> u32 {
        self.node
    }
}
