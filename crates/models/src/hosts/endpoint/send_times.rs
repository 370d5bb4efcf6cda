//! Start times of a flow's packets: round-trip times, and the time that a flow stays slow on an empty path.
//!
//! Models: a packet and its answer carry the number of the copy ([`Packet::copy`]), so an answer is compared
//! with the start of the answered copy. Copies after the third have no number and give no round trip (Karn
//! and Partridge 1987). An answer to no single packet gives no round trip. Invariant: no round trip is below
//! the least of the flow's path.

use std::collections::{BTreeMap, VecDeque};

use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, index, number};

use super::slow::Slow;
use crate::frames::packet::Packet;

/// The copies of a retransmitted packet.
#[derive(Debug, Clone)]
struct Copies {
    /// The number of the last.
    last: u8,
    /// The starts of the second and third copy; never for copies that were not sent or were answered.
    starts: [Moment; 2],
}

/// The packets of a flow from the oldest without ACK on.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamps {
    first: u32,
    /// The start of the first copy of each packet; never for answered packets.
    starts: VecDeque<Moment>,
    /// Packets that were retransmitted.
    again: BTreeMap<u32, Copies>,
    /// The least round trip so far.
    pub least: Option<Duration>,
    pub slow: Slow,
}

impl State for Stamps {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { first, starts, again, least, slow } = self;
        walk.packet(first);
        walk.value(starts.len() as u64);
        for at in starts.iter_mut() {
            walk.moment(at);
        }
        let mut packets: Vec<(u32, Copies)> = std::mem::take(again).into_iter().collect();
        walk.value(packets.len() as u64);
        for (seq, copies) in &mut packets {
            walk.packet(seq);
            walk.value(u64::from(copies.last));
            for at in &mut copies.starts {
                walk.moment(at);
            }
        }
        again.extend(packets);
        walk.value(least.map_or(0, Duration::ps));
        slow.walk(walk);
    }
}

impl Stamps {
    /// Records the start of a packet; returns the number of the copy.
    pub fn on_sent(&mut self, seq: u32, now: Moment) -> u8 {
        let at = index(seq.wrapping_sub(self.first));
        if at == self.starts.len() {
            self.starts.push_back(now);
            return 0;
        }
        if at > self.starts.len() {
            return Packet::COPY_UNKNOWN;
        }
        let copies = self.again.entry(seq).or_insert(Copies { last: 0, starts: [Moment::NEVER; 2] });
        copies.last = Packet::COPY_UNKNOWN.min(copies.last + 1);
        if let Some(start) = copies.starts.get_mut(usize::from(copies.last) - 1) {
            *start = now;
        }
        copies.last
    }

    /// Returns the start of a copy of a packet; none for copies without a number and for answered packets.
    pub fn start(&self, seq: u32, copy: u8) -> Option<Moment> {
        let start = match copy {
            0 => self.starts.get(index(seq.wrapping_sub(self.first))),
            _ => self.again.get(&seq).and_then(|copies| copies.starts.get(usize::from(copy) - 1)),
        };
        start.copied().filter(|at| *at != Moment::NEVER)
    }

    /// Records the answer to a copy of a packet, and the ACK of all packets before `to`; returns the round
    /// trip.
    pub fn on_answer(&mut self, seq: u32, copy: u8, to: u32, now: Moment) -> Option<Duration> {
        let start = match copy {
            0 => self.starts.get_mut(index(seq.wrapping_sub(self.first))),
            _ => self.again.get_mut(&seq).and_then(|copies| copies.starts.get_mut(usize::from(copy) - 1)),
        };
        let started = start.map_or(Moment::NEVER, |at| std::mem::replace(at, Moment::NEVER));
        let round_trip = (started != Moment::NEVER).then(|| now - started);
        if let Some(sample) = round_trip {
            self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        }
        let gone = index(to.saturating_sub(self.first)).min(self.starts.len());
        self.starts.drain(..gone);
        self.first += number(gone);
        if !self.again.is_empty() {
            self.again = self.again.split_off(&self.first);
        }
        round_trip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_is_answered_tells_once() {
        let mut s = Stamps::default();
        for seq in 0..5 {
            assert_eq!(s.on_sent(seq, Moment::us(u64::from(seq))), 0);
        }
        // An ACK of two packets answers the second of them.
        assert_eq!(s.on_answer(1, 0, 2, Moment::us(11)), Some(Duration::us(10)));
        assert_eq!(s.on_answer(1, 0, 2, Moment::us(12)), None);
        // Packet 4 is answered beyond a gap, and not again when the gap is closed.
        assert_eq!(s.on_answer(4, 0, 2, Moment::us(15)), Some(Duration::us(11)));
        assert_eq!(s.on_answer(4, 0, 5, Moment::us(16)), None);
        assert_eq!(s.on_answer(u32::MAX - 1, 0, 5, Moment::us(28)), None);
        assert_eq!(s.least, Some(Duration::us(10)));
    }

    #[test]
    fn each_answer_is_compared_with_the_copy_that_it_answers() {
        let mut s = Stamps::default();
        let at = |s: &mut Stamps, seq, us| s.on_sent(seq, Moment::us(us));
        assert_eq!((at(&mut s, 0, 1), at(&mut s, 1, 2)), (0, 0));
        // The header of packet 1 is answered; its second copy times out, and a third starts. The answer of
        // the second comes late.
        assert_eq!(s.on_answer(1, 0, 0, Moment::us(12)), Some(Duration::us(10)));
        assert_eq!((at(&mut s, 1, 20), at(&mut s, 1, 40)), (1, 2));
        assert_eq!(s.on_answer(1, 1, 0, Moment::us(41)), Some(Duration::us(21)));
        assert_eq!(s.on_answer(1, 1, 0, Moment::us(42)), None, "once");
        assert_eq!(s.on_answer(1, 2, 0, Moment::us(50)), Some(Duration::us(10)));
        // Further copies have no number of their own.
        assert_eq!((at(&mut s, 1, 60), at(&mut s, 1, 61)), (Packet::COPY_UNKNOWN, Packet::COPY_UNKNOWN));
        assert_eq!(s.on_answer(1, Packet::COPY_UNKNOWN, 2, Moment::us(70)), None);
        assert!(s.again.is_empty() && s.starts.is_empty());
    }
}
