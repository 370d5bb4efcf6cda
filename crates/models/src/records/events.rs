//! Records of nodes for tables: drops, pauses, packets and samples.

use xoff_engine::state::{Counter, Offsets, Row, State, StateVisitor};
use xoff_units::{Duration, Moment};

use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};
use crate::ports::effects::Asker;
use crate::records::delays::Traced;

/// Records to write.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Each departure and arrival of a frame.
    pub packets: bool,
    /// Queue lengths at this interval; zero means none.
    pub queues: Duration,
    /// Flows with recorded delays.
    pub delays: Traced,
    /// Messages over NVLink.
    pub slices: bool,
}

/// A dropped packet.
#[derive(Debug, Clone, Copy)]
pub struct Drop {
    /// Time of the drop.
    pub at: Moment,
    /// Node that dropped the packet.
    pub node: u32,
    /// Output port.
    pub port: PortId,
    /// Ingress port.
    pub in_port: PortId,
    /// Class.
    pub class: u8,
    /// Flow.
    pub flow: u32,
    /// Destination.
    pub dst: u32,
    /// Packet.
    pub seq: u32,
    /// Wire bytes.
    pub bytes: u16,
    /// Mechanism that dropped the packet; `None` for lack of room.
    pub by: Option<&'static str>,
}

impl Row for Drop {
    fn shift(&mut self, by: Duration, on: &dyn Offsets) {
        self.at += by;
        self.seq += on.offset(Counter::Packets(self.flow)) as u32;
    }
}

/// A time during which a class of a port might not send.
#[derive(Debug, Clone, Copy)]
pub struct Pause {
    /// Paused node.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// Queue of the port; the first queue of a class for a pause of the whole class.
    pub queue: QueueId,
    /// Class.
    pub class: u8,
    /// Name of the cause.
    pub cause: &'static str,
    /// Requester of the pause.
    pub asker: Asker,
    /// From.
    pub start: Moment,
    /// End of the pause; `None` for an active pause.
    pub end: Option<Moment>,
}

impl Row for Pause {
    fn shift(&mut self, by: Duration, _: &dyn Offsets) {
        self.start += by;
        self.end = self.end.map(|end| end + by);
    }
}

/// A frame at its departure or arrival.
#[derive(Debug, Clone, Copy)]
pub struct Trace {
    /// Start of transmission, or the moment at which the frame was handled.
    pub at: Moment,
    /// Node.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// The frame departed.
    pub is_departure: bool,
    /// The frame at that moment.
    pub frame: Packet,
}

impl Row for Trace {
    fn shift(&mut self, by: Duration, on: &dyn Offsets) {
        let mut walk = StateVisitor::shift(self.at, by, on);
        walk.at_node(self.node);
        walk.at_link(self.port.0, self.is_departure);
        self.frame.walk(&mut walk);
        self.at += by;
    }
}

/// A queue's length at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Time of the sample, before the events of the same moment.
    pub at: Moment,
    /// Node.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// Queue.
    pub queue: QueueId,
    /// Bytes.
    pub bytes: u32,
}

impl Row for Sample {
    fn shift(&mut self, by: Duration, _: &dyn Offsets) {
        self.at += by;
    }
}

/// Records of one node, not yet taken.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Packets without room.
    pub drops: Vec<Drop>,
    /// Ended pauses.
    pub pauses: Vec<Pause>,
    /// Frames.
    pub packets: Vec<Trace>,
    /// Queue lengths; an empty queue has no sample.
    pub samples: Vec<Sample>,
}

impl State for Records {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { drops, pauses, packets, samples } = self;
        walk.rows(drops);
        walk.rows(pauses);
        walk.rows(samples);
        walk.rows(packets);
    }
}
