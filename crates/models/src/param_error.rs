//! What is wrong with a table of parameters.

/// A key of a table, and what is wrong with it and what would be right.
pub type ParamError = (&'static str, String);
