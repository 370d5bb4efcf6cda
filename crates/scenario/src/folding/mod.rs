//! Folding by symmetry: one server stands for many.
//!
//! With `ties = "relative"` the run looks for renamings of hosts under which nothing changes
//! ([`xoff_models::paths::symmetry`]). A folded run simulates the representatives and the fixed switches alone, and results
//! are those of the run of all nodes ([`crate::results::unfold::Unfold`]). The same group orders ties in the run of all nodes. Both runs
//! therefore have equal results, byte for byte. Chance is an obstacle, unless equal servers share their draws with
//! `draws = "shared"` ([`chance`]). Source: `docs/folding.md`.

mod chance;
mod network;
mod routes;
mod run;
mod search;
#[cfg(test)]
mod tests;
mod traffic;

pub use self::run::{Folded, report, run};
