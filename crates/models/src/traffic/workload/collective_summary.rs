//! Flows that are measured together.

use xoff_units::Duration;

/// What tells that a collective is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The arrival of this number of messages.
    Messages(u64),
    /// The end of the operation at this number of ranks.
    Ranks(u32),
}

impl Over {
    /// Returns the number of messages or ranks.
    pub const fn count(self) -> u64 {
        match self {
            Self::Messages(messages) => messages,
            Self::Ranks(ranks) => ranks as u64,
        }
    }
}

/// A collective that is measured as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The workload.
    pub workload: u32,
    /// The operation.
    pub operation: &'static str,
    /// The algorithm.
    pub algorithm: &'static str,
    /// The number of ranks.
    pub ranks: u32,
    /// The data of a rank.
    pub bytes: u64,
    /// Bytes that a link carries per byte of data, for any algorithm.
    pub bus: f64,
    /// The protocol of NCCL, if NCCL runs the collective.
    pub protocol: Option<&'static str>,
    /// The time that NCCL's own model predicts.
    pub predicted: Option<Duration>,
    /// The number of channels.
    pub channels: u32,
    /// What tells that the collective is over.
    pub over: Over,
}
