//! A node: an optional forwarder and an optional endpoint around ports.
//!
//! A switch forwards, a host has an endpoint, a relaying host both. The stages of a data packet at a forwarder are fixed:
//! route → assign queue → admit → enqueue → levels → select → dequeue → departure. Mechanisms hook into all of them but selecting, and
//! answer with effects.

mod effects;
mod follow;
mod tail;

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_engine::state::{State, Walk, Word};
use xoff_engine::{Context, Message as _, Node as EngineNode};
use xoff_units::Time;

use crate::core::{Core, Queueing};
use crate::count::{Group, PAUSED};
use crate::cut_through::{CutThrough, Rest};
use crate::delays::{Recorder, Traced};
use crate::effects::Effects;
use crate::endpoint::{Answer, Endpoint, Relist, Turn, token};
use crate::mechanism::{Admit, Crossing, Departure, Dequeued, Enqueued, Hooks, Place, Verdict, Watches};
use crate::mechanisms::Mechanisms;
use crate::packet::{Kind, Owner, Packet};
use crate::queueing::port::Choice;
use crate::record::{Drop, Pause, Records, Sample, Trace, Wanted};
use crate::routing::{Paths, Routes};
use crate::workload::{FlowSpec, Start};

type Cx<'a> = Context<'a, Packet>;

/// Data and control frames that a node handled.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Counts {
    /// Data packets that started on a link.
    pub data_hops: u64,
    /// Wire bytes of data dropped, those of packets whose payload was cut off among them.
    pub dropped_bytes: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Data packets marked.
    pub marked: u64,
    /// Frames whose destination nothing leads to, or that went in circles.
    pub lost: u64,
}

/// `switch.faults`: broken on purpose, so that tests can prove that the audits notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Each switch makes this many data packets vanish without counting them.
    pub vanish: u32,
    /// Each switch lets this many data packets overtake the one before them in their queue.
    pub overtake: u32,
}

/// `host.acks`: where the answers of receivers wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Acks {
    /// In the control queue, before all data, where nothing pauses them.
    #[default]
    Control,
    /// With the data of their class, at hosts and switches: they wait behind it, and its pauses hold them. No buffer counts them, so
    /// that none is lost. CNPs stay control.
    Data,
    /// With the data of their class at switches alone, and before all data at hosts: as HPCC's simulator has it, whatever its settings
    /// say.
    Switches,
}

/// What mechanisms do with a packet that they do not let in.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// So many bytes are left of it.
    Cut(u16),
    /// The mechanism of this number drops it.
    Drop(u8),
}

/// What nodes count beside their mechanisms: queues that waited for packets of the same flow in another queue.
pub const ORDER: Group = Group { name: "order", label: "order of flows", counts: &[PAUSED] };

/// A node of the network. What each packet needs comes first, in as few lines of the cache as it fits into.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Node {
    routes: Arc<Routes>,
    /// Mechanisms here.
    pub mechanisms: Mechanisms,
    /// Flows that start and end here.
    pub endpoint: Option<Box<Endpoint>>,
    /// Inputs that cut through, here and at neighbours, if any do.
    cut_through: Option<Box<CutThrough>>,
    next_sample: Time,
    /// Whether it passes packets on.
    pub forwards: bool,
    /// Whether frames that start are written down, or followed.
    is_watched: bool,
    acks: Acks,
    faults: Faults,
    /// Totals.
    pub counts: Counts,
    /// Ports, queues and counters.
    pub core: Core,
    effects: Effects,
    wanted: Wanted,
    /// What it writes down of delays, if it does.
    pub delays: Option<Box<Recorder>>,
    /// What was written down.
    pub records: Records,
    /// Pauses that last.
    pub open_pauses: Vec<Pause>,
    /// For each port, time during which queues of it were paused; each pause counts.
    pub paused: Vec<Time>,
    /// For each cause, the time of its pauses that are over.
    pub paused_by: BTreeMap<&'static str, Time>,
}

impl State for Node {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            mechanisms,
            endpoint,
            cut_through,
            core,
            effects,
            faults,
            // What never changes, or was counted or written down.
            routes: _,
            next_sample: _,
            forwards: _,
            is_watched: _,
            acks: _,
            counts: _,
            wanted: _,
            delays: _,
            records: _,
            open_pauses: _,
            paused: _,
            paused_by: _,
        } = self;
        walk.value((faults.vanish, faults.overtake).word());
        mechanisms.walk(walk);
        core.walk(walk);
        effects.walk(walk);
        endpoint.walk(walk);
        cut_through.walk(walk);
        if self.mechanisms.want(Watches::DEPARTURE) {
            // What was sent is written onto packets, as a total.
            self.core.ports.iter().for_each(|port| walk.value(port.data_bytes));
        }
    }
}

impl Node {
    /// A node at rest.
    pub fn new(
        core: Core,
        routes: Arc<Routes>,
        forwards: bool,
        mechanisms: Mechanisms,
        effects: Effects,
        endpoint: Option<Box<Endpoint>>,
    ) -> Self {
        let paused = vec![Time::ZERO; core.ports.len()];
        Self {
            core,
            routes,
            forwards,
            mechanisms,
            effects,
            endpoint,
            cut_through: None,
            faults: Faults::default(),
            acks: Acks::default(),
            wanted: Wanted::default(),
            next_sample: Time::NEVER,
            is_watched: false,
            delays: None,
            records: Records::default(),
            open_pauses: Vec::new(),
            counts: Counts::default(),
            paused,
            paused_by: BTreeMap::new(),
        }
    }

    /// The same node, with what it writes down, where answers wait and, if it forwards, what it does wrong.
    #[must_use]
    pub fn with(self, wanted: Wanted, reorders: bool, acks: Acks, faults: Faults) -> Self {
        let next_sample = if wanted.queues == Time::ZERO { Time::NEVER } else { Time::ZERO };
        let recorder = || Box::new(Recorder::new(self.core.id, self.core.ports.len(), wanted.delays.clone(), reorders));
        let delays = (wanted.delays != Traced::None).then(recorder);
        let is_watched = wanted.packets || delays.is_some();
        Self { wanted, next_sample, is_watched, delays, acks, faults: if self.forwards { faults } else { Faults::default() }, ..self }
    }

