//! Kept, a plug-in of xoff.
//!
//! Source: (paper or public code).

mod congestion_control;
mod mechanism;
mod transport;
mod workload;

use xoff_models::plugins::{Entry, Plugin};

/// The parts of the plug-in. Each is a table `plugins.kept` in a scenario.
pub static PLUGIN: Plugin = Plugin {
    mechanisms: &[Entry::mechanism::<mechanism::Kept>("kept", "Kept.")],
    congestion_controls: &[Entry::congestion_control::<congestion_control::Kept>("kept", "Kept.")],
    transports: &[Entry::transport::<transport::Kept>("kept", "Kept.")],
    workloads: &[Entry::workload::<workload::Params>("kept", "Kept.")],
    ..Plugin::new("kept", env!("CARGO_PKG_VERSION"))
};
