//! Transports: what is sent again, and what the receiver answers.

pub mod go_back_n;
pub mod irn;
pub mod raw;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Time;

/// `host.transport`: at most one; Go-Back-N with its defaults when none is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Go-Back-N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_back_n: Option<go_back_n::Params>,
    /// IRN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irn: Option<irn::Params>,
    /// Raw frames: nothing is acknowledged and nothing sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<raw::Params>,
}

/// The transport of all flows.
#[derive(Debug, Clone)]
pub enum Protocol {
    /// Go-Back-N.
    GoBackN(go_back_n::Params),
    /// IRN.
    Irn(irn::Params),
    /// Raw frames.
    Raw,
}

/// What the sender remembers of a flow's packets.
#[derive(Debug, Clone, Default)]
pub struct SendState {
    /// Packets in all.
    pub packets: u32,
    /// The next packet to send; with selective repeat, the next that is new.
    pub next: u32,
    /// The oldest packet that is not acknowledged.
    pub unacknowledged: u32,
    /// Packets ever sent, one past the highest.
    pub highest: u32,
    /// What IRN remembers.
    irn: Option<Box<irn::Sender>>,
}

/// What the receiver remembers of a flow's packets.
#[derive(Debug, Clone, Default)]
pub struct ReceiveState {
    /// The packet that comes next in order.
    pub expected: u32,
    /// One past the highest first-time packet seen, to notice reordering.
    pub highest: u32,
    /// Packets of the flow, once the last was seen.
    pub packets: Option<u32>,
    /// When a gap was last reported, and which packet was expected.
    nacked: Option<(u32, Time)>,
    /// Packets that IRN has beyond a gap.
    beyond: Option<Box<irn::Beyond>>,
}

/// What a receiver sends back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Everything before this packet arrived.
    Ack(u32),
    /// This packet is missing, and that one brought it to light.
    Nack(u32, u32),
    /// Nothing.
    Silence,
}

impl Protocol {
    /// The transport that is configured.
    pub fn new(params: &Transport) -> Self {
        match (&params.irn, &params.raw) {
            (Some(irn), _) => Self::Irn(irn.clone()),
            (None, Some(raw::Params {})) => Self::Raw,
            (None, None) => Self::GoBackN(params.go_back_n.clone().unwrap_or_default()),
        }
    }

    /// Whether it sends again what is lost; otherwise a flow is over at its source when its last packet has left.
    #[inline]
    pub const fn repeats(&self) -> bool {
        !matches!(self, Self::Raw)
    }

    /// A flow of so many packets.
    pub fn start(&self, packets: u32) -> SendState {
        SendState { packets, irn: matches!(self, Self::Irn(_)).then(Box::default), ..SendState::default() }
    }

    /// The packet to send now, if there is one; `payload` is that of a packet.
    #[inline]
    pub fn next(&self, state: &SendState, payload: u64) -> Option<u32> {
        match (self, &state.irn) {
            (Self::Irn(p), Some(sender)) => p.next(state, sender, payload),
            _ => (state.next < state.packets).then_some(state.next),
        }
    }

    /// That packet was sent.
    #[inline]
    pub fn on_sent(&self, state: &mut SendState, seq: u32) {
        match (self, state.irn.take()) {
            (Self::Irn(p), Some(mut sender)) => {
                p.on_sent(state, &mut sender, seq);
                state.irn = Some(sender);
            }
            _ => state.next = seq + 1,
        }
        state.highest = state.highest.max(seq + 1);
    }

    /// The timeout as things stand; it restarts with each packet and each answer that is news.
    #[inline]
    pub fn rto(&self, state: &SendState) -> Time {
        match self {
            Self::GoBackN(p) => p.rto,
            Self::Irn(p) => p.rto(state),
            Self::Raw => Time::NEVER,
        }
    }

    /// The shortest and the longest that it can be.
    pub const fn rto_range(&self) -> (Time, Time) {
        match self {
            Self::GoBackN(p) => (p.rto, p.rto),
            Self::Irn(p) => (p.rto_low, p.rto_high),
            Self::Raw => (Time::NEVER, Time::NEVER),
        }
    }

    /// An ACK arrived: everything before `seq` is there. True when that is news.
    #[inline]
    pub fn on_ack(&self, state: &mut SendState, seq: u32) -> bool {
        match self {
            Self::GoBackN(p) => p.on_ack(state, seq),
            Self::Irn(_) => self.on_selective(state, seq, None),
            Self::Raw => false,
        }
    }

    /// A NACK arrived: everything before `seq` is there, and so is `selective`. True when that is news.
    pub fn on_nack(&self, state: &mut SendState, seq: u32, selective: u32) -> bool {
        match self {
            Self::GoBackN(p) => {
                p.on_nack(state, seq);
                true
            }
            Self::Irn(_) => self.on_selective(state, seq, Some(selective)),
            Self::Raw => false,
        }
    }

    fn on_selective(&self, state: &mut SendState, seq: u32, selective: Option<u32>) -> bool {
        let (Self::Irn(p), Some(mut sender)) = (self, state.irn.take()) else { return false };
        let news = p.on_answer(state, &mut sender, seq, selective);
        state.irn = Some(sender);
        news
    }

    /// Nothing was heard for the timeout.
    pub fn on_timeout(&self, state: &mut SendState) {
        match (self, state.irn.take()) {
            (Self::Irn(p), Some(mut sender)) => {
                p.on_timeout(state, &mut sender);
                state.irn = Some(sender);
            }
            (Self::GoBackN(p), _) => p.on_timeout(state),
            (Self::Irn(_) | Self::Raw, _) => {}
        }
    }

    /// A data packet arrived; tells whether it is new, and what to answer.
    #[inline]
    pub fn on_data(&self, state: &mut ReceiveState, seq: u32, now: Time) -> (bool, Reply) {
        match self {
            Self::GoBackN(p) => p.on_data(state, seq, now),
            Self::Irn(p) => p.on_data(state, seq),
            Self::Raw => raw::on_data(state),
        }
    }
}
