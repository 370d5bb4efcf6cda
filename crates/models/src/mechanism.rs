//! What a mechanism is: hooks that see a node's core and write effects.
//!
//! A mechanism never touches the event queue or another node. It declares what it watches, is called for that alone, and answers
//! with [`Effects`], which the node carries out. One trait serves switches and network interfaces, so that a mechanism stays in
//! one file. This file knows none of them: the registry in `mechanisms/mod.rs` lists them, and a new one is its file and a line
//! there.

use std::sync::Arc;

use crate::ids::{PortId, QueueId};
use xoff_engine::state::State;
use xoff_units::{Duration, Moment, index};

use crate::core::{Core, Queueing};
use crate::count::{Count, Tally};
use crate::effects::Effects;
use crate::fault_injection::Faults;
use crate::framing::Framing;
use crate::packet::Packet;
use crate::packet_metadata::Records;
use crate::queueing::buffer::{self, Accounting};
use crate::queueing::port::QueueSpec;
use crate::relay;
use crate::routing::{Map, Sources};

use crate::param_error::ParamError;
use crate::topology::{PortSpec, Wiring};

/// Which hooks a mechanism wants; a node calls no others.
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

    /// How many hooks there may be.
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
    pub port: PortId,
    /// Queue of that port.
    pub queue: QueueId,
}

/// A data packet that starts to be sent; counters no longer include it, but for those of its input while it is still coming in.
#[derive(Debug)]
pub struct Dequeued<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Output port.
    pub port: PortId,
    /// Queue of that port.
    pub queue: QueueId,
    /// Its last bit is in; otherwise [`Hooks::on_whole`] follows, and its input counts it until then (cut-through).
    pub is_whole: bool,
}

/// A data packet as it goes onto the wire, at any node: what was forwarded, and what a flow of this node sends.
#[derive(Debug)]
pub struct Departure<'a> {
    /// The packet, which may be stamped.
    pub packet: &'a mut Packet,
    /// Output port; its counters include the packet.
    pub port: PortId,
    /// The queue of that port from which it comes.
    pub queue: QueueId,
    /// It was made here.
    pub is_own: bool,
    /// What travels beside packets that are here; see [`Packet::record`].
    pub records: &'a mut Records,
}

/// Where a data packet is about to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Output port.
    pub port: PortId,
    /// Queue of that port.
    pub queue: QueueId,
}

/// What becomes of a packet that asks to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admit {
    /// It asks the buffer for room, in this queue of its port.
    Accept(QueueId),
    /// It is dropped.
    Drop,
    /// Its payload is cut off: what is left of it, so many bytes on the wire, goes on before all data as a
    /// [`crate::frames::Kind::Header`]. With zero nothing does.
    Trim(u16),
}

/// An ingress count crossed the level that the mechanism set.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// Ingress port.
    pub port: PortId,
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

