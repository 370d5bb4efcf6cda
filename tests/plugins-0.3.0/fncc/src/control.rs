//! FNCC at hosts: HPCC's law at the source, and the number of flows from the receiver.
//!
//! Models: the source follows HPCC's law from the records that acknowledgements bring. The receiver writes the
//! number of flows that send to its host onto each acknowledgement. If the output to the receiver, the first
//! record of an acknowledgement, is utilised above `alpha`, the rate becomes `beta` of the fair share of that
//! output. Source: abstract of the paper (the number of flows, the last hop); HPCC's public ns-3 code.
//! Simplifications: a flow counts from the first packet to the last; the defaults of `alpha` and `beta` are
//! this plug-in's choice. Invariants: minimum rate ≤ rate ≤ line rate; the number of flows is at least one on
//! an acknowledgement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::congestion_control::contract::{
    Ack, Control, Count, Hosts, Line, NewFlow, Outbox, Peer, Receiving, Sent, Tag, Tally,
};
use xoff_models::congestion_control::hpcc::{self, Hpcc};
use xoff_models::packet::Packet;
use xoff_models::packet_metadata::Records;
use xoff_models::param_error::ParamError;
use xoff_models::state;
use xoff_units::{Duration, Moment};

/// `host.congestion_control.plugins.fncc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Parameters of HPCC's law.
    pub law: hpcc::Params,
    /// The utilisation of the last hop above which the fair share holds.
    pub alpha: f64,
    /// The share of the fair share.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { law: hpcc::Params::default(), alpha: 1.05, beta: 0.9 }
    }
}

const FAIR_SHARES: Count = Count::number("fair_shares", "rates set to the fair share of the last hop");

/// FNCC on a line.
#[derive(Debug, Clone)]
pub struct Fncc {
    hpcc: Hpcc,
    alpha: f64,
    beta: f64,
}

/// The pace of a flow.
#[derive(Debug, Clone)]
pub struct State {
    hpcc: hpcc::State,
    fair_shares: u64,
}

state!(State {
    part: hpcc;
    total: fair_shares;
});

impl Control for Fncc {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "FNCC";
    const COUNTS: &'static [Count] = &[FAIR_SHARES];
    const HEARS_ACKS: bool = true;
    const TAG: Tag = Tag::ForSwitches;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some((
        "fncc",
        "FNCC never reacts, as no switch writes telemetry onto acknowledgements; set switch.plugins.fncc",
    ));

    fn settled(params: &Params, line: Line) -> Params {
        Params { law: Hpcc::settled(&params.law, line), ..params.clone() }
    }

    fn new(params: &Params, line: Line) -> Self {
        Self { hpcc: Hpcc::new(&params.law, line), alpha: params.alpha, beta: params.beta }
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        for (key, share, most) in [("alpha", params.alpha, 100.0), ("beta", params.beta, 1.0)] {
            if !(share > 0.0 && share <= most) {
                return Err((
                    key,
                    format!("{share} is out of range; allowed are numbers above 0 and up to {most}"),
                ));
            }
        }
        Hpcc::validate(&params.law, hosts)
    }

    fn start(&self, flow: &NewFlow) -> State {
        State { hpcc: self.hpcc.start(flow), fair_shares: 0 }
    }

    fn on_sent(&self, state: &mut State, packet: &mut Packet, sent: Sent) -> Duration {
        self.hpcc.on_sent(&mut state.hpcc, packet, sent)
    }

    fn on_ack(&self, state: &mut State, ack: &Ack<'_>) {
        let last = ack.beside.and_then(|beside| beside.hops.first()).copied();
        let used = last.and_then(|hop| Some((self.hpcc.utilisation(&state.hpcc, &hop)?, hop)));
        self.hpcc.on_ack(&mut state.hpcc, ack);
        if let Some((_, hop)) = used.filter(|(used, _)| *used > self.alpha && ack.tag > 0) {
            let share = hop.rate.real() * self.beta / f64::from(ack.tag);
            self.hpcc.set_rate(&mut state.hpcc, share, ack);
            state.fair_shares += 1;
        }
    }

    fn window(&self, state: &State) -> u64 {
        self.hpcc.window(&state.hpcc)
    }

    fn due(&self, state: &State, due: Moment) -> Moment {
        self.hpcc.due(&state.hpcc, due)
    }

    fn receiving(&self, _: u32) -> Option<Box<dyn Receiving>> {
        Some(Box::new(Receiver { flows: Vec::new() }))
    }

    fn counts(&self, state: &State, tally: &mut dyn Tally) {
        tally.add(FAIR_SHARES, state.fair_shares);
    }
}

/// The flows that send to a host, in the order of numbers.
#[derive(Debug, Clone)]
struct Receiver {
    flows: Vec<u32>,
}

state!(Receiver {
    value: flows;
});

impl Receiving for Receiver {
    fn on_packet(&mut self, _: &Packet, _: Peer, _: &mut Outbox) {}

    fn on_end(&mut self, packet: &Packet, _: Peer, _: &mut Outbox) {
        if let Ok(place) = self.flows.binary_search(&packet.flow()) {
            self.flows.remove(place);
        }
    }

    fn on_ack(&mut self, ack: &mut Packet, packet: &Packet, records: &mut Records) {
        if let Err(place) = self.flows.binary_search(&packet.flow()) {
            self.flows.insert(place, packet.flow());
        }
        ack.echo(self.flows.len() as u32, records);
    }
}
