//! What a mechanism is: hooks that see a node's core and write effects.
//!
//! A mechanism never touches the event queue or another node. It declares what it watches, is called for that alone, and answers
//! with [`Effects`], which the node carries out. One trait serves switches and network interfaces, so that a mechanism stays in
//! one file. The registry in [`crate::mechanisms`] lists all of them: a new one is its
//! file and a line there.

use std::collections::VecDeque;
use std::sync::Arc;

use xoff_engine::random::Stream;
use xoff_units::Time;

use crate::mechanisms::{FlowControl, Mechanism};
use crate::network::Settings;
use crate::packet::Packet;
use crate::queueing::buffer::Buffer;
use crate::queueing::counter::Counter;
use crate::queueing::port::{Cause, Port};
use crate::routing::{Map, Sources};
use crate::topology::PortSpec;

/// Where packets wait in a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// At the output, in order of arrival: the data path of a shared-memory switch.
    #[default]
    Oq,
    /// At the input, in one FIFO: a packet waits behind those for other outputs.
    Iq,
    /// At the input, in a queue for each output; outputs take turns over inputs (ideal matching).
    Voq,
}

/// What of a node a mechanism may see.
#[derive(Debug)]
pub struct Core {
    /// The node's number.
    pub id: u32,
    /// Output ports; in-link n belongs to port n.
    pub ports: Vec<Port>,
    /// Data classes.
    pub classes: usize,
    /// Where packets wait.
    pub queueing: Queueing,
    /// Bytes of each ingress port and class (port × classes + class).
    pub ingress: Vec<Counter>,
    /// Admission.
    pub buffer: Buffer,
    /// FIFOs of each ingress port and class (`iq` only).
    pub inputs: Vec<VecDeque<Packet>>,
    /// A queue for each class after the first ones, for what the node relays: a host has those for its own flows.
    pub has_relay_queues: bool,
    /// Congestion queues: one for each class after the others, if a mechanism wants them.
    pub has_congestion_queues: bool,
    /// Queues of a host's interface that new flows choose from.
    pub interface_queues: u8,
    /// Classes tell queues of a network interface from one another; past the first switch all are class 0.
    pub merges_classes: bool,
}

impl Core {
    /// The index of an ingress port and class.
    #[inline]
    pub fn group(&self, in_port: usize, class: u8) -> usize {
        in_port * self.classes + class as usize
    }

    /// Queues that a class has at a port, without a congestion queue.
    fn queues_a_class(&self) -> usize {
        if self.queueing == Queueing::Voq { self.ports.len() } else { 1 }
    }

    /// The queue of a port that a packet of this class from this ingress port joins.
    #[inline]
    pub fn queue_for(&self, class: u8, in_port: usize) -> usize {
        let class = if self.merges_classes { 0 } else { class as usize };
        match self.queueing {
            Queueing::Voq => 1 + class * self.ports.len() + in_port,
            _ => 1 + class + if self.has_relay_queues { self.classes } else { 0 },
        }
    }

    /// The congestion queue of a class.
    pub fn congestion_queue(&self, class: u8) -> usize {
        1 + self.classes * (self.queues_a_class() + usize::from(self.has_relay_queues)) + class as usize
    }

    /// Whether it is a congestion queue.
    pub fn is_congestion_queue(&self, queue: usize) -> bool {
        self.has_congestion_queues && queue >= self.congestion_queue(0)
    }

    /// The class in which a packet left its source.
    pub fn tag_of(&self, packet: &Packet) -> u8 {
        if self.merges_classes && packet.class() == 0 { packet.info as u8 } else { packet.class() }
    }

    /// The queues of a port that serve a class.
    pub fn queues_of(&self, class: u8) -> impl Iterator<Item = usize> + use<> {
        let first = self.queue_for(class, 0);
        let own = self.has_relay_queues.then(|| 1 + class as usize);
        let congestion = self.has_congestion_queues.then(|| self.congestion_queue(class));
        own.into_iter().chain(first..first + self.queues_a_class()).chain(congestion)
    }

    /// Their numbers.
    pub fn queues(&self, queues: Queues) -> impl Iterator<Item = usize> + use<> {
        let (class, one) = match queues {
            Queues::Class(class) => (Some(self.queues_of(class)), None),
            Queues::One(queue) => (None, Some(queue as usize)),
        };
        class.into_iter().flatten().chain(one)
    }

