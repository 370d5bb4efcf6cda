//! The contract of a mechanism: hooks that read the core of a node and write effects.
//!
//! A mechanism never touches the event queue or another node. A mechanism declares the hooks that the node
//! calls, and answers with [`Effects`], which the node carries out. One trait serves switches and network
//! interfaces, and a mechanism stays in one file. This file knows no mechanism: the registry in
//! `mechanisms/mod.rs` lists all, and a new mechanism is a file and a line there.

use std::sync::Arc;

use xoff_engine::state;
use xoff_engine::state::State;
use xoff_units::{Duration, Moment, index};

use crate::faults::injection::Faults;
use crate::frames::framing::Framing;
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Records;
use crate::frames::tag::TagField;
use crate::frames::telemetry::Hop;
use crate::mechanisms::pause_response::Response;
use crate::parts::count::{Count, Tally};
use crate::parts::ids::{ClassSet, PortId, QueueId};
use crate::parts::param_error::ParamError;
use crate::paths::routing::{Map, Sources};
use crate::paths::topology::{PortSpec, Wiring};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::Effects;
use crate::ports::queueing::buffer::{self, Accounting};
use crate::ports::queueing::port::QueueSpec;
use crate::ports::relay;

/// Set of hooks of a mechanism; a node calls no other hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watches(u16);

impl Watches {
    /// None.
    pub const NONE: Self = Self(0);
    /// [`Hooks::on_enqueue`]
    pub const ENQUEUE: Self = Self(1);
    /// [`Hooks::on_dequeue`] and [`Hooks::on_whole`]
    pub const DEQUEUE: Self = Self(2);
    /// [`Hooks::on_level`]
    pub const LEVEL: Self = Self(4);
    /// [`Hooks::on_control`]
    pub const CONTROL: Self = Self(8);
    /// [`Hooks::assign_queue`] and [`Hooks::on_drop`]
    pub const ASSIGN: Self = Self(16);
    /// [`Hooks::on_pause_request`]
    pub const REQUEST: Self = Self(32);
    /// [`Hooks::place_flow`]
    pub const PLACE: Self = Self(64);
    /// [`Hooks::route`]
    pub const ROUTE: Self = Self(128);
    /// [`Hooks::admit`]
    pub const ADMIT: Self = Self(256);
    /// [`Hooks::on_departure`]
    pub const DEPARTURE: Self = Self(512);
    /// [`Hooks::on_delivered`]
    pub const DELIVERED: Self = Self(1024);
    /// [`Hooks::on_answer`] and [`Hooks::on_silence`]
    pub const ANSWER: Self = Self(2048);
    /// [`Hooks::on_link`]
    pub const LINK: Self = Self(4096);

    /// [`Hooks::on_answer_departure`]
    pub const ANSWER_DEPARTURE: Self = Self(8192);

    /// Maximum number of hooks.
    pub const HOOKS: usize = u16::BITS as usize;

    /// The hook with this number.
    pub const fn numbered(number: usize) -> Self {
        Self(1 << number)
    }

    /// The number of a hook.
    #[inline]
    pub const fn number(self) -> usize {
        index(self.0.trailing_zeros()) % Self::HOOKS
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the set contains any hook of `other`.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A data packet that entered a queue; counters include the packet.
#[derive(Debug)]
pub struct Enqueued<'a> {
    /// The packet, with `in_port`.
    pub packet: &'a Packet,
    /// Output port.
    pub port: PortId,
    /// Queue of the port.
    pub queue: QueueId,
}

/// A data packet at the start of transmission. Counters no longer include the packet, except the count of its
/// input during cut-through.
#[derive(Debug)]
pub struct Dequeued<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Output port.
    pub port: PortId,
    /// Queue of the port.
    pub queue: QueueId,
    /// The last bit has arrived. Otherwise (cut-through) the input counts the packet until
    /// [`Hooks::on_whole`].
    pub is_whole: bool,
}

/// A data packet or an acknowledgement at its departure from any node, forwarded or sent by the node.
#[derive(Debug)]
pub struct Departure<'a> {
    /// The packet, which may be stamped. [`Packet::in_port`] is the port of its arrival at a forwarding node.
    pub packet: &'a mut Packet,
    /// Output port; counters of the port include the packet.
    pub port: PortId,
    /// Queue of the port that held the packet.
    pub queue: QueueId,
    /// The node sends the packet, and does not forward the packet.
    pub is_own: bool,
    /// Side records of packets at this node; see [`Packet::record`].
    pub records: &'a mut Records,
}

