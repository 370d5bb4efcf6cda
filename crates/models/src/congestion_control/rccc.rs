//! RCCC, Receiver-Credit Congestion Control of Ultra Ethernet: receivers grant what senders send, as fast as their line takes it.
//!
//! Models: a flow begins with credit for `maximum` products, which ends with the first thing that it hears. Each packet says how much
//! its flow wants in all: what waits, up to `maximum` products (and a window, if another congestion control has one), less the credit
//! that it has. The receiving host has one pacer (`pulls/`): flows that want more get credit for `batch` packets in turn, and the next
//! pull follows when that has had the time to arrive at `rate` of the line. While nobody wants any, flows get up to `maximum` products
//! unasked, since what was cut last may have left its flow without credit. A flow without credit that hears nothing for its timeout
//! asks in a frame of its own. Where the network is narrower than hosts, `oversubscription` lowers what is pulled by packets that were
//! cut on the way, and marks. With NSCC beside it both have to allow a packet. Source: the public reference simulator of Ultra
//! Ethernet (peers.md 5.3), which is not the text of its specification; its predecessor is EQDS (NSDI 2022).
//! Simplifications: a flow wants all that it will ever send; several flows of a host do not share what they ask for; flows that are
//! over get no credit; a packet that is cut at its last hop makes NSCC's window smaller like any other.
//! Invariants: credit granted is credit spent, lapsed and left; packets go while some is left, so that it falls below zero by less
//! than a packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use super::contract::{Control, Count, Hosts, Line, Sent};
use crate::packet::Packet;
use crate::pulls::{Adaption, Demand, GRANTED, LAPSED, PULLS, REQUESTS, Rules, SLOW, SPENT, Targets};
use crate::wrong::Wrong;

/// `host.congestion_control.rccc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The longest round trip without queues. Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// The most credit that a flow has, and its first: products of a host's rate and the round trip.
    pub maximum: f64,
    /// What a pull grants at most; the reference has four packets of 4096 B, whatever size packets are.
    pub batch: Bytes,
    /// Bytes in which credit is counted.
    pub quantum: Bytes,
    /// Share of its line that a host grants, above 0 and up to 1.
    pub rate: f64,
    /// Whether flows that want nothing get credit while nobody wants any.
    pub slow_pulls: bool,
    /// What a host grants follows congestion in the network. Default: it does not.
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
    /// The mean time between two looks at what arrived. Default: one and a half round trips of 12us.
    pub interval: Duration,
    /// The average share of marked packets that is borne, 0 to 1.
    pub target: f64,
    /// What the share of the line grows by, each time that there is no congestion.
    pub increase: f64,
    /// What part of it goes, for the whole of what is marked above the target.
    pub decrease: f64,
    /// The least share of the line; where it is known how many times narrower the network is, nine tenths of that share suit.
    pub minimum: f64,
}

impl Default for Oversubscription {
    fn default() -> Self {
        Self { interval: Duration::us(18), target: 0.3, increase: 0.01, decrease: 0.5, minimum: 0.01 }
    }
}

/// Its senders do what receivers let them do, and nothing of their own.
#[derive(Debug, Clone)]
pub struct Rccc;

/// Whether a share is above zero and up to one; says so otherwise.
fn check_share(key: &'static str, share: f64) -> Result<(), Wrong> {
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
        let most = ((params.maximum * line.product(params.round_trip.unwrap_or_default())) as u64).max(largest);
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

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), Wrong> {
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
            let why = format!("{} is out of range; allowed are a quantum of {} and up to 1GiB", params.batch, params.quantum);
            return Err(("batch", why));
        }
        check_share("rate", params.rate)?;
        if let Some(o) = &params.oversubscription {
            if o.interval < Duration::ns(100) {
                return Err(("oversubscription.interval", "it must be 100ns or longer".into()));
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
        hosts.must_answer("nothing")?;
        if !hosts.holds_lost {
            let why = "what is sent again needs credit, too, and this transport lets it go without; use host.transport.selective";
            return Err(("", why.into()));
        }
        Ok(())
    }

    fn start(&self) {}

    fn on_sent(&self, (): &mut (), _: &mut Packet, _: Sent) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Framing;

    #[test]
    fn rules_are_those_of_the_reference() {
        // 100 Gb/s and 12 us: 150,000 B. Four packets of 4096 B are 64 quanta of 256 B, each of which takes 20.48 ns / 0.99.
        let framing = Framing { payload: 4086, header: 64, control: 64, minimum: 64 };
        let line = Line { framing, ..Line::for_tests(Duration::us(12)) };
        let rules = Rccc::pulls(&Params::default(), line).unwrap();
        assert_eq!((rules.first, rules.batch, rules.time), (225_000, 64, Duration(20_686)));
        let Demand::Targets(targets) = rules.demand else { panic!("it grants bytes") };
        assert_eq!((targets.quantum, targets.most, targets.largest), (256, 225_000, 4150));
        // A flow may always have a packet, and a pull grants whole quanta.
        let tiny = Params { round_trip: Some(Duration::ns(10)), quantum: Bytes(1024), batch: Bytes(2000), ..Params::default() };
        let rules = Rccc::pulls(&tiny, line).unwrap();
        assert_eq!((rules.first, rules.batch), (4150, 1));
    }
}
