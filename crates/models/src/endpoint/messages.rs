//! Connections: flows to which messages are handed while they run.
//!
//! A connection begins with its first message, is idle where it has no more to send, and is over when the last that it will ever
//! carry is acknowledged. What its congestion control and its transport know stays meanwhile. Messages leave in the order in which they
//! were handed over; one is delivered when all before it are, as on a reliable connection of RDMA. An idle connection sets no timer.
//! After idling it goes on with the rate and the window that it had: so do all congestion controls' sources (limiters of adapters,
//! and the programs in which these are modelled); what rises by time alone, as DCQCN's rate, has done so meanwhile. Where receivers
//! pull packets by those that arrive (NDP), the first of what is handed over anew go unasked, as at the beginning.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use xoff_engine::state;
use xoff_engine::state::{Across, State, Walk};
use xoff_units::{Moment, number, wide};

use super::sender::Sender;
use super::{Config, Endpoint};
use crate::effects::{Effect, Effects};
use crate::framing::Framing;
use crate::ids::PortId;
use crate::message::{Delivered, Message, MessageId, Post};
use crate::packet::Packet;
use crate::workload::FlowSpec;

/// A connection of a host, with all of its payload as its size.
#[derive(Debug, Clone)]
pub struct Connection {
    /// As a flow.
    pub spec: FlowSpec,
    /// Messages that were not handed over yet.
    pub to_come: u32,
    /// What its other end is told of them.
    pub log: Arc<Log>,
}

/// What the receiving end of a connection is told of its messages: where each ends, and which it is, as a work request and the memory
/// that it writes to tell it.
///
/// The ends may be in different threads. A message is written here before its packets leave, and read when all of them are there: what
/// is read does not depend on how far ahead the sending end is.
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

/// A message of a connection that is not acknowledged whole.
#[derive(Debug, Clone)]
struct Ending {
    /// The packet after its last.
    end: u32,
    packets: u32,
    /// Payload of its last packet.
    last: u16,
    id: MessageId,
}

/// The messages of a connection under way.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    endings: VecDeque<Ending>,
    log: Arc<Log>,
    /// The message whose packets were last looked at, from its first packet to the one after its last: most packets end none.
    within: Cell<(u32, u32)>,
    /// Payload of all that were handed over.
    pub bytes: u64,
    /// The last was handed over.
    pub is_closed: bool,
}

impl State for Messages {
    /// Where messages end is where they end, and what repeats does so between two ends; or all of it is as far as the packets.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { endings, log, within, bytes, is_closed } = self;
        if walk.across() == Across::Packets {
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
    /// The packets of all that were handed over.
    pub fn packets(&self) -> u32 {
        self.endings.back().map_or(0, |e| e.end)
    }

    /// The packet after the last of the first message that is not acknowledged whole.
    pub fn first_end(&self) -> u32 {
        self.endings.front().map_or(0, |e| e.end)
    }

    /// How many packets that message has.
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

    /// By how much packets from this one on fall short of full ones.
    pub fn short(&self, from: u32, framing: &Framing) -> u64 {
        let after = self.endings.iter().filter(|e| e.end > from);
        after.map(|e| framing.largest() - u64::from(framing.frame(u64::from(e.last)))).sum()
    }

    /// Messages that the other end does not have.
    pub fn undelivered(&self) -> Vec<MessageId> {
        self.log.with(|list| list.iter().map(|one| one.1.post.id).collect())
    }

    /// Everything before this packet is acknowledged.
    pub fn forget(&mut self, before: u32) {
        while self.endings.front().is_some_and(|e| e.end <= before) {
            self.endings.pop_front();
        }
    }

    /// What a packet is: the last of a message, or of all that there will ever be.
    pub fn flags(&self, seq: u32, packets: u32) -> u16 {
        let is_end = self.ending(seq).is_some();
        let of_message = if is_end { Packet::MESSAGE } else { 0 };
        if self.is_closed && seq + 1 == packets { of_message | Packet::LAST } else { of_message }
    }

    /// Hands a message over; returns the packets of the connection with it.
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
    /// Its packets are those of all messages that were handed over, which may have moved.
    pub(super) fn follow_messages(&mut self) {
        if let Some(messages) = &self.messages {
            self.progress.packets = messages.packets().max(self.progress.unacknowledged);
        }
    }

    /// The message that a packet ends, which leaves now for the first time.
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

    /// Whether it has nothing to do until it is given more.
    pub(super) fn is_idle(&self, config: &Config) -> bool {
        self.messages.as_ref().is_some_and(|messages| !messages.is_closed)
            && self.progress.unacknowledged >= self.progress.packets
            && config.transport.next(&self.progress, &self.transport).is_none()
    }
}

impl Endpoint {
    /// Hands a message to its connection. Returns the connection if it starts with that; otherwise it may have something to send that
    /// it had not before.
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
                credit.open_again(rules, s.progress.packets - before, &mut self.books);
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

    /// Everything before this packet of a connection is here; returns how many messages end there.
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
