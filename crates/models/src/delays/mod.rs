//! Whose each picosecond of a flow's completion time is, and whose packets made a node pause its neighbours (`probe.delays`).
//!
//! A completion time has two parts that meet at the moment at which the *completing packet* starts: what its source did until then,
//! and that packet's way. A source's time is cut where what keeps it from sending changes; time in a queue is cut by what its port
//! did meanwhile. Nodes write both down for packets that may complete their flow: its last one, those sent again, and any where
//! packets overtake one another. Which of them did is known when the flow has ended (`scenario/delays.rs`).
//! Invariants: parts of a passage, or of a source between two such packets, add up to the time between their ends; a node without a
//! recorder does the same, and takes no step more than to look whether it has one.

mod port;
mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::ids::{PortId, QueueId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xoff_units::{Duration, Moment};

use self::port::PortLog;
use self::source::Source;
pub use self::source::Wait;
use crate::core::Core;
use crate::effects::Because;
use crate::packet::Packet;

/// Whose delays are written down: flows by number, or `all`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Traced {
    /// Nobody's.
    #[default]
    None,
    /// Those of these flows, in order of their numbers.
    Flows(Arc<[u32]>),
    /// Those of all flows.
    All,
}

impl Traced {
    /// Whether nobody's are.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether those of a flow are.
    pub fn has(&self, flow: u32) -> bool {
        match self {
            Self::None => false,
            Self::Flows(list) => list.binary_search(&flow).is_ok(),
            Self::All => true,
        }
    }
}

impl Serialize for Traced {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.collect_seq(std::iter::empty::<u32>()),
            Self::Flows(list) => serializer.collect_seq(list.iter()),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for Traced {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Traced;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of flows by number, such as [3, 46], or \"all\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Traced, E> {
                if text == "all" { Ok(Traced::All) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Traced, A::Error> {
                let mut list = BTreeSet::new();
                while let Some(flow) = seq.next_element::<u32>()? {
                    list.insert(flow);
                }
                Ok(if list.is_empty() { Traced::None } else { Traced::Flows(list.into_iter().collect()) })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Traced {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Traced".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "flows by number, or \"all\"",
            "anyOf": [
                { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": u32::MAX } },
                { "const": "all" }
            ]
        })
    }
}

/// What a part of a completion time went by with, in the order of a packet's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The source sends packets of the flow, before the packet that completes the flow.
    Transmission,
    /// The source retransmits packets of the flow.
    Retransmission,
    /// The port sends packets that go first, of other flows or of the same flow.
    Queueing,
    /// The port sends a control frame.
    Control,
    /// A mechanism keeps the queue from sending.
    Paused,
    /// The port is free, and the packet waits behind the head of an input FIFO.
    HolBlocking,
    /// A mechanism keeps the flow from sending at its source.
    SourceHeld,
    /// Congestion control spaces the flow's packets below line rate.
    Pacing,
    /// The window of congestion control or transport is full.
    Window,
    /// The receiver has not pulled the flow's next packet.
    AwaitingPull,
    /// Every packet is sent and some are not acknowledged: the source waits for an acknowledgement or a timeout.
    AwaitingAck,
    /// The application has handed over no data to send.
    AppLimited,
    /// The bits of the completing packet go onto the link.
    Serialization,
    /// The bits travel along the link.
    Propagation,
    /// The next node takes its forwarding latency.
    Processing,
}

impl Kind {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmission => "transmission",
            Self::Retransmission => "retransmission",
            Self::Queueing => "queueing",
            Self::Control => "control",
            Self::Paused => "paused",
            Self::HolBlocking => "hol_blocking",
            Self::SourceHeld => "source_held",
            Self::Pacing => "pacing",
            Self::Window => "window",
            Self::AwaitingPull => "awaiting_pull",
            Self::AwaitingAck => "awaiting_ack",
            Self::AppLimited => "app_limited",
            Self::Serialization => "serialization",
            Self::Propagation => "propagation",
            Self::Processing => "processing",
        }
    }
}

/// A part of a completion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What it went by with.
    pub kind: Kind,
    /// The flow whose packet was on the wire.
    pub flow: Option<u32>,
    /// The mechanism that paused or held.
    pub cause: Option<&'static str>,
    /// When it began, where it is one piece: a pause.
    pub from: Option<Moment>,
    /// Which pause: the queue and the beginning of its record.
    pub pause: Option<(QueueId, Moment)>,
    /// How long it took.
    pub time: Duration,
}

impl Part {
    const fn new(kind: Kind, time: Duration) -> Self {
        Self { kind, flow: None, cause: None, from: None, pause: None, time }
    }
}

