//! Scenarios: checks that need the network, runs, and results.

mod audit;
mod check;
mod dependency;
mod derived_defaults;
mod epochs;
mod fast_forward;
mod faults;
mod folding;
mod hosts;
mod ideal;
mod limits;
mod load;
mod memory;
mod observer;
mod results;
mod run;
mod runner;
mod simulation;
mod single_failures;
mod summary;
mod traffic;
mod verdicts;
mod warnings;

pub use check::check;
pub use derived_defaults::settle;
pub use hosts::{Hosts, hosts};
pub use observer::{Observer, Progress};
pub use results::{Declared, groups, listeners, measures, tables};
pub use run::run;
pub use runner::Runner;
pub use simulation::Outcome;
pub use summary::Summary;
pub use warnings::Warning;
pub use xoff_document::{
    Audits, Cells, HostSettings, Input, InputError, InputErrors, Judgement, Probe, Scenario, Switch,
    from_json, from_toml, request, schema, table_files,
};
pub use xoff_models::records::table::{Column, Data, Table};
