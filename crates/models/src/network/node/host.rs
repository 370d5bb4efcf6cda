//! Flows that start or end at a node.

use xoff_engine::Message as _;
use xoff_units::{index, number};

use super::{Cx, Node};
use crate::frames::flow::FlowSpec;
use crate::frames::kinds::{Kind, Owner};
use crate::frames::message::Post;
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::hosts::endpoint::{Requeue, Turn};
use crate::mechanisms::contract::{Hooks, Watches};
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Queueing;

impl Node {
    pub(super) fn start_due(&mut self, source: usize, cx: &mut Cx<'_>) {
        loop {
            let Some(endpoint) = &mut self.endpoint else { return };
            match endpoint.starts[source].peek() {
                Some(at) if at <= cx.now() => {
                    if let Some(spec) = endpoint.starts[source].take() {
                        self.start_flow(&spec, cx);
                    }
                }
                Some(at) => return cx.set_timer(at, token::pack(token::START, 0, number(source))),
                None => return,
            }
        }
    }

    pub(super) fn start_flow(&mut self, spec: &FlowSpec, cx: &mut Cx<'_>) {
        let mut probe = Packet::new(Kind::Data, spec.flow, 0, spec.dst, 0, spec.class);
        probe.set_path(spec.path);
        let Some(endpoint) = &mut self.endpoint else { return };
        let chosen = endpoint.first_hop(spec, self.routes.choices(spec.dst), cx.now());
        let port = chosen.unwrap_or_else(|| self.routes.port(&probe));
        probe.set_class(endpoint.class_for(spec));
        let mut queue = None;
        if self.mechanisms.want(Watches::PLACE) {
            self.mechanisms.each(Watches::PLACE, &self.core, &mut self.effects, |m, core, _| {
                queue = m.place_flow(&mut probe, port, core).or(queue);
            });
        }
        let class = probe.class();
        let queue = queue.unwrap_or(QueueId(1 + u16::from(class)));
        let Some(endpoint) = &mut self.endpoint else { return };
        let (slot, held_until) = endpoint.start(&FlowSpec { class, ..*spec }, port, queue, &mut self.effects);
        if let Some(until) = held_until {
            cx.set_timer(until, token::pack(token::HOLD, 0, spec.flow));
        }
        if let Some(recorder) = &mut self.delays {
            recorder.start(spec.flow, spec.dst, port, queue, cx.now());
        }
        self.core.ports[port].push_supplier(queue, slot);
        self.kick(port, cx);
        self.apply(cx);
    }

    /// Posts a message to its connection; the first message starts the connection.
    pub(super) fn post(&mut self, post: &Post, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        match endpoint.post(post, &mut self.effects) {
            Some(spec) => self.start_flow(&spec, cx),
            None => {
                if let Some(recorder) = &mut self.delays {
                    recorder.post(post.flow, self.effects.now);
                }
                self.requeue(post.flow, cx);
            }
        }
    }

    /// Lists a flow for its queue when the flow can send.
    pub(super) fn requeue(&mut self, flow: u32, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let answer = endpoint.requeue(flow, cx.now());
        if self.is_watched {
            self.follow(flow, cx.now());
        }
        match answer {
            Requeue::No => {}
            Requeue::Now { slot, port, queue } => {
                self.core.ports[port].push_supplier(queue, slot);
                self.kick(port, cx);
            }
            Requeue::At(at) => cx.set_timer(at, token::pack(token::PACE, 0, flow)),
        }
    }

    /// A flow's turn; true when a packet was sent.
    #[inline]
    pub(super) fn supply(&mut self, port: PortId, queue: QueueId, cx: &mut Cx<'_>) -> bool {
        if let Some(endpoint) = self.endpoint.as_ref().filter(|endpoint| endpoint.is_ranked()) {
            self.core.ports[port].promote(queue, |slot| endpoint.rank(slot));
        }
        let Some(supplier) = self.core.ports[port].pop_supplier(queue) else { return false };
        if self.forwards && self.core.queueing == Queueing::Iq {
            self.supply_from_input(port, queue, index(supplier), cx);
            return true;
        }
        let Some(endpoint) = &mut self.endpoint else { return false };
        let serializer = self.core.ports[port].serializer;
        let flow = endpoint.flow_of(supplier);
        let packet =
            match endpoint.turn(supplier, |bytes| serializer.time(u64::from(bytes)), &mut self.effects) {
                Turn::Send(packet) => {
                    self.core.ports[port].push_supplier_after(queue, supplier);
                    packet
                }
                Turn::SendThenWait(packet, at) => {
                    cx.set_timer(at, token::pack(token::PACE, 0, flow));
                    packet
                }
                Turn::SendAndLeave(packet) => packet,
                Turn::Leave => {
                    endpoint.reclaim(supplier);
                    // The rate may have fallen while the flow was listed.
                    self.requeue(flow, cx);
                    return false;
                }
            };
        if self.is_watched {
            self.follow_turn(flow, cx.now(), cx.now() + serializer.time(u64::from(packet.bytes())));
        }
        self.put_on_wire(port, queue, packet, cx);
        if self.is_watched {
            self.follow_end(flow);
        }
        if self.endpoint.as_ref().is_some_and(|endpoint| !endpoint.freed.is_empty()) {
            self.free_slots(cx);
        }
        if let Some(endpoint) = self.endpoint.as_mut().filter(|_| packet.has(Packet::LAST)) {
            endpoint.release_after(flow, &mut self.effects);
        }
        self.apply(cx);
        true
    }

