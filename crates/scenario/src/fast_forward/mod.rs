//! Fast-forward: repeats recurring stretches of a run without simulating them.
//!
//! If the state of a deterministic simulation recurs, relative to the moment and to the progress of flows and
//! links, the events that follow recur as well. Fast-forward repeats such a period as often as fits before
//! the next change: a flow or message ends, an event comes from outside, or the run ends. Results are exact:
//! tables, summary, audits and fingerprint equal those of a full run
//! (`tests/validation/test_fast_forward.py`).
//!
//! - A [`scope`] is a set of nodes: the whole network, or an independent component ([`components`]).
//! - A [`level`] is the search for one kind of period in a scope: packets, steps, layers or iterations.
//! - A [`detector`] takes digests of the state, and returns a candidate. [`search`] confirms candidates.
//! - A [`replay`] is the effect of a confirmed period on the state. [`busy_periods`] replays recorded
//!   stretches that do not recur in sequence.
//! - The [`budget`] limits the cost of detection, in words and events: the same run is fast-forwarded in the
//!   same way on any machine.

mod blockers;
mod budget;
mod busy_periods;
mod components;
mod detector;
mod folded;
mod level;
mod offsets;
mod period;
mod plan;
mod replay;
mod scope;
mod search;
mod shared;
mod suspended;

use xoff_document::Scenario;
use xoff_engine::Checkpoint;
use xoff_models::hosts::transport::Protocol;
use xoff_models::network::Settings;
use xoff_models::network::node::Node;
use xoff_models::records::delays::Traced;
use xoff_units::Moment;

use self::components::Components;
use self::scope::Scope;
use self::search::Search;
use self::shared::Shared;
pub use self::shared::{Forwarded, StallDeadline};
pub use self::suspended::Suspended;

/// The reason for a moment with all nodes and none suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// A probe of the whole network, at this mark of this reference node.
    Probe(u32, u64),
    /// Collection of rows.
    Rows,
    /// A possible ring of pauses.
    Ring,
}

/// Fast-forward of a run.
pub struct FastForward {
    is_enabled: bool,
    /// True if the state of flows is in Python, which excludes fast-forward.
    is_in_python: bool,
    /// True if no link fails and all senders wait for acknowledgements: then components and busy periods are
    /// possible.
    is_closed: bool,
    shared: Shared,
    whole: Search,
    components: Components,
    /// The next moment with all nodes, and the reason.
    sync: Option<(Moment, Sync)>,
    /// True if rows are about to be collected.
    is_collecting: bool,
    /// Nodes with a requested mark.
    requested: Vec<u32>,
}

impl FastForward {
    /// Returns the fast-forward of a run up to a moment. Records of every event, as of delays, and congestion
    /// controls in Python exclude fast-forward.
    pub fn of(
        scenario: &Scenario,
        settings: &Settings,
        until: Moment,
        is_enabled: bool,
        cp: &Checkpoint<'_, Node>,
    ) -> Self {
        let probe = &scenario.probe;
        let is_closed =
            settings.failures.is_empty() && settings.protocols().iter().all(Protocol::acknowledges);
        let folded = settings.symmetric.as_ref().filter(|of| of.is_folded).map(|of| of.group.clone());
        let is_in_python = is_enabled && !scenario.host.python_controls().is_empty();
        Self {
            is_in_python,
            is_enabled: is_enabled && !is_in_python && probe.delays == Traced::None && !probe.replay,
            is_closed,
            whole: Search::of(Scope::whole(cp, folded.as_deref()), cp),
            shared: Shared::new(until, folded),
            components: Components::none(is_closed, cp),
            sync: None,
            is_collecting: false,
            requested: Vec::new(),
        }
    }

    /// Returns the result, and the blockers.
    pub fn end(mut self) -> (Forwarded, Vec<&'static str>) {
        self.whole.report_blockers(&mut self.shared);
        self.components.searches().for_each(|search| search.report_blockers(&mut self.shared));
        if self.is_in_python {
            return (self.shared.forwarded, vec!["python"]);
        }
        (self.shared.forwarded, self.shared.blockers.1)
    }

    /// Returns the fast-forwarded events so far.
    pub const fn events(&self) -> u64 {
        self.shared.forwarded.events
    }

    /// Sets the moment of the next external event unknown to nodes.
    pub fn expect(&mut self, external: Option<Moment>) {
        if std::mem::replace(&mut self.shared.external, external) != external {
            self.whole.retry();
        }
    }

    /// Sets the deadline of a stall.
    pub fn set_stall_deadline(&mut self, stall: Option<StallDeadline>, cp: &mut Checkpoint<'_, Node>) {
        let begins = stall.is_some() && self.shared.stall.is_none();
        self.shared.stall = stall;
        if begins && self.is_enabled {
            self.whole.hurry(cp);
            self.request(cp);
        }
    }

