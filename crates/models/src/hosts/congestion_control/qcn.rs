//! QCN (IEEE 802.1Qau-2010), the reaction point: a rate limiter at the source of a flow.
//! A message cuts the rate by the quantised feedback over 128, at most by half. A byte counter and a timer
//! recover the rate: each event closes half of the gap to the rate before the cut (fast recovery). From the
//! fifth cycle of a counter on the target rises in additive steps, and in hyper-active steps when both
//! counters are there. Cycles are then half as long.
//! A limiter ends at line rate with an empty queue.
//! Simplification: one limiter a flow (`limiter.rs`). Invariant: minimum rate ≤ rate ≤ target ≤ line rate.
//! Source: the IEEE8021-CN-MIB; the fifth event is additive already, as in the public ns-3 code of DCQCN
//! (`docs/models/qcn.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Duration, Moment, Rate};

use super::contract::{Control, Hosts, Line, NewFlow, Notice, Sent};
use super::limiter::{Law, Limiter};
use crate::frames::kinds::{Cnm, Kind};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.qcn`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Cycle of the timer.
    pub increase_interval: Duration,
    /// Cycle of the byte counter.
    pub byte_counter: Bytes,
    /// Cycles of fast recovery.
    pub fast_recovery_steps: u32,
    /// Additive increase of the target.
    pub additive_increase: Rate,
    /// Hyper-active increase of the target.
    pub hyper_increase: Rate,
    /// Share of the rate for a unit of quantised feedback.
    pub gd: f64,
    /// Least share of the rate that a cut leaves.
    pub min_decrease_factor: f64,
    /// Least rate of a limiter.
    pub minimum_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            increase_interval: Duration::ms(15),
            byte_counter: Bytes(150_000),
            fast_recovery_steps: 5,
            additive_increase: Rate(5_000_000),
            hyper_increase: Rate(50_000_000),
            gd: 1.0 / 128.0,
            min_decrease_factor: 0.5,
            minimum_rate: Rate(5_000_000),
        }
    }
}

/// All parameters for one line rate.
#[derive(Debug, Clone)]
pub struct Qcn {
    line: f64,
    timer: Duration,
    bytes: u64,
    threshold: u32,
    additive: f64,
    hyper: f64,
    gd: f64,
    min_decrease_factor: f64,
    minimum: f64,
}

/// Limiter of a flow.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second.
    pub rate: f64,
    target: f64,
    is_limited: bool,
    byte_stage: u32,
    timer_stage: u32,
    /// Bytes to the next event of the byte counter.
    left: u64,
    next_timer: Moment,
    limiter: Limiter,
}

state!(State {
    value: rate, target, is_limited, byte_stage, timer_stage, left;
    moment: next_timer;
    part: limiter;
});

impl Control for Qcn {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "QCN";
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("qcn", "no switch has congestion points; set switch.flow_control.qcn"));

    fn new(params: &Params, line: Line) -> Self {
        Self::new(params, line.rate)
    }

    fn validate(params: &Params, _: &Hosts<'_>) -> Result<(), ParamError> {
        if params.increase_interval < Duration::us(1) {
            return Err(("increase_interval", "must be 1us or longer".into()));
        }
        if params.byte_counter.0 < 64 {
            return Err(("byte_counter", format!("{} is below the minimum of 64B", params.byte_counter)));
        }
        for (key, share) in [("gd", params.gd), ("min_decrease_factor", params.min_decrease_factor)] {
            if !(share > 0.0 && share <= 1.0) {
                return Err((
                    key,
                    format!("{share} is out of range; allowed are numbers above 0 and up to 1"),
                ));
            }
        }
        if params.minimum_rate.0 < 1_000 {
            return Err(("minimum_rate", format!("{} is below the minimum of 1kbps", params.minimum_rate)));
        }
        Ok(())
    }

    fn start(&self, _: &NewFlow) -> State {
        self.start()
    }

    #[inline]
    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        self.advance(s, sent.now);
        self.count_bytes(s, sent.bytes, sent.is_queue_empty, sent.now);
        s.limiter.send(sent.bytes, sent.now);
        s.limiter.due(s, self) - sent.now
    }

    fn hears(notice: &Packet) -> bool {
        notice.kind() == Kind::Cnm
    }

    fn on_notice(&self, s: &mut State, notice: &Notice<'_>) {
        if let Some(Cnm { feedback, .. }) = notice.frame.payload() {
            self.on_feedback(s, feedback, notice.now);
        }
    }

    fn due(&self, s: &State, _: Moment) -> Moment {
        s.limiter.due(s, self)
    }
}

impl Law<State> for Qcn {
    fn rate(&self, s: &State) -> f64 {
        s.rate
    }

    fn next_change(&self, s: &State) -> Moment {
        s.next_timer
    }

    /// Applies the events of the timer up to `now`.
    fn advance(&self, s: &mut State, now: Moment) {
        while s.next_timer <= now {
            s.timer_stage += 1;
            s.next_timer += if s.timer_stage < self.threshold { self.timer } else { self.timer / 2 };
            self.increase(s, s.timer_stage);
            if s.rate >= self.line {
                s.next_timer = Moment::NEVER;
            }
        }
    }
}

impl Qcn {
    /// Makes the control for a line rate.
    fn new(p: &Params, line: Rate) -> Self {
        let line = line.real();
        Self {
            line,
            timer: p.increase_interval,
            bytes: p.byte_counter.0,
            threshold: p.fast_recovery_steps,
            additive: p.additive_increase.real(),
            hyper: p.hyper_increase.real(),
            gd: p.gd,
            min_decrease_factor: p.min_decrease_factor,
            minimum: p.minimum_rate.real().min(line),
        }
    }

    /// A flow starts without a limiter.
    fn start(&self) -> State {
        State {
            rate: self.line,
            target: self.line,
            is_limited: false,
            byte_stage: 0,
            timer_stage: 0,
            left: 0,
            next_timer: Moment::NEVER,
            limiter: Limiter::default(),
        }
    }

    /// Obeys a message.
    fn on_feedback(&self, s: &mut State, feedback: u32, now: Moment) {
        s.limiter = s.limiter.settle(s, self, now);
        // Messages in a row do not lower the target: it stays what the rate was before the first.
        if !s.is_limited || s.byte_stage != 0 {
            s.target = s.rate;
        }
        s.is_limited = true;
        s.rate =
            (s.rate * (1.0 - self.gd * f64::from(feedback)).max(self.min_decrease_factor)).max(self.minimum);
        (s.byte_stage, s.timer_stage) = (0, 0);
        s.left = self.bytes;
        s.next_timer = now + self.timer;
    }

    /// Applies an event of a counter at a stage.
    fn increase(&self, s: &mut State, stage: u32) {
        let (low, high) = (s.byte_stage.min(s.timer_stage), s.byte_stage.max(s.timer_stage));
        if stage == 1 && s.target > 10.0 * s.rate {
            s.target /= 8.0;
        } else if low >= self.threshold {
            s.target += self.hyper * f64::from(low - self.threshold + 1);
        } else if high >= self.threshold {
            s.target += self.additive;
        }
        s.target = s.target.min(self.line);
        s.rate = f64::midpoint(s.rate, s.target);
        if self.line - s.rate < 1.0 {
            s.rate = self.line;
        }
    }

    /// Counts a sent packet, and ends a limiter at line rate with an empty queue.
    #[inline]
    fn count_bytes(&self, s: &mut State, bytes: u64, is_queue_empty: bool, now: Moment) {
        if !s.is_limited {
            return;
        }
        s.left = s.left.saturating_sub(bytes);
        if s.left == 0 {
            self.advance(s, now);
            s.byte_stage += 1;
            s.left = if s.byte_stage < self.threshold { self.bytes } else { self.bytes / 2 };
            self.increase(s, s.byte_stage);
        }
        if is_queue_empty && s.rate >= self.line {
            *s = self.start();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(value: u32) -> (Qcn, State) {
        let q = Qcn::new(&Params::default(), Rate::gbps(10));
        let mut s = q.start();
        q.on_feedback(&mut s, value, Moment::us(1));
        (q, s)
    }

    #[test]
    fn the_largest_feedback_halves_the_rate_but_for_a_hundredth() {
        assert!((limited(63).1.rate / 1e10 - 65.0 / 128.0).abs() < 1e-12);
        assert!((limited(1).1.rate / 1e10 - 127.0 / 128.0).abs() < 1e-12);
    }

    #[test]
    fn four_events_close_fifteen_sixteenths_of_the_gap_and_the_fifth_is_additive() {
        let (q, mut s) = limited(63);
        // From a second cut on the target is below the line.
        q.count_bytes(&mut s, 150_000, false, Moment::us(2));
        q.on_feedback(&mut s, 63, Moment::us(3));
        let (low, target) = (s.rate, s.target);
        assert!(target < 1e10);
        for k in 0..4 {
            q.count_bytes(&mut s, 150_000, false, Moment::us(4 + k));
        }
        assert!(
            ((target - s.rate) / (target - low) - 1.0 / 16.0).abs() < 1e-9 && (s.target - target).abs() < 1.0
        );
        q.count_bytes(&mut s, 150_000, false, Moment::us(9));
        assert!((s.target - target - 5e6).abs() < 1.0);
        // Cycles are half as long now; the timer's five stages bring the larger steps.
        q.count_bytes(&mut s, 75_000, false, Moment::us(10));
        assert!((s.target - target - 10e6).abs() < 1.0);
        q.advance(&mut s, Moment::ms(76));
        assert!((s.target - target - (10.0 + 4.0 * 5.0 + 50.0) * 1e6).abs() < 1.0, "{}", s.target - target);
    }

    #[test]
    fn messages_in_a_row_do_not_lower_the_target() {
        let (q, mut s) = limited(63);
        q.on_feedback(&mut s, 63, Moment::us(2));
        assert!((s.target - 1e10).abs() < 1.0 && s.rate < 2.6e9);
        for _ in 0..20 {
            q.on_feedback(&mut s, 63, Moment::us(2));
        }
        assert!((s.rate - 5e6).abs() < 1.0);
        // A target far above the rate is lowered with the first event.
        q.count_bytes(&mut s, 150_000, false, Moment::us(3));
        assert!((s.target - 1.25e9).abs() < 1.0);
    }

    #[test]
    fn a_limiter_that_hears_nothing_recovers_and_goes() {
        let (q, mut s) = limited(63);
        q.advance(&mut s, Moment::ms(10_000));
        assert!((s.rate - 1e10).abs() < 1.0 && s.is_limited);
        q.count_bytes(&mut s, 1500, true, Moment::ms(10_000));
        assert!(!s.is_limited);
    }
}
