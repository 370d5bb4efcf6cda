//! The contract of a transport: the packets that a sender sends, the answers of a receiver, and the state of
//! a flow at both ends.
//!
//! A sender's state stays at the source, and a receiver's state at the destination. The two ends are
//! different nodes, may run on different threads, and meet only through packets. The endpoint serves flows in
//! turn, paces flows and sets timers. This file knows no transport; the registry in `transport/mod.rs` lists
//! all transports.

use xoff_engine::state;
use xoff_engine::state::State;
use xoff_units::{Duration, Moment};

use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::hosts::pulls::Rules;
use crate::parts::count::Count;
use crate::parts::param_error::ParamError;
use crate::paths::line::Line;

/// Progress of a flow at the source.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Packets in all.
    pub packets: u32,
    /// The next packet to send; with selective repeat, the next new packet.
    pub next: u32,
    /// The oldest packet without ACK.
    pub unacknowledged: u32,
    /// One past the highest packet ever sent.
    pub highest: u32,
}

state!(Progress {
    packet: next, unacknowledged, highest;
    constant: packets;
});

/// Progress of a flow at the destination.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// The next packet in order.
    pub expected: u32,
    /// One past the highest packet that arrived for the first time; shows reordering.
    pub highest: u32,
    /// Packets of the flow, once the last was seen.
    pub packets: Option<u32>,
}

state!(Received {
    packet: expected, highest;
    constant: packets;
});

/// The use of a data packet for the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// A new packet, kept.
    New,
    /// A duplicate.
    Again,
    /// A new packet, discarded.
    Discarded,
}

/// A loss as the sender knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Reported by the receiver.
    Reported,
    /// Found by the timeout.
    Timeout,
}

/// News that an answer brings to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct News {
    /// The answer told the sender of an unknown packet. The timeout restarts, and the flow may be able to
    /// send.
    pub is_news: bool,
    /// A packet is missing.
    pub loss: Option<Loss>,
}

/// A frame that goes back to the source of a flow, with the flow's class and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The kind of the frame.
    pub kind: Kind,
    /// See [`Kind`].
    pub seq: u32,
    /// See [`Kind`].
    pub answers: u32,
}

/// Replies of a receiver to one packet.
#[derive(Debug)]
pub struct Replies {
    /// The moment of the event.
    pub now: Moment,
    /// The source node of the flow.
    pub source: u32,
    /// The answer to the packet at hand.
    pub reply: Option<Reply>,
    /// More packets that came since the last answer, beyond the next expected packet.
    pub also: Vec<u32>,
}

impl Replies {
    /// Returns an empty list of replies.
    pub fn new(now: Moment, source: u32) -> Self {
        Self { now, source, reply: None, also: Vec::new() }
    }

    /// Acknowledges all packets before `seq`.
    #[inline]
    pub fn acknowledge(&mut self, seq: u32) {
        self.reply = Some(Reply { kind: Kind::Ack, seq, answers: 0 });
    }

    /// Acknowledges the packet `came`, and names the next expected packet.
    #[inline]
    pub fn acknowledge_one(&mut self, expected: u32, came: u32) {
        let kind = if expected == came + 1 { Kind::Ack } else { Kind::Sack };
        self.reply = Some(Reply { kind, seq: expected, answers: if kind == Kind::Sack { came } else { 0 } });
    }

    /// Reports the packet `missing`, which the arrival of `found` revealed.
    #[inline]
    pub fn report(&mut self, missing: u32, found: u32) {
        self.reply = Some(Reply { kind: Kind::Nack, seq: missing, answers: found });
    }
}

/// Checks a timeout of a table: at least 100 ns.
pub fn check_timeout(key: &'static str, timeout: Option<Duration>) -> Result<(), ParamError> {
    if timeout.is_some_and(|timeout| timeout < Duration::ns(100)) {
        return Err((key, "must be 100ns or longer".into()));
    }
    Ok(())
}

/// Returns the default of a timeout: the value of the transport's source, or twice the longest round trip
/// without load where that is longer. A shorter timeout would repeat every packet before the answer can
/// arrive.
pub fn default_timeout(of_source: Duration, line: Line) -> Duration {
    of_source.max(line.answered * 2)
}

