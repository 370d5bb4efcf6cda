//! The endpoint: the network interface of a host, where flows start and end.
//!
//! A flow waits for its turn in a queue of its port and produces a packet at the moment of transmission, so a
//! pause, a new rate or a new window applies to the very next packet. Invariants: a flow is in the round of
//! its queue, or an event (the end of a hold, the pacing timer, the window, new data) brings the flow back;
//! each packet is delivered once, in order.

mod acks;
mod classify;
mod config;
mod credit;
mod halves;
mod holds;
mod jitter;
mod latest;
mod message_queue;
mod messages;
mod receive;
mod receiver;
mod receiver_half;
mod schedule;
mod send_times;
mod sender;
mod slices;
mod slow;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::random::fold;
use xoff_engine::state;
use xoff_engine::state::{PeriodKind, State as _, StateVisitor, Word};
use xoff_units::{Duration, Moment, index, number, wide};

pub use self::classify::{Classify, Mice};
pub use self::config::{Config, Mixed, Schemes};
pub use self::jitter::Jitter;
pub use self::latest::Latest;
use self::message_queue::Messages;
use self::receiver::{ALL_HERE, Receiver};
use self::sender::Sender;
pub use self::sender::Sent;
pub use self::slow::Bottlenecks;
pub use self::turn::{Requeue, Turn};
use crate::ports::nvlink::pipes::NvLink;
use crate::traffic::application::{Applications, Cycle};

use crate::frames::flow::{Connection, FlowSpec, Incoming, SourceQueue, Start};
use crate::frames::message::{Delivered, MessageId};
use crate::hosts::congestion_control::contract::NOTIFICATIONS;
use crate::hosts::pulls::{CreditCounters, Demand};
use crate::parts::count::{Count, Group, Tally};
use crate::parts::ids::PortId;
use crate::paths::routing::ate::Weight;
use crate::paths::symmetry::Symmetry;

const NO_SLOT: u32 = u32::MAX;

const DUPLICATES: Count = Count::number("spurious_retransmissions", "spurious retransmissions");
const HELD_BACK: Count = Count::number("held_back", "packets held back by full sources");

/// Counts of endpoints with any transport.
pub const GROUP: Group =
    Group { name: "transport", label: "transport", counts: &[DUPLICATES, HELD_BACK], listens_to: None };

/// The progress of a flow.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay {
    /// The flow.
    pub flow: u32,
    /// Finished packets: acknowledged, or sent where receivers send no answers.
    pub passed: u32,
    /// Packets sent.
    pub sent: u32,
    /// Packets up to the first that ends a message or the flow and differs from the packets before.
    pub alike: u32,
    /// The receiver's grant, if the flow needs credit; and the same if packets carry the demand.
    pub credit: Option<(u32, u32)>,
    /// For a connection: packets of the first message without a full ACK, zero if none; and messages to come.
    pub message: Option<(u32, u32)>,
}

