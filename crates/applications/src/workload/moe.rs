//! Mixture of experts: tokens go from hosts to a few experts, and results come back.
//!
//! Models: every host has tokens and one expert. In a round each token goes to `experts_per_token` distinct
//! experts, drawn by Zipf's law over a random order. The tokens of a host for an expert are one flow; tokens
//! for a host's own expert stay there. An expert answers each host with as many bytes when all flows of the
//! round have arrived. A host begins the next round when all answers have arrived. Source: the `PortFC`
//! paper, section V-E, which leaves sizes and skew open; `docs/models/moe.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_models::traffic::workload::{Host, Made, Making, Problem, Traffic, fits, waits_fit};
use xoff_units::{Bytes, Duration, wide};

/// `workload[…].moe`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Tokens of each host in a round.
    pub tokens: u64,
    /// Payload of a token.
    pub token_size: Bytes,
    /// Experts per token.
    #[serde(default = "two")]
    pub experts_per_token: u64,
    /// Exponent of Zipf's law over experts; 0 makes all equally wanted.
    #[serde(default = "unit")]
    pub zipf_exponent: f64,
    /// Dispatches and answers.
    #[serde(default = "one")]
    pub rounds: u64,
    /// Hosts that take part. Default: all.
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

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        if self.token_size.0 == 0
            || self.token_size.0.saturating_mul(self.tokens) / making.framing.payload >= u64::from(u32::MAX)
        {
            return Err((
                format!("{key}.token_size"),
                format!("{} is out of range for {} tokens", self.token_size, self.tokens),
            ));
        }
        making.add_made(self.flows(&key, &members, making.stream())?)
    }
}

impl Params {
    /// Returns the flows among these hosts.
    pub fn flows(&self, key: &str, hosts: &[u32], mut stream: Stream) -> Result<Vec<Made>, Problem> {
        let n = hosts.len();
        self.check(key, wide(n))?;
        let experts = Experts::new(n, self.zipf_exponent, &mut stream);
        let mut list: Vec<Made> = Vec::new();
        // For each host the last answers that were sent to it.
        let mut answers: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut waits = 0;
        for _ in 0..self.rounds {
            // For each host the experts of its tokens, with their number.
            let mut tokens: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new(); n];
            for row in &mut tokens {
                for _ in 0..self.tokens {
                    experts.choose(self.experts_per_token as usize, &mut stream, row);
                }
            }
            let mut sent_to: Vec<Vec<usize>> = vec![Vec::new(); n];
            let mut dispatch: Vec<(usize, usize, u64)> = Vec::new();
            for (host, row) in tokens.iter().enumerate() {
                for (expert, count) in
                    row.iter().map(|(expert, count)| (*expert, *count)).filter(|e| e.0 != host)
                {
                    sent_to[expert].push(list.len());
                    dispatch.push((host, expert, count));
                    waits += wide(answers[host].len());
                    waits_fit(key, waits)?;
                    list.push(self.flow(hosts[host], hosts[expert], count, answers[host].clone()));
                }
            }
            let mut fresh: Vec<Vec<usize>> = vec![Vec::new(); n];
            for (host, expert, count) in dispatch {
                fresh[host].push(list.len());
                waits += wide(sent_to[expert].len());
                waits_fit(key, waits)?;
                list.push(self.flow(hosts[expert], hosts[host], count, sent_to[expert].clone()));
            }
            for (host, fresh) in fresh.into_iter().enumerate() {
                if !fresh.is_empty() {
                    answers[host] = fresh;
                }
            }
        }
        Ok(list)
    }

    fn check(&self, key: &str, hosts: u64) -> Result<(), Problem> {
        if hosts < 2 {
            return Err((format!("{key}.hosts"), "experts need two hosts or more".into()));
        }
        for (name, value) in [("tokens", self.tokens), ("rounds", self.rounds)] {
            if value == 0 || value > 1 << 20 {
                return Err((
                    format!("{key}.{name}"),
                    format!("{value} is out of range; allowed are 1 to {}", 1 << 20),
                ));
            }
        }
        if self.experts_per_token == 0 || self.experts_per_token > hosts {
            let why = format!("{} is out of range; allowed are 1 to {hosts}", self.experts_per_token);
            return Err((format!("{key}.experts_per_token"), why));
        }
        if !(0.0..=10.0).contains(&self.zipf_exponent) {
            return Err((
                format!("{key}.zipf_exponent"),
                format!("{} is out of range; allowed are 0 to 10", self.zipf_exponent),
            ));
        }
        fits(key, self.rounds.saturating_mul(2 * hosts * (self.tokens * self.experts_per_token).min(hosts)))
    }

    fn flow(&self, src: u32, dst: u32, tokens: u64, after: Vec<usize>) -> Made {
        Made {
            src,
            dst,
            size: Bytes(self.token_size.0.saturating_mul(tokens)),
            start: Duration::ZERO,
            after,
            name: None,
        }
    }
}

/// Experts by popularity.
struct Experts {
    /// In a random order.
    order: Vec<usize>,
    /// Cumulative weights by rank.
    weights: Vec<f64>,
}

impl Experts {
    fn new(count: usize, skew: f64, stream: &mut Stream) -> Self {
        let mut order: Vec<usize> = (0..count).collect();
        stream.shuffle(&mut order);
        let mut total = 0.0;
        let weights = (1..=count)
            .map(|rank| {
                total += libm::pow(rank as f64, -skew);
                total
            })
            .collect();
        Self { order, weights }
    }

    /// Draws the experts of a token and counts the token for each.
    fn choose(&self, experts: usize, stream: &mut Stream, counts: &mut BTreeMap<usize, u64>) {
        let mut chosen = Vec::with_capacity(experts);
        while chosen.len() < experts {
            let rank = draw(&self.weights, &chosen, stream);
            chosen.push(rank);
            *counts.entry(self.order[rank]).or_default() += 1;
        }
    }
}

/// Draws a rank by cumulative weights, without the chosen ranks.
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
    use xoff_units::index;

    fn moe(skew: f64, rounds: u64) -> Vec<Made> {
        let p = Params {
            tokens: 64,
            token_size: Bytes(7168),
            experts_per_token: 2,
            zipf_exponent: skew,
            rounds,
            hosts: None,
        };
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
            flows.iter().filter(|f| f.after.is_empty()).for_each(|f| by_host[index(f.dst)] += f.size.0);
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
