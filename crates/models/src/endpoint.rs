//! Where flows start and end: the network interface of a host.
//!
//! A flow waits for its turn in a queue of its port and produces a packet at the moment of transmission, so that a pause, a rate or
//! a window that changes applies to the very next packet. Invariants: a flow is in its queue's round, or something (a hold, the
//! pacing timer, the window, the end of its data) will bring it back; each packet is delivered once, in order.

mod answers;
mod classify;
mod credit;
mod receive;
mod stamps;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::state;
use xoff_engine::state::{Walk, Word};
use xoff_units::{Rate, Time};

pub use self::classify::{Classify, Mice};
pub use self::receive::Answer;
use self::receive::{ALL_HERE, Receiver};
use self::stamps::Stamps;

use crate::congestion_control::contract::{Echo, Sent as OnWire};
use crate::congestion_control::{Scheme, State};
use crate::count::{Count, Group, Tally};
use crate::delays::Wait;
use crate::framing::Framing;
use crate::packet::{Kind, Packet};
use crate::pulls::{Books, Credit, Pacer, Rules};
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
    /// How receivers tell senders of marks.
    pub echo: Option<Echo>,
    /// How receivers pull what senders send, if they do.
    pub pulls: Option<Rules>,
    /// Which class a new flow gets.
    pub classify: Classify,
    /// Whose flow a number is.
    pub sources: Arc<Sources>,
}

/// A flow that sends. What each packet needs comes first.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    flow: u32,
    dst: u32,
    progress: Progress,
    /// What the network told it, if it ever did.
    told: Option<Box<Told>>,
    deadline: Time,
    /// Payload of its last packet; the others are full.
    last: u16,
    port: u16,
    path: u16,
    queue: u16,
    class: u8,
    is_listed: bool,
    is_rto_set: bool,
    retransmitted: u32,
    /// What of it there is to send yet, when it comes bit by bit.
    arrivals: Option<Box<Arrivals>>,
    transport: transport::Sender,
    /// What it may send, if receivers pull.
    credit: Option<Box<Credit>>,
    rate: State,
    next_send: Time,
    /// When its pacing timer expires.
    pace_at: Time,
    /// When its packets started, if its congestion control wants to know.
    stamps: Option<Box<Stamps>>,
    start: Time,
}

/// What the network told a flow. Most are told nothing.
#[derive(Debug, Default)]
struct Told {
    /// It is held until then.
    held_until: Time,
    holds: u32,
    /// How long it was held, up to then.
    held: Time,
    notifications: u32,
}

state!(Told {
    due: held_until;
    still: holds, held, notifications;
});

state!(Sender {
    flow: flow;
    value: dst, port, path, queue, class, is_listed, is_rto_set;
    part: progress, told, credit, arrivals, transport, rate, stamps;
    due: deadline, next_send;
    moment: pace_at;
    still: last, start, retransmitted;
});

const _: () = assert!(size_of::<Option<Sender>>() <= 136, "a flow that waits for its turn takes this");

impl Sender {
    /// Until when it is held.
    #[inline]
    fn held_until(&self) -> Time {
        self.told.as_ref().map_or(Time::ZERO, |told| told.held_until)
    }

    /// Wire bytes of a packet.
    #[inline]
    fn wire(&self, seq: u32, framing: &Framing) -> u16 {
        framing.frame(if seq + 1 == self.progress.packets { u64::from(self.last) } else { framing.payload })
    }

    /// Payload in all.
    fn size(&self, framing: &Framing) -> u64 {
        u64::from(self.progress.packets - 1) * framing.payload + u64::from(self.last)
    }

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

    /// Whether the window, and the receiver, let a packet go.
    #[inline]
    fn may_send(&self, seq: u32, config: &Config) -> bool {
        self.has_credit() && self.has_window(seq, config)
    }

    #[inline]
    fn has_window(&self, seq: u32, config: &Config) -> bool {
        let is_held = seq >= self.progress.highest || config.transport.windows_hold_lost();
        !is_held || self.in_flight(config) * config.framing.payload < config.schemes[self.port as usize].window(&self.rate)
    }

