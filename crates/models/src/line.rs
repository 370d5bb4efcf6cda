//! The line of a host: the rate, the round trips and the framing from which rates, windows and credit are
//! computed.

use xoff_units::{Duration, Rate};

use crate::framing::Framing;
use crate::param_error::ParamError;

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

    /// Returns rate × `round_trip` in bytes, the bandwidth-delay product.
    pub fn product(&self, round_trip: Duration) -> f64 {
        (self.rate.real() * round_trip.real() / 8e12).max(1.0)
    }
}
