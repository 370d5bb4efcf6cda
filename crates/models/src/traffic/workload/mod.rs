//! What workloads give to the network: flows, connections, and the plans of applications.
//!
//! A workload is a [`Traffic`]: it lists or draws flows in a [`Making`], and may add to the plan of an application. [`number_flows`] then
//! gives all flows their numbers, and returns [`AllFlows`], from which the network is built. The kinds of traffic are in
//! `crates/applications`.

mod builder;
mod circles;
mod collective_summary;
mod connected;
mod flow_ids;
mod host;
mod listed;
mod row;
mod traffic;

pub use self::builder::{Common, Connections, MAX_FLOWS, MAX_LISTED, Made, Making, Problem, fits, waits_fit};
pub use self::collective_summary::{Over, Together};
pub use self::flow_ids::{AllFlows, MAX_START, number_flows};
pub use self::host::Host;
pub use self::row::Flow;
pub use self::traffic::{Traffic, Vtable};
