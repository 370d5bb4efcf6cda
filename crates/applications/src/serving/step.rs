//! A step at a rank: one batch, or micro-batches that take turns at the computation.
//!
//! A micro-batch goes through the layers by itself. The rank computes one part at a time, in the order in which the
//! parts became ready. So a micro-batch communicates while another computes, as in `DeepSeek`'s serving system.

use std::collections::VecDeque;
use std::sync::Arc;

use xoff_units::{Duration, Moment};

use super::batch::Order;
use super::exchange::Exchange;
use super::rows::{Exposed, Label, Report};

/// The part of a step in which a micro-batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Attention,
    AttentionReduce,
    Network,
    NetworkReduce,
    Dispatch,
    Experts,
    Combine,
    Gather,
    Head,
}

/// A micro-batch in a step.
#[derive(Debug, Clone)]
pub(super) struct MicroBatch {
    pub layer: u32,
    pub stage: Stage,
    pub exchange: Option<Exchange>,
    /// Shared experts compute, or wait for the computation.
    pub is_shared: bool,
    /// The overhead of an exchange is not over.
    pub is_late: bool,
    pub is_over: bool,
}

/// A ready computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    pub micro_batch: u32,
    pub time: Duration,
    /// The timer.
    pub what: u32,
}

/// A step of a rank.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// By micro-batch.
    pub orders: Arc<Vec<Order>>,
    pub micro_batches: Vec<MicroBatch>,
    /// Computations that wait for the computation before.
    pub ready: VecDeque<Ready>,
    pub computes: bool,
    /// Start of the present computation, or of the time without a computation.
    pub since: Moment,
    pub report: Report,
}

impl Step {
    /// Returns a step that begins. A micro-batch without tokens at any rank is over.
    pub fn new(orders: Arc<Vec<Order>>, now: Moment) -> Self {
        let micro_batch = |order: &Order| MicroBatch {
            layer: 0,
            stage: Stage::Attention,
            exchange: None,
            is_shared: false,
            is_late: false,
            is_over: order.of_all == 0,
        };
        let report = Report {
            start: now,
            end: now,
            compute: Duration::ZERO,
            exposed: Exposed::default(),
            bubble: Duration::ZERO,
        };
        let micro_batches = orders.iter().map(micro_batch).collect();
        Self { orders, micro_batches, ready: VecDeque::new(), computes: false, since: now, report }
    }

    /// True while the rank computes or waits for a timer.
    pub fn goes_on(&self) -> bool {
        self.computes || self.micro_batches.iter().any(|micro_batch| micro_batch.is_late)
    }

    /// The present computation is over.
    pub fn end_computation(&mut self, now: Moment) {
        self.report.compute += now.since(self.since);
        (self.computes, self.since) = (false, now);
    }

    /// Counts the time without a computation up to the end of an exchange: messages on the way under a label, after
    /// the wait for other ranks.
    pub fn count_exchange(&mut self, label: Label, posted: Moment, now: Moment) {
        if self.computes {
            return;
        }
        let time = now.since(self.since);
        let bubble = posted.since(self.since).min(time);
        self.report.bubble += bubble;
        self.report.exposed[label as usize] += time - bubble;
        self.since = now;
    }
}