/// A host's flows. Fields that each packet needs come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Endpoint {
    config: Arc<Config>,
    senders: Vec<Option<Sender>>,
    /// Slot of each flow of this node, by the flow's local number.
    slots: Vec<u32>,
    node: u32,
    first_flow: u32,
    receivers: Vec<Receiver>,
    last_receiver: (u32, u32),
    /// The stacks of arriving flows, where hosts differ.
    pub mixed: Option<Box<Mixed>>,
    /// Wire bytes of data sent into the network, including retransmissions.
    pub injected_bytes: u64,
    /// Wire bytes of data received.
    pub delivered_bytes: u64,
    /// New packets received.
    pub accepted: u64,
    /// The last gain of a packet and the last start of a flow.
    pub latest: Latest,
    duplicates: u64,
    /// Packets that arrived out of order without having been retransmitted.
    pub reordered: u64,
    held_back: u64,
    /// Messages of the network to congestion control.
    pub notifications: u64,
    /// The counts of congestion controls over finished flows, by control and count.
    counted: BTreeMap<(&'static str, &'static str), (Count, u64)>,
    /// First timeouts of flows, in the order of their first packets.
    first_timeouts: VecDeque<(Moment, u32)>,
    free: Vec<u32>,
    /// The receiver's half of the flows that end here.
    receiving: Option<receiver_half::ReceiverHalf>,
    /// The credit of flows that start here.
    counters: CreditCounters,
    free_receivers: Vec<u32>,
    receiver_of: FxHashMap<u32, u32>,
    /// The original ports of flows that were moved to another port.
    homes: FxHashMap<u32, PortId>,
    /// By which of two domains flows leave.
    weight: Option<Weight>,
    /// Flows to come.
    pub starts: Vec<Start>,
    /// The number of flows that a waiting flow still needs, and the flow.
    waiting: Vec<(u32, FlowSpec)>,
    /// For an arriving or leaving flow: the flows that wait for the flow.
    dependents: FxHashMap<u32, Vec<u32>>,
    /// For flows to come: the arrival times of their packets.
    pub arrivals: FxHashMap<u32, Box<SourceQueue>>,
    /// Until when destinations are held.
    held_destinations: FxHashMap<u32, Moment>,
    /// The applications at this host.
    pub applications: Applications,
    /// NVLink of the GPUs here.
    pub nvlink: Option<Box<NvLink>>,
    /// True if an application here counts the slots of its connections.
    pub frees_slots: bool,
    /// Connections with an acknowledged message, within an event.
    pub freed: Vec<u32>,
    /// Connections that start here, by number.
    pub connections: Vec<Connection>,
    /// The messages of the connection that is about to start.
    opening: Option<Box<Messages>>,
    /// The message logs of connections that end here.
    pub incoming: FxHashMap<u32, Incoming>,
    /// The group of renamings of a folded run.
    pub folded: Option<Arc<Symmetry>>,
    /// Messages delivered here since the last checkpoint.
    pub delivered: Vec<Delivered>,
    /// Flows acknowledged since the last checkpoint.
    pub sent: Vec<Sent>,
    /// Flows arrived since the last checkpoint, and when.
    pub arrived: Vec<(u32, Moment)>,
    /// Holds of finished flows, by mechanism.
    pub late_holds: BTreeMap<&'static str, u64>,
}

impl state::State for Endpoint {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            senders,
            receivers,
            first_timeouts,
            receiving,
            free,
            receiver_of,
            homes,
            weight,
            starts,
            waiting,
            dependents,
            arrivals,
            held_destinations,
            applications,
            nvlink,
            connections,
            delivered,
            config,
            // Constant fields, derived fields, and caches.
            mixed: _,
            slots: _,
            node: _,
            first_flow: _,
            opening: _,
            frees_slots: _,
            freed: _,
            incoming: _,
            folded: _,
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
            counters,
            sent,
            arrived,
            late_holds,
            counted,
        } = self;
        for total in
            [injected_bytes, delivered_bytes, accepted, duplicates, reordered, held_back, notifications]
        {
            walk.total(total);
        }
        latest.walk(walk);
        counters.walk(walk);
        walk.total_each(late_holds.values_mut());
        walk.total_each(counted.values_mut().map(|(_, n)| n));
        // A flow that ends is no repetition.
        walk.same((wide(sent.len()) << 32) | wide(arrived.len()));
        walk.rows(delivered);
        walk.total_each(connections.iter_mut().map(|connection| &mut connection.to_come));
        applications.walk(walk);
        nvlink.walk(walk);
        walk_senders(senders, config, walk);
        walk.value(free.word());
        walk_receivers(receiver_of, receivers, walk);
        walk_first_timeouts(first_timeouts, walk);
        walk.within("receiver", |walk| receiving.walk(walk));
        weight.walk(walk);
        if !homes.is_empty() {
            walk.refuse();
        }
        // Nor is one that begins from outside.
        let next = starts.iter().map(|start| start.peek().map_or(0, Moment::ps));
        walk.same(next.fold(wide(starts.len()), fold));
        walk.same(waiting.iter().map(|(missing, _)| u64::from(*missing)).sum());
        walk.outside(|walk| walk_to_come(starts, waiting, dependents, arrivals, walk));
        walk.keyed(held_destinations.iter_mut(), |walk, _, until| walk.due(until));
    }
}

/// Shows the senders of flows.
fn walk_senders(senders: &mut Vec<Option<Sender>>, config: &Config, walk: &mut StateVisitor<'_>) {
    senders.walk(walk);
    for sender in senders.iter_mut().flatten() {
        sender.follow_messages();
        sender.walk_deadline(walk);
        if config.schemes.is_ranked {
            // The order of flows depends on what is left of each.
            walk.value(sender.left(&config.framing));
        }
    }
}

