//! The models: packets, ports, queues and nodes, and one folder for each kind of component.
//!
//! The crate knows neither files nor Python. A node implements [`xoff_engine::Node`]; [`network::build`]
//! makes an engine of nodes from a topology, a plan of flows and the settings of switches and hosts.

pub mod application;
pub mod congestion_control;
pub mod core;
pub mod count;
pub mod cut_through;
pub mod delays;
pub mod effects;
pub mod endpoint;
pub mod failover;
pub mod fault;
pub mod fault_injection;
pub mod flow;
pub mod frames;
pub mod framing;
pub mod high_water;
pub mod ids;
pub mod line;
pub mod mechanism;
pub mod mechanisms;
pub mod message;
pub mod names;
pub mod network;
pub mod node;
pub mod nvlink;
pub mod overrides;
pub mod packet;
pub mod packet_metadata;
pub mod param_error;
pub mod pause_response;
pub mod plugin_parts;
pub mod plugins;
pub mod pulls;
pub mod python_names;
pub mod queueing;
pub mod receiving;
pub mod record;
pub mod relay;
pub mod retry;
pub mod routing;
pub mod sizing;
pub mod stack;
pub mod streams;
pub mod symmetry;
pub mod tag;
pub mod telemetry;
mod token;
pub mod topology;
pub mod transport;
pub mod workload;

pub use xoff_engine::{random, state};
