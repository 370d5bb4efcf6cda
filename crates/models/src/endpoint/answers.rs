//! What a source learns: answers of the receiver, timeouts, and what the network tells its congestion control.

use xoff_units::Time;

use super::{Endpoint, NO_SLOT, Sender};
use crate::congestion_control::Scheme;
use crate::congestion_control::contract::{Ack, Loss};
use crate::packet::Packet;
use crate::telemetry::Telemetry;

impl Sender {
    /// What is left of the wait for the next packet shrinks or grows with the rate, if the congestion control says so.
    fn rescale(&mut self, before: Option<(f64, Time)>, scheme: &Scheme, now: Time) {
        if let (Some(before), Some((after, resumes))) = (before, scheme.pace(&self.rate)) {
            let waits = self.next_send.since(now);
            self.next_send = (now + Time((waits.ps() as f64 * (before.0 / after)) as u64)).max(resumes);
        }
    }
}

impl Endpoint {
    /// A frame for the congestion control of a flow.
    pub fn on_notice(&mut self, notice: &Packet, now: Time) {
        self.notifications += 1;
        let Some(slot) = self.slot(notice.flow) else { return };
        let Some(s) = &mut self.senders[slot] else { return };
        s.notifications += 1;
        let scheme = &self.config.schemes[s.port as usize];
        let before = scheme.pace(&s.rate);
        scheme.on_notice(&mut s.rate, notice, now);
        s.rescale(before, scheme, now);
    }

    /// An answer of the receiver; true when the flow may have something to send that it had not before.
    #[inline]
    pub fn on_answer(&mut self, packet: &Packet, telemetry: Option<&Telemetry>, now: Time) -> bool {
        let Some(slot) = self.slot(packet.flow) else { return false };
        if packet.has(Packet::CNP) {
            self.on_notice(packet, now);
        }
        let config = &*self.config;
        let Some(s) = &mut self.senders[slot] else { return false };
        let before = s.progress.unacknowledged;
        let news = config.transport.on_answer(&mut s.progress, &mut s.transport, packet);
        if news.is_news {
            s.deadline = now + config.transport.timeout(&s.progress, &s.transport);
        }
        let scheme = &config.schemes[s.port as usize];
        if let Some(loss) = news.loss {
            scheme.on_loss(&mut s.rate, loss, now);
        }
        if let Some(stamps) = &mut s.stamps {
            let payload = config.framing.payload;
            let packets = s.progress.unacknowledged.saturating_sub(before);
            let ack = Ack {
                bytes: u64::from(packets) * payload,
                acknowledged: s.progress.unacknowledged,
                next: s.progress.next,
                telemetry,
                in_flight: u64::from(s.progress.next.saturating_sub(s.progress.unacknowledged)) * payload,
                is_marked: packet.has(Packet::CNP),
                rtt: stamps.on_acknowledged(s.progress.unacknowledged, now),
                now,
            };
            let before = scheme.pace(&s.rate);
            scheme.on_ack(&mut s.rate, &ack);
            s.rescale(before, scheme, now);
        }
        if s.progress.unacknowledged >= s.progress.packets {
            // Nothing is held of a flow that is over.
            s.paused -= s.held_until.since(now);
            let record = Self::record(s, Some(now));
            self.sent.push(record);
            let index = (packet.flow - self.first_flow) as usize;
            self.slots[index] = NO_SLOT;
            // A slot still listed in its queue is given up at its next turn; only then may it be used again.
            let listed = s.is_listed;
            self.senders[slot] = None;
            if !listed {
                self.free.push(slot as u32);
            }
            return false;
        }
        !s.is_listed
    }

    /// A retransmission timer expired; returns when to look again, and whether the flow went back.
    pub fn on_rto(&mut self, flow: u32, now: Time) -> (Option<Time>, bool) {
        let Some(slot) = self.slot(flow) else { return (None, false) };
        let Some(s) = &mut self.senders[slot] else { return (None, false) };
        let transport = &self.config.transport;
        // The deadline moves to and fro, but never before the shortest timeout from now.
        let shortest = now + transport.timeouts().0;
        if now < s.deadline {
            return (Some(s.deadline.min(shortest)), false);
        }
        let outstanding = s.progress.next > s.progress.unacknowledged;
        if outstanding {
            transport.on_timeout(&mut s.progress, &mut s.transport);
            self.config.schemes[s.port as usize].on_loss(&mut s.rate, Loss::Timeout, now);
        }
        s.deadline = now + transport.timeout(&s.progress, &s.transport);
        (Some(s.deadline.min(shortest)), outstanding)
    }
}
