//! A conservative, windowed discrete-event engine: same result on any number of threads.
//!
//! The engine knows nodes, links and time; it knows nothing of packets. A model implements [`Node`]; nodes meet only through
//! messages on links, and every link has a *lookahead*: the least time between sending a message and its arrival. The engine
//! runs all nodes through windows no longer than the smallest lookahead, so that what is sent in a window arrives in a later one.
//!
//! Invariants, each asserted or tested:
//! - events at a node happen in the total order (time; arrival < timer < output; source index; per-source sequence);
//! - a message arrives no earlier than the end of the window that it was sent in;
//! - results do not depend on window length, clusters, partition or threads ([`Plan`] varies all of them).

mod arrivals;
mod barrier;
mod channel;
mod context;
mod engine;
mod event_set;
mod fingerprint;
mod network;
mod origin;
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

/// What a timer is to those who look at the state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// What follows from what has happened.
    Future,
    /// It only reminds the node of a moment that it keeps itself, to which it sets the timer again when it expires early: see
    /// [`state::Walk::reminder`].
    Reminder,
    /// An operation of a program has computed: the lowest 32 bits of its token are its place there ([`state::Origin::operations`]).
    Operation,
    /// What comes from outside: see [`state::Walk::outside`].
    Outside,
}

/// A model's node: owns its state, meets others only through links.
pub trait Node: Send {
    /// What travels on links.
    type Message: Message;

    /// A message arrived on in-link `link` of this node.
    fn on_arrival(&mut self, link: usize, message: Self::Message, cx: &mut Context<'_, Self::Message>);

    /// A timer set with [`Context::set_timer`] expired.
    fn on_timer(&mut self, token: u64, cx: &mut Context<'_, Self::Message>);

    /// Output `output` reached the moment set with [`Context::wake_output`]: all arrivals and timers of this moment are done.
    fn on_output(&mut self, output: usize, cx: &mut Context<'_, Self::Message>);

    /// Called once at time zero, in node order, before any event.
    fn on_start(&mut self, cx: &mut Context<'_, Self::Message>);

    /// What timers with this token are.
    fn timer(_token: u64) -> Timer {
        Timer::Future
    }

    /// Reads what its next events need, and returns anything that depends on all of it. The engine calls it for some nodes that
    /// are about to run: what is in no cache then comes at once for all of them, and not piece by piece for one after the other.
    fn touch(&self) -> u64 {
        0
    }
}

/// What travels on links: small and plain.
pub trait Message: Copy + Send {
    /// What travels beside a message that has no room for it; `()` if nothing does.
    type Side: Send + Default;

    /// What tells this message from others, for the fingerprint: numbers of what it belongs to, as a word in which they are added,
    /// and all else. It must not depend on [`Self::side`].
    fn digest(&self) -> [u64; 2];

    /// The slot of what travels beside it, if anything does.
    #[inline]
    fn side(&self) -> Option<u32> {
        None
    }

    /// The same message when what travels beside it lies in another slot.
    #[must_use]
    fn at_side(self, _slot: u32) -> Self {
        self
    }
}

/// The last moment that an event can have: keys hold 48 bits of picoseconds.
pub const END_OF_TIME: Moment = Moment((1 << 48) - 1);
