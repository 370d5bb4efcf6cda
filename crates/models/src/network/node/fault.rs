//! Faults at a node: at the links of its ports, at the node, or at the host.
//!
//! Each end of a link acts independently, at the same moments. Outgoing frames wait, incoming frames are lost
//! if they were on the link when the link went down, and mechanisms forget the state of the neighbour. See
//! `faults/mod.rs`, and `reference/README.md` for the semantics of outages.

use xoff_engine::Message as _;
use xoff_units::{Duration, Rate, index};

use super::failing::{Failing, ON_ITS_WAY, OutageId};
use super::{Cx, FAULT, Node};
use crate::faults::Queued;
use crate::faults::plan::{Place, What};
use crate::frames::packet::Packet;
use crate::frames::{kinds, token};
use crate::mechanisms::contract::{Hooks, Watches};
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Queues;
use crate::ports::effects::Asker;
use crate::ports::queueing::port::Cause;
use crate::records::events::Drop;

impl Node {
    /// Returns the node with its faults.
    #[must_use]
    pub fn failing(self, failing: Option<Box<Failing>>) -> Self {
        Self { is_watched: self.is_watched || failing.is_some(), failing, ..self }
    }

    /// Returns the total sending time of a port.
    pub fn sending_time(&self, port: PortId) -> Duration {
        let p = &self.core.ports[port];
        let (bytes, time) =
            self.failing.as_ref().map_or((0, Duration::ZERO), |failing| failing.lines[port].before);
        time + p.serializer.time(p.data_bytes + p.control_bytes - bytes)
    }

    /// Sets timers for the first outage of each fault, before all other timers.
    pub(super) fn expect_faults(&self, cx: &mut Cx<'_>) {
        let Some(failing) = &self.failing else { return };
        (0..failing.felt.len()).for_each(|n| self.expect(n, cx));
    }

    fn expect(&self, number: usize, cx: &mut Cx<'_>) {
        let Some(outage) = self.failing.as_ref().and_then(|failing| failing.felt[number].outage) else {
            return;
        };
        for (at, payload) in [(Some(outage.start), number << 1), (outage.end, number << 1 | 1)] {
            if let Some(at) = at {
                cx.set_timer(at, token::pack(token::FAULT, 0, payload as u32));
            }
        }
    }

    /// A spell of a fault begins or ends.
    pub(super) fn on_fault(&mut self, payload: u32, cx: &mut Cx<'_>) {
        let (number, begins) = (index(payload >> 1), payload & 1 == 0);
        let Some(failing) = &mut self.failing else { return };
        let felt = &mut failing.felt[number];
        felt.lasts = begins;
        let (id, what, places, is_whole) =
            (felt.id(), felt.part.what, felt.part.places.clone(), felt.part.is_whole);
        if is_whole && matches!(what, What::Down(_)) {
            mark(&mut failing.downs, id, begins);
        }
        for place in places {
            match what {
                // Frames that wait in a node that goes down are lost.
                What::Down(_) if begins && is_whole => self.fail(place.port, id, Queued::Flush, cx),
                What::Down(queued) if begins => self.fail(place.port, id, queued, cx),
                What::Down(_) => self.repair(place.port, id, cx),
                What::Rate(_) | What::Delay(_) => self.change_line(place, cx),
                What::Errors(_) | What::Stall | What::Compute(_) => {}
            }
        }
        if what == What::Stall {
            self.stall(id, begins, cx);
        }
        if begins {
            return;
        }
        if let Some(failing) = &mut self.failing {
            let felt = &mut failing.felt[number];
            felt.number += 1;
            felt.outage = felt.part.schedule.next();
            self.expect(number, cx);
        }
    }

    /// True if the node has an active fault that affects arrivals.
    fn has_fault(&self) -> bool {
        let failing = self.failing.as_ref();
        failing.is_some_and(|failing| failing.lines.iter().any(|line| !line.downs.is_empty()))
    }

    /// The link of a port goes down.
    fn fail(&mut self, port: PortId, by: OutageId, queued: Queued, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        let line = &mut failing.lines[port];
        line.downs.push((by, queued));
        if line.downs.len() == 1 {
            let past = line.failures.partition_point(|failure| failure.0 + ON_ITS_WAY < cx.now());
            line.failures.drain(..past);
            line.failures.push((cx.now(), by));
            line.changed = cx.now();
            self.look_later(port, cx);
            self.has_fault = true;
            self.core.ports[port].sleep();
            for class in self.core.classes.each() {
                self.block(port, Queues::Class(class), Cause::FAULT, Asker::Itself, cx.now());
            }
            self.tell_of_link(port, false, cx);
            self.empty(port, QueueId(0), by, Packet::is_link_local, cx);
        }
        if queued == Queued::Flush {
            for queue in QueueId::all(self.core.ports[port].queues.len()) {
                self.empty(port, queue, by, |_| true, cx);
            }
        }
    }

