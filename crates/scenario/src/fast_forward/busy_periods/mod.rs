//! Busy periods: recorded stretches from one quiet moment of a scope to the next.
//!
//! A scope is quiet if no message is in flight and no node has data to send: all ranks compute or wait. The
//! state at the first event after a quiet moment determines the busy period that follows (a regenerative
//! cycle, Crane and Iglehart 1975). The first occurrence is noted. At the end of the second, the nodes are
//! copied, with totals and rows. From the third on, the copies replace the nodes. The fingerprint grows with
//! the progress of the flows; two occurrences determine this growth if flows progress in the same proportion.
//!
//! The operations of a busy period are compared as well, and several busy periods may start in the same
//! state. Not recorded are busy periods with traffic across the border, with flows that begin or end, with
//! credits of links, or with fewer events than the cost of a replay.
//!
//! Periods and busy periods are not one table, for three reasons. A period is repeated with packets in flight
//! and without any copy of nodes: an entry of a probe is 16 bytes, an entry of a busy period is a copy of the
//! scope. A period recurs in sequence, and k repetitions have a closed form; a busy period recurs after other
//! events, and each replay needs the totals before. Probes of packets are far more frequent than quiet
//! moments, and nearly all fail.

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use xoff_engine::state::{Snapshot, StateVisitor, Totals};
use xoff_engine::{Checkpoint, Fingerprint, Kept};
use xoff_models::network::node::Node;
use xoff_models::traffic::application::period;
use xoff_units::{Duration, Moment};

use super::budget::{Account, Purpose};
use super::offsets::NetworkOffsets;
use super::replay::ROWS;
use super::scope::{Instant, Scope};
use super::shared::Shared;
use crate::audit::{STILL, may_stand_still};

/// Maximum number of recorded words of all scopes: 8 MB of nodes. With a tenth: 1.02 times the packet-hops.
const RECORDED: u64 = 1 << 20;

/// The busy periods of a scope.
#[derive(Default)]
pub struct BusyPeriods {
    /// Busy periods by the digest of the state at the start.
    known: FxHashMap<u64, Vec<BusyPeriod>>,
    /// The current busy period.
    open: Option<Open>,
    /// Events before the last quiet moment read.
    read_at: u64,
    /// Words of the last read, and words recorded.
    cost: u64,
    pub recorded: u64,
    /// Place of a node that was busy.
    busy: usize,
}

/// A busy period.
struct BusyPeriod {
    snapshot: Snapshot,
    /// Start and end of the first occurrence.
    first: [Instant; 2],
    second: Option<Memory>,
    /// True if the busy period cannot be replayed.
    is_unfit: bool,
}

/// The data for a replay.
struct Memory {
    /// Start and end of the second occurrence.
    second: [Instant; 2],
    /// Totals at the start.
    totals: Totals,
    /// Nodes at the end.
    nodes: Vec<Kept<Node>>,
    rows: u64,
}

/// The current busy period.
struct Open {
    key: u64,
    start: Instant,
    number: Number,
}

/// The number of an occurrence.
enum Number {
    First(Snapshot),
    /// Place among the busy periods with the same state, and totals at the start.
    Second(usize, Totals),
}

/// A busy period to be replayed.
pub struct Recall {
    of: (u64, usize),
    offsets: NetworkOffsets,
    growth: NetworkOffsets,
    /// Progress of the flows since the first occurrence, over the progress between first and second.
    ratio: [u32; 2],
    /// Start.
    pub at: Moment,
    pub length: Duration,
    pub rows: u64,
}

impl BusyPeriods {
    /// True if records of the nodes must stay with the nodes.
    pub fn keeps_rows(&self) -> bool {
        self.open.as_ref().is_some_and(|open| matches!(open.number, Number::Second(..)))
    }

    /// Lets the records of the nodes go.
    pub fn release(&mut self) {
        self.open.take_if(|open| matches!(open.number, Number::Second(..)));
    }

    /// Forgets the current busy period.
    pub fn forget_open(&mut self) {
        self.open = None;
    }

    const fn record(&mut self, words: u64, shared: &mut Shared) {
        self.recorded += words;
        shared.recorded += words;
    }

    fn get(&self, (key, place): (u64, usize)) -> Option<&BusyPeriod> {
        self.known.get(&key)?.get(place)
    }

    fn get_mut(&mut self, (key, place): (u64, usize)) -> Option<&mut BusyPeriod> {
        self.known.get_mut(&key)?.get_mut(place)
    }

