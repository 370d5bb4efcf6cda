//! The reaction point: a flow's rate, cut by notifications, and its recovery in steps by timer and byte counter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{StateVisitor, Word};
use xoff_units::{Duration, Moment};

use crate::hosts::congestion_control::contract::Echo;
use crate::hosts::congestion_control::limiter::{Law, Limiter};

/// The effect of a new rate on a packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// No effect: the wait is fixed when the previous packet starts, by the rate of that moment, as in the
    /// ns-3 codes.
    #[default]
    Gap,
    /// The packet starts when the bits of the previous packet have passed at the rates since: the limiter of
    /// an adapter.
    Limiter,
}

/// Parameters resolved for one line rate.
#[derive(Debug, Clone)]
pub struct Dcqcn {
    pub(super) line: f64,
    pub(super) g: f64,
    pub(super) alpha_interval: Duration,
    pub(super) decrease_interval: Duration,
    pub(super) increase_interval: Duration,
    pub(super) byte_counter: Option<u64>,
    pub(super) steps: u32,
    pub(super) additive: f64,
    pub(super) hyper: f64,
    pub(super) minimum: f64,
    pub(super) pacing: Pacing,
    pub(super) clamp_target: bool,
    /// Cut at each notification (paper) instead of at decrease intervals (HPCC).
    pub(super) is_classic: bool,
    pub(super) first_alpha: f64,
    pub(super) echo: Echo,
    /// Payload under way.
    pub(super) window: u64,
}

/// A flow's rate and the target of its recovery.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second now.
    pub rate: f64,
    pub(super) target: f64,
    pub(super) alpha: f64,
    /// The first notification has come.
    pub(super) is_active: bool,
    pub(super) alpha_seen: bool,
    pub(super) decrease_armed: bool,
    pub(super) timer_stage: u32,
    pub(super) byte_stage: u32,
    pub(super) bytes: u64,
    pub(super) next_alpha: Moment,
    pub(super) next_decrease: Moment,
    pub(super) next_increase: Moment,
    /// Notifications.
    pub(super) heard: u32,
    pub(super) limiter: Limiter,
}

impl state::State for State {
    /// At line rate, alpha and timers only matter for the next notification, which computes both. They count
    /// as constant until then. A stretch with a notification repeats only where alpha and timers are shown.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            rate,
            target,
            alpha,
            is_active,
            alpha_seen,
            decrease_armed,
            timer_stage,
            byte_stage,
            bytes,
            next_alpha,
            next_decrease,
            next_increase,
            heard,
            limiter,
        } = self;
        let rests = *next_increase == Moment::NEVER && !*alpha_seen && !*decrease_armed;
        walk.value((*rate, *target, rests).word());
        walk.value((*timer_stage, *byte_stage, *bytes).word());
        if rests {
            walk.same((*heard).into());
        } else {
            walk.value((*alpha, *is_active, *alpha_seen).word());
            walk.value(decrease_armed.word());
            walk.moment(next_alpha);
            walk.moment(next_decrease);
            walk.moment(next_increase);
        }
        limiter.walk(walk);
    }
}

impl Law<State> for Dcqcn {
    fn rate(&self, s: &State) -> f64 {
        s.rate
    }

    fn next_change(&self, s: &State) -> Moment {
        if s.decrease_armed { s.next_decrease.min(s.next_increase) } else { s.next_increase }
    }

    fn advance(&self, s: &mut State, now: Moment) {
        self.advance(s, now);
    }
}

impl Dcqcn {
    /// A flow starts at line rate.
    pub(super) fn start(&self) -> State {
        State {
            rate: self.line,
            target: self.line,
            alpha: 1.0,
            is_active: false,
            alpha_seen: false,
            decrease_armed: false,
            timer_stage: 0,
            byte_stage: 0,
            bytes: 0,
            next_alpha: Moment::NEVER,
            next_decrease: Moment::NEVER,
            next_increase: Moment::NEVER,
            heard: 0,
            limiter: Limiter::default(),
        }
    }

