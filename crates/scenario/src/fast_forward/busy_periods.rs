//! Busy periods: what happens from one quiet moment of some nodes to the next, remembered.
//!
//! Nodes are quiet when nothing is on its way to any of them and none has anything to send: all compute, or wait for somebody who does.
//! Whatever they do then until they are quiet again depends on their snapshot at the first event after that moment alone; where that
//! comes again, so does the busy period, whatever has happened meanwhile. The first time it is only noted. The second time, copies of the
//! nodes are kept at its end, with all that was counted and written down in it. From the third time on, the copies are put in the place
//! of the nodes, as much later and as much further into their flows and programs. Of two times it is known by how much the fingerprint grows
//! with the packets that flows have behind them, so these have to have gone on in the same proportion.
//!
//! What follows depends on the operations to come as well: those that took place in an busy period have to be like the ones to come
//! ([`NetworkOffsets::again`]). So several may begin with the same snapshot.
//!
//! Not remembered are busy periods in which something crossed the border of the nodes, in which flows began or ended, or that are shorter than
//! it takes to recall them; nor any where links have credits, whose counters begin anew.

#[cfg(test)]
#[path = "../../tests/fast_forward/busy_periods.rs"]
mod tests;

use rustc_hash::FxHashMap;
use xoff_engine::state::{PeriodKind, Snapshot, Totals, Walk};
use xoff_engine::{Checkpoint, Fingerprint, Kept};
use xoff_models::node::Node;
use xoff_units::{Duration, Moment};

use super::Common;
use super::budget::Part;
use super::levels::LAYERS;
use super::offsets::NetworkOffsets;
use super::period::{ROWS, Repeated, Stage, What};
use super::search::Search;
use crate::audit::{STILL, may_stand_still};

/// So many words of nodes are kept at most, by all.
const KEPT: u64 = 1 << 20;
/// So many begin with the same snapshot at most.
const SEVERAL: usize = 4;
/// Rows wait for the end of an busy period for so many events at most.
const LONGEST: u64 = 8_000_000;
/// A job is as far as one part in so many when it is taken to go on as fast as up to there.
const SO_FAR: u64 = 16;
/// Who has spent what looking may cost saves for so many looks.
const AT_ONCE: u64 = 64;

/// All that is known of the busy periods of some nodes.
#[derive(Default)]
pub struct BusyPeriods {
    /// By the digest of the snapshot in which each begins.
    known: FxHashMap<u64, Vec<BusyPeriod>>,
    /// The one that goes on.
    open: Option<Open>,
    /// Events up to the last quiet moment that was looked at.
    looked_at: u64,
    /// Words of one look, and those that were kept.
    cost: u64,
    pub kept: u64,
    /// The place of a node that was not quiet.
    busy: usize,
    /// Looks since one took place again; those after these have to be saved for.
    misses: u64,
    saves: bool,
}

/// What is known of one.
struct BusyPeriod {
    snapshot: Snapshot,
    first: Seen,
    second: Option<Memory>,
    /// It cannot be put in place.
    is_unfit: bool,
}

/// One of the times that it took place.
struct Seen {
    begun: Begun,
    /// Where it ended.
    at: Moment,
    reached: NetworkOffsets,
    prints: Vec<Fingerprint>,
    events: u64,
}

impl Seen {
    const fn ends(&self) -> [&NetworkOffsets; 2] {
        [&self.begun.reached, &self.reached]
    }
}

/// Where one began.
struct Begun {
    at: Moment,
    reached: NetworkOffsets,
    prints: Vec<Fingerprint>,
    events: u64,
    /// Bytes that had crossed the border.
    crossed: u64,
    /// Data packets that each of the nodes had started.
    started: Vec<u64>,
}

/// What has to be known of one to put its end in place.
struct Memory {
    seen: Seen,
    /// What was counted before.
    totals: Totals,
    /// The nodes at its end.
    nodes: Vec<Kept<Node>>,
    rows: u64,
}

/// One that goes on.
struct Open {
    key: u64,
    begun: Begun,
    going: Going,
}