impl Departure<'_> {
    /// Returns the record of the output at the departure of a data packet.
    pub fn hop(&self, core: &Core, now: Moment) -> Hop {
        let port = &core.ports[self.port];
        Hop {
            node: core.id,
            port: self.port,
            at: now,
            sent: port.data_bytes + port.control_bytes - u64::from(self.packet.bytes()),
            queued: core.waiting_bytes(self.port),
            rate: port.rate,
        }
    }
}

/// Place at which a data packet is about to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Output port.
    pub port: PortId,
    /// Queue of the port.
    pub queue: QueueId,
}

/// Answer to a packet that asks for admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admit {
    /// The packet asks the buffer for room, in this queue of the port.
    Accept(QueueId),
    /// The packet is dropped.
    Drop,
    /// The payload is cut off. The rest, with this many bytes on the wire, precedes all data as a
    /// [`crate::frames::kinds::Kind::Header`]. With zero bytes the packet is dropped.
    Trim(u16),
}

/// An ingress count that crossed a level of the mechanism.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// Ingress port.
    pub port: PortId,
    /// Class.
    pub class: u8,
    /// Up to the level, or down.
    pub is_up: bool,
}

/// Answer to a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The frame continues unchanged.
    Pass,
    /// The frame ends here.
    Consume,
}

