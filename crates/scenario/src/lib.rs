//! The scenario document: schema, reading, checks, and the run.
//!
//! The types here are the only source of the schema. JSON Schema, typed Python classes and the parameter
//! reference are generated from these types.

mod audit;
mod check;
mod collect;
mod counts;
mod delays;
mod dependency;
mod derived_defaults;
mod deserialize;
mod diagnostics;
mod document;
mod epochs;
mod error;
mod fast_forward;
mod faults;
mod flow_statistics;
mod folding;
mod hosts;
mod ideal;
mod limits;
mod load;
mod measures;
mod memory;
mod observer;
mod read;
mod renames;
mod run;
mod runner;
mod serving;
mod single_failures;
mod summary;
mod table;
mod tables;
mod validate;
mod verdicts;
mod warnings;

pub use check::check;
pub use counts::{Declared, groups, listeners};
pub use derived_defaults::settle;
pub use document::{Audits, HostSettings, Judgement, Probe, Scenario, Switch, Turns};
pub use error::{InputError, InputErrors};
pub use hosts::{Hosts, hosts};
pub use measures::keys as measures;
pub use observer::{Observer, Progress};
pub use read::{from_json, from_toml, request, schema};
pub use renames::{Renames, renames};
pub use run::{Outcome, run};
pub use runner::Runner;
pub use summary::Summary;
pub use table::{Cells, Column, Data, Input, Table, table_files};
pub use tables::tables;
pub use warnings::Warning;