    /// Returns the suspended nodes.
    pub const fn suspended(&self) -> &Suspended {
        &self.components.suspended
    }

    /// Probes at a checkpoint that reference nodes have requested. Returns true if the checkpoint is of no
    /// interest to others.
    pub fn on_requested_checkpoint(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        let Some(by) = cp.called.take() else {
            return self.components.is_full(&self.shared, cp) && self.gather(cp);
        };
        let reason = self.sync.filter(|sync| sync.0 == cp.now).map(|sync| sync.1);
        self.components.resume_due(self.sync.is_some(), &mut self.shared, cp);
        if self.sync.is_none() && self.components.check_ring(cp) {
            self.sync_for(Sync::Ring, cp);
        }
        self.probe(&by, reason, cp);
        if reason.is_some() {
            self.sync = None;
        }
        self.is_collecting = reason == Some(Sync::Rows);
        if self.is_collecting {
            self.whole.release();
            self.components.searches().for_each(Search::release);
        }
        self.request(cp);
        !self.is_collecting
    }

    /// Probes the scopes with one of these reference nodes and marks. Other requests of a node may be a
    /// little later.
    fn probe(&mut self, by: &[(u32, u64)], reason: Option<Sync>, cp: &mut Checkpoint<'_, Node>) {
        let is_due = |search: &Search| search.request().is_some_and(|request| by.contains(&request));
        for place in 0..self.components.all.len() {
            if is_due(&self.components.all[place].search) {
                self.components.probe(place, self.sync.is_some(), &mut self.shared, cp);
            }
        }
        let probe = self.whole.request().map(|(node, mark)| Sync::Probe(node, mark));
        let is_synced = reason.is_some() && reason == probe;
        if is_synced || is_due(&self.whole) && !probe.is_some_and(|probe| self.sync_for(probe, cp)) {
            if let Some(found) = self.whole.probe(&mut self.shared, cp) {
                let times = found.times;
                self.whole.fast_forward(found, times, &mut self.shared, cp);
                self.components.overtake(cp);
            }
            if self.components.is_split && self.components.credit(&self.whole) {
                self.components.join(&mut self.whole, &mut self.shared, cp);
            }
        }
    }

    /// Resumes all components for a collection of rows. Returns true if any was suspended: the collection
    /// follows.
    pub fn gather(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        self.sync_for(Sync::Rows, cp)
    }

    fn sync_for(&mut self, reason: Sync, cp: &mut Checkpoint<'_, Node>) -> bool {
        let any = self.components.resume_all(&mut self.shared, cp);
        if any {
            cp.call(cp.now);
            self.sync = Some((cp.now, reason));
            self.request(cp);
        }
        any
    }

    /// Tends all searches at a checkpoint. Returns true if records must stay with the nodes.
    pub fn tend(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if !self.is_enabled {
            return false;
        }
        if !self.whole.reference().is_some_and(|node| self.components.suspended.has(node)) {
            self.whole.tend(&self.components.suspended, &mut self.shared, cp);
        }
        self.components.tend(&mut self.whole, &mut self.shared, cp);
        if !std::mem::take(&mut self.is_collecting) {
            self.recall(cp);
        }
        self.request(cp);
        let keeps_rows = self.whole.keeps_rows() || self.components.keeps_rows(cp.now);
        if !keeps_rows {
            self.components.collected(cp);
        }
        keeps_rows
    }

    /// Replays known busy periods of quiet scopes, if all nodes are at one moment.
    fn recall(&mut self, cp: &mut Checkpoint<'_, Node>) {
        if !self.is_closed || self.components.is_apart(cp.now) {
            return;
        }
        while self.components.suspended.is_empty()
            && let Some(found) = self.whole.recall(&mut self.shared, cp)
        {
            self.whole.fast_forward(found, 1, &mut self.shared, cp);
            self.components.overtake(cp);
        }
        self.components.recall(&mut self.shared, cp);
    }

    /// Requests a checkpoint from each reference node at its next mark. A node may serve the whole network
    /// and a component.
    fn request(&mut self, cp: &mut Checkpoint<'_, Node>) {
        let whole = self.whole.request();
        self.shared.watched = whole.filter(|_| self.components.is_split);
        let requests: Vec<_> = whole
            .into_iter()
            .chain(self.components.searches().filter_map(|search| search.request()))
            .collect();
        for node in std::mem::take(&mut self.requested) {
            cp.node_mut(node).marks = [u64::MAX; 2];
        }
        for (id, mark) in requests {
            let node = cp.node_mut(id);
            // A past mark was requested before.
            if mark > node.counts.data_hops {
                node.marks = [node.marks[0].min(mark), node.marks[0].max(mark)];
            }
            self.requested.push(id);
        }
    }
}
