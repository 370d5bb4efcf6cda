//! Independent components: sets of nodes that send to each other and to no other node for some time.
//!
//! If the whole network does not repeat, its components may. Nodes belong to one component if a message was
//! sent between them lately (union-find over the outputs). A component with a confirmed period is
//! *suspended*: its events wait while other nodes run. The component resumes when a message reaches it, when
//! the last repetition is over, or when all nodes must be at one moment. On resumption, the component repeats
//! the periods that are over, and the engine runs it alone until it has caught up. A period without traffic
//! across the border sends nothing to other nodes in any repetition. Components are thus a guess, and no
//! result depends on the guess.

use std::collections::BTreeMap;

use xoff_engine::{Checkpoint, Sets};
use xoff_models::network::node::Node;
use xoff_models::parts::ids::PortId;
use xoff_units::{Duration, Moment, index, wide};

use super::budget::WORDS_PER_ENTRY;
use super::level::{LAYERS, PACKETS};
use super::replay::most_rows;
use super::scope::Scope;
use super::search::{Repetition, Search};
use super::shared::Shared;
use super::suspended::Suspended;
use crate::audit::may_stand_still;

/// Events of the whole network without fast-forward before a search for components. With 1,000,000: 1.02
/// times the packet-hops.
const PATIENCE: u64 = 100_000;
/// Events between two collections of rows while components are suspended. 16,000,000 are not better.
const COLLECTION: u64 = 1_000_000;
/// The same for a folded run, whose rows multiply when they are collected.
const COLLECTION_FOLDED: u64 = 250_000;
/// Time between two checks for a ring of pauses among running nodes. The audit of deadlocks checks each
/// millisecond, and no component is suspended then.
const RING_CHECK: Duration = Duration::us(500);

/// A component.
pub struct Component {
    pub search: Search,
    /// Repetition during a suspension.
    suspension: Option<Repetition>,
    /// True if the component was suspended since the last search for components.
    is_proven: bool,
}

impl Component {
    /// True if the component is certain.
    const fn is_certain(&self) -> bool {
        self.suspension.is_some() || self.is_proven
    }
}

/// All components of a network.
pub struct Components {
    /// True if the network may have components.
    is_possible: bool,
    /// True if components are searched, and the whole network for layers and longer periods alone.
    pub is_split: bool,
    pub all: Vec<Component>,
    pub suspended: Suspended,
    /// Number of outputs, bytes sent by each output and slices by each queue of NVLink before the last search for components,
    /// and events before.
    outputs: u64,
    sent: Vec<u64>,
    searched_at: u64,
    /// Events of the whole network without fast-forward, events counted, and fast-forwarded events counted.
    vain: u64,
    counted: u64,
    credited: u64,
    /// Rows written and not collected, and events before the last collection.
    rows: u64,
    collected_at: u64,
    /// Latest moment of a resumed component.
    latest: Moment,
}

impl Components {
    /// Returns a network without components.
    pub fn none(is_possible: bool, cp: &Checkpoint<'_, Node>) -> Self {
        // A switch connects all of its hosts.
        let switches = (0..cp.nodes()).filter(|id| cp.node(*id).forwards).count();
        Self {
            is_possible: is_possible && switches > 1,
            is_split: false,
            all: Vec::new(),
            suspended: Suspended::none(cp.nodes()),
            outputs: cp
                .node(0)
                .core
                .routing
                .wiring
                .ports
                .iter()
                .map(|ports| wide(PortId::each(ports).count()))
                .sum(),
            sent: Vec::new(),
            searched_at: 0,
            vain: 0,
            counted: 0,
            credited: 0,
            rows: 0,
            collected_at: 0,
            latest: Moment::ZERO,
        }
    }

    /// Returns the searches of all components.
    pub fn searches(&mut self) -> impl Iterator<Item = &mut Search> {
        self.all.iter_mut().map(|component| &mut component.search)
    }

    /// True if rows must be collected before more rows are written.
    pub fn is_full(&self, shared: &Shared, cp: &Checkpoint<'_, Node>) -> bool {
        let collection = if shared.folded.is_some() { COLLECTION_FOLDED } else { COLLECTION };
        !self.suspended.is_empty()
            && (self.rows > most_rows(index(cp.nodes()), shared.times())
                || cp.statistics.events > self.collected_at + collection)
    }

    /// Notes the collection of all rows.
    pub const fn collected(&mut self, cp: &Checkpoint<'_, Node>) {
        (self.rows, self.collected_at) = (0, cp.statistics.events);
    }

