//! What mechanisms and endpoints ask of their node, and where they write that down.

use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::Moment;

use crate::core::Queues;
use crate::ids::{PortId, QueueId};
use crate::message::Post;
use crate::packet::Packet;
use crate::streams::{Draws, Keys, label};
use crate::workload::FlowSpec;

/// Who asked a node to block queues of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The node at the other end of the link.
    Neighbour,
    /// An output of some node.
    Output(u32, PortId),
    /// Nobody but the mechanism here, or one further away that does not say where it is.
    Itself,
}

/// Why a mechanism asks others to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// Packets of this class that came by this port wait.
    Input(PortId, u8),
    /// Packets with this value as their tag, that came by this port, wait.
    Tagged(PortId, u32),
    /// Packets wait for this output.
    Output(PortId),
}

/// What a node is to do for a mechanism or its endpoint.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// Send a control frame to the neighbour at this port.
    Send(PortId, Packet),
    /// Send a control frame to its destination.
    Emit(Packet),
    /// Block queues of a port, with the mechanism as the cause.
    Block(PortId, Queues, Asker),
    /// Take that back.
    Unblock(PortId, Queues),
    /// Drop the data that waits in queues of a port.
    Discard(PortId, Queues),
    /// Write down whose bytes wait here, with a frame that asks others to stop.
    Pausing(Because),
    /// Let what waits in a queue of a port go on in another of its class, behind what waits there: port, from, to.
    MoveQueue(PortId, QueueId, QueueId),
    /// Let a queue of a port wait until packets of the same flow in another queue have left.
    HoldQueue(PortId, QueueId),
    /// They have.
    ReleaseQueue(PortId, QueueId),
    /// Keep a flow of this node from sending until this moment; the latest moment holds.
    HoldFlow(u32, Moment),
    /// Let it go on.
    ReleaseFlow(u32),
    /// Keep every flow of this node to a destination from sending until this moment; the latest holds, and one that has come ends it.
    HoldDestination(u32, Moment),
    /// Send the rest of a flow of this node in another class.
    ClassOfFlow(u32, u8),
    /// Have the neighbour at a port stop, or go on, sending a class: a request to the mechanism that pauses neighbours.
    PauseNeighbour(PortId, u8, bool),
    /// Call its `on_timer` with this token.
    Timer(Moment, u32),
    /// Send what a receiver answers; it waits where the scenario says that answers do.
    Answer(Packet),
    /// Set a timer of the endpoint: its kind, when, and what it is for.
    Alarm(u64, Moment, u32),
    /// Start a flow for which nothing else has to come.
    Start(FlowSpec),
    /// Hand a message to its connection.
    Post(Post),
    /// An operation of a program of this host computes until this moment: which program, when, and its place there.
    Operation(u8, Moment, u32),
}

/// Where mechanisms write; owned by the node and used again for each event.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Effects {
    /// The moment of the event.
    pub now: Moment,
    list: Vec<(u8, Effect)>,
    marked: bool,
    pub(crate) owner: u8,
    /// Random numbers of each mechanism of this node: in the order in which they are drawn, and by packets.
    streams: Box<[Stream]>,
    draws: Box<[Draws]>,
    keys: Keys,
    /// How many were drawn by packets: whoever draws does not repeat itself.
    drawn: u64,
}

state!(Effects {
    value: marked, streams, drawn;
    still: now, list, owner, draws, keys;
});

impl Effects {
    /// An empty sink, for the mechanisms of a node in their order. Each has random numbers of its own, so that one that is added
    /// moves no draw of the others.
    pub fn new<'a>(seed: u64, node: u32, keys: &Keys, mechanisms: impl IntoIterator<Item = &'a str>) -> Self {
        let stream = |name| Stream::new(seed, u64::from(node), &format!("mechanism {}", label(name)));
        let (streams, draws): (Vec<_>, Vec<_>) = mechanisms.into_iter().map(|name| (stream(name), Draws::new(seed, node, name))).unzip();
        Self {
            now: Moment::ZERO,
            list: Vec::new(),
            marked: false,
            owner: 0,
            streams: streams.into(),
            draws: draws.into(),
            keys: keys.clone(),
            drawn: 0,
        }
    }

    /// For one mechanism.
    #[cfg(test)]
    pub(crate) fn for_tests(seed: u64) -> Self {
        Self::new(seed, 1, &Keys::default(), ["test"])
    }

    /// The random numbers of the mechanism at hand.
    #[inline]
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.streams[usize::from(self.owner)]
    }

    /// The key of a flow.
    #[inline]
    pub fn key(&self, flow: u32) -> u32 {
        self.keys.of(flow)
    }

    /// A random number in 0..n, at most 2^32, that belongs to this copy of a packet, whatever the mechanism at hand has drawn before.
    #[inline]
    pub fn draw(&mut self, packet: &Packet, n: u64) -> u64 {
        self.drawn += 1;
        let bits = self.draws[usize::from(self.owner)].draw(self.keys.of(packet.flow()), packet.seq(), packet.copy());
        ((bits >> 32) * n) >> 32
    }

    /// Whether a copy of a packet is among those that this share of all belongs to.
    #[inline]
    pub fn is_drawn(&mut self, packet: &Packet, share: f64) -> bool {
        (self.draw(packet, 1 << 32) as f64) < share * (1_u64 << 32) as f64
    }

    /// Asks for an effect; effects are carried out in order.
    pub fn push(&mut self, effect: Effect) {
        self.list.push((self.owner, effect));
    }

    /// Marks the packet at hand as having experienced congestion.
    #[inline]
    pub fn mark(&mut self) {
        self.marked = true;
    }

    pub(crate) fn take_mark(&mut self) -> bool {
        std::mem::take(&mut self.marked)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<(u8, Effect)> {
        std::mem::take(&mut self.list)
    }

    pub(crate) fn put_back(&mut self, mut list: Vec<(u8, Effect)>) {
        list.clear();
        if self.list.is_empty() {
            self.list = list;
        }
    }
}