    /// An outage of the link of a port ends.
    fn repair(&mut self, port: PortId, by: OutageId, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        let downs = &mut failing.lines[port].downs;
        downs.retain(|down| down.0 != by);
        if !downs.is_empty() {
            return;
        }
        failing.lines[port].changed = cx.now();
        self.look_later(port, cx);
        self.has_fault = self.has_fault();
        for class in self.core.classes.each() {
            self.unblock(port, Queues::Class(class), Cause::FAULT, cx);
        }
        self.tell_of_link(port, true, cx);
        self.rouse(port, cx);
    }

    /// Schedules a check of the link of a port after `local_repair_delay`.
    fn look_later(&self, port: PortId, cx: &mut Cx<'_>) {
        if let Some(local) = self.failing.as_ref().and_then(|failing| failing.local) {
            cx.set_timer(cx.now() + local, token::pack(token::AVOID, 0, u32::from(port.0)));
        }
    }

    pub(super) fn rouse(&mut self, port: PortId, cx: &mut Cx<'_>) {
        if self.core.ports[port].rouse() {
            self.kick(port, cx);
        }
    }

    /// Tells mechanisms about a link of a port: they forget the state of the neighbour, or repeat their
    /// requests.
    fn tell_of_link(&mut self, port: PortId, is_up: bool, cx: &mut Cx<'_>) {
        self.mechanisms.each(Watches::LINK, &self.core, &mut self.effects, |m, core, fx| {
            m.on_link(port, is_up, core, fx);
        });
        self.apply(cx);
    }

    /// Drops packets that wait in a queue of a port.
    fn empty(
        &mut self,
        port: PortId,
        queue: QueueId,
        by: OutageId,
        is_to_go: impl Fn(&Packet) -> bool,
        cx: &mut Cx<'_>,
    ) {
        for packet in self.core.ports[port].take(queue, is_to_go) {
            if packet.is_data() {
                self.uncount(port, queue, &packet, Some(FAULT.name), cx);
            } else if let Some(slot) = packet.side() {
                cx.sides().give_back(slot);
            }
            if let Some(failing) = &mut self.failing {
                failing.note(by, &packet);
            }
        }
        // Reactions of mechanisms happen now, and not at the next event.
        self.apply(cx);
    }

    /// Changes the condition of a link in one direction.
    fn change_line(&mut self, place: Place, cx: &mut Cx<'_>) {
        let (port, now) = (place.port, cx.now());
        let sent = self.sending_time(port);
        let Some(failing) = &mut self.failing else { return };
        if place.receives {
            let condition = failing.condition(port, now, |place| place.receives);
            let line = &mut failing.lines[port];
            // Keeps one condition older than any frame in flight, and later conditions.
            let past = line.came.iter().skip(1).take_while(|c| c.since + ON_ITS_WAY < now).count();
            line.came.drain(..past);
            line.past = line.past.wrapping_add(past as u16);
            line.came.push(condition);
        }
        if !place.sends {
            return;
        }
        let condition = failing.condition(port, now, |place| place.sends);
        let p = &mut self.core.ports[port];
        failing.lines[port].changes = failing.lines[port].changes.wrapping_add(1);
        failing.lines[port].before = (p.data_bytes + p.control_bytes, sent);
        let delay = condition.delay + p.peer_delay;
        // The last sent frame arrives first.
        let arrived = &mut failing.lines[port].arrived;
        *arrived = (*arrived).max(p.busy_until + p.delay);
        let settled = arrived.saturating_sub(delay);
        (p.serializer, p.rate, p.delay) = (condition.rate.serializer(), condition.rate, delay);
        if settled > now {
            let settling = &mut failing.lines[port].settling;
            *settling += 1;
            if *settling == 1 {
                p.sleep();
            }
            cx.set_timer(settled, token::pack(token::SETTLED, 0, u32::from(port.0)));
        }
    }

    /// Restarts a port that waited after a decrease of the delay of its link.
    pub(super) fn on_settled(&mut self, port: PortId, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        failing.lines[port].settling -= 1;
        if failing.lines[port].settling == 0 {
            self.rouse(port, cx);
        }
    }

