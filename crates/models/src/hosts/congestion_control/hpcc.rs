//! HPCC, High Precision Congestion Control (Li et al., SIGCOMM 2019): a window and a rate from in-band
//! telemetry.
//!
//! Models: single rate with fast reaction. Each ACK brings the state of every output on the path. The most
//! utilised output moves an average U by the time that passed. With c = U/η the rate is Rc/c + AI if c ≥ 1 or
//! after `max_stage` additive steps, and Rc + AI otherwise; Rc follows once per round trip. The window is the
//! bandwidth-delay product times the rate's share of the line. Source: the paper and the authors' public ns-3
//! code (`rdma-hw.cc`, `run.py`); `docs/models/hpcc.md`. Simplifications: exact fields; a record of another
//! output means a new path, and comparison begins anew. Invariants: minimum rate ≤ rate ≤ line rate; a rate
//! follows from Rc, never from a rate of the same round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use super::contract::{Ack, Control, Count, Hosts, Line, NewFlow, Sent, check_bounds};
use crate::frames::packet::Packet;
use crate::frames::telemetry::Hop;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.hpcc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Target utilisation (η), 0 to 1.
    pub eta: f64,
    /// Additive steps in a row before the rate follows the utilisation again.
    pub max_stage: u32,
    /// Additive increase (AI). Default: 10 Mb/s for each 25 Gb/s of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Rate>,
    /// No flow goes slower.
    pub minimum_rate: Rate,
    /// The longest round trip without queues (T). Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 0,
            additive_increase: None,
            minimum_rate: Rate::gbps(1),
            round_trip: None,
        }
    }
}

/// The rule by which rate and window follow the utilisation on one line; HPCC-PINT uses the same rule.
#[derive(Debug, Clone)]
pub(super) struct Law {
    line: f64,
    eta: f64,
    max_stage: u32,
    additive: f64,
    minimum: f64,
    /// Payload of a bandwidth-delay product.
    product: f64,
}

/// A flow's rate and the state behind the rate.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// Bits per second now.
    pub rate: f64,
    /// The reference rate of this round trip.
    reference: f64,
    stage: u32,
    /// An ACK beyond this packet ends a round trip; zero before the first ACK.
    until: u32,
    /// Bytes of the last packet, and its start.
    bytes: u64,
    sent: Moment,
}

state!(Pace {
    value: rate, reference, stage, bytes;
    packet: until;
    moment: sent;
});

impl Law {
    pub fn new(params: &Params, line: Line) -> Self {
        let rate = line.rate.real();
        Self {
            line: rate,
            eta: params.eta,
            max_stage: params.max_stage,
            additive: params.additive_increase.unwrap_or_default().real(),
            minimum: params.minimum_rate.real().min(rate),
            product: line.product(params.round_trip.unwrap_or(line.round_trip)),
        }
    }

    pub const fn start(&self) -> Pace {
        Pace { rate: self.line, reference: self.line, stage: 0, until: 0, bytes: 0, sent: Moment::ZERO }
    }

    /// The first answer begins the first round trip, and changes no rate.
    pub const fn begin(pace: &mut Pace, ack: &Ack<'_>) -> bool {
        let is_first = pace.until == 0;
        if is_first {
            pace.until = ack.next;
        }
        is_first
    }

    /// An answer says how much the most utilised output is used.
    pub fn follow(&self, pace: &mut Pace, utilisation: f64, ack: &Ack<'_>) {
        let share = utilisation / self.eta;
        let (rate, stage) = if share >= 1.0 || pace.stage >= self.max_stage {
            (pace.reference / share + self.additive, 0)
        } else {
            (pace.reference + self.additive, pace.stage + 1)
        };
        pace.rate = rate.clamp(self.minimum, self.line);
        if ack.acknowledged > pace.until {
            (pace.reference, pace.stage, pace.until) = (pace.rate, stage, ack.next);
        }
    }

    /// Returns the wait after a packet until the next may start.
    pub fn gap(pace: &mut Pace, sent: Sent) -> Duration {
        (pace.bytes, pace.sent) = (sent.bytes, sent.now);
        Self::due(pace) - sent.now
    }

    /// Returns the start of the next packet. A new rate also applies to a wait that has begun, from its start
    /// on.
    pub fn due(pace: &Pace) -> Moment {
        pace.sent + Duration::of_real(pace.bytes as f64 * 8e12 / pace.rate)
    }

    /// Returns the window for a rate.
    pub fn window(&self, pace: &Pace) -> u64 {
        (self.product * pace.rate / self.line).max(1.0) as u64
    }
}

/// Parameters resolved for one line.
#[derive(Debug, Clone)]
pub struct Hpcc {
    law: Law,
    /// Picoseconds.
    round_trip: f64,
}

/// A flow's pace, the average utilisation, and the outputs as the previous ACK showed them.
#[derive(Debug, Clone)]
pub struct State {
    pace: Pace,
    utilisation: f64,
    last: Vec<Hop>,
}

state!(State {
    part: pace;
    value: utilisation;
    part: last;
});

impl Hpcc {
    /// Returns the utilisation of the most utilised output since the previous ACK, and the time between the
    /// records. None without comparable records. An output that has the same record as before sent no packet.
    fn measure(&self, last: &[Hop], now: &[Hop]) -> Option<(f64, f64)> {
        let mut most: Option<(f64, f64)> = None;
        for (before, hop) in last.iter().zip(now) {
            if (before.node, before.port) != (hop.node, hop.port) || hop.at < before.at {
                return None;
            }
            if hop.at == before.at {
                continue;
            }
            let time = (hop.at - before.at).real();
            let rate = hop.rate.real();
            let sent = (hop.sent - before.sent) as f64 * 8e12 / time / rate;
            let queue = f64::from(hop.queued.min(before.queued)) * self.law.line / (rate * self.law.product);
            if most.is_none_or(|m| sent + queue > m.0) {
                most = Some((sent + queue, time));
            }
        }
        most.filter(|_| last.len() == now.len())
    }

