//! What is to be sent, as the network sees it: flows of workloads, and the contract of applications.

pub mod application;
pub mod workload;
