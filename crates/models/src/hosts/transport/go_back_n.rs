//! Go-Back-N, the retransmission of RoCE network interfaces.
//!
//! Models: an ACK for every packet in order, or for every `ack_every` packets, as adapters ask for. A packet beyond a gap is discarded, and a NACK reports the gap
//! once per `nack_interval`. The sender goes back to the packet that the NACK names, and after `rto` without
//! progress to the oldest packet without ACK. Source: the public ns-3 codes of HPCC and `ConWeave`; a
//! duplicate is answered with an ACK (`InfiniBand` rule C9-110); `docs/models/go_back_n.md`.
//! Simplification: the RTO does not adapt. Invariants: packets are delivered in order,
//! each once; a flow completes on any loss pattern that ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment};

use super::contract::{
    Arrival, Loss, News, Progress, Received, Replies, Transport, check_timeout, default_timeout,
};
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::paths::line::Line;

/// `host.transport.go_back_n`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Retransmission timeout, restarted by each packet sent and each ACK with progress. Default: 4ms, or
    /// twice the longest round trip without load where that is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Duration>,
    /// Least time between two NACKs for the same packet.
    pub nack_interval: Duration,
    /// Packets in order for each ACK, 1 to 256. The last packet of a message, a packet after which the window is closed,
    /// a retransmitted and a marked packet are acknowledged at once.
    pub ack_every: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { rto: None, nack_interval: Duration::us(4), ack_every: 1 }
    }
}

/// The timeout where no path is longer.
const RTO: Duration = Duration::ms(4);

/// Go-Back-N with resolved parameters.
#[derive(Debug, Clone)]
pub struct GoBackN {
    rto: Duration,
    nack_interval: Duration,
    ack_every: u32,
}

/// The last reported gap, and packets without an ACK.
#[derive(Debug, Clone, Default)]
pub struct Reported {
    /// The expected packet and the time of the report.
    gap: Option<(u32, Moment)>,
    /// Packets in order since the last ACK.
    pending: u32,
}

impl State for Reported {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { gap, pending } = self;
        walk.value(u64::from(gap.is_some()) << 32 | u64::from(*pending));
        if let Some((missing, at)) = gap {
            walk.packet(missing);
            walk.moment(at);
        }
    }
}

impl GoBackN {
    /// Reports the missing packet, unless a report within the interval named the same packet.
    fn report(&self, received: &Received, reported: &mut Reported, found: u32, replies: &mut Replies) {
        let again = reported.gap.is_some_and(|(missing, at)| {
            missing == received.expected && replies.now < at + self.nack_interval
        });
        if !again {
            reported.gap = Some((received.expected, replies.now));
            replies.report(received.expected, found);
        }
    }
}

impl GoBackN {
    /// Counts a packet in order, and returns true if an ACK is due.
    #[inline]
    fn count_packet(&self, packet: &Packet, pending: &mut u32) -> bool {
        if self.ack_every == 1 {
            return true;
        }
        *pending += 1;
        let asks = [Packet::ASKS, Packet::MESSAGE, Packet::LAST, Packet::RETRANSMITTED, Packet::CE];
        let is_due = *pending >= self.ack_every || asks.into_iter().any(|flag| packet.has(flag));
        if is_due {
            *pending = 0;
        }
        is_due
    }
}

impl Transport for GoBackN {
    type Params = Params;
    type Sender = ();
    type Receiver = Reported;
    const LABEL: &'static str = "Go-Back-N";
    const FOLDS: bool = true;
    const BEARS_REORDERING: bool = false;

    fn settled(params: &Params, line: Line) -> Params {
        Params { rto: Some(params.rto.unwrap_or_else(|| default_timeout(RTO, line))), ..params.clone() }
    }

    fn new(params: &Params, _: &Framing) -> Self {
        let Params { rto, nack_interval, ack_every } = *params;
        Self { rto: rto.unwrap_or(RTO), nack_interval, ack_every }
    }

    fn validate(params: &Params, _: &Framing) -> Result<(), ParamError> {
        if !(1..=256).contains(&params.ack_every) {
            let why = format!("{} is out of range; allowed are 1 to 256", params.ack_every);
            return Err(("ack_every", why));
        }
        check_timeout("rto", params.rto)
    }

    fn sender(&self) {}

    #[inline]
    fn next(&self, progress: &Progress, (): &()) -> Option<u32> {
        (progress.next < progress.packets).then_some(progress.next)
    }

    #[inline]
    fn on_sent(&self, progress: &mut Progress, (): &mut (), seq: u32, _: Moment) {
        progress.next = seq + 1;
    }

    /// Moves the sender to the packet that a NACK names; an ACK confirms all packets before the named packet.
    #[inline]
    fn on_answer(&self, progress: &mut Progress, (): &mut (), frame: &Packet) -> News {
        if frame.kind() == Kind::Nack {
            if frame.seq() >= progress.unacknowledged {
                progress.unacknowledged = frame.seq();
                progress.next = frame.seq();
            }
            return News { is_news: true, loss: Some(Loss::Reported) };
        }
        let is_news = frame.seq() > progress.unacknowledged;
        if is_news {
            progress.unacknowledged = frame.seq();
            progress.next = progress.next.max(frame.seq());
        }
        News { is_news, loss: None }
    }

    fn on_timeout(&self, progress: &mut Progress, (): &mut (), _: Moment) -> u32 {
        progress.next = progress.unacknowledged;
        1
    }

