//! What a source learns from congestion points, and when its next packet is there to be sent.

use xoff_units::Time;

use super::{Endpoint, Sender};
use crate::congestion_control::Feedback;
use crate::packet::Packet;

impl Sender {
    /// Whether a packet is there to be sent; all of a flow is, unless it comes bit by bit.
    #[inline]
    pub(super) fn has_arrived(&self, seq: u32) -> bool {
        self.arrivals.as_ref().is_none_or(|a| seq < a.arrived())
    }

    /// When a packet is there: now or before as zero.
    #[inline]
    pub(super) fn arrives(&self, seq: u32) -> Time {
        match &self.arrivals {
            Some(arrivals) if seq >= arrivals.arrived() => arrivals.next(),
            _ => Time::ZERO,
        }
    }
}

impl Endpoint {
    /// A message of a congestion point for a flow. What is left of the wait for its next packet shrinks or grows with the rate.
    pub fn on_feedback(&mut self, packet: &Packet, now: Time) {
        self.notifications += 1;
        let Some(slot) = self.slot(packet.flow) else { return };
        let Some(s) = &mut self.senders[slot] else { return };
        s.notifications += 1;
        let scheme = &self.config.schemes[s.port as usize];
        let (before, waits) = (scheme.pace(&s.rate), s.next_send.since(now));
        scheme.on_feedback(&mut s.rate, Feedback { value: packet.seq.cast_signed(), point: packet.info, flow: packet.flow }, now);
        if let (Some(before), Some((after, resumes))) = (before, scheme.pace(&s.rate)) {
            s.next_send = (now + Time((waits.ps() as f64 * (before.0 / after)) as u64)).max(resumes);
        }
    }
}
