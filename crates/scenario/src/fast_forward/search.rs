//! Looks for what repeats itself among some nodes: all of them, or those of a part that nothing leaves.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use xoff_engine::Checkpoint;
use xoff_engine::state::{PeriodKind, Walk};
use xoff_models::endpoint::UnderWay;
use xoff_models::ids::PortId;
use xoff_models::node::Node;
use xoff_units::{Moment, index, wide};

use super::Common;
use super::budget::{Account, EVENTS_A_PACKET, Part};
use super::busy_periods::BusyPeriods;
use super::components::Suspended;
use super::levels::{LongLevel, STEPS};
use super::offsets::NetworkOffsets;
use super::period::{Begun, Found, Period, Repeated, Stage};

/// So many looks are next to one another in the first round of looking.
const BABY_STEPS: u64 = 16;
/// What was never like before at so many looks keeps all from repeating itself.
const NEVER: u64 = 32;
/// Flows that began or ended before anything was repeated so often keep all from it: it is looked half as often each time.
const BEGUN: u64 = 12;
/// The most looks at a reference that starts nothing before another one is looked for.
const IDLE: u32 = 1 << 10;
/// So many packets the reference goes on when flows have begun or ended.
pub const CALM: u64 = 8;
/// To see what a flow under way has left takes as long as so many words; so does a node.
const WORDS_A_FLOW: u64 = 20;
/// Fewer packets than this that a flow has left are not worth looking.
const LEAST: u32 = 64;

/// How far the reference goes from one look to the next. Whatever the length of a period, two of `2·B` looks are a multiple of it apart if
/// it is below `B·B` packets: after `B` next to one another come as many that are `B` apart. Each round has twice as many.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// The least that is possible.
    base: u64,
    babies: u64,
    taken: u64,
}

impl Default for Steps {
    fn default() -> Self {
        Self::of(1)
    }
}

impl Steps {
    const fn of(base: u64) -> Self {
        Self { base, babies: BABY_STEPS, taken: 0 }
    }

    /// Packets to the next look.
    const fn next(&mut self) -> u64 {
        self.taken += 1;
        if self.taken == 2 * self.babies {
            (self.babies, self.taken) = (2 * self.babies, 0);
        }
        if self.taken < self.babies { self.base } else { self.base * self.babies }
    }

    /// After a wait of so many packets the round begins anew.
    const fn again(&mut self, wait: u64) -> u64 {
        self.taken = 0;
        (wait / self.base + 1) * self.base
    }
}

/// Looks for what repeats itself among some nodes.
pub struct Search {
    /// In their order.
    pub nodes: Vec<u32>,
    /// Outputs of these to others, and of others to these.
    pub border: Vec<(u32, PortId)>,
    /// They are all.
    pub is_whole: bool,
    /// What is looked for, and all that is longer.
    pub shortest: PeriodKind,
    pub stage: Stage,
    pub reference: Option<u32>,
    /// What the reference had started when it was last looked at without being asked to.
    started: u64,
    /// How often it was looked at since it started anything, and how often that may be before another one is looked for.
    idle: u32,
    idle_at_most: u32,
    /// What it had started at the moment that it was asked for last: somebody looks a little later.
    pub mark: u64,
    /// What it is to have started when somebody looks next.
    pub asks: u64,
    steps: Steps,
    looks: u64,
    /// What repeats itself among these flows was found, or cannot be repeated.
    pub is_done: bool,
    /// Situations: when, and how many data packets the reference had started.
    seen: FxHashMap<u64, (Moment, u64)>,
    pub epoch: u64,
    pub outside: Moment,
    /// What parts were like at these looks.
    parts: BTreeMap<&'static str, FxHashSet<u64>>,
    /// Packets to wait when flows have begun or ended.
    wait: u64,
    pub account: Account,
    /// What repeats itself across ends of messages, and of operations.
    pub rounds: [LongLevel; 3],
    /// What was seen from one quiet moment to the next.
    pub busy_periods: BusyPeriods,
    /// The most packets that the reference went on between a moment that was asked for and the look.
    pub lag: u64,
    pub events_forwarded: u64,
    /// Looks within messages since something was repeated, and how often flows began or ended before anything was.
    pub misses: u64,
    pub begun: u64,
}