    /// Bytes that wait for an output in a queue's class; under `iq` what waits at the inputs is not known by output.
    #[inline]
    pub fn egress_bytes(&self, port: usize, queue: usize) -> u32 {
        let queues = &self.ports[port].queues;
        match self.queueing {
            Queueing::Voq if !self.is_congestion_queue(queue) => {
                self.queues_of(queues[queue].class()).fold(0, |sum: u32, q| sum.saturating_add(queues[q].bytes.bytes()))
            }
            _ => queues[queue].bytes.bytes(),
        }
    }
}

/// Some queues of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// All that serve a class.
    Class(u8),
    /// One.
    One(u16),
}

/// Which hooks a mechanism wants; a node calls no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watches(u8);

impl Watches {
    /// None.
    pub const NONE: Self = Self(0);
    /// [`Hooks::on_enqueue`]
    pub const ENQUEUE: Self = Self(1);
    /// [`Hooks::on_dequeue`]
    pub const DEQUEUE: Self = Self(2);
    /// [`Hooks::on_level`]
    pub const LEVEL: Self = Self(4);
    /// [`Hooks::on_control`]
    pub const CONTROL: Self = Self(8);
    /// [`Hooks::assign_queue`]
    pub const ASSIGN: Self = Self(16);
    /// [`Hooks::on_pause_request`]
    pub const REQUEST: Self = Self(32);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of `other` is wanted.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A data packet that was put into a queue; counters include it.
#[derive(Debug)]
pub struct Enqueued<'a> {
    /// The packet; its `in_port` is set.
    pub packet: &'a Packet,
    /// Output port.
    pub port: usize,
    /// Queue of that port.
    pub queue: usize,
}

/// A data packet that starts to be sent; counters no longer include it.
#[derive(Debug)]
pub struct Dequeued<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Output port.
    pub port: usize,
    /// Queue of that port.
    pub queue: usize,
}

/// An ingress count crossed the level that the mechanism set.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// Ingress port.
    pub port: usize,
    /// Class.
    pub class: u8,
    /// Up to the level, or down.
    pub is_up: bool,
}

/// What becomes of a control frame that a mechanism saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as if nobody had looked.
    Pass,
    /// It ends here.
    Consume,
}

/// What a node is to do for a mechanism.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// Send a control frame to the neighbour at this port.
    Send(usize, Packet),
    /// Send a control frame to its destination.
    Emit(Packet),
    /// Block queues of a port.
    Block(usize, Queues, Cause),
    /// Take that back.
    Unblock(usize, Queues, Cause),
    /// Keep a flow of this node from sending until this moment; the latest moment holds.
    HoldFlow(u32, Time),
    /// Let it go on.
    ReleaseFlow(u32),
    /// Keep every flow of this node to a destination from sending until this moment, which replaces the one before.
    HoldDestination(u32, Time),
    /// Send the rest of a flow of this node in another class.
    ClassOfFlow(u32, u8),
    /// Have the neighbour at a port stop, or go on, sending a class: a request to the mechanism that pauses neighbours.
    PauseNeighbour(usize, u8, bool),
    /// Call [`Hooks::on_timer`] with this token.
    Timer(Time, u32),
}

/// Where mechanisms write; owned by the node and used again for each event.
#[derive(Debug)]
pub struct Effects {
    /// The moment of the event.
    pub now: Time,
    /// Random numbers of this node for mechanisms.
    pub stream: Stream,
    list: Vec<(u8, Effect)>,
    marked: bool,
    owner: u8,
}

