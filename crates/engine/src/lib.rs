//! A conservative, windowed discrete-event engine with the same result for any number of threads. The engine
//! knows nodes, links and time, and no packets. A model implements [`Node`]. Nodes exchange messages on links
//! alone, and every link has a *lookahead*: the least time between sending a message and its arrival. All
//! nodes run through windows no longer than the smallest lookahead, and a message sent in a window arrives in
//! a later window.
//!
//! Invariants, each asserted or tested:
//! - events of a node have a total order (time; arrival < timer < output; source index; sequence of the
//!   source);
//! - a message arrives no earlier than the end of the window of its sending;
//! - results do not depend on window length, clusters, partition or threads ([`Plan`] varies all of them).

mod arrivals;
mod barrier;
mod channel;
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

/// Meaning of a timer for observers of the state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Follows from past events.
    Future,
    /// Reminds the node of a moment that the node keeps. The node sets the timer again after an early expiry;
    /// see [`state::StateVisitor::reminder`].
    Reminder,
    /// An operation of a program has computed; the lowest 32 bits of the token are its index
    /// ([`state::Counter::Operations`]).
    Operation,
    /// Comes from outside; see [`state::StateVisitor::outside`].
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

    /// Returns the meaning of timers with this token.
    fn timer(_token: u64) -> Timer {
        Timer::Future
    }

    /// Reads the data of the next events, and returns a value that depends on all of it. The engine calls
    /// `touch` for several nodes that are about to run, which lets their cache misses overlap.
    fn touch(&self) -> u64 {
        0
    }
}

/// A message on a link: small and plain.
pub trait Message: Copy + Send {
    /// Side record of a message without room for the data; `()` without side records.
    type Side: Send + Default;

    /// Returns the numbers that distinguish this message, for the fingerprint: a word to which numbers of
    /// flows and packets are added, and a word of all other fields. Must not depend on [`Self::side`].
    fn digest(&self) -> [u64; 2];

    /// Returns the slot of the side record, if any.
    #[inline]
    fn side(&self) -> Option<u32> {
        None
    }

    /// Returns the message with its side record in another slot.
    #[must_use]
    fn at_side(self, _slot: u32) -> Self {
        self
    }
}

/// The last possible moment of an event: keys hold 48 bits of picoseconds.
pub const END_OF_TIME: Moment = Moment((1 << 48) - 1);
