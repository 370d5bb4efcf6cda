//! Posted messages of a connection that are not yet acknowledged.

use std::cell::Cell;
use std::sync::Arc;

use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Moment, wide};

use crate::frames::flow::{Few, MessageLog};
use crate::frames::framing::Framing;
use crate::frames::message::{Message, MessageId, Post};
use crate::frames::packet::Packet;
use crate::parts::ids::PortId;
use crate::traffic::application::period;

/// A message of a connection without a full ACK.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    /// The packet after the last.
    pub(super) end: u32,
    pub(super) packets: u32,
    /// Payload of the last packet.
    pub(super) last: u16,
    pub(super) id: MessageId,
}

state!(Ending {
    packet: end;
    value: packets, last;
    part: id;
});

/// The messages of a connection under way.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    pub(super) endings: Few<Ending>,
    pub(super) log: Arc<MessageLog>,
    /// The message of the last lookup, from its first packet to the packet after its last. Most packets end
    /// no message.
    pub(super) within: Cell<(u32, u32)>,
    /// Payload of all posted messages.
    pub bytes: u64,
    /// The last was handed over.
    pub is_closed: bool,
}

impl State for Messages {
    /// Between two ends of messages only packets count; across messages the ends count as well.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { endings, log, within, bytes, is_closed } = self;
        if walk.kind() == period::PACKETS {
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
            for (end, message) in list.iter_mut() {
                walk.packet(end);
                message.walk(walk);
            }
        });
        within.set((0, 0));
    }
}

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
    pub(super) fn ending(&self, seq: u32) -> Option<&Ending> {
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

    /// The bytes by which packets from `from` on fall short of full packets; `lacks` returns the bytes of a packet
    /// with this payload.
    pub fn short(&self, from: u32, lacks: impl Fn(u64) -> u64) -> u64 {
        self.endings.iter().filter(|e| e.end > from).map(|e| lacks(u64::from(e.last))).sum()
    }

    /// Messages that the other end has not received.
    pub fn undelivered(&self) -> Vec<MessageId> {
        self.log.with(|list| list.iter().map(|one| one.1.post.id).collect())
    }

    /// Records that all packets before `before` are acknowledged; returns the number of messages that are
    /// now acknowledged whole.
    pub fn forget(&mut self, before: u32) -> usize {
        let mut count = 0;
        while self.endings.front().is_some_and(|e| e.end <= before) {
            self.endings.pop_front();
            count += 1;
        }
        count
    }

    /// The flags of a packet: the last of a message, or the last of the connection.
    pub fn flags(&self, seq: u32, packets: u32) -> u16 {
        let is_end = self.ending(seq).is_some();
        let of_message = if is_end { Packet::MESSAGE } else { 0 };
        if self.is_closed && seq + 1 == packets { of_message | Packet::LAST } else { of_message }
    }

    /// Posts a message. Returns the packets of the connection including the message.
    pub(super) fn hand(
        &mut self,
        post: &Post,
        packets: u32,
        is_last: bool,
        framing: &Framing,
        now: Moment,
    ) -> u32 {
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
