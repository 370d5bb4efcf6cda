//! Reactions of a source: to answers, timeouts and messages of the network.

use xoff_units::{Duration, Moment, index, number};

use super::sender::Sender;
use super::{Config, Endpoint, NO_SLOT, slow};
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Metadata;
use crate::frames::token;
use crate::hosts::congestion_control::contract::{Ack, Loss, Notice, TagField};
use crate::hosts::transport::contract::{News, Progress};
use crate::parts::ids::PortId;
use crate::ports::effects::{Effect, Effects};

impl Sender {
    /// Passes an answer to congestion control; `before` packets had arrived earlier.
    #[cold]
    fn hear(
        &mut self,
        packet: &Packet,
        before: u32,
        news: News,
        beside: Option<&Metadata>,
        config: &Config,
        now: Moment,
    ) {
        let payload = config.framing.payload;
        let Progress { unacknowledged, next, .. } = self.progress;
        let bytes =
            u64::from(config.transport.delivered(&self.progress, &self.transport).saturating_sub(before))
                * payload;
        let copy = packet.copy();
        let rtt = self
            .stamps
            .as_mut()
            .and_then(|stamps| stamps.on_answer(packet.answers(), copy, unacknowledged, now));
        if let Some(round_trip) = rtt {
            let is_excused =
                packet.has(Packet::ECHO) || news.loss.is_some() || !self.waits_for_control(config, now);
            self.judge(round_trip, bytes, is_excused, config, now);
        }
        let scheme = config.schemes.at(self.control, self.port);
        let ack = Ack {
            bytes,
            in_flight: self.in_flight(config) * payload,
            acknowledged: unacknowledged,
            next,
            is_marked: packet.has(Packet::ECHO),
            is_loss: news.loss.is_some(),
            rtt,
            hops: number(packet.hops()).saturating_sub(1),
            beside,
            tag: TagField::lowest(scheme.tag_bits()).read(packet.echoed(beside)),
            now,
        };
        scheme.on_ack(&mut self.rate, &ack);
        self.next_send = scheme.due(&self.rate, self.next_send);
    }

    /// True when only the window or the pace keeps the flow from sending.
    fn waits_for_control(&self, config: &Config, now: Moment) -> bool {
        let next = config.transport.next(&self.progress, &self.transport);
        self.has_credit() && self.held_until() <= now && next.is_some_and(|seq| self.has_arrived(seq))
    }

    /// Records a slow flow on an empty path, at an answer with `bytes` of news.
    fn judge(&mut self, round_trip: Duration, bytes: u64, is_excused: bool, config: &Config, now: Moment) {
        let under_way = self.in_flight(config) * config.framing.payload + bytes;
        let slowest = config.bottlenecks.of(self.port, self.dst);
        if let Some(stamps) = &mut self.stamps {
            let least = stamps.least.unwrap_or(round_trip);
            stamps.slow.on_answer(&slow::Answer { under_way, round_trip, least, is_excused, slowest, now });
        }
    }
}

impl Endpoint {
    /// Passes a message of the network to the flow's congestion control.
    #[inline(never)]
    pub fn on_notice(&mut self, notice: &Packet, effects: &mut Effects) {
        let now = effects.now;
        let control = self.slot(notice.flow()).and_then(|slot| Some(self.senders[slot].as_ref()?.control));
        if !self.config.schemes.at(control.unwrap_or(0), PortId::at(0)).hears(notice) {
            return;
        }
        self.notifications += 1;
        let Some(slot) = self.slot(notice.flow()) else { return };
        let Some(s) = &mut self.senders[slot] else { return };
        s.told.get_or_insert_default().notifications += 1;
        let scheme = self.config.schemes.at(s.control, s.port);
        let start = |seq| s.stamps.as_ref().and_then(|stamps| stamps.start(seq, notice.copy()));
        let sent = notice.named().and_then(start);
        scheme.on_notice(&mut s.rate, &Notice { frame: notice, sent, now });
        s.next_send = scheme.due(&s.rate, s.next_send);
        s.set_timer(&self.config, effects);
    }

