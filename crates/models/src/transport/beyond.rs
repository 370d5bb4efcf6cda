//! Which packets of a flow are known beyond the first that is missing: a bit map that both ends of a selective transport keep.

use std::collections::VecDeque;
use xoff_engine::state;
use xoff_units::{index, number};

/// Packets from a first one on, and which of them are here.
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

    /// One past the highest packet that is here.
    pub fn end(&self) -> u32 {
        self.base + number(self.is_here.len())
    }

    /// Whether a packet is here.
    pub fn has(&self, seq: u32) -> bool {
        seq >= self.base && self.is_here.get(index(seq - self.base)) == Some(&true)
    }

    /// Enters a packet; true when it was not here.
    pub fn enter(&mut self, seq: u32) -> bool {
        let at = index(seq - self.base);
        if self.is_here.len() <= at {
            self.is_here.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.is_here[at], true)
    }

    /// With the packet that a receiver expected: the next that is missing, before which all is forgotten.
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

    /// Forgets what is before a packet.
    pub fn advance(&mut self, to: u32) {
        let gone = (index(to - self.base)).min(self.is_here.len());
        self.is_here.drain(..gone);
        self.base = to;
    }
}
