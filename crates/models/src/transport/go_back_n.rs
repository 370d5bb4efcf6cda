//! Go-Back-N, as RoCE network interfaces do it.
//!
//! Models: an ACK for every packet in order; a gap is dropped and reported once a `nack_interval`; the sender goes back to what
//! the NACK names, and after `rto` without progress to the oldest packet without ACK. Source: mechanisms.md 3.1 (HPCC and
//! `ConWeave`; duplicates are answered with an ACK, as `InfiniBand` rule C9-110 asks).
//! Simplifications: an ACK counts packets; no ACK coalescing; the RTO does not adapt.
//! Invariants: packets are delivered in order, each once; a flow completes on any loss pattern that ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Time;

use super::{ReceiveState, Reply, SendState};

/// `host.transport.go_back_n`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Retransmission timeout, restarted by each packet sent and each ACK that makes progress.
    pub rto: Time,
    /// Least time between two NACKs for the same packet.
    pub nack_interval: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self { rto: Time::ms(4), nack_interval: Time::us(4) }
    }
}

impl Params {
    /// A data packet arrived; tells whether it is new and in order, and what to answer.
    #[inline]
    pub fn on_data(&self, state: &mut ReceiveState, seq: u32, now: Time) -> (bool, Reply) {
        if seq == state.expected {
            state.expected += 1;
            return (true, Reply::Ack(state.expected));
        }
        if seq < state.expected {
            return (false, Reply::Ack(state.expected));
        }
        let again = state.nacked.is_some_and(|(packet, at)| packet == state.expected && now < at + self.nack_interval);
        if again {
            return (false, Reply::Silence);
        }
        state.nacked = Some((state.expected, now));
        (false, Reply::Nack(state.expected, seq))
    }

    /// An ACK arrived: everything before `seq` is there. True when that is news.
    #[inline]
    pub fn on_ack(&self, state: &mut SendState, seq: u32) -> bool {
        let news = seq > state.unacknowledged;
        if news {
            state.unacknowledged = seq;
            state.next = state.next.max(seq);
        }
        news
    }

    /// A NACK arrived: everything before `seq` is there, and it comes next.
    pub fn on_nack(&self, state: &mut SendState, seq: u32) {
        if seq >= state.unacknowledged {
            state.unacknowledged = seq;
            state.next = seq;
        }
    }

    /// Nothing was heard for the timeout.
    pub fn on_timeout(&self, state: &mut SendState) {
        state.next = state.unacknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_reported_once_an_interval() {
        let p = Params::default();
        let mut r = ReceiveState::default();
        assert_eq!(p.on_data(&mut r, 0, Time::us(1)), (true, Reply::Ack(1)));
        assert_eq!(p.on_data(&mut r, 2, Time::us(2)), (false, Reply::Nack(1, 2)));
        assert_eq!(p.on_data(&mut r, 3, Time::us(3)), (false, Reply::Silence));
        assert_eq!(p.on_data(&mut r, 4, Time::us(6)), (false, Reply::Nack(1, 4)));
        assert_eq!(p.on_data(&mut r, 1, Time::us(7)), (true, Reply::Ack(2)));
        assert_eq!(p.on_data(&mut r, 0, Time::us(8)), (false, Reply::Ack(2)));
    }

    #[test]
    fn the_sender_goes_back_and_never_before_what_is_acknowledged() {
        let p = Params::default();
        let mut s = SendState { packets: 10, next: 8, ..SendState::default() };
        assert!(p.on_ack(&mut s, 3));
        assert!(!p.on_ack(&mut s, 2));
        p.on_nack(&mut s, 4);
        assert_eq!((s.next, s.unacknowledged), (4, 4));
        p.on_nack(&mut s, 2);
        assert_eq!(s.next, 4);
        s.next = 9;
        p.on_timeout(&mut s);
        assert_eq!(s.next, 4);
    }
}
