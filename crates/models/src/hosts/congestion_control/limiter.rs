//! A rate limiter: the next packet may start when the bits of the previous packet have passed at the rates
//! since its start.
//!
//! Models: the limiter of an adapter, which keeps counting while a packet waits. A rising rate shortens the
//! wait, and a falling rate extends the wait. Rates change with notifications and timers. The timers are
//! known in advance, so the start is computed over the changes to come, and again after each notification.
//! Invariants: with one rate the wait is the packet's time at this rate; the bits that pass are the integral
//! of the rate.

use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::Moment;

/// The rule that sets the rate of a limiter.
pub(super) trait Law<S> {
    /// Bits per second now.
    fn rate(&self, state: &S) -> f64;
    /// Returns the next change of the rate without notifications.
    fn next_change(&self, state: &S) -> Moment;
    /// Applies the timers up to `now`.
    fn advance(&self, state: &mut S, now: Moment);
}

/// Bits of the last packet that have not passed, and the time of this count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limiter {
    owed: f64,
    since: Moment,
}

impl State for Limiter {
    /// Without owed bits the time has no meaning.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { owed, since } = self;
        walk.value(owed.word());
        if *owed > 0.0 {
            walk.moment(since);
        }
    }
}

impl Limiter {
    /// A packet starts.
    pub const fn send(&mut self, bytes: u64, now: Moment) {
        *self = Self { owed: bytes as f64 * 8.0, since: now };
    }

    /// Returns the start of the next packet without further notifications. The state is that of the last
    /// [`Self::settle`] or [`Self::send`].
    pub fn due<S: Clone>(&self, state: &S, law: &impl Law<S>) -> Moment {
        let (mut left, ends) = (*self, self.ends(law.rate(state)));
        if ends <= law.next_change(state) {
            return ends;
        }
        let mut state = state.clone();
        loop {
            left.pass(law.next_change(&state), law.rate(&state));
            law.advance(&mut state, left.since);
            let ends = left.ends(law.rate(&state));
            if ends <= law.next_change(&state) {
                return ends;
            }
        }
    }

    /// Lets bits pass until `now` and brings the state to `now`.
    pub fn settle<S>(mut self, state: &mut S, law: &impl Law<S>, now: Moment) -> Self {
        while law.next_change(state) <= now {
            self.pass(law.next_change(state), law.rate(state));
            law.advance(state, self.since);
        }
        self.pass(now, law.rate(state));
        law.advance(state, now);
        self
    }

    /// Lets bits pass until `to` at one rate.
    fn pass(&mut self, to: Moment, rate: f64) {
        let time = to.since(self.since);
        self.owed = (self.owed - time.real() * rate / 1e12).max(0.0);
        self.since += time;
    }

    fn ends(&self, rate: f64) -> Moment {
        Moment(self.since.0.saturating_add((self.owed * 1e12 / rate) as u64))
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Duration;

    use super::*;

    /// Doubles each microsecond.
    struct Doubling;

    impl Law<(f64, Moment)> for Doubling {
        fn rate(&self, state: &(f64, Moment)) -> f64 {
            state.0
        }

        fn next_change(&self, state: &(f64, Moment)) -> Moment {
            state.1
        }

        fn advance(&self, state: &mut (f64, Moment), now: Moment) {
            while state.1 <= now {
                *state = (state.0 * 2.0, state.1 + Duration::us(1));
            }
        }
    }

    #[test]
    fn bits_go_through_at_whatever_the_rate_is() {
        // 1000 bits: at 100 Mb/s 10 us; 100, 200 and 400 bits in three microseconds, and 300 of 800 in the
        // fourth.
        let mut limiter = Limiter::default();
        limiter.send(125, Moment::us(5));
        assert_eq!(limiter.due(&(1e8, Moment::NEVER), &Doubling), Moment::us(15));
        let mut state = (1e8, Moment::us(6));
        assert_eq!(limiter.due(&state, &Doubling), Moment::us(8) + Duration::ns(375));
        // Halfway nothing is other than before; then the rate falls to a tenth.
        let limiter = limiter.settle(&mut state, &Doubling, Moment::ns(6500));
        assert_eq!(
            (state, limiter.due(&state, &Doubling)),
            ((2e8, Moment::us(7)), Moment::us(8) + Duration::ns(375))
        );
        assert_eq!(limiter.due(&(2e7, Moment::NEVER), &Doubling), Moment::ns(6500) + Duration::us(40));
    }

    #[test]
    fn what_was_due_before_is_due_at_once() {
        let mut limiter = Limiter::default();
        limiter.send(125, Moment::ZERO);
        let mut state = (1e9, Moment::NEVER);
        let late = limiter.settle(&mut state, &Doubling, Moment::us(50));
        assert_eq!(late.due(&(1.0, Moment::NEVER), &Doubling), Moment::us(50));
    }
}
