//! When the packets of a flow started on the wire, for round-trip times.
//!
//! Answers say whether they answer a packet that was sent again. One that was sent again once before its answer came tells the round
//! trip of the second copy if the answer says so, and else none; of three copies nobody knows which was answered (Karn, Partridge 1987).
//! A packet that was answered, as by a NACK, tells again.

use std::collections::VecDeque;

use xoff_engine::state;
use xoff_engine::state::{State, Walk};
use xoff_units::{Duration, Moment, index, number};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Started(Moment),
    /// The first copy was not answered; the second started then.
    Again(Moment),
    Answered,
    /// Several copies are under way.
    Unclear,
}

impl State for Stamp {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        match self {
            Self::Started(at) => walk.moment(at),
            Self::Again(at) => {
                walk.value(3);
                walk.moment(at);
            }
            Self::Answered => walk.value(1),
            Self::Unclear => walk.value(2),
        }
    }
}

/// The packets of a flow from the oldest without ACK on.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamps {
    first: u32,
    list: VecDeque<Stamp>,
}

state!(Stamps {
    packet: first;
    part: list;
});

impl Stamps {
    /// A packet starts.
    pub fn on_sent(&mut self, seq: u32, now: Moment) {
        let at = index(seq.wrapping_sub(self.first));
        if let Some(stamp) = self.list.get_mut(at) {
            *stamp = match stamp {
                Stamp::Answered => Stamp::Started(now),
                Stamp::Started(_) => Stamp::Again(now),
                Stamp::Again(_) | Stamp::Unclear => Stamp::Unclear,
            };
        } else if at == self.list.len() {
            self.list.push_back(Stamp::Started(now));
        }
    }

    /// A packet, or one that was sent again, is answered, and everything before `to` acknowledged; returns its round trip.
    pub fn on_answer(&mut self, seq: u32, is_again: bool, to: u32, now: Moment) -> Option<Duration> {
        let mut round_trip = None;
        if let Some(stamp) = self.list.get_mut(index(seq.wrapping_sub(self.first))) {
            match *stamp {
                Stamp::Started(at) => round_trip = Some(now - at),
                Stamp::Again(at) if is_again => round_trip = Some(now - at),
                _ => {}
            }
            if round_trip.is_some() {
                *stamp = Stamp::Answered;
            }
        }
        let gone = index(to.saturating_sub(self.first)).min(self.list.len());
        self.list.drain(..gone);
        self.first += number(gone);
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
            s.on_sent(seq, Moment::us(u64::from(seq)));
        }
        // An ACK of two packets answers the second of them.
        assert_eq!(s.on_answer(1, false, 2, Moment::us(11)), Some(Duration::us(10)));
        assert_eq!(s.on_answer(1, false, 2, Moment::us(12)), None);
        // Packet 4 is answered beyond a gap, and not again when the gap is closed.
        assert_eq!(s.on_answer(4, false, 2, Moment::us(15)), Some(Duration::us(11)));
        assert_eq!(s.on_answer(4, false, 5, Moment::us(16)), None);
        assert_eq!(s.on_answer(u32::MAX - 1, false, 5, Moment::us(28)), None);
    }

    #[test]
    fn a_packet_that_is_sent_again_tells_if_it_is_known_which_copy_was_answered() {
        let mut s = Stamps::default();
        s.on_sent(0, Moment::us(1));
        s.on_sent(1, Moment::us(2));
        // A NACK answers packet 1; packet 0 is silent.
        assert_eq!(s.on_answer(1, false, 0, Moment::us(12)), Some(Duration::us(10)));
        s.on_sent(0, Moment::us(20));
        s.on_sent(1, Moment::us(21));
        assert_eq!(s.on_answer(0, false, 1, Moment::us(25)), None);
        assert_eq!(s.on_answer(1, true, 2, Moment::us(30)), Some(Duration::us(9)));
        // The answer of the second of two copies; of three nobody knows.
        for (seq, at) in [(2, 40), (3, 41), (2, 50), (3, 51), (3, 60)] {
            s.on_sent(seq, Moment::us(at));
        }
        assert_eq!(s.on_answer(2, true, 3, Moment::us(62)), Some(Duration::us(12)));
        assert_eq!(s.on_answer(3, true, 4, Moment::us(63)), None);
    }
}
