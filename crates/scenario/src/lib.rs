//! The scenario document: schema, reading, checks, and the run.
//!
//! The types here are the only source of the schema. JSON Schema, typed Python classes and the parameter
//! reference are generated from these types.

mod audit;
mod check;
mod dependency;
mod derived_defaults;
mod deserialize;
mod diagnostics;
mod document;
mod epochs;
mod error;
mod fast_forward;
mod faults;
mod folding;
mod hosts;
mod ideal;
mod limits;
mod load;
mod memory;
mod observer;
mod read;
mod renames;
mod results;
mod run;
mod runner;
mod simulation;
mod single_failures;
mod summary;
mod table;
mod traffic;
mod validate;
mod verdicts;
mod warnings;

pub use check::check;
pub use derived_defaults::settle;
pub use document::{Audits, HostSettings, Judgement, Probe, Scenario, Switch, Turns};
pub use error::{InputError, InputErrors};
pub use hosts::{Hosts, hosts};
pub use observer::{Observer, Progress};
pub use read::{from_json, from_toml, request, schema};
pub use renames::{Renames, renames};
pub use results::{Declared, groups, listeners, measures, tables};
pub use run::run;
pub use runner::Runner;
pub use simulation::Outcome;
pub use summary::Summary;
pub use table::{Cells, Column, Data, Input, Table, table_files};
pub use warnings::Warning;