/// Shows arriving flows. A flow that has arrived whole is told by its sender. The places of the others do not matter.
fn walk_receivers(
    receiver_of: &mut FxHashMap<u32, u32>,
    receivers: &mut [Receiver],
    walk: &mut StateVisitor<'_>,
) {
    walk.keyed(receiver_of.iter_mut().filter(|r| *r.1 != ALL_HERE), |walk, flow, place| {
        walk.of_flow(*flow);
        receivers[index(*place)].walk(walk);
    });
}

/// Shows the first timeouts of flows.
fn walk_first_timeouts(first_timeouts: &mut VecDeque<(Moment, u32)>, walk: &mut StateVisitor<'_>) {
    for (at, flow) in first_timeouts {
        walk.reminder(at);
        walk.value(u64::from(*flow));
    }
}

/// Shows flows to come, waiting flows, and arrival times of packets.
fn walk_to_come(
    starts: &mut Vec<Start>,
    waiting: &mut [(u32, FlowSpec)],
    dependents: &mut FxHashMap<u32, Vec<u32>>,
    arrivals: &mut FxHashMap<u32, Box<SourceQueue>>,
    walk: &mut StateVisitor<'_>,
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
    pub fn new(
        node: u32,
        config: Arc<Config>,
        weight: Option<Weight>,
        starts: Vec<Start>,
        waiting: Vec<(Vec<u32>, FlowSpec)>,
    ) -> Self {
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
            receiving: config.receiving(node).map(|half| receiver_half::ReceiverHalf { half, timer: None }),
            counters: CreditCounters::default(),
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
            applications: Applications::default(),
            nvlink: None,
            frees_slots: false,
            freed: Vec::new(),
            connections: Vec::new(),
            opening: None,
            incoming: FxHashMap::default(),
            folded: None,
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
            counted: BTreeMap::new(),
            held_back: 0,
        }
    }

    /// The progress of the flows that started here.
    pub fn under_way(&self) -> impl Iterator<Item = UnderWay> {
        // A flow that requests credit reads its remaining packets, up to the maximum request. So do some controls.
        let payload = self.config.framing.payload;
        let ahead = self.config.pulls.as_ref().map_or(0, |rules| rules.looks_ahead(payload));
        let ahead = ahead.max(self.config.schemes.looks_ahead(payload));
        let asks = self.config.pulls.as_ref().is_some_and(|rules| matches!(rules.demand, Demand::Targets(_)));
        self.senders.iter().flatten().map(move |s| UnderWay {
            flow: s.flow,
            passed: s.progress.unacknowledged,
            sent: s.progress.highest,
            alike: s
                .messages
                .as_ref()
                .map_or(s.progress.packets, |messages| messages.first_end())
                .saturating_sub(ahead.saturating_add(1)),
            credit: s.credit.as_ref().map(|credit| (credit.pulled(), if asks { credit.pulled() } else { 0 })),
            message: s.messages.as_ref().map(|messages| (messages.first_packets(), self.to_come(s.flow))),
        })
    }

    /// Messages of a connection that are still to be posted.
    fn to_come(&self, flow: u32) -> u32 {
        self.connections
            .binary_search_by_key(&flow, |c| c.spec.flow)
            .map_or(0, |place| self.connections[place].to_come)
    }

    /// Messages posted here and not delivered at the other end.
    pub fn undelivered(&self) -> impl Iterator<Item = MessageId> {
        self.senders
            .iter()
            .flatten()
            .filter_map(|s| s.messages.as_ref())
            .flat_map(|messages| messages.undelivered())
    }

    /// Finds what the applications here repeat. Returns the number of compared operations.
    pub fn follow(&mut self, kind: PeriodKind) -> u64 {
        self.applications.each_mut().map(|one| one.follow(kind)).sum()
    }

    /// Returns the cycle of the first application here that repeats its work.
    pub fn cycle(&self, kind: PeriodKind) -> Option<Cycle> {
        self.applications.each().find_map(|one| one.cycle(kind, &self.config.framing))
    }

    /// Returns the packets of a loop of messages of the applications here; zero without a loop.
    pub fn packets_in_loop(&self) -> u64 {
        self.applications.each().map(|one| one.packets_in_loop(&self.config.framing)).sum()
    }

    /// Reads the memory that the next packets of the first flows need.
    #[inline]
    pub fn touch(&self) -> u64 {
        let sender = self
            .senders
            .first()
            .and_then(Option::as_ref)
            .map_or(0, |s| s.next_send.0 ^ s.deadline.0 ^ u64::from(s.progress.next));
        let slot = self.slots.last().map_or(0, |slot| u64::from(*slot));
        self.accepted ^ sender ^ slot ^ self.receivers.first().map_or(0, Receiver::touch)
    }

    fn slot(&self, flow: u32) -> Option<usize> {
        let slot = *self.slots.get(index(flow.wrapping_sub(self.first_flow)))?;
        (slot != NO_SLOT).then_some(index(slot))
    }

    /// The shortest and the longest timeout of the flows; none without answers.
    pub fn timeouts(&self) -> Option<(Duration, Duration)> {
        self.config.transport.acknowledges().then(|| self.config.transport.timeouts())
    }

    /// Adds up the counts.
    pub fn counts(&self, tally: &mut dyn Tally) {
        tally.add(DUPLICATES, self.duplicates);
        tally.add(HELD_BACK, self.held_back);
    }

    /// The name of the congestion control, if any.
    pub fn control(&self) -> Option<&'static str> {
        self.config.schemes.first(0)?.name()
    }

    /// Adds up the counts of congestion controls: `add` gets the name of the control, the count, and the number.
    pub fn count_control(&self, mut add: impl FnMut(&'static str, Count, u64)) {
        if let Some(control) = self.control() {
            add(control, NOTIFICATIONS, self.notifications);
        }
        for ((control, _), (count, n)) in &self.counted {
            add(control, *count, *n);
        }
        for s in self.senders.iter().flatten() {
            self.count_flow(s, &mut add);
        }
    }

    /// Passes on the counts of a flow.
    fn count_flow(&self, s: &Sender, add: &mut impl FnMut(&'static str, Count, u64)) {
        let scheme = self.config.schemes.at(s.control, s.port);
        if let Some(control) = scheme.name() {
            scheme.counts(&s.rate, &mut |count, n| add(control, count, n));
        }
    }

    /// Adds the counts of a finished flow.
    fn count_finished(&mut self, s: &Sender) {
        let mut counted = std::mem::take(&mut self.counted);
        self.count_flow(s, &mut |control, count, n| {
            counted.entry((control, count.name)).or_insert((count, 0)).1 += n;
        });
        self.counted = counted;
    }

    /// True when the flow has started and not ended.
    pub fn is_under_way(&self, flow: u32) -> bool {
        self.slot(flow).is_some()
    }

    /// True when no flow can send and no flow waits for an answer.
    pub fn is_quiet(&self) -> bool {
        self.senders.iter().flatten().all(|s| s.is_idle(&self.config))
    }

    /// True when a flow can send or waits for an answer, or when a flow starts here without a further event
    /// elsewhere.
    pub fn goes_on(&self, now: Moment) -> bool {
        let is_released = |(missing, spec): &(u32, FlowSpec)| *missing == 0 && spec.start >= now;
        self.senders.iter().flatten().any(|s| !s.is_idle(&self.config))
            || self.starts.iter().any(|start| start.peek().is_some())
            || self.waiting.iter().any(is_released)
            || self.applications.each().any(|one| one.goes_on(now))
            || self.nvlink.as_ref().is_some_and(|nvlink| !nvlink.is_quiet())
    }

    /// Returns the first start of a flow or application at this host; `Moment::NEVER` for a host without one.
    pub fn first_start(&self) -> Moment {
        let flows = self.starts.iter().filter_map(Start::peek);
        let applications = self.applications.starts().map(|(_, (at, ..))| at);
        flows.chain(applications).fold(Moment::NEVER, Moment::min)
    }

    /// Returns the packets of a flow that arrived here in order; all for a flow that arrived whole.
    pub fn arrived_in_order(&self, flow: u32) -> u32 {
        match self.receiver_of.get(&flow) {
            None => 0,
            Some(&ALL_HERE) => u32::MAX,
            Some(place) => self.receivers[index(*place)].received.expected,
        }
    }

    /// Flows that have started and not ended. Hold time after `now` does not count.
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
