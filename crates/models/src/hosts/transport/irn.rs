//! IRN, improved RoCE NIC: selective repeat and a window of one bandwidth-delay product.
//!
//! Models: the receiver answers every packet and keeps packets beyond a gap; a NACK names the expected packet
//! and the packet that arrived. The first NACK or timeout begins a recovery, which repeats the oldest packet
//! without ACK. Another packet counts as lost when a later packet was acknowledged selectively, or after a
//! timeout. New packets stay within `bdp_cap` of the oldest packet without ACK (BDP-FC). The timeout is
//! `rto_low` while at most `rto_low_threshold` packets are in flight, and `rto_high` otherwise. Source:
//! Mittal et al. (SIGCOMM 2018), section 3; `docs/models/irn.md`. Our choice, as in RFC 6675: a timeout
//! repeats every packet without ACK.
//! Simplifications: one retransmission per packet and recovery; unbounded memory of the receiver. Invariants:
//! each packet is delivered once; a flow completes on any loss pattern that ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Duration, Moment};

use super::contract::{
    Arrival, Loss, News, Progress, Received, Replies, Transport, check_timeout, default_timeout,
};
use super::sack_bitmap::Beyond;
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::paths::line::Line;

/// `host.transport.irn`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Payload that may be in flight. Default: the line's rate times the longest round trip without queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bdp_cap: Option<Bytes>,
    /// Timeout while at most `rto_low_threshold` packets are in flight. Default: 100us, or twice the longest
    /// round trip without load if longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_low: Option<Duration>,
    /// Timeout with more packets in flight. Default: 320us, or `rto_low` if longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_high: Option<Duration>,
    /// `rto_low` applies while at most this many packets are in flight.
    pub rto_low_threshold: u32,
}

/// Timeouts of the paper's `RTO_low` and `RTO_high`, where no path is longer.
const RTO_LOW: Duration = Duration::us(100);
const RTO_HIGH: Duration = Duration::us(320);

impl Default for Params {
    fn default() -> Self {
        Self { bdp_cap: None, rto_low: None, rto_high: None, rto_low_threshold: 3 }
    }
}

/// The sender's state beside the counts of every transport.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    beyond: Beyond,
    /// During a recovery: one past the last packet sent before the recovery began.
    recovers_until: Option<u32>,
    /// Packets before this packet were examined in this recovery.
    looked: u32,
    /// The oldest packet without ACK is due to be sent again.
    is_oldest_due: bool,
    /// Packets before this packet count as lost since a timeout.
    timed_out: u32,
}

state!(Sender {
    part: beyond;
    packets: recovers_until;
    ahead: looked, timed_out;
    value: is_oldest_due;
});

impl Sender {
    /// Returns the lowest lost packet from `looked` on.
    fn lost(&self, state: &Progress) -> Option<u32> {
        self.recovers_until?;
        if self.is_oldest_due {
            return Some(state.unacknowledged);
        }
        (self.looked.max(state.unacknowledged)..self.beyond.end().max(self.timed_out))
            .find(|seq| !self.beyond.has(*seq))
    }

    fn begin(&mut self, state: &Progress) {
        self.recovers_until = Some(state.highest);
        self.looked = state.unacknowledged;
        self.is_oldest_due = true;
    }
}

/// IRN with resolved parameters.
#[derive(Debug, Clone)]
pub struct Irn {
    /// Most packets in flight.
    window: u64,
    rto_low: Duration,
    rto_high: Duration,
    rto_low_threshold: u32,
}

impl Irn {
    /// Records an ACK or NACK: all packets before `seq` have arrived, and with a NACK also `selective`.
    fn on_selective(state: &mut Progress, sender: &mut Sender, seq: u32, selective: Option<u32>) -> bool {
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
}

impl Transport for Irn {
    type Params = Params;
    type Sender = Box<Sender>;
    type Receiver = Option<Box<Beyond>>;
    const LABEL: &'static str = "IRN";
    const FOLDS: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        let product = Bytes(line.product(line.round_trip) as u64);
        let rto_low = params.rto_low.unwrap_or_else(|| default_timeout(RTO_LOW, line));
        let rto_high = params.rto_high.unwrap_or(RTO_HIGH).max(rto_low);
        Params {
            bdp_cap: Some(params.bdp_cap.unwrap_or(product)),
            rto_low: Some(rto_low),
            rto_high: Some(rto_high),
            ..params.clone()
        }
    }

