//! Experts of unequal popularity, and redundant experts: the share of the tokens that comes to each rank.
//!
//! The popularity of the experts of a layer follows Zipf's law with the exponent `skew`. The order of the experts is
//! drawn for each layer. A token chooses `top_k` experts one after the other, in proportion to the popularity of the
//! experts that are left. The same choice: expert i rings after an exponential time of rate `w_i`, and the token takes
//! the first k experts that ring (Efraimidis and Spirakis 2006). So a token comes to a rank with the chance
//!
//! ```text
//! ∫ Σ_i w_i e^(-w_i t) P(fewer than k others have rung at t) dt,     i: the experts of the rank
//! ```
//!
//! Redundant experts: the expert with the most tokens for each copy gets one more copy, as often as there are redundant
//! experts. Copies are placed from the most loaded on, each at the least loaded rank with room. A token goes to each
//! copy with the same chance. Source: `DeepSeek`'s load balancer, EPLB.

use xoff_engine::random::Stream;
use xoff_units::index;

use crate::job::experts::Copies;

/// Step of the integral, in the logarithm of time.
const STEP: f64 = 0.25;

/// An expert at a rank: the popularity of the expert (0: most popular), and the share of its tokens that this copy gets.
type Copy = (usize, f64);

/// The experts of a layer, and the choice of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choosing {
    /// Experts of a layer.
    pub experts: u64,
    /// Experts of a token.
    pub top_k: u64,
    /// Exponent of Zipf's law; 0 for equal experts.
    pub skew: f64,
    /// Copies of experts beyond the first.
    pub redundant: u64,
    /// Copies of a token.
    pub copies: Copies,
}

/// The ranks over which experts are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Number of ranks.
    pub ranks: u32,
    /// Ranks at each server.
    pub of_server: u32,
}

/// Means of a token of a layer, by rank.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    /// Copies of a token on the way to each rank.
    to_rank: Vec<f64>,
    /// Copies of a token on the way to each server.
    to_server: Vec<f64>,
    /// Experts of a token at each rank.
    chosen: Vec<f64>,
    /// For each rank: the chance of each expert of the rank to get a token.
    chances: Vec<Vec<f64>>,
}

/// The routing of tokens to experts.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    layers: Vec<Layer>,
    of_server: usize,
}

impl Routing {
    /// Returns the routing of this many layers.
    pub fn new(choosing: &Choosing, spread: Spread, layers: u32, stream: &mut Stream) -> Self {
        let clocks = Clocks::new(choosing);
        let all: Vec<usize> = (0..clocks.experts).collect();
        let chances: Vec<f64> = all.iter().map(|one| clocks.reaches(&[(*one, 1.0)])).collect();
        let of = |_| {
            let places = place(choosing, spread.ranks, &chances, stream);
            let servers = places.chunks(index(spread.of_server)).map(<[_]>::concat);
            let share = |(expert, share): &Copy| chances[*expert] * share;
            let chosen: Vec<f64> = places.iter().map(|rank| rank.iter().map(share).sum()).collect();
            Layer {
                to_rank: match choosing.copies {
                    Copies::Expert => chosen.clone(),
                    Copies::Rank | Copies::Server => places.iter().map(|rank| clocks.reaches(rank)).collect(),
                },
                to_server: match choosing.copies {
                    Copies::Server => servers.map(|server| clocks.reaches(&server)).collect(),
                    Copies::Expert | Copies::Rank => Vec::new(),
                },
                chosen,
                chances: places.iter().map(|rank| rank.iter().map(share).collect()).collect(),
            }
        };
        Self { layers: (0..layers).map(of).collect(), of_server: index(spread.of_server) }
    }

    /// Returns the mean copies of a token for a rank, in a layer with experts.
    pub fn to_rank(&self, layer: u32, place: u32) -> f64 {
        self.layers[index(layer)].to_rank[index(place)]
    }

    /// Returns the mean copies of a token for the server of a rank.
    pub fn to_server(&self, layer: u32, place: u32) -> f64 {
        self.layers[index(layer)].to_server[index(place) / self.of_server]
    }

    /// Returns for this many tokens of all ranks: pairs of a token and an expert at a rank, and experts with a token.
    pub fn load(&self, layer: u32, place: u32, tokens: u64) -> (f64, f64) {
        let of = &self.layers[index(layer)];
        let hit = of.chances[index(place)].iter().map(|chance| 1.0 - libm::pow(1.0 - chance, tokens as f64));
        (tokens as f64 * of.chosen[index(place)], hit.sum())
    }
}

