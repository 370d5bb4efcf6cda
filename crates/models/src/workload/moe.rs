//! Mixture of experts: tokens go to few experts, many to few, and their results come back, few to many.
//!
//! Source: the `PortFC` paper, section V-E (sparse gating, skewed experts); sizes and skew are open there. Every host has tokens and
//! one expert. In a round each token goes to `experts_per_token` distinct experts, drawn by Zipf's law over a random order of
//! experts; the tokens of a host for an expert are one flow. An expert answers when all that was sent to it in the round is there,
//! to each host as much as it sent. A host begins the next round when all answers of the last are there. Tokens for a host's own
//! expert stay there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{Bytes, Time};

use super::{Host, Made, Problem};

/// `workload[…].moe`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Tokens of each host in a round.
    pub tokens: u64,
    /// Payload of a token.
    pub token: Bytes,
    /// Experts that a token goes to.
    #[serde(default = "two")]
    pub experts_per_token: u64,
    /// Exponent of Zipf's law over experts; 0 makes all equally wanted.
    #[serde(default = "unit")]
    pub skew: f64,
    /// Dispatches and answers.
    #[serde(default = "one")]
    pub rounds: u64,
    /// Hosts that take part; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

fn one() -> u64 {
    1
}

fn two() -> u64 {
    2
}

fn unit() -> f64 {
    1.0
}

impl Params {
    /// The flows among these hosts.
    pub fn flows(&self, key: &str, hosts: &[u32], mut stream: Stream) -> Result<Vec<Made>, Problem> {
        let n = hosts.len();
        if n < 2 {
            return Err((format!("{key}.hosts"), "experts need two hosts or more".into()));
        }
        for (name, value) in [("tokens", self.tokens), ("rounds", self.rounds)] {
            if value == 0 || value > 1 << 20 {
                return Err((format!("{key}.{name}"), format!("{value} is out of range; allowed are 1 to {}", 1 << 20)));
            }
        }
        if self.experts_per_token == 0 || self.experts_per_token > n as u64 {
            return Err((format!("{key}.experts_per_token"), format!("{} is out of range; there are {n} experts", self.experts_per_token)));
        }
        if !(0.0..=10.0).contains(&self.skew) {
            return Err((format!("{key}.skew"), format!("{} is out of range; allowed are 0 to 10", self.skew)));
        }
        super::fits(key, self.rounds.saturating_mul(2 * n as u64 * (self.tokens * self.experts_per_token).min(n as u64)))?;
        let mut order: Vec<usize> = (0..n).collect();
        stream.shuffle(&mut order);
        // Cumulative weights of experts by rank.
        let mut total = 0.0;
        let weights: Vec<f64> = (1..=n)
            .map(|rank| {
                total += libm::pow(rank as f64, -self.skew);
                total
            })
            .collect();
        let mut list: Vec<Made> = Vec::new();
        // For each host the last answers that were sent to it.
        let mut answers: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut chosen = Vec::new();
        let mut waits = 0;
        for _ in 0..self.rounds {
            // For each host the experts of its tokens, with their number.
            let mut tokens: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new(); n];
            for row in &mut tokens {
                for _ in 0..self.tokens {
                    chosen.clear();
                    while chosen.len() < self.experts_per_token as usize {
                        let rank = draw(&weights, &chosen, &mut stream);
                        chosen.push(rank);
                        *row.entry(order[rank]).or_default() += 1;
                    }
                }
            }
            let mut sent_to: Vec<Vec<usize>> = vec![Vec::new(); n];
            let mut dispatch: Vec<(usize, usize, u64)> = Vec::new();
            for (host, row) in tokens.iter().enumerate() {
                for (expert, count) in row.iter().map(|(expert, count)| (*expert, *count)).filter(|e| e.0 != host) {
                    sent_to[expert].push(list.len());
                    dispatch.push((host, expert, count));
                    waits += answers[host].len() as u64;
                    super::waits_fit(key, waits)?;
                    let size = Bytes(self.token.0.saturating_mul(count));
                    list.push(Made { src: hosts[host], dst: hosts[expert], size, start: Time::ZERO, after: answers[host].clone() });
                }
            }
            let mut fresh: Vec<Vec<usize>> = vec![Vec::new(); n];
            for (host, expert, count) in dispatch {
                fresh[host].push(list.len());
                waits += sent_to[expert].len() as u64;
                super::waits_fit(key, waits)?;
                let size = Bytes(self.token.0.saturating_mul(count));
                list.push(Made { src: hosts[expert], dst: hosts[host], size, start: Time::ZERO, after: sent_to[expert].clone() });
            }
            for (host, fresh) in fresh.into_iter().enumerate() {
                if !fresh.is_empty() {
                    answers[host] = fresh;
                }
            }
        }
        Ok(list)
    }
}

