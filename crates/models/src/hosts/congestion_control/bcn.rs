//! BCN (Backward Congestion Notification), the reaction point: a rate limiter at the source of a flow.
//! The first negative message makes a limiter at `initial_rate`. Negative feedback cuts the rate by `gd` a
//! unit, at most by half, and gives the limiter to the message's congestion point. Only that congestion point
//! raises the rate, by `gi` times `ru` a unit.
//! BCN(0,0) stops the source for a random time up to `tmax`; the source goes on at `minimum_rate`. Each
//! `drift_interval` adds `drift`. A limiter ends at line rate with an empty queue.
//! Simplification: one limiter a flow (`limiter.rs`).
//! Invariants: minimum rate ≤ rate ≤ line rate; without a limiter no packet names a congestion point.
//! Source: the BCN hot-spot document (802.1au contribution), with the lost minus signs of its gains restored;
//! stop, drift and least rate are ours (`docs/models/bcn.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use super::contract::{Control, Hosts, Line, NewFlow, Notice, Sent, Tag};
use super::limiter::{Law, Limiter};
use crate::frames::kinds::{self, Kind};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::parts::streams;

/// `host.congestion_control.bcn`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Gain of increases: multiples of `ru` for a unit of feedback.
    pub gi: f64,
    /// Gain of decreases: the share of the rate for a unit of feedback.
    pub gd: f64,
    /// Unit of increases.
    pub ru: Rate,
    /// Rate of a new limiter, before its first cut. Default: the line's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rate: Option<Rate>,
    /// Least rate of a limiter, and rate of a source after BCN(0,0).
    pub minimum_rate: Rate,
    /// Longest random wait of a source after BCN(0,0).
    pub tmax: Duration,
    /// Rate added each `drift_interval`.
    pub drift: Rate,
    /// Interval of the drift.
    pub drift_interval: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            gi: 0.53,
            gd: 2.6e-4,
            ru: Rate(1_000_000),
            initial_rate: None,
            minimum_rate: Rate(10_000_000),
            tmax: Duration::us(100),
            drift: Rate(1_000_000),
            drift_interval: Duration::ms(1),
        }
    }
}

/// All parameters for one line rate.
#[derive(Debug, Clone)]
pub struct Bcn {
    line: f64,
    initial: f64,
    gi: f64,
    gd: f64,
    minimum: f64,
    tmax: Duration,
    drift: f64,
    drift_interval: Duration,
    seed: u64,
}

/// Limiter of a flow.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second.
    pub rate: f64,
    /// Congestion point of the last cut; 0 without a limiter.
    point: u32,
    /// End of the wait after BCN(0,0).
    resumes: Moment,
    next_drift: Moment,
    /// Number of stops, an input of the next draw.
    stops: u64,
    /// The key of the flow.
    key: u32,
    limiter: Limiter,
}

state!(State {
    value: rate, point, stops;
    moment: resumes, next_drift;
    part: limiter;
    constant: key;
});

/// Feedback of a congestion point: the signed value, with zero to stop, and the point, with zero for none.
#[derive(Debug, Clone, Copy)]
struct Feedback {
    value: i32,
    point: u32,
}

