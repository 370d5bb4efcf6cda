//! The scenario document: its schema, how it is read and checked, and how it becomes results.
//!
//! The types here are the only source of the schema: the JSON Schema, the typed Python classes and the parameter reference are
//! generated from them.

mod audit;
mod check;
mod collect;
mod counts;
mod dependency;
mod document;
mod limits;
mod memory;
mod read;
mod rows;
mod run;
mod summary;
mod table;
mod value;

pub use check::check;
pub use counts::{Declared, groups};
pub use document::{Audits, HostSettings, Judgement, Probe, Scenario, Switch, Turns};
pub use read::{InputError, from_json, from_toml, request, schema};
pub use run::{Observer, Outcome, Progress, Runner, run};
pub use summary::Summary;
pub use table::{Cells, Column, Data, Input, Table, table_files};
