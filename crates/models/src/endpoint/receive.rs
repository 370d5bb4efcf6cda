//! Where flows end: what of a flow is here, and what is sent back for it.

use xoff_units::Time;

use super::Endpoint;
use crate::congestion_control::dcqcn::Cnp;
use crate::packet::{Kind, Packet};
use crate::routing::Paths;
use crate::transport::{Protocol, ReceiveState, Reply};
use crate::workload::FlowSpec;

/// A flow that arrives.
#[derive(Debug)]
pub(super) struct Receiver {
    src: u32,
    state: ReceiveState,
    last_cnp: Option<Time>,
}

/// What a data packet at its destination leads to.
#[derive(Debug, Default)]
pub struct Answer {
    /// Frames to send back, at most two.
    pub frames: [Option<Packet>; 2],
    /// Flows that may start now because this one has arrived.
    pub released: Vec<FlowSpec>,
    /// The flow's last byte is here.
    pub is_complete: bool,
}

/// In the place of a receiver: all of the flow has arrived.
const ALL_HERE: u32 = u32::MAX;

/// The second of a pair of pinned paths leads back.
const fn back_of(path: u16) -> u16 {
    if path >= Paths::FIRST { path + 1 } else { 0 }
}

impl Endpoint {
    /// A data packet for this host.
    #[inline]
    pub fn on_data(&mut self, packet: &Packet, now: Time) -> Answer {
        let config = &*self.config;
        self.delivered_bytes += u64::from(packet.bytes);
        let index = if self.last_receiver.0 == packet.flow {
            self.last_receiver.1
        } else {
            let (receivers, free) = (&mut self.receivers, &mut self.free_receivers);
            let index = *self.receiver_of.entry(packet.flow).or_insert_with(|| {
                let receiver = Receiver { src: config.sources.of(packet.flow), state: ReceiveState::default(), last_cnp: None };
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
            self.last_receiver = (packet.flow, index);
            index
        };
        if index == ALL_HERE {
            // What is sent again although all of it is here is acknowledged to the end.
            self.duplicates += 1;
            let mut ack =
                Packet::new(Kind::Ack, packet.flow, u32::MAX, config.sources.of(packet.flow), config.framing.control, packet.class());
            ack.path = back_of(packet.path);
            return Answer { frames: [Some(ack), None], ..Answer::default() };
        }
        let r = &mut self.receivers[index as usize];
        if !packet.has(Packet::RETRANSMITTED) {
            if packet.seq < r.state.highest {
                self.reordered += 1;
            }
            r.state.highest = r.state.highest.max(packet.seq + 1);
        }
        let was_here = packet.seq < r.state.expected || matches!(config.transport, Protocol::Irn(_));
        let (is_new, reply) = config.transport.on_data(&mut r.state, packet.seq, now);
        self.accepted += u64::from(is_new);
        self.duplicates += u64::from(!is_new && was_here);
        let mut answer = Answer::default();
        let back = |kind: Kind, seq: u32| {
            let mut frame = Packet::new(kind, packet.flow, seq, r.src, config.framing.control, packet.class());
            frame.path = back_of(packet.path);
            frame
        };
        let mut response = match reply {
            Reply::Ack(seq) => Some(back(Kind::Ack, seq)),
            Reply::Nack(seq, selective) => {
                let mut frame = back(Kind::Nack, seq);
                frame.info = selective;
                Some(frame)
            }
            Reply::Silence => None,
        };
        if packet.has(Packet::CE)
            && let Some((interval, form)) = config.schemes[0].notification()
            && r.last_cnp.is_none_or(|last| now >= last + interval)
        {
            r.last_cnp = Some(now);
            match (form, &mut response) {
                (Cnp::Ack, Some(frame)) => frame.set(Packet::CNP),
                (Cnp::Ack, None) => {}
                (Cnp::Packet, _) => answer.frames[1] = Some(back(Kind::Cnp, 0)),
            }
        }
        answer.frames[0] = response;
        if packet.has(Packet::LAST) {
            r.state.packets = Some(packet.seq + 1);
        }
        if is_new && r.state.packets == Some(r.state.expected) {
            answer.is_complete = true;
            // Nothing of it needs to be remembered but that it is over.
            self.receiver_of.insert(packet.flow, ALL_HERE);
            self.last_receiver = (packet.flow, ALL_HERE);
            self.free_receivers.push(index);
            self.arrived.push((packet.flow, now));
            if let Some(list) = self.dependents.remove(&packet.flow) {
                for i in list {
                    let (missing, spec) = &mut self.waiting[i as usize];
                    *missing -= 1;
                    if *missing == 0 {
                        answer.released.push(*spec);
                    }
                }
            }
        }
        answer
    }
}
