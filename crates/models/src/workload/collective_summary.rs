//! Flows that are measured together.

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
    /// The number of messages.
    pub messages: u64,
}
