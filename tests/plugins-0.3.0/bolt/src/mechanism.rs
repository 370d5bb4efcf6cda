//! Bolt at a switch: signals to sources (SRC), supply matching (SM) and proactive ramp-up (PRU).
//!
//! Models: a data packet that arrives at an output with a queue of `threshold` loses the increase bit, and
//! the switch sends a signal to the source, unless a switch before has. Without a queue of `threshold` a
//! packet keeps the increase bit in two cases: a flow has announced the end of the flow (PRU), or the supply
//! of the output exceeds the demand by a packet (SM). Source: the authors' ns-3 code (`PfifoBoltQueueDisc::DoEnqueue`).
//! Simplifications: a switch acts when a packet arrives, before the packet is admitted; the queue is that of
//! data; the drain time of a later switch with a longer queue does not replace the time of the first.
//! Invariants: the supply is at most `supply_cap`; a packet gains no increase bit.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::core::{Core, Queueing};
use xoff_models::count::{Count, Tally};
use xoff_models::effects::{Effect, Effects};
use xoff_models::frames::Index;
use xoff_models::ids::{PortId, QueueId};
use xoff_models::mechanism::{Departure, Hooks, Install, Properties, Site, ValidationContext, Watches};
use xoff_models::packet::Packet;
use xoff_models::param_error::ParamError;
use xoff_models::routing::Sources;
use xoff_models::state;
use xoff_models::tag::TagField;
use xoff_units::{Bytes, Moment};

use crate::{Signal, bits};

/// `switch.plugins.bolt`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A queue of this size makes the switch send signals. Default: two largest packets, as in the authors'
    /// experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// The most supply that an output saves. Default: the largest packet, as in the authors' experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supply_cap: Option<Bytes>,
    /// Supply matching (SM).
    pub supply_matching: bool,
    /// Proactive ramp-up (PRU).
    pub ramp_up: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: None, supply_cap: None, supply_matching: true, ramp_up: true }
    }
}

/// The most announced ends that an output remembers (`MaxPruToken`).
const MOST_ENDS: u32 = 256;

const SIGNALS: Count = Count::number("signals", "signals to sources");
const RAMP_UPS: Count = Count::number("ramp_ups", "increases by announced ends");
const MATCHES: Count = Count::number("supply_matches", "increases by spare supply");

/// The tokens of an output.
#[derive(Debug, Clone)]
struct Output {
    threshold: u32,
    cap: f64,
    supply_matching: bool,
    ramp_up: bool,
    /// Bytes of unused supply.
    supply: f64,
    counted: Moment,
    /// Announced ends of flows that no increase has used.
    ends: u32,
    ramp_ups: u64,
    matches: u64,
}

state!(Output {
    value: supply, ends;
    moment: counted;
    total: ramp_ups, matches;
    constant: threshold, cap, supply_matching, ramp_up;
});

/// Bolt at a switch.
#[derive(Debug, Clone)]
pub struct Bolt {
    outputs: Vec<Output>,
    largest: u64,
    frame_bytes: u16,
    sources: Arc<Sources>,
    tag: TagField,
    signals: u64,
}

state!(Bolt {
    part: outputs;
    total: signals;
    constant: largest, frame_bytes, sources, tag;
});

impl Output {
    fn new(params: &Params, largest: u64) -> Self {
        let threshold = params.threshold.unwrap_or(Bytes(2 * largest));
        Self {
            threshold: threshold.0.min(u64::from(u32::MAX)) as u32,
            cap: params.supply_cap.map_or(largest, |cap| cap.0) as f64,
            supply_matching: params.supply_matching,
            ramp_up: params.ramp_up,
            supply: 0.0,
            counted: Moment::ZERO,
            ends: 0,
            ramp_ups: 0,
            matches: 0,
        }
    }

    /// A frame takes bytes from the supply of the time since the last frame.
    fn count(&mut self, bytes: u16, rate: f64, now: Moment) {
        let supplied = (now - self.counted).real() * rate / 8e12;
        self.supply = (self.supply + supplied - f64::from(bytes)).min(self.cap);
        self.counted = now;
    }

