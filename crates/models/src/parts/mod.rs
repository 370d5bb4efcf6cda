//! What parts of all kinds share: identities, names, errors of parameters, counts, random streams, and entries of plug-ins.
//!
//! A *part* is a mechanism, a transport, a congestion control or a kind of traffic.

pub mod count;
pub mod ids;
pub mod names;
pub mod param_error;
pub mod plugin_parts;
pub mod python_names;
pub mod streams;