    /// Packets under way.
    #[inline]
    fn in_flight(&self, config: &Config) -> u64 {
        u64::from(config.transport.in_flight(&self.progress, &self.transport))
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
    /// The last bit of a frame is in that was handled before.
    pub const TAIL: u64 = 6;
    /// A mechanism's timer.
    pub const MECHANISM: u64 = 7;

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

/// A host's flows. What each packet needs comes first.
#[derive(Debug)]
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
    /// Wire bytes of data that entered the network here, again ones included.
    pub injected_bytes: u64,
    /// Wire bytes of data that arrived here.
    pub delivered_bytes: u64,
    /// Packets that arrived and were new: what flows gained.
    pub accepted: u64,
    duplicates: u64,
    /// Packets that arrived out of order without having been sent again.
    pub reordered: u64,
    held_back: u64,
    /// What congestion control was told by the network.
    pub notifications: u64,
    /// Flows in the order of their first packets, and when they would time out.
    first_timeouts: VecDeque<(Time, u32)>,
    /// What the transport keeps of all flows that end here.
    host: transport::Host,
    free: Vec<u32>,
    /// What pulls them, and what credit flows that start here had.
    pacer: Option<Box<Pacer>>,
    books: Books,
    free_receivers: Vec<u32>,
    receiver_of: FxHashMap<u32, u32>,
    /// By which of two domains flows leave.
    weight: Option<Weight>,
    /// Flows to come.
    pub starts: Vec<Start>,
    /// How many flows a waiting flow still needs, and the flow.
    waiting: Vec<(u32, FlowSpec)>,
    /// For a flow that arrives here, or leaves: the waiting flows that need it.
    dependents: FxHashMap<u32, Vec<u32>>,
    /// For flows to come: when their packets do.
    pub arrivals: FxHashMap<u32, Box<Arrivals>>,
    /// Until when destinations are held.
    held_destinations: FxHashMap<u32, Time>,
    /// Flows acknowledged since the last checkpoint.
    pub sent: Vec<Sent>,
    /// Flows arrived since the last checkpoint, and when.
    pub arrived: Vec<(u32, Time)>,
    /// For each mechanism, by name: holds of flows that were over.
    pub late_holds: BTreeMap<&'static str, u64>,
}

impl state::State for Endpoint {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            senders,
            receivers,
            first_timeouts,
            host,
            pacer,
            free,
            receiver_of,
            weight,
            starts,
            waiting,
            dependents,
            arrivals,
            held_destinations,
            // What follows from the rest, is kept to be fast, or was counted or written down.
            config: _,
            slots: _,
            node: _,
            first_flow: _,
            last_receiver: _,
            injected_bytes: _,
            delivered_bytes: _,
            accepted: _,
            duplicates: _,
            reordered: _,
            held_back: _,
            notifications: _,
            books: _,
            free_receivers: _,
            sent: _,
            arrived: _,
            late_holds: _,
        } = self;
        senders.walk(walk);
        walk.value(free.word());
        // A flow that has arrived whole is told by its sender; the places of the others are nobody's business.
        walk.keyed(receiver_of.iter_mut().filter(|r| *r.1 != ALL_HERE), |walk, flow, index| {
            walk.of_flow(*flow);
            receivers[*index as usize].walk(walk);
        });
        for (at, flow) in first_timeouts {
            walk.reminder(at);
            walk.value(u64::from(*flow));
        }
        host.walk(walk);
        pacer.walk(walk);
        weight.walk(walk);
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
        walk.keyed(held_destinations.iter_mut(), |walk, _, until| walk.due(until));
    }
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

    /// Flows under way from here, and the packets of each that are acknowledged.
    pub fn acknowledged(&self) -> impl Iterator<Item = (u32, u32)> {
        self.senders.iter().flatten().map(|s| (s.flow, s.progress.unacknowledged))
    }

    /// Reads what the next packets of its first flows need.
    #[inline]
    pub fn touch(&self) -> u64 {
        let sender = self.senders.first().and_then(Option::as_ref).map_or(0, |s| s.next_send.0 ^ s.deadline.0 ^ u64::from(s.progress.next));
        let slot = self.slots.last().map_or(0, |slot| u64::from(*slot));
        self.accepted ^ sender ^ slot ^ self.receivers.first().map_or(0, Receiver::touch)
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
        let last = (spec.size - u64::from(packets - 1) * self.config.framing.payload) as u16;
        let sender = Sender {
            flow: spec.flow,
            dst: spec.dst,
            last,
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
            credit: self.config.pulls.as_ref().map(|rules| Box::new(Credit::new(rules, packets, &mut self.books))),
            rate: scheme.start(),
            next_send: now,
            told: held_until.map(|until| Box::new(Told { held_until: until, held: until - now, ..Told::default() })),
            deadline: Time::NEVER,
            retransmitted: 0,
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
        let may_go = |seq: &u32| s.next_send <= now && s.held_until() <= now && s.may_send(*seq, config) && s.has_arrived(*seq);
        let Some(seq) = next.filter(may_go) else {
            s.is_listed = false;
            return (Turn::Leave, None);
        };
        let bytes = s.wire(seq, &config.framing);
        let mut packet = Packet::new(Kind::Data, s.flow, seq, s.dst, bytes, s.class);
        packet.set_path(s.path);
        if seq + 1 == s.progress.packets {
            packet.set(Packet::LAST);
        }
        if seq < s.progress.highest {
            packet.set(Packet::RETRANSMITTED);
            s.retransmitted += 1;
        }
        config.transport.on_sent(&mut s.progress, &mut s.transport, seq, now);
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        self.injected_bytes += u64::from(bytes);
        if s.credit.is_some() {
            s.spend(&mut packet, config, &mut self.books);
        }
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
            s.deadline = config.transport.deadline(&s.progress, &s.transport, now);
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
        if config.transport.coalesces() && (packet.has(Packet::RETRANSMITTED) || next.is_none_or(|seq| !s.may_send(seq, config))) {
            packet.set(Packet::ASKS);
        }
        resumes = resumes.max(next.map_or(now, |seq| s.arrives(seq)));
        let turn = if next.is_none() {
            s.is_listed = false;
            if !config.transport.acknowledges() {
                // Nothing will be heard of it any more.
                self.sent.push(Self::record(s, None, &config.framing, now));
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

    /// Sends the rest of a flow in another class: its port, slot, and the queue that it waited in until now, if it still sends.
    pub fn set_class(&mut self, flow: u32, class: u8) -> Option<(u16, u32, u16)> {
        let slot = self.slot(flow)?;
        let s = self.senders[slot].as_mut()?;
        s.class = class;
        Some((s.port, slot as u32, std::mem::replace(&mut s.queue, 1 + u16::from(class))))
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
        if s.is_listed || s.held_until() > now || !s.may_send(next, config) {
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

    /// What a flow waits for; nothing when it is over.
    pub fn waits_for(&self, flow: u32, now: Time) -> Option<Wait> {
        let s = self.senders[self.slot(flow)?].as_ref()?;
        if s.is_listed {
            return Some(Wait::Turn(s.queue));
        }
        let Some(next) = self.config.transport.next(&s.progress, &s.transport) else { return Some(Wait::Answers) };
        let arrives = s.arrives(next);
        Some(if s.held_until() > now {
            Wait::Held
        } else if !s.has_credit() {
            Wait::Pull
        } else if !s.has_window(next, &self.config) {
            Wait::Window
        } else if arrives > now && arrives >= s.next_send {
            Wait::Data
        } else {
            Wait::Pace
        })
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
        let told = s.told.get_or_insert_default();
        told.holds += 1;
        if until <= told.held_until {
            return None;
        }
        told.held += until - told.held_until.max(now);
        told.held_until = until;
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
            && let Some(told) = &mut s.told
            && told.held_until > now
        {
            told.held -= told.held_until - now;
            told.held_until = now;
        }
    }

    /// A slot left its queue's round after its flow was over.
    pub fn reclaim(&mut self, slot: u32) {
        if self.senders[slot as usize].is_none() {
            self.free.push(slot);
        }
    }

    /// What is known of a flow; what it is held for beyond `now` does not count.
    fn record(s: &Sender, acknowledged: Option<Time>, framing: &Framing, now: Time) -> Sent {
        let nothing = Told::default();
        let told = s.told.as_deref().unwrap_or(&nothing);
        Sent {
            flow: s.flow,
            dst: s.dst,
            size: s.size(framing),
            start: s.start,
            acknowledged,
            // What is not sent again is sent in order.
            packets: u64::from(s.progress.highest + s.retransmitted),
            retransmitted: u64::from(s.retransmitted),
            notifications: told.notifications,
            holds: told.holds,
            paused: told.held - told.held_until.since(now),
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

    /// Whether this flow has started and is not over.
    pub fn is_under_way(&self, flow: u32) -> bool {
        self.slot(flow).is_some()
    }

    /// Whether a flow is under way.
    pub fn is_busy(&self) -> bool {
        self.senders.iter().any(Option::is_some)
    }

    /// Flows that started and are not over; what they are held for beyond `now` does not count.
    pub fn unfinished(&self, now: Time) -> Vec<Sent> {
        let record = |s: &Sender| Self::record(s, None, &self.config.framing, now);
        let mut list: Vec<Sent> = self.senders.iter().flatten().map(record).collect();
        list.sort_by_key(|s| s.flow);
        list
    }

    /// The node's number.
    pub const fn node(&self) -> u32 {
        self.node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion_control::contract::{Form, Line};
    use crate::congestion_control::{CongestionControl, dcqcn, hpcc};
    use crate::transport::{Table, raw};

    const RTO: Time = Time::ms(4);
    /// What a full packet takes at 100 Gb/s.
    const FULL: Time = Time::ns(100);

    /// Host 0 with flows 0 to 99; those of host 1 have the next hundred numbers.
    fn host(transport: &Table, control: &CongestionControl, waiting: Vec<(Vec<u32>, FlowSpec)>) -> Endpoint {
        let line = Line::for_tests(Time::ns(200));
        let config = Config {
            framing: Framing::for_tests(),
            transport: Protocol::new(transport, line),
            echo: Scheme::new(control, line).echo(),
            schemes: vec![Scheme::new(control, line)],
            pulls: None,
            classify: Classify::default(),
            sources: Arc::new(Sources { first: vec![0, 100, 200, 200] }),
        };
        Endpoint::new(0, Arc::new(config), None, Vec::new(), waiting)
    }

    fn plain() -> Endpoint {
        host(&Table::default(), &CongestionControl::default(), Vec::new())
    }

    /// With HPCC, which has a window of 2500 bytes: what 100 Gb/s carry in 200 ns.
    fn windowed() -> Endpoint {
        let control = CongestionControl { hpcc: Some(hpcc::Params::default()), ..CongestionControl::default() };
        host(&Table::default(), &control, Vec::new())
    }

    fn spec(flow: u32, size: u64) -> FlowSpec {
        FlowSpec { flow, dst: 2, size, start: Time::ZERO, path: 0, class: 1 }
    }

    /// Starts a flow in queue 2 of port 0.
    fn start(e: &mut Endpoint, flow: u32, size: u64, now: Time) -> u32 {
        e.start(&spec(flow, size), 0, 2, now).0
    }

    fn turn(e: &mut Endpoint, slot: u32, now: Time) -> (Turn, Option<Time>) {
        e.turn(slot, now, |bytes| Rate::gbps(100).time(u64::from(bytes)))
    }

    /// The packets of a flow's turns, one each time the line is free, until it leaves the round.
    fn drain(e: &mut Endpoint, slot: u32, from: Time) -> Vec<u32> {
        let mut sent = Vec::new();
        loop {
            match turn(e, slot, from + FULL * sent.len() as u64).0 {
                Turn::Send(packet) => sent.push(packet.seq()),
                Turn::SendAndLeave(packet) => {
                    sent.push(packet.seq());
                    return sent;
                }
                Turn::Leave => return sent,
                Turn::SendThenWait(..) => panic!("nothing paces it"),
            }
        }
    }

    fn answer(kind: Kind, flow: u32, seq: u32) -> Packet {
        Packet::new(kind, flow, seq, 0, 125, 1)
    }

    fn data(flow: u32, seq: u32, is_last: bool) -> Packet {
        let mut packet = Packet::new(Kind::Data, flow, seq, 0, 1250, 1);
        if is_last {
            packet.set(Packet::LAST);
        }
        packet
    }

    #[test]
    fn a_flow_makes_a_packet_a_turn_and_leaves_with_its_last() {
        // 2500 bytes are two full packets and one of 500 and its header.
        let mut e = plain();
        let slot = start(&mut e, 7, 2500, Time::ZERO);
        let mut seen = Vec::new();
        for n in 0..4 {
            let (turn, _) = turn(&mut e, slot, FULL * n);
            let (is_listed, packet) = match turn {
                Turn::Send(packet) => (true, Some(packet)),
                Turn::SendAndLeave(packet) => (false, Some(packet)),
                Turn::Leave => (false, None),
                Turn::SendThenWait(..) => panic!("nothing paces it"),
            };
            seen.push((is_listed, packet.map(|p| (p.seq(), p.bytes(), p.class(), p.dst(), p.has(Packet::LAST)))));
        }
        let packet = |seq, bytes, is_last| Some((seq, bytes, 1, 2, is_last));
        let expected = [(true, packet(0, 1250, false)), (true, packet(1, 1250, false)), (false, packet(2, 750, true)), (false, None)];
        assert_eq!(seen, expected);
        assert_eq!((e.injected_bytes, e.is_busy(), e.relist(7, RTO)), (3250, true, Relist::No));
    }

    #[test]
    fn a_flow_that_is_slower_than_its_line_waits_for_its_pace() {
        // Its rate gives a packet 100 ns; this line is free after 50.
        let mut e = windowed();
        let slot = start(&mut e, 7, 5000, Time::ZERO);
        let Turn::SendThenWait(_, at) = e.turn(slot, Time::ZERO, |_| Time::ns(50)).0 else { panic!("it does not wait") };
        assert_eq!(at, FULL);
        assert_eq!(e.relist(7, Time::ns(60)), Relist::No, "its timer is set");
        assert_eq!(e.relist(7, FULL), Relist::Now { slot, port: 0, queue: 2 });
        assert_eq!(e.relist(7, FULL), Relist::No, "it is listed");
        // A flow that cannot send leaves; with the timer gone it asks for one of its own.
        let Turn::SendThenWait(_, at) = e.turn(slot, FULL, |_| Time::ns(50)).0 else { panic!("it does not wait") };
        assert_eq!(at, FULL * 2);
        e.on_pace(7, Time::ns(150));
        assert_eq!(e.relist(7, Time::ns(150)), Relist::No, "the timer was not that of this packet");
        e.on_pace(7, FULL * 2);
        e.on_answer(&answer(Kind::Nack, 7, 0), None, Time::ns(150));
        assert_eq!(e.relist(7, Time::ns(150)), Relist::At(FULL * 2));
    }

    #[test]
    fn a_window_lets_packets_go_until_it_is_full() {
        // Under way may be 2500 bytes: a packet goes while fewer are, so that three do.
        let mut e = windowed();
        let slot = start(&mut e, 7, 9000, Time::ZERO);
        assert_eq!(drain(&mut e, slot, Time::ZERO), [0, 1, 2]);
        assert_eq!(e.relist(7, Time::us(1)), Relist::No);
        assert!(e.on_answer(&answer(Kind::Ack, 7, 2), None, Time::us(1)));
        assert_eq!(e.relist(7, Time::us(1)), Relist::Now { slot, port: 0, queue: 2 });
        assert_eq!(drain(&mut e, slot, Time::us(1)), [3, 4]);
        // What was let go before may be sent again, however full the window.
        e.on_answer(&answer(Kind::Nack, 7, 2), None, Time::us(2));
        e.relist(7, Time::us(2));
        assert_eq!(drain(&mut e, slot, Time::us(2)), [2, 3, 4]);
        assert_eq!(e.unfinished(Time::NEVER)[0].retransmitted, 3);
    }

    #[test]
    fn an_answer_tells_the_round_trip_of_the_packet_that_it_answers() {
        let mut e = windowed();
        let slot = start(&mut e, 7, 9000, Time::ZERO);
        assert_eq!(drain(&mut e, slot, Time::ZERO), [0, 1, 2]);
        e.on_answer(&answer(Kind::Ack, 7, 1), None, Time::us(1));
        // Packet 0 went with its answer. Packet 2 started at 200 ns.
        let mut stamps = e.senders[slot as usize].as_mut().and_then(|s| s.stamps.take()).unwrap();
        assert_eq!(stamps.on_answer(0, false, 1, Time::us(1)), None);
        assert_eq!(stamps.on_answer(2, false, 3, Time::us(1)), Some(Time::ns(800)));
        // A flow whose congestion control hears nothing keeps no times.
        let mut e = plain();
        let slot = start(&mut e, 7, 1000, Time::ZERO);
        assert!(e.senders[slot as usize].as_ref().is_some_and(|s| s.stamps.is_none()));
    }

    #[test]
    fn the_latest_hold_counts_until_it_is_released() {
        let mut e = plain();
        let slot = start(&mut e, 7, 9000, Time::ZERO);
        assert_eq!(e.hold(7, Time::us(10), "sfc", Time::us(1)), Some(Time::us(10)));
        assert_eq!(e.hold(7, Time::us(5), "sfc", Time::us(2)), None);
        assert_eq!(e.hold(7, Time::us(12), "sfc", Time::us(3)), Some(Time::us(12)));
        assert!(matches!(turn(&mut e, slot, Time::us(3)).0, Turn::Leave));
        assert_eq!(e.relist(7, Time::us(10)), Relist::No);
        // From 1 to 12 us; a release at 4 us gives eight of them back.
        let [held] = e.unfinished(Time::NEVER)[..] else { panic!("one flow is under way") };
        assert_eq!((held.holds, held.paused), (3, Time::us(11)));
        e.release(7, Time::us(4));
        e.release(7, Time::us(5));
        assert_eq!(e.unfinished(Time::NEVER)[0].paused, Time::us(3));
        assert_eq!(e.relist(7, Time::us(4)), Relist::Now { slot, port: 0, queue: 2 });
        assert!(matches!(turn(&mut e, slot, Time::us(4)).0, Turn::Send(_)));
    }

    #[test]
    fn a_hold_of_a_flow_that_is_over_came_too_late() {
        let mut e = plain();
        let slot = start(&mut e, 7, 1000, Time::ZERO);
        drain(&mut e, slot, Time::ZERO);
        e.on_answer(&answer(Kind::Ack, 7, 1), None, Time::us(1));
        assert_eq!(e.hold(7, Time::us(9), "sfc", Time::us(2)), None);
        assert_eq!(e.hold(8, Time::us(9), "sfc", Time::us(2)), None, "it has not started");
        assert!(e.hold_destination(2, Time::us(9), "portfc", Time::us(2)).is_empty());
        assert_eq!(e.late_holds, BTreeMap::from([("portfc", 1), ("sfc", 2)]));
    }

    #[test]
    fn a_hold_that_outlives_its_flow_counts_to_the_last_answer() {
        // Held from 1 to 10 us, and over at 3 us.
        let mut e = plain();
        let slot = start(&mut e, 7, 1000, Time::ZERO);
        drain(&mut e, slot, Time::ZERO);
        assert_eq!(e.hold(7, Time::us(10), "sfc", Time::us(1)), Some(Time::us(10)));
        e.on_answer(&answer(Kind::Ack, 7, 1), None, Time::us(3));
        assert_eq!((e.sent[0].holds, e.sent[0].paused), (1, Time::us(2)));
    }

    #[test]
    fn a_destination_is_held_for_flows_now_and_to_come() {
        let mut e = plain();
        start(&mut e, 7, 1000, Time::ZERO);
        e.start(&FlowSpec { dst: 1, ..spec(8, 1000) }, 0, 2, Time::ZERO);
        assert_eq!(e.hold_destination(2, Time::us(10), "sfc", Time::us(1)), [7]);
        let (late, until) = e.start(&spec(9, 1000), 0, 2, Time::us(4));
        assert_eq!(until, Some(Time::us(10)));
        assert!(matches!(turn(&mut e, late, Time::us(4)).0, Turn::Leave));
        let paused: Vec<Time> = e.unfinished(Time::NEVER).iter().map(|s| s.paused).collect();
        assert_eq!(paused, [Time::us(9), Time::ZERO, Time::us(6)]);
        // A moment that has come ends it, for all that go there.
        assert_eq!(e.hold_destination(2, Time::us(6), "sfc", Time::us(6)), [7, 9]);
        assert_eq!(e.relist(9, Time::us(6)), Relist::Now { slot: late, port: 0, queue: 2 });
        assert_eq!(e.start(&spec(10, 1000), 0, 2, Time::us(7)).1, None);
    }

    #[test]
    fn first_timeouts_share_a_timer_and_come_in_order() {
        let mut e = plain();
        let mut timers = Vec::new();
        for flow in 0..4 {
            let now = FULL * u64::from(flow);
            let slot = start(&mut e, flow, 1000, now);
            timers.push(turn(&mut e, slot, now).1);
        }
        assert_eq!(timers, [Some(RTO), None, None, None]);
        // Flow 1 is over by then, so that nobody wakes for it.
        e.on_answer(&answer(Kind::Ack, 1, 1), None, Time::us(1));
        assert_eq!(e.next_timeout(RTO - Time::ns(1)), (None, Some(RTO)));
        assert_eq!(e.next_timeout(RTO), (Some(0), None));
        assert_eq!(e.next_timeout(RTO), (None, Some(RTO + FULL * 2)));
        assert_eq!(e.next_timeout(RTO + FULL * 3), (Some(2), None));
        assert_eq!(e.next_timeout(RTO + FULL * 3), (Some(3), None));
        assert_eq!(e.next_timeout(RTO + FULL * 3), (None, None));
    }

    #[test]
    fn a_timeout_restarts_with_each_packet_and_sends_from_the_oldest_again() {
        let mut e = plain();
        let slot = start(&mut e, 7, 2000, Time::ZERO);
        assert_eq!(drain(&mut e, slot, Time::ZERO), [0, 1]);
        // The last packet left after 100 ns, which moved the deadline.
        assert_eq!(e.on_rto(7, RTO), (Some(RTO + FULL), false));
        assert_eq!(e.on_rto(7, RTO + FULL), (Some(RTO * 2 + FULL), true));
        assert_eq!(e.relist(7, RTO + FULL), Relist::Now { slot, port: 0, queue: 2 });
        assert_eq!(drain(&mut e, slot, RTO + FULL), [0, 1]);
        e.on_answer(&answer(Kind::Ack, 7, 2), None, RTO + Time::us(1));
        assert_eq!(e.on_rto(7, RTO * 2 + FULL), (None, false));
        assert_eq!((e.sent[0].packets, e.sent[0].retransmitted), (4, 2));
    }

    #[test]
    fn a_slot_is_used_again_when_its_queue_has_given_it_up() {
        let mut e = plain();
        let first = start(&mut e, 7, 3000, Time::ZERO);
        assert!(matches!(turn(&mut e, first, Time::ZERO).0, Turn::Send(_)));
        // All is acknowledged while the flow waits for its next turn: its slot is still in the round.
        assert!(!e.on_answer(&answer(Kind::Ack, 7, u32::MAX), None, Time::us(1)));
        let second = start(&mut e, 8, 1000, Time::us(1));
        assert_ne!(second, first);
        assert!(matches!(turn(&mut e, first, Time::us(1)).0, Turn::Leave));
        e.reclaim(first);
        assert_eq!(start(&mut e, 9, 1000, Time::us(1)), first);
        // Flow 8 leaves the round with its only packet, so that its slot is free with the answer.
        drain(&mut e, second, Time::us(2));
        assert!(!e.on_answer(&answer(Kind::Ack, 8, 1), None, Time::us(3)));
        assert_eq!(start(&mut e, 10, 1000, Time::us(3)), second);
        let over: Vec<_> = e.sent.iter().map(|s| (s.flow, s.size, s.packets, s.acknowledged)).collect();
        assert_eq!(over, [(7, 3000, 1, Some(Time::us(1))), (8, 1000, 1, Some(Time::us(3)))]);
    }

    #[test]
    fn a_flow_that_nobody_answers_is_over_with_its_last_packet() {
        let raw = Table { raw: Some(raw::Params {}), ..Table::default() };
        let mut e = host(&raw, &CongestionControl::default(), Vec::new());
        let slot = start(&mut e, 7, 2000, Time::ZERO);
        assert_eq!(turn(&mut e, slot, Time::ZERO).1, None, "there is no timeout");
        assert!(matches!(turn(&mut e, slot, FULL).0, Turn::SendAndLeave(_)));
        assert_eq!((e.is_busy(), e.sent[0].packets, e.sent[0].acknowledged), (false, 2, None));
        assert_eq!(start(&mut e, 8, 1000, Time::us(1)), slot);
    }

    #[test]
    fn the_rest_of_a_flow_goes_in_another_class_and_queue() {
        let mut e = plain();
        let slot = start(&mut e, 7, 3000, Time::ZERO);
        assert_eq!(e.flow_of(slot), 7);
        assert_eq!(e.set_class(7, 0), Some((0, slot, 2)), "it was in the queue of class 1");
        let Turn::Send(packet) = turn(&mut e, slot, Time::ZERO).0 else { panic!("it sends nothing") };
        assert_eq!((packet.class(), e.waits_for(7, Time::ZERO)), (0, Some(Wait::Turn(1))));
        assert_eq!(e.set_class(8, 0), None, "there is no such flow");
    }

    #[test]
    fn what_the_network_says_is_counted_for_the_host_and_for_flows_under_way() {
        let control = CongestionControl { dcqcn: Some(dcqcn::Params::default()), ..CongestionControl::default() };
        let mut e = host(&Table::default(), &control, Vec::new());
        let slot = start(&mut e, 7, 5000, Time::ZERO);
        assert!(matches!(turn(&mut e, slot, Time::ZERO).0, Turn::Send(_)));
        e.on_notice(&answer(Kind::Cnp, 7, 0), Time::us(1));
        let mut marked = answer(Kind::Ack, 7, 1);
        marked.set(Packet::ECHO);
        e.on_answer(&marked, None, Time::us(2));
        e.on_notice(&answer(Kind::Cnp, 8, 0), Time::us(3));
        assert_eq!((e.unfinished(Time::NEVER)[0].notifications, e.notifications), (2, 3));
    }

    #[test]
    fn a_receiver_acknowledges_to_the_end_whatever_comes_again() {
        let (later, soon) = (spec(7, 1000), spec(8, 1000));
        let mut e = host(&Table::default(), &CongestionControl::default(), vec![(vec![100, 101], later), (vec![100], soon)]);
        let mut take = |packet: Packet, now: Time| {
            let answer = e.on_data(&packet, now);
            let frame = answer.frames[0].map(|f| (f.kind(), f.flow(), f.seq(), f.dst(), f.bytes(), f.class()));
            assert!(answer.frames[1].is_none() && answer.host_timer.is_none());
            (frame, answer.released.iter().map(|s| s.flow).collect::<Vec<_>>())
        };
        let ack = |flow, seq| Some((Kind::Ack, flow, seq, 1, 125, 1));
        assert_eq!(take(data(100, 0, false), Time::us(1)), (ack(100, 1), vec![]));
        assert_eq!(take(data(101, 0, true), Time::us(2)), (ack(101, 1), vec![]));
        assert_eq!(take(data(100, 1, true), Time::us(3)), (ack(100, 2), vec![7, 8]));
        // All is here: the answer is beyond every packet, and nothing is released twice.
        assert_eq!(take(data(100, 0, false), Time::us(4)), (ack(100, u32::MAX), vec![]));
        assert_eq!(take(data(100, 1, true), Time::us(5)), (ack(100, u32::MAX), vec![]));
        assert_eq!(e.arrived, [(101, Time::us(2)), (100, Time::us(3))]);
        assert_eq!((e.accepted, e.duplicates, e.delivered_bytes, e.reordered), (3, 2, 5 * 1250, 0));
        // What a receiver needs is kept once for all that come after one another.
        e.on_data(&data(102, 0, false), Time::us(6));
        assert_eq!(e.receivers.len(), 2);
    }

    #[test]
    fn a_packet_that_others_overtook_counts_unless_it_was_sent_again() {
        let mut e = plain();
        let mut again = data(100, 0, false);
        again.set(Packet::RETRANSMITTED);
        for packet in [data(100, 2, false), data(100, 1, false), again, data(100, 3, false)] {
            e.on_data(&packet, Time::us(1));
        }
        assert_eq!((e.reordered, e.accepted), (1, 1), "packets beyond the gap were thrown away");
    }

    #[test]
    fn an_answer_takes_the_way_back() {
        // Pinned paths come in pairs; 0 and 1 are none.
        let mut e = plain();
        let mut back = |path: u16, seq: u32| {
            let mut packet = data(100, seq, seq == 3);
            packet.set_path(path);
            e.on_data(&packet, Time::us(1)).frames[0].map(|f| f.path())
        };
        assert_eq!([back(4, 0), back(0, 1), back(2, 2), back(6, 3), back(6, 3)], [5, 0, 3, 7, 7].map(Some));
    }

    #[test]
    fn marks_are_echoed_once_an_interval_as_packet_or_on_the_ack() {
        for form in [Form::Packet, Form::Ack] {
            let params = dcqcn::Params { cnp_interval: Some(Time::us(4)), cnp: Some(form), ..dcqcn::Params::default() };
            let control = CongestionControl { dcqcn: Some(params), ..CongestionControl::default() };
            let mut e = host(&Table::default(), &control, Vec::new());
            let mut told = Vec::new();
            // The third packet has no mark; the second and the fourth come within 4 us of the echo before.
            for (seq, (us, is_marked)) in [(1, true), (3, true), (4, false), (5, true), (6, true)].into_iter().enumerate() {
                let mut packet = data(100, seq as u32, false);
                if is_marked {
                    packet.set(Packet::CE);
                }
                let [reply, other] = e.on_data(&packet, Time::us(us)).frames;
                let by_packet = other.is_some_and(|f| f.kind() == Kind::Cnp && f.dst() == 1 && f.flow() == 100);
                let by_ack = reply.is_some_and(|f| f.has(Packet::ECHO));
                assert!(!by_packet || form == Form::Packet);
                assert!(!by_ack || form == Form::Ack);
                told.push(by_packet || by_ack);
            }
            assert_eq!(told, [true, false, false, true, false]);
        }
    }
}