impl Effects {
    /// An empty sink.
    pub fn new(stream: Stream) -> Self {
        Self { now: Time::ZERO, stream, list: Vec::new(), marked: false, owner: 0 }
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

/// The contract of a mechanism; every hook may be left out.
pub trait Hooks {
    /// Which hooks to call.
    fn watches(&self) -> Watches;
    /// Names the queue of `port` for a flow of this node, if it is another than that of its class. The packet is the flow's first.
    fn queue_of_flow(&mut self, _packet: &Packet, _port: usize, _core: &Core) -> Option<usize> {
        None
    }
    /// Puts a data packet into a class, and names its queue of `port` if it is another than that of its class. It may be marked.
    fn assign_queue(&mut self, _packet: &mut Packet, _port: usize, _core: &Core, _effects: &mut Effects) -> Option<usize> {
        None
    }
    /// There was no room for a data packet that [`Self::assign_queue`] saw.
    fn on_drop(&mut self, _event: &Enqueued<'_>, _effects: &mut Effects) {}
    /// A data packet was put into a queue of a forwarding node.
    fn on_enqueue(&mut self, _event: &Enqueued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet leaves a queue of a forwarding node.
    fn on_dequeue(&mut self, _event: &Dequeued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// An ingress count crossed its level.
    fn on_level(&mut self, _crossing: Crossing, _core: &Core, _effects: &mut Effects) {}
    /// A control frame came in by a port: for this node, for its neighbour, or on its way.
    fn on_control(&mut self, _packet: &Packet, _port: usize, _core: &Core, _effects: &mut Effects) -> Verdict {
        Verdict::Pass
    }
    /// Another mechanism asks that the neighbour at a port stop, or go on, sending a class.
    fn on_pause_request(&mut self, _port: usize, _class: u8, _is_on: bool, _core: &Core, _effects: &mut Effects) {}
    /// A timer that the mechanism set.
    fn on_timer(&mut self, _token: u32, _core: &Core, _effects: &mut Effects) {}
    /// Whether a pause of a class at `from` by the neighbour there makes this node pause the neighbour at `port`, which it tells
    /// class `told`, whatever waits here.
    fn pauses_because(&self, _from: usize, _class: u8, _port: usize, _told: u8) -> bool {
        false
    }
    /// Says what it counted, by name; the counts of all nodes are summed up in the summary.
    fn counts(&self, _now: Time, _add: &mut dyn FnMut(&'static str, u64)) {}
}

/// The node at which a mechanism is installed.
#[derive(Debug)]
pub struct Site<'a> {
    /// It passes packets on.
    pub forwards: bool,
    /// Flows start and end there.
    pub is_host: bool,
    /// Its own forwarding delay.
    pub delay: Time,
    /// Its ports.
    pub ports: &'a [PortSpec],
    /// Hosts that hang there, and their ports.
    pub hosts: &'a [(u32, usize)],
    /// Its number.
    pub id: u32,
    /// Routes and ports of all nodes.
    pub map: &'a Arc<Map>,
    /// Of the whole network.
    pub settings: &'a Settings,
    /// Whose flow a number is.
    pub sources: &'a Arc<Sources>,
}

/// What a mechanism's table is judged with.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The other mechanisms.
    pub flow_control: &'a FlowControl,
    /// Classes of the switches.
    pub classes: u8,
    /// Where packets wait in switches.
    pub queueing: Queueing,
}

/// How a mechanism comes to a node.
pub trait Install: Sized {
    /// Its table in the scenario.
    type Params;
    /// The mechanism for a node, if it has a part there.
    fn install(params: &Self::Params, site: &Site<'_>, core: &mut Core) -> Option<Self>;
    /// Says what of its table makes no sense: the key in it, what is wrong, and what would be right.
    fn validate(_params: &Self::Params, _around: &Around<'_>) -> Result<(), (&'static str, String)> {
        Ok(())
    }
    /// Whether it chooses queues for packets; at most one mechanism may.
    fn assigns_queues(_params: &Self::Params) -> bool {
        false
    }
    /// Congestion queues that it wants for each class at each port of a forwarding node, at most one.
    fn congestion_queues(_params: &Self::Params) -> usize {
        0
    }
    /// The data queues that it wants at a port in the place of those of classes: for each its class and its level.
    fn queues(_params: &Self::Params, _site: &Site<'_>, _port: usize) -> Option<Vec<(u8, u8)>> {
        None
    }
    /// Queues that it wants at the interface of a host; more than one are classes as far as the first switch, and one beyond.
    fn interface_queues(_params: &Self::Params) -> u8 {
        1
    }
}

/// The mechanisms of one node, and which hooks any of them wants.
#[derive(Debug)]
pub struct Mechanisms {
    list: Vec<(Watches, Mechanism)>,
    all: Watches,
}

impl Mechanisms {
    /// In the order in which their hooks are called.
    pub fn new(list: Vec<Mechanism>) -> Self {
        let list: Vec<_> = list.into_iter().map(|m| (m.watches(), m)).collect();
        let all = list.iter().fold(Watches::NONE, |all, m| all.and(m.0));
        Self { list, all }
    }

    /// Whether any wants a hook.
    #[inline]
    pub const fn want(&self, hook: Watches) -> bool {
        self.all.has(hook)
    }

    /// Calls `f` for each that wants `hook`.
    #[inline]
    pub fn each(&mut self, hook: Watches, effects: &mut Effects, mut f: impl FnMut(&mut Mechanism, &mut Effects)) {
        for (i, (watches, mechanism)) in self.list.iter_mut().enumerate() {
            if watches.has(hook) {
                effects.owner = i as u8;
                f(mechanism, effects);
            }
        }
    }

    /// Calls `f` for the one with this number.
    pub fn one(&mut self, owner: u8, effects: &mut Effects, f: impl FnOnce(&mut Mechanism, &mut Effects)) {
        effects.owner = owner;
        f(&mut self.list[owner as usize].1, effects);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mechanism> {
        self.list.iter().map(|m| &m.1)
    }
}
