//! RCCC, Receiver-Credit Congestion Control of Ultra Ethernet: receivers grant credit as fast as the
//! receiver's line takes packets.
//!
//! Models: a flow begins with credit for `maximum` products, which lapses with the first answer. Each packet
//! states the credit that its flow wants. The pacer of the receiving host (`pulls/`) serves flows in turn
//! with `batch` bytes, at `rate` of the line. While no flow wants credit, flows get up to `maximum` products
//! unasked. A flow without credit requests credit after its timeout. `oversubscription` lowers the grants by
//! trims on the path and marks. Beside NSCC both must allow a packet. Source: the public simulator of Ultra
//! Ethernet (`uec.cpp`), not the text of the specification; EQDS (NSDI 2022); `docs/models/rccc.md`.
//! Simplifications: a flow wants all its bytes; flows of a host do not share requests; finished flows get no
//! credit. Invariants: credit granted is credit spent, lapsed and left; credit falls below zero by less than
//! a packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use xoff_units::{Bytes, Duration};

use super::contract::{Control, Count, Hosts, Line, NewFlow, Sent};
use crate::frames::packet::Packet;
use crate::hosts::pulls::{Adaption, Demand, GRANTED, LAPSED, PULLS, REQUESTS, Rules, SLOW, SPENT, Targets};
use crate::parts::param_error::{Change, ParamError};

/// `host.congestion_control.rccc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The longest round trip without queues. Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// The largest and the first credit of a flow, in products of a host's rate and the round trip.
    pub maximum: f64,
    /// Credit of a pull at most, in bytes; the public simulator has four packets of 4096 B for any packet
    /// size.
    pub batch: Bytes,
    /// Bytes in which credit is counted.
    pub quantum: Bytes,
    /// Share of its line that a host grants, above 0 and up to 1.
    pub rate: f64,
    /// Flows without demand get credit while no flow has demand.
    pub slow_pulls: bool,
    /// The grants of a host follow congestion in the network. Default: no reaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oversubscription: Option<Oversubscription>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            round_trip: None,
            maximum: 1.5,
            batch: Bytes(16_384),
            quantum: Bytes(256),
            rate: 0.99,
            slow_pulls: true,
            oversubscription: None,
        }
    }
}

/// `host.congestion_control.rccc.oversubscription`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oversubscription {
    /// Mean time between two adaptions. Default: one and a half round trips of 12us.
    pub interval: Duration,
    /// Tolerated average share of marked packets, 0 to 1.
    pub target: f64,
    /// Growth of the share of the line at each adaption without congestion.
    pub increase: f64,
    /// Factor by which marks above the target lower the share of the line.
    pub decrease: f64,
    /// Smallest share of the line. For a network of known oversubscription choose nine tenths of the ratio.
    pub minimum: f64,
}

impl Default for Oversubscription {
    fn default() -> Self {
        Self { interval: Duration::us(18), target: 0.3, increase: 0.01, decrease: 0.5, minimum: 0.01 }
    }
}

/// RCCC's senders, without a state: receivers decide.
#[derive(Debug, Clone)]
pub struct Rccc;

/// Checks that a share is above zero and at most one.
fn check_share(key: &'static str, share: f64) -> Result<(), ParamError> {
    if share > 0.0 && share <= 1.0 {
        return Ok(());
    }
    Err((key, format!("{share} is out of range; allowed are numbers above 0 and up to 1")))
}

