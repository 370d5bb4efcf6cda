//! Skips what repeats itself.
//!
//! A deterministic simulation whose snapshot, relative to now and to how far each flow and link is, is the same at two moments does
//! the same again. It is put further by as many such periods as fit before something else happens: a flow or a message ends, something
//! comes from outside, the run is over. Nothing is approximated: tables, summary, audits and fingerprint are those of a run that
//! went through all of it (`tests/validation/test_fast_forward.py`).
//!
//! A period is looked for ([`search`]) at moments of one node, the *reference*: each time that it has started so many data packets. What is
//! found by a hash is compared word by word a period later. A period after that, with all rows of it still at hand, it is repeated:
//! three moments show by how much each number grows from one period to the next, and the arrivals of one period by how much from one to
//! the next. What looking costs is bounded by what is simulated meanwhile, in numbers of words and events and not by the clock, so that
//! what is forwarded is the same on any machine.
//!
//! It is looked for among all nodes, and, where that finds nothing, in each part of the network that nothing leaves ([`components`]).

mod budget;
mod busy_periods;
mod components;
mod levels;
mod longer;
mod offsets;
mod period;
mod repeat;
mod search;

use xoff_engine::Checkpoint;
use xoff_models::delays::Traced;
use xoff_models::network::Settings;
use xoff_models::node::Node;
use xoff_models::transport::Protocol;
use xoff_units::Moment;

use self::budget::Budget;
use self::components::Components;
pub use self::components::Suspended;
use self::search::Search;
use crate::collect::Collector;
use crate::document::Scenario;

/// When a run in which flows gain nothing is given up.
#[derive(Debug, Clone, Copy)]
pub struct StallDeadline {
    /// Packets that flows have gained.
    pub gained: u64,
    /// If they are as many at a moment beyond this one, or after so many events, somebody may give it up.
    pub at: Moment,
    pub events: u64,
}

impl StallDeadline {
    /// Whether nothing was gained since.
    fn nears(&self, cp: &Checkpoint<'_, Node>) -> bool {
        Collector::gains(cp).packets == self.gained && cp.now < self.at
    }

    /// About how many events there are until then.
    fn left(&self, now: Moment, events: u64) -> u64 {
        let times = self.at.since(now).ps() / now.ps().max(1) + 1;
        self.events.saturating_sub(events).min(events.saturating_mul(times))
    }
}

/// What was forwarded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forwarded {
    /// Data packets that would have been started on links, by what their periods go across.
    pub packet_hops: [u64; 5],
    /// Of these, those of components by themselves; and the most components that rested at once.
    pub packet_hops_in_components: u64,
    pub components: u64,
    /// Events.
    pub events: u64,
    /// Periods that were repeated, each as often as possible at once; and busy periods that took place again.
    pub periods: u64,
    pub busy_periods: u64,
}

/// What all searches share.
pub struct Common {
    until: Moment,
    /// When something comes from outside next of which nodes do not know.
    elsewhere: Option<Moment>,
    /// When the run is given up, if flows have gained nothing for some time.
    stall_deadline: Option<StallDeadline>,
    budget: Budget,
    /// Of the flows that were looked at most in vain: how often, and the parts that were never like before.
    vain: (u64, Vec<&'static str>),
    /// The reference of all nodes, and what it will have started when all of them are looked at next.
    watched: Option<(u32, u64)>,
    /// Words of all that was kept of busy periods.
    kept: u64,
    forwarded: Forwarded,
}

/// Why all nodes are to be at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// To look for what all of them repeat, for which this reference asked when it had started so much.
    Look(u32, u64),
    /// For everybody else.
    Rows,
    /// To go on from there with none at rest.
    Circle,
}

/// Looks for what repeats itself, and skips it.
pub struct FastForward {
    skips: bool,
    /// Nothing is looked after from outside, and what was lost for ever is known to senders.
    is_closed: bool,
    common: Common,
    whole: Search,
    components: Components,
    /// Where those that are behind come to, and why.
    sync: Option<(Moment, Sync)>,
    /// What was written down is about to be taken.
    is_taken: bool,
    /// Those that were asked.
    references: Vec<u32>,
}

impl FastForward {
    /// For a run up to a moment, if anything is to be forwarded; nothing is where what is written down depends on each moment.
    pub fn of(scenario: &Scenario, settings: &Settings, until: Moment, skips: bool, cp: &Checkpoint<'_, Node>) -> Self {
        let probe = &scenario.probe;
        let is_followed = probe.delays != Traced::None || probe.replay;
        // What fails is looked after from outside; and what is lost for ever ends a flow when that is known.
        let is_closed = settings.failures.is_empty() && settings.protocols().iter().all(Protocol::acknowledges);
        Self {
            skips: skips && !is_followed,
            is_closed,
            common: Common {
                until,
                elsewhere: None,
                stall_deadline: None,
                budget: Budget::new(),
                vain: (0, Vec::new()),
                watched: None,
                kept: 0,
                forwarded: Forwarded::default(),
            },
            whole: Search::of_all(cp),
            components: Components::new(is_closed, probe.packets, cp),
            sync: None,
            is_taken: false,
            references: Vec::new(),
        }
    }

    /// What it came to, and the parts that kept what was looked at most from repeating itself.
    pub fn end(mut self) -> (Forwarded, Vec<&'static str>) {
        self.whole.blame(&mut self.common);
        self.components.blame(&mut self.common);
        (self.common.forwarded, self.common.vain.1)
    }

