//! Checks during a run: deadlocks, lack of progress, memory, and a stop by the observer.

use std::ops::ControlFlow;
use std::time::Duration as WallTime;

use xoff_document::{InputError, Judgement, Scenario};
use xoff_engine::Checkpoint;
use xoff_engine::clock::Instant;
use xoff_models::network::Settings;
use xoff_models::network::node::Node;
use xoff_units::{Duration, Moment};

use crate::audit::{STILL, find_deadlock};
use crate::fast_forward::{StallDeadline, Suspended};
use crate::faults::Faults;
use crate::memory::Budget;
use crate::observer::Observer;
use crate::results::Results;
use crate::traffic::{first_start, gains};
use crate::verdicts::Abort;

/// Checks during a run: deadlocks, lack of progress, memory, and a stop by the observer.
pub struct Watch<'a> {
    scenario: &'a Scenario,
    /// Time without transmission after which a paused port may belong to a deadlock.
    still: Duration,
    /// Time and number of events without progress of flows after which a run stalls.
    stall_timeout: (Duration, u64),
    budget: Budget,
    faults: Faults,
    pub abort: Option<Abort>,
    pub was_stopped: bool,
    /// Only events of faults are left.
    pub is_over: bool,
    pub is_too_large: Option<InputError>,
    /// Start of the traffic, from which the moments of checks count: a run whose traffic starts later by any time ends
    /// later by the same time.
    pub origin: Moment,
    /// Number of passed multiples of [`STILL`] since `origin`.
    last_search: u64,
    /// Packets progress at the last check, the moment of the last gain, and the number of events at the first
    /// check with this state.
    last: (u64, Moment, u64),
    /// Start of a period without progress although flows wait for no other event, once the period is at least
    /// [`STILL`] long.
    stuck_since: Option<Moment>,
    last_report: Instant,
}

impl<'a> Watch<'a> {
    pub fn new(
        scenario: &'a Scenario,
        settings: &Settings,
        cp: &Checkpoint<'_, Node>,
    ) -> Result<Self, InputError> {
        // A pause that ends by itself before the end of the run is no deadlock.
        let ends = settings.mechanisms().parts().iter().filter_map(|p| p.properties().ends_pauses).min();
        let still = ends
            .filter(|ends| scenario.until.is_none_or(|until| until > Moment::ZERO + *ends))
            .map_or(STILL, |ends| STILL.max(ends));
        let endpoints = (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref());
        let longest =
            endpoints.filter_map(|e| e.timeouts()).map(|(_, longest)| longest).max().unwrap_or_default();
        let time = Duration(longest.ps().saturating_mul(STALL_TIMEOUTS)).max(STALL_AT_LEAST);
        Ok(Self {
            scenario,
            still,
            stall_timeout: (
                time + still.saturating_sub(STILL),
                STALL_EVENTS + STALL_EVENTS_A_NODE * u64::from(cp.nodes()),
            ),
            budget: Budget::new()?,
            faults: Faults::new(settings.failures.clone()),
            abort: None,
            was_stopped: false,
            is_over: false,
            is_too_large: None,
            origin: first_start(cp),
            last_search: 0,
            last: (0, Moment::ZERO, 0),
            stuck_since: None,
            last_report: Instant::now(),
        })
    }

    /// `events` counts all events, forwarded events included, which makes checks independent of fast-forward.
    /// Suspended nodes count as running.
    pub fn look(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        (events, suspended): (u64, &Suspended),
        results: &Results,
        observer: &mut dyn Observer,
    ) -> ControlFlow<()> {
        let fails = !self.faults.plan.is_empty();
        self.is_over = fails && results.is_over(cp);
        if self.is_over {
            return ControlFlow::Break(());
        }
        let search = cp.now.since(self.origin).ps() / STILL.ps();
        if search > self.last_search {
            self.last_search = search;
            self.search(cp, suspended)?;
            let is_waiting = self.faults.will_mend(cp.now, self.stall_timeout.0 / 2) || !suspended.is_empty();
            self.measure(cp, events, self.faults.mended, is_waiting)?;
        }
        if self.last_report.elapsed() >= WallTime::from_millis(100) {
            self.last_report = Instant::now();
            let takes_rows = observer.takes_rows();
            let too_large = self.budget.passed().map(|held| self.budget.refusal(held, cp.now, takes_rows));
            self.is_too_large = too_large.or_else(|| lacking_disk(results));
            self.was_stopped = observer.progress(results.progress(cp, self.scenario.until)).is_break();
            if self.was_stopped || self.is_too_large.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Looks for a deadlock.
    fn search(&mut self, cp: &Checkpoint<'_, Node>, suspended: &Suspended) -> ControlFlow<()> {
        let Some(cycle) = find_deadlock(cp, cp.now.saturating_sub(self.still), |id| !suspended.has(id))
        else {
            return ControlFlow::Continue(());
        };
        self.abort.get_or_insert(Abort::Deadlock(cp.now, cycle));
        // Without `until` the run would go on with timers alone.
        if self.scenario.audits.deadlock == Judgement::Fail || self.scenario.until.is_none() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns the earliest moment at which the run may be given up without progress; a check follows within
    /// [`STILL`].
    pub fn stall_deadline(&self) -> Option<StallDeadline> {
        let (progress, _, events) = self.last;
        self.stuck_since.filter(|_| self.abort.is_none()).map(|since| StallDeadline {
            progress,
            at: (since + self.stall_timeout.0).saturating_sub(STILL),
            events: events + self.stall_timeout.1,
        })
    }

    /// Updates the progress of flows. The moments of gains and of `mended` faults are independent of the
    /// checks. A flow that waits for the end of a fault does not stall.
    fn measure(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        events: u64,
        mended: Moment,
        is_waiting: bool,
    ) -> ControlFlow<()> {
        let gains = gains(cp);
        let (progress, before, by) = self.last;
        let since = gains.at.max(gains.begun).max(mended);
        let is_stuck = gains.is_busy && !is_waiting;
        self.stuck_since = (is_stuck && cp.now.since(since) >= STILL).then_some(since);
        if (progress, before) != (gains.packets, since) || !is_stuck {
            self.last = (gains.packets, since, events);
        } else if self.abort.is_none()
            && (cp.now.since(since) >= self.stall_timeout.0 || events - by >= self.stall_timeout.1)
        {
            self.abort = Some(Abort::Stall(gains.at));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// A run in which no flow gains a packet for this many retransmission timeouts, and this long, makes no
/// progress.
const STALL_TIMEOUTS: u64 = 25;
const STALL_AT_LEAST: Duration = Duration::ms(100);
/// Events without progress of any flow after which a run stalls, plus a number per node.
const STALL_EVENTS: u64 = 20_000_000;
const STALL_EVENTS_A_NODE: u64 = 20_000;

/// Returns the error of a run whose completion times found no room on disk.
pub(super) fn lacking_disk(results: &Results) -> Option<InputError> {
    results.fault().map(|fault| InputError::new("TMPDIR", fault))
}
