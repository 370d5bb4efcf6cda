//! Parts of completion times, and contributions of packets to pauses (`probe.delays`).
//!
//! A completion time has two parts, before and after the start of the *completing packet* at its source. The
//! time at the source is cut at each change of the reason for waiting. The time in a queue is cut by the
//! actions of the port. Nodes record both for packets that may complete their flow: the last packet,
//! retransmissions, and any packet under reordering. The completing packet is known at the end of the flow
//! (`crates/scenario/src/results/delays`). Invariants: the parts of a passage, or of a source between two such packets,
//! add
//! up to the time between the ends. A node without a recorder behaves equally, at the cost of one check.

mod part;
mod port;
mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xoff_units::{Duration, Moment};

use self::part::add;
pub use self::part::{Kind, Part};
use self::port::PortLog;
use self::source::Source;
pub use self::source::Wait;
use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Core;
use crate::ports::effects::Because;

/// Flows with recorded delays: by number, or `all`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Traced {
    /// Nobody's.
    #[default]
    None,
    /// These flows, in order of their numbers.
    Flows(Arc<[u32]>),
    /// All flows.
    All,
}

impl Traced {
    /// True if no delay is recorded.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// True if the delays of a flow are recorded.
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
                if text == "all" {
                    Ok(Traced::All)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
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

/// A packet that may complete its flow or a message, at a node that the packet left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The flow.
    pub flow: u32,
    /// The node.
    pub node: u32,
    /// Egress port.
    pub port: PortId,
    /// Arrival; at the source, the start of transmission.
    pub arrived: Moment,
    /// Arrival at the next node.
    pub reaches: Moment,
    /// The packet did not leave, and waited at its ingress port until the host read it.
    pub stays: bool,
    /// At the source: the parts since the previous passage, or since the start of the flow.
    pub before: Option<Vec<Part>>,
    /// Parts from `arrived` to `reaches`.
    pub parts: Vec<Part>,
}

/// Waiting bytes at a node that pauses its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    /// Time of the request for a pause.
    pub at: Moment,
    /// The node.
    pub node: u32,
    /// The mechanism.
    pub cause: &'static str,
    /// Reason for the request.
    pub because: Because,
    /// Output and queue of the waiting bytes; `None` without waiting bytes, for a request caused by another
    /// mechanism.
    pub place: Option<(PortId, QueueId)>,
    /// Flow of the bytes.
    pub flow: Option<u32>,
    /// Number of bytes.
    pub bytes: u64,
}

/// A waiting packet.
#[derive(Debug, Clone)]
struct Waiting {
    flow: u32,
    seq: u32,
    arrived: Moment,
    /// Time since which the packet waits in its queue; earlier time is in the parts.
    since: Moment,
    parts: Vec<Part>,
}

/// A frame that starts on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Port of the frame.
    pub port: PortId,
    /// From which queue.
    pub queue: QueueId,
    /// Start of transmission.
    pub now: Moment,
    /// End of transmission.
    pub ends: Moment,
    /// Moment at which enough of the frame has left for the next node to handle the frame.
    pub handled: Moment,
    /// Arrival at the next node.
    pub reaches: Moment,
    /// Propagation of the bits; the rest is processing.
    pub propagation: Duration,
}

/// Recorder of delays of a node.
#[derive(Debug, Clone)]
pub struct Recorder {
    node: u32,
    traced: Traced,
    /// Packets may be reordered, and any packet may complete its flow.
    reorders: bool,
    ports: Vec<PortLog>,
    /// Waiting packets by port, in order of arrival.
    waiting: Vec<VecDeque<Waiting>>,
    /// A packet that counts as waiting before it entered its queue, with output and queue.
    entering: Option<(Packet, PortId, QueueId)>,
    sources: BTreeMap<u32, Source>,
    /// Mechanisms that hold destinations.
    destinations: BTreeMap<u32, &'static str>,
    /// Passages since the last checkpoint.
    pub passages: Vec<Passage>,
    /// Contributions to pauses of neighbours, since the last checkpoint.
    pub contributions: Vec<Contribution>,
}

impl Recorder {
    /// Returns a recorder for a node with this many ports.
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

    /// True if a packet may complete a recorded flow.
    fn may_complete(&self, packet: &Packet) -> bool {
        let is_candidate =
            self.reorders || packet.has(Packet::LAST | Packet::MESSAGE) || packet.has(Packet::RETRANSMITTED);
        packet.is_data() && is_candidate && self.traced.has(packet.flow())
    }

    /// Records a packet that is handled late, because a cause stopped the node from reading the packet.
    pub fn on_read(&mut self, packet: &Packet, port: PortId, cause: &'static str, came: Moment, now: Moment) {
        if self.may_complete(packet) {
            let parts = vec![Part { cause: Some(cause), ..Part::new(Kind::Processing, now - came) }];
            let (flow, node) = (packet.flow(), self.node);
            self.passages.push(Passage {
                flow,
                node,
                port,
                arrived: came,
                reaches: now,
                stays: true,
                before: None,
                parts,
            });
        }
    }