    /// Starts or ends a stall of the host. At the end, all unread frames are handled.
    fn stall(&mut self, by: OutageId, begins: bool, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        mark(&mut failing.stalls, by, begins);
        if failing.stalls.len() != usize::from(begins) {
            return;
        }
        for port in PortId::all(self.core.ports.len()) {
            for class in self.core.classes.each() {
                self.mechanisms.each(Watches::REQUEST, &self.core, &mut self.effects, |m, core, fx| {
                    m.on_pause_request(port, class, begins, core, fx);
                });
            }
        }
        self.apply(cx);
        if !begins && let Some(failing) = &mut self.failing {
            failing.unread_bytes = 0;
            for (port, packet, came) in std::mem::take(&mut failing.unread) {
                if let Some(recorder) = &mut self.delays {
                    recorder.on_read(&packet, port, FAULT.name, came, cx.now());
                }
                if self.wanted.packets {
                    self.trace(port, &packet, false, cx.now());
                }
                self.handle(port, packet, cx);
            }
        }
    }

    /// True if an arrived frame is not handled, as it was lost on its link or stays unread.
    pub(super) fn intercept(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        // Frames that end here, or at the interface, are not forwarded.
        let is_forwarded = !packet.is_link_local() && packet.dst() != self.core.id;
        let in_at = if is_forwarded { cx.now().saturating_sub(failing.delay) } else { cx.now() };
        let head = self
            .cut_through
            .as_ref()
            .and_then(|cut| cut.needed(port, packet, self.core.id, &self.core.routing));
        let needed = |rate: Rate| head.unwrap_or_else(|| rate.time(u64::from(packet.bytes())));
        let lost_by = failing.downs.last().copied().or_else(|| failing.failure(port, packet, in_at, needed));
        if let Some(by) = lost_by {
            self.lose_on_link(port, packet, by, cx);
            return true;
        }
        if let Some(says) = packet.payload::<kinds::Retry>() {
            self.on_retry(port, says, cx);
            return true;
        }
        let damaged_by = failing.damage(port, packet.bytes());
        if failing.retry(port).is_some() && !packet.is_link_local() {
            return self.hold_back(port, packet, damaged_by, cx) || self.leave_unread(port, packet, cx);
        }
        if let Some(by) = damaged_by {
            self.lose_on_link(port, packet, by, cx);
            return true;
        }
        self.leave_unread(port, packet, cx)
    }

    /// True if a frame stays unread at the interface, or is lost there.
    pub(super) fn leave_unread(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        let Some(by) = failing.stalls.last().copied().filter(|_| !packet.is_link_local()) else {
            return false;
        };
        // A host pauses neighbours of lossless classes alone.
        let is_lossy = packet.is_data() && !failing.lossless.has(packet.class());
        if is_lossy || failing.unread_bytes + u64::from(packet.bytes()) > failing.room {
            self.lose_on_link(port, packet, by, cx);
        } else {
            failing.unread_bytes += u64::from(packet.bytes());
            failing.unread.push((port, *packet, cx.now()));
        }
        true
    }

    /// Counts the loss of a frame that arrived by a port as a drop of the sending port.
    pub(super) fn lose_on_link(&mut self, port: PortId, packet: &Packet, by: OutageId, cx: &mut Cx<'_>) {
        if let Some(failing) = &mut self.failing {
            failing.note(by, packet);
        }
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
        if !packet.is_data() {
            return;
        }
        self.counts.dropped += 1;
        self.counts.dropped_bytes += u64::from(packet.bytes());
        let from = self.core.routing.wiring.ports[index(self.core.id)][port];
        let (flow, dst, seq, bytes) = (packet.flow(), packet.dst(), packet.seq(), packet.bytes());
        let (in_port, class, by) = (packet.in_port(), packet.class(), Some(FAULT.name));
        self.records.drops.push(Drop {
            at: cx.now(),
            node: from.peer,
            port: from.peer_port,
            in_port,
            class,
            flow,
            dst,
            seq,
            bytes,
            by,
        });
    }

    /// True if a data packet for a port is lost, as its link is down.
    pub(super) fn refuses(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(by) = self.failing.as_ref().and_then(|failing| failing.flushes(port)) else { return false };
        let queue = self.core.queue_for(packet.class(), packet.in_port());
        if let Some(failing) = &mut self.failing {
            failing.note(by, packet);
        }
        self.record_drop(port, queue, packet, Some(FAULT.name), cx);
        true
    }

    /// True if a control frame for a port is lost, as its link is down.
    pub(super) fn loses_control(&mut self, port: PortId, frame: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        if !failing.is_down(port) {
            return false;
        }
        let by = failing.flushes(port).or_else(|| {
            failing.lines[port].downs.first().map(|down| down.0).filter(|_| frame.is_link_local())
        });
        let Some(by) = by else { return false };
        failing.note(by, frame);
        if let Some(slot) = frame.side() {
            cx.sides().give_back(slot);
        }
        true
    }
}

/// Adds an outage to the active outages, or removes the outage.
fn mark(list: &mut Vec<OutageId>, id: OutageId, begins: bool) {
    if begins {
        list.push(id);
    } else {
        list.retain(|other| *other != id);
    }
}
