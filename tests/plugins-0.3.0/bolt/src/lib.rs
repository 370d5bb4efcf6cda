//! Bolt (Arslan, Li, Kumar, Dukkipati: NSDI 2023), a plug-in of xoff: switches tell sources of queues and of
//! spare capacity within less than a round trip.
//!
//! Source: the authors' ns-3 code (`serhatarslan-hub/bolt_cc_ns3`): `pfifo-bolt-queue-disc.cc` for switches,
//! `bolt-l4-protocol.cc` for hosts.

pub mod control;
pub mod mechanism;

use xoff_models::frames::Index;
use xoff_models::plugins::{Entry, Plugin};

/// The parts of the plug-in: the switch in `switch.plugins.bolt`, and the source in
/// `host.congestion_control.plugins.bolt`.
pub static PLUGIN: Plugin = Plugin {
    mechanisms: &[Entry::mechanism::<mechanism::Bolt>("bolt", "Bolt, the switch: signals and tokens.")],
    congestion_controls: &[Entry::congestion_control::<control::Bolt>(
        "bolt",
        "Bolt, the source: the window.",
    )],
    frames: &[&SIGNAL],
    ..Plugin::new("bolt", env!("CARGO_PKG_VERSION"))
};

xoff_models::plugin_frames! {
    /// The sub-RTT signal (SRC) of a switch to the source of a packet that met a queue.
    SIGNAL: Signal = "bolt.src" Path Control {
        /// The packet.
        packet: Index = 0,
        /// Nanoseconds that the output takes for the queue.
        drain: u32 = 32,
    }
}

/// The bits in the tag of a packet. The acknowledgement returns the bits.
pub mod bits {
    /// Bits in all.
    pub const COUNT: u8 = 5;
    /// The flow sends the first window: no answer has come.
    pub const FIRST: u32 = 1;
    /// The flow sends the last window: the payload that is left fits into the window.
    pub const LAST: u32 = 2;
    /// Every output that the packet has passed has capacity for a further packet in each round trip.
    pub const INCREASE: u32 = 4;
    /// A switch on the path has sent a signal for the packet.
    pub const DECREASE: u32 = 8;
    /// The flow may add a packet to the window in this round trip.
    pub const ADDITIVE: u32 = 16;
}
