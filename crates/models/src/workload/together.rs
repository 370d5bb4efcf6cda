//! Flows that are measured together.

/// What is measured of a collective as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The workload that it is.
    pub workload: u32,
    /// What the ranks have in the end.
    pub operation: &'static str,
    /// How they come to it.
    pub algorithm: &'static str,
    /// How many there are.
    pub ranks: u32,
    /// The data of a rank.
    pub bytes: u64,
    /// What a link has to carry for a byte of it, whatever the algorithm.
    pub bus: f64,
    /// Its messages.
    pub messages: u64,
}
