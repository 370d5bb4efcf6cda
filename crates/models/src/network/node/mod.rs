//! A node: an optional forwarder and an optional endpoint around ports.
//!
//! A switch forwards, a host has an endpoint, a relaying host has both. The stages of a data packet at a
//! forwarder are fixed: route → assign queue → admit → enqueue → levels → select → dequeue → departure.
//! Mechanisms hook into all stages except select, and answer with effects.

mod applications;
mod effects;
pub mod failing;
mod fault;
mod follow;
mod forward;
mod host;
mod nvlink;
mod reroute;
mod retry;
mod sample;
mod tail;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_engine::state::{State, StateVisitor};
use xoff_engine::{Context, Node as EngineNode, Timer, state};
use xoff_units::{Duration, Moment, index, number, wide};

use crate::faults::injection::{Faults, Injected};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::hosts::endpoint::Endpoint;
use crate::mechanisms::Mechanisms;
use crate::mechanisms::contract::{Hooks, PauseFrames};
use crate::parts::count::{Count, Group, PAUSED};
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::{Map, Routes};
use crate::paths::symmetry::ties::{Symmetric, Ties};
use crate::paths::topology::PortSpec;
use crate::ports::core::Core;
use crate::ports::cut_through::CutThrough;
use crate::ports::effects::Effects;
use crate::ports::queueing::port::Choice;
use crate::records::delays::{Recorder, Traced};
use crate::records::events::{Pause, Records, Wanted};

type Cx<'a> = Context<'a, Packet>;

/// Numbers of data and control frames handled by a node.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Counts {
    /// Data packets that started on a link.
    pub data_hops: u64,
    /// Wire bytes of dropped data, including packets with a trimmed payload.
    pub dropped_bytes: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Data packets marked.
    pub marked: u64,
    /// Frames without a route, or with too many hops.
    pub lost: u64,
}

state!(Counts {
    total: data_hops, dropped_bytes, dropped, marked, lost;
});

/// `host.acks`: where the answers of receivers wait.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Acks {
    /// In the control queue, ahead of all data and never paused.
    #[default]
    Control,
    /// In the queue of data of the same class, at hosts and switches. ACKs wait behind data and obey pauses.
    /// No buffer counts ACKs, and no ACK is dropped. CNPs stay in the control queue.
    Data,
    /// In the queue of data of the same class at switches, and ahead of all data at hosts, as in the public
    /// ns-3 code of HPCC.
    Switches,
}

/// Counts of nodes beside mechanisms: queues that waited for packets of the same flow in another queue.
pub const ORDER: Group =
    Group { name: "reorder_gates", label: "reorder gates", counts: &[PAUSED], listens_to: None };

/// Losses by faults, and queues that waited for a link that was down.
pub const FAULT: Group = Group {
    name: "fault",
    label: "faults",
    counts: &[FAULTS, LOST, LOST_BYTES, LOST_CONTROL, RETRIED, RETRIED_BYTES, REROUTES, PAUSED],
    listens_to: None,
};
/// Faults that began.
pub const FAULTS: Count = Count::number("began", "faults that began");
/// Data packets lost by faults.
pub const LOST: Count = Count::number("lost", "data packets lost by faults");
/// Wire bytes of these packets.
pub const LOST_BYTES: Count = Count::bytes("lost_bytes", "data lost by faults");
/// Changes of the routes of all nodes after faults.
pub const REROUTES: Count = Count::number("reroutes", "changes of all routes");
/// Frames retransmitted by links.
pub const RETRIED: Count = Count::number("retried", "frames retransmitted by links");
/// Wire bytes of these frames.
pub const RETRIED_BYTES: Count = Count::bytes("retried_bytes", "bytes retransmitted by links");
/// Other frames lost by faults.
pub const LOST_CONTROL: Count = Count::number("lost_control", "control frames lost by faults");

