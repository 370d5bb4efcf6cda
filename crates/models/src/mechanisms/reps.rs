//! REPS, Recycled Entropy Packet Spraying (Bonato et al., 2024): hosts choose the paths of packets, and use
//! the values of clean answers again.
//! A source writes an entropy value onto each packet, and switches choose among equal ports by a hash of flow
//! and value. The value of a packet whose answer bears no mark enters a ring of `buffer` values. The next
//! packet takes the oldest unused value, or a random value of `entropy_values`. After a timeout a source may
//! freeze: the flow goes round its ring, forgets the ring, and draws sixteen values. Simplifications: each
//! packet is answered; a source remembers the values of its packets; the value is the tag of packets, without
//! bytes on the wire. No bit map of penalties.
//! Invariants: choices are on shortest paths; a value leads a flow to one port at a switch; a ring holds
//! values of clean answers alone. Source: Ultra Ethernet's public simulator (`docs/models/reps.md`).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::mix;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, index, number, wide};

use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::frames::tag::TagField;
use crate::mechanisms::contract::{Departure, Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::count::{Count, Tally};
use crate::parts::ids::PortId;
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// `switch.routing.reps`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of entropy values of a flow; a few for each path.
    pub entropy_values: u32,
    /// Number of values that a flow remembers.
    pub buffer: u32,
    /// After a timeout a flow goes round its remembered values for this time. Default: no freeze.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self { entropy_values: 64, buffer: 8, freeze: None }
    }
}

/// Random values after a freeze.
const EXPLORED: u32 = 16;

/// REPS at a node.
#[derive(Debug, Clone)]
pub struct Reps {
    forwards: bool,
    is_host: bool,
    salt: u64,
    values: u32,
    buffer: usize,
    freeze: Option<Duration>,
    /// The bits of entropy values in the tag of packets.
    tag: TagField,
    /// Active flows of this host.
    flows: FxHashMap<u32, Flow>,
    recycled: u64,
}

impl State for Reps {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            forwards: _,
            is_host: _,
            salt: _,
            values: _,
            tag: _,
            buffer: _,
            freeze: _,
            flows,
            recycled,
        } = self;
        walk.total(recycled);
        walk.keyed(flows.iter_mut(), |walk, flow, state| {
            walk.of_flow(*flow);
            state.walk(walk);
        });
    }
}

/// State of a flow at its source.
#[derive(Debug, Clone, Default)]
struct Flow {
    /// Values of packets from the oldest packet without ACK on.
    first: u32,
    sent: VecDeque<u16>,
    /// Values of clean answers, the newest before `head`; `fresh` of them are unused.
    ring: Vec<u16>,
    head: usize,
    fresh: usize,
    frozen_until: Option<Moment>,
    next_frozen: usize,
    to_explore: u32,
}

state!(Flow {
    packet: first;
    value: sent, ring, head, fresh, next_frozen, to_explore;
    dues: frozen_until;
});

impl Flow {
    /// A clean answer to a packet with this value.
    fn keep(&mut self, value: u16, buffer: usize) {
        if self.ring.len() < buffer {
            self.ring.push(value);
        } else {
            self.ring[self.head] = value;
        }
        self.head = (self.head + 1) % buffer;
        self.fresh = (self.fresh + 1).min(buffer);
    }

    /// Returns a value to use again, if any.
    fn again(&mut self, buffer: usize) -> Option<u16> {
        if self.to_explore > 0 {
            self.to_explore -= 1;
            return None;
        }
        if self.frozen_until.is_some() && !self.ring.is_empty() {
            self.next_frozen = (self.next_frozen + 1) % self.ring.len();
            return Some(self.ring[self.next_frozen]);
        }
        if self.fresh == 0 {
            return None;
        }
        let oldest = (self.head + buffer - self.fresh) % buffer;
        self.fresh -= 1;
        Some(self.ring[oldest])
    }

    /// Ends a freeze when its time is over.
    fn thaw(&mut self, now: Moment) {
        if self.frozen_until.is_some_and(|until| now > until) {
            (self.frozen_until, self.fresh, self.head) = (None, 0, 0);
            self.ring.clear();
            self.to_explore = EXPLORED;
        }
    }

    /// Remembers the value of a packet.
    fn note(&mut self, seq: u32, value: u16) {
        let at = index(seq.wrapping_sub(self.first));
        if let Some(known) = self.sent.get_mut(at) {
            *known = value;
        } else if at == self.sent.len() {
            self.sent.push_back(value);
        }
    }

