//! Effects that mechanisms and endpoints request from their node.

use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::Moment;

use crate::frames::flow::FlowSpec;
use crate::frames::message::Post;
use crate::frames::packet::Packet;
use crate::parts::ids::{ApplicationId, PortId, QueueId};
use crate::parts::streams::{Draws, Keys, label};
use crate::ports::core::Queues;

/// Requester of a block of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The node at the other end of the link.
    Neighbour,
    /// An output of some node.
    Output(u32, PortId),
    /// The mechanism at this node, or an unnamed node further away.
    Itself,
}

impl Asker {
    /// Returns the requester under other names of nodes and ports.
    #[must_use]
    pub fn renamed(self, of: impl Fn(u32, PortId) -> (u32, PortId)) -> Self {
        match self {
            Self::Output(node, port) => {
                let (node, port) = of(node, port);
                Self::Output(node, port)
            }
            Self::Neighbour | Self::Itself => self,
        }
    }
}

/// Reason for a pause request to other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// Packets of this class that arrived by this port wait.
    Input(PortId, u8),
    /// Packets with this tag that arrived by this port wait.
    Tagged(PortId, u32),
    /// Packets wait for this output.
    Output(PortId),
}

/// An action of the node for a mechanism or the endpoint.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// Send a control frame to the neighbour at this port.
    Send(PortId, Packet),
    /// Send a control frame to its destination.
    Emit(Packet),
    /// Start flows and operations of other workloads that waited for the operation of this number.
    OperationEnded(u32),
    /// Block queues of a port, with the mechanism as the cause.
    Block(PortId, Queues, Asker),
    /// Unblock queues of a port.
    Unblock(PortId, Queues),
    /// Drop the waiting data of queues of a port.
    Discard(PortId, Queues),
    /// Record the contributions of waiting bytes, for a frame that asks other nodes to pause.
    Pausing(Because),
    /// Move the packets of a queue of a port to the end of another queue of the same class: port, from, to.
    MoveQueue(PortId, QueueId, QueueId),
    /// Let a queue of a port wait until packets of the same flow in another queue have left.
    HoldQueue(PortId, QueueId),
    /// Release a held queue of a port.
    ReleaseQueue(PortId, QueueId),
    /// Keep a flow of this node from sending until this moment; the latest moment holds.
    HoldFlow(u32, Moment),
    /// Release a flow.
    ReleaseFlow(u32),
    /// Hold all flows of this node to a destination until this moment. The latest call counts, and a past
    /// moment ends the hold.
    HoldDestination(u32, Moment),
    /// Send the rest of a flow of this node in another class.
    ClassOfFlow(u32, u8),
    /// Ask the mechanism that pauses neighbours to pause or resume a class of the neighbour at a port.
    PauseNeighbour(PortId, u8, bool),
    /// Call `on_timer` with this token.
    Timer(Moment, u32),
    /// Send an acknowledgement, in the queue chosen by the scenario.
    Answer(Packet),
    /// Set a timer of the endpoint: kind, time and subject.
    Alarm(u64, Moment, u32),
    /// Start a flow without open conditions.
    Start(FlowSpec),
    /// Post a message to its connection.
    Post(Post),
    /// Send a slice over NVLink by this queue.
    SendSlice(u32, Post),
    /// Put a frame on an output to another node, with the moment at which the first bit arrives.
    Leave(u16, Moment, Packet),
    /// Set a timer of an application at this host: the application, owner, time and subject.
    Call(ApplicationId, u8, Moment, u32),
    /// The same for the end of a computation, with the end at full speed.
    Compute(ApplicationId, u8, Moment, u32),
    /// Tell an application at this host of a control message: the application, time and line.
    Control(ApplicationId, Moment, u32),
}

/// Collector of effects, owned by the node and reused for each event.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Effects {
    /// The moment of the event.
    pub now: Moment,
    list: Vec<(u8, Effect)>,
    marked: bool,
    pub(crate) owner: u8,
    /// Random streams of each mechanism of this node: in order of draws, and by packet.
    streams: Box<[Stream]>,
    draws: Box<[Draws]>,
    keys: Keys,
    /// Number of draws by packet, which keeps draws distinct.
    drawn: u64,
}

state!(Effects {
    value: marked, streams, drawn;
    constant: now, list, owner, draws, keys;
});

impl Effects {
    /// Returns an empty collector for the mechanisms of a node in their order. Each mechanism has its own
    /// random streams, and an added mechanism does not change the draws of other mechanisms.
    pub fn new<'a>(seed: u64, node: u32, keys: &Keys, mechanisms: impl IntoIterator<Item = &'a str>) -> Self {
        let stream = |name| Stream::new(seed, u64::from(node), &format!("mechanism {}", label(name)));
        let (streams, draws): (Vec<_>, Vec<_>) =
            mechanisms.into_iter().map(|name| (stream(name), Draws::new(seed, node, name))).unzip();
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

    /// Returns a collector for one mechanism.
    #[cfg(any(test, feature = "testing"))]
    pub fn for_tests(seed: u64) -> Self {
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

    /// Returns a random number in 0..n, with n at most 2^32, that depends on this copy of a packet and not on
    /// earlier draws of the mechanism.
    #[inline]
    pub fn draw(&mut self, packet: &Packet, n: u64) -> u64 {
        self.drawn += 1;
        let bits = self.draws[usize::from(self.owner)].draw(
            self.keys.of(packet.flow()),
            packet.seq(),
            packet.copy(),
        );
        ((bits >> 32) * n) >> 32
    }

    /// True if a copy of a packet belongs to a random share of all packets.
    #[inline]
    pub fn draw_share(&mut self, packet: &Packet, share: f64) -> bool {
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

    /// Returns the effects since the last call, each with the number of the mechanism.
    pub fn take(&mut self) -> Vec<(u8, Effect)> {
        std::mem::take(&mut self.list)
    }

    pub(crate) fn put_back(&mut self, mut list: Vec<(u8, Effect)>) {
        list.clear();
        if self.list.is_empty() {
            self.list = list;
        }
    }
}
