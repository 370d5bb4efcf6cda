//! Components: parts of a network that nothing leaves for a time, each of which repeats what it does by itself.
//!
//! Where all nodes do not repeat themselves together, those that send to one another may. An component whose period was found *rests*: its
//! events wait, while those of all others take place, until something reaches it, until as many periods have passed as fit, or until
//! somebody wants to see all nodes. Then it is put further by the periods that are over, and goes through what is left of one; the engine
//! lets those go first that are behind. As nothing left the component in a period, nothing has in those that were forwarded, and nobody
//! outside has missed anything; what reached it came after them. So nothing has to be foreseen, and the components may be guessed:
//! nodes are of one where something was sent between them lately.

use std::collections::BTreeMap;

use xoff_engine::state::PeriodKind;
use xoff_engine::{Checkpoint, Sets};
use xoff_models::ids::PortId;
use xoff_models::node::Node;
use xoff_units::{Duration, Moment, index, wide};

use super::Common;
use super::period::{ROWS, Repeated, Stage};
use super::search::Search;
use crate::audit::may_stand_still;

/// All nodes are given so many events, beside those that they skip together, before components are looked for; and so many looks, or so many
/// events for each two nodes, up to a most: as more nodes there are a look costs more, and more happens from one to the next.
const PATIENCE: u64 = 100_000;
const PATIENCE_LOOKS: u64 = 24;
const PATIENCE_OF_TWO: u64 = 700;
const PATIENCE_AT_MOST: u64 = 16_000_000;
/// Everybody else looks at all nodes after so many events at the latest, and rows are taken; where each packet is one, sooner.
const UNSEEN: u64 = 16_000_000;
const UNSEEN_PACKETS: u64 = 1_000_000;
/// To see what an output has sent, and what that joins, takes as long as so many words.
const WORDS_AN_OUTPUT: u64 = 12;
/// How often the time between two looks for parts is doubled at most.
const SELDOM: u32 = 6;

/// So often it is seen whether none may rest, since others may wait in a circle: who looks for deadlocks does so when something has
/// happened, which for those that rest is later. A circle that somebody finds before it is seen again has been paused for so long.
const SEEN: Duration = Duration::us(500);
const OLD: Duration = Duration::us(400);

/// So often something may be sent in parts of an component alone.
const UNLIKE: u32 = 4;

/// Which nodes rest.
#[derive(Debug, Default)]
pub struct Suspended {
    nodes: Vec<bool>,
    components: u64,
}

impl Suspended {
    /// Whether a node does.
    pub fn has(&self, node: u32) -> bool {
        self.nodes.get(index(node)).copied().unwrap_or(false)
    }

    /// Those that do not.
    fn others(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.nodes).filter(|node| !node.1).map(|node| node.0)
    }

    /// Whether none does.
    pub const fn is_empty(&self) -> bool {
        self.components == 0
    }

    fn set(&mut self, nodes: &[u32], rests: bool) {
        for node in nodes {
            self.nodes[index(*node)] = rests;
        }
        self.components = if rests { self.components + 1 } else { self.components - 1 };
    }
}

/// A part of the network.
pub struct Component {
    pub search: Search,
    /// What is repeated while it rests.
    rest: Option<Repeated>,
    /// It has rested since parts were last told from one another.
    is_proven: bool,
    /// How often something was sent in parts of it alone.
    unlike: u32,
}

/// All components.
pub struct Components {
    /// There may be some.
    may_be: bool,
    /// They are looked at, and not all nodes together but for what takes operations.
    pub is_split: bool,
    pub all: Vec<Component>,
    pub suspended: Suspended,
    /// How many outputs there are.
    outputs: u64,
    /// Bytes that outputs had sent when parts were last told from one another, and events up to then.
    sent: Vec<u64>,
    told_at: u64,
    /// Events that were looked at together, less those that were forwarded so; those seen up to now, and those forwarded.
    vain: u64,
    seen_at: u64,
    credited: u64,
    /// How often there was no more than one, before there were more.
    alone: u32,
    /// After how many events rows are taken, those that were written and not taken, and events when they last were.
    unseen: u64,
    rows: u64,
    taken_at: u64,
    /// As far as the first of those has come that were woken.
    reached: Moment,
}

impl Components {
    /// None yet.
    pub fn new(may_be: bool, writes_packets: bool, cp: &Checkpoint<'_, Node>) -> Self {
        // What one switch joins is one part.
        let switches = (0..cp.nodes()).filter(|id| cp.node(*id).forwards).count();
        Self {
            may_be: may_be && switches > 1,
            is_split: false,
            all: Vec::new(),
            suspended: Suspended { nodes: vec![false; index(cp.nodes())], components: 0 },
            outputs: cp.node(0).core.routing.wiring.ports.iter().map(|ports| wide(PortId::each(ports).count())).sum(),
            sent: Vec::new(),
            told_at: 0,
            vain: 0,
            seen_at: 0,
            credited: 0,
            alone: 0,
            unseen: if writes_packets { UNSEEN_PACKETS } else { UNSEEN },
            rows: 0,
            taken_at: 0,
            reached: Moment::ZERO,
        }
    }