/// The contract of a mechanism; every hook may be left out.
pub trait Hooks: State {
    /// Which hooks to call.
    fn watches(&self) -> Watches;
    /// Chooses one of several ports on shortest paths for a packet that is not pinned, and may write onto it; none leaves the choice
    /// to ECMP.
    fn route(&mut self, _packet: &mut Packet, _choices: &[PortId], _core: &Core, _effects: &mut Effects) -> Option<PortId> {
        None
    }
    /// Puts a flow of this node into a class, and names its queue of `port` if it is another than that of its class. The packet is
    /// the flow's first, of the class that its workload or its host gave it.
    fn place_flow(&mut self, _packet: &mut Packet, _port: PortId, _core: &Core) -> Option<QueueId> {
        None
    }
    /// Puts a data packet into a class, and names its queue of `port` if it is another than that of its class. It may be marked.
    fn assign_queue(&mut self, _packet: &mut Packet, _port: PortId, _core: &Core, _effects: &mut Effects) -> Option<QueueId> {
        None
    }
    /// Lets a data packet in, drops it, or cuts it, before the buffer is asked for room.
    fn admit(&mut self, _packet: &mut Packet, place: Place, _core: &Core, _effects: &mut Effects) -> Admit {
        Admit::Accept(place.queue)
    }
    /// There was no room for a data packet that [`Self::assign_queue`] saw.
    fn on_drop(&mut self, _event: &Enqueued<'_>, _effects: &mut Effects) {}
    /// A data packet was put into a queue of a forwarding node.
    fn on_enqueue(&mut self, _event: &Enqueued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet leaves a queue of a forwarding node.
    fn on_dequeue(&mut self, _event: &Dequeued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// The last bit of a data packet is in that started to be sent before, and its input counts it no more.
    fn on_whole(&mut self, _event: &Dequeued<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet starts on the wire, at any node.
    fn on_departure(&mut self, _event: &mut Departure<'_>, _core: &Core, _effects: &mut Effects) {}
    /// A data packet came by a port to the host where it ends.
    fn on_delivered(&mut self, _packet: &Packet, _port: PortId, _core: &Core, _effects: &mut Effects) {}
    /// An answer of its receiver came to a flow of this node, which may be over with it.
    fn on_answer(&mut self, _answer: &Packet, _is_over: bool, _core: &Core, _effects: &mut Effects) {}
    /// Nothing was heard of a flow of this node for its timeout.
    fn on_silence(&mut self, _flow: u32, _core: &Core, _effects: &mut Effects) {}
    /// An ingress count crossed its level.
    fn on_level(&mut self, _crossing: Crossing, _core: &Core, _effects: &mut Effects) {}
    /// A frame that mechanisms see came in by a port: for this node, for its neighbour, or on its way.
    fn on_control(&mut self, _packet: &Packet, _port: PortId, _core: &Core, _effects: &mut Effects) -> Verdict {
        Verdict::Pass
    }
    /// Another mechanism asks that the neighbour at a port stop, or go on, sending a class.
    fn on_pause_request(&mut self, _port: PortId, _class: u8, _is_on: bool, _core: &Core, _effects: &mut Effects) {}
    /// The link of a port goes down, or comes back. Nothing that either end sent is on its way any more; what the neighbour asked for
    /// is void, and what was asked of it has to be asked anew as the link comes back.
    fn on_link(&mut self, _port: PortId, _is_up: bool, _core: &Core, _effects: &mut Effects) {}
    /// A timer that the mechanism set.
    fn on_timer(&mut self, _token: u32, _core: &Core, _effects: &mut Effects) {}
    /// Whether a pause of a class at `from` by the neighbour there makes this node pause the neighbour at `port`, which it tells
    /// class `told`, whatever waits here.
    fn pauses_because(&self, _from: PortId, _class: u8, _port: PortId, _told: u8) -> bool {
        false
    }
    /// Names pauses of neighbours that stand: ingress port and class.
    fn standing_pauses(&self, _add: &mut dyn FnMut(PortId, u8)) {}
    /// Tells counters of outputs that neighbours have as well: of a port and class, as it is, and what it is taken modulo, less one.
    fn counters(&self, _add: &mut dyn FnMut(PortId, u8, u32, u32)) {}
    /// Says what it counted, of what [`Install::COUNTS`] declares; the counts of all nodes are summed up in the summary.
    fn counts(&self, _now: Moment, _tally: &mut dyn Tally) {}
}

/// The node at which a mechanism is installed.
#[derive(Debug)]
pub struct Site<'a> {
    /// Its number.
    pub id: u32,
    /// It passes packets on.
    pub forwards: bool,
    /// Flows start and end there.
    pub is_host: bool,
    /// Its ports.
    pub ports: &'a [PortSpec],
    /// Both ends of the link at each of them.
    pub ends: &'a [Ends<'a>],
    /// For each of them the levels of the mechanism that has any, if the node forwards.
    pub levels: &'a [Option<Levels>],
    /// Hosts that hang there, and their ports.
    pub hosts: &'a [(u32, PortId)],
    /// Packet sizes.
    pub framing: &'a Framing,
    /// Faults that the scenario injects into each node.
    pub faults: Faults,
    /// Hosts that relay.
    pub relay: &'a relay::Params,
    /// The longest round trip without queues; zero where nobody wants it ([`Properties::wants_round_trip`]).
    pub round_trip: Duration,
    /// Routes and ports of all nodes.
    pub map: &'a Arc<Map>,
    /// Whose flow a number is.
    pub sources: &'a Arc<Sources>,
}

/// XOFF and XON of an ingress port and class, and the headroom above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Pause at this many bytes.
    pub xoff: u64,
    /// Resume at this many; with a dynamic threshold, so far below it.
    pub xon: u64,
    /// What the computed headroom is.
    pub headroom: u64,
    /// What of the class's share of the port's buffer is above XOFF; none when the buffer is not bounded for a port.
    pub available: Option<u64>,
    /// There is no XOFF of its own: the threshold of a shared buffer moves.
    pub is_dynamic: bool,
}

/// Both ends of a link as inputs: this node's, and the neighbour's. What ends at a host waits nowhere there.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// Here.
    pub near: Ingress<'a>,
    /// At the neighbour.
    pub far: Ingress<'a>,
}

/// An ingress port, as far as levels and what it can hold depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Ingress<'a> {
    /// The port.
    pub port: &'a PortSpec,
    /// The node's forwarding delay.
    pub delay: Duration,
    /// Packet sizes.
    pub framing: &'a Framing,
    /// Bytes of the largest frame that are in at most when it is counted.
    pub counted_after: u64,
    /// The node's memory.
    pub memory: &'a buffer::Params,
    /// Classes that share a port's memory.
    pub classes: u8,
    /// The node is a host, which relays.
    pub is_host: bool,
}

