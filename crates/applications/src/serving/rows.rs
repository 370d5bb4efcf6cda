//! Rows of the tables `requests` and `steps`, as the controller writes them.

use xoff_units::{Duration, Moment};

/// Labels of exposed communication in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Collectives of tensor-parallel ranks.
    Tensor,
    /// Tokens to experts.
    Dispatch,
    /// Results of experts.
    Combine,
}

impl Label {
    /// All labels with names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Tensor, "TP"), (Self::Dispatch, "EP_dispatch"), (Self::Combine, "EP_combine")];
}

/// Exposed communication by label.
pub type Exposed = [Duration; 3];

/// The time of a rank in a step. The parts add up to the time between start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Start of the step.
    pub start: Moment,
    /// End of the step.
    pub end: Moment,
    /// Time in which the rank computed.
    pub compute: Duration,
    /// Time in which messages were on the way to the rank, which computed nothing.
    pub exposed: Exposed,
    /// Time in which the rank waited for other ranks.
    pub bubble: Duration,
}

impl Report {
    /// Exposed communication with all labels.
    pub fn exposed(&self) -> Duration {
        self.exposed.iter().fold(Duration::ZERO, |sum, one| sum + *one)
    }
}

/// A step of a DP rank.
#[derive(Debug, Clone, Copy)]
pub struct StepRow {
    /// The workload.
    pub workload: u32,
    /// Name of the pool.
    pub pool: &'static str,
    /// Instance of the pool.
    pub instance: u32,
    /// DP rank of the pool.
    pub dp: u32,
    /// Number of the step of the DP rank.
    pub step: u32,
    /// Tokens, sequences and tokens of the context.
    pub counts: [u64; 3],
    /// Time of the slowest rank.
    pub report: Report,
    /// The slowest rank, among all ranks of the workload.
    pub slowest: u32,
}

/// Parts of the time of a request, in the order of the columns.
pub const PARTS: usize = 11;

/// The parts of the time of a request by index.
pub mod part {
    /// Waits for memory at decode.
    pub const RESERVE_QUEUE: usize = 0;
    /// Waits for a step of prefill.
    pub const PREFILL_QUEUE: usize = 1;
    /// Prefill: the rank computes.
    pub const PREFILL_COMPUTE: usize = 2;
    /// Prefill: messages are on the way.
    pub const PREFILL_EXPOSED: usize = 3;
    /// Prefill: waits for other ranks.
    pub const PREFILL_BUBBLE: usize = 4;
    /// Waits for the request of decode.
    pub const KV_QUEUE: usize = 5;
    /// The KV cache is on the way.
    pub const KV_EXPOSED: usize = 6;
    /// Waits for a step of decode.
    pub const DECODE_QUEUE: usize = 7;
    /// Decode: the rank computes.
    pub const DECODE_COMPUTE: usize = 8;
    /// Decode: messages are on the way.
    pub const DECODE_EXPOSED: usize = 9;
    /// Decode: waits for other ranks.
    pub const DECODE_BUBBLE: usize = 10;
}

/// A request, ended or not ended at the end of the run.
#[derive(Debug, Clone)]
pub struct RequestRow {
    /// The workload.
    pub workload: u32,
    /// Number in the order of arrivals.
    pub request: u32,
    /// Arrival.
    pub arrival: Moment,
    /// Tokens of the prompt, cached tokens, and tokens of the answer.
    pub tokens: [u64; 3],
    /// Instance and DP rank of prefill, within the pool.
    pub prefill: (u32, u32),
    /// Instance and DP rank of decode, within the pool.
    pub decode: Option<(u32, u32)>,
    /// Parts of the time up to the end.
    pub parts: [Duration; PARTS],
    /// Bytes of the KV cache.
    pub kv_bytes: u64,
    /// Posting of the first message with the KV cache, to the end of the last message.
    pub kv_transfer: Option<Duration>,
    /// Time to the first token.
    pub ttft: Option<Duration>,
    /// Tokens after the first token: mean time, and longest time between two tokens.
    pub itl: Option<(Duration, Duration)>,
    /// Time to the last token; `None` for an unfinished request.
    pub e2e: Option<Duration>,
    /// True if all given service levels were met.
    pub meets: Option<bool>,
    /// True if decode has the KV cache.
    pub has_kv: bool,
    /// True for a request of the warm-up.
    pub is_warmup: bool,
}

/// A token of a request.
#[derive(Debug, Clone, Copy)]
pub struct TokenRow {
    /// The workload.
    pub workload: u32,
    /// The request.
    pub request: u32,
    /// Arrival of the request.
    pub arrival: Moment,
    /// Number of the token, from 0.
    pub token: u64,
    /// Number of the step of decode that made the token, if any.
    pub step: Option<u32>,
    /// The moment of the token.
    pub at: Moment,
    /// Time since the token before.
    pub gap: Option<Duration>,
}

/// Rows since the last checkpoint.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Tokens.
    pub tokens: Vec<TokenRow>,
    /// Requests.
    pub requests: Vec<RequestRow>,
    /// Steps.
    pub steps: Vec<StepRow>,
}
