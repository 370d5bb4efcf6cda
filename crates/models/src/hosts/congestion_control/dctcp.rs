//! DCTCP, Data Center TCP (Alizadeh et al., SIGCOMM 2010), as hardware senders implement it: a rate and the
//! window for the rate.
//!
//! Models: each ACK returns the mark of its packet. Once per round trip the share of marked ACKs moves an
//! average α by the gain `g`. The first mark of a round trip cuts the rate by α/2; a round trip without a cut
//! adds AI. The window is the bandwidth-delay product times the rate's share of the line. Source: the public
//! ns-3 code of HPCC (`rdma-hw.cc`), which paces DCTCP; the paper has a window alone; `docs/models/dctcp.md`.
//! Simplifications: no slow start: a flow begins at line rate with a window of the product; losses change no
//! rate. Invariants: minimum rate ≤ rate ≤ line rate; α within 0..1; one cut in a window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Rate};

use super::contract::{Ack, Control, Echo, Hosts, Line, NewFlow, Sent, check_bounds};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.dctcp`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of the last round trip in alpha, 0 to 1.
    pub g: f64,
    /// Additive increase (AI) a round trip. Default: a packet a round trip; 615Mbps for 1000 B and 13 us, the
    /// value of HPCC's script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Rate>,
    /// No flow goes slower.
    pub minimum_rate: Rate,
    /// The longest round trip without queues. The largest window is the line's rate times this round trip.
    /// Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self { g: 0.0625, additive_increase: None, minimum_rate: Rate::gbps(1), round_trip: None }
    }
}

/// Parameters resolved for one line.
#[derive(Debug, Clone)]
pub struct Dctcp {
    line: f64,
    g: f64,
    additive: f64,
    minimum: f64,
    /// Payload of a bandwidth-delay product.
    product: f64,
}

/// A flow's rate and its counts of marks.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second now.
    rate: f64,
    alpha: f64,
    /// Marks of this round trip.
    marked: u32,
    /// ACKs of this round trip.
    batch: u32,
    /// An ACK beyond this packet ends the round trip; zero before the first.
    until: u32,
    /// After a cut: an ACK beyond this packet lets the rate change again.
    cut_until: Option<u32>,
}

state!(State {
    value: rate, alpha, marked, batch;
    packet: until;
    packets: cut_until;
});

impl Control for Dctcp {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "DCTCP";
    const FOLDS: bool = true;
    const HEARS_ACKS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("ecn", "DCTCP never reacts, as no switch marks packets; set switch.ecn"));

    fn settled(params: &Params, line: Line) -> Params {
        let round_trip = params.round_trip.unwrap_or(line.round_trip);
        let packet = line.framing.payload as f64 * 8e12 / round_trip.ps().max(1) as f64;
        let most = line.rate.real();
        let additive_increase = params.additive_increase.unwrap_or(Rate(packet.min(most) as u64));
        Params { additive_increase: Some(additive_increase), round_trip: Some(round_trip), ..params.clone() }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        let rate = line.rate.real();
        Self {
            line: rate,
            g: params.g,
            additive: params.additive_increase.unwrap_or_default().real(),
            minimum: params.minimum_rate.real().min(rate),
            product: line.product(params.round_trip.unwrap_or(line.round_trip)),
        }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.short_round_trip(params.round_trip)
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if !(params.g > 0.0 && params.g <= 1.0) {
            return Err((
                "g",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", params.g),
            ));
        }
        check_bounds(params.minimum_rate, params.round_trip)?;
        hosts.must_answer("no mark")
    }

    fn start(&self, _: &NewFlow) -> State {
        State { rate: self.line, alpha: 1.0, marked: 0, batch: 0, until: 0, cut_until: None }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        Duration::of_real(sent.bytes as f64 * 8e12 / s.rate)
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        s.marked += u32::from(ack.is_marked);
        let is_full = ack.acknowledged > s.until;
        if is_full {
            // The first round trip only begins to count: its marks are those of the second as well.
            if s.until > 0 {
                let share = (f64::from(s.marked) / f64::from(s.batch)).min(1.0);
                s.alpha = (1.0 - self.g) * s.alpha + self.g * share;
                // So small that it changes neither a rate nor what a mark makes of it.
                if s.alpha < 1e-30 {
                    s.alpha = 0.0;
                }
                s.marked = 0;
            }
            // What is under way, and the ACK that ends the round trip.
            s.batch = if s.until > 0 { ack.next.saturating_sub(ack.acknowledged) } else { ack.next } + 1;
            s.until = ack.next;
        }
        if s.cut_until.is_some_and(|until| ack.acknowledged > until) {
            s.cut_until = None;
        }
        if ack.is_marked && s.cut_until.is_none() {
            s.rate = (s.rate * (1.0 - s.alpha / 2.0)).max(self.minimum);
            s.cut_until = Some(ack.next);
        }
        if is_full && s.cut_until.is_none() {
            s.rate = (s.rate + self.additive).min(self.line);
        }
    }

    /// True for an ACK with an echoed mark; [`Self::on_ack`] handles the mark.
    fn hears(notice: &Packet) -> bool {
        notice.has(Packet::ECHO)
    }

    fn window(&self, s: &State) -> u64 {
        (self.product * s.rate / self.line).max(1.0) as u64
    }

    fn echo(&self) -> Option<Echo> {
        Some(Echo::EVERY)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Moment;

    use super::*;

    const C: f64 = 100e9;
    /// Packets of a product of 150 KB.
    const WINDOW: u32 = 150;

    fn dctcp() -> Dctcp {
        Dctcp::new(&Params::default(), Line::for_tests(Duration::us(12)))
    }

    /// A sender with a window of packets in flight: handles the answer to each packet of `from..to`.
    fn hear(d: &Dctcp, s: &mut State, from: u32, to: u32, is_marked: impl Fn(u32) -> bool) {
        for seq in from..to {
            d.on_ack(
                s,
                &Ack {
                    bytes: 1000,
                    in_flight: 1000 * u64::from(WINDOW),
                    acknowledged: seq + 1,
                    next: seq + 1 + WINDOW,
                    is_marked: is_marked(seq),
                    is_loss: false,
                    rtt: None,
                    hops: 1,
                    beside: None,
                    tag: 0,
                    now: Moment::ZERO,
                },
            );
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn without_marks_alpha_decays_by_its_gain_once_a_round_trip() {
        let (d, mut s) = (dctcp(), dctcp().start(&NewFlow::for_tests()));
        // The first ACK sees 151 packets sent; a round trip ends with the ACK beyond them, and lasts 151
        // ACKs.
        let round = WINDOW + 1;
        for k in 1..=20 {
            hear(&d, &mut s, if k == 1 { 0 } else { 1 + (k - 1) * round }, 1 + k * round, |_| false);
            assert!(near(s.alpha, (15.0_f64 / 16.0).powi(k as i32)), "{k}: {}", s.alpha);
        }
        assert!(near(s.rate, C));
    }

    #[test]
    fn alpha_is_the_average_share_of_marked_answers() {
        // A third of all ACKs: α tends to 1/3, from above by 15/16 of the difference a round trip.
        let (d, mut s) = (dctcp(), dctcp().start(&NewFlow::for_tests()));
        let round = WINDOW + 1;
        let k = 40;
        hear(&d, &mut s, 0, 1 + k * round, |seq| seq % 3 == 0);
        let share = 1.0 / 3.0;
        let expected = share + (1.0 - share) * (15.0_f64 / 16.0).powi(k as i32);
        assert!((s.alpha - expected).abs() < 0.005, "{} {expected}", s.alpha);
    }

    #[test]
    fn when_all_is_marked_the_rate_halves_once_a_window() {
        let (d, mut s) = (dctcp(), dctcp().start(&NewFlow::for_tests()));
        hear(&d, &mut s, 0, 1, |_| true);
        assert!(near(s.rate, C / 2.0), "α is 1 at first");
        hear(&d, &mut s, 1, 1 + WINDOW, |_| true);
        assert!(near(s.rate, C / 2.0), "the window of the cut is not over");
        hear(&d, &mut s, 1 + WINDOW, 2 + WINDOW, |_| true);
        assert!(near(s.rate, C / 4.0));
        hear(&d, &mut s, 2 + WINDOW, 20 * WINDOW, |_| true);
        assert!(near(s.rate, 1e9) && near(s.alpha, 1.0), "down to the minimum: {}", s.rate);
        assert_eq!(d.window(&s), 1500);
    }

    #[test]
    fn a_round_trip_without_a_cut_adds_a_step() {
        let (d, mut s) = (dctcp(), dctcp().start(&NewFlow::for_tests()));
        hear(&d, &mut s, 0, 1, |_| true);
        let round = WINDOW + 1;
        // The ACK that ends the window of the cut ends a round trip as well.
        hear(&d, &mut s, 1, 1 + 10 * round, |_| false);
        // AI is a packet of 1000 B each 12 us: 666.7 Mb/s, and a packet more in each window.
        assert!((s.rate - (C / 2.0 + 10.0 * 8000.0 / 12e-6)).abs() < 10.0, "{}", s.rate);
        assert!(d.window(&s).abs_diff(75_000 + 10_000) <= 1);
    }

    #[test]
    fn one_step_by_hand() {
        // After two round trips of which one answer in four was marked: the marks of the first count with the
        // second's.
        let (d, mut s) = (dctcp(), dctcp().start(&NewFlow::for_tests()));
        hear(&d, &mut s, 0, 2 + WINDOW, |seq| seq % 4 == 3);
        // 38 of 152 answers, in a batch of 152: α = 15/16 + 1/16·(38/152) of what it was, 1.
        assert!(near(s.alpha, 15.0 / 16.0 + 38.0 / 152.0 / 16.0), "{}", s.alpha);
        // The first mark, of packet 3, halved the rate, and its window is that of packet 154.
        assert!(near(s.rate, C / 2.0), "{}", s.rate);
        hear(&d, &mut s, 2 + WINDOW, 4 + WINDOW, |_| false);
        assert!(near(s.rate, C / 2.0), "{}", s.rate);
        hear(&d, &mut s, 4 + WINDOW, 6 + WINDOW, |seq| seq == 5 + WINDOW);
        assert!(near(s.rate, C / 2.0 * (1.0 - s.alpha / 2.0)), "{}", s.rate);
    }
}
