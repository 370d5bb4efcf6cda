//! The line by which the flows of a host leave: what rates, windows and credits are worked out from.

use xoff_units::{Duration, Rate};

use crate::framing::Framing;
use crate::wrong::Wrong;

/// Judges a `round_trip` that a table may give in the place of the longest one.
pub fn check_round_trip(round_trip: Option<Duration>) -> Result<(), Wrong> {
    if round_trip.is_some_and(|t| t < Duration::ns(10) || t > Duration::ms(1_000)) {
        return Err(("round_trip", "allowed are 10ns to 1s".into()));
    }
    Ok(())
}

/// A line that flows go out by.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Its rate.
    pub rate: Rate,
    /// Of the scenario's random numbers.
    pub seed: u64,
    /// The longest round trip in the network without queues: propagation both ways, and a packet of full size one way.
    pub round_trip: Duration,
    /// The same with the answer, a control frame, on its way back.
    pub answered: Duration,
    /// Switches cut packets that find no room, so that a queue is no longer than that allows.
    pub trims: bool,
    /// Packet sizes.
    pub framing: Framing,
}

impl Line {
    /// Any line, for questions that no line decides.
    pub const fn nominal(framing: Framing) -> Self {
        Self { rate: Rate::gbps(1), seed: 0, round_trip: Duration::us(1), answered: Duration::us(1), trims: false, framing }
    }

    /// A line of 100 Gb/s at the end of a round trip.
    #[cfg(test)]
    pub(crate) const fn for_tests(round_trip: Duration) -> Self {
        let framing = Framing::for_tests();
        Self { rate: Rate::gbps(100), seed: 1, round_trip, answered: round_trip, trims: true, framing }
    }

    /// The bandwidth-delay product, in bytes, of its rate and a round trip.
    pub fn product(&self, round_trip: Duration) -> f64 {
        (self.rate.real() * round_trip.real() / 8e12).max(1.0)
    }
}