/// Adds a part to a list, to one of its like if there is any. Pauses stay apart, each with its beginning.
fn add(parts: &mut Vec<Part>, part: Part) {
    if part.time == Duration::ZERO {
        return;
    }
    let is_like = |p: &&mut Part| (p.kind, p.flow, p.cause, p.from) == (part.kind, part.flow, part.cause, part.from);
    match parts.iter_mut().rev().find(is_like) {
        Some(like) => like.time += part.time,
        None => parts.push(part),
    }
}

/// A packet that may complete its flow, or a message of it, at a node that it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The flow.
    pub flow: u32,
    /// The node.
    pub node: u32,
    /// The port by which it left.
    pub port: PortId,
    /// When it came; at its source, when it started.
    pub arrived: Moment,
    /// When the next node has it.
    pub reaches: Moment,
    /// It left by no port, but waited at the one by which it came until it was read.
    pub stays: bool,
    /// At its source: what went by since the passage before, or since the flow started.
    pub before: Option<Vec<Part>>,
    /// What went by from `arrived` to `reaches`.
    pub parts: Vec<Part>,
}

/// Bytes that wait where a node pauses its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    /// When it asked for the pause.
    pub at: Moment,
    /// The node.
    pub node: u32,
    /// The mechanism.
    pub cause: &'static str,
    /// What it is about.
    pub because: Because,
    /// The output and the queue that they wait in; none where nothing waits, and another mechanism asked.
    pub place: Option<(PortId, QueueId)>,
    /// Their flow.
    pub flow: Option<u32>,
    /// How many.
    pub bytes: u64,
}

/// A packet that waits.
#[derive(Debug, Clone)]
struct Waiting {
    flow: u32,
    seq: u32,
    arrived: Moment,
    /// It waits in its queue since then; of the time before it has the parts.
    since: Moment,
    parts: Vec<Part>,
}

/// A frame that starts on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Where.
    pub port: PortId,
    /// From which queue.
    pub queue: QueueId,
    /// When.
    pub now: Moment,
    /// When its last bit leaves.
    pub ends: Moment,
    /// When as much of it has left as the next node needs to handle it.
    pub handled: Moment,
    /// When the next node has it.
    pub reaches: Moment,
    /// How long its bits are on their way; the rest is processing.
    pub propagation: Duration,
}

/// What one node writes down of delays.
#[derive(Debug, Clone)]
pub struct Recorder {
    node: u32,
    traced: Traced,
    /// Packets overtake one another, so that any may be the one that completes its flow.
    reorders: bool,
    ports: Vec<PortLog>,
    /// By port, as they came.
    waiting: Vec<VecDeque<Waiting>>,
    /// A packet that counts as waiting, and is not there yet, with its output and queue.
    entering: Option<(Packet, PortId, QueueId)>,
    sources: BTreeMap<u32, Source>,
    /// Who holds a destination.
    destinations: BTreeMap<u32, &'static str>,
    /// Passages since the last checkpoint.
    pub passages: Vec<Passage>,
    /// What made it pause neighbours, since the last checkpoint.
    pub contributions: Vec<Contribution>,
}

impl Recorder {
    /// For a node with so many ports.
    pub fn new(node: u32, ports: usize, traced: Traced, reorders: bool) -> Self {
        Self {
            node,
            traced,
            reorders,
            ports: (0..ports).map(|_| PortLog::default()).collect(),
            waiting: (0..ports).map(|_| VecDeque::new()).collect(),
            entering: None,
            sources: BTreeMap::new(),
            destinations: BTreeMap::new(),
            passages: Vec::new(),
            contributions: Vec::new(),
        }
    }

    /// Whether a packet may complete a flow whose delays are written down.
    fn may_complete(&self, packet: &Packet) -> bool {
        let is_candidate = self.reorders || packet.has(Packet::LAST | Packet::MESSAGE) || packet.has(Packet::RETRANSMITTED);
        packet.is_data() && is_candidate && self.traced.has(packet.flow())
    }

    /// A packet that came by a port is handled only now, since a cause kept this node from reading it.
    pub fn on_read(&mut self, packet: &Packet, port: PortId, cause: &'static str, came: Moment, now: Moment) {
        if self.may_complete(packet) {
            let parts = vec![Part { cause: Some(cause), ..Part::new(Kind::Processing, now - came) }];
            let (flow, node) = (packet.flow(), self.node);
            self.passages.push(Passage { flow, node, port, arrived: came, reaches: now, stays: true, before: None, parts });
        }
    }