    /// The same node, with what it knows of inputs that cut through.
    #[must_use]
    pub fn cutting_through(self, cut_through: Option<Box<CutThrough>>) -> Self {
        Self { cut_through, ..self }
    }

    /// Whether it is a host that passes packets on.
    pub const fn relays(&self) -> bool {
        self.forwards && self.endpoint.is_some()
    }

    /// The routes here.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    #[inline]
    fn kick(&mut self, port: usize, cx: &mut Cx<'_>) {
        let p = &mut self.core.ports[port];
        if !p.is_woken {
            p.is_woken = true;
            cx.wake_output(port, p.busy_until.max(cx.now()));
        }
    }

    /// Whether nothing is sent by a port, or waits for it.
    #[inline]
    fn is_idle(&self, port: usize, cx: &Cx<'_>) -> bool {
        let p = &self.core.ports[port];
        p.waiting == 0 && !p.is_woken && p.busy_until <= cx.now()
    }

    /// Sends a control frame by a port: before all data, never paused, and in no count. Nothing that may still happen at this
    /// moment could come before it, so that it starts at once if the port is idle.
    #[inline(always)]
    fn send_control(&mut self, port: usize, frame: Packet, cx: &mut Cx<'_>) {
        if self.is_idle(port, cx) {
            self.put_on_wire(port, 0, frame, cx);
        } else {
            self.core.ports[port].push(0, frame);
            self.kick(port, cx);
        }
    }

    /// Sends a frame that is no data, and that came by a port if it was not made here: answers wait where the scenario says.
    #[inline]
    fn send_on(&mut self, port: usize, frame: Packet, cx: &mut Cx<'_>) {
        let is_control = match self.acks {
            Acks::Control => true,
            Acks::Data => false,
            Acks::Switches => !self.forwards,
        };
        if is_control || !frame.is_answer() {
            return self.send_control(port, frame, cx);
        }
        let queue = self.core.queue_for(frame.class(), frame.in_port() as usize);
        if self.is_idle(port, cx) && cx.settled(port) && !self.core.ports[port].queues[queue].is_blocked() {
            self.put_on_wire(port, queue, frame, cx);
        } else {
            self.core.ports[port].push(queue, frame);
            self.kick(port, cx);
        }
    }

    /// Starts a frame of a queue on the link; the port must be free.
    #[inline(always)]
    fn put_on_wire(&mut self, port: usize, queue: usize, mut frame: Packet, cx: &mut Cx<'_>) {
        let p = &mut self.core.ports[port];
        let now = cx.now();
        let ends = now + p.serializer.time(u64::from(frame.bytes()));
        p.busy_until = ends;
        // The peer handles it at its last bit, or when it has as much of it as it needs.
        let handled = match &self.cut_through {
            None => ends,
            Some(cut) => cut.head(port, &frame, p.peer).map_or(ends, |head| now + head),
        };
        let (arrives, peer_delay) = (handled + p.delay, p.peer_delay);
        // MAC control and what ends there do not go through the peer's forwarding.
        let is_express = frame.is_link_local() || (peer_delay > Time::ZERO && frame.dst() == p.peer);
        if frame.is_data() {
            p.data_bytes += u64::from(frame.bytes());
            p.data_packets += 1;
            p.last_data = now;
            self.counts.data_hops += 1;
            if self.mechanisms.want(Watches::DEPARTURE) {
                self.depart(port, queue, &mut frame, cx);
            }
        } else {
            p.control_bytes += u64::from(frame.bytes());
        }
        if self.is_watched {
            self.watch(port, queue, &frame, now, handled);
        }
        frame.hop();
        if is_express {
            cx.send_express(port, arrives - peer_delay, frame);
        } else {
            cx.send(port, arrives, frame);
        }
    }

    /// Shows a control frame to mechanisms; true when one of them ends it.
    #[inline(never)]
    fn is_consumed(&mut self, port: usize, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let mut verdict = Verdict::Pass;
        if self.mechanisms.want(Watches::CONTROL) {
            self.effects.now = cx.now();
            let core = &self.core;
            self.mechanisms.each(Watches::CONTROL, &mut self.effects, |m, fx| {
                if verdict == Verdict::Pass {
                    verdict = m.on_control(packet, port, core, fx);
                }
            });
            self.apply(cx);
        }
        verdict == Verdict::Consume
    }

    #[cold]
    fn depart(&mut self, port: usize, queue: usize, packet: &mut Packet, cx: &mut Cx<'_>) {
        self.effects.now = cx.now();
        let core = &self.core;
        let mut event = Departure { is_own: packet.hops() == 0, packet, port, queue, records: cx.sides() };
        self.mechanisms.each(Watches::DEPARTURE, &mut self.effects, |m, fx| m.on_departure(&mut event, core, fx));
    }

    #[cold]
    fn trace(&mut self, port: usize, frame: &Packet, is_departure: bool, at: Time) {
        self.records.packets.push(Trace { at, node: self.core.id, port: port as u16, is_departure, frame: *frame });
    }

