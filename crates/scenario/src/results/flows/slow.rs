//! Warnings about flows that stayed slow, or that retransmitted most of their packets.

use xoff_models::hosts::endpoint::Sent;

use crate::results::words::counted;
use crate::warnings::Warning;

/// Flows that a congestion control slowed on an idle path.
#[derive(Default)]
pub(super) struct Stuck {
    flows: u64,
    /// The flow with the most slow round trips, with their number.
    worst: Option<(u32, u32)>,
}

/// Flows that retransmitted half of their packets or more.
#[derive(Default)]
pub(super) struct ShutOut {
    flows: u64,
    /// The flow with the largest share of retransmissions: number, packets, retransmissions.
    worst: Option<(u32, u64, u64)>,
    why: Why,
}

/// Why packets were sent again. Only what was counted is named.
#[derive(Clone, Copy, Default)]
pub(super) enum Why {
    /// Nothing was lost, cut or out of order.
    #[default]
    Early,
    /// Packets arrived out of order.
    Disorder,
    /// Packets were dropped, or cut to their headers.
    Losses,
}

impl ShutOut {
    /// Takes note of a flow that stands for `times` flows.
    pub fn note(&mut self, s: &Sent, times: u64) {
        let own = s.packets - s.retransmitted;
        if 2 * s.retransmitted < own || s.retransmitted == 0 {
            return;
        }
        self.flows += times;
        if self.worst.is_none_or(|(flow, packets, again)| {
            let [this, other] = [s.retransmitted * packets, again * own];
            (this, flow) > (other, s.flow)
        }) {
            self.worst = Some((s.flow, own, s.retransmitted));
        }
    }

    /// Learns why packets were sent again, at the end of the run.
    pub fn learn(&mut self, why: Why) {
        self.why = why;
    }

    pub fn warning(&self) -> Option<Warning> {
        let (flow, own, again) = self.worst?;
        let why = match self.why {
            Why::Early => "no packet was lost, cut or out of order: timeouts ran out before answers came",
            Why::Disorder => "no packet was lost, but packets arrived out of order",
            Why::Losses => "packets were lost or cut (drops.parquet names each)",
        };
        let [flows, own, again] = [(self.flows, "flow"), (own, "packet"), (again, "retransmission")]
            .map(|(n, what)| counted(n, what));
        let why = format!(
            "{flows} retransmitted half of their packets or more: {why}; flow {flow} has {own} and sent {again}"
        );
        Some(Warning::new("host.transport", why))
    }
}

/// Number of slow round trips without a rise that causes a warning.
const STUCK: u32 = 25;

impl Stuck {
    /// Takes note of a flow that stands for `times` flows.
    pub fn note(&mut self, s: &Sent, times: u64) {
        if s.slow.1 < STUCK {
            return;
        }
        self.flows += times;
        if self.worst.is_none_or(|worst| (s.slow.1, worst.0) > (worst.1, s.flow)) {
            self.worst = Some((s.flow, s.slow.1));
        }
    }

    pub fn warning(&self) -> Option<Warning> {
        let (flow, round_trips) = self.worst?;
        let flows = counted(self.flows, "flow");
        let why = format!(
            "{flows} stayed below a tenth of the rate of the path for {STUCK} round trips or more, without a queue, mark or loss; flow {flow} stayed for {round_trips} (flows.slow_rtts)"
        );
        Some(Warning::new("host.congestion_control", why))
    }
}