/// For which time it does.
enum Going {
    First(Snapshot),
    /// Its place among those that begin so, and what was counted before.
    Second(usize, Totals),
}

/// One that may take place again.
pub struct Recalled {
    of: (u64, usize),
    reached: NetworkOffsets,
    further: NetworkOffsets,
    ratio: [u32; 2],
}

impl BusyPeriods {
    /// Whether what nodes wrote down has to stay with them.
    pub fn holds(&self) -> bool {
        self.open.as_ref().is_some_and(|open| matches!(open.going, Going::Second(..)))
    }

    /// It need not.
    pub fn let_go(&mut self) {
        self.open.take_if(|open| matches!(open.going, Going::Second(..)));
    }

    /// What goes on is not what it was: events are over that these nodes do not know of.
    pub fn forget_open(&mut self) {
        self.open = None;
    }

    const fn keep(&mut self, common: &mut Common, words: u64) {
        self.kept += words;
        common.kept += words;
    }

    fn get(&self, (key, place): (u64, usize)) -> Option<&BusyPeriod> {
        self.known.get(&key)?.get(place)
    }

    fn get_mut(&mut self, (key, place): (u64, usize)) -> Option<&mut BusyPeriod> {
        self.known.get_mut(&key)?.get_mut(place)
    }
}

