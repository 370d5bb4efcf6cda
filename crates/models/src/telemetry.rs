//! What switches write beside a packet: in-band network telemetry. It has no room in the 24 bytes of a packet, and travels in a side
//! record of the engine, which the ACK of the packet takes over.

use xoff_engine::Slab;
use xoff_engine::state;
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

state!(Hop {
    value: node, port, sent, queued;
    moment: at;
    still: rate;
});

/// What the outputs wrote that a packet has passed, in one of two forms.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// How each of them was, in order.
    pub hops: Vec<Hop>,
    /// How much the one is used that is used most, and nothing else (PINT); zero where none wrote that.
    pub utilisation: f64,
}

state!(Telemetry {
    part: hops;
    value: utilisation;
});

impl Telemetry {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.hops.clear();
        self.utilisation = 0.0;
    }
}

/// The records beside packets that are here.
pub type Records = Slab<Telemetry>;