    /// A packet that goes on to another node.
    #[inline]
    fn forward(&mut self, in_port: usize, mut packet: Packet, cx: &mut Cx<'_>) {
        if packet.hops() > 64 {
            return self.lose(&packet, cx);
        }
        packet.set_in_port(in_port as u16);
        if !packet.is_data() {
            self.send_on(self.routes.port(&packet), packet, cx);
            return;
        }
        let out = if self.mechanisms.want(Watches::ROUTE) { self.route(&mut packet, cx) } else { self.routes.port(&packet) };
        if self.faults.vanish > 0 {
            self.faults.vanish -= 1;
            return;
        }
        let was_marked = packet.has(Packet::CE);
        let placed = if self.mechanisms.want(Watches::ASSIGN.and(Watches::ADMIT)) {
            let Some(queue) = self.place(out, &mut packet, cx) else { return };
            Some(queue)
        } else {
            None
        };
        let class = packet.class();
        let group = self.core.group(in_port, class);
        let queue = placed.unwrap_or_else(|| self.core.queue_for(class, in_port));
        let (in_group, in_queue) = (self.core.ingress[group].bytes(), self.core.ports[out].queues[queue].bytes.bytes());
        if !self.core.buffer.admit(in_port, group, out, in_group, in_queue, packet.bytes()) {
            self.drop_packet(out, queue, &packet, None, cx);
            return;
        }
        if let Some(cut) = &mut self.cut_through {
            cut.enter(&packet, cx.now());
        }
        if packet.has(Packet::CE) && !was_marked {
            self.counts.marked += 1;
            self.core.ports[out].queues[queue].marked += 1;
        }
        if self.is_watched {
            self.follow_arrival(&packet, out, queue, cx.now());
        }
        let crossed = self.core.ingress[group].add(packet.bytes());
        let is_input_queued = self.core.queueing == Queueing::Iq;
        if !is_input_queued {
            self.core.ports[out].queues[queue].bytes.add(packet.bytes());
        }
        if crossed {
            self.crossing(in_port, class, true, cx);
        }
        if self.mechanisms.want(Watches::ENQUEUE) {
            self.effects.now = cx.now();
            let (core, event) = (&self.core, Enqueued { packet: &packet, port: out, queue });
            self.mechanisms.each(Watches::ENQUEUE, &mut self.effects, |m, fx| m.on_enqueue(&event, core, fx));
            self.apply(cx);
        }
        if self.is_watched {
            self.follow_entry();
        }
        if is_input_queued {
            self.core.inputs[group].push_back(packet);
            if self.core.inputs[group].len() == 1 {
                self.core.ports[out].push_supplier(queue, group as u32);
                self.kick(out, cx);
            }
        } else if self.is_idle(out, cx) && cx.settled(out) && !self.core.ports[out].queues[queue].is_blocked() {
            self.leave(out, queue, packet, cx);
        } else {
            self.core.ports[out].push(queue, packet);
            if self.faults.overtake > 0 {
                self.overtake(out, queue);
            }
            self.kick(out, cx);
        }
    }

    #[cold]
    fn overtake(&mut self, port: usize, queue: usize) {
        let packets = &mut self.core.ports[port].queues[queue].packets;
        let last = packets.len() - 1;
        let before = last.checked_sub(1).and_then(|n| packets.get(n));
        let alike = |a: &Packet, b: &Packet| (a.flow(), a.bytes()) == (b.flow(), b.bytes());
        if before.zip(packets.get(last)).is_some_and(|(a, b)| alike(a, b)) {
            self.faults.overtake -= 1;
            packets.swap(last, last - 1);
        }
    }

    /// The queue that mechanisms choose for a packet and let it into; none if they drop it.
    #[cold]
    fn place(&mut self, port: usize, packet: &mut Packet, cx: &mut Cx<'_>) -> Option<usize> {
        self.effects.now = cx.now();
        let core = &self.core;
        let mut queue = None;
        self.mechanisms.each(Watches::ASSIGN, &mut self.effects, |m, fx| queue = m.assign_queue(packet, port, core, fx).or(queue));
        self.apply(cx);
        let queue = queue.unwrap_or_else(|| self.core.queue_for(packet.class(), packet.in_port() as usize));
        match self.admit(port, queue, packet, cx) {
            Ok(queue) => Some(queue),
            Err(Refusal::Cut(bytes)) => {
                self.trim(port, bytes, *packet, cx);
                None
            }
            Err(Refusal::Drop(by)) => {
                self.drop_packet(port, queue, packet, Some(self.mechanisms.name(by)), cx);
                None
            }
        }
    }

    /// Cuts the payload off a packet. As data it is gone; what is left of it goes on as control, if anything is.
    fn trim(&mut self, port: usize, bytes: u16, packet: Packet, cx: &mut Cx<'_>) {
        self.counts.dropped_bytes += u64::from(packet.bytes());
        if bytes == 0 {
            if let Some(slot) = packet.side() {
                cx.sides().give_back(slot);
            }
            return;
        }
        let mut header = packet;
        header.set_kind(Kind::Header);
        header.set_bytes(bytes.min(packet.bytes()));
        if header.path() < Paths::FIRST {
            header.recount();
        }
        let rest = Rest { packet: header, port: port as u16, queue: 0 };
        if let Some(cut) = &mut self.cut_through {
            cut.enter(&packet, cx.now());
        }
        if self.cut_through.is_none() || !self.put_off(&packet, rest, cx) {
            self.send_control(port, header, cx);
        }
    }

    /// The port that a mechanism chooses among several, or that of ECMP.
    #[cold]
    fn route(&mut self, packet: &mut Packet, cx: &mut Cx<'_>) -> usize {
        let choices = self.routes.choices(packet.dst());
        let mut port = None;
        if choices.len() > 1 && packet.path() < Paths::FIRST {
            self.effects.now = cx.now();
            let core = &self.core;
            self.mechanisms.each(Watches::ROUTE, &mut self.effects, |m, fx| port = m.route(packet, choices, core, fx).or(port));
        }
        let port = port.map_or_else(|| self.routes.port(packet), usize::from);
        self.apply(cx);
        port
    }

    /// The queue in which mechanisms let a packet wait, or what they do instead.
    fn admit(&mut self, port: usize, queue: usize, packet: &mut Packet, cx: &mut Cx<'_>) -> Result<usize, Refusal> {
        self.effects.now = cx.now();
        let core = &self.core;
        let mut place = Ok(queue);
        self.mechanisms.each(Watches::ADMIT, &mut self.effects, |m, fx| {
            let Ok(queue) = place else { return };
            place = match m.admit(packet, Place { port, queue }, core, fx) {
                Admit::Accept(other) => Ok(other),
                Admit::Drop => Err(Refusal::Drop(fx.owner)),
                Admit::Trim(bytes) => Err(Refusal::Cut(bytes)),
            };
        });
        self.apply(cx);
        place
    }

