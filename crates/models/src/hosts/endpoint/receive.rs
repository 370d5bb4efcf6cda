//! Reception: the received packets of a flow, and the answers.

use xoff_engine::Message as _;
use xoff_units::{index, number};

use super::Endpoint;
use super::config::{Config, arriving};
use super::receiver::{ALL_HERE, Receiver};
use crate::frames::flow::FlowSpec;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Records;
use crate::frames::token;
use crate::hosts::congestion_control::contract::{Echo, Form};
use crate::hosts::transport::contract::{Arrival, Received, Replies, Reply};
use crate::paths::routing::Paths;
use crate::ports::effects::{Effect, Effects};

/// The second of a pair of pinned paths leads back.
pub(super) const fn back_of(path: u16) -> u16 {
    if path >= Paths::FIRST { path + 1 } else { 0 }
}

/// Returns a frame to the source of a flow, with the class and path of a packet of the flow.
fn back(reply: Reply, packet: &Packet, source: u32, bytes: u16) -> Packet {
    let mut frame = Packet::new(reply.kind, packet.flow(), reply.seq, source, bytes, packet.class());
    frame.set_path(back_of(packet.path()));
    frame.set_answers(reply.answers);
    frame
}

/// Writes the copy number of a packet onto its answer; no number if the answer names another packet.
fn echo_copy(answer: &mut Packet, packet: &Packet) {
    answer.set_copy(if answer.answers() == packet.seq() { packet.copy() } else { Packet::COPY_UNKNOWN });
}

/// Acknowledges a whole flow to its source.
pub(super) fn all_here(packet: &Packet, config: &Config) -> Packet {
    let reply = Reply { kind: Kind::Ack, seq: u32::MAX, answers: 0 };
    back(reply, packet, config.sources.of(packet.flow()), config.framing.control)
}

/// Returns a packet without its side record, and the slot of the record.
fn apart(packet: &Packet, records: &mut Records) -> (Packet, Option<u32>) {
    packet.side().map_or((*packet, None), |slot| (packet.alone(records.get(slot)), Some(slot)))
}

/// Completes the answer to a packet: other arrived packets, and the packet's tag if needed. An ACK takes over
/// the side record of the packet.
#[inline]
fn complete(
    slot: Option<u32>,
    mut reply: Option<Packet>,
    also: &[u32],
    tag: Option<u32>,
    records: &mut Records,
) -> Option<Packet> {
    if let Some(slot) = slot {
        match &mut reply {
            Some(ack) if ack.kind() == Kind::Ack => *ack = ack.at_side(slot),
            _ => records.give_back(slot),
        }
    }
    let frame = reply.as_mut()?;
    if !also.is_empty() {
        frame.enclose(also, records);
    }
    if let Some(tag) = tag {
        frame.echo(tag, records);
    }
    reply
}

impl Endpoint {
    /// Returns the place of an arriving flow.
    #[inline]
    pub(super) fn receiver(&mut self, flow: u32) -> u32 {
        if self.last_receiver.0 == flow {
            return self.last_receiver.1;
        }
        let config = arriving(&self.config, self.mixed.as_deref(), flow);
        let (receivers, free) = (&mut self.receivers, &mut self.free_receivers);
        let place = *self.receiver_of.entry(flow).or_insert_with(|| {
            let receiver = Receiver {
                src: config.sources.of(flow),
                received: Received::default(),
                transport: config.transport.receiver(),
                last_echo: None,
                ends: 0,
            };
            match free.pop() {
                Some(slot) => {
                    receivers[index(slot)] = receiver;
                    slot
                }
                None => {
                    receivers.push(receiver);
                    number(receivers.len()) - 1
                }
            }
        });
        self.last_receiver = (flow, place);
        place
    }

    /// Handles a header of a trimmed packet that ends at this host. Returns the answer, which goes before the
    /// effects.
    pub fn on_header(
        &mut self,
        header: &Packet,
        records: &mut Records,
        effects: &mut Effects,
    ) -> Option<Packet> {
        let (header, slot) = &apart(header, records);
        let place = self.receiver(header.flow());
        if place == ALL_HERE {
            return complete(*slot, None, &[], None, records);
        }
        let config = arriving(&self.config, self.mixed.as_deref(), header.flow());
        let r = &mut self.receivers[index(place)];
        let mut replies = Replies::new(effects.now, r.src);
        config.transport.on_header(&mut r.received, &mut r.transport, header, &mut replies);
        let mut reply = replies.reply.map(|reply| back(reply, header, r.src, config.framing.control));
        if let Some(answer) = &mut reply {
            echo_copy(answer, header);
        }
        let tag = config.schemes.echoes_tags(header.class()).then(|| header.tag());
        let answer = complete(*slot, reply, &[], tag, records);
        if self.receiving.is_some() {
            self.report(header, false, effects);
        }
        answer
    }

