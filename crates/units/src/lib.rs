//! Quantities of the simulator: integer picoseconds, bytes and bits per second, with their text forms.
//!
//! In scenario files a quantity is a string with a unit (`"150ns"`, `"400KB"`, `"200Gbps"`); in memory, a
//! checked integer. `KB` is 1000 bytes, `KiB` is 1024 bytes.

mod index;
mod propagation;
mod quantity;
mod rate;

pub use index::{index, number, wide};
pub use propagation::Propagation;
pub use quantity::{Bytes, Duration, Moment, ParseQuantityError};
pub use rate::{Rate, Serializer};
