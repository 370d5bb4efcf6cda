//! A transport without order: trimmed headers, timeouts and an optional threshold report losses, and gaps
//! alone do not.
//!
//! Models: the receiver answers with the expected packet and the packet that arrived (ACK in order, SACK
//! otherwise), and each trimmed header (`switch.trimming`) with a NACK. With `sack_threshold` answers are
//! coalesced, except for first, marked, duplicate and requesting packets. The sender knows each packet as
//! under way, arrived or lost, and repeats lost packets first. Windows count packets under way. Each packet
//! has its own timeout; `reordering_threshold` later arrivals also make a loss.
//! Source: reliable unordered delivery (RUD) of Ultra Ethernet's public simulator (`uec.cpp`); NDP for NACKs
//! of headers; `docs/models/selective.md`.
//! Simplifications: no bound of the receiver's bitmap; the timeout does not adapt. Invariants: each packet is
//! delivered once; packets under way, arrived and lost are all packets sent.

use std::collections::{BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{Bytes, Duration, Moment, index};

use super::contract::{
    Arrival, Loss, News, Progress, Received, Replies, Transport, check_timeout, default_timeout,
};
use super::sack_bitmap::Beyond;
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::paths::line::Line;

/// `host.transport.selective`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A packet without an answer for this time since its start counts as lost. Ultra Ethernet's simulator
    /// has 15us and the time of six full queues: 100us for 178 KB at 100 Gb/s. Default: 100us, or twice the
    /// longest round trip without load where that is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Duration>,
    /// Wire bytes that one answer covers. Ultra Ethernet's simulator has 16KiB. Default: an answer for every
    /// packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack_threshold: Option<Bytes>,
    /// A packet counts as lost when a packet this many later has arrived. Choose a value above the largest
    /// reordering. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_threshold: Option<u32>,
}

/// The timeout of Ultra Ethernet's simulator for 178 KB at 100 Gb/s.
const RTO: Duration = Duration::us(100);

/// The transport with resolved parameters.
#[derive(Debug, Clone)]
pub struct Selective {
    rto: Duration,
    sack_threshold: Option<u64>,
    reordering_threshold: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Since then.
    UnderWay(Moment),
    Lost,
    There,
}

/// The sender's state of each packet from the oldest without ACK on.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    base: u32,
    fates: VecDeque<Fate>,
    /// Packets in the order of their starts, with the start; the first is under way.
    ages: VecDeque<(u32, Moment)>,
    /// Lost packets to repeat.
    lost: BTreeSet<u32>,
    under_way: u32,
    /// Packets that have arrived, also before `base`.
    there: u32,
    /// One past the highest packet that has arrived.
    end: u32,
    /// `reordering_threshold` was applied to packets before this packet.
    judged: u32,
}

impl State for Sender {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { base, fates, ages, lost, under_way, there, end, judged } = self;
        for fate in fates.iter_mut() {
            match fate {
                Fate::UnderWay(at) => walk.moment(at),
                Fate::Lost => walk.value(1),
                Fate::There => walk.value(2),
            }
        }
        for (seq, at) in ages.iter_mut() {
            walk.packet(seq);
            walk.moment(at);
        }
        walk.value((fates.len(), *under_way).word());
        let mut again: Vec<u32> = std::mem::take(lost).into_iter().collect();
        for index in again.iter_mut().chain([base, there, end]) {
            walk.packet(index);
        }
        walk.ahead(judged);
        lost.extend(again);
    }
}

impl Sender {
    /// Records an arrival. True when the arrival is news.
    fn arrived(&mut self, seq: u32) -> bool {
        let Some(fate) = self.fates.get_mut(index(seq.wrapping_sub(self.base))) else { return false };
        match std::mem::replace(fate, Fate::There) {
            Fate::UnderWay(_) => self.under_way -= 1,
            Fate::Lost => {
                self.lost.remove(&seq);
            }
            Fate::There => return false,
        }
        self.there += 1;
        self.end = self.end.max(seq + 1);
        true
    }

