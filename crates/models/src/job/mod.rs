//! Jobs: ranks at hosts, each with a program of operations that compute, send, receive, or take part in a collective.
//!
//! A rank's program runs at its host alone: it hears of the messages that arrive there and of those that have left, and of its own
//! timers. What is common to all ranks, the [`Graph`], never changes. Messages are made when they are due.
//! Simplifications: a rank is a host; a receiver has room for whatever comes before it asks for it; reducing takes no time.

pub mod collective;
pub mod graph;
pub mod program;
mod progress;
pub mod repetition;
pub mod shape;

pub use self::graph::{Builder, Graph, Lines, Operation, Rank, Shared, What, Work};
pub use self::program::{Ended, Program, Programs};
pub use self::progress::{Cycle, Round, Way};
pub use self::repetition::{LoopRegion, SeriesStride};
pub use self::shape::{Piece, Shape};
