//! Congestion control: how fast, and how far ahead, a flow may send.

pub mod dcqcn;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Rate, Time};

/// `host.congestion_control`: at most one; none means line rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionControl {
    /// DCQCN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<dcqcn::Params>,
}

/// A scheme with its parameters worked out for one line rate, shared by all flows of a port.
#[derive(Debug, Clone)]
pub enum Scheme {
    /// Line rate.
    None,
    /// DCQCN.
    Dcqcn(dcqcn::Dcqcn),
}

/// A flow's state under its scheme.
#[derive(Debug, Clone)]
pub enum State {
    /// Line rate.
    None,
    /// DCQCN; apart from the flow, so that one without it is small.
    Dcqcn(Box<dcqcn::State>),
}

impl Scheme {
    /// The scheme that `params` ask for on a line.
    pub fn new(params: &CongestionControl, line: Rate) -> Self {
        params.dcqcn.as_ref().map_or(Self::None, |p| Self::Dcqcn(p.resolve(line)))
    }

    /// State of a flow that starts.
    pub fn start(&self) -> State {
        match self {
            Self::None => State::None,
            Self::Dcqcn(d) => State::Dcqcn(Box::new(d.start())),
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
            Self::None => None,
            Self::Dcqcn(d) => Some((d.cnp_interval, d.cnp)),
        }
    }

    /// The time that `bytes` take at a flow's rate now.
    #[inline]
    pub fn gap(&self, state: &mut State, bytes: u64, now: Time) -> Time {
        match (self, state) {
            (Self::Dcqcn(d), State::Dcqcn(s)) => d.gap(s, bytes, now),
            _ => Time::ZERO,
        }
    }

    /// A congestion notification arrived.
    pub fn on_cnp(&self, state: &mut State, now: Time) {
        if let (Self::Dcqcn(d), State::Dcqcn(s)) = (self, state) {
            d.on_cnp(s, now);
        }
    }

    /// A packet was sent.
    #[inline]
    pub fn on_sent(&self, state: &mut State, bytes: u64, now: Time) {
        if let (Self::Dcqcn(d), State::Dcqcn(s)) = (self, state) {
            d.on_sent(s, bytes, now);
        }
    }

    /// Bits per second that a flow may send now.
    pub fn rate(&self, state: &State, now: Time, line: Rate) -> f64 {
        match (self, state) {
            (Self::Dcqcn(d), State::Dcqcn(s)) => {
                let mut copy = (**s).clone();
                d.advance(&mut copy, now);
                copy.rate
            }
            _ => line.0 as f64,
        }
    }
}