    /// Returns the utilisation of one output since the previous ACK, for laws beside HPCC's; none without comparable
    /// records.
    pub fn utilisation(&self, s: &State, hop: &Hop) -> Option<f64> {
        let before = s.last.iter().find(|before| (before.node, before.port) == (hop.node, hop.port))?;
        self.measure(std::slice::from_ref(before), std::slice::from_ref(hop)).map(|most| most.0)
    }

    /// Sets the rate in bits per second and the reference rate, at an answer; the next round trip begins.
    pub const fn set_rate(&self, s: &mut State, rate: f64, ack: &Ack<'_>) {
        s.pace.rate = rate.clamp(self.law.minimum, self.law.line);
        (s.pace.reference, s.pace.stage, s.pace.until) = (s.pace.rate, 0, ack.next);
    }

    fn update(&self, s: &mut State, hops: &[Hop], ack: &Ack<'_>) {
        let found = self.measure(&s.last, hops);
        hops.clone_into(&mut s.last);
        let Some((utilisation, time)) = found else {
            // The first answer, or another path: there is nothing to compare with.
            Law::begin(&mut s.pace, ack);
            return;
        };
        let time = time.min(self.round_trip);
        s.utilisation = (s.utilisation * (self.round_trip - time) + utilisation * time) / self.round_trip;
        self.law.follow(&mut s.pace, s.utilisation, ack);
    }
}

impl Control for Hpcc {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "HPCC";
    const FOLDS: bool = true;
    const COUNTS: &'static [Count] = &[];
    const HEARS_ACKS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some((
        "telemetry",
        "HPCC never reacts, as no switch writes telemetry of outputs; set switch.telemetry without pint",
    ));

    fn settled(params: &Params, line: Line) -> Params {
        Params {
            additive_increase: Some(params.additive_increase.unwrap_or(Rate(line.rate.0 / 2500))),
            round_trip: Some(params.round_trip.unwrap_or(line.round_trip)),
            ..params.clone()
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        let round_trip = params.round_trip.unwrap_or(line.round_trip).ps().max(1) as f64;
        Self { law: Law::new(params, line), round_trip }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.short_round_trip(params.round_trip)
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if !(params.eta > 0.0 && params.eta <= 1.0) {
            return Err((
                "eta",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", params.eta),
            ));
        }
        check_bounds(params.minimum_rate, params.round_trip)?;
        hosts.must_answer("no telemetry")
    }

    fn start(&self, _: &NewFlow) -> State {
        State { pace: self.law.start(), utilisation: 1.0, last: Vec::new() }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        Law::gap(&mut s.pace, sent)
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        if let Some(beside) = ack.beside {
            self.update(s, &beside.hops, ack);
        }
    }

    fn window(&self, s: &State) -> u64 {
        self.law.window(&s.pace)
    }

    fn due(&self, s: &State, _: Moment) -> Moment {
        Law::due(&s.pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::packet_metadata::Metadata;
    use crate::parts::ids::PortId;

    const T: Duration = Duration::us(12);

    fn line() -> Line {
        Line::for_tests(T)
    }

    fn hop(at: Moment, sent: u64, queued: u32) -> Hop {
        Hop { node: 7, port: PortId(1), at, sent, queued, rate: Rate::gbps(100) }
    }

    /// The rate after two ACKs at distance `apart`, with an output that sent at line rate and held 150 KB.
    fn rate_after(apart: Duration, eta: f64) -> f64 {
        let params = Params { eta, round_trip: Some(T), ..Params::default() };
        let hpcc = Hpcc::new(&params, line());
        let mut s = hpcc.start(&NewFlow::for_tests());
        let mut ack = |at: Moment, sent: u64, acknowledged: u32| {
            let telemetry = Metadata { hops: vec![hop(at, sent, 150_000)], ..Metadata::default() };
            let ack = Ack {
                bytes: 1000,
                in_flight: 0,
                acknowledged,
                next: 150,
                is_marked: false,
                is_loss: false,
                rtt: None,
                hops: 1,
                tag: 0,
                beside: Some(&telemetry),
                now: at,
            };
            hpcc.on_ack(&mut s, &ack);
            s.pace.rate
        };
        assert!((ack(Moment::us(20), 0, 1) - 1e11).abs() < 1.0, "the first ACK only stores");
        ack(Moment::us(20) + apart, apart.ps() * 100 / 8000, 2)
    }

    #[test]
    fn one_update_is_that_of_the_equations() {
        // u = 1 + 1: U = 2 after a round trip, and 1.5 after half of one.
        assert!((rate_after(T, 0.95) - (1e11 / (2.0 / 0.95) + 40e6)).abs() < 1e3);
        assert!((rate_after(T / 2, 0.95) - (1e11 / (1.5 / 0.95) + 40e6)).abs() < 1e3);
    }

    #[test]
    fn a_hop_that_is_another_output_is_stored_and_not_compared() {
        let hpcc = Hpcc::new(&Params::default(), line());
        let (a, b) = (hop(Moment::us(1), 0, 0), Hop { port: PortId(2), ..hop(Moment::us(2), 9_000_000, 0) });
        assert_eq!(hpcc.measure(&[a], &[b]), None);
        assert_eq!(hpcc.measure(&[a], &[a, b]), None);
        assert!(
            hpcc.measure(&[a], &[hop(Moment::us(2), 12_500, 0)]).is_some_and(|m| (m.0 - 1.0).abs() < 1e-9)
        );
    }
}
