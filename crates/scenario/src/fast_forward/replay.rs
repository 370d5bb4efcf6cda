//! Replay: what a confirmed period makes of the state of a scope.
//!
//! A replay is known from three moments, one period apart each. Totals and fingerprints grow in each
//! repetition as in the last period, times and offsets move by the growth of the last period. The number of
//! repetitions is limited by the next change: a flow or message ends, an event comes from outside, or a rank
//! has no further equal operation.

use xoff_engine::state::{Counter, Offsets, StateVisitor, Totals};
use xoff_engine::{Checkpoint, Fingerprint};
use xoff_models::hosts::endpoint::Endpoint;
use xoff_models::network::node::Node;
use xoff_models::traffic::application::period;
use xoff_units::{Moment, wide};

use super::offsets::NetworkOffsets;
use super::period::Period;
use super::scope::{Instant, Scope};
use super::shared::Shared;
use crate::audit::{STILL, find_deadlock, may_stand_still};

/// Maximum number of rows written by one replay, for a bound of memory. With a fifth: 1.08 times the
/// packet-hops.
pub const ROWS: u64 = 500_000;
/// The same for each node of a large network. A step of a ring has a row for each rank: with 500,000 rows in
/// all, 9,216 ranks would repeat 54 steps, and then simulate some steps to find the period again.
const ROWS_OF_NODE: u64 = 256;

/// The same for a folded run, in rows of all nodes. Example: at 128 equal parts a replay writes at most 31,250 simulated rows,
/// because each becomes 128 rows on the way to the tables. A bound for the worst case: no job that was measured reached it.
const ROWS_UNFOLDED: u64 = 4_000_000;

/// Returns the maximum number of rows written by one replay of this many nodes, each of which stands for `times`.
pub fn most_rows(nodes: usize, times: u32) -> u64 {
    ROWS.max(ROWS_OF_NODE * wide(nodes)).min(ROWS_UNFOLDED / u64::from(times))
}

/// A confirmed period at its end.
pub struct Replay {
    pub period: Period,
    pub start: Box<Instant>,
    /// Totals at the start.
    totals: Totals,
    offsets: NetworkOffsets,
    /// Repetitions before the next change.
    fits: u64,
    /// Repetitions with at most [`most_rows`].
    pub times: u64,
    /// Rows of each repetition.
    pub rows: u64,
}

/// Limits of a replay from outside the state: events so far, and packets of the reference node up to the next
/// probe of a longer level.
pub struct Bounds {
    pub events: u64,
    pub packets: u64,
}