    /// Records a packet to be forwarded by a port, before mechanisms see the packet.
    pub fn on_arrival(&mut self, packet: &Packet, port: PortId, queue: QueueId, now: Moment) {
        self.entering = Some((*packet, port, queue));
        if self.may_complete(packet) {
            self.ports[port].enter(now);
            self.waiting[port].push_back(Waiting {
                flow: packet.flow(),
                seq: packet.seq(),
                arrived: now,
                since: now,
                parts: Vec::new(),
            });
        }
    }

    /// Records that mechanisms have seen the packet.
    pub const fn entered(&mut self) {
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
        source.sending =
            if packet.has(Packet::RETRANSMITTED) { Kind::Retransmission } else { Kind::Transmission };
        add(&mut source.parts, Part::new(source.sending, start.ends - start.now));
    }

    /// Records the end of waiting of a packet.
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

    /// Records the move of a waiting packet to another queue.
    pub fn on_pour(&mut self, packet: &Packet, port: PortId, from: QueueId, now: Moment) {
        if let Some(waiting) =
            self.waiting[port].iter_mut().find(|w| (w.flow, w.seq) == (packet.flow(), packet.seq()))
        {
            self.ports[port].sweep(from, waiting.since, now, &mut |part| add(&mut waiting.parts, part));
            waiting.since = now;
        }
    }

    /// Removes a dropped packet.
    pub fn on_discard(&mut self, packet: &Packet, port: PortId) {
        let waiting = &mut self.waiting[port];
        let found = waiting
            .iter()
            .position(|w| (w.flow, w.seq) == (packet.flow(), packet.seq()))
            .and_then(|at| waiting.remove(at));
        if let Some(gone) = found {
            self.ports[port].leave(gone.arrived);
        }
    }

    /// Records that a cause blocks a queue, as part of a pause recorded for its first queue.
    pub fn block(&mut self, port: PortId, queue: QueueId, first: QueueId, cause: &'static str, now: Moment) {
        self.ports[port].block(queue, first, cause, now);
    }

    /// Records the end of a block.
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

    /// Records a message posted to an active connection, as a passage without a next node. Later parts belong
    /// to this message as well.
    pub fn post(&mut self, flow: u32, now: Moment) {
        let Some(source) = self.sources.get_mut(&flow) else { return };
        let (node, port) = (self.node, source.port);
        let before = Some(source.cut(now, &mut self.ports[port]));
        self.passages.push(Passage {
            flow,
            node,
            port,
            arrived: now,
            reaches: Moment::NEVER,
            stays: false,
            before,
            parts: Vec::new(),
        });
    }

    /// Records the reason for waiting of a flow, from now or from the end of its frame on.
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

    /// Records that a flow sends from now until the end of its frame, and the reason for waiting afterwards.
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

    /// Ends the records of a flow at its source.
    pub fn end(&mut self, flow: u32) {
        if let Some(source) = self.sources.remove(&flow) {
            source.leave(&mut self.ports[source.port]);
        }
    }

    /// Returns the parts of unfinished flows at their source, from the last passage until now.
    pub fn unfinished(&mut self, now: Moment) -> Vec<(u32, PortId, Vec<Part>)> {
        let sources = std::mem::take(&mut self.sources);
        let close = |(flow, mut source): (u32, Source)| {
            let port = source.port;
            source.turn_to(Wait::Ack, now, &mut self.ports[port]);
            (flow, port, source.parts)
        };
        sources.into_iter().map(close).collect()
    }

    /// Records the contributions of waiting bytes to a requested pause.
    pub fn on_pausing(
        &mut self,
        because: Because,
        cause: &'static str,
        core: &Core,
        out: impl Fn(&Packet) -> PortId,
        now: Moment,
    ) {
        let counts = |p: &Packet, out: PortId| {
            p.is_data()
                && match because {
                    Because::Input(port, class) => p.in_port() == port && p.class() == class,
                    Because::Tagged(port, tag) => p.in_port() == port && p.tag() == tag,
                    Because::Output(port) => out == port,
                }
        };
        let mut bytes: BTreeMap<(PortId, QueueId, u32), u64> = BTreeMap::new();
        let queues = PortId::each(&core.ports)
            .flat_map(|(port, p)| QueueId::each(&p.queues).skip(1).map(move |q| (port, q)));
        let queued = queues.flat_map(|(port, (number, q))| q.packets.iter().map(move |p| (p, port, number)));
        let at_inputs =
            core.inputs.iter().flatten().map(|p| (p, out(p), core.queue_for(p.class(), p.in_port())));
        let entering = self.entering.as_ref().map(|(p, port, queue)| (p, *port, *queue));
        for (packet, port, queue) in
            queued.chain(at_inputs).chain(entering).filter(|(p, port, _)| counts(p, *port))
        {
            *bytes.entry((port, queue, packet.flow())).or_default() += u64::from(packet.bytes());
        }
        let none =
            Contribution { at: now, node: self.node, cause, because, place: None, flow: None, bytes: 0 };
        if bytes.is_empty() {
            self.contributions.push(none);
        }
        let all = bytes.into_iter();
        let all = all.map(|((port, queue, flow), bytes)| Contribution {
            place: Some((port, queue)),
            flow: Some(flow),
            bytes,
            ..none
        });
        self.contributions.extend(all);
    }
}

#[cfg(test)]
mod tests;
