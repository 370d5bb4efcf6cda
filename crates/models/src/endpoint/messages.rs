//! Connections: flows that carry messages posted during the run.
//!
//! A connection begins with the first message, is idle without data, and ends when the last message is acknowledged. Congestion control and
//! transport keep their state, also while the connection is idle, as adapters do. A rate that rises by time alone, such as DCQCN's, rises
//! meanwhile. Messages leave in the order of posting. A message is delivered after all messages before, as on a reliable RDMA connection.
//! An idle connection sets no timer. With NDP the first packets after an idle time go unasked. Source: `docs/models/jobs.md`.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use xoff_engine::state;
use xoff_engine::state::{PeriodKind, State, StateVisitor};
use xoff_units::{Moment, number, wide};

use super::sender::Sender;
use super::{Config, Endpoint};
use crate::effects::{Effect, Effects};
use crate::framing::Framing;
use crate::ids::PortId;
use crate::message::{Delivered, Message, MessageId, Post};
use crate::packet::Packet;
use crate::workload::FlowSpec;

/// A connection of a host; its size is the payload of all messages.
#[derive(Debug, Clone)]
pub struct Connection {
    /// As a flow.
    pub spec: FlowSpec,
    /// Messages that are still to be posted.
    pub to_come: u32,
    /// The log of messages for the other end.
    pub log: Arc<Log>,
}

/// The messages of a connection as the receiving end sees them: the end and the identity of each, as a work request and its memory address
/// tell a real receiver.
///
/// The ends may run on different threads. A message enters the log before its packets leave, and is read after all packets have arrived.
/// The read does not depend on the progress of the sending end.
#[derive(Debug, Default)]
pub struct Log(Mutex<VecDeque<(u32, Message)>>);

impl Log {
    fn with<T>(&self, f: impl FnOnce(&mut VecDeque<(u32, Message)>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the messages that end before this packet.
    pub fn take(&self, before: u32) -> Vec<Message> {
        self.with(|list| {
            let whole = list.partition_point(|one| one.0 <= before);
            list.drain(..whole).map(|one| one.1).collect()
        })
    }
}

/// A message of a connection without a full ACK.
#[derive(Debug, Clone)]
struct Ending {
    /// The packet after the last.
    end: u32,
    packets: u32,
    /// Payload of the last packet.
    last: u16,
    id: MessageId,
}

/// The messages of a connection under way.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    endings: VecDeque<Ending>,
    log: Arc<Log>,
    /// The message of the last lookup, from its first packet to the packet after its last. Most packets end no message.
    within: Cell<(u32, u32)>,
    /// Payload of all posted messages.
    pub bytes: u64,
    /// The last was handed over.
    pub is_closed: bool,
}

impl State for Messages {
    /// Between two ends of messages only packets count; across messages the ends count as well.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { endings, log, within, bytes, is_closed } = self;
        if walk.kind() == PeriodKind::Packets {
            walk.same(wide(endings.len()));
            walk.same(*bytes);
            return;
        }
        walk.value(u64::from(*is_closed));
        walk.total(bytes);
        endings.walk(walk);
        log.with(|list| {
            if !list.is_empty() {
                walk.is_shared();
            }
            walk.value(wide(list.len()));
            for (end, message) in list {
                walk.packet(end);
                message.walk(walk);
            }
        });
        within.set((0, 0));
    }
}

state!(Ending {
    packet: end;
    value: packets, last;
    part: id;
});

impl Messages {
    /// The packets of all posted messages.
    pub fn packets(&self) -> u32 {
        self.endings.back().map_or(0, |e| e.end)
    }

    /// The packet after the last of the first message without a full ACK.
    pub fn first_end(&self) -> u32 {
        self.endings.front().map_or(0, |e| e.end)
    }

    /// The number of packets of this message.
    pub fn first_packets(&self) -> u32 {
        self.endings.front().map_or(0, |e| e.packets)
    }

    /// The message that ends with a packet.
    #[inline]
    fn ending(&self, seq: u32) -> Option<&Ending> {
        let (first, end) = self.within.get();
        if first <= seq && seq + 1 < end { None } else { self.find(seq) }
    }

    fn find(&self, seq: u32) -> Option<&Ending> {
        let place = self.endings.partition_point(|e| e.end <= seq);
        let found = self.endings.get(place)?;
        self.within.set((seq, found.end));
        (found.end == seq + 1).then_some(found)
    }

    /// Payload of a packet.
    pub fn payload(&self, seq: u32, full: u64) -> u64 {
        self.ending(seq).map_or(full, |e| u64::from(e.last))
    }

    /// The bytes by which packets from `from` on fall short of full packets.
    pub fn short(&self, from: u32, framing: &Framing) -> u64 {
        let after = self.endings.iter().filter(|e| e.end > from);
        after.map(|e| framing.largest() - u64::from(framing.frame(u64::from(e.last)))).sum()
    }