    /// Reads the state at a quiet moment, and returns the busy period that follows, if known. `events` are
    /// the events of the scope. A busy period gives way to a longer period in sequence (`is_preceded`).
    pub fn recall(
        &mut self,
        scope: &Scope,
        account: &mut Account,
        (events, is_preceded): (u64, bool),
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Recall> {
        // A busy node or a spent budget is the common case.
        let is_open = self.open.is_some();
        if !is_open && (is_busy(scope, self.busy, cp) || self.wait(scope, account, shared, cp)) {
            return None;
        }
        if events == self.read_at || self.find_busy(scope, cp) {
            return None;
        }
        self.read_at = events;
        let at = scope.nodes.iter().map(|id| cp.first_at(*id)).fold(Moment::NEVER, Moment::min);
        if at == Moment::NEVER || is_open && self.wait(scope, account, shared, cp) {
            self.open = None;
            return None;
        }
        let offsets = NetworkOffsets::of(cp, &scope.nodes, period::BUSY, shared.folded.as_ref());
        let (begun, operations) = offsets.work_done();
        if scope.is_whole {
            shared.budget.expect(events / begun.max(1) * operations);
        }
        let snapshot = scope.snapshot(at, &offsets, true, cp);
        self.cost = snapshot.count + offsets.cost();
        shared.budget.spend(account, self.cost, Purpose::BusyPeriods);
        let start = scope.instant(at, offsets, events, cp);
        if let Some(open) = self.open.take() {
            self.close(scope, account, open, &start, shared, cp);
        }
        self.open(scope, account, (snapshot, start, is_preceded), shared, cp)
    }

    /// Finds a busy node, and returns true if there is one. The last busy node is asked first.
    fn find_busy(&mut self, scope: &Scope, cp: &Checkpoint<'_, Node>) -> bool {
        let mut places = std::iter::once(self.busy).chain(0..scope.nodes.len());
        let busy = places.find(|place| is_busy(scope, *place, cp));
        self.busy = busy.unwrap_or(self.busy);
        busy.is_some()
    }

    /// Returns true, and waits, if the budget does not pay for another read.
    fn wait(
        &mut self,
        scope: &Scope,
        account: &mut Account,
        shared: &mut Shared,
        cp: &Checkpoint<'_, Node>,
    ) -> bool {
        shared.update_budget(cp);
        let simulated = scope.simulated(cp);
        let missing = shared.budget.missing(account, simulated, self.cost, Purpose::BusyPeriods);
        missing > 0 && shared.budget.settle(account, simulated, (self.cost, missing)) > 0
    }

    /// Starts a busy period: the first occurrence, the second, or a replay.
    fn open(
        &mut self,
        scope: &Scope,
        account: &mut Account,
        (snapshot, start, is_preceded): (Snapshot, Instant, bool),
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Recall> {
        let (key, count) = (snapshot.digest(), snapshot.count);
        let several = self.known.get(&key).map_or(&[][..], |several| several);
        // The operations are compared with those of the last occurrence.
        let last = |known: &BusyPeriod| {
            start.offsets.again(ends(known.second.as_ref().map_or(&known.first, |memory| &memory.second)))
        };
        let Some(place) =
            several.iter().position(|known| known.snapshot.is(&snapshot) && last(known).is_some())
        else {
            if shared.recorded < RECORDED {
                self.open = Some(Open { key, start, number: Number::First(snapshot) });
            }
            return None;
        };
        if several[place].is_unfit {
            return None;
        }
        let is_recorded = several[place].second.is_some();
        shared.budget.spend(account, count, Purpose::BusyPeriods);
        let totals = scope.totals(start.at, &start.offsets, cp);
        if is_recorded {
            return if is_preceded {
                None
            } else {
                self.fit(scope, shared, (key, place), start, &totals, cp)
            };
        }
        self.open = Some(Open { key, start, number: Number::Second(place, totals) });
        None
    }

    /// Records the end of a busy period.
    fn close(
        &mut self,
        scope: &Scope,
        account: &mut Account,
        Open { key, start, number }: Open,
        now: &Instant,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        let length = now.at - start.at;
        // The audit of deadlocks looks for rings of pauses at moments of its own.
        let may_stand = length > STILL && may_stand_still(cp, scope.nodes.iter().copied(), STILL);
        let is_closed = now.crossed == start.crossed
            && now.offsets.epoch == start.offsets.epoch
            && length > Duration::ZERO
            && !may_stand;
        let events = now.events - start.events;
        let occurrence = [start, now.clone()];
        match number {
            // A replay costs more than a read.
            Number::First(snapshot) if is_closed && events > 4 * snapshot.count => {
                self.record(snapshot.count / 8, shared);
                let busy_period = BusyPeriod { snapshot, first: occurrence, second: None, is_unfit: false };
                self.known.entry(key).or_default().push(busy_period);
            }
            Number::First(_) => {}
            Number::Second(place, totals) => {
                let after = scope.totals(now.at, &now.offsets, cp);
                let rows = after.rows.saturating_sub(totals.rows);
                let nodes = scope.nodes.iter().map(|id| cp.keep(*id)).collect();
                let Some(known) = self.get_mut((key, place)) else { return };
                let count = known.snapshot.count;
                let is_complete =
                    after.are_of(&totals) && !after.is_shared && !totals.is_shared && rows <= ROWS;
                known.is_unfit = !(is_closed && is_complete && shared.recorded + count <= RECORDED);
                if known.is_unfit {
                    return shared.budget.spend(account, 4 * count, Purpose::BusyPeriods);
                }
                known.second = Some(Memory { second: occurrence, totals, nodes, rows });
                self.record(count, shared);
                // The cost of a record is paid once for each busy period.
                shared.budget.refund(account, 2 * self.cost + count, Purpose::BusyPeriods);
            }
        }
    }

    /// Returns the replay of a busy period, if the busy period ends before the next change.
    fn fit(
        &self,
        scope: &Scope,
        shared: &Shared,
        of: (u64, usize),
        Instant { at, offsets, .. }: Instant,
        totals: &Totals,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Recall> {
        let known = self.get(of)?;
        let Memory { second, rows, nodes, .. } = known.second.as_ref()?;
        let length = second[1].at - second[0].at;
        let passes = |(node, mark): (u32, u64)| {
            let place = scope.place(node)?;
            Some(
                cp.node(node).counts.data_hops + nodes[place].node.counts.data_hops
                    - second[0].started[place]
                    >= mark,
            )
        };
        let is_watched = !scope.is_whole && shared.watched.and_then(passes) == Some(true);
        if shared.end().min(totals.outside) < at + length
            || is_watched
            || shared.stall.is_some()
            || totals.rows + rows > 2 * ROWS
        {
            return None;
        }
        let growth = offsets.again(ends(second))?;
        let ratio = offsets.ratio(&known.first[0].offsets, ends(second))?;
        let recall = Recall { of, offsets, growth, ratio, at, length, rows: *rows };
        self.fingerprints(scope, &recall, at, cp)?;
        Some(recall)
    }

    /// Returns the fingerprints at the end of a replay that starts at a moment.
    fn fingerprints(
        &self,
        scope: &Scope,
        recall: &Recall,
        at: Moment,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Vec<Fingerprint>> {
        let BusyPeriod { first, second, .. } = self.get(recall.of)?;
        let second = &second.as_ref()?.second;
        let later = [second[0].at, at].map(|at| (at - first[0].at).ps());
        let fingerprint = |(place, id): (usize, &u32)| {
            let from = [first, second].map(|ends| ends.each_ref().map(|end| end.fingerprints[place]));
            cp.fingerprint_mut(*id).once_more(from, later, recall.ratio)
        };
        scope.nodes.iter().enumerate().map(fingerprint).collect()
    }

    /// Replaces the nodes by the copies at the end of a busy period that starts at a moment. Returns the
    /// replayed events, or `None`, without any change, if a copy does not fit.
    pub fn apply(
        &mut self,
        scope: &Scope,
        recall: &Recall,
        at: Moment,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<u64> {
        let fingerprints = self.fingerprints(scope, recall, at, cp)?;
        let Memory { second: [start, end], totals, nodes, .. } = self.get(recall.of)?.second.as_ref()?;
        let mut walk = StateVisitor::leave(at, &recall.offsets);
        scope.walk(&mut walk, cp);
        let (left, mut nodes, events) = (walk.left(), nodes.clone(), end.events - start.events);
        let mut walk = StateVisitor::onto(end.at, at - start.at, totals.clone(), left, &recall.growth);
        scope.nodes.iter().zip(&mut nodes).for_each(|(id, node)| node.walk(*id, &mut walk));
        if !walk.fits() {
            self.get_mut(recall.of)?.is_unfit = true;
            return None;
        }
        for ((id, mut kept), fingerprint) in scope.nodes.iter().zip(nodes).zip(fingerprints) {
            kept.node.marks = cp.node(*id).marks;
            cp.put(*id, kept);
            *cp.fingerprint_mut(*id) = fingerprint;
        }
        // The end is quiet again.
        self.read_at = 0;
        Some(events)
    }

    /// Returns the words of a read that led to a replay.
    pub const fn refund(&self, account: &mut Account, shared: &mut Shared) {
        shared.budget.refund(account, 2 * self.cost, Purpose::BusyPeriods);
    }
}

/// Returns the offsets at both ends of an occurrence.
const fn ends([start, end]: &[Instant; 2]) -> [&NetworkOffsets; 2] {
    [&start.offsets, &end.offsets]
}

/// True if the node at a place is busy.
fn is_busy(scope: &Scope, place: usize, cp: &Checkpoint<'_, Node>) -> bool {
    let id = scope.nodes[place];
    !(cp.is_quiet_at(id) && cp.node(id).is_quiet())
}
