//! What a transport is: what a sender sends next, what a receiver answers, and what either keeps of a flow.
//!
//! A sender's state stays at the source and a receiver's at the destination: they are different nodes, may run on different
//! threads, and meet only through packets. The endpoint around them keeps flows in turn, paces them and sets timers. This file
//! knows no transport; the registry in `transport/mod.rs` lists them.

use xoff_engine::state;
use xoff_engine::state::State;
use xoff_units::{Duration, Moment};

use crate::count::Count;
use crate::frames::Kind;
use crate::framing::Framing;
use crate::line::Line;
use crate::packet::Packet;
use crate::pulls::Rules;
use crate::wrong::Wrong;

/// How far a flow is at its source.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Packets in all.
    pub packets: u32,
    /// The next packet to send; with selective repeat, the next that is new.
    pub next: u32,
    /// The oldest packet that is not acknowledged.
    pub unacknowledged: u32,
    /// Packets ever sent, one past the highest.
    pub highest: u32,
}

state!(Progress {
    packet: next, unacknowledged, highest;
    still: packets;
});

/// How much of a flow is at its destination.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// The packet that comes next in order.
    pub expected: u32,
    /// One past the highest first-time packet seen, to notice reordering.
    pub highest: u32,
    /// Packets of the flow, once the last was seen.
    pub packets: Option<u32>,
}

state!(Received {
    packet: expected, highest;
    still: packets;
});

/// What a data packet was to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It was not here.
    New,
    /// It was here already.
    Again,
    /// It was not here, and is thrown away.
    Discarded,
}

/// What was lost, as far as a sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The receiver said so.
    Reported,
    /// Nothing was heard for the timeout.
    Timeout,
}

/// What an answer told a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct News {
    /// Something that it did not know: the timeout starts anew, and there may be something to send.
    pub is_news: bool,
    /// A packet is missing.
    pub loss: Option<Loss>,
}

/// A frame that goes back to the source of a flow, with the flow's class and way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// What it is.
    pub kind: Kind,
    /// See [`Kind`].
    pub seq: u32,
    /// See [`Kind`].
    pub answers: u32,
}

/// Where receivers write; made anew for each packet.
#[derive(Debug)]
pub struct Replies {
    /// The moment of the event.
    pub now: Moment,
    /// The node that sends the flow.
    pub source: u32,
    /// What answers the packet at hand.
    pub reply: Option<Reply>,
    /// Other packets that came since the last answer, beyond the one that is expected next.
    pub also: Vec<u32>,
}

impl Replies {
    /// Nothing yet.
    pub fn new(now: Moment, source: u32) -> Self {
        Self { now, source, reply: None, also: Vec::new() }
    }

    /// Everything before this packet arrived.
    #[inline]
    pub fn acknowledge(&mut self, seq: u32) {
        self.reply = Some(Reply { kind: Kind::Ack, seq, answers: 0 });
    }

    /// This packet is expected next, and that one came, in whatever order.
    #[inline]
    pub fn acknowledge_one(&mut self, expected: u32, came: u32) {
        let kind = if expected == came + 1 { Kind::Ack } else { Kind::Sack };
        self.reply = Some(Reply { kind, seq: expected, answers: if kind == Kind::Sack { came } else { 0 } });
    }

    /// This packet is missing, and that one brought it to light.
    #[inline]
    pub fn report(&mut self, missing: u32, found: u32) {
        self.reply = Some(Reply { kind: Kind::Nack, seq: missing, answers: found });
    }
}

/// Judges a timeout that a table may give.
pub fn check_timeout(key: &'static str, timeout: Option<Duration>) -> Result<(), Wrong> {
    if timeout.is_some_and(|timeout| timeout < Duration::ns(100)) {
        return Err((key, "it must be 100ns or longer".into()));
    }
    Ok(())
}

/// A timeout that was not given: the one that the source of a transport has, or twice the longest round trip without load where that is
/// longer. A shorter one would send every packet again before its answer can come.
pub fn default_timeout(of_source: Duration, line: Line) -> Duration {
    of_source.max(line.answered * 2)
}

