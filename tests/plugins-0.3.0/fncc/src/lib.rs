//! FNCC (Xu, Wang, Yang, Kang, Ma, Yuan, Tan, Sun: arXiv 2405.07608, 2024), a plug-in of xoff: switches write
//! the telemetry of a flow's outputs onto acknowledgements, so that the source hears of a queue before the
//! packet that met the queue is at its destination.
//!
//! Source: the abstract of the paper; HPCC's public ns-3 code for the law of the rate. The parameters of the
//! last hop (`alpha`, `beta`) are not in the abstract.

pub mod control;
pub mod mechanism;

use xoff_models::plugins::{Entry, Plugin};

/// The parts of the plug-in: the switch in `switch.plugins.fncc`, and the hosts in
/// `host.congestion_control.plugins.fncc`.
pub static PLUGIN: Plugin = Plugin {
    mechanisms: &[Entry::mechanism::<mechanism::Fncc>(
        "fncc",
        "FNCC, the switch: telemetry of the way there onto acknowledgements.",
    )],
    congestion_controls: &[Entry::congestion_control::<control::Fncc>(
        "fncc",
        "FNCC, the hosts: HPCC's law, and the fair share of the last hop.",
    )],
    ..Plugin::new("fncc", env!("CARGO_PKG_VERSION"))
};
