//! A flow that sends, and what is known of it when it is over.

use crate::ids::{PortId, QueueId};
use xoff_engine::state;
use xoff_engine::state::Walk;
use xoff_units::{Duration, Moment};

use super::messages::Messages;
use super::stamps::Stamps;
use super::{Config, Jitter};
use crate::congestion_control::State;
use crate::frames::Kind;
use crate::framing::Framing;
use crate::packet::Packet;
use crate::pulls::Credit;
use crate::transport;
use crate::transport::contract::Progress;
use crate::workload::Feed;

/// A flow that sends. What each packet needs comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Sender {
    pub flow: u32,
    pub dst: u32,
    pub progress: Progress,
    /// What the network told it, if it ever did.
    pub told: Option<Box<Told>>,
    pub deadline: Moment,
    /// Payload of its last packet; the others are full.
    pub last: u16,
    pub port: PortId,
    pub path: u16,
    pub queue: QueueId,
    pub class: u8,
    pub is_listed: bool,
    pub is_rto_set: bool,
    pub retransmitted: u32,
    /// What of it there is to send yet, when it comes bit by bit.
    pub arrivals: Option<Box<Feed>>,
    /// Its messages, if it is a connection.
    pub messages: Option<Box<Messages>>,
    pub transport: transport::Sender,
    /// What it may send, if receivers pull.
    pub credit: Option<Box<Credit>>,
    pub rate: State,
    pub next_send: Moment,
    /// When its pacing timer expires.
    pub pace_at: Moment,
    /// When its packets started, if its congestion control wants to know.
    pub stamps: Option<Box<Stamps>>,
    pub start: Moment,
}

/// What the network told a flow. Most are told nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// It is held until then.
    pub held_until: Moment,
    pub holds: u32,
    /// How long it was held, up to then.
    pub held: Duration,
    pub notifications: u32,
}

state!(Told {
    due: held_until;
    total: holds, held, notifications;
});

state!(Sender {
    flow: flow;
    value: dst, port, path, queue, class, is_listed, is_rto_set;
    part: progress, told, credit, arrivals, messages, transport, rate, stamps;
    due: next_send;
    moment: pace_at;
    total: retransmitted;
    // The deadline is shown when it is known whether anything is waited for.
    still: last, start, deadline;
});

const _: () = assert!(size_of::<Option<Sender>>() <= 144, "a flow that waits for its turn takes this");

impl Sender {
    /// Shows when its packets come again: a connection that has all answers waits for none until its next packet, which sets that anew.
    pub fn walk_deadline(&mut self, walk: &mut Walk<'_>) {
        let waits_for_none =
            self.messages.as_ref().is_some_and(|messages| !messages.is_closed) && self.progress.unacknowledged >= self.progress.packets;
        if waits_for_none { walk.reminder(&mut self.deadline) } else { walk.due(&mut self.deadline) }
    }

    /// Until when it is held.
    #[inline]
    pub fn held_until(&self) -> Moment {
        self.told.as_ref().map_or(Moment::ZERO, |told| told.held_until)
    }

    /// Wire bytes of a packet.
    #[inline]
    pub fn wire(&self, seq: u32, framing: &Framing) -> u16 {
        if let Some(messages) = &self.messages {
            return framing.frame(messages.payload(seq, framing.payload));
        }
        framing.frame(if seq + 1 == self.progress.packets { u64::from(self.last) } else { framing.payload })
    }

    /// A packet of it, as it goes.
    #[inline]
    pub fn packet(&mut self, seq: u32, config: &Config) -> Packet {
        let mut packet = Packet::new(Kind::Data, self.flow, seq, self.dst, self.wire(seq, &config.framing), self.class);
        packet.set_path(self.path);
        if let Some(messages) = &mut self.messages {
            packet.set(messages.flags(seq, self.progress.packets));
        } else if seq + 1 == self.progress.packets {
            packet.set(Packet::LAST);
        }
        if seq < self.progress.highest {
            packet.set_copy(1);
            self.retransmitted += 1;
        }
        packet
    }

    /// When the flow may go on after a packet that starts now, if it could without jitter at `resumes`.
    #[cold]
    pub fn jitter(&mut self, jitter: &Jitter, packet: &Packet, config: &Config, [now, resumes]: [Moment; 2]) -> Moment {
        let key = config.sources.keys.of(self.flow);
        self.next_send = self.next_send.max(resumes + jitter.after(key, packet.seq(), packet.copy(), resumes - now));
        self.next_send
    }

    /// Payload in all.
    pub fn size(&self, framing: &Framing) -> u64 {
        let alone = || u64::from(self.progress.packets - 1) * framing.payload + u64::from(self.last);
        self.messages.as_ref().map_or_else(alone, |messages| messages.bytes)
    }

    /// Whether a packet is there to be sent; all of a flow is, unless it comes bit by bit.
    #[inline]
    pub fn has_arrived(&self, seq: u32) -> bool {
        self.arrivals.as_ref().is_none_or(|a| seq < a.arrived())
    }

    /// When a packet is there: now or before as zero.
    #[inline]
    pub fn arrives(&self, seq: u32) -> Moment {
        match &self.arrivals {
            Some(arrivals) if seq >= arrivals.arrived() => arrivals.next(),
            _ => Moment::ZERO,
        }
    }

    /// Whether the window, and the receiver, let a packet go.
    #[inline]
    pub fn may_send(&self, seq: u32, config: &Config) -> bool {
        self.has_credit() && self.has_window(seq, config)
    }

    #[inline]
    pub fn has_window(&self, seq: u32, config: &Config) -> bool {
        let is_held = seq >= self.progress.highest || config.transport.windows_hold_lost();
        !is_held || self.in_flight(config) * config.framing.payload < config.schemes[self.port].window(&self.rate)
    }

    /// Packets under way.
    #[inline]
    pub fn in_flight(&self, config: &Config) -> u64 {
        u64::from(config.transport.in_flight(&self.progress, &self.transport))
    }

    /// What is known of a flow; what it is held for beyond `now` does not count.
    pub fn record(&self, acknowledged: Option<Moment>, framing: &Framing, now: Moment) -> Sent {
        let nothing = Told::default();
        let told = self.told.as_deref().unwrap_or(&nothing);
        Sent {
            flow: self.flow,
            dst: self.dst,
            size: self.size(framing),
            start: self.start,
            acknowledged,
            // What is not sent again is sent in order.
            packets: u64::from(self.progress.highest + self.retransmitted),
            retransmitted: u64::from(self.retransmitted),
            notifications: told.notifications,
            holds: told.holds,
            paused: told.held - told.held_until.since(now),
            least_round_trip: self.stamps.as_ref().and_then(|stamps| stamps.least),
            slow: self.stamps.as_ref().map_or((0, 0), |stamps| (stamps.slow.round_trips, stamps.slow.stuck)),
            class: self.class,
            path: self.path,
            port: self.port,
        }
    }
}

/// A flow that is acknowledged to its last byte.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The flow.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// When it started.
    pub start: Moment,
    /// When the last ACK came.
    pub acknowledged: Option<Moment>,
    /// Packets sent, again ones included.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// What its congestion control was told by the network.
    pub notifications: u32,
    /// Times that a mechanism held it.
    pub holds: u32,
    /// For how long.
    pub paused: Duration,
    /// The least round trip that its congestion control heard of.
    pub least_round_trip: Option<Duration>,
    /// Round trips in which it was slow on an empty path, and those in which it did not become faster.
    pub slow: (u32, u32),
    /// Its class.
    pub class: u8,
    /// Its pinned path.
    pub path: u16,
    /// The port by which it left.
    pub port: PortId,
}