/// A node of the network. Fields that each packet needs come first, within few cache lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Node {
    /// Routes of this node, a part of `core.routing`.
    routes: Arc<Routes>,
    /// Mechanisms here.
    pub mechanisms: Mechanisms,
    /// Flows that start or end at this node.
    pub endpoint: Option<Box<Endpoint>>,
    /// Cut-through inputs here and at neighbours, if any.
    cut_through: Option<Box<CutThrough>>,
    next_sample: Moment,
    /// True if the node forwards packets.
    pub forwards: bool,
    /// True for a fixed switch of a group of renamings, where frames have turns.
    has_turns: bool,
    /// Frames to neighbours that leave after all other events of the moment, at such a switch.
    late: Vec<(PortId, Packet)>,
    /// The turns of frames for fixed switches, if any.
    ties: Option<Box<Ties>>,
    /// Frames that depart are recorded or followed, and arriving frames are examined.
    is_watched: bool,
    /// A link of the node is down.
    has_fault: bool,
    /// Routes have changed since flows were last moved to other ports.
    is_rerouted: bool,
    acks: Acks,
    /// Injected faults, if any.
    injected: Option<Box<Injected>>,
    /// Numbers of started data packets at which the node asks for a checkpoint.
    pub marks: [u64; 2],
    /// Totals.
    pub counts: Counts,
    /// Ports, queues and counters.
    pub core: Core,
    effects: Effects,
    wanted: Wanted,
    /// Faults of the node, if any are planned.
    pub failing: Option<Box<failing::Failing>>,
    /// Recorder of delays, if any.
    pub delays: Option<Box<Recorder>>,
    /// Records of the node.
    pub records: Records,
    /// Active pauses.
    pub open_pauses: Vec<Pause>,
    /// For each port, the sum of the paused times of its queues.
    pub paused: Vec<Duration>,
    /// For each cause, the time of finished pauses.
    pub paused_by: BTreeMap<&'static str, Duration>,
}

impl State for Node {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            mechanisms,
            endpoint,
            cut_through,
            core,
            effects,
            injected,
            counts,
            records,
            open_pauses,
            paused,
            paused_by,
            delays,
            failing,
            has_fault,
            is_rerouted,
            // Constant fields.
            routes: _,
            next_sample,
            wanted,
            marks: _,
            forwards: _,
            has_turns: _,
            late: _,
            ties: _,
            is_watched: _,
            acks: _,
        } = self;
        if wanted.queues > Duration::ZERO {
            walk.phase(wanted.queues);
            walk.reminder(next_sample);
        }
        counts.walk(walk);
        records.walk(walk);
        walk.same(wide(open_pauses.len()));
        for pause in open_pauses {
            walk.since(&mut pause.start);
        }
        walk.total_each(paused.iter_mut());
        walk.total_each(paused_by.values_mut());
        if delays.is_some() {
            walk.refuse();
        }
        if let Some(failing) = failing {
            walk.within("fault", |walk| failing.walk(walk));
        }
        walk.value(u64::from(*has_fault));
        walk.value(u64::from(*is_rerouted));
        walk.value(injected.as_ref().map_or(0, |injected| injected.word()));
        mechanisms.walk(walk);
        core.walk(walk);
        effects.walk(walk);
        endpoint.walk(walk);
        cut_through.walk(walk);
    }
}

impl Node {
    /// True if no packet waits to be sent, and no sent packet is unacknowledged.
    pub fn is_quiet(&self) -> bool {
        self.failing.is_none()
            && self.open_pauses.is_empty()
            && self.core.ports.iter().all(|port| port.waiting == 0)
            && self.endpoint.as_ref().is_none_or(|endpoint| endpoint.is_quiet() && endpoint.is_handed_over())
    }

    /// Returns the pause frames of a port and class, over all mechanisms.
    pub fn pause_frames(&self, port: PortId, class: u8) -> PauseFrames {
        let mut sum = PauseFrames::default();
        for frames in self.mechanisms.iter().map(|m| m.pause_frames(port, class)) {
            sum.sent += frames.sent;
            sum.received += frames.received;
            sum.ignored += frames.ignored;
            sum.storms += frames.storms;
        }
        sum
    }

    /// A node at rest.
    pub fn new(
        core: Core,
        routing: Arc<Map>,
        forwards: bool,
        mechanisms: Mechanisms,
        effects: Effects,
        endpoint: Option<Box<Endpoint>>,
    ) -> Self {
        let paused = vec![Duration::ZERO; core.ports.len()];
        let routes = routing.routes[index(core.id)].clone();
        Self {
            core: Core { routing, ..core },
            routes,
            forwards,
            has_turns: false,
            late: Vec::new(),
            ties: None,
            mechanisms,
            effects,
            endpoint,
            cut_through: None,
            injected: None,
            marks: [u64::MAX; 2],
            acks: Acks::default(),
            wanted: Wanted::default(),
            next_sample: Moment::NEVER,
            is_watched: false,
            has_fault: false,
            is_rerouted: false,
            failing: None,
            delays: None,
            records: Records::default(),
            open_pauses: Vec::new(),
            counts: Counts::default(),
            paused,
            paused_by: BTreeMap::new(),
        }
    }

