//! Asymmetric Traffic Engineering: the choice between two first hops of unequal bandwidth.
//! A flow that may take either hop takes the faster hop with probability w. The host compares a volume T of
//! its flows on the faster hop with p·B, the bytes that the share p of the hop carries in a window.
//! - `in_flight`: T is what the host has sent there and the receivers have not acknowledged. Algorithm 5 sets
//!   the weight of the pair of hosts at hand to `p·B / T` at each start of a flow with `T ≥ p·B`. Equation 3
//!   (`raises`) multiplies the weights of all pairs by `p·B / T` once a window with T > 0.
//! - `started`: T is the payload of flows that started in the window. After a window with T > 0, `w ← w · p·B /
//!   T`, for all pairs alike; without `raises` only if T is above p·B.
//!
//! Simplifications: the paper compares a volume with a rate, so that a window is needed: the longest round
//! trip without load, unless one is given. A weight is at most 1, and begins at one half.
//! Source: the `PortFC` paper, section III-E, Algorithm 5 and equation 3; `docs/models/first_hop.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

/// `host.first_hop.asymmetric`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of the faster domain's bandwidth that flows may take.
    pub threshold: f64,
    /// Volume that is compared with the faster domain's bandwidth.
    pub volume: Volume,
    /// Time in which the faster domain carries the volume. Default: the longest round trip without load for
    /// `in_flight`, and 10us for `started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// The weight of the faster domain rises again while the volume is below the threshold (equation 3).
    pub raises: bool,
}

/// Volume of a host's flows on the faster domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Volume {
    /// Bytes that the host has sent and the receivers have not acknowledged.
    #[default]
    InFlight,
    /// Payload of flows that started in the window.
    Started,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: 0.9, volume: Volume::InFlight, window: None, raises: true }
    }
}

impl Params {
    /// True if the window is the round trip of the network.
    pub fn wants_round_trip(&self) -> bool {
        self.volume == Volume::InFlight && self.window.is_none()
    }
}

/// State of a host.
#[derive(Debug, Clone)]
pub struct Weight {
    params: Params,
    window: Duration,
    stream: Stream,
    faster: f64,
    /// Weights of destinations that Algorithm 5 has set.
    pairs: BTreeMap<u32, f64>,
    committed: u64,
    window_ends: Moment,
}

state!(Weight {
    value: stream, faster, pairs, committed;
    moment: window_ends;
    constant: params, window;
});

impl Weight {
    /// Makes the state of a host before its first flow; `round_trip` is the longest without load.
    pub fn new(params: &Params, round_trip: Duration, stream: Stream) -> Self {
        let usual = match params.volume {
            Volume::InFlight => round_trip,
            Volume::Started => Duration::us(10),
        };
        let window = params.window.unwrap_or(usual);
        Self {
            params: params.clone(),
            window,
            stream,
            faster: 0.5,
            pairs: BTreeMap::new(),
            committed: 0,
            window_ends: Moment::ZERO + window,
        }
    }

    /// Returns the probability that the next flow to a destination takes the faster domain.
    pub fn of(&self, dst: u32) -> f64 {
        self.pairs.get(&dst).copied().unwrap_or(self.faster)
    }

    /// Chooses the first hop of a flow of `size` bytes to `dst`; true for the faster hop, whose rate is `rate`.
    /// `in_flight` returns the host's bytes in flight over that hop.
    pub fn takes_faster(
        &mut self,
        size: u64,
        dst: u32,
        rate: Rate,
        in_flight: impl Fn() -> u64,
        now: Moment,
    ) -> bool {
        let capacity = self.params.threshold * rate.real() / 8e12 * self.window.real();
        let is_algorithm_5 = self.params.volume == Volume::InFlight && !self.params.raises;
        if !is_algorithm_5 && now >= self.window_ends {
            let volume = match self.params.volume {
                Volume::InFlight => in_flight(),
                Volume::Started => std::mem::take(&mut self.committed),
            };
            self.step(capacity, volume, now);
        }
        let is_faster = self.stream.uniform() < self.of(dst);
        if is_faster && self.params.volume == Volume::Started {
            self.committed += size;
        }
        if is_algorithm_5 {
            let volume = in_flight() as f64;
            if volume >= capacity {
                self.pairs.insert(dst, capacity / volume);
            }
        }
        is_faster
    }

