//! What travels: packets with their kinds, sizes and tags; the flows and messages that they belong to; timers of a node.

pub mod flow;
pub mod framing;
pub mod kinds;
pub mod message;
pub mod packet;
pub mod packet_metadata;
pub mod tag;
pub mod telemetry;
pub(crate) mod token;

// The names that plug-ins use.
pub use self::kinds::{Blocks, Field, Frame, Index, Kind, Owner, Payload, Scope};