    /// Returns the node with records, the queue of acknowledgements and, for a forwarder, injected faults.
    #[must_use]
    pub fn with(self, wanted: Wanted, reorders: bool, acks: Acks, faults: Faults) -> Self {
        let next_sample = if wanted.queues == Duration::ZERO { Moment::NEVER } else { Moment::ZERO };
        let recorder =
            || Box::new(Recorder::new(self.core.id, self.core.ports.len(), wanted.delays.clone(), reorders));
        let delays = (wanted.delays != Traced::None).then(recorder);
        let injected = if self.forwards { Injected::new(faults) } else { None };
        let is_watched = wanted.packets || delays.is_some() || injected.is_some();
        let mut node = Self { next_sample, is_watched, acks, injected, wanted, delays, ..self };
        if let Some(nvlink) = node.endpoint.as_mut().and_then(|endpoint| endpoint.nvlink.as_mut()) {
            nvlink.keeps_rows = node.wanted.slices;
        }
        node
    }

    /// Returns the node with cut-through inputs.
    #[must_use]
    pub fn cutting_through(self, cut_through: Option<Box<CutThrough>>) -> Self {
        Self { cut_through, ..self }
    }

    /// Returns the node as part of a network with a group of renamings.
    #[must_use]
    pub fn taking_turns(self, symmetric: Option<&Symmetric>, ports: &[PortSpec]) -> Self {
        let Some(symmetric) = symmetric else { return self };
        let peers = ports.iter().map(|port| (port.peer, port.peer_port));
        let ties = Ties::new(symmetric, self.core.id, peers).map(Box::new);
        let has_turns = symmetric.group.is_fixed(self.core.id);
        let parts = |node| number(symmetric.group.elements_at(node).len());
        let copies = if has_turns && symmetric.is_folded { parts(self.core.id) } else { 1 };
        let mut node = Self { has_turns, ties, ..self };
        if has_turns {
            node.core.buffer.see_moments(copies);
        }
        node
    }

    /// True for a host that forwards packets.
    pub const fn relays(&self) -> bool {
        self.forwards && self.endpoint.is_some()
    }

    /// An event begins.
    #[inline(always)]
    fn begin(&mut self, now: Moment) {
        debug_assert!(self.effects.is_empty(), "what mechanisms asked for in an event is done in it");
        self.effects.now = now;
        if self.has_turns {
            self.core.buffer.begin(now);
        }
        if self.next_sample <= now {
            self.sample(now);
        }
    }

    /// Handles a frame that no fault lost.
    #[inline(always)]
    fn handle(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.is_seen() && (self.offer(port, &packet, cx) || packet.is_link_local()) {
            return;
        }
        if packet.dst() == self.core.id {
            self.receive(port, packet, cx);
        } else if self.forwards {
            self.forward(port, packet, cx);
        } else {
            self.drop_unroutable(&packet, cx);
        }
    }

    /// Records the arrival of a frame. True if a fault ends the frame here. The frame is passed as a copy and
    /// need not lie in memory.
    #[cold]
    fn trace_arrival(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) -> bool {
        if matches!(packet.kind(), Kind::Slice | Kind::Control) {
            return false;
        }
        if let Some(injected) = &mut self.injected
            && packet.dst() != self.core.id
            && injected.vanish(&packet)
        {
            return true;
        }
        if self.failing.is_some() && self.intercept(port, &packet, cx) {
            return true;
        }
        if self.wanted.packets {
            self.trace(port, &packet, false, cx.now());
        }
        false
    }
}

impl EngineNode for Node {
    type Message = Packet;

    #[inline]
    fn touch(&self) -> u64 {
        let ports = self.core.ports.iter().fold(0, |sum, port| sum ^ port.touch());
        let counters =
            self.core.ingress.iter().step_by(2).fold(0, |sum, counter| sum ^ u64::from(counter.bytes()));
        let endpoint = self.endpoint.as_ref().map_or(0, |e| e.touch());
        ports ^ counters ^ endpoint ^ self.counts.data_hops
    }

    fn has_turns(&self) -> bool {
        self.has_turns
    }