    /// Handles an answer of the receiver. True when the flow may be able to send again.
    #[inline]
    pub fn on_answer(&mut self, packet: &Packet, beside: Option<&Metadata>, effects: &mut Effects) -> bool {
        let now = effects.now;
        let Some(slot) = self.slot(packet.flow()) else { return false };
        if packet.has(Packet::ECHO) {
            self.on_notice(packet, effects);
        }
        let config = &*self.config;
        let Some(s) = &mut self.senders[slot] else { return false };
        let before = config.transport.delivered(&s.progress, &s.transport);
        let mut is_news = false;
        for from_there in beside.iter().flat_map(|record| &record.also) {
            is_news |= config.transport.on_also(
                &mut s.progress,
                &mut s.transport,
                packet.seq().wrapping_add_signed(*from_there),
            );
        }
        let mut news = config.transport.on_answer(&mut s.progress, &mut s.transport, packet);
        news.is_news |= is_news;
        if news.is_news {
            s.deadline = config.transport.deadline(&s.progress, &s.transport, now);
        }
        if let (Some(credit), Some(rules)) = (&mut s.credit, &config.pulls) {
            credit.hear(rules, &mut self.counters);
        }
        if let Some(loss) = news.loss {
            config.schemes.at(s.control, s.port).on_loss(&mut s.rate, loss, now);
        }
        if s.stamps.is_some() {
            s.hear(packet, before, news, beside, config, now);
        }
        s.set_timer(config, effects);
        if let Some(messages) = &mut s.messages {
            let count = messages.forget(s.progress.unacknowledged);
            if self.frees_slots {
                self.freed.extend(std::iter::repeat_n(s.flow, count));
            }
        }
        if s.progress.unacknowledged >= s.progress.packets
            && s.messages.as_ref().is_none_or(|messages| messages.is_closed)
        {
            self.finish(slot, now);
            return false;
        }
        !s.is_listed
    }

    /// All of a flow is acknowledged.
    #[cold]
    fn finish(&mut self, slot: usize, now: Moment) {
        let Some(s) = self.senders[slot].take() else { return };
        self.count_finished(&s);
        self.sent.push(s.record(Some(now), &self.config.framing, now));
        self.slots[index(s.flow - self.first_flow)] = NO_SLOT;
        // A slot still listed in its queue is given up at its next turn; only then may it be used again.
        if !s.is_listed {
            self.free.push(number(slot));
        }
    }

    /// Handles the retransmission timer of a flow. True when the flow goes back.
    pub fn on_rto(&mut self, flow: u32, effects: &mut Effects) -> bool {
        let now = effects.now;
        let Some(slot) = self.slot(flow) else { return false };
        let transport = &self.config.transport;
        // The deadline moves to and fro, but never before the shortest timeout from now.
        let shortest = now + transport.timeouts().0;
        let Some(s) = &mut self.senders[slot] else { return false };
        if now < s.deadline {
            effects.push(Effect::Alarm(token::RTO, s.deadline.min(shortest), flow));
            return false;
        }
        let is_outstanding = transport.in_flight(&s.progress, &s.transport) > 0;
        if is_outstanding {
            let lost = transport.on_timeout(&mut s.progress, &mut s.transport, now);
            if let (Some(credit), Some(rules)) = (&mut s.credit, &self.config.pulls) {
                credit.time_out(rules, lost, &mut self.counters);
            }
            for _ in 0..lost {
                self.config.schemes.at(s.control, s.port).on_loss(&mut s.rate, Loss::Timeout, now);
            }
            s.set_timer(&self.config, effects);
        }
        if s.is_idle(&self.config) {
            // The next packet sets its timer anew.
            s.is_rto_set = false;
            return false;
        }
        // A frame that would let the flow go on may be lost: a pull, or the end of a hold without one.
        let waits_for_frame = !s.has_credit() || s.held_until() == Moment::NEVER;
        let is_stuck = !is_outstanding && self.config.loses_frames && waits_for_frame;
        if let (true, Some(credit), Some(rules)) = (is_stuck, &mut s.credit, &self.config.pulls) {
            // All that it sent was answered, and the pulls that went with it were lost.
            credit.time_out(rules, 1, &mut self.counters);
        }
        s.deadline = transport.deadline(&s.progress, &s.transport, now);
        effects.push(Effect::Alarm(token::RTO, s.deadline.min(shortest), flow));
        if let Some(frame) = self.request(slot) {
            effects.push(Effect::Answer(frame));
        }
        is_outstanding || is_stuck
    }
}