/// Returns the copies of experts at each rank.
fn place(choosing: &Choosing, ranks: u32, chances: &[f64], stream: &mut Stream) -> Vec<Vec<Copy>> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    stream.shuffle(&mut order);
    let room = (chances.len() + index(choosing.redundant as u32)) / index(ranks);
    if choosing.redundant == 0 {
        return order.chunks(room).map(|rank| rank.iter().map(|expert| (*expert, 1.0)).collect()).collect();
    }
    let mut counts = vec![1_u32; chances.len()];
    let of_copy = |counts: &[u32], expert: usize| chances[expert] / f64::from(counts[expert]);
    for _ in 0..choosing.redundant {
        // With as many copies as ranks, one more copy helps nobody.
        let open = order.iter().copied().filter(|expert| counts[*expert] < ranks);
        let most = open.max_by(|one, other| of_copy(&counts, *one).total_cmp(&of_copy(&counts, *other)));
        counts[most.unwrap_or(0)] += 1;
    }
    order.sort_by(|one, other| of_copy(&counts, *other).total_cmp(&of_copy(&counts, *one)));
    let mut found: Vec<Vec<Copy>> = vec![Vec::new(); index(ranks)];
    let mut loads = vec![0.0; index(ranks)];
    for expert in order {
        for _ in 0..counts[expert] {
            let has = |rank: usize| found[rank].iter().any(|copy| copy.0 == expert);
            let open = (0..found.len()).filter(|rank| found[*rank].len() < room);
            let least = open.min_by(|one, other| {
                has(*one).cmp(&has(*other)).then(f64::total_cmp(&loads[*one], &loads[*other]))
            });
            let Some(rank) = least else { continue };
            loads[rank] += of_copy(&counts, expert);
            found[rank].push((expert, 1.0 / f64::from(counts[expert])));
        }
    }
    found
}

/// Clocks of experts by popularity, at the moments of the integral.
struct Clocks {
    experts: usize,
    top_k: usize,
    weights: Vec<f64>,
    /// A moment, and the chance of each expert not to have rung.
    moments: Vec<(f64, Vec<f64>)>,
}

impl Clocks {
    fn new(choosing: &Choosing) -> Self {
        let Choosing { experts, top_k, skew, .. } = *choosing;
        let weights: Vec<f64> = (1..=experts).map(|rank| libm::pow(rank as f64, -skew)).collect();
        let (all, least) = (weights.iter().sum::<f64>(), libm::pow(experts as f64, -skew));
        // Before, no expert has rung with a chance of 1e-9; afterwards all experts have.
        let (from, until) = (libm::log(1e-9 / all), libm::log(60.0 / least));
        let steps = ((until - from) / STEP).ceil() as u32;
        let of = |step: u32| {
            let at = libm::exp(from + f64::from(step) * STEP);
            (at, weights.iter().map(|weight| libm::exp(-weight * at)).collect())
        };
        let moments = (0..=steps).map(of).collect();
        Self { experts: weights.len(), top_k: top_k as usize, weights, moments }
    }

    /// Returns the chance that a token goes to one of these copies at least.
    fn reaches(&self, copies: &[Copy]) -> f64 {
        let copies = merged(copies);
        let is_here = |expert: usize| copies.iter().any(|copy| copy.0 == expert);
        let others: Vec<usize> = (0..self.experts).filter(|expert| !is_here(*expert)).collect();
        let mut sum = 0.0;
        for (at, silent) in &self.moments {
            // Chances of 0, 1, … experts that have rung, up to k - 1.
            let mut rung = vec![0.0; self.top_k];
            rung[0] = 1.0;
            for expert in &others {
                add(&mut rung, silent[*expert], 1.0 - silent[*expert]);
            }
            for (place, (expert, share)) in copies.iter().enumerate() {
                // The first ring of a copy that the token goes to: other copies of the group are silent, or the token
                // goes to the same expert elsewhere.
                let mut before = rung.clone();
                for (_, (other, share)) in copies.iter().enumerate().filter(|(other, _)| *other != place) {
                    add(&mut before, silent[*other], (1.0 - share) * (1.0 - silent[*other]));
                }
                let chance: f64 = before.iter().sum();
                sum += share * self.weights[*expert] * silent[*expert] * chance * at * STEP;
            }
        }
        sum.min(1.0)
    }
}

