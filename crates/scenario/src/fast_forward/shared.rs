//! State shared by all scopes of a run: limits of repetition, budget, and results.

use std::sync::Arc;

use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::Symmetry;
use xoff_units::Moment;

use super::budget::Budget;
use crate::traffic::gains;

/// The moment and the event at which a run without progress may be aborted.
#[derive(Debug, Clone, Copy)]
pub struct StallDeadline {
    /// Packets gained by flows so far.
    pub progress: u64,
    /// Earliest moment of the abort.
    pub at: Moment,
    /// Earliest event of the abort.
    pub events: u64,
}

impl StallDeadline {
    /// True if no flow has gained a packet, and the moment is not reached.
    fn is_ahead(&self, cp: &Checkpoint<'_, Node>) -> bool {
        gains(cp).packets == self.progress && cp.now < self.at
    }

    /// Returns an estimate of the events up to the deadline.
    fn events_left(&self, now: Moment, events: u64) -> u64 {
        let times = self.at.since(now).ps() / now.ps().max(1) + 1;
        self.events.saturating_sub(events).min(events.saturating_mul(times))
    }
}

/// The result of fast-forward.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forwarded {
    /// Data packet-hops, by kind of period.
    pub packet_hops: [u64; 5],
    /// Data packet-hops of independent components.
    pub packet_hops_in_components: u64,
    /// Maximum number of components suspended at one time.
    pub components: u64,
    /// Events.
    pub events: u64,
    /// Periods, each repeated as often as possible at once.
    pub periods: u64,
    /// Busy periods replayed.
    pub busy_periods: u64,
}

/// State shared by all scopes.
pub struct Shared {
    /// End of the run.
    pub until: Moment,
    /// Next external event unknown to nodes.
    pub external: Option<Moment>,
    /// Deadline of a stall, while flows make no progress.
    pub stall: Option<StallDeadline>,
    /// Reference node of the whole network, and the packets started by the node at the next probe.
    pub watched: Option<(u32, u64)>,
    /// Budget of detection.
    pub budget: Budget,
    /// Largest number of failed probes, and the components that never recurred.
    pub blockers: (u64, Vec<&'static str>),
    /// Words of recorded busy periods.
    pub recorded: u64,
    /// The group of a folded run.
    pub folded: Option<Arc<Symmetry>>,
    /// Result.
    pub forwarded: Forwarded,
}

impl Shared {
    /// Returns the number of nodes for which a simulated node stands.
    pub fn times(&self) -> u32 {
        self.folded.as_ref().map_or(1, |group| group.count())
    }

    /// Returns the state at the start of a run.
    pub fn new(until: Moment, folded: Option<Arc<Symmetry>>) -> Self {
        Self {
            folded,
            until,
            external: None,
            stall: None,
            watched: None,
            budget: Budget::new(),
            blockers: (0, Vec::new()),
            recorded: 0,
            forwarded: Forwarded::default(),
        }
    }

    /// Returns the next moment at which the run ends or an external event happens.
    pub fn end(&self) -> Moment {
        self.external.map_or(self.until, |at| self.until.min(at))
    }

    /// Returns the deadline of a stall if no flow has made progress.
    pub fn stall_ahead(&self, cp: &Checkpoint<'_, Node>) -> Option<StallDeadline> {
        self.stall.filter(|deadline| deadline.is_ahead(cp))
    }

    /// Adapts the budget to the events so far.
    pub fn update_budget(&mut self, cp: &Checkpoint<'_, Node>) {
        let (simulated, forwarded) = (cp.statistics.events, self.forwarded.events);
        let events_left =
            self.stall.map_or(0, |deadline| deadline.events_left(cp.now, simulated + forwarded));
        self.budget.update(simulated, forwarded, events_left);
    }
}
