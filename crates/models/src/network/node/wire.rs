//! Ports of a node: choice of the next queue, and the start of a frame on a link.

use xoff_units::{Duration, Moment};

use super::{Acks, Cx, Node};
use crate::frames::kinds;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Departure, Dequeued, Hooks, Watches};
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Queueing;
use crate::ports::cut_through::Rest;
use crate::records::events::Trace;

impl Node {
    #[inline(always)]
    pub(super) fn kick(&mut self, port: PortId, cx: &mut Cx<'_>) {
        let p = &mut self.core.ports[port];
        if !p.is_woken() {
            p.wake();
            cx.wake_output(port.index(), p.busy_until.max(cx.now()));
        }
    }

    /// True if a port sends no frame and no frame waits for the port.
    #[inline]
    pub(super) fn is_idle(&self, port: PortId, cx: &Cx<'_>) -> bool {
        let p = &self.core.ports[port];
        p.waiting == 0 && !p.is_woken() && p.busy_until <= cx.now()
    }

    /// Sends a control frame by a port: ahead of all data, never paused, and in no count. No other event of
    /// this moment can precede the frame, which starts at once on an idle port.
    #[inline(always)]
    pub(super) fn send_control(&mut self, port: PortId, frame: Packet, cx: &mut Cx<'_>) {
        if self.is_idle(port, cx) {
            self.put_on_wire(port, QueueId(0), frame, cx);
        } else {
            self.queue_control(port, QueueId(0), frame, cx);
        }
    }

    /// Adds a control frame to a queue of a port.
    #[inline(always)]
    pub(super) fn queue_control(&mut self, port: PortId, queue: QueueId, frame: Packet, cx: &mut Cx<'_>) {
        if self.has_fault && self.loses_control(port, &frame, cx) {
            return;
        }
        self.core.ports[port].push(queue, frame);
        self.kick(port, cx);
    }

    /// Sends a frame to the neighbour of a port of a switch whose ports take turns, after all other events of the moment. If it
    /// were sent at once, the order of equal servers would decide whether it leaves before another frame.
    #[cold]
    pub(super) fn send_late(&mut self, port: PortId, frame: Packet, cx: &mut Cx<'_>) {
        if self.late.is_empty() {
            // The output after all ports is the last of a moment.
            cx.wake_output(self.core.ports.len(), cx.now());
        }
        self.late.push((port, frame));
    }

    /// Sends the late frames of this moment. Those of a port are in the order of their classes, and those of a class in the
    /// order in which they were asked for.
    #[cold]
    pub(super) fn send_all_late(&mut self, cx: &mut Cx<'_>) {
        let mut late = std::mem::take(&mut self.late);
        late.sort_by_key(|(port, frame)| (*port, frame.payload::<kinds::Pfc>().map(|pfc| pfc.classes)));
        for (port, frame) in late {
            self.queue_control(port, QueueId(0), frame, cx);
        }
    }

    /// Sends a control frame, forwarded or created here. The scenario chooses the queue of acknowledgements.
    #[inline(always)]
    pub(super) fn send_on(&mut self, port: PortId, frame: Packet, cx: &mut Cx<'_>) {
        let is_control = match self.acks {
            Acks::Control => true,
            Acks::Data => false,
            Acks::Switches => !self.forwards,
        };
        if is_control || !frame.is_answer() {
            return self.send_control(port, frame, cx);
        }
        let queue = self.core.queue_for(frame.class(), frame.in_port());
        if self.is_idle(port, cx)
            && cx.settled(port.index())
            && !self.core.ports[port].queues[queue].is_blocked()
        {
            self.put_on_wire(port, queue, frame, cx);
        } else {
            self.queue_control(port, queue, frame, cx);
        }
    }

