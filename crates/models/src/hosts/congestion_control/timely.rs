//! TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the change of round trips.
//!
//! Models: once per round trip one sample is compared with the sample before; the average difference, divided
//! by a fixed round trip, is the gradient. Below `t_low` the rate rises; above `t_high` the rate falls by the
//! excess; in between the rate rises with a gradient of zero or less, and falls by a positive gradient. A
//! rise adds AI, and HAI after `hai_threshold` rises in a row. Source: the public ns-3 code of HPCC
//! (`rdma-hw.cc`), where `alpha` weighs the new sample; with `window` its `timely_vwin`;
//! `docs/models/timely.md`. Simplifications: ACKs go before data; a packet that was sent more than once gives
//! no sample; losses change no rate. Invariants: minimum rate ≤ rate ≤ line rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Rate};

use super::contract::{Ack, Control, Count, Hosts, Line, NewFlow, Sent, check_bounds};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.timely`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of the newest difference in the average, 0 to 1.
    pub alpha: f64,
    /// Share of the excess, or of the gradient, by which the rate falls, 0 to 1.
    pub beta: f64,
    /// Below this round trip the rate rises.
    pub t_low: Duration,
    /// Above this round trip the rate falls.
    pub t_high: Duration,
    /// The round trip of which the gradient is a share.
    pub min_rtt: Duration,
    /// Additive increase (AI). Default: 1 Mb/s for each Gb/s of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Rate>,
    /// Hyper increase (HAI). Default: 5 Mb/s for each Gb/s of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper_increase: Option<Rate>,
    /// Rises in a row before the hyper increase.
    pub hai_threshold: u32,
    /// No flow goes slower.
    pub minimum_rate: Rate,
    /// Under way may be no more than the bandwidth-delay product times the rate's share of the line.
    pub window: bool,
    /// The longest round trip without queues, for the window. Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            alpha: 0.875,
            beta: 0.8,
            t_low: Duration::us(50),
            t_high: Duration::us(500),
            min_rtt: Duration::us(20),
            additive_increase: None,
            hyper_increase: None,
            hai_threshold: 5,
            minimum_rate: Rate::gbps(1),
            window: false,
            round_trip: None,
        }
    }
}

/// Parameters resolved for one line; times are picoseconds.
#[derive(Debug, Clone)]
pub struct Timely {
    line: f64,
    alpha: f64,
    beta: f64,
    low: f64,
    high: f64,
    min_rtt: f64,
    additive: f64,
    hyper: f64,
    steps: u32,
    minimum: f64,
    /// Payload of a bandwidth-delay product; none without a window.
    product: Option<f64>,
}

/// A flow's rate and the state behind the rate.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second now.
    rate: f64,
    /// The sample of the round trip before.
    last: Option<f64>,
    /// The average difference of two samples.
    difference: f64,
    /// Rises in a row.
    stage: u32,
    /// An ACK beyond this packet ends a round trip.
    until: u32,
}

state!(State {
    value: rate, last, difference, stage;
    packet: until;
});

impl Timely {
    fn update(&self, s: &mut State, rtt: f64, last: f64) {
        s.difference = (1.0 - self.alpha) * s.difference + self.alpha * (rtt - last);
        let gradient = s.difference / self.min_rtt;
        if rtt < self.low || (rtt <= self.high && gradient <= 0.0) {
            s.rate = (s.rate + if s.stage < self.steps { self.additive } else { self.hyper }).min(self.line);
            // How many more than that does not matter.
            s.stage = (s.stage + 1).min(self.steps);
        } else {
            let excess = if rtt > self.high { 1.0 - self.high / rtt } else { gradient };
            s.rate = (s.rate * (1.0 - self.beta * excess)).max(self.minimum);
            s.stage = 0;
        }
    }
}

impl Control for Timely {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "TIMELY";
    const FOLDS: bool = true;
    const COUNTS: &'static [Count] = &[];
    const HEARS_ACKS: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        Params {
            additive_increase: Some(params.additive_increase.unwrap_or(Rate(line.rate.0 / 1000))),
            hyper_increase: Some(params.hyper_increase.unwrap_or(Rate(line.rate.0 / 200))),
            round_trip: params.round_trip.or_else(|| params.window.then_some(line.round_trip)),
            ..params.clone()
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        let rate = line.rate.real();
        Self {
            line: rate,
            alpha: params.alpha,
            beta: params.beta,
            low: params.t_low.real(),
            high: params.t_high.real(),
            min_rtt: params.min_rtt.real(),
            additive: params.additive_increase.unwrap_or_default().real(),
            hyper: params.hyper_increase.unwrap_or_default().real(),
            steps: params.hai_threshold,
            minimum: params.minimum_rate.real().min(rate),
            product: params.window.then(|| line.product(params.round_trip.unwrap_or(line.round_trip))),
        }
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        for (key, share) in [("alpha", params.alpha), ("beta", params.beta)] {
            if !(share > 0.0 && share <= 1.0) {
                return Err((
                    key,
                    format!("{share} is out of range; allowed are numbers above 0 and up to 1"),
                ));
            }
        }
        for (key, time) in [("t_low", params.t_low), ("t_high", params.t_high), ("min_rtt", params.min_rtt)] {
            if time < Duration::ns(10) || time > Duration::ms(1_000) {
                return Err((key, "allowed are 10ns to 1s".into()));
            }
        }
        if params.t_low > params.t_high {
            return Err(("t_low", format!("{} is above t_high, {}", params.t_low, params.t_high)));
        }
        if params.round_trip.is_some() && !params.window {
            return Err(("round_trip", "has no effect without window; set window, or remove it".into()));
        }
        check_bounds(params.minimum_rate, params.round_trip)?;
        hosts.must_answer("no delay")
    }

    fn start(&self, _: &NewFlow) -> State {
        State { rate: self.line, last: None, difference: 0.0, stage: 0, until: 0 }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        Duration::of_real(sent.bytes as f64 * 8e12 / s.rate)
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt.filter(|_| ack.acknowledged > s.until) else { return };
        let rtt = rtt.real();
        if let Some(last) = s.last {
            self.update(s, rtt, last);
        }
        s.last = Some(rtt);
        s.until = ack.next;
    }

    fn window(&self, s: &State) -> u64 {
        self.product.map_or(u64::MAX, |product| (product * s.rate / self.line).max(1.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Moment;

    use super::*;

    fn timely(window: bool) -> Timely {
        let params = Params { window, ..Params::default() };
        Timely::new(&params, Line::for_tests(Duration::us(12)))
    }

    /// A flow at half its line after samples of these round trips, one sample each.
    fn after(c: &Timely, samples: &[u64]) -> State {
        let mut s = c.start(&NewFlow::for_tests());
        s.rate = 50e9;
        for (k, us) in samples.iter().enumerate() {
            let k = k as u32;
            let rtt = Some(Duration::us(*us));
            let ack = Ack {
                bytes: 1000,
                in_flight: 0,
                acknowledged: 10 * k + 1,
                next: 10 * (k + 1),
                is_marked: false,
                is_loss: false,
                rtt,
                hops: 1,
                beside: None,
                tag: 0,
                now: Moment::us(u64::from(k)),
            };
            c.on_ack(&mut s, &ack);
            // The rest of the round trip changes nothing.
            c.on_ack(&mut s, &Ack { acknowledged: 10 * (k + 1), rtt: Some(Duration::ms(9)), ..ack });
        }
        s
    }

    fn rate(samples: &[u64]) -> f64 {
        after(&timely(false), samples).rate
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b
    }

    #[test]
    fn the_first_sample_only_begins() {
        assert!(near(rate(&[900]), 50e9));
    }

    #[test]
    fn below_the_low_threshold_the_rate_rises_whatever_the_gradient() {
        assert!(near(rate(&[10, 49]), 50.1e9));
        // Five steps of 100 Mb/s, and then of 500.
        assert!(near(rate(&[20; 6]), 50.5e9));
        assert!(near(rate(&[20; 9]), 52e9));
    }

    #[test]
    fn above_the_high_threshold_it_falls_by_the_excess() {
        // 1 − 0.8·(1 − 500/1000) = 0.6, though round trips do not change.
        assert!(near(rate(&[1000, 1000]), 30e9));
        assert!(near(rate(&[2000, 1000]), 30e9));
    }

    #[test]
    fn between_the_thresholds_it_follows_the_gradient() {
        // 8 us more: 0.875·8/20 = 0.35, and 1 − 0.8·0.35 = 0.72.
        assert!(near(rate(&[100, 108]), 36e9));
        // Then as before: an eighth of that is left, 0.04375.
        assert!(near(rate(&[100, 108, 108]), 36e9 * (1.0 - 0.8 * 0.04375)));
        // A gradient of zero or less lets it rise, at first by a small step.
        assert!(near(rate(&[100, 100]), 50.1e9));
        assert!(near(rate(&[100, 108, 100]), 36.1e9));
        // One that is too steep stops at the minimum.
        assert!(near(rate(&[100, 400]), 1e9));
    }

    #[test]
    fn a_fall_ends_the_row_of_rises() {
        let s = after(&timely(false), &[20, 20, 20, 20, 20, 20, 20, 600, 20, 20]);
        // 50.5 and once 0.5; 600 us keep 1 − 0.8/6 of it; then twice 0.1.
        assert!(near(s.rate, 51e9 * (1.0 - 0.8 / 6.0) + 0.2e9), "{}", s.rate);
    }

    #[test]
    fn a_window_is_the_share_of_the_product() {
        assert_eq!(timely(false).window(&after(&timely(false), &[10])), u64::MAX);
        assert_eq!(timely(true).window(&after(&timely(true), &[1000, 1000])), 45_000);
    }
}