    fn wants_round_trip(params: &Params) -> bool {
        params.bdp_cap.is_none()
    }

    fn new(params: &Params, framing: &Framing) -> Self {
        let window = (params.bdp_cap.unwrap_or_default().0 / framing.payload).max(1);
        let rto_low = params.rto_low.unwrap_or(RTO_LOW);
        Self {
            window,
            rto_low,
            rto_high: params.rto_high.unwrap_or(RTO_HIGH).max(rto_low),
            rto_low_threshold: params.rto_low_threshold,
        }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.small_window("bdp_cap", params.bdp_cap.map(|bytes| bytes.0 as f64))
    }

    fn validate(params: &Params, framing: &Framing) -> Result<(), ParamError> {
        check_timeout("rto_low", params.rto_low)?;
        check_timeout("rto_high", params.rto_high)?;
        if let Some(high) = params.rto_high
            && high < params.rto_low.unwrap_or(RTO_LOW)
        {
            return Err((
                "rto_high",
                format!("{high} is below rto_low, {}", params.rto_low.unwrap_or(RTO_LOW)),
            ));
        }
        if let Some(bdp) = params.bdp_cap.filter(|bdp| bdp.0 < framing.payload || bdp.0 >= 1 << 30) {
            let payload = framing.payload;
            return Err((
                "bdp_cap",
                format!("{bdp} is out of range; must be at least a packet of {payload} B and below 1GiB"),
            ));
        }
        Ok(())
    }

    fn sender(&self) -> Box<Sender> {
        Box::default()
    }

    fn next(&self, state: &Progress, sender: &Box<Sender>) -> Option<u32> {
        let is_open = u64::from(state.next - state.unacknowledged) < self.window;
        sender.lost(state).or_else(|| (state.next < state.packets && is_open).then_some(state.next))
    }

    fn on_sent(&self, state: &mut Progress, sender: &mut Box<Sender>, seq: u32, _: Moment) {
        if seq == state.next {
            state.next += 1;
        } else {
            sender.looked = seq + 1;
            sender.is_oldest_due = false;
        }
    }

    fn on_answer(&self, state: &mut Progress, sender: &mut Box<Sender>, frame: &Packet) -> News {
        let is_nack = frame.kind() == Kind::Nack;
        let is_news = Self::on_selective(state, sender, frame.seq(), is_nack.then_some(frame.answers()));
        News { is_news, loss: is_nack.then_some(Loss::Reported) }
    }

    fn on_timeout(&self, state: &mut Progress, sender: &mut Box<Sender>, _: Moment) -> u32 {
        sender.begin(state);
        sender.timed_out = state.highest;
        1
    }

    fn deadline(&self, state: &Progress, _: &Box<Sender>, now: Moment) -> Moment {
        now + if state.next - state.unacknowledged <= self.rto_low_threshold {
            self.rto_low
        } else {
            self.rto_high
        }
    }

    fn timeouts(&self) -> (Duration, Duration) {
        (self.rto_low, self.rto_high)
    }

