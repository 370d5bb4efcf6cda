//! The two halves of a congestion control: the timers of flows, and the receiver's half of a host.

use xoff_units::{Moment, index};

use super::receive::back_of;
use super::receiver::ALL_HERE;
use super::receiver_half::{ReceiverHalf, arm, expire};
use super::sender::Sender;
use super::{Config, Endpoint};
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::hosts::receiving::{Outbox, Peer};
use crate::ports::effects::{Effect, Effects};

fn send(outbox: Outbox, effects: &mut Effects) {
    for frame in outbox.frames() {
        effects.push(Effect::Answer(frame));
    }
}

impl Sender {
    /// Sets the timer that the flow's congestion control asks for.
    #[inline]
    pub(super) fn set_timer(&mut self, config: &Config, effects: &mut Effects) {
        let wanted = config.schemes.at(self.control, self.port).timer(&self.rate);
        if wanted != Moment::NEVER {
            arm(&mut self.told.get_or_insert_default().timer, wanted, token::RATE, self.flow, effects);
        }
    }
}

impl Endpoint {
    /// True when the flows of a queue go by rank.
    #[inline]
    pub fn is_ranked(&self) -> bool {
        self.config.schemes.is_ranked
    }

    /// The rank of the flow in a slot.
    pub fn rank(&self, slot: u32) -> u64 {
        let of_flow = |s: &Sender| {
            self.config.schemes.at(s.control, s.port).rank(&s.rate, s.left(&self.config.framing))
        };
        self.senders[index(slot)].as_ref().map_or(0, of_flow)
    }

    /// The timer of a flow's congestion control expired.
    pub fn on_rate_timer(&mut self, flow: u32, effects: &mut Effects) {
        let (config, now) = (&*self.config, effects.now);
        let Some(slot) = self.slot(flow) else { return };
        let Some(s) = &mut self.senders[slot] else { return };
        if !s.told.as_mut().is_some_and(|told| expire(&mut told.timer, now)) {
            return;
        }
        let scheme = config.schemes.at(s.control, s.port);
        if scheme.timer(&s.rate) <= now {
            let mut outbox = Outbox::new(now, config.framing.control);
            scheme.on_timer(&mut s.rate, flow, Peer { node: s.dst, path: s.path }, &mut outbox);
            send(outbox, effects);
            s.next_send = scheme.due(&s.rate, s.next_send);
        }
        s.set_timer(config, effects);
    }

    /// Passes an arrival to the receiver's half; `is_end` for the packet that completes a flow.
    #[cold]
    pub(super) fn report(&mut self, packet: &Packet, is_end: bool, effects: &mut Effects) {
        let Some(ReceiverHalf { half, timer }) = &mut self.receiving else { return };
        let node = self.config.sources.of(packet.flow());
        let source = Peer { node, path: back_of(packet.path()) };
        let mut outbox = Outbox::new(effects.now, self.config.framing.control);
        if is_end {
            half.on_end(packet, source, &mut outbox);
        } else {
            half.on_packet(packet, source, &mut outbox);
        }
        send(outbox, effects);
        arm(timer, half.timer(), token::RECEIVER, 0, effects);
    }

    /// Passes a frame of the sender's half to the receiver's half. A flow that has arrived whole needs no answer.
    pub fn on_frame(&mut self, frame: &Packet, effects: &mut Effects) {
        if self.receiving.is_some() && self.receiver(frame.flow()) != ALL_HERE {
            self.report(frame, false, effects);
        }
    }

    /// The timer of the receiver's half expired.
    pub fn on_receiver_timer(&mut self, effects: &mut Effects) {
        let Some(ReceiverHalf { half, timer }) = &mut self.receiving else { return };
        if expire(timer, effects.now) && half.timer() <= effects.now {
            let mut outbox = Outbox::new(effects.now, self.config.framing.control);
            half.on_timer(&mut outbox);
            send(outbox, effects);
        }
        arm(timer, half.timer(), token::RECEIVER, 0, effects);
    }
}
