//! A part of a completion time, and the kind of the part.

use xoff_units::{Duration, Moment};

use crate::parts::ids::QueueId;

/// Kind of a part of a completion time, in the order of the path of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The source sends packets of the flow ahead of the packet that completes the flow.
    Transmission,
    /// The source retransmits packets of the flow.
    Retransmission,
    /// The port sends packets ahead, of other flows or of the same flow.
    Queueing,
    /// The port sends a control frame.
    Control,
    /// A mechanism keeps the queue from sending.
    Paused,
    /// The port is free, and the packet waits behind the head of an input FIFO.
    HolBlocking,
    /// A mechanism holds the flow at its source.
    SourceHeld,
    /// Congestion control spaces the flow's packets below line rate.
    Pacing,
    /// The window of congestion control or transport is full.
    Window,
    /// The receiver has not pulled the flow's next packet.
    AwaitingPull,
    /// Every packet is sent and some are not acknowledged: the source waits for an acknowledgement or a
    /// timeout.
    AwaitingAck,
    /// The application has handed over no data to send.
    AppLimited,
    /// The bits of the completing packet go onto the link.
    Serialization,
    /// The bits travel along the link.
    Propagation,
    /// Forwarding latency of the next node.
    Processing,
}

impl Kind {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmission => "transmission",
            Self::Retransmission => "retransmission",
            Self::Queueing => "queueing",
            Self::Control => "control",
            Self::Paused => "paused",
            Self::HolBlocking => "hol_blocking",
            Self::SourceHeld => "source_held",
            Self::Pacing => "pacing",
            Self::Window => "window",
            Self::AwaitingPull => "awaiting_pull",
            Self::AwaitingAck => "awaiting_ack",
            Self::AppLimited => "app_limited",
            Self::Serialization => "serialization",
            Self::Propagation => "propagation",
            Self::Processing => "processing",
        }
    }
}

/// A part of a completion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Kind of the part.
    pub kind: Kind,
    /// Flow of the packet on the wire.
    pub flow: Option<u32>,
    /// Mechanism that paused or held.
    pub cause: Option<&'static str>,
    /// Start of the part, for a pause.
    pub from: Option<Moment>,
    /// The pause: queue and start of its record.
    pub pause: Option<(QueueId, Moment)>,
    /// Duration of the part.
    pub time: Duration,
}

impl Part {
    pub(super) const fn new(kind: Kind, time: Duration) -> Self {
        Self { kind, flow: None, cause: None, from: None, pause: None, time }
    }
}

/// Adds a part to a list, to an equal part if any. Pauses stay separate by their starts.
pub(super) fn add(parts: &mut Vec<Part>, part: Part) {
    if part.time == Duration::ZERO {
        return;
    }
    let is_like =
        |p: &&mut Part| (p.kind, p.flow, p.cause, p.from) == (part.kind, part.flow, part.cause, part.from);
    match parts.iter_mut().rev().find(is_like) {
        Some(like) => like.time += part.time,
        None => parts.push(part),
    }
}
