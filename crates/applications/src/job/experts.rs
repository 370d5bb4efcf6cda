//! Copies of tokens on their way to experts and back.
//!
//! A token has `top_k` experts among `experts`, drawn evenly. A system sends the token once for each expert,
//! once for each rank with an expert of the token, or once for each server with such a rank. Among p parts of
//! equal size, a token reaches p (1 − C(E − E/p, k) / C(E, k)) parts on average. Example: of 256 experts on 32
//! ranks, 8 experts are on 7.27 ranks. Source: `docs/models/training.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often a token crosses the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// Once for each chosen expert, straight to the rank of the expert.
    #[default]
    Expert,
    /// Once for each rank with a chosen expert.
    Rank,
    /// Once for each server with a chosen expert, to the rank of the sender's rail, and on over NVLink. On the
    /// way back the copies of a server are summed up before the network. Needs `library = "nccl"`.
    Server,
}

/// The routing of tokens to experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Experts {
    /// Experts of a layer.
    pub experts: u64,
    /// Experts of a token.
    pub top_k: u64,
    /// Copies of a token.
    pub copies: Copies,
    /// True for the way back from the experts.
    pub combines: bool,
}

impl Experts {
    /// Returns the mean number of parts that a token reaches, of `parts` with as many experts each.
    pub fn reached(&self, parts: u64) -> f64 {
        let (all, parts) = (self.experts as f64, parts as f64);
        let elsewhere = all - all / parts;
        let missed: f64 =
            (0..self.top_k).map(|i| ((elsewhere - i as f64) / (all - i as f64)).max(0.0)).product();
        parts * (1.0 - missed)
    }

    /// Returns the bytes that a rank has for a group of `ranks`, from the bytes of one copy for each expert.
    pub fn bytes(&self, for_experts: u64, ranks: u64) -> u64 {
        match self.copies {
            Copies::Expert => for_experts,
            Copies::Rank | Copies::Server => {
                let share = self.reached(ranks) / self.top_k as f64;
                (for_experts as f64 * share).round() as u64
            }
        }
    }

    /// Returns the bytes of a rank's tokens for one of `servers` servers.
    pub fn bytes_of_server(&self, for_experts: u64, servers: u64) -> u64 {
        let share = self.reached(servers) / self.top_k as f64 / servers as f64;
        (for_experts as f64 * share).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copies_are_those_of_the_hypergeometric_distribution() {
        let experts = Experts { experts: 256, top_k: 8, copies: Copies::Rank, combines: false };
        for (parts, expected) in [(32, 7.27), (64, 7.68), (4, 3.61), (256, 8.0), (1, 1.0)] {
            assert!((experts.reached(parts) - expected).abs() < 0.01, "{parts}");
        }
        assert_eq!(experts.bytes(8_000, 256), 8_000);
        let straight = Experts { copies: Copies::Expert, ..experts };
        assert_eq!(straight.bytes(8_000, 32), 8_000);
        // Half of the tokens' servers are the own server.
        assert_eq!(experts.bytes_of_server(8_000, 1), 1_000);
    }
}
