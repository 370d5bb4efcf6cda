//! Jobs: ranks at hosts, each with a program of operations that compute, send, receive, or take part in a
//! collective.
//!
//! The program of a rank runs at its host. The program sees arrivals of messages at the host, departures of
//! own messages, and its timers. The [`Graph`] is common to all ranks and constant. Messages are created when
//! due. Simplifications: a rank is a host; a receiver has room for unexpected messages; reducing takes no
//! time.

mod algorithm;
mod application;
mod builder;
pub mod collective;
mod connections;
mod dependencies;
pub mod experts;
pub mod graph;
mod handover;
mod images;
mod loops;
mod messages;
pub mod nccl;
mod operation;
mod pattern;
mod piece;
mod plan;
pub mod program;
mod progress;
mod rank;
pub mod repetition;
pub mod shape;
mod symmetry;

pub use self::builder::Builder;
pub use self::graph::{Graph, Lines, OnServers, Outside};
pub use self::handover::QueueKey;
pub use self::images::{JobImages, RanksByHost};
pub use self::messages::Messages;
pub use self::operation::{Operation, Shared, What, Work};
pub use self::piece::{Costs, Piece, Way};
pub use self::plan::Jobs;
pub use self::program::{By, Ended, NUMBER, Program, Programs};
pub use self::progress::{CollectiveProgress, RankProgress};
pub use self::rank::Rank;
pub use self::repetition::{LoopRegion, SeriesStride};
pub use self::shape::Shape;
