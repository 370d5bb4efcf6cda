//! Kept: the sending rate and the window of a flow, in one sentence.
//!
//! Models: (the sender's signals, and the changes of rate and window). Source: (document and section).
//! Simplifications: (omissions).
//! Invariants: minimum rate ≤ rate ≤ line rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Rate};

use xoff_models::congestion_control::contract::{
    Ack, Control, Count, Echo, Hosts, Line, NOTIFICATIONS, NewFlow, Notice, Sent,
};
use xoff_models::packet::Packet;
use xoff_models::param_error::ParamError;

/// `host.congestion_control.plugins.kept`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Minimum rate of a flow.
    pub minimum_rate: Rate,
}

impl Default for Params {
    /// (Reasons for these values.)
    fn default() -> Self {
        Self { minimum_rate: Rate(100_000_000) }
    }
}

/// Kept with its parameters computed for a line rate.
#[derive(Debug, Clone)]
pub struct Kept {
    line: f64,
    minimum: f64,
}

impl Control for Kept {
    type Params = Params;
    /// Bits per second.
    type State = f64;
    const LABEL: &'static str = "Kept";
    const COUNTS: &'static [Count] = &[NOTIFICATIONS];
    const HEARS_ACKS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some(("ecn", "Kept never reacts, as no switch marks packets; set switch.ecn"));

    fn new(params: &Params, line: Line) -> Self {
        let rate = line.rate.0 as f64;
        Self { line: rate, minimum: (params.minimum_rate.0 as f64).min(rate) }
    }

    fn validate(params: &Params, _: &Hosts<'_>) -> Result<(), ParamError> {
        if params.minimum_rate.0 < 1_000 {
            return Err(("minimum_rate", format!("{} is below the minimum of 1kbps", params.minimum_rate)));
        }
        Ok(())
    }

    fn start(&self, _: &NewFlow) -> f64 {
        self.line
    }

    fn on_sent(&self, rate: &mut f64, _: &mut Packet, sent: Sent) -> Duration {
        Duration((sent.bytes as f64 * 8e12 / *rate) as u64)
    }

    /// An acknowledgement without a mark raises the rate by a hundredth of the line rate.
    fn on_ack(&self, rate: &mut f64, ack: &Ack<'_>) {
        if !ack.is_marked {
            *rate = (*rate + self.line / 100.0).min(self.line);
        }
    }

    /// True for an ACK with an echoed mark.
    fn hears(notice: &Packet) -> bool {
        notice.has(Packet::ECHO)
    }

    /// A mark halves the rate.
    fn on_notice(&self, rate: &mut f64, _: &Notice<'_>) {
        *rate = (*rate / 2.0).max(self.minimum);
    }

    /// The ACK of every marked packet echoes the mark.
    fn echo(&self) -> Option<Echo> {
        Some(Echo::EVERY)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Moment;

    use super::*;

    #[test]
    fn a_mark_halves_the_rate_and_answers_raise_it() {
        let control = Kept::new(&Params::default(), Line::for_tests(Duration::us(10)));
        let mut rate = control.start(&NewFlow::for_tests());
        let frame = Packet::default();
        control.on_notice(&mut rate, &Notice { frame: &frame, sent: None, now: Moment::us(1) });
        assert!((rate - 50e9).abs() < 1.0);
        let ack = Ack {
            bytes: 1000,
            in_flight: 0,
            acknowledged: 1,
            next: 2,
            is_marked: false,
            is_loss: false,
            rtt: None,
            hops: 1,
            beside: None,
            tag: 0,
            now: Moment::us(1),
        };
        control.on_ack(&mut rate, &ack);
        assert!((rate - 51e9).abs() < 1.0);
    }
}
