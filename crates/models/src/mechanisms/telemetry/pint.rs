//! PINT, probabilistic in-band telemetry, as HPCC uses it: a packet carries one number, the utilisation of
//! the most used output on the way.
//! Each output keeps an average U over a round trip T. After a time t with s bytes sent, and with q bytes
//! waiting, U becomes (1 − t/T)·U + t/T·(s/(C·t) + q/(C·T)). A data packet carries p with bᵖ/512 about U,
//! rounded at random so that the mean of bᵖ is ⌈512·U⌉, and keeps the larger p.
//! Simplifications: exact products; all frames count over gaps beyond T (the public code counts the last
//! frame only); the simulator carries bᵖ/512.
//! Invariant: 1/512 ≤ number ≤ 512.
//! Source: Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry" (SIGCOMM 2020), and the public
//! ns-3 code of HPCC (`docs/models/telemetry.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::Duration;

use crate::frames::telemetry::Hop;
use crate::mechanisms::contract::Site;
use crate::parts::param_error::ParamError;
use crate::paths::line::check_round_trip;

/// `switch.telemetry.pint`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Base b of the logarithm, 1.0002 to 2: neighbouring numbers differ by the factor b. The number takes
    /// one byte from 1.05 on, two bytes below.
    pub base: f64,
    /// Longest round trip without queues (T). Default: the network's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self { base: 1.01, round_trip: None }
    }
}

impl Params {
    /// Refuses values out of range.
    pub(super) fn validate(&self) -> Result<(), ParamError> {
        if !(1.0002..=2.0).contains(&self.base) {
            return Err((
                "pint.base",
                format!("{} is out of range; allowed are numbers from 1.0002 to 2", self.base),
            ));
        }
        check_round_trip(self.round_trip).map_err(|(_, why)| ("pint.round_trip", why))
    }
}

/// Utilisation is written in units of 1/512, from 1 to 512² units.
const UNITS: f64 = 512.0;

/// PINT at a switch.
#[derive(Debug, Clone)]
pub struct Pint {
    base: f64,
    /// Picoseconds.
    round_trip: f64,
    outputs: Vec<Output>,
}

/// State of an output after its last data packet.
#[derive(Debug, Clone, Copy, Default)]
struct Output {
    utilisation: f64,
    last: Option<Hop>,
}

state!(Output {
    value: utilisation;
    part: last;
});

state!(Pint {
    part: outputs;
    constant: base, round_trip;
});

impl Pint {
    pub(super) fn new(params: &Params, site: &Site<'_>) -> Self {
        let round_trip = params.round_trip.unwrap_or(site.round_trip).ps().max(1) as f64;
        Self { base: params.base, round_trip, outputs: vec![Output::default(); site.ports.len()] }
    }

    /// Returns the number of an output for a packet.
    pub(super) fn see(&mut self, hop: &Hop, stream: &mut Stream) -> f64 {
        let utilisation = self.average(hop);
        self.rounded(utilisation, stream)
    }

    /// Updates and returns the average utilisation of an output.
    fn average(&mut self, hop: &Hop) -> f64 {
        let output = &mut self.outputs[hop.port];
        let product = hop.rate.real() * self.round_trip / 8e12;
        let queue = f64::from(hop.queued) / product;
        // Before the first packet nothing was sent for ever.
        let (sent, gap) = output
            .last
            .map_or((0.0, f64::INFINITY), |last| ((hop.sent - last.sent) as f64, (hop.at - last.at).real()));
        let weight = (gap / self.round_trip).min(1.0);
        // Of a gap within a round trip the share is what was sent in it, of the product.
        let share = sent / product * (self.round_trip / gap.max(self.round_trip));
        let utilisation = output.utilisation * (1.0 - weight) + queue * weight + share;
        *output = Output { utilisation, last: Some(*hop) };
        utilisation
    }

    /// Returns one of the two neighbouring powers of b, so that the mean of many is the value in whole units.
    fn rounded(&self, utilisation: f64, stream: &mut Stream) -> f64 {
        let units = (utilisation * UNITS).ceil().clamp(1.0, UNITS * UNITS);
        let below = libm::pow(self.base, (libm::log(units) / libm::log(self.base)).floor());
        let above = below * self.base;
        let is_up = stream.uniform() * (above - below) < units - below && above <= UNITS * UNITS;
        (if is_up { above } else { below }) / UNITS
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Moment, Rate};