impl Search {
    /// At a quiet moment: what was seen before from there on, if it may take place again.
    pub fn recall(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        let is_open = self.busy_periods.open.is_some();
        // Most end here, before all nodes are gone through.
        if !is_open && (self.is_busy(self.busy_periods.busy, cp) || self.is_dear(common, cp)) {
            return None;
        }
        let events = self.events(common, cp);
        if events == self.busy_periods.looked_at || !self.is_quiet(cp) {
            self.busy_periods.open.take_if(|open| events > open.begun.events + LONGEST);
            return None;
        }
        self.busy_periods.looked_at = events;
        // Until then nothing happens.
        let at = self.nodes.iter().map(|id| cp.first_at(*id)).fold(Moment::NEVER, Moment::min);
        if at == Moment::NEVER || is_open && self.is_dear(common, cp) {
            self.busy_periods.open = None;
            return None;
        }
        let reached = NetworkOffsets::of(cp, &self.nodes, PeriodKind::BusyPeriods);
        let (begun, operations) = reached.operations_begun();
        // Before that it does not tell how long a run takes.
        if self.is_whole && begun * SO_FAR >= operations {
            common.budget.allow(events / begun.max(1) * operations);
        }
        let mut walk = Walk::keep(at, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let snapshot = walk.snapshot();
        self.busy_periods.cost = snapshot.count + reached.cost();
        self.busy_periods.misses += 1;
        self.pay_busy_period(common, self.busy_periods.cost);
        let (prints, crossed) = (self.prints(cp), self.crossed(cp));
        let started = self.nodes.iter().map(|id| cp.node(*id).counts.data_hops).collect();
        let now = Begun { at, reached, prints, events, crossed, started };
        if let Some(open) = self.busy_periods.open.take() {
            self.close(common, open, &now, cp);
        }
        self.open(common, snapshot, now, cp)
    }

    /// Whether the node at a place is not quiet.
    fn is_busy(&self, place: usize, cp: &Checkpoint<'_, Node>) -> bool {
        let id = self.nodes[place];
        !(cp.is_quiet_at(id) && cp.node(id).is_quiet())
    }

    /// Whether all of these nodes are quiet. Who was not the last time is asked first: one is enough.
    fn is_quiet(&mut self, cp: &Checkpoint<'_, Node>) -> bool {
        let mut places = std::iter::once(self.busy_periods.busy).chain(0..self.nodes.len());
        let busy = places.find(|place| self.is_busy(*place, cp));
        self.busy_periods.busy = busy.unwrap_or(self.busy_periods.busy);
        busy.is_none()
    }

    /// Whether another look would cost too much.
    fn is_dear(&mut self, common: &mut Common, cp: &Checkpoint<'_, Node>) -> bool {
        let BusyPeriods { cost, misses, saves, .. } = self.busy_periods;
        let cost = cost * if saves { AT_ONCE } else { 1 };
        let lacks = self.lacks(common, cost, self.given(Part::BusyPeriods, misses), cp);
        self.busy_periods.saves = lacks > 0 && self.earn(common, (cost, lacks), cp) > 0;
        self.busy_periods.saves
    }

    /// Whatever is to come begins: for the first time, for the second, or once more.
    fn open(&mut self, common: &mut Common, snapshot: Snapshot, begun: Begun, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        let (key, count) = (snapshot.digest(), snapshot.count);
        let several = self.busy_periods.known.get(&key).map_or(&[][..], |several| several);
        // As it was when it was seen last.
        let last = |busy_period: &BusyPeriod| {
            begun.reached.again(busy_period.second.as_ref().map_or(&busy_period.first, |memory| &memory.seen).ends())
        };
        let is_known = |busy_period: &BusyPeriod| busy_period.snapshot.is(&snapshot) && last(busy_period).is_some();
        let Some(place) = several.iter().position(is_known) else {
            if several.len() < SEVERAL && common.kept < KEPT {
                self.busy_periods.open = Some(Open { key, begun, going: Going::First(snapshot) });
            }
            return None;
        };
        if several[place].is_unfit {
            return None;
        }
        let is_remembered = several[place].second.is_some();
        self.pay_busy_period(common, count);
        let mut walk = Walk::note(begun.at, &begun.reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let totals = walk.totals();
        if is_remembered {
            return self.recalled(common, (key, place), (begun, totals), cp);
        }
        self.busy_periods.open = Some(Open { key, begun, going: Going::Second(place, totals) });
        None
    }

    /// An busy period is over: what is to be known of it.
    fn close(&mut self, common: &mut Common, Open { key, begun, going }: Open, now: &Begun, cp: &mut Checkpoint<'_, Node>) {
        let length = now.at - begun.at;
        // A circle of ports that wait for one another is looked for at moments of its own.
        let may_stand = length > STILL && may_stand_still(cp, self.nodes.iter().copied(), STILL);
        let is_apart = now.crossed == begun.crossed && now.reached.epoch == begun.reached.epoch && length > Duration::ZERO && !may_stand;
        let events = now.events - begun.events;
        let seen = Seen { begun, at: now.at, reached: now.reached.clone(), prints: now.prints.clone(), events };
        match going {
            // What it takes to put it in place is more than a look.
            Going::First(snapshot) if is_apart && events > 4 * snapshot.count => {
                self.busy_periods.keep(common, snapshot.count / 8);
                let busy_period = BusyPeriod { snapshot, first: seen, second: None, is_unfit: false };
                self.busy_periods.known.entry(key).or_default().push(busy_period);
            }
            Going::First(_) => {}
            Going::Second(place, totals) => {
                let mut walk = Walk::note(now.at, &now.reached);
                cp.walk_some(self.nodes.iter().copied(), &mut walk);
                let after = walk.totals();
                let rows = after.rows.saturating_sub(totals.rows);
                let nodes = self.nodes.iter().map(|id| cp.keep(*id)).collect();
                let Some(busy_period) = self.busy_periods.get_mut((key, place)) else { return };
                let count = busy_period.snapshot.count;
                let is_whole = after.are_of(&totals) && !after.is_shared && !totals.is_shared && rows <= ROWS;
                busy_period.is_unfit = !(is_apart && is_whole && common.kept + count <= KEPT);
                if busy_period.is_unfit {
                    return self.pay_busy_period(common, 4 * count);
                }
                busy_period.second = Some(Memory { seen, totals, nodes, rows });
                self.busy_periods.keep(common, count);
                // It was not in vain to look, which is so once for each.
                self.busy_periods.misses = self.busy_periods.misses.saturating_sub(2);
                self.refund(common, 2 * self.busy_periods.cost + count);
            }
        }
    }

    /// An busy period that begins once more, if all of it fits before anything else happens.
    fn recalled(
        &mut self,
        common: &Common,
        of: (u64, usize),
        (Begun { at, reached, .. }, totals): (Begun, Totals),
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Repeated> {
        let busy_period = self.busy_periods.get(of)?;
        let Memory { seen, rows, nodes, .. } = busy_period.second.as_ref()?;
        let length = seen.at - seen.begun.at;
        let end = common.elsewhere.map_or(common.until, |at| common.until.min(at)).min(totals.outside);
        // All nodes are looked at where their reference asked for it.
        let passes = |(reference, asks): (u32, u64)| {
            let place = self.nodes.binary_search(&reference).ok()?;
            Some(cp.node(reference).counts.data_hops + nodes[place].node.counts.data_hops - seen.begun.started[place] >= asks)
        };
        let is_watched = !self.is_whole && common.watched.and_then(passes) == Some(true);
        // Many layers that are about to be forwarded at once are not gone through one by one.
        let is_known = self.rounds[LAYERS..].iter().any(|rounds| match &rounds.stage {
            Stage::Search => false,
            Stage::Once(period) | Stage::Twice(period, _) => period.hops <= rounds.every,
        });
        if end < at + length || is_watched || is_known || common.stall_deadline.is_some() || totals.rows + rows > 2 * ROWS {
            return None;
        }
        let further = reached.again(seen.ends())?;
        let ratio = reached.ratio(&busy_period.first.begun.reached, seen.ends())?;
        let (rows, recalled) = (*rows, Recalled { of, reached, further, ratio });
        self.once_more(&recalled, at, cp)?;
        Some(Repeated { what: What::BusyPeriod(Box::new(recalled)), length, at, times: 1, rows })
    }

    /// What fingerprints are when an busy period has taken place once more from a moment on.
    fn once_more(&self, recalled: &Recalled, at: Moment, cp: &mut Checkpoint<'_, Node>) -> Option<Vec<Fingerprint>> {
        let BusyPeriod { first, second, .. } = self.busy_periods.get(recalled.of)?;
        let second = &second.as_ref()?.seen;
        let later = [second.begun.at, at].map(|at| (at - first.begun.at).ps());
        let print = |(place, id): (usize, &u32)| {
            let from = [first, second].map(|seen| [seen.begun.prints[place], seen.prints[place]]);
            cp.fingerprint_mut(*id).once_more(from, later, recalled.ratio)
        };
        self.nodes.iter().enumerate().map(print).collect()
    }

    /// Puts the nodes where an busy period ends that begins at a moment.
    pub fn put_busy_period(&mut self, common: &mut Common, recalled: Recalled, at: Moment, cp: &mut Checkpoint<'_, Node>) {
        let Some(prints) = self.once_more(&recalled, at, cp) else { return };
        let Some(Memory { seen, totals, nodes, .. }) =
            self.busy_periods.get(recalled.of).and_then(|busy_period| busy_period.second.as_ref())
        else {
            return;
        };
        let mut walk = Walk::leave(at, &recalled.reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let left = walk.left();
        let (mut nodes, events) = (nodes.clone(), seen.events);
        let mut walk = Walk::onto(seen.at, at - seen.begun.at, totals.clone(), left, &recalled.further);
        self.nodes.iter().zip(&mut nodes).for_each(|(id, node)| node.walk(*id, &mut walk));
        if !walk.fits() {
            if let Some(busy_period) = self.busy_periods.get_mut(recalled.of) {
                busy_period.is_unfit = true;
            }
            return;
        }
        let hops = self.hops(cp);
        for ((id, mut kept), print) in self.nodes.iter().zip(nodes).zip(prints) {
            // What is asked of it is not of then.
            kept.node.marks = cp.node(*id).marks;
            cp.put(*id, kept);
            *cp.fingerprint_mut(*id) = print;
        }
        self.count(common, PeriodKind::BusyPeriods, (hops, events), cp);
        common.forwarded.busy_periods += 1;
        // It is quiet there again; and what it took to find that is less than what it saves.
        (self.busy_periods.looked_at, self.busy_periods.misses) = (0, 0);
        self.refund(common, 2 * self.busy_periods.cost);
        self.search(cp);
    }
}
