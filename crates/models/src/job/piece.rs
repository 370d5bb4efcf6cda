//! A message of a collective.

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
}

/// Messages, with the list indices of the messages that must arrive at the sender before.
pub type Messages = Vec<(Piece, Vec<usize>)>;