impl Control for Rccc {
    type Params = Params;
    type State = ();
    const LABEL: &'static str = "RCCC";
    const COUNTS: &'static [Count] = &[PULLS, SLOW, REQUESTS, GRANTED, SPENT, LAPSED];
    const PULLS: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        Params { round_trip: Some(params.round_trip.unwrap_or(line.answered)), ..params.clone() }
    }

    fn new(_: &Params, _: Line) -> Self {
        Self
    }

    fn pulls(params: &Params, line: Line) -> Option<Rules> {
        let params = &Self::settled(params, line);
        let (quantum, largest) = (params.quantum.0, line.framing.largest());
        let most =
            ((params.maximum * line.product(params.round_trip.unwrap_or_default())) as u64).max(largest);
        let batch = (params.batch.0 / quantum).max(1);
        let time = Duration::of_real(line.rate.time(quantum).real() / params.rate);
        let adaption = params.oversubscription.as_ref().map(|o| Adaption {
            interval: o.interval,
            target: o.target,
            increase: o.increase,
            decrease: o.decrease,
            minimum: o.minimum,
            seed: line.seed,
        });
        let demand = Demand::Targets(Targets { quantum, most, largest, slow: params.slow_pulls });
        Some(Rules { part: "rccc", first: most, batch: batch as u32, time, demand, adaption })
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.short_round_trip(params.round_trip)
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if params.round_trip.is_some_and(|t| t < Duration::ns(10) || t > Duration::ms(1_000)) {
            return Err(("round_trip", "allowed are 10ns to 1s".into()));
        }
        if !(0.1..=100.0).contains(&params.maximum) {
            return Err(("maximum", format!("{} is out of range; allowed are 0.1 to 100", params.maximum)));
        }
        if !(64..=65_536).contains(&params.quantum.0) {
            return Err(("quantum", format!("{} is out of range; allowed are 64B to 64KiB", params.quantum)));
        }
        if params.batch < params.quantum || params.batch.0 > 1 << 30 {
            let why = format!(
                "{} is out of range; allowed are a quantum of {} and up to 1GiB",
                params.batch, params.quantum
            );
            return Err(("batch", why));
        }
        check_share("rate", params.rate)?;
        if let Some(o) = &params.oversubscription {
            if o.interval < Duration::ns(100) {
                return Err(("oversubscription.interval", "must be 100ns or longer".into()));
            }
            check_share("oversubscription.minimum", o.minimum)?;
            let others = [
                ("oversubscription.target", o.target),
                ("oversubscription.increase", o.increase),
                ("oversubscription.decrease", o.decrease),
            ];
            if let Some((key, share)) = others.into_iter().find(|other| !(0.0..=1.0).contains(&other.1)) {
                return Err((key, format!("{share} is out of range; allowed are 0 to 1")));
            }
        }
        hosts.must_answer("no acknowledgement")?;
        if !hosts.holds_lost {
            let why = "RCCC needs a transport whose retransmissions use credit";
            return Err(("", Change::set("host.transport", json!({ "selective": {} })).after(why)));
        }
        Ok(())
    }

    fn start(&self, _: &NewFlow) {}

    fn on_sent(&self, (): &mut (), _: &mut Packet, _: Sent) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::framing::Framing;

    #[test]
    fn rules_are_those_of_the_reference() {
        // 100 Gb/s and 12 us: 150,000 B. Four packets of 4096 B are 64 quanta of 256 B, each of which takes
        // 20.48 ns / 0.99.
        let framing = Framing { payload: 4086, header: 64, control: 64, minimum: 64 };
        let line = Line { framing, ..Line::for_tests(Duration::us(12)) };
        let rules = Rccc::pulls(&Params::default(), line).unwrap();
        assert_eq!((rules.first, rules.batch, rules.time), (225_000, 64, Duration(20_686)));
        let Demand::Targets(targets) = rules.demand else { panic!("it grants bytes") };
        assert_eq!((targets.quantum, targets.most, targets.largest), (256, 225_000, 4150));
        // A flow may always have a packet, and a pull grants whole quanta.
        let tiny = Params {
            round_trip: Some(Duration::ns(10)),
            quantum: Bytes(1024),
            batch: Bytes(2000),
            ..Params::default()
        };
        let rules = Rccc::pulls(&tiny, line).unwrap();
        assert_eq!((rules.first, rules.batch), (4150, 1));
    }
}
