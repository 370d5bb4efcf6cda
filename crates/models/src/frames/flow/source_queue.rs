//! Data that arrives at the source of a flow packet by packet and waits there for room.

use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment};

/// The arrival times of a flow's packets.
#[derive(Debug, Clone)]
pub struct SourceQueue {
    stream: Stream,
    slot: Duration,
    /// Logarithm of the probability of a slot without a frame.
    log_none: f64,
    next: Moment,
    arrived: u32,
    /// Packets to come.
    left: u32,
    /// Most packets that wait.
    room: u32,
    /// The next packet found the queue full, and waits for room.
    is_held: bool,
}

state!(SourceQueue {
    value: stream, is_held;
    moment: next;
    packet: arrived;
    total: left;
    constant: slot, log_none, room;
});

impl SourceQueue {
    /// Divides the time from `start` to `end` into slots; each slot has a packet with probability `load`.
    /// Returns the queue, the time of the first packet, and the number of packets, or `None` without a
    /// packet. Example: 1,000 slots at load 0.3 have about 300 packets.
    pub fn in_slots(
        stream: Stream,
        slot: Duration,
        load: f64,
        start: Moment,
        end: Moment,
        room: u32,
    ) -> Option<(Self, Moment, u32)> {
        let mut feed = Self {
            stream,
            slot,
            log_none: libm::log(1.0 - load),
            next: start,
            arrived: 0,
            left: u32::MAX,
            room,
            is_held: false,
        };
        let gap = feed.gap();
        feed.next += gap - slot;
        let (first, mut dry) = (feed.next, feed.clone());
        while dry.next < end {
            dry.arrived += 1;
            let gap = dry.gap();
            dry.next += gap;
        }
        feed.left = dry.arrived;
        (dry.arrived > 0).then_some((feed, first, dry.arrived))
    }

    fn gap(&mut self) -> Duration {
        let empty = libm::log(1.0 - self.stream.uniform()) / self.log_none;
        self.slot * (1 + empty.min(1e9) as u64)
    }

    /// Packets that have arrived.
    #[inline]
    pub const fn arrived(&self) -> u32 {
        self.arrived
    }

    /// The time of the next packet.
    #[inline]
    pub const fn next(&self) -> Moment {
        self.next
    }

    /// Lets packets arrive up to `now`. `sent` is the number of packets that the flow has sent.
    ///
    /// At most `room` packets wait. A packet that finds `room` packets waiting is held: the packet arrives at
    /// the first call that finds room, and later packets move by the same time. Example: with room for 2 and
    /// nothing sent, packets are due at 1, 2 and 3 µs. The third packet is held. The flow sends a packet at 9
    /// µs, and the third packet arrives at 9 µs. Returns 1 for a newly held packet, and 0 otherwise.
    #[inline]
    pub fn advance(&mut self, sent: u32, now: Moment) -> u64 {
        let mut held = 0;
        while self.next <= now && self.left > 0 {
            if self.arrived - sent >= self.room {
                held += u64::from(!std::mem::replace(&mut self.is_held, true));
                break;
            }
            if std::mem::take(&mut self.is_held) {
                self.next = now;
            }
            self.arrived += 1;
            self.left -= 1;
            let gap = self.gap();
            self.next += gap;
        }
        held
    }
}
