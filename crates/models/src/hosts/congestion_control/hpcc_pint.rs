//! HPCC-PINT: HPCC with one small number per packet instead of a record per output.
//!
//! Models: the answer brings the utilisation of the most utilised output, which switches averaged over a
//! round trip (`mechanisms/telemetry/pint.rs`). Rate and window follow the number by the rule of `hpcc.rs`,
//! so the source remembers no output. Each answer is used with a probability. Source: Ben Basat et al.,
//! "PINT" (SIGCOMM 2020); the public ns-3 code of HPCC (`pint.cc`); `docs/models/hpcc_pint.md`.
//! Simplifications: those of HPCC's rule and of PINT. NACKs and SACKs bring nothing. A new path needs no
//! rule, since nothing is compared. Invariants: those of HPCC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use super::contract::{Ack, Control, Count, Hosts, Line, NewFlow, Sent};
use super::hpcc::{self, Hpcc, Law, Pace};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::parts::streams;

/// `host.congestion_control.hpcc_pint`
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
    /// The longest round trip without queues (T), for the window. Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// With which probability an answer is used, above 0 and up to 1.
    pub probability: f64,
}

impl Default for Params {
    fn default() -> Self {
        let hpcc::Params { eta, max_stage, additive_increase, minimum_rate, round_trip } =
            hpcc::Params::default();
        Self { eta, max_stage, additive_increase, minimum_rate, round_trip, probability: 1.0 }
    }
}

impl Params {
    /// The parameters of HPCC's rule.
    const fn law(&self) -> hpcc::Params {
        let &Self { eta, max_stage, additive_increase, minimum_rate, round_trip, probability: _ } = self;
        hpcc::Params { eta, max_stage, additive_increase, minimum_rate, round_trip }
    }
}

/// Parameters resolved for one line.
#[derive(Debug, Clone)]
pub struct HpccPint {
    law: Law,
    probability: f64,
    seed: u64,
}

/// A flow's pace, and the draws that select answers if not all answers are used.
#[derive(Debug, Clone)]
pub struct State {
    pace: Pace,
    draws: Option<Stream>,
}

state!(State {
    part: pace;
    value: draws;
});

impl Control for HpccPint {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "HPCC-PINT";
    const COUNTS: &'static [Count] = &[];
    const HEARS_ACKS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some((
        "pint",
        "HPCC-PINT never reacts, as no switch writes PINT telemetry; set switch.telemetry.pint",
    ));

    fn settled(params: &Params, line: Line) -> Params {
        let hpcc::Params { additive_increase, round_trip, .. } = Hpcc::settled(&params.law(), line);
        Params { additive_increase, round_trip, ..params.clone() }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        Self { law: Law::new(&params.law(), line), probability: params.probability, seed: line.seed }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.short_round_trip(params.round_trip)
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if !(params.probability > 0.0 && params.probability <= 1.0) {
            return Err((
                "probability",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", params.probability),
            ));
        }
        Hpcc::validate(&params.law(), hosts)
    }

    fn start(&self, _: &NewFlow) -> State {
        State { pace: self.law.start(), draws: None }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        if self.probability < 1.0 && s.draws.is_none() {
            s.draws = Some(Stream::new(self.seed, u64::from(sent.key), streams::PINT_ANSWERS));
        }
        Law::gap(&mut s.pace, sent)
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        let Some(utilisation) = ack.beside.map(|t| t.utilisation).filter(|u| *u > 0.0) else { return };
        if s.draws.as_mut().is_some_and(|draws| draws.uniform() >= self.probability)
            || Law::begin(&mut s.pace, ack)
        {
            return;
        }
        self.law.follow(&mut s.pace, utilisation, ack);
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
    use crate::frames::kinds::Kind;
    use crate::frames::packet_metadata::Metadata;

    const T: Duration = Duration::us(12);

    fn control(params: &Params) -> HpccPint {
        HpccPint::new(params, Line::for_tests(T))
    }

    /// The rate after an answer with this utilisation, to the nearest bit per second.
    fn hear(hpcc: &HpccPint, s: &mut State, utilisation: f64, acknowledged: u32) -> u64 {
        let telemetry = Metadata { utilisation, ..Metadata::default() };
        let (next, now) = (acknowledged + 100, Moment::ZERO + T * u64::from(acknowledged));
        let ack = Ack {
            bytes: 1000,
            in_flight: 0,
            acknowledged,
            next,
            is_marked: false,
            is_loss: false,
            rtt: None,
            hops: 1,
            tag: 0,
            beside: Some(&telemetry),
            now,
        };
        hpcc.on_ack(s, &ack);
        s.pace.rate.round() as u64
    }

    #[test]
    fn rates_of_a_round_trip_follow_from_one_and_the_next_round_trip_from_the_last() {
        let hpcc = control(&Params::default());
        let mut s = hpcc.start(&NewFlow::for_tests());
        let mut hear = |utilisation, acknowledged| hear(&hpcc, &mut s, utilisation, acknowledged);
        assert_eq!(hear(2.0, 1), 100_000_000_000, "the first answer only begins a round trip, to packet 101");
        assert_eq!(hear(2.0, 2), 47_540_000_000, "100 Gb/s · 0.95/2 and 40 Mb/s");
        assert_eq!(hear(1.9, 101), 50_040_000_000, "from the line's rate, and not from that before");
        // The first answer of the next round trip sets what the others follow from.
        assert_eq!(
            [(1.9, 102), (1.9, 103), (0.95, 104)].map(|(u, n)| hear(u, n)),
            [50_040_000_000, 25_060_000_000, 50_080_000_000]
        );
    }

    #[test]
    fn an_answer_without_a_number_tells_nothing() {
        let hpcc = control(&Params::default());
        let mut s = hpcc.start(&NewFlow::for_tests());
        assert_eq!([1, 2, 3].map(|n| hear(&hpcc, &mut s, 0.0, n)), [100_000_000_000; 3]);
        hear(&hpcc, &mut s, 2.0, 4);
        assert_eq!(hear(&hpcc, &mut s, 0.0, 5), 100_000_000_000);
    }

    #[test]
    fn some_answers_are_used_and_the_same_ones_each_time() {
        let hpcc = control(&Params { probability: 0.25, ..Params::default() });
        let used = || {
            let mut s = hpcc.start(&NewFlow::for_tests());
            let sent = Sent { key: 0, bytes: 1250, is_queue_empty: false, left: 0, now: Moment::ZERO };
            hpcc.on_sent(&mut s, &mut Packet::new(Kind::Data, 3, 0, 9, 1250, 0), sent);
            // All in one round trip, so that the rate after each answer that is used is one of its own.
            (1..=40_000).map(|n| hear(&hpcc, &mut s, 1.0 + f64::from(n) / 40_000.0, 1)).collect::<Vec<_>>()
        };
        let rates = used();
        assert_eq!(rates, used());
        let changes = rates.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(changes.abs_diff(10_000) < 346, "{changes}");
    }
}