    /// Each flow keeps its deadline.
    fn timer(token: u64) -> Timer {
        match token::without_number(token::unpack(token).0) {
            token::RTO | token::FIRST_RTO => Timer::Reminder,
            token::COMPUTED => Timer::Computation,
            token::START | token::RELEASED | token::BEGIN | token::FAULT => Timer::Outside,
            _ => Timer::Future,
        }
    }

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.expect_faults(cx);
        let sources = self.endpoint.as_ref().map_or(0, |e| e.starts.len());
        for source in 0..sources {
            // Flows that start at zero start in an event of their own, as other flows do.
            if let Some(at) = self.endpoint.as_ref().and_then(|e| e.starts[source].peek()) {
                cx.set_timer(at, token::pack(token::START, 0, number(source)));
            }
        }
        if let Some(endpoint) = &self.endpoint {
            for (number, (at, owner, what)) in endpoint.applications.starts() {
                cx.set_timer(at, token::call(number, token::BEGIN, owner, what));
            }
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, port: usize, packet: Packet, cx: &mut Cx<'_>) {
        let port =
            if self.has_turns && !packet.is_link_local() { packet.in_port() } else { PortId::at(port) };
        self.begin(cx.now());
        if self.is_watched && self.trace_arrival(port, packet, cx) {
            return;
        }
        self.handle(port, packet, cx);
    }

    fn on_timer(&mut self, raw: u64, cx: &mut Cx<'_>) {
        self.begin(cx.now());
        let (kind, owner, payload) = token::unpack(raw);
        match token::without_number(kind) {
            token::START => self.start_due(index(payload), cx),
            token::PACE => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.on_pace(payload, cx.now());
                }
                self.requeue(payload, cx);
            }
            token::HOLD => self.requeue(payload, cx),
            token::RTO => self.time_out(payload, cx),
            token::FIRST_RTO => {
                while let Some(flow) = self.endpoint.as_mut().and_then(|e| e.next_timeout(&mut self.effects))
                {
                    self.time_out(flow, cx);
                }
                self.apply(cx);
            }
            token::TAIL => self.end_tail(PortId::at(index(payload)), cx),
            token::RELEASED => {
                if let Some(spec) = self.endpoint.as_ref().map(|e| e.released(payload)) {
                    self.start_flow(&spec, cx);
                }
            }
            token::BEGIN | token::COMPUTED | token::CALL | token::CONTROL => {
                self.on_application(kind, owner, payload, cx);
            }
            token::AVOID => self.on_seen(PortId::at(index(payload)), cx),
            token::FAULT => self.on_fault(payload, cx),
            token::RETRY => self.on_retry_timer(payload, cx),
            token::SETTLED => self.on_settled(PortId::at(index(payload)), cx),
            token::PIPE | token::HEAD | token::SLICE => self.on_nvlink_timer(kind, payload, cx),
            token::RECEIVER | token::RATE => {
                let Some(endpoint) = &mut self.endpoint else { return };
                if kind == token::RECEIVER {
                    endpoint.on_receiver_timer(&mut self.effects);
                } else {
                    endpoint.on_rate_timer(payload, &mut self.effects);
                }
                self.apply(cx);
                if kind == token::RATE {
                    self.requeue(payload, cx);
                }
            }
            _ => {
                self.mechanisms
                    .one(owner, &self.core, &mut self.effects, |m, core, fx| m.on_timer(payload, core, fx));
                self.apply(cx);
            }
        }
    }

    #[inline]
    fn on_output(&mut self, port: usize, cx: &mut Cx<'_>) {
        self.begin(cx.now());
        if self.has_turns && port == self.core.ports.len() {
            return self.send_all_late(cx);
        }
        let port = PortId::at(port);
        self.core.ports[port].end_frame();
        if self.core.ports[port].take_call() {
            return;
        }
        if self.is_rerouted {
            self.move_flows(cx);
        }
        loop {
            match self.core.ports[port].select() {
                None => return,
                Some(Choice::Packet(queue)) => {
                    let Some(packet) = self.core.ports[port].pop(queue) else { return };
                    if queue == QueueId(0) || !self.forwards || !packet.is_data() {
                        self.put_on_wire(port, queue, packet, cx);
                    } else {
                        self.leave(port, queue, packet, cx);
                    }
                    break;
                }
                Some(Choice::Supplier(queue)) => {
                    if self.supply(port, queue, cx) {
                        break;
                    }
                }
            }
        }
        if self.core.ports[port].has_more() {
            self.kick(port, cx);
        }
    }
}
