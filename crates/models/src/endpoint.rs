//! Where flows start and end: the network interface of a host.
//!
//! A flow waits for its turn in a queue of its port and produces a packet at the moment of transmission, so that a pause, a rate or
//! a window that changes applies to the very next packet. Invariants: a flow is in its queue's round, or something (a hold, the
//! pacing timer, the window, the end of its data) will bring it back; each packet is delivered once, in order.

mod answers;
mod classify;
mod receive;
mod stamps;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{Rate, Time};

pub use self::classify::{Classify, Mice};
pub use self::receive::Answer;
use self::receive::Receiver;
use self::stamps::Stamps;

use crate::congestion_control::contract::Sent as OnWire;
use crate::congestion_control::{Scheme, State};
use crate::count::{Count, Group, Tally};
use crate::framing::Framing;
use crate::packet::{Kind, Packet};
use crate::routing::ate::Weight;
use crate::routing::{Paths, Sources};
use crate::transport::contract::Progress;
use crate::transport::{self, Protocol};
use crate::workload::bernoulli::Arrivals;
use crate::workload::{FlowSpec, Start};

/// What all flows of a host share.
#[derive(Debug, Clone)]
pub struct Config {
    /// Packet sizes.
    pub framing: Framing,
    /// Retransmission.
    pub transport: Protocol,
    /// Rates, worked out for each port.
    pub schemes: Vec<Scheme>,
    /// Which class a new flow gets.
    pub classify: Classify,
    /// Whose flow a number is.
    pub sources: Arc<Sources>,
}

/// A flow that sends.
#[derive(Debug)]
pub struct Sender {
    flow: u32,
    dst: u32,
    size: u64,
    start: Time,
    port: u16,
    path: u16,
    queue: u16,
    class: u8,
    is_listed: bool,
    is_rto_set: bool,
    /// When its pacing timer expires.
    pace_at: Time,
    /// What of it there is to send yet, when it comes bit by bit.
    arrivals: Option<Box<Arrivals>>,
    /// When its packets started, if its congestion control wants to know.
    stamps: Option<Box<Stamps>>,
    progress: Progress,
    transport: transport::Sender,
    rate: State,
    next_send: Time,
    held_until: Time,
    deadline: Time,
    sent: u32,
    retransmitted: u32,
    notifications: u32,
    holds: u32,
    paused: Time,
}

impl Sender {
    /// Whether a packet is there to be sent; all of a flow is, unless it comes bit by bit.
    #[inline]
    fn has_arrived(&self, seq: u32) -> bool {
        self.arrivals.as_ref().is_none_or(|a| seq < a.arrived())
    }

    /// When a packet is there: now or before as zero.
    #[inline]
    fn arrives(&self, seq: u32) -> Time {
        match &self.arrivals {
            Some(arrivals) if seq >= arrivals.arrived() => arrivals.next(),
            _ => Time::ZERO,
        }
    }

    /// Whether the window lets a packet go. One that is sent again was let go before: it would wait for itself.
    #[inline]
    fn has_window(&self, seq: u32, config: &Config) -> bool {
        seq < self.progress.highest || self.in_flight() * config.framing.payload < config.schemes[self.port as usize].window(&self.rate)
    }

    /// Packets from the oldest without ACK to the newest sent.
    #[inline]
    fn in_flight(&self) -> u64 {
        u64::from(self.progress.next.saturating_sub(self.progress.unacknowledged))
    }
}

/// A flow that is acknowledged to its last byte.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The flow.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// When it started.
    pub start: Time,
    /// When the last ACK came.
    pub acknowledged: Option<Time>,
    /// Packets sent, again ones included.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// What its congestion control was told by the network.
    pub notifications: u32,
    /// Times that a mechanism held it.
    pub holds: u32,
    /// For how long.
    pub paused: Time,
    /// Its class.
    pub class: u8,
    /// Its pinned path.
    pub path: u16,
    /// The port by which it left.
    pub port: u16,
}