/// The contract of a mechanism; every hook may be left out.
pub trait Hooks: State {
    /// Returns the hooks to call.
    fn watches(&self) -> Watches;
    /// Chooses one of several ports on shortest paths for an unpinned packet, and may write onto the packet.
    /// `None` leaves the choice to ECMP.
    fn route(
        &mut self,
        _packet: &mut Packet,
        _choices: &[PortId],
        _core: &Core,
        _effects: &mut Effects,
    ) -> Option<PortId> {
        None
    }
    /// Assigns a class to a flow of this node, and returns its queue at `port` if different from the queue of
    /// the class. The packet is the first packet of the flow, with the class of the workload or host.
    fn place_flow(&mut self, _packet: &mut Packet, _port: PortId, _core: &Core) -> Option<QueueId> {
        None
    }
    /// Assigns a class to a data packet, and returns its queue at `port` if different from the queue of the
    /// class. May mark the packet.
    fn assign_queue(
        &mut self,
        _packet: &mut Packet,
        _port: PortId,
        _core: &Core,
        _effects: &mut Effects,
    ) -> Option<QueueId> {
        None
    }
    /// Admits, drops or trims a data packet, before the buffer is asked for room.
    fn admit(&mut self, _packet: &mut Packet, place: Place, _core: &Core, _effects: &mut Effects) -> Admit {
        Admit::Accept(place.queue)
    }
    /// A data packet seen by [`Self::assign_queue`] found no room.
    fn on_drop(&mut self, _event: &Enqueued<'_>, _effects: &mut Effects) {}
    /// A data packet was put into a queue of a forwarding node.
    fn on_enqueue(&mut self, _event: &Enqueued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet leaves a queue of a forwarding node.
    fn on_dequeue(&mut self, _event: &Dequeued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// The last bit of a data packet arrived after its transmission began, and the input no longer counts the
    /// packet.
    fn on_whole(&mut self, _event: &Dequeued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet starts on the wire, at any node.
    fn on_departure(&mut self, _event: &mut Departure<'_>, _core: &Core, _effects: &mut Effects) {}
    /// An acknowledgement starts on the wire, at any node. On a path of its own flow the acknowledgement came by
    /// the port by which data of the flow departs.
    fn on_answer_departure(&mut self, _event: &mut Departure<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet reached its destination host by a port.
    fn on_delivered(&mut self, _packet: &Packet, _port: PortId, _core: &Core, _effects: &mut Effects) {}
    /// An acknowledgement reached a flow of this node; the flow may be finished.
    fn on_answer(&mut self, _answer: &Packet, _is_over: bool, _core: &Core, _effects: &mut Effects) {}
    /// A flow of this node received no acknowledgement for its timeout.
    fn on_silence(&mut self, _flow: u32, _core: &Core, _effects: &mut Effects) {}
    /// An ingress count crossed its level.
    fn on_level(&mut self, _crossing: Crossing, _core: &Core, _effects: &mut Effects) {}
    /// A control frame seen by mechanisms arrived by a port: for this node, for the neighbour, or on its
    /// path.
    fn on_control(
        &mut self,
        _packet: &Packet,
        _port: PortId,
        _core: &Core,
        _effects: &mut Effects,
    ) -> Verdict {
        Verdict::Pass
    }
    /// Another mechanism asks to pause or resume a class of the neighbour at a port.
    fn on_pause_request(
        &mut self,
        _port: PortId,
        _class: u8,
        _is_on: bool,
        _core: &Core,
        _effects: &mut Effects,
    ) {
    }
    /// The link of a port goes down or comes back. All frames in flight on the link are lost. Requests of the
    /// neighbour are void, and requests to the neighbour must be repeated when the link comes back.
    fn on_link(&mut self, _port: PortId, _is_up: bool, _core: &Core, _effects: &mut Effects) {}
    /// A timer of the mechanism expired.
    fn on_timer(&mut self, _token: u32, _core: &Core, _effects: &mut Effects) {}
    /// True if a pause of a class at `from` makes this node pause class `told` of the neighbour at `port`,
    /// independent of waiting packets.
    fn pauses_because(&self, _from: PortId, _class: u8, _port: PortId, _told: u8) -> bool {
        false
    }
    /// Names active pauses of neighbours: ingress port and class.
    fn standing_pauses(&self, _add: &mut dyn FnMut(PortId, u8)) {}
    /// Returns the pause frames of a port and class.
    fn pause_frames(&self, _port: PortId, _class: u8) -> PauseFrames {
        PauseFrames::default()
    }
    /// Names counters of outputs that the neighbour mirrors: port, class, value, and modulus minus one.
    fn counters(&self, _add: &mut dyn FnMut(PortId, u8, u32, u32)) {}
    /// Adds the counts declared in [`Install::COUNTS`]; the summary adds up the counts of all nodes.
    fn counts(&self, _now: Moment, _tally: &mut dyn Tally) {}
}

/// Pause frames of a port and class, resumes included, as the counters of a switch count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PauseFrames {
    /// Sent to the neighbour.
    pub sent: u64,
    /// Received from the neighbour.
    pub received: u64,
    /// Received, without obeying: pauses without resumes.
    pub ignored: u64,
    /// Storms that the watchdog found.
    pub storms: u64,
}

state!(PauseFrames { total: sent, received, ignored, storms; });

/// The node at which a mechanism is installed.
#[derive(Debug)]
pub struct Site<'a> {
    /// Number of the node.
    pub id: u32,
    /// The node forwards packets.
    pub forwards: bool,
    /// Flows start and end at the node.
    pub is_host: bool,
    /// Ports of the node.
    pub ports: &'a [PortSpec],
    /// Both ends of the link of each port.
    pub ends: &'a [Ends<'a>],
    /// For each port the levels of the mechanism with levels, at a forwarding node.
    pub levels: &'a [Option<Levels>],
    /// The mechanism's bits in the tag of packets ([`Properties::tag_bits`]).
    pub tag: TagField,
    /// Hosts behind the node, with their ports.
    pub hosts: &'a [(u32, PortId)],
    /// Packet sizes.
    pub framing: &'a Framing,
    /// Faults that the scenario injects into each node.
    pub faults: Faults,
    /// Settings of hosts that relay.
    pub relay: &'a relay::Params,
    /// Longest round trip without queues; zero unless a component needs the value
    /// ([`Properties::wants_round_trip`]).
    pub round_trip: Duration,
    /// Routes and ports of all nodes.
    pub map: &'a Arc<Map>,
    /// Sources of flows by number.
    pub sources: &'a Arc<Sources>,
}

/// XOFF and XON of an ingress port and class, and the headroom above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Pause at this many bytes.
    pub xoff: u64,
    /// XON; with a dynamic threshold, the distance below the threshold.
    pub xon: u64,
    /// Computed headroom.
    pub headroom: u64,
    /// Part of the class's share of the port buffer above XOFF; `None` for a buffer without a limit per port.
    pub available: Option<u64>,
    /// XOFF follows the dynamic threshold of a shared buffer.
    pub is_dynamic: bool,
    /// Classes with these levels. Other classes have no levels, and no headroom.
    pub classes: ClassSet,
}

/// Both ends of a link as inputs: of this node, and of the neighbour. Packets that end at a host do not wait
/// there.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// Here.
    pub near: Ingress<'a>,
    /// At the neighbour.
    pub far: Ingress<'a>,
}

/// An ingress port: the values that decide levels and capacity.
#[derive(Debug, Clone, Copy)]
pub struct Ingress<'a> {
    /// The port.
    pub port: &'a PortSpec,
    /// The node's forwarding delay.
    pub delay: Duration,
    /// Packet sizes.
    pub framing: &'a Framing,
    /// Maximum bytes of the largest frame that have arrived when the frame is counted.
    pub counted_after: u64,
    /// The node's memory.
    pub memory: &'a buffer::Params,
    /// Classes that share the memory of a port.
    pub classes: u8,
    /// The node is a host, which relays.
    pub is_host: bool,
}

