//! Statistics of flows: counts, completion times and slowdowns.

use serde::Serialize;
use xoff_units::wide;

use super::news::Over;
use super::tally::Tally;

/// Flows in all and done.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Flows {
    /// All.
    pub total: u64,
    /// Flows whose last byte arrived.
    pub completed: u64,
}

/// Flows that were active at the end of the run, without connections: goodput from their starts to the end, in bits per
/// second.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Active {
    /// Flows.
    pub flows: u64,
    /// Smallest goodput.
    pub least_goodput_bps: Option<u64>,
    /// Mean goodput.
    pub mean_goodput_bps: Option<u64>,
    /// Largest goodput.
    pub most_goodput_bps: Option<u64>,
    /// Sum of all: of integers, so that the mean depends on no order.
    #[serde(skip)]
    sum: u128,
}

impl Active {
    /// Adds a flow, several times.
    pub fn add(&mut self, goodput: u64, times: u64) {
        self.least_goodput_bps = Some(self.least_goodput_bps.map_or(goodput, |least| least.min(goodput)));
        self.most_goodput_bps = self.most_goodput_bps.max(Some(goodput));
        self.flows += times;
        self.sum += u128::from(goodput) * u128::from(times);
        self.mean_goodput_bps = Some((self.sum / u128::from(self.flows)) as u64);
    }
}

/// Flow completion times, in picoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Fct {
    /// Mean.
    pub mean: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
}

impl Fct {
    /// Of these times; percentiles are the element at ⌈p·n⌉.
    pub fn of(times: Tally) -> Self {
        let mut sum = 0;
        let ranks = ranks(times, |time, count| sum += u128::from(time) * u128::from(count));
        let Some(Ranks { count, at: [p50, p95, p99, p999, max] }) = ranks else { return Self::default() };
        Self { mean: Some((sum / u128::from(count)) as u64), p50, p95, p99, p999, max }
    }
}

/// Percentiles of a list.
struct Ranks {
    count: u64,
    /// At 50, 95, 99, 99.9 and 100 percent.
    at: [Option<u64>; 5],
}

/// Returns the percentiles of a list, and calls back with its numbers in ascending order; `None` for an empty list, or one
/// that cannot be read back from disk.
fn ranks(list: Tally, mut each: impl FnMut(u64, u64)) -> Option<Ranks> {
    let count = list.len();
    let wanted = [500, 950, 990, 999, 1000].map(|permille| wide(rank(permille, count as usize)));
    let (mut seen, mut at) = (0, [None; 5]);
    list.each(|number, times| {
        each(number, times);
        for (at, wanted) in at.iter_mut().zip(wanted) {
            if (seen..seen + times).contains(&wanted) {
                *at = Some(number);
            }
        }
        seen += times;
    })
    .ok()?;
    (count > 0).then_some(Ranks { count, at })
}

/// Returns the index of a percentile among `n` sorted numbers.
pub fn rank(permille: usize, n: usize) -> usize {
    (permille * n).div_ceil(1000).max(1) - 1
}

/// Slowdowns: completion times divided by ideal FCTs.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Slowdown {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Slowdown {
    /// Of these ratios, as [`key`] orders them; percentiles are the element at ⌈p·n⌉.
    fn of(ratios: Tally) -> Self {
        let mut sum = 0.0;
        let ranks = ranks(ratios, |ratio, count| (0..count).for_each(|_| sum += number_of(ratio)));
        let Some(Ranks { count, at }) = ranks else { return Self::default() };
        let [p50, p95, p99, p999, max] = at.map(|at| at.map(number_of));
        Self { mean: Some(sum / count as f64), p50, p95, p99, p999, max }
    }
}

/// Returns a number that is ordered as a ratio is.
const fn key(ratio: f64) -> u64 {
    let bits = ratio.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Returns the ratio of a key.
const fn number_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// Completion times and slowdowns of finished flows.
#[derive(Debug, Default)]
pub struct Times {
    fct: Tally,
    slowdowns: Tally,
}

impl Times {
    /// Adds a flow if finished.
    pub fn add(&mut self, flow: &Over) {
        if let Some(arrived) = flow.arrived {
            self.fct.add(arrived - flow.start);
        }
        if let Some(slowdown) = flow.slowdown {
            self.slowdowns.add(key(slowdown));
        }
    }

    /// Returns the number of finished flows.
    pub const fn completed(&self) -> u64 {
        self.fct.len()
    }

    /// See [`Tally::fault`].
    pub fn fault(&self) -> Option<String> {
        self.fct.fault().or_else(|| self.slowdowns.fault())
    }

    /// Returns the statistics.
    pub fn summary(self) -> (Fct, Slowdown) {
        (Fct::of(self.fct), Slowdown::of(self.slowdowns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_elements() {
        let fct = Fct::of((1..=200).rev().collect());
        assert_eq!((fct.p50, fct.p99, fct.max, fct.mean), (Some(100), Some(198), Some(200), Some(100)));
        assert_eq!(Fct::of(Tally::default()).max, None);
        let slowdown = Slowdown::of([3.0, 1.0].map(key).into_iter().collect());
        assert_eq!(
            (slowdown.mean, slowdown.p50, slowdown.p999, slowdown.max),
            (Some(2.0), Some(1.0), Some(3.0), Some(3.0))
        );
        assert_eq!(Slowdown::of(Tally::default()).mean, None);
    }

    #[test]
    fn keys_are_ordered_as_ratios_are() {
        let ratios = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 1.0, 1.5, f64::INFINITY, f64::NAN];
        assert!(ratios.is_sorted_by(|a, b| key(*a) < key(*b)));
        assert!(ratios.iter().all(|ratio| number_of(key(*ratio)).to_bits() == ratio.to_bits()));
    }
}
