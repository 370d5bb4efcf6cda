//! The curve of random early detection (RED): the probability with which a queue of some length picks a packet.
//! ECN marks the picked packets, and Congestion Isolation selects the flows of picked packets. The probability
//! is 0 up to `low`, and rises linearly to `pmax` at `high`. Above `high` the probability is 1, or stays at
//! `pmax`.
//! Simplification: the curve sees the instantaneous length, and no average.
//! Source: RED as in the public ns-3 codes of HPCC and `ConWeave` (`docs/models/ecn.md`); "Max Probability" of
//! "Simulation Analysis of Congestion Isolation" (802.1 contribution, 2018) as a bound.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frames::packet::Packet;
use crate::ports::effects::Effects;

/// Probability above the upper threshold of a RED curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Above {
    /// 1, as in the public ns-3 codes of HPCC and `ConWeave`.
    #[default]
    Certain,
    /// `pmax`, as a bound of the probability at any length.
    Pmax,
}

/// A RED curve.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// The longest queue in bytes that picks nothing.
    pub low: u32,
    /// The queue in bytes at which the probability is `pmax`.
    pub high: u32,
    /// Probability at `high`, 0 to 1.
    pub pmax: f64,
    /// Probability above `high`.
    pub above: Above,
}

impl Curve {
    /// True if the curve has probabilities other than 0 and 1.
    pub fn draws(&self) -> bool {
        self.low < self.high || self.above == Above::Pmax && self.pmax < 1.0
    }

    /// True if a queue of `bytes` picks the packet.
    #[inline]
    pub fn picks(&self, packet: &Packet, bytes: u32, effects: &mut Effects) -> bool {
        let is_certain = self.above == Above::Certain && bytes > self.high;
        bytes > self.low && (is_certain || effects.draw_share(packet, self.probability(bytes)))
    }

    /// Returns the probability with which a queue of `bytes` picks a packet.
    pub fn probability(&self, bytes: u32) -> f64 {
        if bytes <= self.low {
            0.0
        } else if bytes <= self.high {
            self.pmax * f64::from(bytes - self.low) / f64::from(self.high - self.low)
        } else {
            match self.above {
                Above::Certain => 1.0,
                Above::Pmax => self.pmax,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::kinds::Kind;

    fn curve(above: Above) -> Curve {
        Curve { low: 100_000, high: 400_000, pmax: 0.2, above }
    }

    /// Returns the share of 100,000 packets that a queue of `bytes` picks.
    fn picked(curve: &Curve, bytes: u32) -> f64 {
        let mut effects = Effects::for_tests(1);
        let packets = 100_000;
        let is_picked =
            |flow: &u32| curve.picks(&Packet::new(Kind::Data, *flow, 0, 1, 1500, 0), bytes, &mut effects);
        f64::from(u32::try_from((0..packets).filter(is_picked).count()).unwrap()) / f64::from(packets)
    }

    #[test]
    fn the_probability_is_linear_between_the_thresholds() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for above in [Above::Certain, Above::Pmax] {
            let red = curve(above);
            assert!(near(red.probability(100_000), 0.0));
            assert!(near(red.probability(250_000), 0.1));
            assert!(near(red.probability(400_000), 0.2));
        }
        assert!(near(curve(Above::Certain).probability(400_001), 1.0));
        assert!(near(curve(Above::Pmax).probability(400_001), 0.2));
        assert!(near(curve(Above::Pmax).probability(u32::MAX), 0.2));
    }

    #[test]
    fn a_step_is_certain_above_its_threshold() {
        let step = Curve { low: 200_000, high: 200_000, pmax: 1.0, above: Above::Certain };
        let near = |bytes, share: f64| (picked(&step, bytes) - share).abs() < f64::EPSILON;
        assert!(near(200_000, 0.0) && near(200_001, 1.0));
    }

    #[test]
    fn packets_are_picked_with_the_probability_of_the_curve() {
        // 100,000 draws have a standard deviation of sqrt(p (1 - p) / 100,000) = 0.0013 at p = 0.2.
        for (above, bytes, share) in [
            (Above::Certain, 250_000, 0.1),
            (Above::Certain, 400_001, 1.0),
            (Above::Pmax, 250_000, 0.1),
            (Above::Pmax, 400_001, 0.2),
            (Above::Pmax, 4_000_000, 0.2),
        ] {
            assert!((picked(&curve(above), bytes) - share).abs() < 0.006, "{above:?} {bytes}");
        }
        assert!(picked(&curve(Above::Pmax), 100_000) == 0.0);
    }
}
