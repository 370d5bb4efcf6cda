//! The tag of packets between switches of racks: path, epoch and role of a packet.

use xoff_units::Duration;

use crate::parts::ids::PortId;

/// Role of a packet in its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Data = 1,
    /// The first packet, which asks for a REPLY.
    Init = 2,
    /// The last packet by the old path.
    Tail = 3,
}

/// Tag of a packet between the two switches; zero for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) flag: Flag,
    /// True by the new path.
    pub(super) is_moved: bool,
    pub(super) epoch: u8,
    pub(super) path: u16,
    /// Age since the start of the epoch: of the packet by the old path, or of the TAIL by the new path.
    pub(super) age: u16,
}

impl Tag {
    /// Picoseconds of a step of an age: 2 to this power.
    const STEP: u32 = 15;
    const OLDEST: u64 = (1 << 14) - 1;

    pub(super) fn age(time: Duration) -> u16 {
        (time.ps() >> Self::STEP).min(Self::OLDEST) as u16
    }

    /// Returns the time from one age to another, zero for earlier ages.
    pub(super) fn span(from: u16, to: u16) -> Duration {
        Duration(u64::from(to.saturating_sub(from)) << Self::STEP)
    }

    pub(super) fn word(self) -> u32 {
        self.flag as u32
            | u32::from(self.is_moved) << 2
            | u32::from(self.epoch) << 3
            | u32::from(self.path) << 6
            | u32::from(self.age) << 18
    }

    pub(super) const fn read(word: u32) -> Option<Self> {
        let flag = match word & 3 {
            1 => Flag::Data,
            2 => Flag::Init,
            3 => Flag::Tail,
            _ => return None,
        };
        let (epoch, path, age) = ((word >> 3 & 7) as u8, (word >> 6 & 0xFFF) as u16, (word >> 18) as u16);
        Some(Self { flag, is_moved: word >> 2 & 1 == 1, epoch, path, age })
    }
}

/// Number of ports up that a path can name at each of two switches.
pub(super) const FAN: usize = 64;

/// The choice among `choices` of a path at the first switch (0) or the second (1).
pub(super) fn digit(path: u16, switch: u32, choices: &[PortId]) -> PortId {
    choices[(usize::from(path) >> (6 * switch)) % FAN % choices.len()]
}