/// What the node does next for a flow whose turn it is.
#[derive(Debug)]
pub enum Turn {
    /// Sends this, and the flow waits for its next turn.
    Send(Packet),
    /// Sends this; the flow may go on at this moment and not before.
    SendThenWait(Packet, Time),
    /// Sends this; the flow leaves the round.
    SendAndLeave(Packet),
    /// The flow leaves the round.
    Leave,
}

/// Whether a flow can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relist {
    /// It has nothing to send, or something else will bring it back.
    No,
    /// It joins the round of its queue at its port.
    Now {
        /// Its slot, the supplier's number.
        slot: u32,
        /// Its port.
        port: u16,
        /// Its queue there.
        queue: u16,
    },
    /// Its pace allows it then.
    At(Time),
}

/// Timers of an endpoint: a kind and a flow or a source.
pub mod token {
    /// A source's next flow starts.
    pub const START: u64 = 0;
    /// A paced flow may go on.
    pub const PACE: u64 = 1;
    /// A flow's retransmission timeout.
    pub const RTO: u64 = 2;
    /// A hold may have ended.
    pub const HOLD: u64 = 3;
    /// The next of the flows' first timeouts.
    pub const FIRST_RTO: u64 = 4;
    /// The transport's timer of the whole host.
    pub const HOST: u64 = 5;
    /// A mechanism's timer.
    pub const MECHANISM: u64 = 6;

    /// Packs a kind, an owner and a payload.
    pub const fn pack(kind: u64, owner: u8, payload: u32) -> u64 {
        kind << 40 | (owner as u64) << 32 | payload as u64
    }

    /// Unpacks them.
    pub const fn unpack(token: u64) -> (u64, u8, u32) {
        (token >> 40, (token >> 32) as u8, token as u32)
    }
}

const NO_SLOT: u32 = u32::MAX;

const DUPLICATES: Count = Count::number("duplicates", "packets sent again in vain");
const HELD_BACK: Count = Count::number("held_back", "packets held back by full sources");

/// What endpoints count, whatever their transport.
pub const GROUP: Group = Group { name: "transport", label: "transport", counts: &[DUPLICATES, HELD_BACK] };

