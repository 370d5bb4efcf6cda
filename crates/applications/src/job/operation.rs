//! Operations of ranks, and what several ranks share: messages and collectives.

use xoff_units::Duration;

/// Work of an operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Computes for this time.
    Compute(Duration),
    /// Sends a message; ends when the last packet starts.
    Send(u32),
    /// Ends at the arrival of the message.
    Receive(u32),
    /// Takes part in a collective; ends when all messages to this rank have arrived and the last packet of
    /// all messages from this rank has started.
    Collective {
        /// The collective's number.
        number: u32,
        /// Index of this rank among the participants.
        place: u32,
    },
}

impl Work {
    /// Returns the number of the operation shared with other ranks.
    pub const fn number(&self) -> Option<u32> {
        match self {
            Self::Compute(_) => None,
            Self::Send(number) | Self::Receive(number) | Self::Collective { number, .. } => Some(*number),
        }
    }
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Work of the operation.
    pub work: Work,
    /// Index of the name in the names of the graph.
    pub name: u32,
    /// Iteration of the operation.
    pub iteration: u16,
    /// Unit of the rank, from 1. One operation of a unit runs at a time; 0 is no unit.
    pub unit: u16,
}

/// An operation shared by several ranks, by its common number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Kind of the shared operation.
    pub what: What,
    /// Index of the label in the labels of the graph.
    pub label: u16,
    /// Iteration of the operation.
    pub iteration: u16,
    /// Index of the name in the names of the graph.
    pub name: u32,
    /// Priority class of the packets; `None` for the class of the workload.
    pub class: Option<u8>,
}

/// A message from rank to rank, or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A message from one rank to another.
    Message {
        /// The sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// By which of several connections between the two.
        channel: u16,
        /// Payload.
        bytes: u64,
    },
    /// All ranks of a group take part.
    Collective {
        /// Index of the shape in the graph.
        shape: u32,
        /// Index of the group in the graph.
        group: u32,
    },
}
