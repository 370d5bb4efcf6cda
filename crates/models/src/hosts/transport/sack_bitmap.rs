//! A bitmap of the packets of a flow that arrived beyond the first missing packet. Both ends of a selective
//! transport keep one.

use std::collections::VecDeque;

use xoff_engine::state;
use xoff_units::{index, number};

/// The packets from a base on, with a bit for each packet that has arrived.
#[derive(Debug, Clone, Default)]
pub struct Beyond {
    /// The packet of the first entry.
    base: u32,
    is_here: VecDeque<bool>,
}

state!(Beyond {
    packet: base;
    value: is_here;
});

impl Beyond {
    /// None from this packet on.
    pub fn from(base: u32) -> Self {
        Self { base, ..Self::default() }
    }

    /// One past the highest packet that has arrived.
    pub fn end(&self) -> u32 {
        self.base + number(self.is_here.len())
    }

    /// True when the packet has arrived.
    pub fn has(&self, seq: u32) -> bool {
        seq >= self.base && self.is_here.get(index(seq - self.base)) == Some(&true)
    }

    /// Enters a packet. True when the packet is new.
    pub fn enter(&mut self, seq: u32) -> bool {
        let at = index(seq - self.base);
        if self.is_here.len() <= at {
            self.is_here.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.is_here[at], true)
    }

    /// Returns the next missing packet after the arrival of `expected`, and forgets all packets before.
    pub fn next(kept: &mut Option<Box<Self>>, expected: u32) -> u32 {
        let mut next = expected + 1;
        if let Some(beyond) = kept {
            while beyond.has(next) {
                next += 1;
            }
            beyond.advance(next);
        }
        next
    }

    /// Forgets all packets before `to`.
    pub fn advance(&mut self, to: u32) {
        let gone = (index(to - self.base)).min(self.is_here.len());
        self.is_here.drain(..gone);
        self.base = to;
    }
}