    /// True if records must stay with the nodes at a moment.
    pub fn keeps_rows(&self, now: Moment) -> bool {
        !self.suspended.is_empty()
            || self.is_apart(now)
            || self.all.iter().any(|component| component.search.keeps_rows())
    }

    /// True if some nodes have passed a moment, and others have not.
    pub fn is_apart(&self, now: Moment) -> bool {
        now < self.latest
    }

    /// Probes a component at the mark of its reference node, and suspends the component if a period is found,
    /// unless all nodes are about to be at one moment (`stays`).
    pub fn probe(&mut self, place: usize, stays: bool, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let found = self.all[place].search.probe(shared, cp);
        self.suspend(place, found, stays, shared, cp);
    }

    /// Suspends each quiet component with a known busy period ahead.
    pub fn recall(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        for place in 0..self.all.len() {
            if self.all[place].suspension.is_none() {
                let found = self.all[place].search.recall(shared, cp);
                self.suspend(place, found, false, shared, cp);
            }
        }
    }

    fn suspend(
        &mut self,
        place: usize,
        found: Option<Repetition>,
        stays: bool,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        let (Component { search, suspension, .. }, Some(found)) = (&mut self.all[place], found) else {
            return;
        };
        if stays || has_old_pauses(&self.suspended, cp) {
            return search.fast_forward(found, 0, shared, cp);
        }
        cp.suspend(&search.scope.nodes);
        cp.call(found.at + found.length * found.times);
        cp.call(cp.now - cp.now % RING_CHECK + RING_CHECK);
        self.suspended.set(&search.scope.nodes, true);
        *suspension = Some(found);
        shared.forwarded.components = shared.forwarded.components.max(self.suspended.components);
    }

    /// Resumes each component that a message has reached, and each component with all repetitions over. The
    /// next busy period may be known.
    pub fn resume_due(&mut self, stays: bool, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        for place in 0..self.all.len() {
            let Component { search, suspension: Some(found), .. } = &self.all[place] else { continue };
            let reached = cp.first_since_suspension(&search.scope.nodes);
            let is_over = found.at + found.length * found.times <= cp.now;
            if reached < cp.now || is_over {
                self.resume(place, reached.min(cp.now), shared, cp);
            }
            if reached >= cp.now && !stays {
                let found = self.all[place].search.recall(shared, cp);
                self.suspend(place, found, stays, shared, cp);
            }
        }
    }

    /// Resumes all components. Returns true if any was suspended.
    pub fn resume_all(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) -> bool {
        let any = !self.suspended.is_empty();
        (0..self.all.len()).for_each(|place| self.resume(place, cp.now, shared, cp));
        any
    }

    /// Resumes a component after the repetitions that are over before a moment.
    fn resume(&mut self, place: usize, before: Moment, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let component = &mut self.all[place];
        let Some(found) = component.suspension.take() else { return };
        let times = (before.since(found.at).ps() / found.length.ps()).min(found.times);
        self.latest = self.latest.max(found.at + found.length * times);
        self.rows += found.rows * times;
        component.is_proven = true;
        component.search.fast_forward(found, times, shared, cp);
        cp.resume(&component.search.scope.nodes);
        self.suspended.set(&component.search.scope.nodes, false);
    }

    /// Notes a repetition of the whole network.
    pub fn overtake(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.searches().for_each(|search| search.overtake(cp));
    }

    /// Checks for a ring of old pauses among running nodes, at multiples of [`RING_CHECK`].
    pub fn check_ring(&self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if self.suspended.is_empty() || !cp.now.ps().is_multiple_of(RING_CHECK.ps()) {
            return false;
        }
        cp.call(cp.now + RING_CHECK);
        has_old_pauses(&self.suspended, cp)
    }

    /// Tends the searches of running components, and searches for components from time to time.
    pub fn tend(&mut self, whole: &mut Search, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let events = cp.statistics.events;
        if !self.is_split {
            self.vain += events - self.counted;
        }
        self.counted = events;
        self.credit(whole);
        for component in self.all.iter_mut().filter(|component| component.suspension.is_none()) {
            component.search.tend(&self.suspended, shared, cp);
        }
        let next = self.searched_at + shared.budget.interval(WORDS_PER_ENTRY * self.outputs);
        if !self.is_possible || !(self.vain > PATIENCE || self.is_split) || events < next {
            return;
        }
        let is_first = self.sent.is_empty();
        let parts = if shared.stall.is_some() { Vec::new() } else { self.find(shared, cp) };
        self.searched_at = events;
        if is_first {
            return;
        }
        let certain = self.all.iter().filter(|component| component.is_certain()).count();
        if certain + parts.len() > 1 && !self.is_split {
            self.is_split = true;
            shared.budget.grant(events);
            whole.set_shortest(LAYERS, cp);
        } else if self.is_split && self.suspended.is_empty() && shared.stall.is_some() {
            self.join(whole, shared, cp);
        }
        if self.is_split {
            self.settle(parts, shared, cp);
        }
    }