    /// Returns the value of the answered packet, and forgets packets before `to`.
    fn answered(&mut self, seq: u32, to: u32) -> Option<u16> {
        let value = self.sent.get(index(seq.wrapping_sub(self.first))).copied();
        let gone = index(to.saturating_sub(self.first)).min(self.sent.len());
        self.sent.drain(..gone);
        self.first += number(gone);
        value
    }
}

/// Bits of an entropy value.
const BITS: u8 = 16;

const RECYCLED: Count = Count::number("recycled", "packets with a reused entropy value");

impl Install for Reps {
    type Params = Params;
    const LABEL: &'static str = "REPS";
    const COUNTS: &'static [Count] = &[RECYCLED];
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("ecn", "REPS leaves a path for losses alone, as no switch marks packets; set switch.ecn"));

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        Some(Self {
            forwards: site.forwards,
            is_host: site.is_host,
            salt: mix(u64::from(site.id) + 1),
            values: params.entropy_values,
            tag: site.tag,
            buffer: index(params.buffer),
            freeze: params.freeze,
            flows: FxHashMap::default(),
            recycled: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, scatters: true, tag_bits: BITS, ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if !(2..=65_536).contains(&params.entropy_values) {
            return Err((
                "entropy_values",
                format!("{} is out of range; allowed are 2 to 65536", params.entropy_values),
            ));
        }
        if !(1..=1024).contains(&params.buffer) {
            return Err(("buffer", format!("{} is out of range; allowed are 1 to 1024", params.buffer)));
        }
        if params.freeze.is_some() && context.other(|o| o.cuts_data).is_none() {
            let why = "needs switch.trimming; set switch.trimming, or remove it";
            return Err(("freeze", why.into()));
        }
        Ok(())
    }
}

impl Reps {
    fn choose(&mut self, packet: &Packet, effects: &mut Effects) -> u16 {
        let flow = self.flows.entry(packet.flow()).or_default();
        flow.thaw(effects.now);
        let again = flow.again(self.buffer);
        self.recycled += u64::from(again.is_some());
        let value = again.unwrap_or_else(|| effects.draw(packet, u64::from(self.values)) as u16);
        flow.note(packet.seq(), value);
        value
    }
}

impl Hooks for Reps {
    fn watches(&self) -> Watches {
        let at_switch = if self.forwards { Watches::ROUTE } else { Watches::NONE };
        if self.is_host { at_switch.and(Watches::DEPARTURE).and(Watches::ANSWER) } else { at_switch }
    }

    fn route(
        &mut self,
        packet: &mut Packet,
        choices: &[PortId],
        _: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        let hash = mix(u64::from(effects.key(packet.flow()))
            ^ mix(u64::from(packet.tag_of(self.tag)) + 1)
            ^ self.salt)
            >> 32;
        Some(choices[((hash * wide(choices.len())) >> 32) as usize])
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, _: &Core, effects: &mut Effects) {
        if event.is_own {
            let value = u32::from(self.choose(event.packet, effects));
            event.packet.set_tag_of(self.tag, value);
        }
    }

    fn on_answer(&mut self, answer: &Packet, is_over: bool, _: &Core, effects: &mut Effects) {
        if is_over {
            self.flows.remove(&answer.flow());
            return;
        }
        let Some(flow) = self.flows.get_mut(&answer.flow()) else { return };
        flow.thaw(effects.now);
        let value = flow.answered(answer.answers(), answer.seq());
        let is_clean = answer.kind() != Kind::Nack && !answer.has(Packet::ECHO);
        if let Some(value) = value.filter(|_| is_clean && flow.frozen_until.is_none()) {
            flow.keep(value, self.buffer);
        }
    }

