//! Where flows end: what of a flow is here, and what is sent back for it.

use xoff_engine::state;
use xoff_units::Time;

use super::Endpoint;
use crate::congestion_control::contract::{Echo, Form};
use crate::packet::{Kind, Packet};
use crate::routing::Paths;
use crate::transport;
use crate::transport::contract::{Arrival, Received, Replies, Reply};
use crate::workload::FlowSpec;

/// A flow that arrives.
#[derive(Debug)]
pub(super) struct Receiver {
    src: u32,
    received: Received,
    transport: transport::Receiver,
    /// When its source was last told of a mark.
    last_echo: Option<Time>,
}

state!(Receiver {
    value: src;
    part: received, transport;
    moments: last_echo;
});

impl Receiver {
    /// Reads what the next packet needs.
    #[inline]
    pub fn touch(&self) -> u64 {
        u64::from(self.received.expected) ^ u64::from(self.src)
    }
}

/// What a data packet at its destination leads to.
#[derive(Debug, Default)]
pub struct Answer {
    /// Frames to send back, at most two.
    pub frames: [Option<Packet>; 2],
    /// What the first of them says of packets beside its own.
    pub also: Vec<u32>,
    /// Flows that may start now because this one has arrived.
    pub released: Vec<FlowSpec>,
    /// When to call [`Endpoint::on_host_timer`].
    pub host_timer: Option<Time>,
}

/// In the place of a receiver: all of the flow has arrived.
pub(super) const ALL_HERE: u32 = u32::MAX;

/// The second of a pair of pinned paths leads back.
pub(super) const fn back_of(path: u16) -> u16 {
    if path >= Paths::FIRST { path + 1 } else { 0 }
}

/// A frame to the source of a flow, with the class and the way of a packet of it.
fn back(reply: Reply, packet: &Packet, source: u32, bytes: u16) -> Packet {
    let mut frame = Packet::new(reply.kind, packet.flow(), reply.seq, source, bytes, packet.class());
    frame.set_path(back_of(packet.path()));
    frame.set_info(reply.info);
    frame
}

impl Endpoint {
    /// Where a flow that arrives is kept.
    #[inline]
    pub(super) fn receiver(&mut self, flow: u32) -> u32 {
        if self.last_receiver.0 == flow {
            return self.last_receiver.1;
        }
        let config = &*self.config;
        let (receivers, free) = (&mut self.receivers, &mut self.free_receivers);
        let index = *self.receiver_of.entry(flow).or_insert_with(|| {
            let receiver = Receiver {
                src: config.sources.of(flow),
                received: Received::default(),
                transport: config.transport.receiver(),
                last_echo: None,
            };
            match free.pop() {
                Some(slot) => {
                    receivers[slot as usize] = receiver;
                    slot
                }
                None => {
                    receivers.push(receiver);
                    receivers.len() as u32 - 1
                }
            }
        });
        self.last_receiver = (flow, index);
        index
    }

    /// What is left of a packet of a flow that ends at this host.
    pub fn on_header(&mut self, header: &Packet, now: Time) -> Answer {
        let index = self.receiver(header.flow());
        if index == ALL_HERE {
            return Answer::default();
        }
        let (config, r) = (&*self.config, &mut self.receivers[index as usize]);
        let mut replies = Replies::new(now, r.src);
        config.transport.on_header(&mut r.received, &mut r.transport, &mut self.host, header, &mut replies);
        let reply = replies.reply.map(|reply| back(reply, header, r.src, config.framing.control));
        let mut answer = Answer { frames: [reply, None], host_timer: replies.host_timer, ..Answer::default() };
        self.pull(header, now, &mut answer);
        answer
    }

    /// A data packet for this host.
    #[inline]
    pub fn on_data(&mut self, packet: &Packet, now: Time) -> Answer {
        self.delivered_bytes += u64::from(packet.bytes());
        let index = self.receiver(packet.flow());
        let config = &*self.config;
        if index == ALL_HERE {
            // What is sent again although all of it is here is acknowledged to the end.
            self.duplicates += 1;
            let mut ack =
                Packet::new(Kind::Ack, packet.flow(), u32::MAX, config.sources.of(packet.flow()), config.framing.control, packet.class());
            ack.set_path(back_of(packet.path()));
            return Answer { frames: [Some(ack), None], ..Answer::default() };
        }
        let r = &mut self.receivers[index as usize];
        if !packet.has(Packet::RETRANSMITTED) {
            if packet.seq() < r.received.highest {
                self.reordered += 1;
            }
            r.received.highest = r.received.highest.max(packet.seq() + 1);
        }
        let mut replies = Replies::new(now, r.src);
        let arrival = config.transport.on_data(&mut r.received, &mut r.transport, &mut self.host, packet, &mut replies);
        self.accepted += u64::from(arrival == Arrival::New);
        self.duplicates += u64::from(arrival == Arrival::Again);
        let mut answer = Answer { host_timer: replies.host_timer, ..Answer::default() };
        let back = |reply: Reply| back(reply, packet, r.src, config.framing.control);
        let mut response = replies.reply.map(back);
        if let (Some(frame), true) = (&mut response, packet.has(Packet::RETRANSMITTED)) {
            frame.set(Packet::RETRANSMITTED);
        }
        if packet.has(Packet::CE)
            && let Some(Echo { interval, form }) = config.echo
            && r.last_echo.is_none_or(|last| now >= last + interval)
        {
            r.last_echo = Some(now);
            match (form, &mut response) {
                (Form::Ack, Some(frame)) => frame.set(Packet::ECHO),
                (Form::Ack, None) => {}
                (Form::Packet, _) => answer.frames[1] = Some(back(Reply { kind: Kind::Cnp, seq: 0, info: 0 })),
            }
        }
        answer.frames[0] = response;
        answer.also = replies.also;
        if packet.has(Packet::LAST) {
            r.received.packets = Some(packet.seq() + 1);
        }
        if arrival == Arrival::New && r.received.packets == Some(r.received.expected) {
            // Nothing of it needs to be remembered but that it is over.
            self.receiver_of.insert(packet.flow(), ALL_HERE);
            self.last_receiver = (packet.flow(), ALL_HERE);
            self.free_receivers.push(index);
            self.arrived.push((packet.flow(), now));
            answer.released = self.released_by(packet.flow());
            if let Some(pacer) = &mut self.pacer {
                pacer.forget(packet.flow());
            }
        } else if self.pacer.is_some() {
            self.pull(packet, now, &mut answer);
        }
        answer
    }

    /// The flows that waited for nothing but this one, which has arrived here, or whose last packet has left.
    pub fn released_by(&mut self, flow: u32) -> Vec<FlowSpec> {
        let mut released = Vec::new();
        for i in self.dependents.remove(&flow).unwrap_or_default() {
            let (missing, spec) = &mut self.waiting[i as usize];
            *missing -= 1;
            if *missing == 0 {
                released.push(*spec);
            }
        }
        released
    }

    /// A timer of this host expired: frames to send, and when to call again.
    pub fn on_host_timer(&mut self, now: Time) -> (Vec<Packet>, Option<Time>) {
        if let (Some(pacer), Some(rules)) = (&mut self.pacer, &self.config.pulls) {
            let (frame, again) = pacer.on_timer(rules, self.config.framing.control, now);
            return (frame.into_iter().collect(), again);
        }
        let mut send = Vec::new();
        let again = self.config.transport.on_host_timer(&mut self.host, now, &mut send);
        (send, again)
    }
}