    #[inline]
    fn deadline(&self, _: &Progress, (): &(), now: Moment) -> Moment {
        now + self.rto
    }

    fn timeouts(&self) -> (Duration, Duration) {
        (self.rto, self.rto)
    }

    fn coalesces(&self) -> bool {
        self.ack_every > 1
    }

    /// Reports a gap, as a data packet beyond a gap does.
    fn on_header(
        &self,
        received: &mut Received,
        reported: &mut Reported,
        header: &Packet,
        replies: &mut Replies,
    ) {
        if header.seq() >= received.expected {
            self.report(received, reported, header.seq(), replies);
        }
    }

    /// Delivers a packet in order. Discards a packet beyond a gap and reports the gap once per interval.
    #[inline]
    fn on_data(
        &self,
        received: &mut Received,
        reported: &mut Reported,
        packet: &Packet,
        replies: &mut Replies,
    ) -> Arrival {
        if packet.seq() == received.expected {
            received.expected += 1;
            if self.count_packet(packet, &mut reported.pending) {
                replies.acknowledge(received.expected);
            }
            return Arrival::New;
        }
        if packet.seq() < received.expected {
            replies.acknowledge(received.expected);
            return Arrival::Again;
        }
        self.report(received, reported, packet.seq(), replies);
        Arrival::Discarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::transport::contract::Reply;

    fn transport() -> GoBackN {
        GoBackN { rto: Duration::ms(4), nack_interval: Duration::us(4), ack_every: 1 }
    }

    fn answer(kind: Kind, seq: u32) -> Packet {
        Packet::new(kind, 0, seq, 0, 64, 0)
    }

    #[test]
    fn a_gap_is_reported_once_an_interval() {
        let t = transport();
        let (mut received, mut reported) = (Received::default(), Reported::default());
        let mut arrive = |seq: u32, at: Moment| {
            let mut replies = Replies::new(at, 0);
            let arrival = t.on_data(&mut received, &mut reported, &answer(Kind::Data, seq), &mut replies);
            (arrival, replies.reply)
        };
        let ack = |seq| Some(Reply { kind: Kind::Ack, seq, answers: 0 });
        let nack = |seq, answers| Some(Reply { kind: Kind::Nack, seq, answers });
        assert_eq!(arrive(0, Moment::us(1)), (Arrival::New, ack(1)));
        assert_eq!(arrive(2, Moment::us(2)), (Arrival::Discarded, nack(1, 2)));
        assert_eq!(arrive(3, Moment::us(3)), (Arrival::Discarded, None));
        assert_eq!(arrive(4, Moment::us(6)), (Arrival::Discarded, nack(1, 4)));
        assert_eq!(arrive(1, Moment::us(7)), (Arrival::New, ack(2)));
        assert_eq!(arrive(0, Moment::us(8)), (Arrival::Again, ack(2)));
        // What is left of a packet tells of a gap, too.
        let mut replies = Replies::new(Moment::us(9), 0);
        t.on_header(&mut received, &mut reported, &answer(Kind::Header, 2), &mut replies);
        assert_eq!(replies.reply, nack(2, 2));
    }

    #[test]
    fn packets_in_order_share_an_ack() {
        let t = GoBackN { ack_every: 4, ..transport() };
        let (mut received, mut reported) = (Received::default(), Reported::default());
        let mut arrive = |seq: u32, flags: &[u16]| {
            let mut packet = answer(Kind::Data, seq);
            for flag in flags {
                packet.set(*flag);
            }
            let mut replies = Replies::new(Moment::us(1), 0);
            t.on_data(&mut received, &mut reported, &packet, &mut replies);
            replies.reply.map(|reply| (reply.kind, reply.seq))
        };
        let ack = |seq| Some((Kind::Ack, seq));
        assert_eq!(
            [arrive(0, &[]), arrive(1, &[]), arrive(2, &[]), arrive(3, &[])],
            [None, None, None, ack(4)]
        );
        // A packet that ends a message, asks, is marked or the last is acknowledged at once; the count begins anew.
        for (place, flag) in (0..).zip([Packet::MESSAGE, Packet::ASKS, Packet::CE, Packet::LAST]) {
            let first = 4 + 2 * place;
            assert_eq!(arrive(first, &[]), None);
            assert_eq!(arrive(first + 1, &[flag]), ack(first + 2));
        }
        // A gap is reported at once.
        assert_eq!(arrive(14, &[]), Some((Kind::Nack, 12)));
    }

    #[test]
    fn the_sender_goes_back_and_never_before_what_is_acknowledged() {
        let t = transport();
        let mut p = Progress { packets: 10, next: 8, ..Progress::default() };
        assert!(t.on_answer(&mut p, &mut (), &answer(Kind::Ack, 3)).is_news);
        assert!(!t.on_answer(&mut p, &mut (), &answer(Kind::Ack, 2)).is_news);
        assert_eq!(t.on_answer(&mut p, &mut (), &answer(Kind::Nack, 4)).loss, Some(Loss::Reported));
        assert_eq!((p.next, p.unacknowledged), (4, 4));
        t.on_answer(&mut p, &mut (), &answer(Kind::Nack, 2));
        assert_eq!(p.next, 4);
        p.next = 9;
        t.on_timeout(&mut p, &mut (), Moment::ZERO);
        assert_eq!(p.next, 4);
    }
}