impl Replay {
    /// Returns the replay of a period that ends now, or `None` if the period cannot be repeated.
    pub fn new(
        scope: &Scope,
        shared: &Shared,
        (period, start, before): (Period, Box<Instant>, Totals),
        offsets: NetworkOffsets,
        bounds: &Bounds,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Self> {
        let totals = scope.totals(cp.now, &offsets, cp);
        let mut replay = Self {
            rows: totals.rows - before.rows.min(totals.rows),
            totals: before,
            period,
            start,
            offsets,
            fits: 0,
            times: 0,
        };
        replay.fits = replay.count(scope, shared, &totals, bounds, cp)?;
        replay.times =
            replay.fits.min((most_rows(scope.nodes.len(), shared.times()) / replay.rows.max(1)).max(1));
        // The audit of deadlocks must see ports that send nothing for a whole period, and rings of pauses
        // that last for a part of a long period.
        let has_deadlock = find_deadlock(cp, replay.start.at, |id| scope.place(id).is_some()).is_some();
        if has_deadlock
            || replay.period.length > STILL && may_stand_still(cp, scope.nodes.iter().copied(), STILL)
        {
            return None;
        }
        let fits = replay.visit(scope, cp.now, 0, cp) && replay.fingerprints(scope, 1, cp).is_some();
        fits.then_some(replay)
    }

    /// Returns the moment before the first repetition is over.
    pub fn begun(&self) -> Moment {
        self.start.at + self.period.length
    }

    /// Repeats the period, and returns the repeated events. Returns `None`, without any change, if
    /// fingerprints of the last two periods differ, or without repetitions.
    pub fn apply(
        &self,
        scope: &Scope,
        times: u64,
        events: u64,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<u64> {
        let fingerprints = self.fingerprints(scope, times, cp).filter(|_| times > 0)?;
        self.visit(scope, self.begun(), times, cp);
        for (id, fingerprint) in scope.nodes.iter().zip(fingerprints) {
            *cp.fingerprint_mut(*id) = fingerprint;
        }
        Some(times * (events - self.start.events))
    }

    /// Returns the period after all repetitions that were written at once.
    pub fn candidate(self, times: u64, fingerprints: Vec<Fingerprint>) -> Period {
        Period { at: self.begun() + self.period.length * times, fingerprints, ..self.period }
    }

    /// True if no repetition fits after this many.
    pub const fn is_complete(&self, times: u64) -> bool {
        times == self.fits
    }

    /// Shows the state to a walk that repeats the period. Returns false if the state differs from that of a
    /// repetition.
    fn visit(&self, scope: &Scope, at: Moment, times: u64, cp: &mut Checkpoint<'_, Node>) -> bool {
        let growth = self.offsets.since(&self.start.offsets, times);
        let mut walk = StateVisitor::repeat(at, self.period.length, times, self.totals.clone(), &growth);
        scope.walk(&mut walk, cp);
        walk.fits()
    }

    /// Returns the number of repetitions before the next change, at least one.
    fn count(
        &self,
        scope: &Scope,
        shared: &Shared,
        totals: &Totals,
        bounds: &Bounds,
        cp: &Checkpoint<'_, Node>,
    ) -> Option<u64> {
        let (length, growth) = (self.period.length.ps(), self.offsets.since(&self.start.offsets, 1));
        let stall = shared.stall_ahead(cp);
        let mut times = shared.end().min(totals.outside).since(cp.now).ps() / length;
        if let Some(deadline) = stall {
            let left = deadline.events.saturating_sub(cp.statistics.events + shared.forwarded.events);
            times = times
                .min(deadline.at.since(cp.now).ps() / length)
                .min(left / (bounds.events - self.start.events).max(1));
        }
        times = times.min(self.offsets.fits(&self.start.offsets)?).min(bounds.packets / self.period.packets);
        times = times.min(unwatched(scope, shared, &self.start, cp));
        // Without progress of flows, the audit of stalls decides.
        let mut progress = stall.is_some() && scope.is_whole;
        for flow in scope.endpoints(cp).flat_map(Endpoint::under_way) {
            let passed = growth.offset(Counter::Packets(flow.flow)) as u32;
            if self.offsets.kind != period::PACKETS && flow.message.is_some() {
                progress |= passed > 0;
            } else if let Some(fits) = flow.alike.saturating_sub(flow.sent + 2).checked_div(passed) {
                progress = true;
                times = times.min(fits.into());
            }
        }
        (progress && times > 0).then_some(times)
    }

    /// Returns the fingerprints after `times` repetitions, or `None` if the arrivals of the last two periods
    /// differ.
    pub fn fingerprints(
        &self,
        scope: &Scope,
        times: u64,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Vec<Fingerprint>> {
        let ends = self.period.fingerprints.iter().zip(&self.start.fingerprints);
        scope
            .nodes
            .iter()
            .zip(ends)
            .map(|(id, (first, last))| cp.fingerprint_mut(*id).again(*first, *last, times))
            .collect()
    }
}

/// Returns the number of repetitions before the reference node of the whole network reaches the next probe,
/// if the node is in this component.
pub fn unwatched(scope: &Scope, shared: &Shared, start: &Instant, cp: &Checkpoint<'_, Node>) -> u64 {
    let place = |(node, mark)| Some((scope.place(node)?, node, mark));
    let Some((place, node, mark)) = shared.watched.filter(|_| !scope.is_whole).and_then(place) else {
        return u64::MAX;
    };
    let started = cp.node(node).counts.data_hops;
    mark.saturating_sub(started + 1).checked_div(started - start.started[place]).unwrap_or(u64::MAX)
}
