//! Flows: the specification of a flow, its start, and the data that waits at its source.
//!
//! Listed flows wait in a list. Drawn flows are drawn one at a time from a stream of their source, when their
//! time comes. A connection is a flow that carries messages.

mod connection;
mod drawn;
mod few;
mod source_queue;
mod spec;
mod start;

pub use self::connection::{Connection, Incoming, MessageLog, Planned};
pub use self::drawn::{Drawn, Offer};
pub use self::few::Few;
pub use self::source_queue::SourceQueue;
pub use self::spec::FlowSpec;
pub use self::start::Start;