    use super::*;
    use crate::parts::ids::PortId;

    /// A switch of one output of 100 Gb/s; a round trip of 12 us is 150 KB.
    fn pint(base: f64) -> Pint {
        Pint { base, round_trip: Duration::us(12).real(), outputs: vec![Output::default()] }
    }

    fn hop(at: Moment, sent: u64, queued: u32) -> Hop {
        Hop { node: 7, port: PortId(0), at, sent, queued, rate: Rate::gbps(100) }
    }

    #[test]
    fn the_average_is_over_a_round_trip_of_what_was_sent_and_waits() {
        let mut pint = pint(1.01);
        // 15 KB of 150 KB wait, and nothing was sent yet. 3 us later half of what the line takes was sent: a
        // quarter of 0.5, and three quarters of 0.1. In the next 3 us nothing was, and 60 KB wait: a quarter
        // of 0.4, and three quarters of 0.2.
        let seen = [(0, 0, 15_000), (3, 18_750, 0), (6, 18_750, 60_000)]
            .map(|(at, sent, queued)| pint.average(&hop(Moment::us(at), sent, queued)));
        for (found, expected) in seen.into_iter().zip([0.1, 0.2, 0.25]) {
            assert!((found - expected).abs() < 1e-12, "{seen:?}");
        }
        // 24 us later nothing of that counts: 75 KB are a quarter of what the line takes in that time.
        assert!((pint.average(&hop(Moment::us(30), 93_750, 0)) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_line_that_is_always_busy_is_used_wholly() {
        let mut pint = pint(1.01);
        // A packet of 1250 bytes each 100 ns for ten round trips.
        let last = (0..1200).map(|n| pint.average(&hop(Moment::ns(100 * n), 1250 * n, 0))).last();
        assert!(last.is_some_and(|u| (u - 1.0).abs() < 1e-4), "{last:?}");
        // With a round trip's bytes waiting it is used twice.
        let last = (1200..2400).map(|n| pint.average(&hop(Moment::ns(100 * n), 1250 * n, 150_000))).last();
        assert!(last.is_some_and(|u| (u - 2.0).abs() < 1e-4), "{last:?}");
    }

    #[test]
    fn what_is_written_is_a_power_and_right_in_the_mean() {
        // Three units are written as 2 or as 4 with base 2, each half of the time.
        let mut stream = Stream::new(1, 1, "test");
        let mut ups = 0;
        for _ in 0..40_000 {
            let found = (pint(2.0).rounded(2.5 / 512.0, &mut stream) * 512.0) as u32;
            assert!(found == 2 || found == 4);
            ups += u32::from(found == 4);
        }
        // Four standard deviations of a binomial count of mean 20,000 are 400.
        assert!(ups.abs_diff(20_000) < 400, "{ups}");
        // The last case is between the two largest numbers of base 2.
        for (base, utilisation) in [(1.05, 0.95), (1.05, 1.7), (1.01, 0.95), (1.2, 0.1), (2.0, 384.0)] {
            let found: Vec<f64> = (0..40_000).map(|_| pint(base).rounded(utilisation, &mut stream)).collect();
            let (mean, whole) =
                (found.iter().sum::<f64>() / 40_000.0, (utilisation * 512.0_f64).ceil() / 512.0);
            // Both numbers are within a step of it, and four standard deviations of the mean are 2 % of a
            // step at most.
            assert!(found.iter().all(|u| (u - whole).abs() <= whole * (base - 1.0)), "{base} {utilisation}");
            assert!((mean - whole).abs() < whole * (base - 1.0) * 0.02, "{base} {utilisation}: {mean}");
        }
        // Nothing is a unit, and there is a largest number.
        assert_eq!(
            (pint(1.05).rounded(0.0, &mut stream), pint(2.0).rounded(1e9, &mut stream)),
            (1.0 / 512.0, 512.0)
        );
    }

    #[test]
    fn steps_of_five_percent_take_a_byte_and_of_one_percent_two() {
        let numbers = |base: f64| (libm::log(UNITS * UNITS) / libm::log(base)).floor() + 1.0;
        assert!(
            numbers(1.05) <= 256.0
                && (256.0..=65_536.0).contains(&numbers(1.01))
                && numbers(1.0002) <= 65_536.0
        );
    }
}
