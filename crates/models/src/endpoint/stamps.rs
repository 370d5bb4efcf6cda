//! When the packets of a flow started on the wire, for round-trip times.
//!
//! A packet that is sent again before its answer came tells no round trip: the answer may be that of either copy (Karn, Partridge
//! 1987). One that was answered, as by a NACK, tells again.

use std::collections::VecDeque;

use xoff_engine::state;
use xoff_engine::state::{State, Walk};
use xoff_units::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Started(Time),
    Answered,
    /// Several copies are under way.
    Unclear,
}

impl State for Stamp {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        match self {
            Self::Started(at) => walk.moment(at),
            Self::Answered => walk.value(1),
            Self::Unclear => walk.value(2),
        }
    }
}

/// The packets of a flow from the oldest without ACK on.
#[derive(Debug, Default)]
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
    pub fn on_sent(&mut self, seq: u32, now: Time) {
        let at = seq.wrapping_sub(self.first) as usize;
        if let Some(stamp) = self.list.get_mut(at) {
            *stamp = if *stamp == Stamp::Answered { Stamp::Started(now) } else { Stamp::Unclear };
        } else if at == self.list.len() {
            self.list.push_back(Stamp::Started(now));
        }
    }

    /// A packet is answered, and everything before `to` acknowledged; returns the round trip of the one that is answered.
    pub fn on_answer(&mut self, seq: u32, to: u32, now: Time) -> Option<Time> {
        let mut round_trip = None;
        if let Some(stamp) = self.list.get_mut(seq.wrapping_sub(self.first) as usize)
            && let Stamp::Started(at) = *stamp
        {
            *stamp = Stamp::Answered;
            round_trip = Some(now - at);
        }
        let gone = (to.saturating_sub(self.first) as usize).min(self.list.len());
        self.list.drain(..gone);
        self.first += gone as u32;
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
            s.on_sent(seq, Time::us(u64::from(seq)));
        }
        // An ACK of two packets answers the second of them.
        assert_eq!(s.on_answer(1, 2, Time::us(11)), Some(Time::us(10)));
        assert_eq!(s.on_answer(1, 2, Time::us(12)), None);
        // Packet 4 is answered beyond a gap, and not again when the gap is closed.
        assert_eq!(s.on_answer(4, 2, Time::us(15)), Some(Time::us(11)));
        assert_eq!(s.on_answer(4, 5, Time::us(16)), None);
        assert_eq!(s.on_answer(u32::MAX - 1, 5, Time::us(28)), None);
    }

    #[test]
    fn a_packet_that_is_sent_again_tells_if_its_first_copy_was_answered() {
        let mut s = Stamps::default();
        s.on_sent(0, Time::us(1));
        s.on_sent(1, Time::us(2));
        // A NACK answers packet 1; packet 0 is silent.
        assert_eq!(s.on_answer(1, 0, Time::us(12)), Some(Time::us(10)));
        s.on_sent(0, Time::us(20));
        s.on_sent(1, Time::us(21));
        assert_eq!(s.on_answer(0, 1, Time::us(25)), None);
        assert_eq!(s.on_answer(1, 2, Time::us(30)), Some(Time::us(9)));
    }
}
