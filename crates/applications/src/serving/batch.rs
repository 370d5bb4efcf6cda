//! Batches: the sequences of a step, as a scheduler chooses them.

use super::plan::Pool;

/// A piece of a prompt in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub request: u32,
    /// Tokens with keys and values before the step.
    pub before: u64,
    /// Tokens of the step.
    pub tokens: u64,
}

/// A part of a KV cache, sent by each rank of a DP rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The request.
    pub request: u32,
    /// Tokens.
    pub tokens: u64,
    /// The DP rank of decode.
    pub to: u32,
}

/// A batch of a DP rank, or a micro-batch, as known to the ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// New tokens.
    pub tokens: u64,
    /// Sequences.
    pub sequences: u64,
    /// Tokens in the context of the sequences, with the new tokens.
    pub context: u64,
    /// Pairs of a new token and a visible token, in prefill and in decode.
    pub pairs: [u64; 2],
    /// New tokens of all DP ranks with common experts.
    pub of_all: u64,
    /// New tokens of each DP rank with common experts.
    pub of_each: Vec<u64>,
    /// Parts of KV caches to send.
    pub kv: Vec<Part>,
}

impl Order {
    /// Adds the sequences of another batch of the DP rank.
    pub(super) fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.sequences += other.sequences;
        self.context += other.context;
    }

    /// Adds a piece of a prompt.
    pub(super) fn add_piece(&mut self, piece: Piece) {
        let Piece { before, tokens, .. } = piece;
        self.tokens += tokens;
        self.sequences += 1;
        self.context += before + tokens;
        self.pairs[0] += tokens * before + tokens * (tokens + 1) / 2;
    }

    /// Adds a sequence of decode with this many tokens before the step.
    pub(super) fn add_sequence(&mut self, before: u64) {
        self.tokens += 1;
        self.sequences += 1;
        self.context += before + 1;
        self.pairs[1] += before + 1;
    }
}

/// Returns the micro-batch with the fewest tokens.
pub(super) fn lightest(orders: &mut [Order]) -> &mut Order {
    let place = (0..orders.len()).min_by_key(|place| orders[*place].tokens).unwrap_or(0);
    &mut orders[place]
}

/// The room of the next prompt in a step, in tokens; `None` for none.
pub(super) fn take(pool: &Pool, order: &Order, left: u64) -> Option<u64> {
    if order.sequences >= pool.max_sequences as u64 {
        return None;
    }
    let room = pool.max_tokens.saturating_sub(order.tokens);
    match pool.chunk {
        Some(chunk) => Some(left.min(chunk).min(room)).filter(|tokens| *tokens > 0),
        // A prompt above the limit is taken alone.
        None if left <= room || order.tokens == 0 => Some(left),
        None => None,
    }
}
