//! IRN, improved RoCE NIC (Mittal et al., SIGCOMM 2018, section 3): selective repeat and a window of one bandwidth-delay product.
//!
//! Models: every packet is answered. One in order brings an ACK; one beyond a gap is kept and brings a NACK with the packet that
//! the receiver expects and the packet that it got. The sender enters recovery with the first NACK or timeout, and sends the oldest
//! packet without ACK again; any other counts as lost only when one after it was acknowledged selectively, or after a timeout, when
//! all that was sent and is not acknowledged does (as in RFC 6675; the paper leaves it open, and a lost tail would otherwise cost a
//! timeout a packet). When nothing is lost it sends new data. Recovery ends when all is acknowledged that had been sent when it began. The timeout is `rto_low` while at
//! most `few` packets are in flight and `rto_high` otherwise; it restarts with every packet sent and every answer. New packets keep
//! within `bdp` of the oldest without ACK (BDP-FC). Source: the paper; mechanisms.md 3.2 for the constants.
//! Simplifications: a packet is sent again once a recovery, or after a timeout; in flight is what lies between the oldest packet
//! without ACK and the newest sent, as in the paper; the receiver's memory is not bounded beyond `bdp`.
//! Invariants: each packet is delivered once; a flow completes on any loss pattern that ends.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use super::{ReceiveState, Reply, SendState};

/// `host.transport.irn`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Payload that may be in flight. Default: that of 100 Gb/s and 8.32 us, four links of 1 us with their packets.
    pub bdp: Bytes,
    /// Timeout while few packets are in flight.
    pub rto_low: Time,
    /// Timeout otherwise.
    pub rto_high: Time,
    /// How many are few.
    pub few: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { bdp: Bytes(104_000), rto_low: Time::us(100), rto_high: Time::us(320), few: 3 }
    }
}

/// Which packets arrived beyond the first that is missing.
#[derive(Debug, Clone, Default)]
pub struct Beyond {
    /// The packet of the first entry.
    base: u32,
    is_here: VecDeque<bool>,
}

impl Beyond {
    /// One past the highest packet that is here.
    fn end(&self) -> u32 {
        self.base + self.is_here.len() as u32
    }

    fn has(&self, seq: u32) -> bool {
        seq >= self.base && self.is_here.get((seq - self.base) as usize) == Some(&true)
    }

    /// Enters a packet; true when it was not here.
    fn enter(&mut self, seq: u32) -> bool {
        let at = (seq - self.base) as usize;
        if self.is_here.len() <= at {
            self.is_here.resize(at + 1, false);
        }
        !std::mem::replace(&mut self.is_here[at], true)
    }

    /// Forgets what is before a packet.
    fn advance(&mut self, to: u32) {
        let gone = ((to - self.base) as usize).min(self.is_here.len());
        self.is_here.drain(..gone);
        self.base = to;
    }
}

/// What a sender remembers beside the counts of every transport.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    beyond: Beyond,
    /// While recovering: one past the last packet that had been sent when it began.
    recovers_until: Option<u32>,
    /// Packets before this one were looked at in this recovery.
    looked: u32,
    /// The oldest packet without ACK is due to be sent again.
    is_oldest_due: bool,
    /// All before this one counts as lost, since a timeout.
    timed_out: u32,
}

impl Sender {
    /// The lowest packet from `looked` on that counts as lost.
    fn lost(&self, state: &SendState) -> Option<u32> {
        self.recovers_until?;
        if self.is_oldest_due {
            return Some(state.unacknowledged);
        }
        (self.looked.max(state.unacknowledged)..self.beyond.end().max(self.timed_out)).find(|seq| !self.beyond.has(*seq))
    }

    fn begin(&mut self, state: &SendState) {
        self.recovers_until = Some(state.highest);
        self.looked = state.unacknowledged;
        self.is_oldest_due = true;
    }
}

impl Params {
    /// The packet to send now, if there is one.
    pub fn next(&self, state: &SendState, sender: &Sender, payload: u64) -> Option<u32> {
        let is_open = u64::from(state.next - state.unacknowledged) < (self.bdp.0 / payload).max(1);
        sender.lost(state).or_else(|| (state.next < state.packets && is_open).then_some(state.next))
    }

    /// A packet was sent.
    pub fn on_sent(&self, state: &mut SendState, sender: &mut Sender, seq: u32) {
        if seq == state.next {
            state.next += 1;
        } else {
            sender.looked = seq + 1;
            sender.is_oldest_due = false;
        }
    }

    /// The timeout as things stand.
    pub fn rto(&self, state: &SendState) -> Time {
        if state.next - state.unacknowledged <= self.few { self.rto_low } else { self.rto_high }
    }

