//! Whether more threads than one pay, judged by the clock: it decides who runs partitions, and never what they do.
//!
//! Together pays while workers finish a segment sooner than one of them would have: one needs about the CPU time that all of
//! them took for it. Where it did not pay, one runs alone, and all try again when what such attempts lost is small beside all
//! the time that has passed.

use std::time::Duration as WallTime;

/// All attempts together may lose this part of the time: a thirty-second.
const TIMES_LOST: u32 = 32;

/// What is known so far.
#[derive(Debug, Default)]
pub(crate) struct Speedup {
    all: WallTime,
    /// What segments took longer than one worker would have needed.
    lost: WallTime,
}

impl Speedup {
    /// Whether to run the next segment together.
    pub(crate) fn pays(&self) -> bool {
        self.lost * TIMES_LOST <= self.all
    }

    /// One worker ran a segment.
    pub(crate) fn ran_alone(&mut self, elapsed: WallTime) {
        self.all += elapsed;
    }

    /// All ran one, and were busy for so long in sum.
    pub(crate) fn ran_together(&mut self, elapsed: WallTime, busy: WallTime) {
        self.all += elapsed;
        // What was gained makes up for what is lost; no more of it is kept than that, as cores may be taken later.
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
        // What is lost, 30 ms an attempt, is at most a thirty-second of all that passed before the last of them.
        assert!(attempts > 50 && took <= MS(100_030) * 32 / 31, "{attempts} attempts, {took:?}");
    }

    #[test]
    fn what_was_gained_is_not_lost_later() {
        let mut speedup = Speedup::default();
        (0..1_000).for_each(|_| speedup.ran_together(MS(6), MS(10)));
        // Then cores are taken. An attempt loses 30 ms, and n of them may lose (6 s + n · 40 ms) / 32: that holds up to n = 6.
        let attempts = (0..1_000).take_while(|_| {
            let pays = speedup.pays();
            speedup.ran_together(MS(40), MS(10));
            pays
        });
        assert_eq!(attempts.count(), 7);
        // They are free again after a while alone.
        (0..10_000).for_each(|_| speedup.ran_alone(MS(10)));
        assert!(speedup.pays());
    }
}