/// The contract of a transport.
pub trait Transport: Sized {
    /// The table in the scenario.
    type Params: Default + Clone;
    /// A sender's state of a flow beside [`Progress`].
    type Sender: std::fmt::Debug + State;
    /// A receiver's state of a flow beside [`Received`].
    type Receiver: std::fmt::Debug + Default + State;
    /// The name for people.
    const LABEL: &'static str;
    /// Counts of the transport.
    const COUNTS: &'static [Count] = &[];
    /// True when receivers answer and senders retransmit.
    const ACKNOWLEDGES: bool = true;
    /// True when a lost packet no longer counts as in flight, so that a retransmission waits for the window
    /// like a new packet. Otherwise a lost packet stays in flight until its ACK, and the retransmission
    /// passes the window.
    const WINDOWS_HOLD_LOST: bool = false;
    /// True when packets out of order are kept and not repeated.
    const BEARS_REORDERING: bool = true;
    /// True when a host may stand for equal hosts (docs/folding.md).
    const FOLDS: bool = false;
    /// The mechanism of switches that reports losses, and the warning for scenarios without the mechanism
    /// where packets may be dropped.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// Returns the parameters with defaults that follow from a line or from other parameters.
    fn settled(params: &Self::Params, _line: Line) -> Self::Params {
        params.clone()
    }
    /// True when a default follows from the longest round trip of the network.
    fn wants_round_trip(_params: &Self::Params) -> bool {
        false
    }
    /// Makes the transport from settled parameters.
    fn new(params: &Self::Params, framing: &Framing) -> Self;
    /// Returns the first invalid key of the table, with the problem.
    fn validate(_params: &Self::Params, _framing: &Framing) -> Result<(), ParamError> {
        Ok(())
    }
    /// Warns of a parameter that was given, for a line: the key, and problem with remedy.
    fn warn(_params: &Self::Params, _line: Line) -> Option<ParamError> {
        None
    }
    /// Returns the rules by which receivers pull, for transports with pulls; `line` belongs to a host.
    fn pulls(&self, _line: Line) -> Option<Rules> {
        None
    }
    /// State of a flow that starts.
    fn sender(&self) -> Self::Sender;
    /// Returns the packet to send now, if any.
    fn next(&self, progress: &Progress, sender: &Self::Sender) -> Option<u32>;
    /// Records the start of packet `seq`.
    fn on_sent(&self, progress: &mut Progress, sender: &mut Self::Sender, seq: u32, now: Moment);
    /// Packets in flight as windows count packets: from the oldest packet without ACK to the newest sent.
    #[inline]
    fn in_flight(&self, progress: &Progress, _sender: &Self::Sender) -> u32 {
        progress.next.saturating_sub(progress.unacknowledged)
    }
    /// Packets that have arrived, as the sender knows.
    #[inline]
    fn delivered(&self, progress: &Progress, _sender: &Self::Sender) -> u32 {
        progress.unacknowledged
    }
    /// An answer of the receiver arrived.
    fn on_answer(&self, progress: &mut Progress, sender: &mut Self::Sender, frame: &Packet) -> News;
    /// Records a packet that an answer names beside its own. True when the sender did not know of the packet.
    fn on_also(&self, _progress: &mut Progress, _sender: &mut Self::Sender, _seq: u32) -> bool {
        false
    }
    /// True when one answer may cover several packets, so that senders mark packets that request an answer.
    #[inline]
    fn coalesces(&self) -> bool {
        false
    }
    /// Records that the header of a trimmed packet returned from a switch. `pulled` packets of the flow were
    /// pulled. True when one packet may leave at once without a pull.
    fn on_bounce(
        &self,
        _progress: &mut Progress,
        _sender: &mut Self::Sender,
        _seq: u32,
        _pulled: u32,
    ) -> bool {
        false
    }
    /// The deadline has come; returns how many losses a congestion control hears of.
    fn on_timeout(&self, progress: &mut Progress, sender: &mut Self::Sender, now: Moment) -> u32;
    /// Returns the end of the timeout if no packet is sent and no answer arrives. Called with each packet and
    /// with each answer that brings news.
    fn deadline(&self, progress: &Progress, sender: &Self::Sender, now: Moment) -> Moment;
    /// The shortest and the longest possible timeout.
    fn timeouts(&self) -> (Duration, Duration);
    /// A data packet arrived.
    fn on_data(
        &self,
        received: &mut Received,
        receiver: &mut Self::Receiver,
        packet: &Packet,
        replies: &mut Replies,
    ) -> Arrival;
    /// Handles a header of a trimmed packet. The packet is lost, and the receiver knows at once. Without an
    /// answer the timeout finds the loss.
    fn on_header(
        &self,
        _received: &mut Received,
        _receiver: &mut Self::Receiver,
        _header: &Packet,
        _replies: &mut Replies,
    ) {
    }
}
