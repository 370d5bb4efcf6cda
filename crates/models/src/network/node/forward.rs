//! Forwarding of a packet: port, queue and room, or a drop.

use xoff_engine::Message as _;
use xoff_units::number;

use super::{Cx, Node};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Admit, Crossing, Enqueued, Hooks, Place, Verdict, Watches};
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::Paths;
use crate::ports::core::Queueing;
use crate::ports::cut_through::Rest;
use crate::records::events::Drop;

/// Refusal of a packet by a mechanism.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// The packet is trimmed to this many bytes.
    Cut(u16),
    /// The mechanism of this number drops the packet.
    Drop(u8),
}

impl Node {
    /// Forwards a packet.
    #[inline]
    pub(super) fn forward(&mut self, in_port: PortId, mut packet: Packet, cx: &mut Cx<'_>) {
        if packet.hops() > 64 {
            return self.drop_unroutable(&packet, cx);
        }
        packet.set_in_port(in_port);
        if !packet.is_data() {
            let out = self.out(&mut packet);
            self.send_on(out, packet, cx);
            return;
        }
        let out = if self.mechanisms.want(Watches::ROUTE) {
            self.route(&mut packet, cx)
        } else {
            self.out(&mut packet)
        };
        if self.has_fault && self.refuses(out, &packet, cx) {
            return;
        }
        let was_marked = packet.has(Packet::CE);
        let placed = if self.mechanisms.want(Watches::ASSIGN.and(Watches::ADMIT)) {
            let Some(queue) = self.place(out, &mut packet, cx) else { return };
            Some(queue)
        } else {
            None
        };
        let class = packet.class();
        let group = self.core.group(in_port, class);
        let queue = placed.unwrap_or_else(|| self.core.queue_for(class, in_port));
        let (in_group, in_queue) =
            (self.core.ingress[group].bytes(), self.core.ports[out].queues[queue].bytes.bytes());
        if !self.core.buffer.admit(in_port, group, out, in_group, in_queue, packet.bytes()) {
            self.drop_packet(out, queue, &packet, None, cx);
            return;
        }
        if let Some(cut) = &mut self.cut_through {
            cut.enter(&packet, &self.core.routing, cx.now());
        }
        if packet.has(Packet::CE) && !was_marked {
            self.counts.marked += 1;
            self.core.ports[out].queues[queue].marked += 1;
        }
        if self.is_watched {
            self.follow_arrival(&packet, out, queue, cx.now());
        }
        let crossed = self.enter(group, packet.bytes());
        let is_input_queued = self.core.queueing == Queueing::Iq;
        if !is_input_queued {
            self.core.ports[out].queues[queue].bytes.add(packet.bytes());
        }
        if crossed {
            self.crossing(in_port, class, true, cx);
        }
        if self.mechanisms.want(Watches::ENQUEUE) {
            let event = Enqueued { packet: &packet, port: out, queue };
            self.mechanisms.each(Watches::ENQUEUE, &self.core, &mut self.effects, |m, core, fx| {
                m.on_enqueue(&event, core, fx);
            });
            self.apply(cx);
        }
        if self.is_watched {
            self.follow_entry();
        }
        if is_input_queued {
            self.core.inputs[group].push_back(packet);
            if self.core.inputs[group].len() == 1 {
                self.core.ports[out].push_supplier(queue, number(group));
                self.kick(out, cx);
            }
        } else if self.is_idle(out, cx)
            && cx.settled(out.index())
            && !self.core.ports[out].queues[queue].is_blocked()
        {
            self.leave(out, queue, packet, cx);
        } else {
            self.core.ports[out].push(queue, packet);
            self.kick(out, cx);
        }
    }

    /// Returns the port toward the destination of a frame, which a folded run may rename.
    #[inline(always)]
    fn out(&self, frame: &mut Packet) -> PortId {
        let port = self.routes.port(frame);
        self.ties.as_ref().map_or(port, |ties| ties.leave(port, frame))
    }

    /// Counts the bytes of an admitted packet at its input; true if the count crosses the level.
    #[inline]
    fn enter(&mut self, group: usize, bytes: u16) -> bool {
        self.core.ingress[group].add(bytes)
    }

    /// Returns the port chosen by a mechanism, or by ECMP.
    #[cold]
    fn route(&mut self, packet: &mut Packet, cx: &mut Cx<'_>) -> PortId {
        let choices = self.routes.choices(packet.dst());
        let mut port = None;
        if choices.len() > 1 && packet.path() < Paths::FIRST {
            self.mechanisms.each(Watches::ROUTE, &self.core, &mut self.effects, |m, core, fx| {
                port = m.route(packet, choices, core, fx).or(port);
            });
        }
        let port = port.unwrap_or_else(|| self.out(packet));
        self.apply(cx);
        port
    }

    /// Returns the queue chosen by mechanisms for an admitted packet; `None` for a drop.
    #[cold]
    fn place(&mut self, port: PortId, packet: &mut Packet, cx: &mut Cx<'_>) -> Option<QueueId> {
        let mut queue = None;
        self.mechanisms.each(Watches::ASSIGN, &self.core, &mut self.effects, |m, core, fx| {
            queue = m.assign_queue(packet, port, core, fx).or(queue);
        });
        self.apply(cx);
        let queue = queue.unwrap_or_else(|| self.core.queue_for(packet.class(), packet.in_port()));
        match self.admit(port, queue, packet, cx) {
            Ok(queue) => Some(queue),
            Err(Refusal::Cut(bytes)) => {
                self.trim(port, bytes, *packet, cx);
                None
            }
            Err(Refusal::Drop(by)) => {
                self.drop_packet(port, queue, packet, Some(self.mechanisms.drops_as(by)), cx);
                None
            }
        }
    }

