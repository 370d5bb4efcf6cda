//! Homa (Montazeri, Li, Alizadeh, Ousterhout: SIGCOMM 2018), a plug-in of xoff: receivers grant packets to the
//! messages with the fewest bytes left, and choose the priorities of packets in the network.
//!
//! Source: the authors' OMNeT++ simulation (`PlatformLab/HomaSimulation`).

pub mod control;
pub mod law;
pub mod receiver;

use xoff_models::frames::Index;
use xoff_models::plugins::{Entry, Plugin};

/// The part of the plug-in: both halves in `host.congestion_control.plugins.homa`.
pub static PLUGIN: Plugin = Plugin {
    congestion_controls: &[Entry::congestion_control::<law::Homa>("homa", "Homa: grants and priorities.")],
    frames: &[&GRANT],
    ..Plugin::new("homa", env!("CARGO_PKG_VERSION"))
};

xoff_models::plugin_frames! {
    /// A grant of the receiver to the source of a message.
    GRANT: Grant = "homa.grant" Flow Control {
        /// The packet after the last granted packet.
        end: Index = 0,
        /// The class of granted packets.
        class: u8 = 32,
    }
}