    /// A forwarded data packet leaves its queue for the wire.
    #[inline(always)]
    fn leave(&mut self, port: usize, queue: usize, mut packet: Packet, cx: &mut Cx<'_>) {
        let (in_port, class) = (packet.in_port() as usize, packet.class());
        let group = self.core.group(in_port, class);
        let q = &mut self.core.ports[port].queues[queue];
        if self.core.queueing != Queueing::Iq {
            q.bytes.sub(packet.bytes());
        }
        q.sent += 1;
        q.sent_bytes += u64::from(packet.bytes());
        let rest = || Rest { packet, port: port as u16, queue: queue as u16 };
        let is_whole = self.cut_through.is_none() || !self.put_off(&packet, rest(), cx);
        let crossed = is_whole && self.core.ingress[group].sub(packet.bytes());
        if is_whole || self.core.buffer.is_by_output() {
            self.core.buffer.release(in_port, group, port, packet.bytes());
        }
        if self.mechanisms.want(Watches::DEQUEUE) {
            self.effects.now = cx.now();
            let (core, event) = (&self.core, Dequeued { packet: &packet, port, queue, is_whole });
            self.mechanisms.each(Watches::DEQUEUE, &mut self.effects, |m, fx| m.on_dequeue(&event, core, fx));
            if self.effects.take_mark() {
                packet.set(Packet::CE);
                self.counts.marked += 1;
                self.core.ports[port].queues[queue].marked += 1;
            }
        }
        self.put_on_wire(port, queue, packet, cx);
        // Frames that follow from the departure find the port busy.
        if crossed {
            self.crossing(in_port, class, false, cx);
        } else {
            self.apply(cx);
        }
    }

    #[cold]
    fn crossing(&mut self, port: usize, class: u8, is_up: bool, cx: &mut Cx<'_>) {
        self.effects.now = cx.now();
        let core = &self.core;
        self.mechanisms.each(Watches::LEVEL, &mut self.effects, |m, fx| m.on_level(Crossing { port, class, is_up }, core, fx));
        self.apply(cx);
    }

    /// A frame goes astray.
    #[cold]
    fn lose(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.counts.lost += 1;
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
    }

    /// A packet is not let in: there is no room, or a mechanism drops it.
    #[cold]
    fn drop_packet(&mut self, port: usize, queue: usize, packet: &Packet, by: Option<&'static str>, cx: &mut Cx<'_>) {
        if self.mechanisms.want(Watches::ASSIGN) {
            self.effects.now = cx.now();
            let event = Enqueued { packet, port, queue };
            self.mechanisms.each(Watches::ASSIGN, &mut self.effects, |m, fx| m.on_drop(&event, fx));
            self.apply(cx);
        }
        self.write_off(port, queue, packet, by, cx);
    }

    /// A packet is gone.
    fn write_off(&mut self, port: usize, queue: usize, packet: &Packet, by: Option<&'static str>, cx: &mut Cx<'_>) {
        self.counts.dropped += 1;
        self.counts.dropped_bytes += u64::from(packet.bytes());
        self.core.ports[port].queues[queue].dropped += 1;
        let at = cx.now();
        let (flow, seq, bytes, in_port) = (packet.flow(), packet.seq(), packet.bytes(), packet.in_port());
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
        self.records.drops.push(Drop { at, node: self.core.id, port: port as u16, in_port, class: packet.class(), flow, seq, bytes, by });
    }

    /// Puts a flow back into its queue's round when it can go on.
    fn relist(&mut self, flow: u32, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let answer = endpoint.relist(flow, cx.now());
        if self.is_watched {
            self.follow(flow, cx.now());
        }
        match answer {
            Relist::No => {}
            Relist::Now { slot, port, queue } => {
                self.core.ports[port as usize].push_supplier(queue as usize, slot);
                self.kick(port as usize, cx);
            }
            Relist::At(at) => cx.set_timer(at, token::pack(token::PACE, 0, flow)),
        }
    }

    fn time_out(&mut self, flow: u32, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let is_silent = endpoint.is_silent(flow, cx.now());
        let (again, went_back) = endpoint.on_rto(flow, cx.now());
        let request = if is_silent { endpoint.request(flow) } else { None };
        if let Some(at) = again {
            cx.set_timer(at, token::pack(token::RTO, 0, flow));
        }
        if let Some(frame) = request {
            self.send_control(self.routes.port(&frame), frame, cx);
        }
        if went_back {
            if self.mechanisms.want(Watches::ANSWER) {
                self.effects.now = cx.now();
                let core = &self.core;
                self.mechanisms.each(Watches::ANSWER, &mut self.effects, |m, fx| m.on_silence(flow, core, fx));
                self.apply(cx);
            }
            self.relist(flow, cx);
        }
    }

    #[cold]
    fn answered(&mut self, answer: &Packet, cx: &mut Cx<'_>) {
        let is_over = self.endpoint.as_ref().is_none_or(|e| !e.is_under_way(answer.flow()));
        self.effects.now = cx.now();
        let core = &self.core;
        self.mechanisms.each(Watches::ANSWER, &mut self.effects, |m, fx| m.on_answer(answer, is_over, core, fx));
        self.apply(cx);
    }

    fn start_flow(&mut self, spec: &FlowSpec, cx: &mut Cx<'_>) {
        let mut probe = Packet::new(Kind::Data, spec.flow, 0, spec.dst, 0, spec.class);
        probe.set_path(spec.path);
        let Some(endpoint) = &mut self.endpoint else { return };
        let ports = &self.core.ports;
        let chosen = endpoint.first_hop(spec, self.routes.choices(spec.dst), |p| ports[p as usize].rate, cx.now());
        let port = chosen.map_or_else(|| self.routes.port(&probe), usize::from);
        probe.set_class(endpoint.class_for(spec));
        let mut queue = None;
        if self.mechanisms.want(Watches::PLACE) {
            let core = &self.core;
            self.mechanisms.each(Watches::PLACE, &mut self.effects, |m, _| queue = m.place_flow(&mut probe, port, core).or(queue));
        }
        let class = probe.class();
        let queue = queue.unwrap_or(1 + class as usize);
        let Some(endpoint) = &mut self.endpoint else { return };
        let (slot, held_until) = endpoint.start(&FlowSpec { class, ..*spec }, port as u16, queue as u16, cx.now());
        if let Some(until) = held_until {
            cx.set_timer(until, token::pack(token::HOLD, 0, spec.flow));
        }
        if let Some(recorder) = &mut self.delays {
            recorder.start(spec.flow, spec.dst, port, queue, cx.now());
        }
        self.core.ports[port].push_supplier(queue, slot);
        self.kick(port, cx);
    }