impl Search {
    /// Among all nodes.
    pub fn of_all(cp: &Checkpoint<'_, Node>) -> Self {
        Self { is_whole: true, ..Self::of_component((0..cp.nodes()).collect(), cp) }
    }

    /// Among these nodes, in their order.
    pub fn of_component(nodes: Vec<u32>, cp: &Checkpoint<'_, Node>) -> Self {
        let wiring = &cp.node(0).core.routing.wiring;
        let is_inside = |node: u32| nodes.binary_search(&node).is_ok();
        let outputs = nodes.iter().flat_map(|node| PortId::each(&wiring.ports[index(*node)]).map(move |(port, end)| (*node, port, end)));
        let kind = outputs.filter(|(.., end)| !is_inside(end.peer));
        let border = kind.flat_map(|(node, port, end)| [(node, port), (end.peer, end.peer_port)]).collect();
        Self {
            border,
            is_whole: false,
            shortest: PeriodKind::Packets,
            stage: Stage::Search,
            reference: None,
            started: 0,
            idle: 0,
            idle_at_most: 1,
            mark: 0,
            asks: u64::MAX,
            steps: Steps::default(),
            looks: 0,
            is_done: false,
            seen: FxHashMap::default(),
            epoch: 0,
            outside: Moment::ZERO,
            parts: BTreeMap::new(),
            wait: CALM,
            account: Account::from(cp.events_of(&nodes)),
            rounds: [PeriodKind::Steps, PeriodKind::Layers, PeriodKind::Iterations].map(LongLevel::kind),
            busy_periods: BusyPeriods::default(),
            lag: 0,
            events_forwarded: 0,
            misses: 0,
            begun: 0,
            nodes,
        }
    }

    /// Whether what nodes wrote down has to stay with them.
    pub fn holds(&self) -> bool {
        self.busy_periods.holds()
            || matches!(self.stage, Stage::Twice(..))
            || self.rounds.iter().any(|rounds| matches!(rounds.stage, Stage::Twice(..)))
    }

    /// It need not: what was noted is noted anew when what they wrote was taken.
    pub fn let_go(&mut self) {
        self.busy_periods.let_go();
        self.stage.let_go();
        self.rounds.iter_mut().for_each(|rounds| rounds.stage.let_go());
    }

    /// Looks for this from now on, and all that is longer.
    pub fn seek(&mut self, shortest: PeriodKind, cp: &mut Checkpoint<'_, Node>) {
        self.shortest = shortest;
        self.rounds[STEPS].forget();
        self.search(cp);
    }

    /// What was found before is found anew.
    pub const fn renew(&mut self) {
        self.is_done = false;
    }

    /// There is more to be gained from looking than there was.
    pub fn hurry(&mut self, cp: &mut Checkpoint<'_, Node>) {
        if matches!(self.stage, Stage::Search) {
            (self.steps, self.is_done) = (Steps::default(), false);
            self.search(cp);
        }
    }

    /// Looks whether there is still a reference, and whether what was to be repeated still can be.
    pub fn tend(&mut self, suspended: &Suspended, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        // Going through all nodes for it is not cheap.
        let has_news = self.holds() && self.has_news(cp);
        for rounds in &mut self.rounds {
            if rounds.stage.is_late(has_news, cp.now) {
                rounds.stage = Stage::Search;
            }
        }
        if self.stage.is_late(has_news, cp.now) {
            self.search(cp);
        }
        let started = self.started_by_reference(cp);
        self.idle = if started == self.started { self.idle + 1 } else { 0 };
        let is_searching = matches!(self.stage, Stage::Search) && self.rounds.iter().all(|rounds| matches!(rounds.stage, Stage::Search));
        let is_lost = is_searching && (self.reference.is_none() || self.idle >= self.idle_at_most);
        if is_lost && self.lacks(common, WORDS_A_FLOW * wide(self.nodes.len()), Part::All, cp) == 0 {
            self.choose(suspended, common, cp);
        }
        self.started = self.started_by_reference(cp);
    }

    /// Data packets that the reference has started.
    pub fn started_by_reference(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.reference.map_or(0, |reference| cp.node(reference).counts.data_hops)
    }