    /// Messages that the other end has not received.
    pub fn undelivered(&self) -> Vec<MessageId> {
        self.log.with(|list| list.iter().map(|one| one.1.post.id).collect())
    }

    /// Records that all packets before `before` are acknowledged.
    pub fn forget(&mut self, before: u32) {
        while self.endings.front().is_some_and(|e| e.end <= before) {
            self.endings.pop_front();
        }
    }

    /// The flags of a packet: the last of a message, or the last of the connection.
    pub fn flags(&self, seq: u32, packets: u32) -> u16 {
        let is_end = self.ending(seq).is_some();
        let of_message = if is_end { Packet::MESSAGE } else { 0 };
        if self.is_closed && seq + 1 == packets { of_message | Packet::LAST } else { of_message }
    }

    /// Posts a message. Returns the packets of the connection including the message.
    fn hand(&mut self, post: &Post, packets: u32, is_last: bool, framing: &Framing, now: Moment) -> u32 {
        let own = framing.packets(post.bytes) as u32;
        let last = (post.bytes - u64::from(own - 1) * framing.payload) as u16;
        let end = packets + own;
        self.endings.push_back(Ending { end, packets: own, last, id: post.id });
        let message = Message { post: *post, posted: now, left: Moment::NEVER, port: PortId(0), class: 0 };
        self.log.with(|list| list.push_back((end, message)));
        self.bytes += post.bytes;
        self.is_closed = is_last;
        end
    }
}

impl Sender {
    /// Updates the packet count to all posted messages, which may have moved.
    pub(super) fn follow_messages(&mut self) {
        if let Some(messages) = &self.messages {
            self.progress.packets = messages.packets().max(self.progress.unacknowledged);
        }
    }

    /// Returns the message that a packet ends, when the packet leaves for the first time.
    #[cold]
    pub(super) fn end_message(&self, seq: u32, now: Moment) -> Option<MessageId> {
        let messages = self.messages.as_ref()?;
        let id = messages.ending(seq)?.id;
        messages.log.with(|list| {
            let place = list.partition_point(|one| one.0 <= seq);
            if let Some((_, message)) = list.get_mut(place) {
                *message = Message { left: now, port: self.port, class: self.class, ..*message };
            }
        });
        Some(id)
    }

    /// True when the connection is idle until the next message.
    pub(super) fn is_idle(&self, config: &Config) -> bool {
        self.messages.as_ref().is_some_and(|messages| !messages.is_closed)
            && self.progress.unacknowledged >= self.progress.packets
            && config.transport.next(&self.progress, &self.transport).is_none()
    }
}

impl Endpoint {
    /// Posts a message to its connection. Returns the connection if the message starts the connection; otherwise the connection may be able
    /// to send.
    pub fn post(&mut self, post: &Post, effects: &mut Effects) -> Option<FlowSpec> {
        let place = self.connections.binary_search_by_key(&post.flow, |c| c.spec.flow).ok()?;
        let connection = &mut self.connections[place];
        connection.to_come -= 1;
        self.latest.begun_at = effects.now;
        let is_last = connection.to_come == 0;
        let (framing, now) = (&self.config.framing, effects.now);
        if let Some(slot) = self.slot(post.flow) {
            let s = self.senders[slot].as_mut()?;
            let was_idle = s.is_idle(&self.config);
            let messages = s.messages.as_mut()?;
            let before = s.progress.packets;
            s.progress.packets = messages.hand(post, before, is_last, framing, now);
            if was_idle && let (Some(credit), Some(rules)) = (&mut s.credit, &self.config.pulls) {
                credit.open_again(rules, s.progress.packets - before, &mut self.counters);
                if let Some(frame) = self.request(slot) {
                    effects.push(Effect::Answer(frame));
                }
            }
            return None;
        }
        let spec = self.connections[place].spec;
        let log = self.connections[place].log.clone();
        let mut messages = Messages { endings: VecDeque::new(), log, within: Cell::default(), bytes: 0, is_closed: false };
        messages.hand(post, 0, is_last, framing, now);
        self.opening = Some(Box::new(messages));
        Some(spec)
    }

    /// Delivers the messages that end before `before`, and returns their number.
    #[cold]
    pub(super) fn deliver(&mut self, flow: u32, before: u32, effects: &mut Effects) -> u32 {
        let messages = self.incoming.get(&flow).map_or_else(Vec::new, |log| log.take(before));
        let count = number(messages.len());
        for message in messages {
            self.delivered.push(Delivered { message, dst: self.node, at: effects.now });
            self.programs.deliver(message.post.id, message.posted, effects);
        }
        count
    }
}
