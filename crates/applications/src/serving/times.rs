//! Measured computing times of the parts of a layer, interpolated linearly.
//!
//! The rows of attention fill a grid of tokens and tokens of the context. The rows of other parts have tokens alone.
//! Below the first row the time of the first row holds, as a kernel takes a least time. Beyond the last row no time is
//! known.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::ParamError;
use xoff_units::Duration;

/// A part of a layer, or of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Attention of new tokens.
    Attention,
    /// The network of a layer without experts.
    Network,
    /// The shared experts of a layer.
    SharedExperts,
    /// The experts of a rank.
    Experts,
    /// The head, once a step.
    Head,
}

impl Kernel {
    /// The name of the part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Network => "network",
            Self::SharedExperts => "shared_experts",
            Self::Experts => "experts",
            Self::Head => "head",
        }
    }
}

/// `workload[…].serving.compute.times[]`: a measured computing time of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The part.
    pub part: Kernel,
    /// New tokens; of experts the pairs of a token and an expert of the rank; of the head the sequences.
    pub tokens: u64,
    /// Of attention: tokens in the context of all sequences, with the new tokens.
    #[serde(default)]
    pub context_tokens: u64,
    /// The computing time of the part in a layer.
    pub time: Duration,
}

/// The rows of a part.
#[derive(Debug, Clone, PartialEq)]
struct Grid {
    tokens: Vec<u64>,
    contexts: Vec<u64>,
    /// For each number of tokens, by tokens of the context.
    times: Vec<Vec<f64>>,
}

/// Returns the place before a value in rising numbers, and the share of the way to the next place.
fn between(ends: &[u64], value: f64) -> (usize, f64) {
    let place = ends.partition_point(|end| *end as f64 <= value).saturating_sub(1);
    let Some(next) = ends.get(place + 1) else { return (place, 0.0) };
    let (low, high) = (ends[place] as f64, *next as f64);
    (place, ((value - low) / (high - low)).max(0.0))
}

impl Grid {
    fn new(rows: &BTreeMap<(u64, u64), Duration>) -> Option<Self> {
        let sorted = |of: fn(&(u64, u64)) -> u64| {
            let mut found: Vec<u64> = rows.keys().map(of).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let (tokens, contexts) = (sorted(|key| key.0), sorted(|key| key.1));
        let time = |tokens: u64, context: &u64| rows.get(&(tokens, *context)).map(|time| time.real());
        let row = |tokens: &u64| {
            contexts.iter().map(|context| time(*tokens, context)).collect::<Option<Vec<f64>>>()
        };
        let times = tokens.iter().map(row).collect::<Option<Vec<_>>>()?;
        Some(Self { tokens, contexts, times })
    }

    fn at(&self, tokens: f64, context: f64) -> Duration {
        let (row, down) = between(&self.tokens, tokens);
        let (column, right) = between(&self.contexts, context);
        let along = |row: usize| {
            let times = &self.times[row.min(self.times.len() - 1)];
            let next = times[(column + 1).min(times.len() - 1)];
            times[column] + (next - times[column]) * right
        };
        Duration::of_real(along(row) + (along(row + 1) - along(row)) * down)
    }
}

/// Measured times of parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times(BTreeMap<Kernel, Grid>);

impl Times {
    /// Returns the times of rows.
    pub fn new(rows: &[Measured]) -> Result<Self, ParamError> {
        let mut by_part: BTreeMap<Kernel, BTreeMap<(u64, u64), Duration>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let Measured { part, tokens, context_tokens, time } = *row;
            let wrong = |why: String| Err(("times", format!("row {number}: {why}")));
            if part != Kernel::Attention && context_tokens > 0 {
                return wrong(format!("{} has no context_tokens; remove them", part.name()));
            }
            if time > Duration::ms(10_000) {
                return wrong(format!("{time} is above the maximum of 10s"));
            }
            if by_part.entry(part).or_default().insert((tokens, context_tokens), time).is_some() {
                return wrong(format!("is listed twice: {} of {tokens} tokens", part.name()));
            }
        }
        let mut found = BTreeMap::new();
        for (part, rows) in by_part {
            let Some(grid) = Grid::new(&rows) else {
                let why =
                    "attention needs a row for each tokens with each context_tokens; add the missing rows";
                return Err(("times", why.into()));
            };
            found.insert(part, grid);
        }
        Ok(Self(found))
    }

    /// Returns the time of a part; `None` without rows.
    pub fn at(&self, part: Kernel, tokens: f64, context: f64) -> Option<Duration> {
        self.0.get(&part).map(|grid| grid.at(tokens, context))
    }

    /// True if a part has rows.
    pub fn has(&self, part: Kernel) -> bool {
        self.0.contains_key(&part)
    }

    /// Refuses more tokens than the last row of a part has.
    pub fn check(&self, part: Kernel, tokens: u64, context: u64) -> Result<(), ParamError> {
        let Some(Grid { tokens: rows, contexts, .. }) = self.0.get(&part) else { return Ok(()) };
        for (name, rows, needed) in [("tokens", rows, tokens), ("context_tokens", contexts, context)] {
            let last = rows.last().copied().unwrap_or(0);
            if needed > last && (name == "tokens" || part == Kernel::Attention) {
                let why = format!(
                    "{}: the last row has {last} {name}, and a step can have {needed}; add rows, or lower \
                     max_tokens, max_sequences or kv_tokens of the pool",
                    part.name()
                );
                return Err(("times", why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(part: Kernel, tokens: u64, context_tokens: u64, us: u64) -> Measured {
        Measured { part, tokens, context_tokens, time: Duration::us(us) }
    }

    #[test]
    fn times_between_rows_are_interpolated() {
        let rows = [
            row(Kernel::Attention, 1, 0, 10),
            row(Kernel::Attention, 1, 1000, 30),
            row(Kernel::Attention, 101, 0, 20),
            row(Kernel::Attention, 101, 1000, 80),
            row(Kernel::Head, 4, 0, 7),
        ];
        let times = Times::new(&rows).unwrap();
        let at = |part, tokens, context| times.at(part, tokens, context).unwrap();
        assert_eq!(at(Kernel::Attention, 1.0, 500.0), Duration::us(20));
        assert_eq!(at(Kernel::Attention, 51.0, 0.0), Duration::us(15));
        // Half way in both: the mean of the four corners.
        assert_eq!(at(Kernel::Attention, 51.0, 500.0), Duration::us(35));
        assert_eq!(at(Kernel::Attention, 101.0, 1000.0), Duration::us(80));
        // One row holds for fewer tokens.
        assert_eq!(at(Kernel::Head, 1.0, 0.0), Duration::us(7));
        assert_eq!(times.at(Kernel::Experts, 1.0, 0.0), None);
        assert!(times.check(Kernel::Attention, 101, 1000).is_ok());
        for (part, tokens, context) in
            [(Kernel::Attention, 102, 0), (Kernel::Attention, 1, 1001), (Kernel::Head, 5, 0)]
        {
            assert!(times.check(part, tokens, context).is_err());
        }
    }

    #[test]
    fn rows_fill_a_grid_once() {
        let of = |rows: &[Measured]| Times::new(rows).map_err(|wrong| wrong.1);
        let missing = [row(Kernel::Attention, 1, 0, 1), row(Kernel::Attention, 2, 5, 1)];
        assert!(of(&missing).unwrap_err().contains("missing rows"));
        assert!(of(&[row(Kernel::Head, 1, 0, 1); 2]).unwrap_err().contains("row 1: is listed twice"));
        assert!(of(&[row(Kernel::Head, 1, 7, 1)]).unwrap_err().contains("no context_tokens"));
    }
}