    /// Handles a data packet for this host. Returns the answer, which goes before the effects.
    #[inline]
    pub fn on_data(
        &mut self,
        packet: &Packet,
        records: &mut Records,
        effects: &mut Effects,
    ) -> Option<Packet> {
        let (packet, slot) = &apart(packet, records);
        self.delivered_bytes += u64::from(packet.bytes());
        let (now, place) = (effects.now, self.receiver(packet.flow()));
        let config = arriving(&self.config, self.mixed.as_deref(), packet.flow());
        let tag = config.schemes.echoes_tags(packet.class()).then(|| packet.tag());
        if place == ALL_HERE {
            // What is sent again although all of it is here is acknowledged to the end.
            self.duplicates += 1;
            return complete(*slot, Some(all_here(packet, config)), &[], tag, records);
        }
        let r = &mut self.receivers[index(place)];
        if !packet.has(Packet::RETRANSMITTED) {
            if packet.seq() < r.received.highest {
                self.reordered += 1;
            }
            r.received.highest = r.received.highest.max(packet.seq() + 1);
        }
        let mut replies = Replies::new(now, r.src);
        let arrival = config.transport.on_data(&mut r.received, &mut r.transport, packet, &mut replies);
        if arrival == Arrival::New {
            self.accepted += 1;
            self.latest.gained_at = now;
        }
        self.duplicates += u64::from(arrival == Arrival::Again);
        let back = |reply: Reply| back(reply, packet, r.src, config.framing.control);
        let mut reply = replies.reply.map(back);
        if let Some(answer) = &mut reply {
            echo_copy(answer, packet);
        }
        let mut notice = None;
        if packet.has(Packet::CE)
            && let Some(Echo { interval, form }) = config.schemes.echo(packet.class())
            && r.last_echo.is_none_or(|last| now >= last + interval)
        {
            r.last_echo = Some(now);
            match (form, &mut reply) {
                (Form::Ack, Some(frame)) => frame.set(Packet::ECHO),
                (Form::Ack, None) => {}
                (Form::Packet, _) => notice = Some(back(Reply { kind: Kind::Cnp, seq: 0, answers: 0 })),
            }
        }
        let mut answer = complete(*slot, reply, &replies.also, tag, records);
        if let (Some(receiving), Some(ack)) = (&mut self.receiving, &mut answer) {
            receiving.half.on_ack(ack, packet, records);
        }
        if let Some(frame) = notice {
            effects.push(Effect::Answer(frame));
        }
        if packet.has(Packet::LAST) {
            r.received.packets = Some(packet.seq() + 1);
        }
        if arrival == Arrival::New && (packet.has(Packet::MESSAGE) || r.ends > 0) {
            let (ends, expected) = (r.ends + u32::from(packet.has(Packet::MESSAGE)), r.received.expected);
            let delivered = self.deliver(packet.flow(), expected, effects);
            self.receivers[index(place)].ends = ends - delivered;
        }
        let r = &self.receivers[index(place)];
        if arrival == Arrival::New && r.received.packets == Some(r.received.expected) {
            self.finish_flow(packet.flow(), place, effects);
            if self.receiving.is_some() {
                self.report(packet, true, effects);
            }
        } else if self.receiving.is_some() {
            self.report(packet, false, effects);
        }
        answer
    }

    /// Records that a whole flow has arrived and forgets the flow's state.
    #[cold]
    fn finish_flow(&mut self, flow: u32, place: u32, effects: &mut Effects) {
        self.receiver_of.insert(flow, ALL_HERE);
        self.last_receiver = (flow, ALL_HERE);
        self.free_receivers.push(place);
        self.arrived.push((flow, effects.now));
        self.release_after(flow, effects);
    }

    /// Starts flows and operations that waited only for this flow, which has arrived here or whose last packet has left,
    /// or only for the operation of this number. A flow with a later start of its own starts then.
    pub fn release_after(&mut self, flow: u32, effects: &mut Effects) {
        self.applications.each_mut().for_each(|one| one.release(flow, effects));
        for i in self.dependents.remove(&flow).unwrap_or_default() {
            let (missing, spec) = &mut self.waiting[index(i)];
            *missing -= 1;
            if *missing == 0 {
                let is_due = spec.start <= effects.now;
                effects.push(if is_due {
                    Effect::Start(*spec)
                } else {
                    Effect::Alarm(token::RELEASED, spec.start, i)
                });
            }
        }
    }

    /// A waiting flow, by its place in the list of waiting flows.
    pub fn released(&self, place: u32) -> FlowSpec {
        self.waiting[index(place)].1
    }
}