    fn start_due(&mut self, source: usize, cx: &mut Cx<'_>) {
        loop {
            let Some(endpoint) = &mut self.endpoint else { return };
            match endpoint.starts[source].peek() {
                Some(at) if at <= cx.now() => {
                    if let Some(spec) = endpoint.starts[source].take() {
                        self.start_flow(&spec, cx);
                    }
                }
                Some(at) => return cx.set_timer(at, token::pack(token::START, 0, source as u32)),
                None => return,
            }
        }
    }

    /// A frame for this host.
    #[inline]
    fn receive(&mut self, port: usize, packet: Packet, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return self.lose(&packet, cx) };
        if packet.is_data() {
            return self.receive_data(port, &packet, cx);
        }
        match packet.kind().owner() {
            Owner::Transport if packet.kind() == Kind::Header && endpoint.is_own(packet.flow()) => {
                endpoint.on_bounce(&packet, cx.now());
                self.relist(packet.flow(), cx);
            }
            Owner::Transport if packet.kind() == Kind::Header => {
                let answer = endpoint.on_header(&packet, cx.now());
                self.answer(&packet, answer, cx);
            }
            Owner::Transport => {
                let (now, slot) = (cx.now(), packet.side());
                let enclosed = slot.map(|slot| &*cx.sides().get(slot)).filter(|record| !record.also.is_empty());
                let packet = enclosed.map_or(packet, |record| packet.disclosed(record));
                let may_send = endpoint.on_answer(&packet, slot.map(|slot| &*cx.sides().get(slot)), now);
                if let Some(slot) = slot {
                    cx.sides().give_back(slot);
                }
                if self.is_watched {
                    self.follow_end(packet.flow());
                }
                if self.mechanisms.want(Watches::ANSWER) {
                    self.answered(&packet, cx);
                }
                if may_send {
                    self.relist(packet.flow(), cx);
                }
            }
            Owner::Control => {
                endpoint.on_notice(&packet, cx.now());
                self.relist(packet.flow(), cx);
            }
            Owner::Pulls => {
                if let Some(at) = endpoint.on_pull(&packet, cx.now()) {
                    cx.set_timer(at, token::pack(token::HOST, 0, 0));
                }
                self.relist(packet.flow(), cx);
            }
            // What no mechanism consumed ends here.
            Owner::Mechanism => {}
        }
    }

    #[inline]
    fn receive_data(&mut self, port: usize, packet: &Packet, cx: &mut Cx<'_>) {
        if self.mechanisms.want(Watches::DELIVERED) {
            self.delivered(port, packet, cx);
        }
        let Some(endpoint) = &mut self.endpoint else { return };
        let answer = endpoint.on_data(packet, cx.now());
        self.answer(packet, answer, cx);
    }

    /// Sends what a receiver answers, and starts the flows that waited for a packet.
    #[inline]
    fn answer(&mut self, packet: &Packet, answer: Answer, cx: &mut Cx<'_>) {
        let Answer { mut frames, also, released, host_timer } = answer;
        if let Some(slot) = packet.side() {
            // The ACK takes over what travels beside the packet.
            match &mut frames[0] {
                Some(ack) if ack.kind() == Kind::Ack => *ack = ack.at_side(slot),
                _ => cx.sides().give_back(slot),
            }
        }
        if let (Some(frame), false) = (&mut frames[0], also.is_empty()) {
            frame.enclose(&also, cx.sides());
        }
        for frame in frames.into_iter().flatten() {
            self.send_on(self.routes.port(&frame), frame, cx);
        }
        if let Some(at) = host_timer {
            cx.set_timer(at, token::pack(token::HOST, 0, 0));
        }
        for spec in released {
            self.release_flow(spec, cx);
        }
    }

    /// Starts the flows that waited until the last packet of this one had left.
    #[inline]
    fn release_after(&mut self, flow: u32, cx: &mut Cx<'_>) {
        let released = self.endpoint.as_mut().map_or_else(Vec::new, |e| e.released_by(flow));
        for spec in released {
            self.release_flow(spec, cx);
        }
    }

    /// The last flow that a flow of this node waited for has arrived, or left.
    fn release_flow(&mut self, spec: FlowSpec, cx: &mut Cx<'_>) {
        if spec.start <= cx.now() {
            return self.start_flow(&spec, cx);
        }
        // Its own start is later than its last dependency: it joins the list of what is to come.
        let Some(endpoint) = &mut self.endpoint else { return };
        endpoint.starts.push(Start::list(vec![spec]));
        let source = endpoint.starts.len() - 1;
        self.start_due(source, cx);
    }

    #[cold]
    fn delivered(&mut self, port: usize, packet: &Packet, cx: &mut Cx<'_>) {
        self.effects.now = cx.now();
        let core = &self.core;
        self.mechanisms.each(Watches::DELIVERED, &mut self.effects, |m, fx| m.on_delivered(packet, port, core, fx));
        self.apply(cx);
    }

    /// A flow's turn; true when a packet was sent.
    #[inline]
    fn supply(&mut self, port: usize, queue: u16, cx: &mut Cx<'_>) -> bool {
        let Some(supplier) = self.core.ports[port].pop_supplier(queue) else { return false };
        if self.forwards && self.core.queueing == Queueing::Iq {
            self.supply_from_input(port, queue as usize, supplier as usize, cx);
            return true;
        }
        let Some(endpoint) = &mut self.endpoint else { return false };
        let serializer = self.core.ports[port].serializer;
        let flow = endpoint.flow_of(supplier);
        let (turn, rto) = endpoint.turn(supplier, cx.now(), |bytes| serializer.time(u64::from(bytes)));
        if let Some(at) = rto {
            cx.set_timer(at, token::pack(token::FIRST_RTO, 0, 0));
        }
        let packet = match turn {
            Turn::Send(packet) => {
                self.core.ports[port].push_supplier_after(queue, supplier);
                packet
            }
            Turn::SendThenWait(packet, at) => {
                cx.set_timer(at, token::pack(token::PACE, 0, flow));
                packet
            }
            Turn::SendAndLeave(packet) => packet,
            Turn::Leave => {
                endpoint.reclaim(supplier);
                // Its pace may have become slower while it was listed.
                self.relist(flow, cx);
                return false;
            }
        };
        if self.is_watched {
            self.follow_turn(flow, cx.now(), cx.now() + serializer.time(u64::from(packet.bytes())));
        }
        self.put_on_wire(port, queue as usize, packet, cx);
        if self.is_watched {
            self.follow_end(flow);
        }
        self.apply(cx);
        if packet.has(Packet::LAST) {
            self.release_after(flow, cx);
        }
        true
    }

    /// The head of an input FIFO crosses to `port`; the packet behind it asks for its own output.
    fn supply_from_input(&mut self, port: usize, queue: usize, group: usize, cx: &mut Cx<'_>) {
        let Some(packet) = self.core.inputs[group].pop_front() else { return };
        if let Some(head) = self.core.inputs[group].front() {
            let out = self.routes.port(head);
            let queue = self.core.queue_for(head.class(), head.in_port() as usize);
            self.core.ports[out].push_supplier(queue, group as u32);
            if out != port {
                self.kick(out, cx);
            }
        }
        self.leave(port, queue, packet, cx);
    }

    /// Looks at the queues as often as this from now on, at its multiples; of what was written down so far those stay.
    pub fn sample_every(&mut self, interval: Time) {
        self.wanted.queues = interval;
        self.next_sample = Time(self.next_sample.0.next_multiple_of(interval.0));
        self.records.samples.retain(|s| s.at.0.is_multiple_of(interval.0));
    }

    /// How many samples there are to take from here once those up to a moment are written down.
    pub fn samples_until(&self, now: Time) -> u64 {
        let taken = self.records.samples.len() as u64;
        if self.next_sample > now {
            return taken;
        }
        let queues = self.core.ports.iter().flat_map(|p| p.queues.iter().skip(1)).filter(|q| q.bytes.bytes() > 0).count();
        taken + queues as u64 * (1 + now.since(self.next_sample).0 / self.wanted.queues.0)
    }

    /// Writes down what waits at each interval up to a moment: what has waited since the last event here.
    #[cold]
    pub fn sample(&mut self, now: Time) {
        while self.next_sample <= now {
            for (port, p) in self.core.ports.iter().enumerate() {
                for (queue, q) in p.queues.iter().enumerate().skip(1) {
                    let bytes = q.bytes.bytes();
                    if bytes > 0 {
                        let (node, port, queue) = (self.core.id, port as u16, queue as u16);
                        self.records.samples.push(Sample { at: self.next_sample, node, port, queue, bytes });
                    }
                }
            }
            // Nothing is written while every queue is empty, so a long silence costs one look.
            self.next_sample += self.wanted.queues;
            if self.core.ports.iter().all(|p| p.waiting == 0) {
                let behind = (now.0.saturating_sub(self.next_sample.0)) / self.wanted.queues.0;
                self.next_sample += Time(behind * self.wanted.queues.0);
            }
        }
    }

    /// Records beside frames that wait here.
    pub fn queued_records(&self) -> usize {
        let ports = self.core.ports.iter().flat_map(|p| &p.queues).flat_map(|q| q.packets.iter());
        let cut = self.cut_through.iter().flat_map(|cut| cut.waiting());
        ports.chain(self.core.inputs.iter().flatten()).chain(cut).filter(|p| p.side().is_some()).count()
    }

    /// Wire bytes of data that wait here.
    pub fn queued_bytes(&self) -> u64 {
        let ports = self.core.ports.iter().flat_map(|p| p.queues.iter().skip(1)).flat_map(|q| q.packets.iter());
        let all = ports.chain(self.core.inputs.iter().flatten());
        all.filter(|p| p.is_data()).map(|p| u64::from(p.bytes())).sum()
    }
}