    /// Starts a forwarded data packet from its queue.
    #[inline(always)]
    pub(super) fn leave(&mut self, port: PortId, queue: QueueId, mut packet: Packet, cx: &mut Cx<'_>) {
        let (in_port, class) = (packet.in_port(), packet.class());
        let group = self.core.group(in_port, class);
        let q = &mut self.core.ports[port].queues[queue];
        if self.core.queueing != Queueing::Iq {
            q.bytes.sub(packet.bytes());
        }
        q.sent += 1;
        q.sent_bytes += u64::from(packet.bytes());
        let rest = || Rest { packet, port, queue };
        let is_whole = self.cut_through.is_none() || !self.put_off(&packet, rest(), cx);
        let crossed = is_whole && self.core.ingress[group].sub(packet.bytes());
        if is_whole || self.core.buffer.is_by_output() {
            self.core.buffer.release(in_port, group, port, packet.bytes());
        }
        if self.mechanisms.want(Watches::DEQUEUE) {
            let event = Dequeued { packet: &packet, port, queue, is_whole };
            self.mechanisms.each(Watches::DEQUEUE, &self.core, &mut self.effects, |m, core, fx| {
                m.on_dequeue(&event, core, fx);
            });
            // A packet that was marked before, by another part or switch, counts once.
            if self.effects.take_mark() && !packet.has(Packet::CE) {
                packet.set(Packet::CE);
                self.counts.marked += 1;
                self.core.ports[port].queues[queue].marked += 1;
            }
        }
        self.put_on_wire(port, queue, packet, cx);
        // Frames caused by the departure find the port busy.
        if crossed {
            self.crossing(in_port, class, false, cx);
        } else {
            self.apply(cx);
        }
    }

    /// Starts a frame of a queue on the link; the port must be free.
    #[inline(always)]
    pub(super) fn put_on_wire(&mut self, port: PortId, queue: QueueId, mut frame: Packet, cx: &mut Cx<'_>) {
        let p = &mut self.core.ports[port];
        let now = cx.now();
        let ends = now + p.serializer.time(u64::from(frame.bytes()));
        p.busy_until = ends;
        // The peer handles the frame at the last bit, or once enough of the frame has arrived.
        let handled = match &self.cut_through {
            None => ends,
            Some(cut) => cut.head(port, &frame, p.peer, &self.core.routing).map_or(ends, |head| now + head),
        };
        let (mut arrives, peer_delay) = (handled + p.delay, p.peer_delay);
        // MAC control, and frames that end at the peer, bypass the forwarding latency of the peer.
        let is_express = frame.is_link_local() || (peer_delay > Duration::ZERO && frame.dst() == p.peer);
        if frame.is_data() {
            p.data_bytes += u64::from(frame.bytes());
            p.data_packets += 1;
            p.last_data = now;
            self.counts.data_hops += 1;
            if self.counts.data_hops == self.marks[0] {
                self.marks = [self.marks[1], u64::MAX];
                cx.mark(self.counts.data_hops);
            }
            if self.mechanisms.want(Watches::DEPARTURE) {
                self.depart(Watches::DEPARTURE, port, queue, &mut frame, cx);
            }
        } else {
            p.control_bytes += u64::from(frame.bytes());
            if self.mechanisms.want(Watches::ANSWER_DEPARTURE) && frame.is_answer() {
                self.depart(Watches::ANSWER_DEPARTURE, port, queue, &mut frame, cx);
            }
        }
        if self.is_watched {
            if let Some(injected) = &mut self.injected {
                injected.overtake(&mut frame, &mut self.core.ports[port].queues[queue].packets);
                if injected.hurry(&frame, !is_express) {
                    arrives = arrives - peer_delay;
                }
            }
            self.watch(port, queue, &frame, now, handled);
            self.keep(port, &frame, ends, cx);
            if let Some(failing) = &self.failing {
                failing.stamp(port, &mut frame);
            }
        }
        frame.hop();
        if is_express {
            cx.send_express(port.index(), arrives - peer_delay, frame);
        } else if let Some(ties) = &self.ties
            && let Some(turn) = ties.cross(port, &mut frame)
        {
            cx.send_in_turn(port.index(), turn, arrives, frame);
        } else {
            cx.send(port.index(), arrives, frame);
        }
        if self.mechanisms.want(Watches::ANSWER_DEPARTURE) && frame.is_answer() {
            self.apply(cx);
        }
    }

    /// Shows a frame that starts on the wire to mechanisms that watch `hook`: data, or acknowledgements.
    #[cold]
    pub(super) fn depart(
        &mut self,
        hook: Watches,
        port: PortId,
        queue: QueueId,
        packet: &mut Packet,
        cx: &mut Cx<'_>,
    ) {
        let mut event = Departure { is_own: packet.hops() == 0, packet, port, queue, records: cx.sides() };
        self.mechanisms.each(hook, &self.core, &mut self.effects, |m, core, fx| {
            if hook == Watches::DEPARTURE {
                m.on_departure(&mut event, core, fx);
            } else {
                m.on_answer_departure(&mut event, core, fx);
            }
        });
    }

    #[cold]
    pub(super) fn trace(&mut self, port: PortId, frame: &Packet, is_departure: bool, at: Moment) {
        self.records.packets.push(Trace { at, node: self.core.id, port, is_departure, frame: *frame });
    }
}