    /// Events that were forwarded up to now.
    pub const fn events(&self) -> u64 {
        self.common.forwarded.events
    }

    /// Says when something happens next that no node knows of: what was found before the last time is found anew.
    pub fn expect(&mut self, elsewhere: Option<Moment>) {
        if std::mem::replace(&mut self.common.elsewhere, elsewhere) != elsewhere {
            self.whole.renew();
        }
    }

    /// Says when the run will be given up if flows gain as little as they have.
    pub fn set_stall_deadline(&mut self, stall_deadline: Option<StallDeadline>, cp: &mut Checkpoint<'_, Node>) {
        let begins = stall_deadline.is_some() && self.common.stall_deadline.is_none();
        self.common.stall_deadline = stall_deadline;
        if begins && self.skips {
            self.whole.hurry(cp);
            self.ask(cp);
        }
    }

    /// Nodes that are behind and gain what others do not see.
    pub fn suspended(&self) -> &Suspended {
        &self.components.suspended
    }

    /// Looks, if somebody asked for this checkpoint; then nobody else has anything to do there, nor where those that are behind have to come
    /// first.
    pub fn on_requested_checkpoint(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        let Some(by) = cp.called.take() else { return self.components.is_full(cp) && self.gather(cp) };
        let gathered = self.sync.filter(|sync| sync.0 == cp.now).map(|sync| sync.1);
        self.components.resume_due(self.sync.is_some(), &mut self.common, cp);
        if self.sync.is_none() && self.components.has_circle(cp) {
            self.gather_for(Sync::Circle, cp);
        }
        self.look(&by, gathered, cp);
        if gathered.is_some() {
            self.sync = None;
        }
        self.is_taken = gathered == Some(Sync::Rows);
        if self.is_taken {
            self.whole.let_go();
            self.components.let_go();
        }
        self.ask(cp);
        !self.is_taken
    }

    /// Looks where references asked for it. Another who has the same reference may have asked for a moment shortly after.
    fn look(&mut self, by: &[(u32, u64)], gathered: Option<Sync>, cp: &mut Checkpoint<'_, Node>) {
        let asked = |search: &Search| search.reference.is_some_and(|reference| by.contains(&(reference, search.asks)));
        for place in 0..self.components.all.len() {
            if asked(&self.components.all[place].search) {
                self.components.look(place, self.sync.is_some(), &mut self.common, cp);
            }
        }
        let whole = self.whole.reference.map(|reference| Sync::Look(reference, self.whole.asks));
        let are_all_here = gathered.is_some() && gathered == whole;
        if are_all_here || asked(&self.whole) && !whole.is_some_and(|look| self.gather_for(look, cp)) {
            if let Some(found) = self.whole.look(&mut self.common, cp) {
                let times = found.times;
                self.whole.fast_forward(&mut self.common, found, times, cp);
                self.components.were_overtaken(cp);
            }
            if self.components.is_split && self.components.credit(&self.whole) {
                self.components.join(&mut self.whole, &mut self.common, cp);
            }
        }
    }

    /// Lets those that are behind come here first; whether there are any.
    pub fn gather(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        self.gather_for(Sync::Rows, cp)
    }

    fn gather_for(&mut self, why: Sync, cp: &mut Checkpoint<'_, Node>) -> bool {
        let gathers = self.components.resume_all(&mut self.common, cp);
        if gathers {
            cp.call(cp.now);
            self.sync = Some((cp.now, why));
            self.ask(cp);
        }
        gathers
    }

    /// Whether what nodes wrote down has to stay with them, at a checkpoint that nobody asked for.
    pub fn holds(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if !self.skips {
            return false;
        }
        if !self.components.rests_at(self.whole.reference) {
            self.whole.tend(&self.components.suspended, &mut self.common, cp);
        }
        self.components.tend(&mut self.whole, &mut self.common, cp);
        if !std::mem::take(&mut self.is_taken) {
            self.recall(cp);
        }
        self.ask(cp);
        let holds = self.whole.holds() || self.components.holds(cp.now);
        if !holds {
            self.components.was_taken(cp);
        }
        holds
    }

    /// Where all nodes are quiet, or an component is, what comes next may have been seen before; not while some have come beyond this moment.
    fn recall(&mut self, cp: &mut Checkpoint<'_, Node>) {
        if !self.is_closed || self.components.are_apart(cp.now) {
            return;
        }
        while self.components.suspended.is_empty()
            && let Some(found) = self.whole.recall(&mut self.common, cp)
        {
            self.whole.fast_forward(&mut self.common, found, 1, cp);
            self.components.were_overtaken(cp);
        }
        self.components.recall(&mut self.common, cp);
    }

    /// Tells the references when somebody wants to look: a node may reference all nodes and an component.
    fn ask(&mut self, cp: &mut Checkpoint<'_, Node>) {
        let asks = std::iter::once(&self.whole).chain(self.components.all.iter().map(|component| &component.search));
        let asks: Vec<_> = asks.filter_map(|search| Some((search.reference?, search.asks))).collect();
        self.common.watched =
            self.components.is_split.then(|| self.whole.reference.map(|reference| (reference, self.whole.asks))).flatten();
        for reference in std::mem::take(&mut self.references) {
            cp.node_mut(reference).marks = [u64::MAX; 2];
        }
        for (reference, at) in asks {
            let node = cp.node_mut(reference);
            // Where it is past, it was called for.
            if at > node.counts.data_hops {
                node.marks = [node.marks[0].min(at), node.marks[0].max(at)];
            }
            self.references.push(reference);
        }
    }
}