    /// Records that all packets before `to` have arrived. True when an arrival is news.
    fn advance(&mut self, to: u32) -> bool {
        let is_new = to > self.base;
        while self.base < to && !self.fates.is_empty() {
            self.arrived(self.base);
            self.fates.pop_front();
            self.base += 1;
        }
        is_new
    }

    /// Records a loss. True when the packet was under way.
    fn lose(&mut self, seq: u32) -> bool {
        let Some(fate) = self.fates.get_mut(index(seq.wrapping_sub(self.base))) else { return false };
        if !matches!(fate, Fate::UnderWay(_)) {
            return false;
        }
        *fate = Fate::Lost;
        self.under_way -= 1;
        self.lost.insert(seq);
        true
    }

    /// Forgets the ages of packets that are no longer under way or were repeated since.
    fn look(&mut self) {
        while let Some((seq, at)) = self.ages.front() {
            if self.fates.get(index(seq.wrapping_sub(self.base))) == Some(&Fate::UnderWay(*at)) {
                break;
            }
            self.ages.pop_front();
        }
    }
}

/// The receiver's state of a flow: packets beyond the first missing packet, and the answer that is due.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    kept: Option<Box<Beyond>>,
    pending_ack: Option<Box<PendingAck>>,
}

/// Packets since the last answer.
#[derive(Debug, Clone, Default)]
struct PendingAck {
    packets: Vec<u32>,
    bytes: u64,
    /// A packet that requests an answer arrived while earlier packets are missing.
    was_asked: bool,
}

impl State for Receiver {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { kept, pending_ack } = self;
        kept.walk(walk);
        walk.value(u64::from(pending_ack.is_some()));
        if let Some(PendingAck { packets, bytes, was_asked }) = pending_ack.as_deref_mut() {
            for seq in packets.iter_mut() {
                walk.packet(seq);
            }
            walk.value((*bytes, *was_asked, packets.len()).word());
        }
    }
}

impl Selective {
    /// Answers a packet, or delays the answer until more packets have arrived.
    fn answer(
        &self,
        expected: u32,
        arrival: Arrival,
        receiver: &mut Receiver,
        packet: &Packet,
        replies: &mut Replies,
    ) {
        let Some(every) = self.sack_threshold else { return replies.acknowledge_one(expected, packet.seq()) };
        let is_first = receiver.pending_ack.is_none();
        let pending_ack = receiver.pending_ack.get_or_insert_default();
        if arrival == Arrival::New {
            pending_ack.packets.push(packet.seq());
            pending_ack.bytes += u64::from(packet.bytes());
        }
        let has_gaps = receiver.kept.as_ref().is_some_and(|beyond| beyond.end() > expected);
        pending_ack.was_asked |= packet.has(Packet::ASKS);
        let is_due = is_first
            || packet.has(Packet::ASKS)
            || packet.has(Packet::CE)
            || arrival == Arrival::Again
            || pending_ack.bytes >= every
            || (pending_ack.was_asked && !has_gaps);
        if is_due {
            pending_ack.was_asked &= has_gaps;
            pending_ack.bytes = 0;
            replies.acknowledge_one(expected, packet.seq());
            replies.also = std::mem::take(&mut pending_ack.packets);
            replies.also.retain(|seq| *seq > expected && *seq != packet.seq());
        }
    }
}