impl Control for Bcn {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "BCN";
    const TAG: Tag = Tag::ForSwitches;
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("bcn", "no switch has congestion points; set switch.flow_control.bcn"));

    fn settled(params: &Params, line: Line) -> Params {
        Params { initial_rate: Some(params.initial_rate.unwrap_or(line.rate)), ..params.clone() }
    }

    fn new(params: &Params, line: Line) -> Self {
        Self::new(params, line.rate, line.seed)
    }

    fn validate(params: &Params, _: &Hosts<'_>) -> Result<(), ParamError> {
        for (key, gain) in [("gi", params.gi), ("gd", params.gd)] {
            if !(gain >= 0.0 && gain.is_finite()) {
                return Err((key, format!("{gain} is out of range; allowed are zero and above")));
            }
        }
        if params.minimum_rate.0 < 1_000 {
            return Err(("minimum_rate", format!("{} is below the minimum of 1kbps", params.minimum_rate)));
        }
        if let Some(rate) = params.initial_rate.filter(|rate| *rate < params.minimum_rate) {
            return Err(("initial_rate", format!("{rate} is below minimum_rate, {}", params.minimum_rate)));
        }
        if params.drift_interval < Duration::ns(10) {
            return Err(("drift_interval", "must be 10ns or longer".into()));
        }
        if params.tmax > Duration::ms(10_000) {
            return Err(("tmax", format!("{} is above the maximum of 10s", params.tmax)));
        }
        Ok(())
    }

    fn start(&self, _: &NewFlow) -> State {
        self.start()
    }

    #[inline]
    fn on_sent(&self, s: &mut State, packet: &mut Packet, sent: Sent) -> Duration {
        packet.set_tag(s.point);
        s.key = sent.key;
        self.advance(s, sent.now);
        s.limiter.send(sent.bytes, sent.now);
        let due = self.due(s, sent.now);
        self.vanish(s, sent.is_queue_empty);
        due - sent.now
    }

    fn hears(notice: &Packet) -> bool {
        notice.kind() == Kind::Bcn
    }

    fn on_notice(&self, s: &mut State, notice: &Notice<'_>) {
        if let Some(kinds::Bcn { feedback, point }) = notice.frame.payload() {
            self.on_feedback(s, Feedback { value: feedback, point }, notice.now);
        }
    }

    fn due(&self, s: &State, _: Moment) -> Moment {
        s.limiter.due(s, self).max(s.resumes)
    }
}

impl Law<State> for Bcn {
    fn rate(&self, s: &State) -> f64 {
        s.rate
    }

    fn next_change(&self, s: &State) -> Moment {
        if self.drift > 0.0 && s.rate < self.line { s.next_drift } else { Moment::NEVER }
    }

    /// Adds the drift up to `now`.
    fn advance(&self, s: &mut State, now: Moment) {
        if s.next_drift <= now {
            let steps = (now - s.next_drift).ps() / self.drift_interval.ps() + 1;
            s.next_drift += self.drift_interval * steps;
            s.rate = (s.rate + self.drift * steps as f64).min(self.line);
        }
    }
}

impl Bcn {
    /// Makes the control for a line rate.
    fn new(p: &Params, line: Rate, seed: u64) -> Self {
        let line = line.real();
        Self {
            line,
            initial: p.initial_rate.map_or(line, |rate| rate.real().min(line)),
            gi: p.gi * p.ru.real(),
            gd: p.gd,
            minimum: p.minimum_rate.real().min(line),
            tmax: p.tmax,
            drift: p.drift.real(),
            drift_interval: p.drift_interval,
            seed,
        }
    }

    /// A flow starts without a limiter.
    fn start(&self) -> State {
        State {
            rate: self.line,
            point: 0,
            resumes: Moment::ZERO,
            next_drift: Moment::NEVER,
            stops: 0,
            key: 0,
            limiter: Limiter::default(),
        }
    }

    /// Obeys a message.
    fn on_feedback(&self, s: &mut State, feedback: Feedback, now: Moment) {
        s.limiter = s.limiter.settle(s, self, now);
        let Feedback { value, point } = feedback;
        if value > 0 {
            if s.point == point {
                s.rate = (s.rate + self.gi * f64::from(value)).min(self.line);
            }
            return;
        }
        if s.point == 0 {
            s.rate = self.initial;
            s.next_drift = now + self.drift_interval;
        }
        s.point = point;
        if value < 0 {
            s.rate = (s.rate * (1.0 + self.gd * f64::from(value)).max(0.5)).max(self.minimum);
        } else {
            s.rate = self.minimum;
            // Told again while it waits, it goes on waiting.
            if s.resumes <= now {
                s.stops += 1;
                let share =
                    Stream::new(self.seed, u64::from(s.key) << 32 | s.stops, streams::BCN_STOP).uniform();
                s.resumes = now + Duration::of_real(self.tmax.real() * share);
                s.next_drift = s.resumes + self.drift_interval;
            }
        }
    }

