//! Homa at a receiver: the messages with grants, and the classes of granted packets.
//!
//! Models: each source competes with the message of the fewest ungranted bytes. The receiver grants the
//! messages of the first `overcommitment` sources, in the order of ungranted bytes, one packet at a time. Each
//! message has at most `rtt_bytes` on the wire. A second grant to a source follows after the time
//! of the granted packet on the line. Granted packets of `n` messages take the `n` lowest classes, and the
//! message of the fewest bytes takes the highest of the `n`. The last `rtt_bytes` of a message have the class
//! of unscheduled packets, if that class is higher. Source: the authors' OMNeT++ simulation
//! (`ReceiveScheduler`, `SchedSenders`). Simplifications: a message keeps no class when other messages come
//! or go. Invariant: the bytes of a message under way are below `rtt_bytes` before a grant.

use std::collections::BTreeMap;

use xoff_models::congestion_control::contract::{Count, Outbox, Peer, Receiving, Tally};
use xoff_models::frames::Index;
use xoff_models::packet::Packet;
use xoff_models::state;
use xoff_units::Moment;

use crate::Grant;
use crate::law::Homa;

/// Grants sent by receivers.
pub const GRANTS: Count = Count::number("grants", "grants");

/// A message that arrives.
#[derive(Debug, Clone)]
struct Message {
    source: Peer,
    size: u64,
    /// The packet after the last granted packet.
    end: u32,
    packets: u32,
    /// Wire bytes that the receiver expects without a further grant.
    under_way: u64,
    /// No further grant before.
    next: Moment,
}

state!(Message {
    part: source;
    packet: end, packets;
    value: size, under_way;
    due: next;
});

/// The messages that end at a host.
#[derive(Debug, Clone)]
pub struct Receiver {
    homa: Homa,
    /// Messages that lack grants, by flow.
    messages: BTreeMap<u32, Message>,
    grants: u64,
}

state!(Receiver {
    flows: messages;
    total: grants;
    constant: homa;
});

impl Receiver {
    /// Returns the half of a host.
    pub(crate) fn new(homa: &Homa) -> Self {
        Self { homa: homa.clone(), messages: BTreeMap::new(), grants: 0 }
    }

    fn ungranted(&self, message: &Message) -> u64 {
        self.homa.left(message.size, message.end)
    }

    /// Returns the messages with grants, the fewest ungranted bytes first: one of each source.
    fn active(&self) -> Vec<u32> {
        let key = |(flow, message): (&u32, &Message)| (self.ungranted(message), message.size, *flow);
        let mut by_source: BTreeMap<u32, (u64, u64, u32)> = BTreeMap::new();
        for entry in &self.messages {
            let (node, key) = (entry.1.source.node, key(entry));
            by_source.entry(node).and_modify(|first| *first = key.min(*first)).or_insert(key);
        }
        let mut keys: Vec<_> = by_source.into_values().collect();
        keys.sort_unstable();
        keys.truncate(usize::from(self.homa.overcommitment));
        keys.into_iter().map(|key| key.2).collect()
    }

    /// Grants packets to the active messages that may have more under way.
    fn grant(&mut self, outbox: &mut Outbox) {
        loop {
            let active = self.active();
            let count = active.len();
            let mut has_granted = false;
            for (place, flow) in active.into_iter().enumerate() {
                has_granted |= self.grant_one(flow, (count - 1 - place) as u8, outbox);
            }
            // A message without ungranted packets makes room for another message.
            if !has_granted {
                return;
            }
        }
    }

    /// Grants a packet of a message in a class, if the message may have more under way now.
    fn grant_one(&mut self, flow: u32, class: u8, outbox: &mut Outbox) -> bool {
        let Some(message) = self.messages.get_mut(&flow) else { return false };
        if message.under_way >= self.homa.under_way || message.next > outbox.now {
            return false;
        }
        let left = self.homa.left(message.size, message.end);
        let wire = u64::from(self.homa.framing.frame(left.min(self.homa.framing.payload)));
        let is_tail = left < self.homa.under_way;
        let class = if is_tail { class.max(self.homa.class(left)) } else { class };
        message.end += 1;
        message.under_way += wire;
        message.next = outbox.now + self.homa.rate.serializer().time(wire);
        outbox.send(Grant { end: Index(message.end), class }, flow, message.source, 7);
        self.grants += 1;
        if message.end == message.packets {
            self.messages.remove(&flow);
        }
        true
    }
}

impl Receiving for Receiver {
    fn on_packet(&mut self, packet: &Packet, source: Peer, outbox: &mut Outbox) {
        let (size, homa) = (u64::from(packet.tag()), &self.homa);
        let packets = homa.framing.packets(size) as u32;
        let unscheduled = homa.unscheduled(size);
        if packet.seq() < unscheduled && unscheduled < packets {
            let under_way = u64::from(unscheduled) * homa.framing.largest();
            let new = Message { source, size, end: unscheduled, packets, under_way, next: Moment::ZERO };
            self.messages.entry(packet.flow()).or_insert(new);
        }
        if let Some(message) = self.messages.get_mut(&packet.flow()) {
            message.under_way = message.under_way.saturating_sub(u64::from(packet.bytes()));
        }
        self.grant(outbox);
    }

    fn on_end(&mut self, packet: &Packet, _: Peer, outbox: &mut Outbox) {
        self.messages.remove(&packet.flow());
        self.grant(outbox);
    }

    fn timer(&self) -> Moment {
        let may_go = |flow: &u32| {
            let message = &self.messages[flow];
            (message.under_way < self.homa.under_way).then_some(message.next)
        };
        self.active().iter().filter_map(may_go).min().unwrap_or(Moment::NEVER)
    }

    fn on_timer(&mut self, outbox: &mut Outbox) {
        self.grant(outbox);
    }

    fn counts(&self, tally: &mut dyn Tally) {
        tally.add(GRANTS, self.grants);
    }
}