    /// A frame for this host.
    #[inline]
    pub(super) fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return self.drop_unroutable(&packet, cx) };
        if packet.is_data() {
            return self.receive_data(port, &packet, cx);
        }
        match packet.kind().owner() {
            Owner::Transport if packet.kind() == Kind::Header && endpoint.is_own(packet.flow()) => {
                endpoint.on_bounce(&packet, &mut self.effects);
                self.apply(cx);
                self.requeue(packet.flow(), cx);
            }
            Owner::Transport if packet.kind() == Kind::Header => {
                let answer = endpoint.on_header(&packet, cx.sides(), &mut self.effects);
                self.answer(answer, cx);
            }
            Owner::Transport => {
                let slot = packet.side();
                let beside = slot.map(|slot| &*cx.sides().get(slot));
                let packet = beside.map_or(packet, |record| packet.alone(record));
                let may_send = endpoint.on_answer(&packet, beside, &mut self.effects);
                if let Some(slot) = slot {
                    cx.sides().give_back(slot);
                }
                self.apply(cx);
                if self.is_watched {
                    self.follow_end(packet.flow());
                }
                if self.mechanisms.want(Watches::ANSWER) {
                    self.answered(&packet, cx);
                }
                if may_send {
                    self.requeue(packet.flow(), cx);
                }
                if self.endpoint.as_ref().is_some_and(|endpoint| !endpoint.freed.is_empty()) {
                    self.free_slots(cx);
                }
            }
            Owner::Control if !endpoint.is_own(packet.flow()) => {
                endpoint.on_frame(&packet, &mut self.effects);
                self.apply(cx);
            }
            Owner::Control => {
                endpoint.on_notice(&packet, &mut self.effects);
                self.apply(cx);
                self.requeue(packet.flow(), cx);
            }
            Owner::Pulls => {
                endpoint.on_pull(&packet, &mut self.effects);
                self.apply(cx);
                self.requeue(packet.flow(), cx);
            }
            // Control frames of mechanisms end here if no mechanism consumed them.
            Owner::Mechanism => {}
        }
    }

    #[inline]
    pub(super) fn receive_data(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) {
        if self.mechanisms.want(Watches::DELIVERED) {
            self.delivered(port, packet, cx);
        }
        let Some(endpoint) = &mut self.endpoint else { return };
        let answer = endpoint.on_data(packet, cx.sides(), &mut self.effects);
        self.answer(answer, cx);
    }

    /// Sends the acknowledgement of a receiver, then carries out other effects. The acknowledgement bypasses
    /// the list of effects, which saves a copy per packet.
    #[inline]
    fn answer(&mut self, frame: Option<Packet>, cx: &mut Cx<'_>) {
        if let Some(frame) = frame {
            self.send_on(self.routes.port(&frame), frame, cx);
        }
        self.apply(cx);
    }

    #[cold]
    pub(super) fn delivered(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) {
        self.mechanisms.each(Watches::DELIVERED, &self.core, &mut self.effects, |m, core, fx| {
            m.on_delivered(packet, port, core, fx);
        });
        self.apply(cx);
    }

    #[cold]
    pub(super) fn answered(&mut self, answer: &Packet, cx: &mut Cx<'_>) {
        let is_over = self.endpoint.as_ref().is_none_or(|e| !e.is_under_way(answer.flow()));
        self.mechanisms.each(Watches::ANSWER, &self.core, &mut self.effects, |m, core, fx| {
            m.on_answer(answer, is_over, core, fx);
        });
        self.apply(cx);
    }

    pub(super) fn time_out(&mut self, flow: u32, cx: &mut Cx<'_>) {
        if self.is_rerouted {
            self.move_flows(cx);
        }
        let Some(endpoint) = &mut self.endpoint else { return };
        let went_back = endpoint.on_rto(flow, &mut self.effects);
        self.apply(cx);
        if went_back {
            if self.mechanisms.want(Watches::ANSWER) {
                self.mechanisms.each(Watches::ANSWER, &self.core, &mut self.effects, |m, core, fx| {
                    m.on_silence(flow, core, fx);
                });
                self.apply(cx);
            }
            self.requeue(flow, cx);
        }
    }
}
