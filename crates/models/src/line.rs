//! The line by which the flows of a host leave: what rates, windows and credits are worked out from.

use xoff_units::{Rate, Time};

use crate::framing::Framing;

/// A line that flows go out by.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Its rate.
    pub rate: Rate,
    /// Of the scenario's random numbers.
    pub seed: u64,
    /// The longest round trip in the network without queues: propagation both ways, and a packet of full size one way.
    pub round_trip: Time,
    /// Packet sizes.
    pub framing: Framing,
}

impl Line {
    /// The bandwidth-delay product, in bytes, of its rate and a round trip; without one the longest.
    pub fn product(&self, round_trip: Option<Time>) -> f64 {
        (self.rate.0 as f64 * round_trip.unwrap_or(self.round_trip).ps() as f64 / 8e12).max(1.0)
    }
}