/// The shape of a network, as far as the queues of its ports depend on it.
#[derive(Debug, Clone, Copy)]
pub struct PortShape<'a> {
    /// Ports of all nodes.
    pub wiring: &'a Wiring,
    /// Hosts that relay.
    pub relay: &'a relay::Params,
}

/// A queue of an output: node, port and queue.
pub type QueueAt = (u32, PortId, QueueId);

/// What follows from a mechanism's table, for those who do not know it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Properties {
    /// Nothing is dropped where it acts.
    pub is_lossless: bool,
    /// Packets wait for room or for a queue at the next node, so that circles of them can wait for one another.
    pub can_deadlock: bool,
    /// It pauses neighbours when another mechanism asks for it.
    pub pauses_neighbours: bool,
    /// It compares counts with levels ([`Install::levels`]).
    pub has_levels: bool,
    /// Whose bytes it compares, which is to whom memory belongs.
    pub accounting: Option<Accounting>,
    /// It chooses queues or classes for packets that are forwarded; at most one mechanism may.
    pub assigns_queues: bool,
    /// It counts what waits in a queue by what it sees come there and go.
    pub counts_queues: bool,
    /// It plans the queues of ports itself ([`Install::queues`]).
    pub plans_queues: bool,
    /// It cuts payloads off packets that find no room, which a transport has to bring again.
    pub cuts_data: bool,
    /// It marks packets that find a queue: at switches, and at hosts that relay with `host.relay.ecn`.
    pub marks_data: bool,
    /// It chooses among ports; at most one mechanism may.
    pub routes: bool,
    /// It sends packets of a flow by several ports at a time, so that they overtake one another.
    pub scatters: bool,
    /// It lets packets of a flow overtake one another at a port.
    pub reorders: bool,
    /// It foretells the ports that ECMP chooses.
    pub foretells_routes: bool,
    /// It tags data packets, or reads what the congestion control that listens to it tagged them with; at most one part may.
    pub tags_data: bool,
    /// It writes beside data packets, where tags are of use to hosts alone from then on.
    pub writes_beside_data: bool,
    /// It tells the congestion control of sources something; what to say if none of them listens.
    pub tells_sources: Option<&'static str>,
    /// The signal that it gives, where that is another than its name: marks are ECN's, whoever sets them.
    pub signals_as: Option<&'static str>,
    /// It works with the longest round trip of the network ([`Site::round_trip`]).
    pub wants_round_trip: bool,
    /// It wants a congestion queue for each class at each port of a node that forwards.
    pub wants_congestion_queues: bool,
    /// Reorder queues that it wants for each class at each port of a switch with hosts.
    pub reorder_queues: u8,
    /// Queues that it wants at the interface of a host, if more than one; they are classes as far as the first switch.
    pub interface_queues: u8,
    /// Each node that relays a packet puts it into the next higher class.
    pub raises_classes: bool,
    /// Hosts that relay hold flows and pause nobody, where `host.relay.per_flow` holds.
    pub holds_at_relays: bool,
    /// Hosts that relay pass pauses on, whatever waits in them.
    pub passes_pauses_on: bool,
    /// It ends pauses that last this long, so that a circle of them is a deadlock only when it has not.
    pub ends_pauses: Option<Duration>,
    /// It cannot do without its own frames: whether it begins anew with a link that was down, and what to say if it does not, or if a
    /// single frame may be lost.
    pub if_frames_are_lost: Option<(bool, &'static str)>,
    /// Its frames may be as small as this, if they are smaller than those of others.
    pub smallest_frame: Option<u16>,
    /// Why hosts that relay may not send flows of their own, and the key that says so.
    pub refuses_relayed_sources: Option<(&'static str, &'static str)>,
}

