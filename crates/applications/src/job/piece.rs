//! A message of a collective.

use xoff_units::{Duration, Rate};

/// The way of a message from its sender to its receiver. Ranks are places among the ranks of the collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Over the network, from the NIC of this rank. If another rank sends the message, the message first goes
    /// over NVLink to the rank of the NIC (NCCL's PXN).
    Nic(u32),
    /// Over NVLink, within a server.
    NvLink,
    /// The switch of a server reduces the data of all GPUs for the sender, who is also the receiver (NVLS).
    Reduce,
    /// The switch of a server multicasts the data of the sender to all GPUs (NVLS).
    Multicast,
}

impl Way {
    /// Returns the kind as a number, for the queues of NVLink.
    pub const fn kind(self) -> u8 {
        match self {
            Self::Nic(_) => 0,
            Self::NvLink => 1,
            Self::Reduce => 2,
            Self::Multicast => 3,
        }
    }
}

/// A message of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The sender's place among the ranks.
    pub from: u32,
    /// The receiver's.
    pub to: u32,
    /// Channel; messages of a channel between two ranks share a connection.
    pub channel: u16,
    /// The step of the algorithm.
    pub step: u32,
    /// Payload.
    pub bytes: u64,
    /// The way of the message.
    pub way: Way,
}

impl Piece {
    /// Returns the message with each of `ranks` ranks `by` further; the first rank follows the last.
    #[must_use]
    pub fn further(self, by: u32, ranks: u32) -> Self {
        let on = |rank: u32| further(rank, by, ranks);
        let way = match self.way {
            Way::Nic(via) => Way::Nic(on(via)),
            way => way,
        };
        Self { from: on(self.from), to: on(self.to), way, ..self }
    }
}

/// Returns the number `by` further than a number below `end`; 0 follows the last.
pub const fn further(number: u32, by: u32, end: u32) -> u32 {
    let left = end - by;
    if number < left { number + by } else { number - left }
}

/// The costs of a library at the ranks. All are zero for textbook algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// From the beginning of an operation at a rank to its first messages, once for each operation.
    pub launch: Duration,
    /// Rate at which the thread block of a channel hands data over. An occupancy: the messages of a channel
    /// take turns.
    pub block: Option<Rate>,
    /// True if data goes on line by line, not message by message.
    pub streams: bool,
    /// From the data at the sender to the message on NVLink. A delay: messages overlap.
    pub nvlink: Duration,
    /// From the data at the sender to the message at the NIC. A delay: messages overlap.
    pub network: Duration,
    /// Time of the sending rank's proxy for a message on the network. An occupancy: messages take turns.
    pub proxy: Duration,
    /// Rate at which the PCIe link of the sending rank hands messages to faster NICs. An occupancy.
    pub pcie: Option<Rate>,
    /// Messages of a connection that are posted and not acknowledged, at most.
    pub slots: u16,
}
