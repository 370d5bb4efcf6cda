//! Link-level retry at a node; see `retry.rs`.
//!
//! The receiver keeps frames that it discards, and handles them at their retransmission, which is represented
//! by one frame for the first of them. No frame is on a link twice, and counts of nodes and links stay valid.

use xoff_units::{Duration, Moment, index};

use super::failing::OutageId;
use super::{Cx, Node};
use crate::frames::packet::Packet;
use crate::frames::{kinds, token};
use crate::parts::ids::PortId;
use crate::paths::retry::{Next, Retry};

impl Node {
    fn retry(&mut self, port: PortId) -> Option<&mut Retry> {
        self.failing.as_mut()?.retry(port)
    }

    /// Keeps a frame that departed on a link with retry.
    pub(super) fn keep(&mut self, port: PortId, frame: &Packet, ends: Moment, cx: &mut Cx<'_>) {
        let Some(retry) = self.retry(port).filter(|_| !frame.is_link_local()) else { return };
        retry.sender.sent(frame.bytes(), ends);
        self.look_at_retry(port, false, cx);
    }

    /// Starts a due retransmission, and lets the port sleep or wakes the port. `is_settled` means that no
    /// acknowledgement of this moment is outstanding.
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
            let frame = kinds::Retry { is_start: true, is_late: false, number: 0 };
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

    fn tell_of_retry(&self, port: PortId, frame: kinds::Retry, comes: Moment, cx: &mut Cx<'_>) {
        let Some(failing) = &self.failing else { return };
        let mut frame = Packet::with(frame, u32::MAX, 0, failing.control, 0);
        failing.stamp(port, &mut frame);
        cx.send_express(port.index(), comes, frame);
    }

    /// Handles a timer: of a sender with epoch zero, or of a receiver at the arrival of the next
    /// retransmission.
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

    /// Handles the messages of the other end about retransmissions.
    pub(super) fn on_retry(&mut self, port: PortId, says: kinds::Retry, cx: &mut Cx<'_>) {
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

    /// Handles an arrival on a link with retry, damaged or not; true if the frame ends here for now.
    pub(super) fn hold_back(
        &mut self,
        port: PortId,
        packet: &Packet,
        damaged_by: Option<OutageId>,
        cx: &mut Cx<'_>,
    ) -> bool {
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

    /// Damages the first held frame, which must be retransmitted again, or is lost; true if lost.
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
        let frame = kinds::Retry { is_start: false, is_late, number: receiver.number };
        self.tell_of_retry(port, frame, cx.now() + rate.time(u64::from(control)) + link, cx);
        false
    }

    /// Handles the retransmission of the first held frame.
    fn comes_again(&mut self, port: PortId, cx: &mut Cx<'_>) {
        let Some(bytes) = self.retry(port).and_then(|retry| retry.receiver.held.front()).map(Packet::bytes)
        else {
            return;
        };
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
            cx.set_timer(
                cx.now() + takes,
                token::pack(token::RETRY, 0, u32::from(port.0) << 8 | u32::from(epoch)),
            );
        }
    }

    /// Handles a retransmitted frame as an arrival.
    fn let_in(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) {
        if self.leave_unread(port, packet, cx) {
            return;
        }
        if self.wanted.packets {
            self.trace(port, packet, false, cx.now());
        }
        self.handle(port, *packet, cx);
    }
}
