//! Errors of parameter tables.

/// A key of a table, with problem and remedy.
pub type ParamError = (&'static str, String);