    /// Remembers what kept components from repeating themselves.
    pub fn blame(&mut self, common: &mut Common) {
        self.all.iter_mut().for_each(|component| component.search.blame(common));
    }

    /// Whether rows have to be taken before more are written, or have not been for long.
    pub fn is_full(&self, cp: &Checkpoint<'_, Node>) -> bool {
        !self.suspended.is_empty() && (self.rows > ROWS || cp.statistics.events > self.taken_at + self.unseen)
    }

    /// All rows were taken.
    pub const fn was_taken(&mut self, cp: &Checkpoint<'_, Node>) {
        (self.rows, self.taken_at) = (0, cp.statistics.events);
    }

    /// Whether what nodes wrote down has to stay with them at a moment: some may have come beyond it, and others not yet.
    pub fn holds(&self, now: Moment) -> bool {
        !self.suspended.is_empty() || self.are_apart(now) || self.all.iter().any(|component| component.search.holds())
    }

    /// Whether some have come beyond a moment, and others not yet.
    pub fn are_apart(&self, now: Moment) -> bool {
        now < self.reached
    }

    /// It need not.
    pub fn let_go(&mut self) {
        self.all.iter_mut().for_each(|component| component.search.let_go());
    }

    /// Where it looks, an component may begin to rest, unless all are about to be looked at.
    pub fn look(&mut self, place: usize, stays: bool, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let found = self.all[place].search.look(common, cp);
        self.suspend(place, found, stays, common, cp);
    }

    /// Where an component is quiet, it may rest while what comes next is what was seen before.
    pub fn recall(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        for place in 0..self.all.len() {
            if self.all[place].rest.is_none() {
                let found = self.all[place].search.recall(common, cp);
                self.suspend(place, found, false, common, cp);
            }
        }
    }

    fn suspend(&mut self, place: usize, found: Option<Repeated>, stays: bool, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let (Component { search, rest, .. }, Some(found)) = (&mut self.all[place], found) else { return };
        if stays || may_stand_still(cp, self.suspended.others(), OLD) {
            return search.fast_forward(common, found, 0, cp);
        }
        cp.suspend(&search.nodes);
        cp.call(found.at + found.length * found.times);
        cp.call(cp.now - cp.now % SEEN + SEEN);
        self.suspended.set(&search.nodes, true);
        *rest = Some(found);
        common.forwarded.components = common.forwarded.components.max(self.suspended.components);
    }

    /// Wakes those that something has reached, and those whose time is over: what comes next they may have seen before, unless all are about
    /// to be looked at.
    pub fn resume_due(&mut self, stays: bool, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        for place in 0..self.all.len() {
            let Component { search, rest: Some(found), .. } = &self.all[place] else { continue };
            let reached = cp.first_since_suspension(&search.nodes);
            let is_over = found.at + found.length * found.times <= cp.now;
            if reached < cp.now || is_over {
                self.resume(place, reached.min(cp.now), common, cp);
            }
            if reached >= cp.now && !stays {
                let found = self.all[place].search.recall(common, cp);
                self.suspend(place, found, stays, common, cp);
            }
        }
    }

    /// All nodes were put further together: what was known of the moment at hand is of another.
    pub fn were_overtaken(&mut self, cp: &mut Checkpoint<'_, Node>) {
        for search in self.all.iter_mut().map(|component| &mut component.search) {
            search.rounds.iter_mut().for_each(|rounds| rounds.stage = Stage::Search);
            search.busy_periods.forget_open();
            search.search(cp);
        }
    }

    /// Whether none may rest from now on, since others may wait in a circle.
    pub fn has_circle(&self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if self.suspended.is_empty() || !cp.now.ps().is_multiple_of(SEEN.ps()) {
            return false;
        }
        cp.call(cp.now + SEEN);
        may_stand_still(cp, self.suspended.others(), OLD)
    }

