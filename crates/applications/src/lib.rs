//! What sends: workloads, jobs with their collectives, NCCL, training, and inference serving.
//!
//! A job or a serving workload is an application of [`xoff_models::traffic::application`]: it plans connections before the run, and runs at
//! hosts. A workload is a kind of traffic of [`xoff_models::traffic::workload`], with a table in the scenario. The network knows neither.

pub mod job;
pub mod language_model;
pub mod serving;
pub mod workload;