impl Transport for Selective {
    type Params = Params;
    type Sender = Box<Sender>;
    type Receiver = Receiver;
    const LABEL: &'static str = "selective";
    const FOLDS: bool = true;
    const WINDOWS_HOLD_LOST: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        Params { rto: Some(params.rto.unwrap_or_else(|| default_timeout(RTO, line))), ..params.clone() }
    }

    fn new(params: &Params, _: &Framing) -> Self {
        Self {
            rto: params.rto.unwrap_or(RTO),
            sack_threshold: params.sack_threshold.map(|b| b.0),
            reordering_threshold: params.reordering_threshold,
        }
    }

    fn validate(params: &Params, _: &Framing) -> Result<(), ParamError> {
        check_timeout("rto", params.rto)?;
        if params.sack_threshold == Some(Bytes(0)) {
            return Err((
                "sack_threshold",
                "must be above zero; remove it to acknowledge every packet".into(),
            ));
        }
        if params.reordering_threshold == Some(0) {
            return Err(("reordering_threshold", "must be above zero".into()));
        }
        Ok(())
    }

    fn sender(&self) -> Box<Sender> {
        Box::default()
    }

    fn next(&self, state: &Progress, sender: &Box<Sender>) -> Option<u32> {
        sender.lost.first().copied().or_else(|| (state.next < state.packets).then_some(state.next))
    }

    fn on_sent(&self, state: &mut Progress, sender: &mut Box<Sender>, seq: u32, now: Moment) {
        sender.under_way += 1;
        sender.ages.push_back((seq, now));
        if seq == state.next {
            state.next += 1;
            sender.fates.push_back(Fate::UnderWay(now));
        } else {
            sender.lost.remove(&seq);
            sender.fates[index(seq - sender.base)] = Fate::UnderWay(now);
        }
    }

    fn in_flight(&self, _: &Progress, sender: &Box<Sender>) -> u32 {
        sender.under_way
    }

    fn delivered(&self, _: &Progress, sender: &Box<Sender>) -> u32 {
        sender.there
    }

    fn on_answer(&self, state: &mut Progress, sender: &mut Box<Sender>, frame: &Packet) -> News {
        let mut is_news = sender.advance(frame.seq().min(state.packets));
        state.unacknowledged = sender.base;
        let mut is_lost = false;
        match frame.kind() {
            Kind::Sack => is_news |= sender.arrived(frame.answers()),
            Kind::Nack => is_lost = sender.lose(frame.answers()),
            _ => {}
        }
        if let Some(reordering_threshold) = self.reordering_threshold {
            let until = sender.end.saturating_sub(reordering_threshold);
            for seq in sender.judged..until {
                is_lost |= sender.lose(seq);
            }
            sender.judged = sender.judged.max(until);
        }
        sender.look();
        News { is_news: is_news || is_lost, loss: is_lost.then_some(Loss::Reported) }
    }

    fn on_bounce(&self, _: &mut Progress, sender: &mut Box<Sender>, seq: u32, _: u32) -> bool {
        sender.lose(seq);
        sender.look();
        false
    }

    /// Declares the packets lost whose timeout has ended, in the order of their starts.
    fn on_timeout(&self, _: &mut Progress, sender: &mut Box<Sender>, now: Moment) -> u32 {
        let mut lost = 0;
        while let Some((seq, _)) = sender.ages.front().copied().filter(|age| age.1 + self.rto <= now) {
            lost += u32::from(sender.lose(seq));
            sender.look();
        }
        lost
    }

    /// Returns the timeout of the oldest packet; without packets, `rto` from now.
    fn deadline(&self, _: &Progress, sender: &Box<Sender>, now: Moment) -> Moment {
        sender.ages.front().map_or(now, |age| age.1) + self.rto
    }

    fn timeouts(&self) -> (Duration, Duration) {
        (self.rto, self.rto)
    }

    /// Keeps every packet.
    fn on_data(
        &self,
        received: &mut Received,
        receiver: &mut Receiver,
        packet: &Packet,
        replies: &mut Replies,
    ) -> Arrival {
        let (seq, expected, kept) = (packet.seq(), received.expected, &mut receiver.kept);
        let arrival = if seq == expected {
            received.expected = Beyond::next(kept, expected);
            Arrival::New
        } else if seq > expected && kept.get_or_insert_with(|| Box::new(Beyond::from(expected))).enter(seq) {
            Arrival::New
        } else {
            Arrival::Again
        };
        self.answer(received.expected, arrival, receiver, packet, replies);
        arrival
    }

    fn on_also(&self, _: &mut Progress, sender: &mut Box<Sender>, seq: u32) -> bool {
        sender.arrived(seq)
    }

    fn coalesces(&self) -> bool {
        self.sack_threshold.is_some()
    }

    /// Reports the packet as lost, unless another copy has arrived.
    fn on_header(
        &self,
        received: &mut Received,
        receiver: &mut Receiver,
        header: &Packet,
        replies: &mut Replies,
    ) {
        let is_here = header.seq() < received.expected
            || receiver.kept.as_ref().is_some_and(|beyond| beyond.has(header.seq()));
        if is_here {
            replies.acknowledge_one(received.expected, header.seq());
        } else {
            replies.report(received.expected, header.seq());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::transport::contract::Reply;

    fn selective(reordering_threshold: Option<u32>) -> Selective {
        Selective { rto: Duration::us(100), sack_threshold: None, reordering_threshold }
    }

    fn sent(t: &Selective, n: u32) -> (Progress, Box<Sender>) {
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

    /// Packets that have arrived and packets under way.
    fn counts(s: &Sender) -> (u32, u32) {
        (s.there, s.under_way)
    }

    #[test]
    fn a_gap_means_nothing_and_a_nack_a_loss() {
        let t = selective(None);
        let (mut p, mut s) = sent(&t, 10);
        for seq in [9, 3, 5] {
            let news = t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 0, seq));
            assert_eq!(news, News { is_news: true, loss: None });
        }
        assert_eq!((counts(&s), t.next(&p, &s)), ((3, 7), Some(10)));
        // Packets 6 and 2 were cut: they are no longer under way, and go before what is new, the oldest
        // first.
        for seq in [6, 2] {
            let news = t.on_answer(&mut p, &mut s, &frame(Kind::Nack, 0, seq));
            assert_eq!(news, News { is_news: true, loss: Some(Loss::Reported) });
        }
        assert_eq!((counts(&s), t.next(&p, &s)), ((3, 5), Some(2)));
        t.on_sent(&mut p, &mut s, 2, Moment::ZERO);
        assert_eq!((counts(&s), t.next(&p, &s)), ((3, 6), Some(6)));
        // A second copy may be cut as well.
        assert!(t.on_answer(&mut p, &mut s, &frame(Kind::Nack, 0, 2)).loss.is_some());
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Nack, 0, 2)), News::default());
        // Everything before 6 is there: of that 0, 1, 2 and 4 are news.
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 6, 0)), News { is_news: true, loss: None });
        assert_eq!((counts(&s), t.next(&p, &s), p.unacknowledged), ((7, 2), Some(6), 6));
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 6, 9)), News::default());
        assert!(t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 10, 0)).is_news);
        assert_eq!((counts(&s), t.next(&p, &s)), ((10, 0), Some(10)));
    }

    #[test]
    fn what_is_far_behind_counts_as_lost_once() {
        let t = selective(Some(3));
        let (mut p, mut s) = sent(&t, 10);
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 0, 2)).loss, None);
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 0, 3)).loss, Some(Loss::Reported));
        assert_eq!(t.next(&p, &s), Some(0));
        t.on_sent(&mut p, &mut s, 0, Moment::ZERO);
        // Packets 1 and 4 now, and not 0 again.
        assert_eq!(t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 0, 7)).loss, Some(Loss::Reported));
        assert_eq!(s.lost, BTreeSet::from([1, 4]));
    }

    #[test]
    fn each_packet_times_out_by_its_own_age() {
        let t = selective(None);
        let (mut p, mut s) = (Progress { packets: 100, ..Progress::default() }, t.sender());
        for seq in 0..4 {
            t.on_sent(&mut p, &mut s, seq, Moment::us(u64::from(seq)));
        }
        assert_eq!(t.deadline(&p, &s, Moment::us(3)), Moment::us(100));
        t.on_answer(&mut p, &mut s, &frame(Kind::Sack, 0, 1));
        assert_eq!(
            (t.on_timeout(&mut p, &mut s, Moment::us(99)), t.on_timeout(&mut p, &mut s, Moment::us(100))),
            (0, 1)
        );
        assert_eq!((counts(&s), s.lost.clone()), ((1, 2), BTreeSet::from([0])));
        // Packet 1 is there; the next is packet 2, and what is sent again is as old as its last copy.
        assert_eq!(t.deadline(&p, &s, Moment::us(100)), Moment::us(102));
        t.on_sent(&mut p, &mut s, 0, Moment::us(101));
        assert_eq!(t.on_timeout(&mut p, &mut s, Moment::us(103)), 2);
        assert_eq!((counts(&s), t.deadline(&p, &s, Moment::us(103))), ((1, 1), Moment::us(201)));
        // What was only late needs not be sent again.
        t.on_answer(&mut p, &mut s, &frame(Kind::Ack, 3, 0));
        assert_eq!((counts(&s), t.next(&p, &s)), ((3, 0), Some(3)));
        assert_eq!(t.deadline(&p, &s, Moment::us(150)), Moment::us(250), "nothing is under way");
    }

    #[test]
    fn answers_come_for_so_many_bytes_and_at_once_for_what_asks() {
        let t = Selective { sack_threshold: Some(4000), ..selective(None) };
        let (mut received, mut receiver) = (Received::default(), Receiver::default());
        let mut arrive = |seq: u32, flags: u16| {
            let mut packet = Packet::new(Kind::Data, 0, seq, 0, 1000, 0);
            if flags != 0 {
                packet.set(flags);
            }
            let mut replies = Replies::new(Moment::ZERO, 0);
            t.on_data(&mut received, &mut receiver, &packet, &mut replies);
            replies.reply.map(|reply| (reply.kind, reply.seq, reply.answers, replies.also))
        };
        let sack = |expected, came, also: &[u32]| Some((Kind::Sack, expected, came, also.to_vec()));
        assert_eq!(arrive(0, 0), Some((Kind::Ack, 1, 0, vec![])), "the first");
        assert_eq!([1, 2, 3].map(|seq| arrive(seq, 0)), [None, None, None]);
        assert_eq!(arrive(4, 0), Some((Kind::Ack, 5, 0, vec![])), "4000 bytes");
        // Those beyond the gap are named beside the one that fills the bytes.
        assert_eq!([6, 8, 7].map(|seq| arrive(seq, 0)), [None, None, None]);
        assert_eq!(arrive(9, 0), sack(5, 9, &[6, 8, 7]));
        assert_eq!(arrive(11, Packet::CE), sack(5, 11, &[]), "a mark");
        assert_eq!(arrive(11, 0), sack(5, 11, &[]), "a copy");
        // One that asks is answered, and again when the gaps before it are closed.
        assert_eq!(arrive(12, Packet::ASKS), sack(5, 12, &[]));
        assert_eq!(arrive(10, 0), None);
        assert_eq!(arrive(5, 0), sack(13, 5, &[]));
    }

    #[test]
    fn the_receiver_keeps_what_comes_and_says_what_came() {
        let t = selective(None);
        let (mut received, mut kept) = (Received::default(), Receiver::default());
        let mut arrive = |kind: Kind, seq: u32| {
            let mut replies = Replies::new(Moment::ZERO, 0);
            let packet = frame(kind, seq, 0);
            let arrival =
                (kind == Kind::Data).then(|| t.on_data(&mut received, &mut kept, &packet, &mut replies));
            if kind == Kind::Header {
                t.on_header(&mut received, &mut kept, &packet, &mut replies);
            }
            (arrival, replies.reply.unwrap())
        };
        let reply = |kind, seq, answers| Reply { kind, seq, answers };
        assert_eq!(arrive(Kind::Data, 0), (Some(Arrival::New), reply(Kind::Ack, 1, 0)));
        assert_eq!(arrive(Kind::Data, 3), (Some(Arrival::New), reply(Kind::Sack, 1, 3)));
        assert_eq!(arrive(Kind::Data, 3), (Some(Arrival::Again), reply(Kind::Sack, 1, 3)));
        assert_eq!(arrive(Kind::Header, 1), (None, reply(Kind::Nack, 1, 1)));
        assert_eq!(arrive(Kind::Header, 2), (None, reply(Kind::Nack, 1, 2)));
        // Of packet 3 another copy is here.
        assert_eq!(arrive(Kind::Header, 3), (None, reply(Kind::Sack, 1, 3)));
        assert_eq!(arrive(Kind::Data, 2), (Some(Arrival::New), reply(Kind::Sack, 1, 2)));
        assert_eq!(arrive(Kind::Data, 1), (Some(Arrival::New), reply(Kind::Sack, 4, 1)));
        assert_eq!(arrive(Kind::Data, 1), (Some(Arrival::Again), reply(Kind::Sack, 4, 1)));
        assert_eq!(arrive(Kind::Header, 0), (None, reply(Kind::Sack, 4, 0)));
    }
}