    fn on_silence(&mut self, flow: u32, _: &Core, effects: &mut Effects) {
        if let Some(freeze) = self.freeze
            && let Some(flow) = self.flows.get_mut(&flow)
            && flow.frozen_until.is_none()
            && flow.to_explore == 0
        {
            flow.frozen_until = Some(effects.now + freeze);
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(RECYCLED, self.recycled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reps(is_host: bool) -> Reps {
        Reps {
            forwards: !is_host,
            is_host,
            salt: mix(7),
            values: 64,
            buffer: 8,
            tag: TagField::WHOLE,
            freeze: Some(Duration::us(10)),
            flows: FxHashMap::default(),
            recycled: 0,
        }
    }

    /// A host that sends flow 3, answer by answer.
    struct Host {
        reps: Reps,
        effects: Effects,
        core: Core,
        next: u32,
    }

    impl Host {
        fn new() -> Self {
            Self { reps: reps(true), effects: Effects::for_tests(1), core: Core::for_tests(1, 1), next: 0 }
        }

        /// The value of the next packet.
        fn send(&mut self) -> u16 {
            let packet = Packet::new(Kind::Data, 3, self.next, 9, 1000, 0);
            self.next += 1;
            self.reps.choose(&packet, &mut self.effects)
        }

        fn answer(&mut self, kind: Kind, came: u32, is_marked: bool) {
            let mut answer = Packet::new(kind, 3, if kind == Kind::Ack { came + 1 } else { 0 }, 1, 64, 0);
            answer.set_answers(came);
            if is_marked {
                answer.set(Packet::ECHO);
            }
            self.reps.on_answer(&answer, false, &self.core, &mut self.effects);
        }
    }

    #[test]
    fn values_of_clean_answers_are_used_again_the_oldest_first() {
        let mut h = Host::new();
        let sent: Vec<u16> = (0..20).map(|_| h.send()).collect();
        assert_eq!(h.reps.recycled, 0);
        // Packets 4, 9 and 2 came through clean; 5 was marked and 6 was cut.
        for (kind, came, is_marked) in [
            (Kind::Sack, 4, false),
            (Kind::Sack, 5, true),
            (Kind::Sack, 9, false),
            (Kind::Nack, 6, false),
            (Kind::Sack, 2, false),
        ] {
            h.answer(kind, came, is_marked);
        }
        assert_eq!([h.send(), h.send(), h.send()], [sent[4], sent[9], sent[2]]);
        h.send();
        assert_eq!(h.reps.recycled, 3, "then at random");
    }

    #[test]
    fn a_ring_keeps_the_newest_eight() {
        let mut h = Host::new();
        let sent: Vec<u16> = (0..20).map(|_| h.send()).collect();
        for seq in 0..10 {
            h.answer(Kind::Ack, seq, false);
        }
        let again: Vec<u16> = (0..8).map(|_| h.send()).collect();
        assert_eq!(again, sent[2..10]);
        // What is acknowledged is forgotten, and a second answer tells nothing.
        h.answer(Kind::Ack, 3, false);
        h.send();
        assert_eq!(h.reps.recycled, 8);
    }

    #[test]
    fn after_a_timeout_a_flow_goes_round_what_it_knows() {
        let mut h = Host::new();
        let sent: Vec<u16> = (0..20).map(|_| h.send()).collect();
        for seq in 0..3 {
            h.answer(Kind::Ack, seq, false);
        }
        h.reps.on_silence(3, &h.core, &mut h.effects);
        let round: Vec<u16> = (0..6).map(|_| h.send()).collect();
        assert_eq!(round, [1, 2, 0, 1, 2, 0].map(|i| sent[i]));
        // An answer teaches it nothing until the freeze is over; then it draws sixteen at random.
        h.answer(Kind::Ack, 5, false);
        h.effects.now = Moment::us(11);
        let before = h.reps.recycled;
        h.send();
        h.answer(Kind::Ack, 6, false);
        for _ in 0..15 {
            h.send();
        }
        assert_eq!(h.reps.recycled, before);
        assert_eq!(h.send(), sent[6]);
    }

    #[test]
    fn a_flow_that_is_over_is_forgotten() {
        let mut h = Host::new();
        h.send();
        h.reps.on_answer(&Packet::new(Kind::Ack, 3, 1, 1, 64, 0), true, &h.core, &mut h.effects);
        assert!(h.reps.flows.is_empty());
    }

    #[test]
    fn a_value_leads_a_flow_to_one_port_and_values_to_all() {
        let (mut switch, core) = (reps(false), Core::for_tests(6, 1));
        let mut effects = Effects::for_tests(1);
        let mut counts = [0_u32; 4];
        for value in 0..40_000 {
            let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1000, 0);
            packet.set_tag(value);
            let port = switch
                .route(&mut packet, &[PortId(2), PortId(3), PortId(4), PortId(5)], &core, &mut effects)
                .unwrap();
            packet.set_seq(7);
            assert_eq!(
                switch.route(&mut packet, &[PortId(2), PortId(3), PortId(4), PortId(5)], &core, &mut effects),
                Some(port)
            );
            counts[port.index() - 2] += 1;
        }
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 346), "{counts:?}");
    }
}