/// Shape of a network: the values that decide the queues of ports.
#[derive(Debug, Clone, Copy)]
pub struct PortShape<'a> {
    /// Ports of all nodes.
    pub wiring: &'a Wiring,
    /// Settings of hosts that relay.
    pub relay: &'a relay::Params,
}

/// A queue of an output: node, port and queue.
pub type QueueAt = (u32, PortId, QueueId);

/// Properties of a mechanism with given parameters, for code that does not know the mechanism.
#[derive(Debug, Clone, Copy, Default)]
pub struct Properties {
    /// The mechanism prevents drops.
    pub is_lossless: bool,
    /// Classes of which the mechanism pauses the neighbour of a port; `None` for all.
    pub pausing: Option<ClassSet>,
    /// Classes of which the mechanism obeys pauses by the neighbour of a port; `None` for all.
    pub obeying: Option<ClassSet>,
    /// Packets wait for room or a queue at the next node, and cyclic buffer dependencies are possible.
    pub can_deadlock: bool,
    /// The mechanism pauses neighbours on request of another mechanism.
    pub pauses_neighbours: bool,
    /// A switch may stand for its equal outputs (docs/folding.md): the state of the mechanism belongs to an output, or to an
    /// input as a whole, and random numbers are draws by packet.
    pub folds: bool,
    /// The mechanism decides by random numbers.
    pub draws: bool,
    /// The mechanism compares counts with levels ([`Install::levels`]).
    pub has_levels: bool,
    /// Side of the compared bytes, which is the side that owns memory.
    pub accounting: Option<Accounting>,
    /// The mechanism chooses queues or classes of forwarded packets. At most one mechanism may.
    pub assigns_queues: bool,
    /// The mechanism counts the content of a queue from arrivals and departures.
    pub counts_queues: bool,
    /// The mechanism plans the queues of ports ([`Install::queues`]).
    pub plans_queues: bool,
    /// The mechanism trims packets without room; a transport must retransmit the payload.
    pub cuts_data: bool,
    /// The mechanism marks packets that meet a queue: at switches, and with `host.relay.ecn` at hosts that
    /// relay.
    pub marks_data: bool,
    /// The mechanism chooses ports. At most one mechanism may.
    pub routes: bool,
    /// The mechanism sends packets of a flow by several ports, and may reorder packets.
    pub scatters: bool,
    /// The mechanism may reorder packets of a flow at a port.
    pub reorders: bool,
    /// The mechanism predicts the ports chosen by ECMP.
    pub foretells_routes: bool,
    /// Bits that the mechanism needs in the tag of data packets ([`Site::tag`]), or reads of the tags of its congestion
    /// control. All parts together have 32 bits.
    pub tag_bits: u8,
    /// The mechanism writes side records of data packets; tags are then readable at hosts alone.
    pub writes_beside_data: bool,
    /// The mechanism signals the congestion control of sources; the warning for scenarios without a listening
    /// congestion control.
    pub tells_sources: Option<&'static str>,
    /// Name of the signal, if different from the name of the mechanism: marks are ECN signals, whichever
    /// mechanism marks.
    pub signals_as: Option<&'static str>,
    /// The mechanism needs the longest round trip of the network ([`Site::round_trip`]).
    pub wants_round_trip: bool,
    /// The mechanism needs a congestion queue for each class at each port of a forwarding node.
    pub wants_congestion_queues: bool,
    /// Number of reorder queues for each class at each port of a switch with hosts.
    pub reorder_queues: u8,
    /// Number of queues at the interface of a host, if more than one; the queues are classes up to the first
    /// switch.
    pub interface_queues: u8,
    /// Each relay puts a packet into the next higher class.
    pub raises_classes: bool,
    /// With `host.relay.per_flow`, hosts that relay hold flows and pause no neighbour.
    pub holds_at_relays: bool,
    /// Hosts that relay pass pauses on, independent of waiting packets.
    pub passes_pauses_on: bool,
    /// The time after which a neighbour obeys a pause.
    pub response: Option<Response>,
    /// The mechanism ends pauses of this duration; a ring of shorter pauses is no deadlock.
    pub ends_pauses: Option<Duration>,
    /// The mechanism depends on its frames: true if the mechanism recovers after its link was down, and the
    /// error text for other losses.
    pub if_frames_are_lost: Option<(bool, &'static str)>,
    /// Size of the smallest frame of the mechanism, if below the sizes of other frames.
    pub smallest_frame: Option<u16>,
    /// Key and error text, if hosts that relay may not send flows of their own.
    pub refuses_relayed_sources: Option<(&'static str, &'static str)>,
}

/// Another mechanism of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Key of the mechanism.
    pub name: &'static str,
    /// Properties with the given parameters.
    pub properties: Properties,
}