    /// The node that has the most left to send, and how many words it takes to find it; not one that rests, which will go on beyond what
    /// it is asked for.
    fn busiest(&self, suspended: &Suspended, cp: &Checkpoint<'_, Node>) -> (Option<u32>, u64) {
        let (mut most, mut busiest, mut seen) = (0, None, wide(self.nodes.len()));
        for id in self.nodes.iter().copied().filter(|id| !suspended.has(*id)) {
            for UnderWay { alike, sent, message, .. } in cp.node(id).endpoint.iter().flat_map(|e| e.under_way()) {
                // Messages that are to come are taken to be like the one at hand.
                let to_come = message.map_or(0, |(packets, more)| u64::from(packets) * u64::from(more));
                let left = u64::from(alike.saturating_sub(sent)) + to_come;
                if left > most {
                    (most, busiest) = (left, Some(id));
                }
                seen += 1;
            }
        }
        (busiest, seen * WORDS_A_FLOW)
    }

    /// Makes the node the reference that has the most left to send.
    fn choose(&mut self, suspended: &Suspended, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let (busiest, words) = self.busiest(suspended, cp);
        self.pay(common, words);
        // While all compute it stays. If it does, it is not looked for another as soon.
        let next = busiest.or(self.reference);
        let before = std::mem::replace(&mut self.reference, next);
        (self.idle, self.idle_at_most) = (0, if before == next { (2 * self.idle_at_most).min(IDLE) } else { 1 });
        if before != next {
            self.rounds.iter_mut().for_each(LongLevel::forget);
        }
        self.seen.clear();
        self.mark = self.started_by_reference(cp);
        if before != next {
            self.account.led_from(cp.statistics.events + common.forwarded.events, self.mark);
        }
        self.rounds[STEPS].forget();
        self.follow_rounds(common, cp);
        self.arm(cp, self.steps.base);
    }

    /// Asks the reference for the first moment to come that is a multiple of so many packets after the last; says which multiple.
    pub fn arm(&mut self, cp: &mut Checkpoint<'_, Node>, packets: u64) -> u64 {
        let mut times = 1 + (self.started_by_reference(cp) - self.mark) / packets;
        while self.rounds.iter().any(|rounds| rounds.is_near(self.mark + times * packets, self.lag)) {
            times += 1;
        }
        self.mark += times * packets;
        self.ask(cp);
        times
    }

    /// Asks the reference for whatever comes first.
    fn ask(&mut self, cp: &Checkpoint<'_, Node>) {
        let started = self.started_by_reference(cp);
        let mark = if self.shortest == PeriodKind::Packets { self.mark } else { u64::MAX };
        self.asks = self.rounds.iter().fold(mark, |first, rounds| first.min(rounds.next(started)));
    }

    pub fn search(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.stage = Stage::Search;
        self.seen.clear();
        self.mark = self.started_by_reference(cp);
        self.arm(cp, self.steps.base);
    }

    /// At a moment that the reference asked for.
    pub fn look(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        let (started, at) = (self.started_by_reference(cp), self.asks);
        self.lag = self.lag.max(started.saturating_sub(at));
        // What is longer comes first: what is within it begins anew then.
        if let Some(of) = (0..self.rounds.len()).rev().find(|of| self.rounds[*of].mark == at) {
            let found = self.look_at_round(common, of, cp);
            if self.mark <= self.started_by_reference(cp) {
                self.search(cp);
            } else {
                self.ask(cp);
            }
            return found;
        }
        match std::mem::replace(&mut self.stage, Stage::Search) {
            Stage::Search => self.look_for(common, cp),
            Stage::Once(period) => self.confirm(common, period, cp),
            Stage::Twice(period, begun) => return self.repeat(common, period, begun, cp),
        }
        None
    }

