//! Pulls at both ends of a flow: arrivals request credit, and sent packets use credit.

use super::receive::all_here;
use super::receiver::ALL_HERE;
use super::sender::Sender;
use super::{Config, Endpoint};
use crate::frames::kinds::{self, Granted};
use crate::frames::packet::Packet;
use crate::hosts::congestion_control::contract::Loss;
use crate::hosts::pulls::{self, CreditCounters, Demand};
use crate::parts::count::Tally;
use crate::ports::effects::{Effect, Effects};

impl Sender {
    /// True when the receiver's credit allows a packet.
    #[inline]
    pub(super) fn has_credit(&self) -> bool {
        self.credit.as_ref().is_none_or(|credit| credit.is_open())
    }

    /// Pays for a sent packet, and writes the flow's demand onto the packet if the rules need a demand.
    #[cold]
    pub(super) fn spend(&mut self, packet: &mut Packet, config: &Config, counters: &mut CreditCounters) {
        if let (Some(credit), Some(rules)) = (&mut self.credit, &config.pulls) {
            credit.spend(rules, packet.bytes(), counters);
        }
        if let Some(target) = self.target(config) {
            packet.set_tag(target);
        }
    }

    /// Returns the total demand of the flow, if the rules need a demand.
    fn target(&self, config: &Config) -> Option<u32> {
        let (credit, rules) = (self.credit.as_ref()?, config.pulls.as_ref()?);
        let Demand::Targets(targets) = &rules.demand else { return None };
        let framing = &config.framing;
        let known = config.transport.delivered(&self.progress, &self.transport)
            + config.transport.in_flight(&self.progress, &self.transport);
        let mut waits = u64::from(self.progress.packets.saturating_sub(known)) * framing.largest();
        if let Some(messages) = &self.messages {
            let lacks = |last| framing.largest() - u64::from(framing.frame(last));
            waits -= messages.short(self.progress.next, lacks);
        } else if self.progress.next < self.progress.packets {
            // The last packet is smaller than others.
            waits -= framing.largest() - u64::from(self.wire(self.progress.packets - 1, framing));
        }
        let window = config.schemes.at(self.control, self.port).window(&self.rate) / framing.payload;
        Some(credit.target(targets, waits, window.saturating_mul(framing.largest())))
    }
}

impl Endpoint {
    /// True when the flow starts here.
    pub fn is_own(&self, flow: u32) -> bool {
        self.config.sources.of(flow) == self.node
    }

    /// Handles a returned header of a trimmed packet of this host.
    pub fn on_bounce(&mut self, header: &Packet, effects: &mut Effects) {
        let Some(slot) = self.slot(header.flow()) else { return };
        let (config, Some(s)) = (&*self.config, &mut self.senders[slot]) else { return };
        let pulled = s.credit.as_ref().map_or(0, |credit| credit.pulled());
        let is_free = config.transport.on_bounce(&mut s.progress, &mut s.transport, header.seq(), pulled);
        config.schemes.at(s.control, s.port).on_loss(&mut s.rate, Loss::Reported, effects.now);
        s.set_timer(config, effects);
        if let Some(credit) = s.credit.as_mut().filter(|_| is_free) {
            credit.add(1, &mut self.counters);
        }
    }

    /// Handles a pull for a flow of this host, or a request for a flow that ends here.
    pub fn on_pull(&mut self, packet: &Packet, effects: &mut Effects) {
        if self.is_own(packet.flow()) {
            if let (Some(kinds::Pull { total: Granted(total) }), Some(slot)) =
                (packet.payload(), self.slot(packet.flow()))
                && let (Some(s), Some(rules)) = (&mut self.senders[slot], &self.config.pulls)
                && let Some(credit) = &mut s.credit
            {
                credit.pull(rules, total, &mut self.counters);
            }
        } else if self.receiver(packet.flow()) != ALL_HERE {
            self.report(packet, false, effects);
        } else if self.config.loses_frames {
            // The answers that said so were lost.
            effects.push(Effect::Answer(all_here(packet, &self.config)));
        }
    }

    /// The part of the scenario that has a half at receivers, if any.
    pub fn receiving_part(&self) -> Option<&'static str> {
        let of_control = || self.receiving.as_ref().and_then(|_| self.control());
        self.config.pulls.as_ref().map(|rules| rules.part).or_else(of_control)
    }

    /// Adds up the counts of the receiver's half, and of credit.
    pub fn count_receiving(&self, tally: &mut dyn Tally) {
        if let Some(rules) = &self.config.pulls {
            pulls::count(rules, &self.counters, tally);
        }
        if let Some(receiving) = &self.receiving {
            receiving.half.counts(tally);
        }
    }

    /// Returns the request of a flow that waits for credit and heard no answer for its timeout.
    pub(super) fn request(&mut self, slot: usize) -> Option<Packet> {
        let s = self.senders[slot].as_ref()?;
        let is_stuck = !s.has_credit() && self.config.transport.next(&s.progress, &s.transport).is_some();
        let target = s.target(&self.config).filter(|_| is_stuck)?;
        let flow = s.flow;
        self.counters.requests += 1;
        let mut frame = Packet::with(
            kinds::Pull { total: Granted(target) },
            flow,
            s.dst,
            self.config.framing.control,
            s.class,
        );
        frame.set_path(s.path);
        Some(frame)
    }
}