/// The contract of a transport.
pub trait Transport: Sized {
    /// Its table in the scenario.
    type Params: Default + Clone;
    /// What a sender keeps of a flow beside [`Progress`].
    type Sender: std::fmt::Debug + State;
    /// What a receiver keeps of a flow beside [`Received`].
    type Receiver: std::fmt::Debug + Default + State;
    /// What people call it.
    const LABEL: &'static str;
    /// What it counts.
    const COUNTS: &'static [Count] = &[];
    /// Receivers answer, and senders send again what is lost.
    const ACKNOWLEDGES: bool = true;
    /// What is lost is under way no longer, so that it waits for a window like what is new. Otherwise it was let go before, is under
    /// way until it is acknowledged, and would wait for itself.
    const WINDOWS_HOLD_LOST: bool = false;
    /// What comes out of order is kept, and not sent again.
    const BEARS_REORDERING: bool = true;
    /// The mechanism at switches that tells it of losses, and what follows if there is none where packets may be dropped.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// The parameters with what follows from a line, or from others, in the place of what is not given.
    fn settled(params: &Self::Params, _line: Line) -> Self::Params {
        params.clone()
    }
    /// Whether what is not given follows from the longest round trip of the network.
    fn wants_round_trip(_params: &Self::Params) -> bool {
        false
    }
    /// The transport with its parameters, which are settled.
    fn new(params: &Self::Params, framing: &Framing) -> Self;
    /// Says what of its table makes no sense.
    fn validate(_params: &Self::Params, _framing: &Framing) -> Result<(), Wrong> {
        Ok(())
    }
    /// How receivers pull what senders send, if they do; `line` is that of a host.
    fn pulls(&self, _line: Line) -> Option<Rules> {
        None
    }
    /// A flow that starts.
    fn sender(&self) -> Self::Sender;
    /// The packet to send now, if there is one.
    fn next(&self, progress: &Progress, sender: &Self::Sender) -> Option<u32>;
    /// That packet was sent.
    fn on_sent(&self, progress: &mut Progress, sender: &mut Self::Sender, seq: u32, now: Moment);
    /// Packets that are under way, as windows count them: from the oldest without ACK to the newest sent.
    #[inline]
    fn in_flight(&self, progress: &Progress, _sender: &Self::Sender) -> u32 {
        progress.next.saturating_sub(progress.unacknowledged)
    }
    /// Packets that have arrived, as far as the sender knows.
    #[inline]
    fn delivered(&self, progress: &Progress, _sender: &Self::Sender) -> u32 {
        progress.unacknowledged
    }
    /// An answer of the receiver arrived.
    fn on_answer(&self, progress: &mut Progress, sender: &mut Self::Sender, frame: &Packet) -> News;
    /// An answer that is to be heard next says that this packet has arrived as well; true when that was not known.
    fn on_also(&self, _progress: &mut Progress, _sender: &mut Self::Sender, _seq: u32) -> bool {
        false
    }
    /// Whether receivers answer several packets at once, so that senders say which want to be answered.
    #[inline]
    fn coalesces(&self) -> bool {
        false
    }
    /// A packet was cut, and what is left of it came back from the switch; of the flow `pulled` packets were pulled. True when one may
    /// be sent at once, whatever the receiver pulls.
    fn on_bounce(&self, _progress: &mut Progress, _sender: &mut Self::Sender, _seq: u32, _pulled: u32) -> bool {
        false
    }
    /// The deadline has come; returns how many losses a congestion control hears of.
    fn on_timeout(&self, progress: &mut Progress, sender: &mut Self::Sender, now: Moment) -> u32;
    /// When the timeout expires, if nothing is sent or heard; asked with each packet, and with each answer that is news.
    fn deadline(&self, progress: &Progress, sender: &Self::Sender, now: Moment) -> Moment;
    /// The shortest and the longest that a timeout can be.
    fn timeouts(&self) -> (Duration, Duration);
    /// A data packet arrived.
    fn on_data(&self, received: &mut Received, receiver: &mut Self::Receiver, packet: &Packet, replies: &mut Replies) -> Arrival;
    /// A packet arrived whose payload was cut off on its way. It is lost, as the receiver knows at once; without an answer the
    /// timeout finds it.
    fn on_header(&self, _received: &mut Received, _receiver: &mut Self::Receiver, _header: &Packet, _replies: &mut Replies) {}
}