    /// Ends a limiter at line rate with an empty queue, after a packet was sent.
    #[inline]
    fn vanish(&self, s: &mut State, is_queue_empty: bool) {
        if is_queue_empty && s.point != 0 && s.rate >= self.line {
            s.point = 0;
            s.next_drift = Moment::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(value: i32, point: u32) -> Feedback {
        Feedback { value, point }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b
    }

    #[test]
    fn the_largest_cut_is_about_half_and_the_largest_raise_a_tenth_of_the_line() {
        let b = Bcn::new(&Params::default(), Rate::gbps(10), 1);
        let mut s = b.start();
        b.on_feedback(&mut s, told(-1875, 7), Moment::us(60));
        assert!(close(s.rate, 1e10 * (1.0 - 0.4875)) && s.point == 7);
        let before = s.rate;
        b.on_feedback(&mut s, told(1875, 7), Moment::us(120));
        assert!(close(s.rate - before, 993.75e6));
        // The gains before they were rounded to two digits, and a gain that would cut by more than half.
        for (gd, share) in [(0.5 / 1875.0, 0.5), (1.0, 0.5)] {
            let b = Bcn::new(&Params { gd, ..Params::default() }, Rate::gbps(10), 1);
            let mut s = b.start();
            b.on_feedback(&mut s, told(-1875, 7), Moment::us(60));
            assert!(close(s.rate, 1e10 * share));
        }
    }

    #[test]
    fn a_limiter_starts_at_its_initial_rate_and_without_one_there_is_the_line() {
        let b =
            Bcn::new(&Params { initial_rate: Some(Rate::gbps(2)), ..Params::default() }, Rate::gbps(10), 1);
        let mut s = b.start();
        assert!(close(s.rate, 1e10));
        b.on_feedback(&mut s, told(-1875, 7), Moment::us(60));
        assert!(close(s.rate, 2e9 * (1.0 - 0.4875)));
        b.on_feedback(&mut s, told(-1875, 7), Moment::us(61));
        assert!(close(s.rate, 2e9 * (1.0 - 0.4875) * (1.0 - 0.4875)));
    }

    #[test]
    fn only_the_last_congestion_point_raises() {
        let b = Bcn::new(&Params::default(), Rate::gbps(10), 1);
        let mut s = b.start();
        b.on_feedback(&mut s, told(500, 7), Moment::us(1));
        assert!(close(s.rate, 1e10) && s.point == 0);
        b.on_feedback(&mut s, told(-100, 7), Moment::us(2));
        b.on_feedback(&mut s, told(-100, 8), Moment::us(3));
        let before = s.rate;
        b.on_feedback(&mut s, told(100, 7), Moment::us(4));
        assert!(close(s.rate, before));
        b.on_feedback(&mut s, told(100, 8), Moment::us(5));
        assert!(close(s.rate, before + 53e6));
    }

    #[test]
    fn a_limiter_that_hears_nothing_recovers_and_goes() {
        let b = Bcn::new(&Params::default(), Rate::gbps(10), 1);
        let mut s = b.start();
        for k in 1..=40 {
            b.on_feedback(&mut s, told(-1875, 7), Moment::us(k));
        }
        assert!(close(s.rate, 10e6));
        assert_eq!(b.next_change(&s), Moment::us(1) + b.drift_interval);
        b.advance(&mut s, Moment::us(1) + Duration::ms(5_000));
        assert!(close(s.rate, 10e6 + 5_000e6));
        b.advance(&mut s, Moment::ms(20_000));
        assert!(close(s.rate, 1e10) && s.point == 7);
        // The line rate does not drift, so no timer is set.
        assert_eq!(b.next_change(&s), Moment::NEVER);
        b.vanish(&mut s, false);
        assert_eq!(s.point, 7);
        b.vanish(&mut s, true);
        assert_eq!((s.point, s.next_drift), (0, Moment::NEVER));
    }

    #[test]
    fn a_source_that_is_told_to_stop_waits_at_random_and_once() {
        let b = Bcn::new(&Params::default(), Rate::gbps(10), 1);
        let waits: Vec<u64> = (0..1000)
            .map(|key| {
                let mut s = State { key, ..b.start() };
                b.on_feedback(&mut s, Feedback { value: 0, point: 7 }, Moment::us(10));
                let first = s.resumes;
                b.on_feedback(&mut s, Feedback { value: 0, point: 7 }, Moment::us(10));
                assert!(s.resumes == first && close(s.rate, 10e6));
                (first - Duration::us(10)).ps()
            })
            .collect();
        let mean = waits.iter().sum::<u64>() / 1000;
        assert!(
            waits.iter().all(|w| *w < Duration::us(100).ps()) && (45_000_000..55_000_000).contains(&mean),
            "{mean}"
        );
    }
}