    /// Counts the fast-forward of the whole network. Returns true if it makes up for the events without.
    pub const fn credit(&mut self, whole: &Search) -> bool {
        self.vain = self.vain.saturating_sub(whole.forwarded - self.credited);
        self.credited = whole.forwarded;
        self.vain == 0
    }

    /// Returns to the whole network.
    pub fn join(&mut self, whole: &mut Search, shared: &mut Shared, cp: &Checkpoint<'_, Node>) {
        self.is_split = false;
        self.all.drain(..).for_each(|component| component.search.end(shared));
        self.sent.clear();
        whole.set_shortest(PACKETS, cp);
    }

    /// Returns the sets of simulated nodes that sent to each other since the last search, without certain components.
    fn find(&mut self, shared: &Shared, cp: &Checkpoint<'_, Node>) -> Vec<Vec<u32>> {
        let wiring = &cp.node(0).core.routing.wiring;
        let mut is_kept = vec![false; index(cp.nodes())];
        for node in self
            .all
            .iter()
            .filter(|component| component.is_certain())
            .flat_map(|component| &component.search.scope.nodes)
        {
            is_kept[index(*node)] = true;
        }
        let (mut sets, mut is_active) = (Sets::new(is_kept.len()), vec![false; is_kept.len()]);
        let mut sent = Vec::with_capacity(self.sent.len());
        for id in 0..cp.nodes() {
            sets.join(id, cp.cluster(id));
            let node = cp.node(id);
            let ports = PortId::each(&node.core.ports)
                .map(|(port, at)| (wiring.ports[index(id)][port].peer, at.data_bytes + at.control_bytes));
            let slices = node.endpoint.iter().filter_map(|endpoint| endpoint.nvlink.as_ref());
            for (peer, sent_there) in ports.chain(slices.flat_map(|nvlink| nvlink.sent())) {
                if self.sent.get(sent.len()).is_some_and(|before| *before != sent_there)
                    && !is_kept[index(id)]
                    && !is_kept[index(peer)]
                {
                    sets.join(id, peer);
                    is_active[index(id)] = true;
                }
                sent.push(sent_there);
            }
        }
        self.sent = sent;
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let is_simulated = |id: u32| shared.folded.as_ref().is_none_or(|group| group.is_representative(id));
        for id in (0..cp.nodes()).filter(|id| !is_kept[index(*id)] && is_simulated(*id)) {
            parts.entry(sets.root(id)).or_default().push(id);
        }
        parts.retain(|_, nodes| nodes.iter().any(|id| is_active[index(*id)]));
        parts.into_values().collect()
    }

    /// Replaces the components by these sets, except certain components and components with traffic in parts
    /// only.
    fn settle(&mut self, mut parts: Vec<Vec<u32>>, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        for component in std::mem::take(&mut self.all) {
            let scope = &component.search.scope;
            let is_inside = |node: &u32| scope.place(*node).is_some();
            let (inside, others): (Vec<_>, Vec<_>) =
                parts.iter().partition(|nodes| nodes.iter().any(is_inside));
            let is_all = inside.iter().all(|nodes| nodes.len() == scope.nodes.len());
            let is_closed = inside.iter().all(|nodes| nodes.iter().all(is_inside));
            if (component.is_certain() || is_all) && is_closed {
                parts = others.into_iter().cloned().collect();
                self.all.push(component);
            } else {
                component.search.end(shared);
            }
        }
        for nodes in parts {
            let mut search = Search::of(Scope::of(nodes, cp), cp);
            search.tend(&self.suspended, shared, cp);
            self.all.push(Component { search, suspension: None, is_proven: false });
        }
        self.all.iter_mut().for_each(|component| component.is_proven = false);
    }
}

/// True if running nodes may wait for each other in a ring, with pauses of four fifths of [`RING_CHECK`].
fn has_old_pauses(suspended: &Suspended, cp: &Checkpoint<'_, Node>) -> bool {
    may_stand_still(cp, suspended.running(), RING_CHECK / 5 * 4)
}
