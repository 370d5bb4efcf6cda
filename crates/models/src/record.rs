//! What nodes write down for tables: drops, pauses, packets and samples.

use crate::ids::{PortId, QueueId};
use xoff_engine::state::{Origin, Row, State, Walk};
use xoff_units::{Duration, Moment};

use crate::delays::Traced;
use crate::effects::Asker;
use crate::packet::Packet;

/// What to write down.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Each frame that leaves or arrives.
    pub packets: bool,
    /// Queue lengths at this interval; zero means none.
    pub queues: Duration,
    /// Whose delays.
    pub delays: Traced,
}

/// A packet that found no room.
#[derive(Debug, Clone, Copy)]
pub struct Drop {
    /// When.
    pub at: Moment,
    /// Where.
    pub node: u32,
    /// Output port.
    pub port: PortId,
    /// The port it came by.
    pub in_port: PortId,
    /// Class.
    pub class: u8,
    /// Flow.
    pub flow: u32,
    /// Packet.
    pub seq: u32,
    /// Wire bytes.
    pub bytes: u16,
    /// The mechanism that dropped it; none where there was no room.
    pub by: Option<&'static str>,
}

impl Row for Drop {
    fn shift(&mut self, by: Duration, on: &dyn Origin) {
        self.at += by;
        self.seq += on.packets(self.flow);
    }
}

/// A time during which a class of a port might not send.
#[derive(Debug, Clone, Copy)]
pub struct Pause {
    /// Where.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// Queue of the port; the first of its class when all of that are held.
    pub queue: QueueId,
    /// Class.
    pub class: u8,
    /// Name of the cause.
    pub cause: &'static str,
    /// Who asked for it.
    pub asker: Asker,
    /// From.
    pub start: Moment,
    /// To; none while it lasts.
    pub end: Option<Moment>,
}

impl Row for Pause {
    fn shift(&mut self, by: Duration, _: &dyn Origin) {
        self.start += by;
        self.end = self.end.map(|end| end + by);
    }
}

/// A frame that left or arrived.
#[derive(Debug, Clone, Copy)]
pub struct Trace {
    /// When: start of transmission, or when the frame was handled.
    pub at: Moment,
    /// Where.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// It left.
    pub is_departure: bool,
    /// As it was then.
    pub frame: Packet,
}

impl Row for Trace {
    fn shift(&mut self, by: Duration, on: &dyn Origin) {
        let mut walk = Walk::shift(self.at, by, on);
        walk.at_node(self.node);
        walk.at_link(self.port.0, self.is_departure);
        self.frame.walk(&mut walk);
        self.at += by;
    }
}

/// A queue's length at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// When, before anything that happens then.
    pub at: Moment,
    /// Where.
    pub node: u32,
    /// Port.
    pub port: PortId,
    /// Queue.
    pub queue: QueueId,
    /// Bytes.
    pub bytes: u32,
}

impl Row for Sample {
    fn shift(&mut self, by: Duration, _: &dyn Origin) {
        self.at += by;
    }
}

/// Everything one node wrote down and nobody has taken yet.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Packets without room.
    pub drops: Vec<Drop>,
    /// Ended pauses.
    pub pauses: Vec<Pause>,
    /// Frames.
    pub packets: Vec<Trace>,
    /// Queue lengths; queues that stay empty write nothing.
    pub samples: Vec<Sample>,
}

impl State for Records {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { drops, pauses, packets, samples } = self;
        walk.rows(drops);
        walk.rows(pauses);
        walk.rows(samples);
        walk.rows(packets);
    }
}