    /// Keeps packets beyond a gap.
    fn on_data(
        &self,
        received: &mut Received,
        kept: &mut Option<Box<Beyond>>,
        packet: &Packet,
        replies: &mut Replies,
    ) -> Arrival {
        let (seq, expected) = (packet.seq(), received.expected);
        if seq < expected {
            replies.acknowledge(expected);
            return Arrival::Again;
        }
        if seq > expected {
            let beyond = kept.get_or_insert_with(|| Box::new(Beyond::from(expected)));
            replies.report(expected, seq);
            return if beyond.enter(seq) { Arrival::New } else { Arrival::Again };
        }
        received.expected = Beyond::next(kept, expected);
        replies.acknowledge(received.expected);
        Arrival::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::transport::contract::Reply;

    fn irn(window: u64) -> Irn {
        Irn { window, rto_low: Duration::us(100), rto_high: Duration::us(320), rto_low_threshold: 3 }
    }

    fn sent(t: &Irn, n: u32) -> (Progress, Box<Sender>) {
        let (mut p, mut s) = (Progress { packets: 100, ..Progress::default() }, t.sender());
        for seq in 0..n {
            assert_eq!(t.next(&p, &s), Some(seq));
            t.on_sent(&mut p, &mut s, seq, Moment::ZERO);
            p.highest = seq + 1;
        }
        (p, s)
    }

    fn frame(kind: Kind, seq: u32, answers: u32) -> Packet {
        let mut frame = Packet::new(kind, 0, seq, 0, 64, 0);
        frame.set_answers(answers);
        frame
    }

    #[test]
    fn only_what_is_lost_is_sent_again() {
        let t = irn(104);
        let (mut p, mut s) = sent(&t, 10);
        assert!(t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 2, 0)).is_news);
        // 2 is missing; 3 to 5 arrive, 6 is missing, 7 arrives.
        for selective in [3, 4, 5, 7] {
            let news = t.on_answer(&mut p, &mut s, &frame(Kind::Nack, 2, selective));
            assert_eq!(news, News { is_news: true, loss: Some(Loss::Reported) });
        }
        let mut again = Vec::new();
        while let Some(seq) = t.next(&p, &s).filter(|seq| *seq < 10) {
            t.on_sent(&mut p, &mut s, seq, Moment::ZERO);
            again.push(seq);
        }
        assert_eq!(again, [2, 6]);
        // Then new data, and recovery ends with the ACK of all that was sent before.
        assert_eq!(t.next(&p, &s), Some(10));
        assert!(s.recovers_until.is_some());
        assert!(t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 10, 0)).is_news);
        assert!(s.recovers_until.is_none());
    }

    #[test]
    fn the_window_is_one_product_and_a_timeout_sends_the_oldest() {
        let t = irn(5);
        let (mut p, mut s) = sent(&t, 5);
        assert_eq!(t.next(&p, &s), None);
        assert_eq!(t.deadline(&p, &s, Moment::ZERO), Moment::us(320));
        assert!(t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 3, 0)).is_news);
        assert_eq!((t.deadline(&p, &s, Moment::ZERO), t.next(&p, &s)), (Moment::us(100), Some(5)));
        t.on_timeout(&mut p, &mut s, Moment::ZERO);
        for seq in [3, 4, 5] {
            assert_eq!(t.next(&p, &s), Some(seq));
            t.on_sent(&mut p, &mut s, seq, Moment::ZERO);
        }
    }

    #[test]
    fn without_a_product_it_is_that_of_the_line() {
        // 100 Gb/s and 8.32 us are 104 KB, as in ConWeave's simulator; the network of a document has 200 Gb/s
        // and 3.67 us.
        for (gbps, ns, bytes) in [(100, 8320, 104_000), (200, 3670, 91_750)] {
            let line = Line { rate: xoff_units::Rate::gbps(gbps), ..Line::for_tests(Duration::ns(ns)) };
            assert_eq!(Irn::settled(&Params::default(), line).bdp_cap, Some(Bytes(bytes)));
            let given = Params { bdp_cap: Some(Bytes(25_000)), ..Params::default() };
            assert_eq!(Irn::settled(&given, line).bdp_cap, given.bdp_cap);
        }
    }

    #[test]
    fn the_receiver_keeps_what_comes_after_a_gap() {
        let t = irn(104);
        let (mut received, mut kept) = (Received::default(), None);
        let mut arrive = |seq: u32| {
            let mut replies = Replies::new(Moment::ZERO, 0);
            let arrival = t.on_data(&mut received, &mut kept, &frame(Kind::Data, seq, 0), &mut replies);
            (arrival, replies.reply.unwrap())
        };
        let ack = |seq| Reply { kind: Kind::Ack, seq, answers: 0 };
        let nack = |seq, answers| Reply { kind: Kind::Nack, seq, answers };
        assert_eq!(arrive(0), (Arrival::New, ack(1)));
        assert_eq!(arrive(2), (Arrival::New, nack(1, 2)));
        assert_eq!(arrive(2), (Arrival::Again, nack(1, 2)));
        assert_eq!(arrive(4), (Arrival::New, nack(1, 4)));
        assert_eq!(arrive(1), (Arrival::New, ack(3)));
        assert_eq!(arrive(3), (Arrival::New, ack(5)));
        assert_eq!(arrive(3), (Arrival::Again, ack(5)));
    }
}
