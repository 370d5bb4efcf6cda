//! What a node does where links send again what was damaged on them; see `retry.rs`.
//!
//! Frames that the receiver has discarded stay with it, and are handled when they come again: what comes again is said by one frame, as
//! its first does. So nothing is on a link twice, and what a node has and what a link carries is counted as ever.

use xoff_units::{Duration, Moment, index};

use super::failing::OutageId;
use super::{Cx, Node};
use crate::endpoint::token;
use crate::frames;
use crate::ids::PortId;
use crate::packet::Packet;
use crate::retry::{Next, Retry};

impl Node {
    fn retry(&mut self, port: PortId) -> Option<&mut Retry> {
        self.failing.as_mut()?.retry(port)
    }

    /// A frame was put onto a link that may have to send it again.
    pub(super) fn keep(&mut self, port: PortId, frame: &Packet, ends: Moment, cx: &mut Cx<'_>) {
        let Some(retry) = self.retry(port).filter(|_| !frame.is_link_local()) else { return };
        retry.sender.sent(frame.bytes(), ends);
        self.look_at_retry(port, false, cx);
    }

    /// Goes back if that is due, and lets the port sleep or wakes it. It `is_settled` if no answer of this moment is still to come.
    fn look_at_retry(&mut self, port: PortId, is_settled: bool, cx: &mut Cx<'_>) {
        let now = cx.now();
        let p = &self.core.ports[port];
        let (busy_until, wire, delay) = (p.busy_until, p.serializer, p.delay);
        let Some(retry) = self.retry(port) else { return };
        if retry.sender.is_due(now)
            && let Some(again) = retry.sender.go_back(now, busy_until, &wire)
        {
            // Said as the first frame comes.
            let comes = again.from + wire.time(u64::from(again.first_bytes)) + delay;
            let frame = frames::Retry { is_start: true, is_late: false, number: 0 };
            self.tell_of_retry(port, frame, comes, cx);
            self.core.ports[port].busy_until = again.until;
            if let Some(failing) = &mut self.failing {
                failing.retried.0 = failing.retried.0.wrapping_add_signed(again.frames);
                failing.retried.1 = failing.retried.1.wrapping_add_signed(again.bytes);
            }
        }
        let Some(retry) = self.retry(port) else { return };
        let (sleeps, at) = match retry.sender.next(now, is_settled) {
            Next::Sends(at) => (false, at),
            Next::Waits(at) => (true, at),
        };
        let slept = std::mem::replace(&mut retry.sleeps, sleeps);
        if let Some(at) = at.map(|at| at.max(now))
            && std::mem::replace(&mut retry.timer, at) != at
        {
            cx.set_timer(at, token::pack(token::RETRY, 0, u32::from(port.0) << 8));
        }
        match (slept, sleeps) {
            (false, true) => self.core.ports[port].sleep(),
            (true, false) => self.rouse(port, cx),
            _ => {}
        }
    }

    fn tell_of_retry(&self, port: PortId, frame: frames::Retry, comes: Moment, cx: &mut Cx<'_>) {
        let Some(failing) = &self.failing else { return };
        let mut frame = Packet::with(frame, u32::MAX, 0, failing.control, 0);
        failing.stamp(port, &mut frame);
        cx.send_express(port.index(), comes, frame);
    }

    /// A timer: of a sender whose epoch is zero, or of a receiver to which the next frame comes again.
    pub(super) fn on_retry_timer(&mut self, payload: u32, cx: &mut Cx<'_>) {
        let (port, epoch) = (PortId::at(index(payload >> 8)), payload as u8);
        if epoch == 0 {
            if let Some(retry) = self.retry(port).filter(|retry| retry.timer == cx.now()) {
                retry.timer = Moment::NEVER;
            }
            self.look_at_retry(port, true, cx);
        } else if self.retry(port).is_some_and(|retry| retry.receiver.epoch == epoch) {
            self.comes_again(port, cx);
        }
    }

    /// What the other end of a link says of frames that come again, or have to.
    pub(super) fn on_retry(&mut self, port: PortId, says: frames::Retry, cx: &mut Cx<'_>) {
        let now = cx.now();
        let Some(retry) = self.retry(port) else { return };
        if says.is_start {
            // Timers of the time before are void.
            retry.receiver.epoch = retry.receiver.epoch % u8::MAX + 1;
            return self.comes_again(port, cx);
        }
        retry.sender.told(says.number, says.is_late, now);
        self.look_at_retry(port, false, cx);
    }

    /// A frame came by a link that sends again, damaged or not; true if it goes no further.
    pub(super) fn is_held(&mut self, port: PortId, packet: &Packet, damaged_by: Option<OutageId>, cx: &mut Cx<'_>) -> bool {
        let Some(retry) = self.retry(port) else { return false };
        let receiver = &mut retry.receiver;
        if !receiver.held.is_empty() {
            receiver.held.push_back(*packet);
            return true;
        }
        let Some(by) = damaged_by else {
            receiver.number = receiver.number.wrapping_add(1);
            return false;
        };
        receiver.held.push_back(*packet);
        self.roll_damage(port, by, false, cx);
        true
    }

    /// The first frame that is held was damaged: it has to come again, or is lost; true if it is.
    fn roll_damage(&mut self, port: PortId, by: OutageId, is_again: bool, cx: &mut Cx<'_>) -> bool {
        let (rate, link) = {
            let p = &self.core.ports[port];
            (p.serializer, p.delay - p.peer_delay)
        };
        let control = self.failing.as_ref().map_or(0, |failing| failing.control);
        let Some(retry) = self.retry(port) else { return false };
        let receiver = &mut retry.receiver;
        receiver.tries += 1;
        let is_late = is_again && receiver.tries > 1;
        if receiver.tries >= receiver.attempts {
            receiver.tries = 0;
            receiver.number = receiver.number.wrapping_add(1);
            if let Some(packet) = receiver.held.pop_front() {
                self.lose_on_link(port, &packet, by, cx);
            }
            return true;
        }
        let frame = frames::Retry { is_start: false, is_late, number: receiver.number };
        self.tell_of_retry(port, frame, cx.now() + rate.time(u64::from(control)) + link, cx);
        false
    }

    /// The first frame that is held comes again.
    fn comes_again(&mut self, port: PortId, cx: &mut Cx<'_>) {
        let Some(bytes) = self.retry(port).and_then(|retry| retry.receiver.held.front()).map(Packet::bytes) else { return };
        let damaged_by = self.failing.as_mut().and_then(|failing| failing.damage(port, bytes));
        if let Some(by) = damaged_by {
            if !self.roll_damage(port, by, true, cx) {
                return;
            }
        } else if let Some(retry) = self.retry(port) {
            let receiver = &mut retry.receiver;
            receiver.tries = 0;
            receiver.number = receiver.number.wrapping_add(1);
            if let Some(packet) = receiver.held.pop_front() {
                self.let_in(port, &packet, cx);
            }
        }
        let Some(receiver) = self.retry(port).map(|retry| &retry.receiver) else { return };
        if let Some(next) = receiver.held.front() {
            let (epoch, takes) = (receiver.epoch, u64::from(next.bytes()));
            let takes: Duration = self.core.ports[port].serializer.time(takes);
            cx.set_timer(cx.now() + takes, token::pack(token::RETRY, 0, u32::from(port.0) << 8 | u32::from(epoch)));
        }
    }

    /// A frame that came again is handled as one that comes.
    fn let_in(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) {
        if self.is_unread(port, packet, cx) {
            return;
        }
        if self.wanted.packets {
            self.trace(port, packet, false, cx.now());
        }
        self.handle(port, *packet, cx);
    }
}
