//! Decides from measured times if several threads are faster than one. The decision changes the thread that
//! runs a partition, and never a result.
//!
//! A segment on several threads gains if its wall time is below the sum of the CPU times of the workers,
//! which is about the time of one worker alone. Otherwise the segment loses the difference. Example: on a
//! machine with busy cores, a segment takes 40 ms on several threads, with 10 ms of CPU time. The loss is 30
//! ms.
//!
//! After a loss, one worker runs alone. All workers try again once the sum of losses is at most 1/32 of the
//! total time: in the example, after 32 · 30 ms = 960 ms.

use std::time::Duration as WallTime;

/// The inverse of the allowed loss: all segments together may lose 1/32 of the total time.
const TIMES_LOST: u32 = 32;

/// The wall time of all segments, and the loss.
#[derive(Debug, Default)]
pub(crate) struct Speedup {
    all: WallTime,
    /// Loss of segments on several threads, less later gains; never negative.
    lost: WallTime,
}

impl Speedup {
    /// True if the next segment should run on all workers.
    pub(crate) fn pays(&self) -> bool {
        self.lost * TIMES_LOST <= self.all
    }

    /// Notes a segment run by one worker.
    pub(crate) fn ran_alone(&mut self, elapsed: WallTime) {
        self.all += elapsed;
    }

    /// Notes a segment run by all workers, with the sum of their busy times.
    pub(crate) fn ran_together(&mut self, elapsed: WallTime, busy: WallTime) {
        self.all += elapsed;
        // A gain compensates earlier losses. A surplus is dropped, as cores may become busy later.
        self.lost = (self.lost + elapsed).saturating_sub(busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> WallTime = WallTime::from_millis;

    #[test]
    fn together_pays_while_it_is_sooner() {
        let mut speedup = Speedup::default();
        for _ in 0..100 {
            assert!(speedup.pays());
            speedup.ran_together(MS(6), MS(10));
        }
    }

    #[test]
    fn attempts_lose_a_thirty_second() {
        // Cores are taken: together a segment takes 40 ms, alone 10 ms.
        let mut speedup = Speedup::default();
        let (mut attempts, mut took) = (0, MS(0));
        for _ in 0..10_000 {
            if speedup.pays() {
                attempts += 1;
                speedup.ran_together(MS(40), MS(10));
                took += MS(40);
            } else {
                speedup.ran_alone(MS(10));
                took += MS(10);
            }
        }
        // The loss, 30 ms for each attempt, is at most 1/32 of the time before the last attempt.
        assert!(attempts > 50 && took <= MS(100_030) * 32 / 31, "{attempts} attempts, {took:?}");
    }

    #[test]
    fn what_was_gained_is_not_lost_later() {
        let mut speedup = Speedup::default();
        (0..1_000).for_each(|_| speedup.ran_together(MS(6), MS(10)));
        // Cores become busy. An attempt loses 30 ms, and n attempts may lose (6 s + n · 40 ms) / 32, which
        // allows n = 6.
        let attempts = (0..1_000).take_while(|_| {
            let pays = speedup.pays();
            speedup.ran_together(MS(40), MS(10));
            pays
        });
        assert_eq!(attempts.count(), 7);
        // The cores are free again after a time alone.
        (0..10_000).for_each(|_| speedup.ran_alone(MS(10)));
        assert!(speedup.pays());
    }
}
