//! The network: packets, ports, hosts and nodes, with one folder for each kind of component.
//!
//! The crate knows neither files nor Python, nor what sends. A node implements [`xoff_engine::Node`]; [`network::build`] makes an
//! engine of nodes from a topology, a plan of flows and the settings of switches and hosts. The rooms stand on one another in
//! this order:
//!
//! parts → frames → paths → ports → faults, mechanisms, records, traffic → hosts → network

pub mod faults;
pub mod frames;
pub mod hosts;
pub mod mechanisms;
pub mod network;
pub mod parts;
pub mod paths;
pub mod ports;
pub mod records;
pub mod traffic;

// The names that plug-ins use.
pub use self::frames::{framing, packet, packet_metadata, tag, telemetry};
pub use self::hosts::{congestion_control, transport};
pub use self::mechanisms::contract as mechanism;
pub use self::network::{node, plugins};
pub use self::parts::{count, ids, param_error};
pub use self::paths::routing;
pub use self::ports::{core, effects};
pub use self::traffic::workload;
pub use xoff_engine::{random, state};