/// A rank that is not chosen yet, by weights that are given summed up.
fn draw(weights: &[f64], chosen: &[usize], stream: &mut Stream) -> usize {
    let total = weights[weights.len() - 1];
    // Few are chosen, or none that is likely: a draw or two.
    for _ in 0..64 {
        let at = stream.uniform() * total;
        let rank = weights.partition_point(|w| *w <= at).min(weights.len() - 1);
        if !chosen.contains(&rank) {
            return rank;
        }
    }
    // What is left may be so unlikely that no draw would meet it: among the rest alone.
    let rest: Vec<usize> = (0..weights.len()).filter(|rank| !chosen.contains(rank)).collect();
    let weight = |rank: usize| weights[rank] - if rank == 0 { 0.0 } else { weights[rank - 1] };
    let mut at = stream.uniform() * rest.iter().map(|rank| weight(*rank)).sum::<f64>();
    for rank in &rest {
        at -= weight(*rank);
        if at < 0.0 {
            return *rank;
        }
    }
    rest[rest.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moe(skew: f64, rounds: u64) -> Vec<Made> {
        let p = Params { tokens: 64, token: Bytes(7168), experts_per_token: 2, skew, rounds, hosts: None };
        p.flows("", &(0..16).collect::<Vec<_>>(), Stream::new(1, 0, "moe")).unwrap()
    }

    #[test]
    fn every_token_goes_out_and_comes_back() {
        let flows = moe(1.0, 1);
        let (there, back): (Vec<&Made>, Vec<&Made>) = flows.iter().partition(|f| f.after.is_empty());
        let sum = |list: &[&Made]| list.iter().map(|f| f.size.0).sum::<u64>();
        assert_eq!((there.len(), sum(&there)), (back.len(), sum(&back)));
        // Two of sixteen experts for each of 64 tokens of 16 hosts, less those at home.
        let all = 2 * 64 * 16 * 7168;
        assert!(sum(&there) < all && sum(&there) > all * 8 / 10);
        for answer in back {
            assert!(answer.after.iter().all(|f| flows[*f].dst == answer.src));
        }
    }

    #[test]
    fn experts_are_as_skewed_as_zipf_says() {
        let received = |flows: &[Made]| {
            let mut by_host = [0_u64; 16];
            flows.iter().filter(|f| f.after.is_empty()).for_each(|f| by_host[f.dst as usize] += f.size.0);
            by_host.sort_unstable();
            by_host[15] as f64 / by_host[0] as f64
        };
        assert!(received(&moe(0.0, 1)) < 1.6);
        assert!(received(&moe(1.0, 1)) > 5.0);
    }

    #[test]
    fn the_next_round_waits_for_the_answers() {
        let flows = moe(1.0, 3);
        for f in &flows {
            assert!(f.after.iter().all(|a| flows[*a].dst == f.src));
        }
        assert!(flows.iter().filter(|f| f.after.is_empty()).count() < flows.len() / 4);
    }
}