    fn look_for(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        if let Some(wait) = self.waits(common, cp) {
            let packets = self.steps.again(wait);
            self.arm(cp, packets);
            return;
        }
        let reached = NetworkOffsets::of(cp, &self.nodes, PeriodKind::Packets);
        // Many looks end here, and would never be earned if they cost nothing.
        self.account.cost_at_least(reached.cost());
        self.pay(common, reached.cost());
        if reached.epoch != self.epoch {
            return self.begin(common, reached.epoch, cp);
        }
        // What may be over soon is not looked at, nor what was looked at enough. Where nothing is gained nothing is over.
        if self.is_done || (reached.least < LEAST && !common.stall_deadline.is_some_and(|stall_deadline| stall_deadline.nears(cp))) {
            self.arm(cp, u64::from(LEAST));
            return;
        }
        if self.looks == 0 && self.wait > CALM {
            // The next moment that can be asked for tells how far they are apart at least.
            self.wait = CALM;
            self.steps = Steps::of(self.arm(cp, 1));
            return;
        }
        // What was simulated and what is left are what the run takes if nothing repeats itself.
        let events = cp.statistics.events + EVENTS_A_PACKET * reached.left + common.forwarded.events / 8;
        common.budget.allow(events);
        let mut walk = Walk::digest(cp.now, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let snapshot = walk.snapshot();
        self.pay_look(common, snapshot.count);
        if let Some((before, hops_before)) = self.seen.insert(snapshot.digest(), (cp.now, self.mark)) {
            let (at, length, hops) = (cp.now, cp.now - before, self.mark - hops_before);
            let mut walk = Walk::keep(at, &reached);
            cp.walk_some(self.nodes.iter().copied(), &mut walk);
            let snapshot = walk.snapshot();
            let times = self.arm(cp, hops);
            self.stage = Stage::Once(Period { length: length * times, hops: hops * times, at, snapshot, prints: self.prints(cp) });
            return;
        }
        self.looks += 1;
        self.misses += 1;
        for (part, hash) in &snapshot.parts {
            self.parts.entry(part).or_default().insert(*hash);
        }
        let packets = self.steps.next();
        self.arm(cp, packets);
    }

    /// Other flows are under way, or the same towards another end. What has just begun may be over soon: where flows begin and end all
    /// the time it is looked less and less.
    fn begin(&mut self, common: &mut Common, epoch: u64, cp: &mut Checkpoint<'_, Node>) {
        self.begun += u64::from(!self.is_done);
        self.blame(common);
        (self.epoch, self.looks, self.is_done) = (epoch, 0, false);
        self.seen.clear();
        self.parts.clear();
        let has_waited = self.account.begin(cp.statistics.events + common.forwarded.events, self.mark);
        // Not where it is looked seldom for another reason.
        if !has_waited {
            self.wait = (2 * self.wait).min(1 << 14);
        }
        self.follow_rounds(common, cp);
        self.arm(cp, self.wait);
    }

    /// Remembers what kept these from repeating themselves, if it was never looked so often in vain: parts that were never like before;
    /// without a name, what waits and is under way; or that flows began and ended before anything could come again.
    pub fn blame(&mut self, common: &mut Common) {
        if self.begun >= BEGUN && self.begun > common.vain.0 {
            common.vain = (self.begun, vec!["flows"]);
        }
        if self.is_done || self.looks < NEVER || self.looks <= common.vain.0 {
            return;
        }
        let never = self.parts.iter().filter(|part| wide(part.1.len()) == self.looks).map(|part| *part.0);
        let (named, rest): (Vec<_>, Vec<_>) = never.partition(|name| !name.is_empty());
        common.vain = (self.looks, if named.is_empty() && !rest.is_empty() { vec!["traffic"] } else { named });
    }

    /// It is over.
    pub fn end(mut self, common: &mut Common) {
        self.blame(common);
        common.kept -= self.busy_periods.kept;
    }

    fn confirm(&mut self, common: &mut Common, period: Period, cp: &mut Checkpoint<'_, Node>) {
        let hops = period.hops;
        self.stage = self.confirmed(common, period, PeriodKind::Packets, cp);
        if matches!(self.stage, Stage::Search) {
            return self.search(cp);
        }
        self.arm(cp, hops);
    }

    fn repeat(&mut self, common: &mut Common, period: Period, begun: Box<Begun>, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        match self.repeated(common, period, begun, cp) {
            Found::Fits(found) => return Some(*found),
            // What kept it from being repeated does so again, until a flow begins or ends.
            Found::Unfit => self.is_done = true,
            Found::Nothing => {}
        }
        self.search(cp);
        None
    }
}