    /// An ACK or NACK arrived: everything before `seq` is there, and with a NACK also `selective`.
    pub fn on_answer(&self, state: &mut SendState, sender: &mut Sender, seq: u32, selective: Option<u32>) -> bool {
        let news = seq > state.unacknowledged;
        if news {
            state.unacknowledged = seq;
            state.next = state.next.max(seq);
            sender.beyond.advance(seq);
            sender.is_oldest_due = false;
            if sender.recovers_until.is_some_and(|until| seq >= until) {
                sender.recovers_until = None;
            }
        }
        let is_new = selective.is_some_and(|s| s >= state.unacknowledged && sender.beyond.enter(s));
        if is_new && sender.recovers_until.is_none() {
            sender.begin(state);
        }
        news || is_new
    }

    /// Nothing was heard for the timeout.
    pub fn on_timeout(&self, state: &SendState, sender: &mut Sender) {
        sender.begin(state);
        sender.timed_out = state.highest;
    }

    /// A data packet arrived; tells whether it is new, and what to answer.
    pub fn on_data(&self, state: &mut ReceiveState, seq: u32) -> (bool, Reply) {
        if seq < state.expected {
            return (false, Reply::Ack(state.expected));
        }
        if seq > state.expected {
            let expected = state.expected;
            let beyond = state.beyond.get_or_insert_with(|| Box::new(Beyond { base: expected, ..Beyond::default() }));
            let is_new = beyond.enter(seq);
            return (is_new, Reply::Nack(expected, seq));
        }
        state.expected += 1;
        if let Some(beyond) = &mut state.beyond {
            while beyond.has(state.expected) {
                state.expected += 1;
            }
            beyond.advance(state.expected);
        }
        (true, Reply::Ack(state.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(p: &Params, n: u32) -> (SendState, Sender) {
        let (mut s, mut m) = (SendState { packets: 100, ..SendState::default() }, Sender::default());
        for seq in 0..n {
            assert_eq!(p.next(&s, &m, 1000), Some(seq));
            p.on_sent(&mut s, &mut m, seq);
            s.highest = seq + 1;
        }
        (s, m)
    }

    #[test]
    fn only_what_is_lost_is_sent_again() {
        let p = Params::default();
        let (mut s, mut m) = sent(&p, 10);
        assert!(p.on_answer(&mut s, &mut m, 2, None));
        // 2 is missing; 3 to 5 arrive, 6 is missing, 7 arrives.
        for selective in [3, 4, 5, 7] {
            assert!(p.on_answer(&mut s, &mut m, 2, Some(selective)));
        }
        let mut again = Vec::new();
        while let Some(seq) = p.next(&s, &m, 1000).filter(|seq| *seq < 10) {
            p.on_sent(&mut s, &mut m, seq);
            again.push(seq);
        }
        assert_eq!(again, [2, 6]);
        // Then new data, and recovery ends with the ACK of all that was sent before.
        assert_eq!(p.next(&s, &m, 1000), Some(10));
        assert!(m.recovers_until.is_some());
        assert!(p.on_answer(&mut s, &mut m, 10, None));
        assert!(m.recovers_until.is_none());
    }

    #[test]
    fn the_window_is_one_product_and_a_timeout_sends_the_oldest() {
        let p = Params { bdp: Bytes(5_000), ..Params::default() };
        let (mut s, mut m) = sent(&p, 5);
        assert_eq!(p.next(&s, &m, 1000), None);
        assert_eq!(p.rto(&s), Time::us(320));
        assert!(p.on_answer(&mut s, &mut m, 3, None));
        assert_eq!((p.rto(&s), p.next(&s, &m, 1000)), (Time::us(100), Some(5)));
        p.on_timeout(&s, &mut m);
        for seq in [3, 4, 5] {
            assert_eq!(p.next(&s, &m, 1000), Some(seq));
            p.on_sent(&mut s, &mut m, seq);
        }
    }

    #[test]
    fn the_receiver_keeps_what_comes_after_a_gap() {
        let p = Params::default();
        let mut r = ReceiveState::default();
        assert_eq!(p.on_data(&mut r, 0), (true, Reply::Ack(1)));
        assert_eq!(p.on_data(&mut r, 2), (true, Reply::Nack(1, 2)));
        assert_eq!(p.on_data(&mut r, 2), (false, Reply::Nack(1, 2)));
        assert_eq!(p.on_data(&mut r, 4), (true, Reply::Nack(1, 4)));
        assert_eq!(p.on_data(&mut r, 1), (true, Reply::Ack(3)));
        assert_eq!(p.on_data(&mut r, 3), (true, Reply::Ack(5)));
        assert_eq!(p.on_data(&mut r, 3), (false, Reply::Ack(5)));
    }
}
