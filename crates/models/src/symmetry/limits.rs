//! The limits of a fixed switch in a folded run: a bound on what the switch holds in a run of all nodes.
//!
//! In a folded run a fixed switch holds the packets of one destination server in the place of n. A shared buffer is
//! shared by the packets of all n. Between two moments the buffer of the run of all nodes holds n times as much. Within a
//! moment the run of all nodes admits packets one by one, and the order of servers would decide which packet meets a
//! full pool. The bound therefore takes all arrivals of a moment before any departure: the pool that a packet meets is
//! never fuller than the bound says. While the bound stays below all thresholds, no packet meets a threshold in either
//! run. Once the bound reaches a threshold, the run cannot be folded.

use crate::core::Core;
use crate::queueing::buffer::Buffer;

/// The bound of a fixed switch.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Number of servers for which one stands.
    copies: u32,
    /// The bound has reached a threshold, or the switch has paused a neighbour.
    is_reached: bool,
}

impl Limits {
    /// Returns the bound of an empty switch.
    pub const fn new(copies: u32) -> Self {
        Self { copies, is_reached: false }
    }

    /// Compares the content after an arrival with the thresholds.
    pub fn check(&mut self, core: &Core) {
        if let Buffer::Shared(buffer) = &core.buffer {
            self.is_reached |= buffer.is_near(self.copies);
        }
    }

    /// The switch pauses a neighbour.
    pub const fn reach(&mut self) {
        self.is_reached = true;
    }

    /// True if the bound has reached a threshold, or the switch has paused a neighbour.
    pub const fn is_reached(&self) -> bool {
        self.is_reached
    }
}
