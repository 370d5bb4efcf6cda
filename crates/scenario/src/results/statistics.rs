//! Statistics of flows: counts, completion times and slowdowns.

use serde::Serialize;

use super::news::Over;

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
    /// Of a list, which gets sorted; percentiles are the element at ⌈p·n⌉.
    pub fn of(times: &mut [u64]) -> Self {
        times.sort_unstable();
        let n = times.len();
        if n == 0 {
            return Self::default();
        }
        let at = |permille: usize| Some(times[rank(permille, n)]);
        let mean = times.iter().map(|t| u128::from(*t)).sum::<u128>() / n as u128;
        Self {
            mean: Some(mean as u64),
            p50: at(500),
            p95: at(950),
            p99: at(990),
            p999: at(999),
            max: at(1000),
        }
    }
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
    /// Of a list, which gets sorted; percentiles are the element at ⌈p·n⌉.
    pub fn of(ratios: &mut [f64]) -> Self {
        ratios.sort_unstable_by(f64::total_cmp);
        if ratios.is_empty() {
            return Self::default();
        }
        let at = |permille: usize| Some(ratios[rank(permille, ratios.len())]);
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        Self { mean: Some(mean), p50: at(500), p95: at(950), p99: at(990), p999: at(999), max: at(1000) }
    }
}

/// Completion times and slowdowns of finished flows.
#[derive(Debug, Clone, Default)]
pub struct Times {
    pub fct: Vec<u64>,
    pub slowdowns: Vec<f64>,
}

impl Times {
    /// Adds a flow if finished.
    pub fn add(&mut self, flow: &Over) {
        self.fct.extend(flow.arrived.map(|arrived| arrived - flow.start));
        self.slowdowns.extend(flow.slowdown);
    }

    /// Adds the flows of others.
    pub fn append(&mut self, other: &Self) {
        self.fct.extend(&other.fct);
        self.slowdowns.extend(&other.slowdowns);
    }

    /// Returns the statistics.
    pub fn summary(mut self) -> (Fct, Slowdown) {
        (Fct::of(&mut self.fct), Slowdown::of(&mut self.slowdowns))
    }
}