    /// A packet came to be forwarded by a port; mechanisms will see it before it is in a queue.
    pub fn on_arrival(&mut self, packet: &Packet, port: PortId, queue: QueueId, now: Moment) {
        self.entering = Some((*packet, port, queue));
        if self.may_complete(packet) {
            self.ports[port].enter(now);
            self.waiting[port].push_back(Waiting { flow: packet.flow(), seq: packet.seq(), arrived: now, since: now, parts: Vec::new() });
        }
    }

    /// Mechanisms have seen it.
    pub const fn has_entered(&mut self) {
        self.entering = None;
    }

    /// A frame starts on the wire.
    pub fn on_start(&mut self, packet: &Packet, start: &Start) {
        if packet.is_data() && packet.hops() == 0 {
            self.send(packet, start);
        } else if self.may_complete(packet) {
            self.pass(packet, start);
        }
        self.ports[start.port].send(packet.is_data().then_some(packet.flow()), start.now, start.ends);
    }

    /// The way from the moment at which a packet starts on the wire.
    fn way(start: &Start, parts: &mut Vec<Part>) {
        add(parts, Part::new(Kind::Serialization, start.handled - start.now));
        add(parts, Part::new(Kind::Propagation, start.propagation));
        add(parts, Part::new(Kind::Processing, start.reaches - start.handled - start.propagation));
    }

    /// A source sends a packet.
    fn send(&mut self, packet: &Packet, start: &Start) {
        let may_complete = self.may_complete(packet);
        let Some(source) = self.sources.get_mut(&packet.flow()) else { return };
        if may_complete {
            let mut parts = Vec::new();
            Self::way(start, &mut parts);
            let before = Some(std::mem::take(&mut source.parts));
            let (node, port) = (self.node, start.port);
            self.passages.push(Passage {
                flow: packet.flow(),
                node,
                port,
                arrived: start.now,
                reaches: start.reaches,
                stays: false,
                before,
                parts,
            });
        }
        source.sending = if packet.has(Packet::RETRANSMITTED) { Kind::Retransmission } else { Kind::Transmission };
        add(&mut source.parts, Part::new(source.sending, start.ends - start.now));
    }

    /// A packet that waited goes on.
    fn pass(&mut self, packet: &Packet, start: &Start) {
        let mut take = |port: PortId| {
            let waiting = &mut self.waiting[port];
            let at = waiting.iter().position(|w| (w.flow, w.seq) == (packet.flow(), packet.seq()))?;
            waiting.remove(at).map(|found| (port, found))
        };
        // The head of an input goes where routes lead now, and may have come to wait for another port.
        let found = take(start.port).or_else(|| PortId::all(self.ports.len()).find_map(take));
        let Some((port, Waiting { flow, arrived, since, mut parts, .. })) = found else { return };
        if port == start.port {
            self.ports[port].sweep(start.queue, since, start.now, &mut |part| add(&mut parts, part));
        } else {
            add(&mut parts, Part::new(Kind::HolBlocking, start.now - since));
        }
        self.ports[port].leave(arrived);
        Self::way(start, &mut parts);
        self.passages.push(Passage {
            flow,
            node: self.node,
            port: start.port,
            arrived,
            reaches: start.reaches,
            stays: false,
            before: None,
            parts,
        });
    }

    /// A packet that waited in a queue waits in another from now on.
    pub fn on_pour(&mut self, packet: &Packet, port: PortId, from: QueueId, now: Moment) {
        if let Some(waiting) = self.waiting[port].iter_mut().find(|w| (w.flow, w.seq) == (packet.flow(), packet.seq())) {
            self.ports[port].sweep(from, waiting.since, now, &mut |part| add(&mut waiting.parts, part));
            waiting.since = now;
        }
    }

    /// A packet that waited is dropped.
    pub fn on_discard(&mut self, packet: &Packet, port: PortId) {
        let waiting = &mut self.waiting[port];
        let found = waiting.iter().position(|w| (w.flow, w.seq) == (packet.flow(), packet.seq())).and_then(|at| waiting.remove(at));
        if let Some(gone) = found {
            self.ports[port].leave(gone.arrived);
        }
    }

    /// A cause keeps a queue from sending: part of a pause that is written down for its first queue.
    pub fn block(&mut self, port: PortId, queue: QueueId, first: QueueId, cause: &'static str, now: Moment) {
        self.ports[port].block(queue, first, cause, now);
    }

    /// It does no more.
    pub fn unblock(&mut self, port: PortId, queue: QueueId, cause: &'static str, now: Moment) {
        self.ports[port].unblock(queue, cause, now);
    }

    /// A flow starts in the round of a queue.
    pub fn start(&mut self, flow: u32, dst: u32, port: PortId, queue: QueueId, now: Moment) {
        if self.traced.has(flow) {
            self.ports[port].enter(now);
            let held_by = self.destinations.get(&dst).copied();
            self.sources.insert(flow, Source::new(port, queue, held_by, now));
        }
    }

