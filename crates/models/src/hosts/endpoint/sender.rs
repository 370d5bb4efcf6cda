//! A sending flow, and its record after its end.

use xoff_engine::state;
use xoff_engine::state::StateVisitor;
use xoff_units::{Duration, Moment};

use super::config::Config;
use super::jitter::Jitter;
use super::message_queue::Messages;
use super::send_times::Stamps;
use crate::frames::flow::SourceQueue;
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::hosts::congestion_control::State;
use crate::hosts::pulls::Credit;
use crate::hosts::transport;
use crate::hosts::transport::contract::Progress;
use crate::parts::ids::{PortId, QueueId};

/// A sending flow. Fields that each packet needs come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Sender {
    pub flow: u32,
    pub dst: u32,
    pub progress: Progress,
    /// Messages of the network to the flow, if any.
    pub told: Option<Box<Told>>,
    pub deadline: Moment,
    /// Payload of the last packet; the other packets are full.
    pub last: u16,
    pub port: PortId,
    pub path: u16,
    pub queue: QueueId,
    pub class: u8,
    /// The place of the congestion control of the class in which the flow started.
    pub control: u8,
    pub is_listed: bool,
    pub is_rto_set: bool,
    pub retransmitted: u32,
    /// The arrival of data at the source, for data that arrives packet by packet.
    pub arrivals: Option<Box<SourceQueue>>,
    /// The messages, for a connection.
    pub messages: Option<Box<Messages>>,
    pub transport: transport::Sender,
    /// The credit, if receivers pull.
    pub credit: Option<Box<Credit>>,
    pub rate: State,
    pub next_send: Moment,
    /// The time of the pacing timer.
    pub pace_at: Moment,
    /// Start times of packets, if congestion control needs round trips.
    pub stamps: Option<Box<Stamps>>,
    pub start: Moment,
}

/// The messages of the network to a flow, and the timer of the flow's congestion control. Most flows hear no message
/// and have no timer.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// The end of the hold.
    pub held_until: Moment,
    pub holds: u32,
    /// The time under hold, up to the end of the hold.
    pub held: Duration,
    pub notifications: u32,
    /// The time of the control's timer, if a timer is set.
    pub timer: Option<Moment>,
}

state!(Told {
    due: held_until;
    moments: timer;
    total: holds, held, notifications;
});

state!(Sender {
    flow: flow;
    value: dst, port, path, queue, class, control, is_listed, is_rto_set;
    part: progress, told, credit, arrivals, messages, transport, rate, stamps;
    due: next_send;
    moment: pace_at;
    total: retransmitted;
    // The deadline is shown when it is known whether anything is waited for.
    constant: last, start, deadline;
});

const _: () = assert!(size_of::<Option<Sender>>() <= 144, "a flow that waits for its turn takes this");

impl Sender {
    /// Shows the time of the retransmission. A connection without packets in flight waits for no answer until
    /// the next packet, which sets the time anew.
    pub fn walk_deadline(&mut self, walk: &mut StateVisitor<'_>) {
        let waits_for_none = self.messages.as_ref().is_some_and(|messages| !messages.is_closed)
            && self.progress.unacknowledged >= self.progress.packets;
        if waits_for_none { walk.reminder(&mut self.deadline) } else { walk.due(&mut self.deadline) }
    }

    /// Returns the end of the hold.
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

    /// Returns a packet for transmission.
    #[inline]
    pub fn packet(&mut self, seq: u32, config: &Config) -> Packet {
        let mut packet =
            Packet::new(Kind::Data, self.flow, seq, self.dst, self.wire(seq, &config.framing), self.class);
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

    /// Returns the time of the next turn after a packet that starts now; without jitter the time is
    /// `resumes`.
    #[cold]
    pub fn jitter(
        &mut self,
        jitter: &Jitter,
        packet: &Packet,
        config: &Config,
        [now, resumes]: [Moment; 2],
    ) -> Moment {
        let key = config.sources.keys.of(self.flow);
        self.next_send =
            self.next_send.max(resumes + jitter.after(key, packet.seq(), packet.copy(), resumes - now));
        self.next_send
    }

    /// Payload in all.
    pub fn size(&self, framing: &Framing) -> u64 {
        let alone = || u64::from(self.progress.packets - 1) * framing.payload + u64::from(self.last);
        self.messages.as_ref().map_or_else(alone, |messages| messages.bytes)
    }

    /// True when the data of a packet is ready. All data is ready unless data arrives packet by packet.
    #[inline]
    pub fn has_arrived(&self, seq: u32) -> bool {
        self.arrivals.as_ref().is_none_or(|a| seq < a.arrived())
    }

    /// Returns the time at which the data of a packet is ready; zero for ready data.
    #[inline]
    pub fn arrives(&self, seq: u32) -> Moment {
        match &self.arrivals {
            Some(arrivals) if seq >= arrivals.arrived() => arrivals.next(),
            _ => Moment::ZERO,
        }
    }

    /// True when window and credit allow a packet.
    #[inline]
    pub fn may_send(&self, seq: u32, config: &Config) -> bool {
        self.has_credit() && self.has_window(seq, config)
    }

    #[inline]
    pub fn has_window(&self, seq: u32, config: &Config) -> bool {
        let is_held = seq >= self.progress.highest || config.transport.windows_hold_lost();
        let in_flight = || self.in_flight(config) * config.framing.payload;
        !is_held || config.schemes.at(self.control, self.port).allows(&self.rate, seq, in_flight())
    }

    /// Packets under way.
    #[inline]
    pub fn in_flight(&self, config: &Config) -> u64 {
        u64::from(config.transport.in_flight(&self.progress, &self.transport))
    }

    /// Payload that was never sent.
    pub fn left(&self, framing: &Framing) -> u64 {
        let (packets, from) = (self.progress.packets, self.progress.highest);
        let short = match &self.messages {
            Some(messages) => messages.short(from, |last| framing.payload - last),
            None if from < packets => framing.payload - u64::from(self.last),
            None => 0,
        };
        u64::from(packets.saturating_sub(from)) * framing.payload - short
    }

    /// Wire bytes of packets that were never sent.
    pub fn unsent(&self, framing: &Framing) -> u64 {
        let packets = self.progress.packets.saturating_sub(self.progress.highest);
        self.left(framing) + u64::from(packets) * framing.header
    }

    /// Returns the record of a flow. Hold time after `now` does not count.
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

/// The record of a flow that is acknowledged to the last byte.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The flow.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// The start.
    pub start: Moment,
    /// The arrival of the last ACK.
    pub acknowledged: Option<Moment>,
    /// Packets sent, including retransmissions.
    pub packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Messages of the network to congestion control.
    pub notifications: u32,
    /// Holds by mechanisms.
    pub holds: u32,
    /// For how long.
    pub paused: Duration,
    /// The least round trip that congestion control measured.
    pub least_round_trip: Option<Duration>,
    /// Slow round trips on an empty path, and those without a faster rate than before.
    pub slow: (u32, u32),
    /// The class.
    pub class: u8,
    /// The pinned path.
    pub path: u16,
    /// The first port.
    pub port: PortId,
}
