//! Asymmetric Traffic Engineering: the choice between two first hops of unequal bandwidth.
//! A flow that may take either hop takes the faster hop with probability w. The host measures the volume T
//! that its flows committed to the faster hop in each window. After a window with T > 0, `w ← w · p·B / T`
//! (equation 3, at most 1), with the bytes B of the hop in a window.
//! Simplifications: T counts the payload of starting flows, as the paper's in-flight volume and rate differ
//! in dimension; one w a host; w begins at one half. Equation 3 also raises w; Algorithm 5 alone only lowers
//! w (`raises = false`).
//! Source: the `PortFC` paper, section III-E, Algorithm 5 and equation 3; `docs/models/first_hop.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

/// `host.first_hop.asymmetric`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of the faster domain's bandwidth that flows may commit.
    pub threshold: f64,
    /// Window of the measurement.
    pub window: Duration,
    /// The weight of the faster domain rises again when flows commit less.
    pub raises: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: 0.9, window: Duration::us(10), raises: true }
    }
}

/// State of a host.
#[derive(Debug, Clone)]
pub struct Weight {
    params: Params,
    stream: Stream,
    faster: f64,
    committed: u64,
    window_ends: Moment,
}

state!(Weight {
    value: stream, faster, committed;
    moment: window_ends;
    constant: params;
});

impl Weight {
    /// Makes the state of a host before its first flow.
    pub fn new(params: &Params, stream: Stream) -> Self {
        Self {
            params: params.clone(),
            stream,
            faster: 0.5,
            committed: 0,
            window_ends: Moment::ZERO + params.window,
        }
    }

    /// Returns the probability that the next flow takes the faster domain.
    pub const fn value(&self) -> f64 {
        self.faster
    }

    /// Chooses the first hop of a flow of `size` bytes; true for the faster hop, whose rate is `rate`.
    pub fn takes_faster(&mut self, size: u64, rate: Rate, now: Moment) -> bool {
        if now >= self.window_ends {
            let capacity = self.params.threshold * rate.real() / 8e12 * self.params.window.real();
            if self.committed > 0 {
                let factor = capacity / self.committed as f64;
                if factor < 1.0 || self.params.raises {
                    self.faster = (self.faster * factor).min(1.0);
                }
            }
            self.committed = 0;
            let behind = (now.0 - self.window_ends.0) / self.params.window.0;
            self.window_ends = Moment(self.window_ends.0 + (behind + 1) * self.params.window.0);
        }
        let is_faster = self.stream.uniform() < self.faster;
        if is_faster {
            self.committed += size;
        }
        is_faster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(params: &Params) -> Weight {
        Weight::new(params, Stream::new(1, 0, "ate"))
    }

    #[test]
    fn what_is_committed_settles_at_the_threshold() {
        // Twice what the faster domain carries is offered: w settles where half of the volume times w is 0.9
        // of its capacity.
        let (rate, params) = (Rate::gbps(160), Params { window: Duration::us(100), ..Params::default() });
        let mut w = weight(&params);
        let capacity = 160e9 / 8.0 * 100e-6;
        let size = (capacity * 2.0 / 1000.0) as u64;
        let mut faster = 0.0;
        for i in 0..200_000_u64 {
            let took = w.takes_faster(size, rate, Moment(i * Duration::us(100).0 / 1000));
            faster += if took && i >= 100_000 { size as f64 } else { 0.0 };
        }
        let committed = faster / 100.0 / capacity;
        assert!((committed - 0.9).abs() < 0.02, "{committed}");
        assert!((w.value() - 0.45).abs() < 0.05, "{}", w.value());
    }

    #[test]
    fn an_idle_window_changes_nothing_and_the_letter_never_raises() {
        let mut w = weight(&Params { raises: false, ..Params::default() });
        w.takes_faster(1, Rate::gbps(160), Moment::ZERO);
        w.takes_faster(1, Rate::gbps(160), Moment::us(500));
        assert!((w.value() - 0.5).abs() < 1e-12);
        let mut w = weight(&Params::default());
        for i in 0..50 {
            w.takes_faster(1, Rate::gbps(160), Moment::us(20 * i));
        }
        assert!((w.value() - 1.0).abs() < 1e-12);
    }
}