/// A host's flows.
#[derive(Debug)]
pub struct Endpoint {
    node: u32,
    config: Arc<Config>,
    first_flow: u32,
    /// Slot of each flow of this node, by its number here.
    slots: Vec<u32>,
    /// Flows in the order of their first packets, and when they would time out.
    first_timeouts: VecDeque<(Time, u32)>,
    senders: Vec<Option<Sender>>,
    free: Vec<u32>,
    receivers: Vec<Receiver>,
    /// What the transport keeps of all flows that end here.
    host: transport::Host,
    free_receivers: Vec<u32>,
    receiver_of: FxHashMap<u32, u32>,
    last_receiver: (u32, u32),
    /// By which of two domains flows leave.
    weight: Option<Weight>,
    /// Flows to come.
    pub starts: Vec<Start>,
    /// How many arrivals a waiting flow still needs, and the flow.
    waiting: Vec<(u32, FlowSpec)>,
    /// For a flow that arrives here: the waiting flows that need it.
    dependents: FxHashMap<u32, Vec<u32>>,
    /// For flows to come: when their packets do.
    pub arrivals: FxHashMap<u32, Box<Arrivals>>,
    /// Until when destinations are held.
    held_destinations: FxHashMap<u32, Time>,
    /// Flows acknowledged since the last checkpoint.
    pub sent: Vec<Sent>,
    /// Flows arrived since the last checkpoint, and when.
    pub arrived: Vec<(u32, Time)>,
    /// Wire bytes of data that entered the network here, again ones included.
    pub injected_bytes: u64,
    /// Wire bytes of data that arrived here.
    pub delivered_bytes: u64,
    /// Packets that arrived and were new: what flows gained.
    pub accepted: u64,
    duplicates: u64,
    /// Packets that arrived out of order without having been sent again.
    pub reordered: u64,
    /// For each mechanism, by name: holds of flows that were over.
    pub late_holds: BTreeMap<&'static str, u64>,
    /// What congestion control was told by the network.
    pub notifications: u64,
    held_back: u64,
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
                    dependents.entry(*flow).or_default().push(i as u32);
                }
                (after.len() as u32, spec)
            })
            .collect();
        Self {
            node,
            first_flow: config.sources.first[node as usize],
            host: config.transport.host(),
            config,
            slots: Vec::new(),
            first_timeouts: VecDeque::new(),
            senders: Vec::new(),
            free: Vec::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            receiver_of: FxHashMap::default(),
            last_receiver: (u32::MAX, 0),
            weight,
            starts,
            waiting,
            dependents,
            arrivals: FxHashMap::default(),
            held_destinations: FxHashMap::default(),
            sent: Vec::new(),
            arrived: Vec::new(),
            injected_bytes: 0,
            delivered_bytes: 0,
            accepted: 0,
            duplicates: 0,
            reordered: 0,
            late_holds: BTreeMap::new(),
            notifications: 0,
            held_back: 0,
        }
    }

    fn slot(&self, flow: u32) -> Option<usize> {
        let slot = *self.slots.get(flow.wrapping_sub(self.first_flow) as usize)?;
        (slot != NO_SLOT).then_some(slot as usize)
    }

    /// The port by which a flow leaves that may take any of `choices`, when this host has a rule of its own; `rate` tells a port's.
    pub fn first_hop(&mut self, spec: &FlowSpec, choices: &[u16], rate: impl Fn(u16) -> Rate, now: Time) -> Option<u16> {
        let weight = self.weight.as_mut().filter(|_| choices.len() > 1 && spec.path < Paths::FIRST)?;
        let faster = choices.iter().copied().max_by_key(|p| rate(*p))?;
        let slower = choices.iter().copied().find(|p| rate(*p) < rate(faster))?;
        Some(if weight.takes_faster(spec.size, rate(faster), now) { faster } else { slower })
    }

    /// Starts a flow in a queue of a port; returns its slot for the node to list it, and until when its destination is held.
    pub fn start(&mut self, spec: &FlowSpec, port: u16, queue: u16, now: Time) -> (u32, Option<Time>) {
        let index = (spec.flow - self.first_flow) as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, NO_SLOT);
        }
        let held_until = self.held_destinations.get(&spec.dst).copied().filter(|until| *until > now);
        let scheme = &self.config.schemes[port as usize];
        let packets = self.config.framing.packets(spec.size) as u32;
        let sender = Sender {
            flow: spec.flow,
            dst: spec.dst,
            size: spec.size,
            start: now,
            port,
            path: spec.path,
            queue,
            class: spec.class,
            is_listed: true,
            is_rto_set: false,
            pace_at: Time::NEVER,
            arrivals: self.arrivals.remove(&spec.flow),
            stamps: scheme.hears_acks().then(Box::default),
            progress: Progress { packets, ..Progress::default() },
            transport: self.config.transport.sender(),
            rate: scheme.start(),
            next_send: now,
            held_until: held_until.unwrap_or_default(),
            deadline: Time::NEVER,
            sent: 0,
            retransmitted: 0,
            notifications: 0,
            holds: 0,
            paused: held_until.map_or(Time::ZERO, |until| until - now),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.senders[slot as usize] = Some(sender);
            slot
        } else {
            self.senders.push(Some(sender));
            self.senders.len() as u32 - 1
        };
        self.slots[index] = slot;
        (slot, held_until)
    }

    /// A flow's turn; the frame would end at `now` plus its time on the wire. With it comes when to look at first timeouts.
    #[inline]
    pub fn turn(&mut self, slot: u32, now: Time, wire_time: impl Fn(u16) -> Time) -> (Turn, Option<Time>) {
        let config = &*self.config;
        let Some(s) = &mut self.senders[slot as usize] else { return (Turn::Leave, None) };
        let next = config.transport.next(&s.progress, &s.transport);
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        let Some(seq) = next.filter(|seq| s.held_until <= now && s.has_window(*seq, config) && s.has_arrived(*seq)) else {
            s.is_listed = false;
            return (Turn::Leave, None);
        };
        let bytes = config.framing.wire(s.size, seq);
        let mut packet = Packet::new(Kind::Data, s.flow, seq, s.dst, bytes, s.class);
        packet.path = s.path;
        if seq + 1 == s.progress.packets {
            packet.set(Packet::LAST);
        }
        if seq < s.progress.highest {
            packet.set(Packet::RETRANSMITTED);
            s.retransmitted += 1;
        }
        config.transport.on_sent(&mut s.progress, &mut s.transport, seq);
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        s.sent += 1;
        self.injected_bytes += u64::from(bytes);
        let scheme = &config.schemes[s.port as usize];
        let ends = now + wire_time(bytes);
        let mut resumes = ends;
        if !scheme.is_none() {
            if let Some(stamps) = &mut s.stamps {
                stamps.on_sent(seq, now);
            }
            let is_queue_empty = s.arrivals.as_ref().is_none_or(|a| a.arrived() <= s.progress.highest);
            s.next_send = now + scheme.on_sent(&mut s.rate, &mut packet, OnWire { bytes: u64::from(bytes), is_queue_empty, now });
            resumes = s.next_send;
        }
        let mut timer = None;
        if config.transport.acknowledges() {
            s.deadline = now + config.transport.timeout(&s.progress, &s.transport);
            if !s.is_rto_set {
                s.is_rto_set = true;
                let first = now + config.transport.timeouts().0;
                if self.first_timeouts.is_empty() {
                    timer = Some(first);
                }
                self.first_timeouts.push_back((first, s.flow));
            }
        }
        let next = config.transport.next(&s.progress, &s.transport);
        resumes = resumes.max(next.map_or(now, |seq| s.arrives(seq)));
        let turn = if next.is_none() {
            s.is_listed = false;
            if !config.transport.acknowledges() {
                // Nothing will be heard of it any more.
                self.sent.push(Self::record(s, None));
                self.slots[(s.flow - self.first_flow) as usize] = NO_SLOT;
                self.senders[slot as usize] = None;
                self.free.push(slot);
            }
            Turn::SendAndLeave(packet)
        } else if resumes > ends {
            s.is_listed = false;
            s.pace_at = resumes;
            Turn::SendThenWait(packet, resumes)
        } else {
            Turn::Send(packet)
        };
        (turn, timer)
    }

    /// The class of a new flow, by the host's rule.
    pub fn class_for(&self, spec: &FlowSpec) -> u8 {
        self.config.classify.class(spec)
    }

    /// The queue in which a slot's flow waits.
    pub fn queue_of(&self, slot: u32) -> Option<u16> {
        self.senders[slot as usize].as_ref().map(|s| s.queue)
    }

    /// Sends the rest of a flow in another class.
    pub fn set_class(&mut self, flow: u32, class: u8) {
        if let Some(slot) = self.slot(flow)
            && let Some(s) = &mut self.senders[slot]
        {
            s.class = class;
            s.queue = 1 + u16::from(class);
        }
    }

    /// The flow number of a slot.
    pub fn flow_of(&self, slot: u32) -> u32 {
        self.senders[slot as usize].as_ref().map_or(u32::MAX, |s| s.flow)
    }

    /// Whether a flow should be listed again; then it counts as listed.
    #[inline]
    pub fn relist(&mut self, flow: u32, now: Time) -> Relist {
        let Some(slot) = self.slot(flow) else { return Relist::No };
        let config = &self.config;
        let Some(s) = &mut self.senders[slot] else { return Relist::No };
        let Some(next) = config.transport.next(&s.progress, &s.transport) else { return Relist::No };
        if s.is_listed || s.held_until > now || !s.has_window(next, config) {
            return Relist::No;
        }
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        let resumes = s.next_send.max(s.arrives(next));
        if resumes <= now {
            s.is_listed = true;
            return Relist::Now { slot: slot as u32, port: s.port, queue: s.queue };
        }
        // After its last packet nothing waits for the pace of a flow that goes back.
        if s.pace_at <= resumes {
            return Relist::No;
        }
        s.pace_at = resumes;
        Relist::At(resumes)
    }

    /// A pacing timer of a flow expired; one that was set before the pace rose has no meaning any more.
    pub fn on_pace(&mut self, flow: u32, now: Time) {
        if let Some(slot) = self.slot(flow)
            && let Some(s) = &mut self.senders[slot]
            && s.pace_at <= now
        {
            s.pace_at = Time::NEVER;
        }
    }

    /// The first timeouts of flows come in the order of their first packets, so that one timer serves all of them: those of flows
    /// that are over need none. Returns a flow whose timeout is due, and when to look again.
    pub fn next_timeout(&mut self, now: Time) -> (Option<u32>, Option<Time>) {
        while let Some((deadline, flow)) = self.first_timeouts.front().copied() {
            let is_over = self.slot(flow).is_none();
            if !is_over && deadline > now {
                return (None, Some(deadline));
            }
            self.first_timeouts.pop_front();
            if !is_over {
                return (Some(flow), None);
            }
        }
        (None, None)
    }

    /// Holds a flow because of a mechanism; returns when to look again.
    pub fn hold(&mut self, flow: u32, until: Time, cause: &'static str, now: Time) -> Option<Time> {
        let Some(slot) = self.slot(flow) else {
            *self.late_holds.entry(cause).or_default() += 1;
            return None;
        };
        let s = self.senders[slot].as_mut()?;
        s.holds += 1;
        if until <= s.held_until {
            return None;
        }
        s.paused += until - s.held_until.max(now);
        s.held_until = until;
        Some(until)
    }

    /// Holds all flows to a destination, now and to come; returns those to look at again then. A moment that has come ends it.
    pub fn hold_destination(&mut self, dst: u32, until: Time, cause: &'static str, now: Time) -> Vec<u32> {
        self.held_destinations.retain(|_, held| *held > now);
        if until > now {
            let held = self.held_destinations.entry(dst).or_insert(until);
            *held = until.max(*held);
        } else {
            self.held_destinations.remove(&dst);
        }
        let mut flows: Vec<u32> = self.senders.iter().flatten().filter(|s| s.dst == dst).map(|s| s.flow).collect();
        if flows.is_empty() {
            *self.late_holds.entry(cause).or_default() += 1;
        }
        flows.retain(|flow| {
            if until > now {
                return self.hold(*flow, until, cause, now).is_some();
            }
            self.release(*flow, now);
            true
        });
        flows
    }

    /// Ends a hold.
    pub fn release(&mut self, flow: u32, now: Time) {
        if let Some(slot) = self.slot(flow)
            && let Some(s) = &mut self.senders[slot]
            && s.held_until > now
        {
            s.paused -= s.held_until - now;
            s.held_until = now;
        }
    }

    /// A slot left its queue's round after its flow was over.
    pub fn reclaim(&mut self, slot: u32) {
        if self.senders[slot as usize].is_none() {
            self.free.push(slot);
        }
    }

    fn record(s: &Sender, acknowledged: Option<Time>) -> Sent {
        Sent {
            flow: s.flow,
            dst: s.dst,
            size: s.size,
            start: s.start,
            acknowledged,
            packets: u64::from(s.sent),
            retransmitted: u64::from(s.retransmitted),
            notifications: s.notifications,
            holds: s.holds,
            paused: s.paused,
            class: s.class,
            path: s.path,
            port: s.port,
        }
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

    /// Whether a flow is under way.
    pub fn is_busy(&self) -> bool {
        self.senders.iter().any(Option::is_some)
    }

    /// Flows that started and are not over.
    pub fn unfinished(&self) -> Vec<Sent> {
        let mut list: Vec<Sent> = self.senders.iter().flatten().map(|s| Self::record(s, None)).collect();
        list.sort_by_key(|s| s.flow);
        list
    }

    /// The node's number.
    pub const fn node(&self) -> u32 {
        self.node
    }
}
