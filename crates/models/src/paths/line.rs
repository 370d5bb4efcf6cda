//! The line of a host: the rate, the round trips and the framing from which rates, windows and credit are
//! computed.

use xoff_units::{Bytes, Duration, Rate};

use crate::frames::framing::Framing;
use crate::parts::param_error::ParamError;

/// Checks a `round_trip` of a table: 10 ns to 1 s.
pub fn check_round_trip(round_trip: Option<Duration>) -> Result<(), ParamError> {
    if round_trip.is_some_and(|t| t < Duration::ns(10) || t > Duration::ms(1_000)) {
        return Err(("round_trip", "allowed are 10ns to 1s".into()));
    }
    Ok(())
}

/// The line by which flows leave.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The rate.
    pub rate: Rate,
    /// Of the scenario's random numbers.
    pub seed: u64,
    /// The longest round trip in the network without queues: propagation both ways, and a full packet one
    /// way.
    pub round_trip: Duration,
    /// The same round trip with the answer, a control frame, on the way back.
    pub answered: Duration,
    /// True when switches trim packets that find no room, which bounds queues.
    pub trims: bool,
    /// Packet sizes.
    pub framing: Framing,
}

/// A window of this share of a bandwidth-delay product is as good as whole: headers and one packet are the rest.
const NEARLY: f64 = 0.9;

impl Line {
    /// A nominal line, for questions whose answer does not depend on the line.
    pub const fn nominal(framing: Framing) -> Self {
        Self {
            rate: Rate::gbps(1),
            seed: 0,
            round_trip: Duration::us(1),
            answered: Duration::us(1),
            trims: false,
            framing,
        }
    }

    /// A line of 100 Gb/s at the end of a round trip.
    #[cfg(any(test, feature = "testing"))]
    pub const fn for_tests(round_trip: Duration) -> Self {
        let framing = Framing::for_tests();
        Self { rate: Rate::gbps(100), seed: 1, round_trip, answered: round_trip, trims: true, framing }
    }

    /// Warns of a given window, in bytes, below the bandwidth-delay product of the longest round trip.
    pub fn small_window(&self, key: &'static str, bytes: Option<f64>) -> Option<ParamError> {
        let needed = self.product(self.round_trip);
        let bytes = bytes.filter(|bytes| *bytes < NEARLY * needed)?;
        let [given, needed] = [bytes, needed].map(|bytes| Bytes(bytes.round() as u64));
        let why = format!(
            "a window of {given} is below the {needed} that a line of {} sends in the longest round trip without load, {}, so a \
             flow alone cannot fill its line; give {needed} or more, or remove the key",
            self.rate, self.round_trip
        );
        Some((key, why))
    }

    /// Warns of a given `round_trip`, from which windows follow, below the longest one.
    pub fn short_round_trip(&self, given: Option<Duration>) -> Option<ParamError> {
        let given = given.filter(|given| given.real() < NEARLY * self.round_trip.real())?;
        let why = format!(
            "{given} is below the longest round trip without load, {}, so windows are too small for a flow alone to fill its \
             line of {}; give {} or more, or remove the key",
            self.round_trip, self.rate, self.round_trip
        );
        Some(("round_trip", why))
    }

    /// Returns rate × `round_trip` in bytes, the bandwidth-delay product.
    pub fn product(&self, round_trip: Duration) -> f64 {
        (self.rate.real() * round_trip.real() / 8e12).max(1.0)
    }
}
