//! Congestion control: how fast, and how far ahead, a flow may send.

pub mod bcn;
pub mod dcqcn;
pub mod qcn;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Rate, Time};

use crate::count::{Count, Group};

/// `host.congestion_control`: at most one; none means line rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionControl {
    /// DCQCN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<dcqcn::Params>,
    /// Rate limiters that obey Backward Congestion Notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bcn: Option<bcn::Params>,
    /// Rate limiters that obey Quantized Congestion Notification (IEEE 802.1Qau).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qcn: Option<qcn::Params>,
}

/// What the network told the sources of flows.
pub const NOTIFICATIONS: Count = Count::number("notifications", "congestion notifications");

/// What each congestion control counts.
pub const GROUPS: &[Group] = &[
    Group { name: "dcqcn", label: "DCQCN", counts: &[NOTIFICATIONS] },
    Group { name: "bcn", label: "BCN", counts: &[NOTIFICATIONS] },
    Group { name: "qcn", label: "QCN", counts: &[NOTIFICATIONS] },
];

/// What a congestion point tells the source of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The feedback: under BCN signed, and zero to stop; under QCN quantised.
    pub value: i32,
    /// The congestion point; none is zero.
    pub point: u32,
    /// The flow.
    pub flow: u32,
}

/// A scheme with its parameters worked out for one line rate, shared by all flows of a port.
#[derive(Debug, Clone)]
pub enum Scheme {
    /// Line rate.
    None,
    /// DCQCN.
    Dcqcn(dcqcn::Dcqcn),
    /// BCN.
    Bcn(bcn::Bcn),
    /// QCN.
    Qcn(qcn::Qcn),
}

/// A flow's state under its scheme.
#[derive(Debug, Clone)]
pub enum State {
    /// Line rate.
    None,
    /// DCQCN; apart from the flow, so that one without it is small.
    Dcqcn(Box<dcqcn::State>),
    /// BCN.
    Bcn(Box<bcn::State>),
    /// QCN.
    Qcn(Box<qcn::State>),
}

impl Scheme {
    /// The scheme that `params` ask for on a line; `seed` is that of the scenario.
    pub fn new(params: &CongestionControl, line: Rate, seed: u64) -> Self {
        match (&params.dcqcn, &params.bcn, &params.qcn) {
            (Some(p), _, _) => Self::Dcqcn(p.resolve(line)),
            (_, Some(p), _) => Self::Bcn(bcn::Bcn::new(p, line, seed)),
            (_, _, Some(p)) => Self::Qcn(qcn::Qcn::new(p, line)),
            _ => Self::None,
        }
    }

    /// Its name, if there is one.
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Dcqcn(_) => Some("dcqcn"),
            Self::Bcn(_) => Some("bcn"),
            Self::Qcn(_) => Some("qcn"),
        }
    }

    /// State of a flow that starts.
    pub fn start(&self) -> State {
        match self {
            Self::None => State::None,
            Self::Dcqcn(d) => State::Dcqcn(Box::new(d.start())),
            Self::Bcn(b) => State::Bcn(Box::new(b.start())),
            Self::Qcn(q) => State::Qcn(Box::new(q.start())),
        }
    }

    /// Whether flows are paced and notifications matter.
    #[inline]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Receivers: the least time between two notifications for a flow, and whether they are packets or ride on ACKs.
    pub fn notification(&self) -> Option<(Time, dcqcn::Cnp)> {
        match self {
            Self::None | Self::Bcn(_) | Self::Qcn(_) => None,
            Self::Dcqcn(d) => Some((d.cnp_interval, d.cnp)),
        }
    }

    /// The time that `bytes` take at a flow's rate now.
    #[inline]
    pub fn gap(&self, state: &mut State, bytes: u64, now: Time) -> Time {
        match (self, state) {
            (Self::Dcqcn(d), State::Dcqcn(s)) => d.gap(s, bytes, now),
            (Self::Bcn(b), State::Bcn(s)) => b.gap(s, bytes, now),
            (Self::Qcn(q), State::Qcn(s)) => q.gap(s, bytes, now),
            _ => Time::ZERO,
        }
    }

    /// A congestion notification arrived.
    pub fn on_cnp(&self, state: &mut State, now: Time) {
        if let (Self::Dcqcn(d), State::Dcqcn(s)) = (self, state) {
            d.on_cnp(s, now);
        }
    }

    /// A congestion point sent feedback.
    pub fn on_feedback(&self, state: &mut State, feedback: Feedback, now: Time) {
        match (self, state) {
            (Self::Bcn(b), State::Bcn(s)) => b.on_feedback(s, feedback, now),
            (Self::Qcn(q), State::Qcn(s)) => q.on_feedback(s, feedback, now),
            _ => {}
        }
    }

    /// What data of a flow carries: the congestion point that limits it, or zero.
    #[inline]
    pub fn tag(&self, state: &State) -> u32 {
        match state {
            State::Bcn(s) => s.point(),
            _ => 0,
        }
    }

    /// For limiters that congestion points drive: bits per second, and when a source that was stopped goes on.
    pub fn pace(&self, state: &State) -> Option<(f64, Time)> {
        match state {
            State::Bcn(s) => Some((s.rate, s.resumes())),
            State::Qcn(s) => Some((s.rate, Time::ZERO)),
            _ => None,
        }
    }

    /// A packet was sent; `is_queue_empty` tells that none is left behind it.
    #[inline]
    pub fn on_sent(&self, state: &mut State, bytes: u64, is_queue_empty: bool, now: Time) {
        match (self, state) {
            (Self::Dcqcn(d), State::Dcqcn(s)) => d.on_sent(s, bytes, now),
            (Self::Bcn(b), State::Bcn(s)) => b.on_sent(s, is_queue_empty),
            (Self::Qcn(q), State::Qcn(s)) => q.on_sent(s, bytes, is_queue_empty, now),
            _ => {}
        }
    }
}