    /// Wakes all; whether any rested.
    pub fn resume_all(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> bool {
        let is_any = !self.suspended.is_empty();
        (0..self.all.len()).for_each(|place| self.resume(place, cp.now, common, cp));
        is_any
    }

    /// Wakes an component, if it rests: what it repeats is over so often before a moment.
    fn resume(&mut self, place: usize, before: Moment, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let component = &mut self.all[place];
        let Some(found) = component.rest.take() else { return };
        let times = (before.since(found.at).ps() / found.length.ps()).min(found.times);
        self.reached = self.reached.max(found.at + found.length * times);
        self.rows += found.rows * times;
        component.is_proven = true;
        component.search.fast_forward(common, found, times, cp);
        cp.resume(&component.search.nodes);
        self.suspended.set(&component.search.nodes, false);
    }

    /// Whether a node is one that rests.
    pub fn rests_at(&self, node: Option<u32>) -> bool {
        node.is_some_and(|node| self.suspended.has(node))
    }

    /// Looks after those that do not rest, and now and then for others.
    pub fn tend(&mut self, whole: &mut Search, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let events = cp.statistics.events;
        if !self.is_split {
            self.vain += events - self.seen_at;
        }
        self.seen_at = events;
        self.credit(whole);
        for component in self.all.iter_mut().filter(|component| component.rest.is_none()) {
            component.search.tend(&self.suspended, common, cp);
        }
        let patience = PATIENCE_AT_MOST.min(PATIENCE_OF_TWO * wide(whole.nodes.len()).pow(2));
        let is_vain = self.vain > PATIENCE && (whole.misses >= PATIENCE_LOOKS || self.vain > patience);
        // Where all are joined it is looked less and less.
        let every = common.budget.every(WORDS_AN_OUTPUT * self.outputs) << self.alone.min(SELDOM);
        if !self.may_be || !(is_vain || self.is_split) || events < self.told_at + every {
            return;
        }
        let told_before = !self.sent.is_empty();
        let parts = if common.stall_deadline.is_some() { Vec::new() } else { self.parts(cp) };
        self.told_at = events;
        if !told_before {
            return;
        }
        let many = self.all.iter().filter(|component| component.keeps()).count() + parts.len();
        self.alone = if many > 1 || self.is_split { 0 } else { self.alone + 1 };
        if many > 1 && !self.is_split {
            self.is_split = true;
            common.budget.begin_again(events);
            whole.seek(PeriodKind::Layers, cp);
        } else if self.is_split && self.suspended.is_empty() && common.stall_deadline.is_some() {
            // Nothing gains anything anywhere.
            self.join(whole, common, cp);
        }
        if self.is_split {
            self.settle(parts, common, cp);
        }
    }

    /// Whether what all nodes skip together makes up for what was looked at in vain.
    pub fn credit(&mut self, whole: &Search) -> bool {
        self.vain = self.vain.saturating_sub(whole.events_forwarded - self.credited);
        self.credited = whole.events_forwarded;
        self.vain == 0
    }

    /// All nodes are looked at together again, and none rests.
    pub fn join(&mut self, whole: &mut Search, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        self.is_split = false;
        self.all.drain(..).for_each(|component| component.search.end(common));
        self.sent.clear();
        whole.seek(PeriodKind::Packets, cp);
    }

    /// Nodes that have sent to one another since the last time, but for those of components that have shown that they are some.
    fn parts(&mut self, cp: &Checkpoint<'_, Node>) -> Vec<Vec<u32>> {
        let wiring = &cp.node(0).core.routing.wiring;
        let mut kept = vec![false; index(cp.nodes())];
        for node in self.all.iter().filter(|component| component.keeps()).flat_map(|component| &component.search.nodes) {
            kept[index(*node)] = true;
        }
        let mut sets = Sets::new(kept.len());
        let mut sent = Vec::with_capacity(self.sent.len());
        let mut is_active = vec![false; index(cp.nodes())];
        for id in 0..cp.nodes() {
            sets.join(id, cp.cluster(id));
            for (port, at) in PortId::each(&cp.node(id).core.ports) {
                let bytes = at.data_bytes + at.control_bytes;
                let peer = wiring.ports[index(id)][port].peer;
                if self.sent.get(sent.len()).is_some_and(|before| *before != bytes) && !kept[index(id)] && !kept[index(peer)] {
                    sets.join(id, peer);
                    is_active[index(id)] = true;
                }
                sent.push(bytes);
            }
        }
        self.sent = sent;
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for id in (0..cp.nodes()).filter(|id| !kept[index(*id)]) {
            parts.entry(sets.root(id)).or_default().push(id);
        }
        parts.retain(|_, nodes| nodes.iter().any(|id| is_active[index(*id)]));
        parts.into_values().collect()
    }

    /// These are components now, with those that have shown that they are, and those in which nothing was sent, or only in parts of them.
    fn settle(&mut self, mut parts: Vec<Vec<u32>>, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let before = std::mem::take(&mut self.all);
        for mut component in before {
            let is_inside = |node: &u32| component.search.nodes.binary_search(node).is_ok();
            let (inside, others): (Vec<_>, Vec<_>) = parts.iter().partition(|nodes| nodes.iter().any(is_inside));
            let is_all = inside.iter().all(|nodes| nodes.len() == component.search.nodes.len());
            component.unlike = if component.keeps() || is_all { 0 } else { component.unlike + 1 };
            if component.unlike < UNLIKE && inside.iter().all(|nodes| nodes.iter().all(is_inside)) {
                parts = others.into_iter().cloned().collect();
                self.all.push(component);
            } else {
                component.search.end(common);
            }
        }
        for nodes in parts {
            let mut search = Search::of_component(nodes, cp);
            search.tend(&self.suspended, common, cp);
            self.all.push(Component { search, rest: None, is_proven: false, unlike: 0 });
        }
        for component in &mut self.all {
            component.is_proven = false;
        }
    }
}

impl Component {
    /// Whether it is one for sure.
    const fn keeps(&self) -> bool {
        self.rest.is_some() || self.is_proven
    }
}
