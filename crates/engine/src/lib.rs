//! A conservative, windowed discrete-event engine with the same result for any number of threads. The engine
//! knows nodes, links and time, and no packets. A model implements [`Node`].
//!
//! Nodes exchange messages on links alone. The *lookahead* of a link is the least time between sending a
//! message and its arrival.
//!
//! - **Window**: a stretch of simulated time that begins at the earliest pending event of all nodes, and is
//!   at most as long as the smallest lookahead. A message sent in a window arrives after the end of the
//!   window, so nodes run through a window independently. Example: with a smallest lookahead of 600 ns and
//!   the earliest event at 5,000 ns, the window ends at 5,600 ns. No message sent from 5,000 ns on arrives
//!   before 5,600 ns.
//! - **Cluster**: a set of nodes joined by links much shorter than all other links ([`Plan::clusters`]).
//!   Links inside a cluster do not limit the window. Inside each window, the nodes of a cluster run through
//!   shorter *inner windows*, limited by the links of the cluster. Example: links of 500 ns inside racks and
//!   of 20,000 ns between racks. The window is 20,000 ns long. Each rack runs up to 40 inner windows of 500
//!   ns, without other racks.
//! - **Partition**: whole clusters that one thread runs. Threads meet once per window, never at inner
//!   windows.
//! - **Checkpoint**: a moment between two windows at which one thread may read and change all nodes
//!   ([`Checkpoint`]).
//!
//! Invariants, each asserted or tested:
//!
//! - events of a node have a total order (time; arrival < timer < output; source index; sequence of the
//!   source);
//! - a message arrives no earlier than the end of the window of its sending: the inner window inside a
//!   cluster, the window between clusters;
//! - results do not depend on window length, clusters, partition or threads ([`Plan`] varies all of them).

mod arrivals;
mod barrier;
mod channel;
pub mod clock;
mod context;
mod engine;
mod event_set;
mod fingerprint;
mod network;
mod offsets;
mod partition;
pub mod random;
mod sets;
mod slab;
mod speedup;
pub mod state;
mod word;
mod workers;

pub use context::Context;
pub use engine::{Checkpoint, Engine, Finish, Plan, Statistics};
pub use event_set::MAX_PORTS;
pub use fingerprint::Fingerprint;
pub use network::{LinkSpec, PlanError};
pub use partition::Kept;
pub use sets::Sets;
pub use slab::Slab;

use xoff_units::Moment;

/// Kind of a timer: decides how a [`state::StateVisitor`] treats the timer. Fast-forward uses such a visitor
/// to compare two states of a node, and to move a node ahead in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Follows from earlier events of the simulation, and recurs with the state. Comparisons include the time
    /// left and the token. Example: the next packet of a paced flow.
    Future,
    /// Repeats a deadline that the node holds in a field. Comparisons include the field, and ignore the time
    /// of the timer. If the timer expires before the deadline, the node sets the timer again. Example: a
    /// retransmission deadline moves from 50 us to 60 us, and the timer set for 50 us stays. At 50 us the
    /// node does nothing but set a timer for 60 us ([`state::StateVisitor::reminder`]).
    Reminder,
    /// Ends a computation. The lowest 32 bits of the token may count computations ([`state::Counter::Timer`]).
    /// Treated as [`Timer::Outside`] in periods that are shorter than a computation
    /// ([`state::PeriodKind::Within`]).
    Computation,
    /// Set by the input of the run, such as the start of a flow, or a fault. Comparisons ignore the timer,
    /// and fast-forward ends before the timer expires ([`state::StateVisitor::outside`]).
    Outside,
}

/// A node of a model: owns its state, and exchanges messages on links alone.
pub trait Node: Send {
    /// Messages on links.
    type Message: Message;

    /// A message arrived on in-link `link` of this node.
    fn on_arrival(&mut self, link: usize, message: Self::Message, cx: &mut Context<'_, Self::Message>);

    /// A timer set with [`Context::set_timer`] expired.
    fn on_timer(&mut self, token: u64, cx: &mut Context<'_, Self::Message>);

    /// Output `output` reached the moment set with [`Context::wake_output`]: all arrivals and timers of this
    /// moment are done.
    fn on_output(&mut self, output: usize, cx: &mut Context<'_, Self::Message>);

    /// Called once at time zero, in node order, before any event.
    fn on_start(&mut self, cx: &mut Context<'_, Self::Message>);

    /// True if [`Message::turn`] orders messages with equal keys at this node, whatever partition sent the
    /// messages.
    fn has_turns(&self) -> bool {
        false
    }

    /// Returns the meaning of timers with this token.
    fn timer(_token: u64) -> Timer {
        Timer::Future
    }

    /// Reads the memory that the next events need, and returns a value that depends on all of the data read.
    /// The engine calls `touch` for several nodes that are about to run: their cache misses then overlap.
    fn touch(&self) -> u64 {
        0
    }
}

/// A message on a link: small and plain.
pub trait Message: Copy + Send {
    /// Type of the side record: data of a message beyond its fixed size, such as telemetry. `()` without side
    /// records.
    type Side: Send + Default;

    /// Returns two words that identify the message in the fingerprint. The first word contains the numbers of
    /// flow and packet, each as a summand. The second word contains all other fields. Neither depends on
    /// [`Self::side`].
    fn digest(&self) -> [u64; 2];

    /// Returns the slot of the side record, if any.
    #[inline]
    fn side(&self) -> Option<u32> {
        None
    }

    /// Returns the turn of the message among messages of the same moment and in-link ([`Node::has_turns`]).
    #[inline]
    fn turn(&self) -> u64 {
        0
    }

    /// Returns the message with its side record in another slot.
    #[must_use]
    fn at_side(self, _slot: u32) -> Self {
        self
    }
}

/// The last possible moment of an event: keys hold 48 bits of picoseconds.
pub const END_OF_TIME: Moment = Moment((1 << 48) - 1);