    /// Multiplies the weight by capacity over volume, and begins the window of `now`.
    fn step(&mut self, capacity: f64, volume: u64, now: Moment) {
        if volume > 0 {
            let factor = capacity / volume as f64;
            if factor < 1.0 || self.params.raises {
                self.faster = (self.faster * factor).min(1.0);
            }
        }
        let behind = (now.0 - self.window_ends.0) / self.window.0;
        self.window_ends = Moment(self.window_ends.0 + (behind + 1) * self.window.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::gbps(160);

    fn weight(params: Params) -> Weight {
        Weight::new(&params, Duration::us(8), Stream::new(1, 0, "ate"))
    }

    fn started(window: u64) -> Params {
        Params { volume: Volume::Started, window: Some(Duration::us(window)), ..Params::default() }
    }

    /// Takes the hop of a flow of `size` bytes to host 7, with nothing in flight.
    fn start(w: &mut Weight, size: u64, now: Moment) -> bool {
        w.takes_faster(size, 7, RATE, || 0, now)
    }

    #[test]
    fn what_is_committed_settles_at_the_threshold() {
        // Twice what the faster domain carries is offered: w settles where half of the volume times w is 0.9
        // of its capacity.
        let mut w = weight(started(100));
        let capacity = 160e9 / 8.0 * 100e-6;
        let size = (capacity * 2.0 / 1000.0) as u64;
        let mut faster = 0.0;
        for i in 0..200_000_u64 {
            let took = start(&mut w, size, Moment(i * Duration::us(100).0 / 1000));
            faster += if took && i >= 100_000 { size as f64 } else { 0.0 };
        }
        let committed = faster / 100.0 / capacity;
        assert!((committed - 0.9).abs() < 0.02, "{committed}");
        assert!((w.of(7) - 0.45).abs() < 0.05, "{}", w.of(7));
    }

    #[test]
    fn an_idle_window_changes_nothing_and_the_letter_never_raises() {
        let mut w = weight(Params { raises: false, ..started(10) });
        start(&mut w, 1, Moment::ZERO);
        start(&mut w, 1, Moment::us(500));
        assert!((w.of(7) - 0.5).abs() < 1e-12);
        let mut w = weight(started(10));
        for i in 0..50 {
            start(&mut w, 1, Moment::us(20 * i));
        }
        assert!((w.of(7) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn algorithm_5_sets_the_weight_of_the_pair_at_hand_to_capacity_over_volume() {
        // In a round trip of 8 us 160 Gb/s carry 160 KB; p = 0.9 of them are 144 KB.
        let mut w = weight(Params { raises: false, ..Params::default() });
        for (in_flight, expected) in
            [(0, 0.5), (143_999, 0.5), (288_000, 0.5), (144_000, 1.0), (0, 1.0), (576_000, 0.25)]
        {
            w.takes_faster(1, 7, RATE, || in_flight, Moment::ZERO);
            assert!((w.of(7) - expected).abs() < 1e-12, "{in_flight}: {}", w.of(7));
            assert!((w.of(8) - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn equation_3_multiplies_the_weights_of_all_pairs_once_a_round_trip() {
        let mut w = weight(Params::default());
        // Moments in us, the volume in flight, and the weight: 0.5, halved, unchanged in the same round trip
        // and without volume, and doubled twice up to 1.
        for (at, in_flight, expected) in [
            (0, 288_000, 0.5),
            (8, 288_000, 0.25),
            (9, 288_000, 0.25),
            (16, 0, 0.25),
            (24, 72_000, 0.5),
            (90, 14_400, 1.0),
        ] {
            w.takes_faster(1, 7, RATE, || in_flight, Moment::us(at));
            assert!(
                (w.of(7) - expected).abs() < 1e-12 && (w.of(8) - expected).abs() < 1e-12,
                "{at}: {}",
                w.of(7)
            );
        }
    }

    #[test]
    fn the_volume_in_flight_settles_at_the_threshold() {
        // 600 KB are offered in a round trip of 8 us, in flows of 2 KB that stay in flight for a round trip. The
        // equilibrium of equation 3 is T = p B = 144 KB, that is w = 0.24.
        let mut w = weight(Params::default());
        let mut flying = std::collections::VecDeque::new();
        let (flows, mut volumes) = (300, Vec::new());
        for i in 0..flows * 2000_u64 {
            let now = Moment(i * Duration::us(8).0 / flows);
            while flying.front().is_some_and(|left: &Moment| *left <= now) {
                flying.pop_front();
            }
            let in_flight = flying.len() as u64 * 2000;
            if w.takes_faster(2000, 7, RATE, || in_flight, now) {
                flying.push_back(now + Duration::us(8));
            }
            if i >= flows * 1000 {
                volumes.push(in_flight as f64);
            }
        }
        let mean = volumes.iter().sum::<f64>() / volumes.len() as f64;
        assert!((mean - 144_000.0).abs() < 0.05 * 144_000.0, "{mean}");
    }
}
