//! What travels beside a frame that has no room for it in its 24 bytes, in a side record of the engine: what switches write beside a
//! packet, in-band network telemetry, which the ACK of the packet takes over; and what an answer says of other packets than its own.

use xoff_engine::Slab;
use xoff_engine::state;
use xoff_engine::state::{State, Walk, Word};
use xoff_units::{Rate, Time};

/// An output as a packet left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The node.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// When the packet started on the wire.
    pub at: Time,
    /// Wire bytes sent by the port before it.
    pub sent: u64,
    /// Bytes of data that it left behind.
    pub queued: u32,
    /// Line rate.
    pub rate: Rate,
}

impl State for Hop {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { node, port, at, sent, queued, rate: _ } = self;
        walk.value((*node, *port, *queued).word());
        walk.moment(at);
        walk.bytes(*node, *port, sent);
    }
}

/// What the outputs wrote that a packet has passed, in one of two forms, and what an answer says beside its own packet.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// How each of them was, in order.
    pub hops: Vec<Hop>,
    /// How much the one is used that is used most, and nothing else (PINT); zero where none wrote that.
    pub utilisation: f64,
    /// Of an answer to several packets: the one that brought it about, and others that came beyond the packet that is expected next,
    /// counted from that.
    pub came: i32,
    /// The others.
    pub also: Vec<i32>,
}

state!(Telemetry {
    part: hops;
    value: utilisation, came, also;
});

impl Telemetry {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.hops.clear();
        self.utilisation = 0.0;
        self.came = 0;
        self.also.clear();
    }
}

/// The records beside packets that are here.
pub type Records = Slab<Telemetry>;
