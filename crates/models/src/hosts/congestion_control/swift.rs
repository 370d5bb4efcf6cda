//! Swift (Kumar et al., SIGCOMM 2020, section 3): a window that follows the delay of each packet.
//!
//! Models: the fabric window. Below the target delay the window grows by `additive_increase` packets a round
//! trip; above the target the window shrinks, at most once a round trip, by `beta` of the excess, at most by
//! `max_decrease`. The target is a base, a step per switch, and flow scaling: α/√window + β within
//! 0..`scaling_range`. Below one packet a flow sends one packet each round trip ÷ window. Source: the paper,
//! and htsim (`swift.cpp`) for values that the paper does not give; `docs/models/swift.md`. Simplifications:
//! hosts have no queues, so no endpoint window; a packet that was sent more than once tells no delay; a
//! reported loss cuts like a hole in SACKs; the first window is the bandwidth-delay product. Invariants:
//! minimum ≤ window ≤ maximum; a round trip keeps at least 1 − `max_decrease` of the window, except after
//! timeouts in a row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment};

use super::contract::{Ack, Control, Count, Hosts, Line, Loss, NewFlow, Sent};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.swift`; windows are in packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The target delay of a path without switches and without flow scaling; the paper's clusters have 25us.
    pub base_target: Duration,
    /// Added to the target for each switch on the way.
    pub hop_target: Duration,
    /// Largest addition of flow scaling to the target. Default: five base targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling_range: Option<Duration>,
    /// Flow scaling adds its whole range at this window and below, in packets.
    pub scaling_min: f64,
    /// Flow scaling adds nothing at this window and above, in packets.
    pub scaling_max: f64,
    /// Packets by which the window grows a round trip.
    pub additive_increase: f64,
    /// Share of the excess delay by which the window shrinks, 0 to 1.
    pub beta: f64,
    /// The largest share that the window loses at once, 0 to 1.
    pub max_decrease: f64,
    /// After this many timeouts in a row the window is the minimum.
    pub retx_reset_threshold: u32,
    /// No window is smaller.
    pub minimum_window: f64,
    /// No window is larger. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_window: Option<f64>,
    /// The first window of a flow. Default: the line's rate times the longest round trip without queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_target: Duration::us(20),
            hop_target: Duration::ns(3053),
            scaling_range: None,
            scaling_min: 0.1,
            scaling_max: 100.0,
            additive_increase: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            retx_reset_threshold: 5,
            minimum_window: 0.001,
            maximum_window: None,
            initial_window: None,
        }
    }
}

/// Parameters resolved for one line; times are picoseconds, windows packets.
#[derive(Debug, Clone)]
pub struct Swift {
    base: f64,
    hop: f64,
    range: f64,
    /// Flow scaling: `alpha`/√window + `offset`.
    alpha: f64,
    offset: f64,
    additive: f64,
    beta: f64,
    max_decrease: f64,
    retx_reset_threshold: u32,
    minimum: f64,
    maximum: f64,
    initial: f64,
    round_trip: Duration,
    payload: u64,
}

/// A flow's window.
#[derive(Debug, Clone)]
pub struct State {
    window: f64,
    /// The last measured round trip.
    rtt: Duration,
    last_decrease: Option<Moment>,
    /// Timeouts in a row. Timeouts of one round trip count as one, since each packet of a lost window has its
    /// own timeout.
    timeouts: u32,
    last_timeout: Option<Moment>,
}

state!(State {
    value: window, rtt, timeouts;
    moments: last_decrease, last_timeout;
});

impl Swift {
    /// Returns the addition of flow scaling to the target.
    fn scaling(&self, window: f64) -> f64 {
        (self.alpha / window.sqrt() + self.offset).clamp(0.0, self.range)
    }

    fn target(&self, window: f64, hops: u32) -> f64 {
        self.base + self.hop * f64::from(hops) + self.scaling(window)
    }

    /// Keeps this share of a window, once a round trip.
    fn decrease(&self, s: &mut State, share: f64, now: Moment) {
        if s.last_decrease.is_none_or(|last| now - last >= s.rtt) {
            s.window = (s.window * share.max(1.0 - self.max_decrease)).max(self.minimum);
            s.last_decrease = Some(now);
        }
    }
}

impl Control for Swift {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "Swift";
    const FOLDS: bool = true;
    const COUNTS: &'static [Count] = &[];
    const HEARS_ACKS: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        let product = line.product(line.round_trip) / line.framing.payload as f64;
        Params {
            scaling_range: Some(params.scaling_range.unwrap_or(params.base_target * 5)),
            initial_window: Some(params.initial_window.unwrap_or(product.max(1.0))),
            ..params.clone()
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        let base = params.base_target.real();
        let range = params.scaling_range.unwrap_or_default().real();
        let (few, many) = (1.0 / params.scaling_max.sqrt(), 1.0 / params.scaling_min.sqrt());
        let alpha = range / (many - few);
        let maximum = params.maximum_window.unwrap_or(f64::INFINITY);
        Self {
            base,
            hop: params.hop_target.real(),
            range,
            alpha,
            offset: -alpha * few,
            additive: params.additive_increase,
            beta: params.beta,
            max_decrease: params.max_decrease,
            retx_reset_threshold: params.retx_reset_threshold,
            minimum: params.minimum_window,
            maximum,
            initial: params.initial_window.unwrap_or(1.0).clamp(params.minimum_window, maximum),
            round_trip: line.round_trip,
            payload: line.framing.payload,
        }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        let payload = line.framing.payload as f64;
        line.small_window("maximum_window", params.maximum_window.map(|packets| packets * payload))
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if params.base_target < Duration::ns(10) || params.base_target > Duration::ms(1_000) {
            return Err(("base_target", "allowed are 10ns to 1s".into()));
        }
        for (key, time) in [("hop_target", Some(params.hop_target)), ("scaling_range", params.scaling_range)]
        {
            if time.is_some_and(|t| t > Duration::ms(1_000)) {
                return Err((key, "allowed are 0ns to 1s".into()));
            }
        }
        for (key, share) in [("beta", params.beta), ("max_decrease", params.max_decrease)] {
            if !(share > 0.0 && share <= 1.0) {
                return Err((
                    key,
                    format!("{share} is out of range; allowed are numbers above 0 and up to 1"),
                ));
            }
        }
        let windows = [
            ("scaling_min", Some(params.scaling_min)),
            ("scaling_max", Some(params.scaling_max)),
            ("additive_increase", Some(params.additive_increase)),
            ("minimum_window", Some(params.minimum_window)),
            ("maximum_window", params.maximum_window),
            ("initial_window", params.initial_window),
        ];
        for (key, packets) in windows {
            if packets.is_some_and(|n| !(1e-6..=1e6).contains(&n)) {
                return Err((key, "allowed are 0.000001 to 1000000 packets".into()));
            }
        }
        if params.scaling_min >= params.scaling_max {
            return Err((
                "scaling_min",
                format!("{} must be below scaling_max, {}", params.scaling_min, params.scaling_max),
            ));
        }
        if let Some(maximum) = params.maximum_window.filter(|m| *m < params.minimum_window) {
            return Err((
                "maximum_window",
                format!("{maximum} is below minimum_window, {}", params.minimum_window),
            ));
        }
        if params.retx_reset_threshold == 0 {
            return Err(("retx_reset_threshold", "must be above zero".into()));
        }
        hosts.must_answer("no delay")
    }

    fn start(&self, _: &NewFlow) -> State {
        State {
            window: self.initial,
            rtt: self.round_trip,
            last_decrease: None,
            timeouts: 0,
            last_timeout: None,
        }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, _: Sent) -> Duration {
        if s.window >= 1.0 { Duration::ZERO } else { Duration::of_real(s.rtt.real() / s.window) }
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        s.timeouts = 0;
        let Some(rtt) = ack.rtt else { return };
        s.rtt = rtt;
        let (delay, target) = (rtt.real(), self.target(s.window, ack.hops));
        if delay < target {
            let acknowledged = (ack.bytes / self.payload) as f64;
            s.window = (s.window + self.additive * acknowledged / s.window.max(1.0)).min(self.maximum);
        } else {
            self.decrease(s, 1.0 - self.beta * (delay - target) / delay, ack.now);
        }
    }

    fn on_loss(&self, s: &mut State, loss: Loss, now: Moment) {
        if loss == Loss::Timeout && s.last_timeout.is_none_or(|last| now - last >= s.rtt) {
            s.last_timeout = Some(now);
            s.timeouts += 1;
            if s.timeouts >= self.retx_reset_threshold {
                s.window = self.minimum;
                return;
            }
        }
        self.decrease(s, 0.0, now);
    }

    /// Returns whole packets, at least one.
    fn window(&self, s: &State) -> u64 {
        s.window.max(1.0) as u64 * self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e6;

    /// The target does not depend on the path: 20 us and flow scaling.
    fn swift(initial_window: f64) -> Swift {
        let params =
            Params { hop_target: Duration::ZERO, initial_window: Some(initial_window), ..Params::default() };
        Swift::new(&params, Line::for_tests(Duration::us(12)))
    }

    fn hear(c: &Swift, s: &mut State, rtt: Duration, now: Moment) -> f64 {
        let ack = Ack {
            bytes: 1000,
            in_flight: 0,
            acknowledged: 1,
            next: 2,
            is_marked: false,
            is_loss: false,
            rtt: Some(rtt),
            hops: 3,
            beside: None,
            tag: 0,
            now,
        };
        c.on_ack(s, &ack);
        s.window
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3 * b.abs().max(1e-3)
    }

    #[test]
    fn flow_scaling_is_that_of_the_paper() {
        let c = swift(1.0);
        assert!(near(c.alpha, 32.66 * US) && near(c.offset, -3.266 * US));
        for (window, us) in [
            (0.01, 100.0),
            (0.1, 100.0),
            (1.0, 29.39),
            (4.0, 13.065),
            (16.0, 4.899),
            (100.0, 0.0),
            (1e4, 0.0),
        ] {
            assert!((c.scaling(window) - us * US).abs() < 0.01 * US, "{window}: {}", c.scaling(window));
        }
        let with_hops = Swift { hop: 3.0 * US, ..swift(1.0) };
        assert!(near(with_hops.target(100.0, 3), 29.0 * US));
    }

    #[test]
    fn one_increase_is_a_share_of_a_packet_for_each_acknowledged() {
        let c = swift(100.0);
        let mut s = c.start(&NewFlow::for_tests());
        // 100 packets of a round trip add one.
        for k in 0..100 {
            hear(&c, &mut s, Duration::us(12), Moment::us(12 + k));
        }
        assert!((s.window - 101.0).abs() < 0.01, "{}", s.window);
        // Below one packet each adds a whole step.
        let mut s = swift(0.25).start(&NewFlow::for_tests());
        assert!(near(hear(&c, &mut s, Duration::us(12), Moment::us(12)), 1.25));
    }

    #[test]
    fn a_decrease_is_bounded_and_comes_once_a_round_trip() {
        // Twice the target: 1 − 0.8·½ = 0.6; from 8/3 of it on, one half.
        for (rtt, share) in [
            (Duration::us(40), 0.6),
            (Duration::us(25), 1.0 - 0.8 * 0.2),
            (Duration::us(54), 0.5),
            (Duration::ms(9), 0.5),
        ] {
            let c = swift(1000.0);
            let mut s = c.start(&NewFlow::for_tests());
            assert!(near(hear(&c, &mut s, rtt, Moment::us(100)), 1000.0 * share), "{rtt}");
            let before = s.window;
            assert!(near(hear(&c, &mut s, rtt, Moment::us(100) + rtt - Duration(1)), before), "{rtt}");
            assert!(hear(&c, &mut s, rtt, Moment::us(100) + rtt) < before);
        }
    }

    #[test]
    fn losses_cut_by_the_bound_and_a_row_of_timeouts_to_the_minimum() {
        let c = swift(64.0);
        let mut s = c.start(&NewFlow::for_tests());
        c.on_loss(&mut s, Loss::Reported, Moment::us(50));
        c.on_loss(&mut s, Loss::Reported, Moment::us(61));
        assert!(near(s.window, 32.0), "one in a round trip of 12 us");
        for ms in 1..5 {
            c.on_loss(&mut s, Loss::Timeout, Moment::ms(ms));
        }
        assert!(near(s.window, 2.0));
        c.on_loss(&mut s, Loss::Timeout, Moment::ms(5));
        assert!(near(s.window, 0.001));
        // An answer ends the row.
        hear(&c, &mut s, Duration::us(12), Moment::ms(6));
        c.on_loss(&mut s, Loss::Timeout, Moment::ms(7));
        assert!(near(s.window, 1.001 / 2.0));
    }

    #[test]
    fn below_one_packet_a_flow_is_paced_by_its_round_trip() {
        let c = swift(0.05);
        let mut s = c.start(&NewFlow::for_tests());
        let sent = Sent { key: 0, bytes: 1048, is_queue_empty: false, left: 0, now: Moment::ZERO };
        assert_eq!(c.on_sent(&mut s, &mut Packet::default(), sent), Duration::us(240));
        assert_eq!(c.window(&s), 1000, "one at a time");
        s.window = 7.9;
        assert_eq!((c.on_sent(&mut s, &mut Packet::default(), sent), c.window(&s)), (Duration::ZERO, 7000));
    }
}
