//! Times of the parts of a layer at a rank, by the roofline or as measured.
//!
//! A part lasts `max(FLOP / (peak · efficiency), bytes / (memory · memory_efficiency)) + kernel` (Williams,
//! Waterman and Patterson 2009). A part without tokens lasts no time.

use std::sync::Arc;

use xoff_units::Duration;

use super::times::{Kernel, Times};
use crate::language_model::Model;

/// A processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processor {
    /// Operations in a second, as far as reached.
    pub flops: f64,
    /// Bytes in a second from memory, as far as reached.
    pub memory: f64,
    /// Time of each part besides.
    pub kernel: Duration,
}

/// Times of the parts of a layer, for the ranks of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// The processor.
    pub processor: Processor,
    /// The model.
    pub model: Model,
    /// Bytes of a weight, and of a number in the KV cache.
    pub bytes: [u64; 2],
    /// Tensor-parallel ranks.
    pub tensor: u32,
    /// Ranks over which experts are spread; 1 for none.
    pub expert: u32,
    /// Measured times, which win over the roofline.
    pub times: Option<Arc<Times>>,
}

impl Costs {
    fn time(&self, flop: f64, bytes: f64) -> Duration {
        let Processor { flops, memory, kernel } = self.processor;
        Duration::of_real((flop / flops).max(bytes / memory) * 1e12) + kernel
    }

    fn measured(&self, part: Kernel, tokens: f64, context: f64) -> Option<Duration> {
        self.times.as_ref().and_then(|times| times.at(part, tokens, context))
    }

    /// Returns the time of attention: new tokens, tokens in the context of the sequences, and pairs of a new
    /// token and a visible token in prefill and in decode.
    pub fn attention(&self, tokens: u64, context: u64, pairs: [u64; 2]) -> Duration {
        if tokens == 0 {
            return Duration::ZERO;
        }
        if let Some(time) = self.measured(Kernel::Attention, tokens as f64, context as f64) {
            return time;
        }
        let (model, tensor) = (&self.model, f64::from(self.tensor));
        let [prefill, decode] = model.score_widths().map(|width| (model.heads * width) as f64);
        let scores = 2.0 * (prefill * pairs[0] as f64 + decode * pairs[1] as f64);
        let flop = (2.0 * model.attention() as f64 * tokens as f64 + scores) / tensor;
        let weights = (model.attention() * self.bytes[0]) as f64 / tensor;
        let cache = (model.kv_width() * self.bytes[1]) as f64 * context as f64;
        // The latent of MLA is whole at each rank.
        let shares = if model.latent.is_some() { 1.0 } else { tensor };
        self.time(flop, weights + cache / shares)
    }

    fn matrices(&self, part: Kernel, parameters: u64, tokens: u64) -> Duration {
        if tokens == 0 || parameters == 0 {
            return Duration::ZERO;
        }
        if let Some(time) = self.measured(part, tokens as f64, 0.0) {
            return time;
        }
        let parameters = parameters as f64 / f64::from(self.tensor);
        self.time(2.0 * parameters * tokens as f64, parameters * self.bytes[0] as f64)
    }

    /// Returns the time of the network of a dense layer.
    pub fn network(&self, tokens: u64) -> Duration {
        self.matrices(Kernel::Network, self.model.network(), tokens)
    }

    /// Returns the time of the shared experts.
    pub fn shared_experts(&self, tokens: u64) -> Duration {
        self.matrices(Kernel::SharedExperts, self.model.shared_experts * self.model.expert(), tokens)
    }

    /// Returns the time of the head for this many sequences.
    pub fn head(&self, sequences: u64) -> Duration {
        self.matrices(Kernel::Head, self.model.hidden * self.model.vocabulary, sequences)
    }

    /// Returns the pairs of a token and an expert at a rank, and the experts of the rank with a token, for tokens of all
    /// ranks that are routed evenly.
    pub fn even_load(&self, tokens: u64) -> (f64, f64) {
        let (all, chosen) = (self.model.experts as f64, self.model.top_k as f64);
        let ranks = f64::from(self.expert.max(1));
        let hit = all / ranks * (1.0 - libm::pow(1.0 - chosen / all, tokens as f64));
        (tokens as f64 * chosen / ranks, hit)
    }

    /// Returns the time of a rank's experts, from pairs of a token and an expert, and experts with a token.
    pub fn experts(&self, (pairs, hit): (f64, f64)) -> Duration {
        if pairs == 0.0 {
            return Duration::ZERO;
        }
        if let Some(time) = self.measured(Kernel::Experts, pairs, 0.0) {
            return time;
        }
        // Without spread experts, tensor-parallel ranks share each expert.
        let shares = if self.expert > 1 { 1.0 } else { f64::from(self.tensor) };
        let expert = self.model.expert() as f64 / shares;
        self.time(2.0 * expert * pairs, expert * self.bytes[0] as f64 * hit)
    }
}