    /// Returns the bits with which a packet of the largest size leaves an output without a queue.
    fn match_supply(&mut self, tag: u32, largest: f64) -> u32 {
        if self.ramp_up && tag & bits::LAST != 0 {
            if tag & bits::FIRST == 0 {
                self.ends = (self.ends + 1).min(MOST_ENDS);
            }
            return tag;
        }
        if tag & bits::INCREASE == 0 {
            return tag;
        }
        if self.ramp_up && self.ends > 0 {
            self.ends -= 1;
            self.ramp_ups += 1;
            return tag;
        }
        if self.supply_matching && self.supply >= largest {
            self.supply -= largest;
            self.matches += 1;
            return tag;
        }
        tag & !bits::INCREASE
    }
}

impl Install for Bolt {
    type Params = Params;
    const LABEL: &'static str = "Bolt";
    const COUNTS: &'static [Count] = &[SIGNALS, RAMP_UPS, MATCHES];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self {
            outputs: vec![Output::new(params, site.framing.largest()); site.ports.len()],
            largest: site.framing.largest(),
            frame_bytes: site.framing.control,
            sources: site.sources.clone(),
            tag: site.tag,
            signals: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        let tells = "no host heeds Bolt's signals; set host.congestion_control.plugins.bolt";
        Properties { tag_bits: bits::COUNT, tells_sources: Some(tells), ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if context.queueing == Queueing::Iq {
            return Err(("", "needs egress queues, and `iq` has none; use oq or voq".into()));
        }
        if params.threshold == Some(Bytes(0)) {
            return Err(("threshold", "must be above zero".into()));
        }
        Ok(())
    }
}

impl Hooks for Bolt {
    fn watches(&self) -> Watches {
        Watches::ASSIGN.and(Watches::ANSWER_DEPARTURE)
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        let output = &mut self.outputs[port.index()];
        let rate = core.ports[port].rate.real();
        output.count(packet.bytes(), rate, effects.now);
        let (waiting, tag) = (core.waiting_bytes(port), packet.tag_of(self.tag));
        if waiting < output.threshold {
            packet.set_tag_of(self.tag, output.match_supply(tag, self.largest as f64));
            return None;
        }
        packet.set_tag_of(self.tag, tag & !bits::INCREASE | bits::DECREASE);
        if tag & bits::DECREASE == 0 {
            self.signals += 1;
            let drain = (f64::from(waiting) * 8e9 / rate) as u32;
            let signal = Signal { packet: Index(packet.seq()), drain };
            let source = self.sources.of(packet.flow());
            let mut frame = Packet::with(signal, packet.flow(), source, self.frame_bytes, packet.class());
            frame.set_copy(packet.copy());
            effects.push(Effect::Emit(frame));
        }
        None
    }

    fn on_answer_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        let output = &mut self.outputs[event.port.index()];
        output.count(event.packet.bytes(), core.ports[event.port].rate.real(), effects.now);
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(SIGNALS, self.signals);
        for output in &self.outputs {
            tally.add(RAMP_UPS, output.ramp_ups);
            tally.add(MATCHES, output.matches);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> Output {
        Output::new(&Params::default(), 1500)
    }

    #[test]
    fn supply_is_what_the_line_carries_beyond_the_packets() {
        // 100 Gb/s carry 1500 bytes in 120 ns.
        let mut output = output();
        output.count(1000, 1e11, Moment::ns(120));
        assert!((output.supply - 500.0).abs() < 1e-9);
        output.count(1000, 1e11, Moment::ns(1_000));
        assert!((output.supply - 1500.0).abs() < 1e-9, "at most the cap");
        output.count(1500, 1e11, Moment::ns(1_000));
        assert!(output.supply.abs() < 1e-9);
    }

    #[test]
    fn an_end_is_worth_one_increase_and_so_is_a_packet_of_supply() {
        let mut output = output();
        let increase = bits::INCREASE;
        assert_eq!(output.match_supply(increase, 1500.0), 0);
        assert_eq!(output.match_supply(bits::LAST, 1500.0), bits::LAST);
        assert_eq!(output.match_supply(bits::LAST | bits::FIRST, 1500.0), bits::LAST | bits::FIRST);
        assert_eq!(output.match_supply(increase, 1500.0), increase);
        assert_eq!(output.match_supply(increase, 1500.0), 0, "the flow of one window announced no end");
        output.supply = 1500.0;
        assert_eq!(output.match_supply(increase, 1500.0), increase);
        assert!(output.supply.abs() < 1e-9);
    }
}
