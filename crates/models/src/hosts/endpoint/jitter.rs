//! Jitter: packets that start late at random, as those of adapters do.
//!
//! Models: the next packet of a flow starts late by a uniform share of the packet's time on the wire. Without
//! jitter two senders of equal rates stay in step, and one of them may find no room each time (a phase
//! effect: Floyd and Jacobson 1992). A flow alone is slowed by half of the share on average. Simplification:
//! with a draw per packet no traffic repeats, so no traffic is fast-forwarded. Source: `docs/models/host.md`.

use xoff_units::Duration;

use crate::parts::streams::{self, Draws};

/// The jitter of packets.
#[derive(Debug, Clone, Copy)]
pub struct Jitter {
    share: f64,
    draws: Draws,
}

impl Jitter {
    /// Returns jitter up to a share of a packet's time; none for a share of zero.
    pub fn new(share: f64, seed: u64) -> Option<Self> {
        (share > 0.0).then(|| Self { share, draws: Draws::new(seed, 0, streams::JITTER) })
    }

    /// Returns the delay of the packet after a packet that takes `time` on the wire.
    pub(super) fn after(&self, key: u32, seq: u32, copy: u8, time: Duration) -> Duration {
        let drawn = (self.draws.draw(key, seq, copy) >> 32) as f64 / (1_u64 << 32) as f64;
        Duration::of_real(time.real() * self.share * drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_late_by_half_the_share_on_average_and_never_by_more_than_all_of_it() {
        assert!(Jitter::new(0.0, 1).is_none());
        let jitter = Jitter::new(0.2, 1).unwrap();
        let late: Vec<u64> = (0..10_000).map(|seq| jitter.after(3, seq, 0, Duration::ns(100)).ps()).collect();
        assert!(late.iter().all(|late| *late < 20_000));
        let mean = late.iter().sum::<u64>() / 10_000;
        assert!(mean.abs_diff(10_000) < 240, "{mean}: four standard deviations");
    }
}