    /// Returns the queue of an admitted packet, or the refusal.
    fn admit(
        &mut self,
        port: PortId,
        queue: QueueId,
        packet: &mut Packet,
        cx: &mut Cx<'_>,
    ) -> Result<QueueId, Refusal> {
        let mut place = Ok(queue);
        self.mechanisms.each(Watches::ADMIT, &self.core, &mut self.effects, |m, core, fx| {
            let Ok(queue) = place else { return };
            place = match m.admit(packet, Place { port, queue }, core, fx) {
                Admit::Accept(other) => Ok(other),
                Admit::Drop => Err(Refusal::Drop(fx.owner)),
                Admit::Trim(bytes) => Err(Refusal::Cut(bytes)),
            };
        });
        self.apply(cx);
        place
    }

    /// Trims a packet. The packet ends as data, and the rest, if any, continues as control.
    pub(super) fn trim(&mut self, port: PortId, bytes: u16, packet: Packet, cx: &mut Cx<'_>) {
        self.counts.dropped_bytes += u64::from(packet.bytes());
        if bytes == 0 {
            if let Some(slot) = packet.side() {
                cx.sides().give_back(slot);
            }
            return;
        }
        let mut header = packet;
        header.set_kind(Kind::Header);
        header.set_bytes(bytes.min(packet.bytes()));
        if header.path() < Paths::FIRST {
            header.recount();
        }
        let rest = Rest { packet: header, port, queue: QueueId(0) };
        if let Some(cut) = &mut self.cut_through {
            cut.enter(&packet, &self.core.routing, cx.now());
        }
        if self.cut_through.is_none() || !self.put_off(&packet, rest, cx) {
            self.send_control(port, header, cx);
        }
    }

    #[cold]
    pub(super) fn crossing(&mut self, port: PortId, class: u8, is_up: bool, cx: &mut Cx<'_>) {
        self.mechanisms.each(Watches::LEVEL, &self.core, &mut self.effects, |m, core, fx| {
            m.on_level(Crossing { port, class, is_up }, core, fx);
        });
        self.apply(cx);
    }

    /// Shows a control frame to NVLink and to mechanisms; true if one of them ends the frame.
    #[inline(never)]
    pub(super) fn offer(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        if self.on_slice_head(packet, cx) || self.on_control_frame(packet, cx) {
            return true;
        }
        let mut verdict = Verdict::Pass;
        if self.mechanisms.want(Watches::CONTROL) {
            self.mechanisms.each(Watches::CONTROL, &self.core, &mut self.effects, |m, core, fx| {
                if verdict == Verdict::Pass {
                    verdict = m.on_control(packet, port, core, fx);
                }
            });
            self.apply(cx);
        }
        verdict == Verdict::Consume
    }

    /// Moves the head of an input FIFO to `port`; the next packet asks for its own output.
    pub(super) fn supply_from_input(&mut self, port: PortId, queue: QueueId, group: usize, cx: &mut Cx<'_>) {
        let Some(packet) = self.core.inputs[group].pop_front() else { return };
        if let Some(head) = self.core.inputs[group].front() {
            let out = self.routes.port(head);
            let queue = self.core.queue_for(head.class(), head.in_port());
            self.core.ports[out].push_supplier(queue, number(group));
            if out != port {
                self.kick(out, cx);
            }
        }
        self.leave(port, queue, packet, cx);
    }

    /// A frame goes astray.
    #[cold]
    pub(super) fn drop_unroutable(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        self.counts.lost += 1;
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
    }

    /// Drops a packet, for lack of room or by a mechanism.
    #[cold]
    fn drop_packet(
        &mut self,
        port: PortId,
        queue: QueueId,
        packet: &Packet,
        by: Option<&'static str>,
        cx: &mut Cx<'_>,
    ) {
        if self.mechanisms.want(Watches::ASSIGN) {
            let event = Enqueued { packet, port, queue };
            self.mechanisms
                .each(Watches::ASSIGN, &self.core, &mut self.effects, |m, _, fx| m.on_drop(&event, fx));
            self.apply(cx);
        }
        self.record_drop(port, queue, packet, by, cx);
    }

    /// A packet is gone.
    pub(super) fn record_drop(
        &mut self,
        port: PortId,
        queue: QueueId,
        packet: &Packet,
        by: Option<&'static str>,
        cx: &mut Cx<'_>,
    ) {
        self.counts.dropped += 1;
        self.counts.dropped_bytes += u64::from(packet.bytes());
        self.core.ports[port].queues[queue].dropped += 1;
        let at = cx.now();
        let (flow, dst, seq) = (packet.flow(), packet.dst(), packet.seq());
        let (bytes, in_port) = (packet.bytes(), packet.in_port());
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
        self.records.drops.push(Drop {
            at,
            node: self.core.id,
            port,
            in_port,
            class: packet.class(),
            flow,
            dst,
            seq,
            bytes,
            by,
        });
    }
}
