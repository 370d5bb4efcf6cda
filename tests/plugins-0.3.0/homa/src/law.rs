//! Homa's constants, and the rules that both halves share: unscheduled packets, classes, and the payload that is left.

use xoff_models::framing::Framing;
use xoff_units::Rate;

/// Classes of the network, of which class 7 goes first.
pub const CLASSES: u8 = 8;

/// Homa's constants on a line, for both halves.
#[derive(Debug, Clone)]
pub struct Homa {
    pub(crate) rate: Rate,
    pub(crate) framing: Framing,
    /// Wire bytes of a message under way.
    pub(crate) under_way: u64,
    pub(crate) overcommitment: u8,
    pub(crate) cutoffs: Vec<u64>,
}

impl Homa {
    /// Returns the number of unscheduled packets of a message.
    pub(crate) fn unscheduled(&self, size: u64) -> u32 {
        let packets = self.framing.packets(size);
        packets.min(self.under_way.div_ceil(self.framing.largest())) as u32
    }

    /// Returns the class of an unscheduled packet with `left` bytes of the message before the packet.
    pub(crate) fn class(&self, left: u64) -> u8 {
        let level = self.cutoffs.iter().take_while(|cutoff| **cutoff < left).count();
        CLASSES - 1 - level as u8
    }

    /// Returns the payload of a message from a packet on.
    pub(crate) fn left(&self, size: u64, seq: u32) -> u64 {
        size.saturating_sub(u64::from(seq) * self.framing.payload)
    }
}
