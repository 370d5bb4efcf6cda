//! Data that arrives at the source of a flow packet by packet and waits there for room.

use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment};

/// The arrival times of a flow's packets.
#[derive(Debug, Clone)]
pub struct Feed {
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
    is_held: bool,
}

state!(Feed {
    value: stream, is_held;
    moment: next;
    packet: arrived;
    total: left;
    constant: slot, log_none, room;
});

impl Feed {
    /// Returns frames at random in slots from `start` to `end`, each with probability `load`, with the time of the first and the number.
    /// None without a frame.
    pub fn in_slots(stream: Stream, slot: Duration, load: f64, start: Moment, end: Moment, room: u32) -> Option<(Self, Moment, u32)> {
        let mut feed =
            Self { stream, slot, log_none: libm::log(1.0 - load), next: start, arrived: 0, left: u32::MAX, room, is_held: false };
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

    /// Lets packets arrive up to `now`, with `sent` packets sent. Returns the number of packets that found the queue full.
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