/// Returns the copies with a row for each expert.
fn merged(copies: &[Copy]) -> Vec<Copy> {
    let mut found: Vec<Copy> = Vec::new();
    for (expert, share) in copies {
        match found.iter_mut().find(|copy| copy.0 == *expert) {
            Some(copy) => copy.1 += share,
            None => found.push((*expert, *share)),
        }
    }
    found
}

/// Adds an expert to the chances of numbers of rung experts.
fn add(rung: &mut [f64], silent: f64, rings: f64) {
    for count in (1..rung.len()).rev() {
        rung[count] = rung[count] * silent + rung[count - 1] * rings;
    }
    rung[0] *= silent;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::experts::Experts;

    const EVEN: Choosing = Choosing { experts: 256, top_k: 8, skew: 0.0, redundant: 0, copies: Copies::Rank };

    fn routing(choosing: Choosing, ranks: u32, of_server: u32) -> Routing {
        Routing::new(&choosing, Spread { ranks, of_server }, 2, &mut Stream::new(1, 2, "routing"))
    }

    /// Draws tokens, and returns the share of tokens that come to the rank, for each rank.
    fn drawn(places: &[Vec<Copy>], choosing: &Choosing) -> Vec<f64> {
        let mut stream = Stream::new(3, 4, "tokens");
        let tokens = 100_000;
        let mut counts = vec![0_u32; places.len()];
        for _ in 0..tokens {
            let mut rings: Vec<(f64, usize)> = (0..choosing.experts as usize)
                .map(|expert| {
                    let weight = libm::pow((expert + 1) as f64, -choosing.skew);
                    (-libm::log(1.0 - stream.uniform()) / weight, expert)
                })
                .collect();
            rings.sort_by(|one, other| one.0.total_cmp(&other.0));
            let mut reached = vec![false; places.len()];
            for (_, expert) in &rings[..choosing.top_k as usize] {
                let holders: Vec<usize> = (0..places.len())
                    .filter(|rank| places[*rank].iter().any(|copy| copy.0 == *expert))
                    .collect();
                reached[holders[stream.place(holders.len())]] = true;
            }
            for (count, reached) in counts.iter_mut().zip(reached) {
                *count += u32::from(reached);
            }
        }
        counts.iter().map(|count| f64::from(*count) / f64::from(tokens)).collect()
    }

    #[test]
    fn equal_experts_have_the_closed_form() {
        let routing = routing(Choosing { copies: Copies::Server, ..EVEN }, 32, 8);
        let experts = Experts { experts: 256, top_k: 8, copies: Copies::Rank, combines: false };
        for place in 0..32 {
            // 7.27 of 32 ranks, and 3.61 of 4 servers, by the hypergeometric distribution.
            assert!((routing.to_rank(0, place) * 32.0 - experts.reached(32)).abs() < 1e-5);
            assert!((routing.to_server(1, place) * 4.0 - experts.reached(4)).abs() < 1e-5);
            let (pairs, hit) = routing.load(0, place, 1000);
            assert!((pairs - 250.0).abs() < 1e-6 && (hit - 8.0).abs() < 1e-6);
        }
    }

    #[test]
    fn unequal_experts_get_what_drawn_tokens_give_them() {
        for redundant in [0, 8] {
            let choosing = Choosing { experts: 24, top_k: 4, skew: 1.0, redundant, copies: Copies::Rank };
            let clocks = Clocks::new(&choosing);
            let chances: Vec<f64> = (0..24).map(|expert| clocks.reaches(&[(expert, 1.0)])).collect();
            // A token has four experts.
            assert!((chances.iter().sum::<f64>() - 4.0).abs() < 1e-6);
            let places = place(&choosing, 8, &chances, &mut Stream::new(1, 2, "routing"));
            for (rank, share) in drawn(&places, &choosing).into_iter().enumerate() {
                let exact = clocks.reaches(&places[rank]);
                assert!((exact - share).abs() < 0.008, "{redundant} {rank}: {exact} {share}");
            }
        }
    }

    #[test]
    fn redundant_experts_even_out_the_load() {
        let most = |redundant| {
            let routing = routing(Choosing { skew: 0.8, redundant, copies: Copies::Expert, ..EVEN }, 32, 8);
            (0..32).map(|place| routing.to_rank(0, place)).fold(0.0, f64::max)
        };
        // Evenly a rank gets a quarter of a copy. The most popular experts have more than a rank's share.
        assert!(most(0) > 0.5, "{}", most(0));
        assert!(most(32) < 0.26, "{}", most(32));
    }
}