/// Context of the validation of parameters.
#[derive(Debug, Clone, Copy)]
pub struct ValidationContext<'a> {
    /// The other mechanisms.
    pub others: &'a [Other],
    /// Classes of the switches.
    pub classes: u8,
    /// Place where packets wait in switches.
    pub queueing: Queueing,
    /// The memory of switches.
    pub memory: &'a buffer::Params,
    /// Packet sizes.
    pub framing: &'a Framing,
}

impl ValidationContext<'_> {
    /// Returns the name of the first other mechanism with a property.
    pub fn other(&self, holds: impl Fn(&Properties) -> bool) -> Option<&'static str> {
        self.others.iter().find(|o| holds(&o.properties)).map(|o| o.name)
    }
}

/// Installation of a mechanism at a node.
pub trait Install: Sized {
    /// Parameters in the scenario.
    type Params;
    /// Label for readers.
    const LABEL: &'static str;
    /// Reason of the mechanism's drops, for readers.
    const DROPS: &'static str = Self::LABEL;
    /// Counts of the mechanism.
    const COUNTS: &'static [Count] = &[];
    /// The mechanism of switches that the component needs to act, and the warning for scenarios without that
    /// mechanism.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// Returns the mechanism of a node, or `None` for a node without a part in the mechanism.
    fn install(params: &Self::Params, site: &Site<'_>, core: &mut Core) -> Option<Self>;
    /// Sets the parameters of a port with overrides (`switch.overrides`). Levels are queried per port in any
    /// case.
    fn install_at(&mut self, _port: PortId, _params: &Self::Params) {}
    /// Returns the properties for given parameters.
    fn properties(_params: &Self::Params) -> Properties {
        Properties::default()
    }
    /// Refuses invalid parameters.
    fn validate(_params: &Self::Params, _around: &ValidationContext<'_>) -> Result<(), ParamError> {
        Ok(())
    }
    /// Refuses parameters that are invalid at a port of a forwarding node. `levels` are the levels of any
    /// mechanism there.
    fn check_port(
        _params: &Self::Params,
        _ingress: &Ingress<'_>,
        _levels: Option<&Levels>,
    ) -> Result<(), ParamError> {
        Ok(())
    }
    /// Returns the levels of an ingress port of a forwarding node.
    fn levels(_params: &Self::Params, _ingress: &Ingress<'_>) -> Option<Levels> {
        None
    }
    /// Returns a warning about parameters next to the levels of PFC: key and text.
    fn warn(_params: &Self::Params, _levels: &Levels) -> Option<ParamError> {
        None
    }
    /// Returns a warning about a port of a forwarding node: key and text.
    fn warn_port(_params: &Self::Params, _ingress: &Ingress<'_>) -> Option<ParamError> {
        None
    }
    /// Returns the data queues of a port, in place of the queues of classes.
    fn queues(
        _params: &Self::Params,
        _ground: &PortShape<'_>,
        _node: u32,
        _port: PortId,
    ) -> Option<Vec<QueueSpec>> {
        None
    }
    /// Returns the maximum number of relays on a path, with the key that sets the maximum and the reason.
    /// `above` is the number of classes above the class of a new flow.
    fn most_relays(_params: &Self::Params, _above: u32) -> Option<(&'static str, u32, &'static str)> {
        None
    }
    /// For mechanisms with planned queues: returns the queue at a switch output for packets that take output
    /// `next` at the following node and `third` at the node after. `None` if no packet waits.
    fn queue_toward(
        _wiring: &Wiring,
        _node: u32,
        _port: PortId,
        _next: PortId,
        _third: Option<PortId>,
    ) -> Option<QueueId> {
        None
    }
    /// For mechanisms with planned queues: returns the queues that a paused queue waits for.
    fn waits_for(_wiring: &Wiring, _queue: QueueAt) -> Vec<QueueAt> {
        Vec::new()
    }
}