/// Another mechanism of the scenario.
#[derive(Debug, Clone, Copy)]
pub struct Other {
    /// Its key.
    pub name: &'static str,
    /// What follows from its table.
    pub properties: Properties,
}

/// What a mechanism's table is judged with.
#[derive(Debug, Clone, Copy)]
pub struct ValidationContext<'a> {
    /// The other mechanisms.
    pub others: &'a [Other],
    /// Classes of the switches.
    pub classes: u8,
    /// Where packets wait in switches.
    pub queueing: Queueing,
    /// The memory of switches.
    pub memory: &'a buffer::Params,
    /// Packet sizes.
    pub framing: &'a Framing,
}

impl ValidationContext<'_> {
    /// The first other mechanism of which something holds.
    pub fn other(&self, holds: impl Fn(&Properties) -> bool) -> Option<&'static str> {
        self.others.iter().find(|o| holds(&o.properties)).map(|o| o.name)
    }
}

/// How a mechanism comes to a node.
pub trait Install: Sized {
    /// Its table in the scenario.
    type Params;
    /// What people call it.
    const LABEL: &'static str;
    /// What it counts.
    const COUNTS: &'static [Count] = &[];
    /// The mechanism of switches that the part needs to act, and the warning for scenarios without that mechanism.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// The mechanism for a node, if it has a part there.
    fn install(params: &Self::Params, site: &Site<'_>, core: &mut Core) -> Option<Self>;
    /// A port of a switch has a table of its own (`switch.overrides`). Levels are asked for by port anyway.
    fn install_at(&mut self, _port: PortId, _params: &Self::Params) {}
    /// What follows from its table.
    fn properties(_params: &Self::Params) -> Properties {
        Properties::default()
    }
    /// Says what of its table makes no sense.
    fn validate(_params: &Self::Params, _around: &ValidationContext<'_>) -> Result<(), ParamError> {
        Ok(())
    }
    /// Says what of its table makes no sense at a port of a node that forwards. `levels` are those of any mechanism there.
    fn check_port(_params: &Self::Params, _ingress: &Ingress<'_>, _levels: Option<&Levels>) -> Result<(), ParamError> {
        Ok(())
    }
    /// Its levels at an ingress port of a node that forwards.
    fn levels(_params: &Self::Params, _ingress: &Ingress<'_>) -> Option<Levels> {
        None
    }
    /// What looks wrong beside such levels of PFC or the like: the key, and why.
    fn warn(_params: &Self::Params, _levels: &Levels) -> Option<ParamError> {
        None
    }
    /// What looks wrong at a port of a node that forwards: the key, and why.
    fn warn_port(_params: &Self::Params, _ingress: &Ingress<'_>) -> Option<ParamError> {
        None
    }
    /// The data queues that it wants at a port in the place of those of classes.
    fn queues(_params: &Self::Params, _ground: &PortShape<'_>, _node: u32, _port: PortId) -> Option<Vec<QueueSpec>> {
        None
    }
    /// The most relays that a path may pass, the key that sets it, and why; flows start in classes of which `above` are higher.
    fn most_relays(_params: &Self::Params, _above: u32) -> Option<(&'static str, u32, &'static str)> {
        None
    }
    /// With queues of its own: the queue at a switch's output for packets that take output `next` at the node behind it, and `third`
    /// at the one after, if any; none where nobody waits for it.
    fn queue_toward(_wiring: &Wiring, _node: u32, _port: PortId, _next: PortId, _third: Option<PortId>) -> Option<QueueId> {
        None
    }
    /// With queues of its own: what a queue of an output waits for when it is paused.
    fn waits_for(_wiring: &Wiring, _queue: QueueAt) -> Vec<QueueAt> {
        Vec::new()
    }
}
