//! The scenario document: its types and schema, reading and checking, and the tables that belong to it.
//!
//! The types here are the only source of the schema. JSON Schema, typed Python classes and the parameter
//! reference are generated from these types. All of this is cold, so the crate is compiled with little
//! optimisation.

mod deserialize;
mod diagnostics;
mod document;
mod error;
mod read;
mod tables;
mod validate;

pub use document::{Audits, Draws, HostSettings, Judgement, Probe, Scenario, Switch, Ties};
pub use error::{InputError, InputErrors};
pub use read::{from_json, from_toml, request, schema};
pub use tables::{Cells, Input, fill, fill_network, table_files};
pub use validate::stacks;