    /// A connection that is under way is given another message: what goes by from now on is that one's, too. It is written down as a
    /// passage that leads nowhere.
    pub fn post(&mut self, flow: u32, now: Moment) {
        let Some(source) = self.sources.get_mut(&flow) else { return };
        let (node, port) = (self.node, source.port);
        let before = Some(source.cut(now, &mut self.ports[port]));
        self.passages.push(Passage { flow, node, port, arrived: now, reaches: Moment::NEVER, stays: false, before, parts: Vec::new() });
    }

    /// From now on, or from the end of its frame on, a flow waits for this.
    pub fn wait(&mut self, flow: u32, wait: Wait, now: Moment) {
        if let Some(source) = self.sources.get_mut(&flow).filter(|s| s.wait != wait) {
            source.turn_to(wait, now, &mut self.ports[source.port]);
        }
    }

    /// A flow leaves by another port from now on.
    pub fn change_port(&mut self, flow: u32, to: PortId, now: Moment) {
        if let Some(source) = self.sources.get_mut(&flow) {
            source.change_port(to, now, &mut self.ports);
        }
    }

    /// A flow sends from now until its frame has ended, and then waits.
    pub fn sends(&mut self, flow: u32, wait: Wait, now: Moment, ends: Moment) {
        if let Some(source) = self.sources.get_mut(&flow) {
            let log = &mut self.ports[source.port];
            source.turn_to(wait, now, log);
            source.resume(ends, log);
        }
    }

    /// A mechanism holds a flow.
    pub fn hold(&mut self, flow: u32, cause: &'static str, now: Moment) {
        if let Some(source) = self.sources.get_mut(&flow).filter(|s| s.held_by != Some(cause)) {
            let wait = source.wait;
            source.turn_to(wait, now, &mut self.ports[source.port]);
            source.held_by = Some(cause);
        }
    }

    /// A mechanism holds a destination.
    pub fn hold_destination(&mut self, dst: u32, cause: &'static str) {
        if self.traced != Traced::None {
            self.destinations.insert(dst, cause);
        }
    }

    /// A flow has ended at its source.
    pub fn end(&mut self, flow: u32) {
        if let Some(source) = self.sources.remove(&flow) {
            source.leave(&mut self.ports[source.port]);
        }
    }

    /// Flows that have not ended: what went by at their source until now, since their last passage.
    pub fn unfinished(&mut self, now: Moment) -> Vec<(u32, PortId, Vec<Part>)> {
        let sources = std::mem::take(&mut self.sources);
        let close = |(flow, mut source): (u32, Source)| {
            let port = source.port;
            source.turn_to(Wait::Ack, now, &mut self.ports[port]);
            (flow, port, source.parts)
        };
        sources.into_iter().map(close).collect()
    }

    /// A mechanism asks for a pause: whose bytes wait here.
    pub fn on_pausing(&mut self, because: Because, cause: &'static str, core: &Core, out: impl Fn(&Packet) -> PortId, now: Moment) {
        let counts = |p: &Packet, out: PortId| {
            p.is_data()
                && match because {
                    Because::Input(port, class) => p.in_port() == port && p.class() == class,
                    Because::Tagged(port, tag) => p.in_port() == port && p.tag() == tag,
                    Because::Output(port) => out == port,
                }
        };
        let mut bytes: BTreeMap<(PortId, QueueId, u32), u64> = BTreeMap::new();
        let queues = PortId::each(&core.ports).flat_map(|(port, p)| QueueId::each(&p.queues).skip(1).map(move |q| (port, q)));
        let queued = queues.flat_map(|(port, (number, q))| q.packets.iter().map(move |p| (p, port, number)));
        let at_inputs = core.inputs.iter().flatten().map(|p| (p, out(p), core.queue_for(p.class(), p.in_port())));
        let entering = self.entering.as_ref().map(|(p, port, queue)| (p, *port, *queue));
        for (packet, port, queue) in queued.chain(at_inputs).chain(entering).filter(|(p, port, _)| counts(p, *port)) {
            *bytes.entry((port, queue, packet.flow())).or_default() += u64::from(packet.bytes());
        }
        let none = Contribution { at: now, node: self.node, cause, because, place: None, flow: None, bytes: 0 };
        if bytes.is_empty() {
            self.contributions.push(none);
        }
        let all = bytes.into_iter();
        let all = all.map(|((port, queue, flow), bytes)| Contribution { place: Some((port, queue)), flow: Some(flow), bytes, ..none });
        self.contributions.extend(all);
    }
}

#[cfg(test)]
mod tests;