impl EngineNode for Node {
    type Message = Packet;

    #[inline]
    fn touch(&self) -> u64 {
        let ports = self.core.ports.iter().fold(0, |sum, port| sum ^ port.touch());
        let counters = self.core.ingress.iter().step_by(2).fold(0, |sum, counter| sum ^ u64::from(counter.bytes()));
        let endpoint = self.endpoint.as_ref().map_or(0, |e| e.touch());
        ports ^ counters ^ endpoint ^ self.counts.data_hops
    }

    /// Each flow keeps its deadline.
    fn is_reminder(token: u64) -> bool {
        matches!(token::unpack(token).0, token::RTO | token::FIRST_RTO)
    }

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        let sources = self.endpoint.as_ref().map_or(0, |e| e.starts.len());
        for source in 0..sources {
            // Flows that start at zero start in an event of their own, like all others.
            if let Some(at) = self.endpoint.as_ref().and_then(|e| e.starts[source].peek()) {
                cx.set_timer(at, token::pack(token::START, 0, source as u32));
            }
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, port: usize, packet: Packet, cx: &mut Cx<'_>) {
        if self.next_sample <= cx.now() {
            self.sample(cx.now());
        }
        if self.is_watched && self.wanted.packets {
            self.trace(port, &packet, false, cx.now());
        }
        if packet.is_seen() && (self.is_consumed(port, &packet, cx) || packet.is_link_local()) {
            return;
        }
        if packet.dst() == self.core.id {
            self.receive(port, packet, cx);
        } else if self.forwards {
            self.forward(port, packet, cx);
        } else {
            self.lose(&packet, cx);
        }
    }

