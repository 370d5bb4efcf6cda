//! When the packets of a flow started on the wire, for round-trip times.
//!
//! A packet that was sent more than once tells no round trip: its answer may be that of either (Karn, Partridge 1987).

use std::collections::VecDeque;

use xoff_units::Time;

/// The packets of a flow from the oldest without ACK on.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    first: u32,
    /// None for a packet that was sent again.
    started: VecDeque<Option<Time>>,
}

impl Stamps {
    /// A packet starts.
    pub fn on_sent(&mut self, seq: u32, now: Time) {
        let at = seq.wrapping_sub(self.first) as usize;
        if at < self.started.len() {
            self.started[at] = None;
        } else if at == self.started.len() {
            self.started.push_back(Some(now));
        }
    }

    /// Everything before a packet is acknowledged; returns the round trip of the newest of those.
    pub fn on_acknowledged(&mut self, to: u32, now: Time) -> Option<Time> {
        let mut newest = None;
        while self.first < to {
            self.first += 1;
            newest = self.started.pop_front().flatten();
        }
        newest.map(|started| now - started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_acknowledged_packet_tells_unless_it_was_sent_again() {
        let mut s = Stamps::default();
        for seq in 0..4 {
            s.on_sent(seq, Time::us(u64::from(seq)));
        }
        assert_eq!(s.on_acknowledged(2, Time::us(11)), Some(Time::us(10)));
        assert_eq!(s.on_acknowledged(2, Time::us(12)), None);
        // From packet 3 on again: it tells nothing, and a later one does.
        s.on_sent(3, Time::us(20));
        s.on_sent(4, Time::us(21));
        assert_eq!(s.on_acknowledged(4, Time::us(25)), None);
        assert_eq!(s.on_acknowledged(5, Time::us(26)), Some(Time::us(5)));
    }
}