    /// Applies the timers up to `now` in their order. At one moment alpha comes first, then the cut.
    pub(super) fn advance(&self, s: &mut State, now: Moment) {
        if !s.is_active {
            return;
        }
        loop {
            let next = s.next_alpha.min(s.next_decrease).min(s.next_increase);
            if next > now {
                return;
            }
            if s.next_alpha == next {
                s.next_alpha += self.alpha_interval;
                s.alpha *= 1.0 - self.g;
                if s.alpha_seen {
                    s.alpha += self.g;
                    s.alpha_seen = false;
                }
                // An alpha too small to matter needs no more timers until the next notification.
                if s.alpha < 1e-9 {
                    s.alpha = 0.0;
                    s.next_alpha = Moment::NEVER;
                }
            } else if s.next_decrease == next {
                if s.decrease_armed {
                    s.decrease_armed = false;
                    s.next_decrease += self.decrease_interval;
                    self.cut(s, next);
                } else {
                    // Nothing to cut: the timer's phase is kept when it is asked for again.
                    let missed = (now - next).0 / self.decrease_interval.0 + 1;
                    s.next_decrease += Duration(missed * self.decrease_interval.0);
                }
            } else {
                s.next_increase += self.increase_interval;
                s.timer_stage += 1;
                self.increase(s, if self.is_classic { None } else { Some(s.timer_stage - 1) });
                if s.rate >= self.line && s.target >= self.line {
                    s.next_increase = Moment::NEVER;
                }
            }
        }
    }

    fn cut(&self, s: &mut State, now: Moment) {
        if self.clamp_target || s.timer_stage > 0 || s.byte_stage > 0 || s.next_increase == Moment::NEVER {
            s.target = s.rate;
        }
        s.rate = (s.rate * (1.0 - s.alpha / 2.0)).max(self.minimum);
        s.timer_stage = 0;
        s.byte_stage = 0;
        s.bytes = 0;
        s.next_increase = now + self.increase_interval;
    }

    /// Raises the rate by one step. The `hpcc` family has one stage count, before the step; the classic
    /// family has two, after the step.
    fn increase(&self, s: &mut State, stage: Option<u32>) {
        let step = match stage {
            Some(stage) if stage < self.steps => 0.0,
            Some(stage) if stage == self.steps => self.additive,
            Some(_) => self.hyper,
            None => {
                let (low, high) = (s.timer_stage.min(s.byte_stage), s.timer_stage.max(s.byte_stage));
                if high < self.steps {
                    0.0
                } else if low < self.steps {
                    self.additive
                } else {
                    f64::from(low - self.steps + 1) * self.hyper
                }
            }
        };
        s.target = (s.target + step).min(self.line);
        s.rate = f64::midpoint(s.rate, s.target).min(self.line);
        if self.line - s.rate < 1.0 {
            s.rate = self.line;
        }
    }

    /// A notification arrived.
    pub(super) fn on_cnp(&self, s: &mut State, now: Moment) {
        s.heard += 1;
        self.advance(s, now);
        if !s.is_active {
            s.is_active = true;
            s.alpha = self.first_alpha;
            s.next_alpha = now + self.alpha_interval;
            s.decrease_armed = true;
            s.next_decrease = now + self.decrease_interval;
            if self.is_classic {
                self.react(s, now);
            }
            return;
        }
        if s.next_alpha == Moment::NEVER {
            s.next_alpha = now + self.alpha_interval;
        }
        if self.is_classic {
            self.react(s, now);
        } else {
            s.alpha_seen = true;
            s.decrease_armed = true;
        }
    }

    fn react(&self, s: &mut State, now: Moment) {
        s.decrease_armed = false;
        s.next_decrease = Moment::NEVER;
        self.cut(s, now);
        s.alpha = (1.0 - self.g) * s.alpha + self.g;
        s.next_alpha = now + self.alpha_interval;
    }

    /// Counts the bytes of a sent packet for the byte counter, if any.
    #[inline]
    pub(super) fn count_bytes(&self, s: &mut State, bytes: u64, now: Moment) {
        let Some(limit) = self.byte_counter else { return };
        if s.is_active && s.rate < self.line {
            s.bytes += bytes;
            if s.bytes >= limit {
                self.advance(s, now);
                s.bytes -= limit.min(s.bytes);
                s.byte_stage += 1;
                let stage = (!self.is_classic).then(|| s.timer_stage.max(s.byte_stage) - 1);
                self.increase(s, stage);
            }
        }
    }

    /// Returns the time of `bytes` at the present rate.
    #[inline]
    pub(super) fn gap(&self, s: &mut State, bytes: u64, now: Moment) -> Duration {
        self.advance(s, now);
        Duration::of_real(bytes as f64 * 8e12 / s.rate)
    }
}
