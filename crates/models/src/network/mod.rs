//! The network: nodes with all their parts, built from a topology, a plan of flows and settings.

mod build;
mod lines;
pub mod node;
pub mod plugins;
mod settings;

pub use self::build::{build, groups, run};
pub use self::lines::Lines;
pub use self::settings::Settings;