    fn on_timer(&mut self, raw: u64, cx: &mut Cx<'_>) {
        if self.next_sample <= cx.now() {
            self.sample(cx.now());
        }
        let (kind, owner, payload) = token::unpack(raw);
        match kind {
            token::START => self.start_due(payload as usize, cx),
            token::PACE => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.on_pace(payload, cx.now());
                }
                self.relist(payload, cx);
            }
            token::HOLD => self.relist(payload, cx),
            token::RTO => self.time_out(payload, cx),
            token::FIRST_RTO => loop {
                let Some(endpoint) = &mut self.endpoint else { return };
                match endpoint.next_timeout(cx.now()) {
                    (Some(flow), _) => self.time_out(flow, cx),
                    (None, Some(at)) => return cx.set_timer(at, raw),
                    (None, None) => return,
                }
            },
            token::TAIL => self.end_tail(payload as usize, cx),
            token::HOST => {
                let Some(endpoint) = &mut self.endpoint else { return };
                let (frames, again) = endpoint.on_host_timer(cx.now());
                for frame in frames {
                    self.send_control(self.routes.port(&frame), frame, cx);
                }
                if let Some(at) = again {
                    cx.set_timer(at, raw);
                }
            }
            _ => {
                self.effects.now = cx.now();
                let core = &self.core;
                self.mechanisms.one(owner, &mut self.effects, |m, fx| m.on_timer(payload, core, fx));
                self.apply(cx);
            }
        }
    }

    #[inline]
    fn on_output(&mut self, port: usize, cx: &mut Cx<'_>) {
        if self.next_sample <= cx.now() {
            self.sample(cx.now());
        }
        self.core.ports[port].is_woken = false;
        self.core.ports[port].end_frame();
        loop {
            match self.core.ports[port].select() {
                None => return,
                Some(Choice::Packet(queue)) => {
                    let Some(packet) = self.core.ports[port].pop(queue) else { return };
                    if queue == 0 || !self.forwards || !packet.is_data() {
                        self.put_on_wire(port, queue as usize, packet, cx);
                    } else {
                        self.leave(port, queue as usize, packet, cx);
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use xoff_engine::{Engine, LinkSpec, Plan};
    use xoff_units::{Bytes, Rate};

    use super::*;
    use crate::effects::Effect;
    use crate::network::{Settings, build};
    use crate::overrides::{Local, Locals};
    use crate::queueing::buffer;
    use crate::topology::{Link, Shape, star};
    use crate::transport::{Table, raw};
    use crate::workload::{self, Flow, Host, Workload};

    /// A node for which a script stands in for its mechanisms: at a moment one of them asks for an effect.
    #[derive(Debug)]
    struct Scripted {
        node: Node,
        script: Vec<(Time, u8, Effect)>,
        /// The index of a packet that is cut to 64 bytes when it comes to be forwarded for the first time.
        cut: Option<u32>,
    }

    const SCRIPT: u64 = 99;

    impl EngineNode for Scripted {
        type Message = Packet;

        fn on_start(&mut self, cx: &mut Cx<'_>) {
            self.node.on_start(cx);
            for (i, (at, ..)) in self.script.iter().enumerate() {
                cx.set_timer(*at, token::pack(SCRIPT, 0, i as u32));
            }
        }

        fn on_arrival(&mut self, port: usize, packet: Packet, cx: &mut Cx<'_>) {
            if packet.is_data() && self.node.forwards && self.cut.take_if(|cut| *cut == packet.seq()).is_some() {
                let out = self.node.routes.port(&packet);
                return self.node.trim(out, 64, packet, cx);
            }
            self.node.on_arrival(port, packet, cx);
        }

        fn on_timer(&mut self, raw: u64, cx: &mut Cx<'_>) {
            let (kind, _, line) = token::unpack(raw);
            if kind != SCRIPT {
                return self.node.on_timer(raw, cx);
            }
            let (_, owner, effect) = self.script[line as usize];
            (self.node.effects.owner, self.node.effects.now) = (owner, cx.now());
            self.node.effects.push(effect);
            self.node.apply(cx);
        }

        fn on_output(&mut self, port: usize, cx: &mut Cx<'_>) {
            self.node.on_output(port, cx);
        }
    }

    /// The switch of a star of three hosts, 0 to 2, whose port n leads to host n.
    pub(super) const SWITCH: u32 = 3;

    /// Runs flows (source, destination, payload, start) in a star of three hosts with links of 100 Gb/s and 1 us, and a script of
    /// (node, moment, number of the mechanism, effect), to the end.
    pub(super) fn run(settings: &Settings, flows: &[(u64, u64, u64, Time)], script: &[(u32, Time, u8, Effect)]) -> Vec<Node> {
        run_and_cut(settings, flows, script, None)
    }

    fn run_and_cut(
        settings: &Settings,
        flows: &[(u64, u64, u64, Time)],
        script: &[(u32, Time, u8, Effect)],
        cut: Option<u32>,
    ) -> Vec<Node> {
        let link = Link { rate: Rate::gbps(100), delay: Time::us(1) };
        let topology = star::Params { hosts: 3, link }.build().unwrap();
        let flow = |&(src, dst, size, start): &(u64, u64, u64, Time)| Flow {
            src: Host::Number(src),
            dst: Host::Number(dst),
            size: Bytes(size),
            start,
            id: None,
            after: Vec::new(),
            via: Vec::new(),
        };
        let workload = Workload { flows: Some(flows.iter().map(flow).collect()), ..Workload::default() };
        let plan = workload::make(&[workload], &topology, settings.classes, &settings.framing, settings.seed).unwrap();
        let nodes = build(&topology, plan, settings, Plan::default()).unwrap().into_nodes();
        let of = |node: u32| script.iter().filter(|s| s.0 == node).map(|s| (s.1, s.2, s.3)).collect();
        let scripted: Vec<Scripted> = nodes.into_iter().map(|node| Scripted { script: of(node.core.id), node, cut }).collect();
        let lookahead = link.delay + link.rate.time(125);
        let both = |l: u32| [LinkSpec { from: (l, 0), to: (SWITCH, l), lookahead }, LinkSpec { from: (SWITCH, l), to: (l, 0), lookahead }];
        let links: Vec<LinkSpec> = (0..3).flat_map(both).collect();
        let mut engine = Engine::new(scripted, &[0; 4], &links, Plan::default()).unwrap();
        engine.run(|_| ControlFlow::Continue(()));
        engine.into_nodes().into_iter().map(|s| s.node).collect()
    }

    /// When flows arrived at a host, by their numbers.
    pub(super) fn arrived(nodes: &[Node], host: usize) -> Vec<(u32, Time)> {
        nodes[host].endpoint.as_ref().map(|e| e.arrived.clone()).unwrap_or_default()
    }

    fn raw_frames() -> Settings {
        let settings = Settings::for_tests();
        let table = Table { raw: Some(raw::Params {}), ..Table::default() };
        Settings { transport: table, ..settings }
    }

    #[test]
    fn a_packet_and_its_answer_take_the_time_of_links_and_switch() {
        // Stored and forwarded: 100 ns and 1 us on each link and 300 ns in the switch; the ACK takes 10 ns on each.
        let settings = Settings { switch_delay: Time::ns(300), ..Settings::for_tests() };
        let nodes = run(&settings, &[(0, 2, 1000, Time::us(1))], &[]);
        assert_eq!(arrived(&nodes, 2), [(0, Time::ns(1000 + 2500))]);
        let sent = &nodes[0].endpoint.as_ref().unwrap().sent;
        assert_eq!((sent.len(), sent[0].acknowledged), (1, Some(Time::ns(1000 + 2500 + 2320))));
        assert_eq!((nodes[0].counts.data_hops, nodes[3].counts.data_hops), (1, 1));
        assert_eq!((nodes[3].core.ports[2].data_bytes, nodes[3].core.ports[0].control_bytes), (1250, 125));
    }

    #[test]
    fn what_finds_no_room_at_an_output_is_dropped_and_written_down() {
        // Two senders of four packets fill an output of 2500 bytes: each 100 ns one packet leaves and two come, of which the second
        // is that of port 1. The first pair finds room.
        let local = Local { buffer: buffer::Params::PerPort(Bytes(2500)), ..Local::default() };
        let settings = Settings { locals: Locals::uniform(local), ..raw_frames() };
        let nodes = run(&settings, &[(0, 2, 4000, Time::ZERO), (1, 2, 4000, Time::ZERO)], &[]);
        let switch = &nodes[SWITCH as usize];
        let drops: Vec<_> = switch.records.drops.iter().map(|d| (d.at, d.port, d.in_port, d.flow, d.seq, d.bytes)).collect();
        assert_eq!(drops, [1, 2, 3].map(|seq| (Time::ns(1100 + 100 * u64::from(seq)), 2, 1, 1, seq, 1250)));
        let queue = &switch.core.ports[2].queues[1];
        assert_eq!((switch.counts.dropped, switch.counts.dropped_bytes, queue.dropped, queue.sent), (3, 3750, 3, 5));
        // Packets of port 0 wait behind one of port 1, so that two of them are there at once, and one of port 1 never with another.
        let mut peaks: Vec<_> = switch.core.ingress[..2].iter().map(|c| (c.peak(), c.bytes())).collect();
        peaks.push((queue.bytes.peak(), queue.bytes.bytes()));
        assert_eq!(peaks, [(2500, 0), (1250, 0), (2500, 0)]);
        // The first packet is on the wire at 1.1 us; five follow one another.
        assert_eq!(arrived(&nodes, 2), [(0, Time::ns(1100 + 500 + 1000))]);
    }

    #[test]
    fn a_packet_waits_behind_those_for_other_outputs_in_one_fifo_alone() {
        // The output to host 1 is closed from 0.5 to 5 us. The second packet of host 0 comes to the switch at 1.2 us, for host 2.
        let close = [(SWITCH, Time::ns(500), 0, Effect::CloseGate(1, 1)), (SWITCH, Time::us(5), 0, Effect::OpenGate(1, 1))];
        for (queueing, at) in [(Queueing::Oq, 2300), (Queueing::Voq, 2300), (Queueing::Iq, 6100)] {
            // With virtual output queues that of input 0 is the first of three.
            let settings = Settings { queueing, ..raw_frames() };
            let nodes = run(&settings, &[(0, 1, 1000, Time::ZERO), (0, 2, 1000, Time::ZERO)], &close);
            assert_eq!((arrived(&nodes, 1), arrived(&nodes, 2)), (vec![(0, Time::ns(6100))], vec![(1, Time::ns(at))]), "{queueing:?}");
            assert_eq!(nodes[3].queued_bytes(), 0);
        }
    }

    #[test]
    fn samples_show_what_waits_at_each_interval() {
        // Three packets are in the queue at 1.4 us and leave from 2 us on: at 2 us all wait, at 2.1 us two do, at 2.2 us one.
        let close = [(SWITCH, Time::ZERO, 0, Effect::CloseGate(2, 1)), (SWITCH, Time::ns(2050), 0, Effect::OpenGate(2, 1))];
        let wanted = Wanted { queues: Time::ns(100), ..Wanted::default() };
        let nodes = run(&Settings { wanted, ..raw_frames() }, &[(0, 2, 3000, Time::ZERO)], &close);
        let samples = &nodes[SWITCH as usize].records.samples;
        let seen: Vec<_> = samples.iter().filter(|s| s.at >= Time::us(2)).map(|s| (s.at, s.port, s.queue, s.bytes)).collect();
        // They start at 2.05, 2.15 and 2.25 us.
        assert_eq!(seen, [(2000, 3750), (2100, 2500), (2200, 1250)].map(|(at, bytes)| (Time::ns(at), 2, 1, bytes)));
    }

    #[test]
    fn what_is_left_of_a_packet_tells_its_receiver_of_the_loss() {
        // The third of ten packets is cut at the switch: the receiver asks for it a round trip later, and not after a timeout.
        let settings = Settings::for_tests();
        let size = 10 * settings.framing.payload;
        let nodes = run_and_cut(&settings, &[(0, 1, size, Time::ZERO)], &[], Some(2));
        let (source, switch) = (nodes[0].endpoint.as_ref().unwrap(), &nodes[SWITCH as usize]);
        assert_eq!((switch.counts.dropped, switch.counts.dropped_bytes), (0, settings.framing.largest()));
        let [sent] = source.sent[..] else { panic!("the flow is acknowledged") };
        assert!(sent.retransmitted > 0 && sent.acknowledged.unwrap() < Time::us(20));
        // Bytes balance although the header arrives: it is no data any more.
        let arrived = nodes[1].endpoint.as_ref().unwrap().delivered_bytes;
        assert_eq!(source.injected_bytes, arrived + switch.counts.dropped_bytes);
    }
}
