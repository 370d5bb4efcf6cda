//! Looks for what repeats itself among some nodes: all of them, or those of a part that nothing leaves.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use xoff_engine::state::{Across, Origin, Situation, Totals, Walk};
use xoff_engine::{Checkpoint, Fingerprint};
use xoff_models::endpoint::UnderWay;
use xoff_models::ids::PortId;
use xoff_models::node::Node;
use xoff_units::{Duration, Moment, index, wide};

use super::reached::Reached;
use super::rounds::{Rounds, STEPS};
use super::{Common, EVENTS_A_PACKET, FREE, SHARE, STUCK_SHARE, WORDS_AN_EVENT};
use crate::audit::{STILL, find_deadlock, may_have_stood_still};

/// So many looks are next to one another in the first round of looking.
const BABIES: u64 = 16;
/// What was never like before at so many looks keeps all from repeating itself.
const NEVER: u64 = 32;
/// So many packets the lead goes on when flows have begun or ended.
pub const CALM: u64 = 8;
/// Fewer packets than this that a flow has left are not worth looking.
const LEAST: u32 = 64;
/// No more rows than this are written again at once.
pub const ROWS: u64 = 500_000;

/// A situation that came again, and how long after it was first seen.
pub struct Period {
    pub length: Duration,
    /// Data packets that the lead starts in one.
    pub hops: u64,
    pub at: Moment,
    pub situation: Situation,
    pub prints: Vec<Fingerprint>,
}

/// The beginning of the period that may be repeated.
pub struct Begun {
    at: Moment,
    totals: Totals,
    pub reached: Reached,
    prints: Vec<Fingerprint>,
    events: u64,
    /// Bytes that crossed the border of these nodes; packets of the lead of all nodes, if it is one of them.
    crossed: u64,
    watched: u64,
}

/// A period that may be repeated so many times.
pub struct Repeated {
    pub period: Period,
    begun: Box<Begun>,
    reached: Reached,
    /// When its last time was over.
    pub at: Moment,
    /// How often it fits before something else happens, and how often it can be written at once.
    fits: u64,
    pub times: u64,
    /// Rows that it writes.
    pub rows: u64,
}

#[derive(Default)]
pub enum Stage {
    /// Nothing is known to repeat itself.
    #[default]
    Search,
    /// A situation came again.
    Once(Period),
    /// And again.
    Twice(Period, Box<Begun>),
}

/// How far the lead goes from one look to the next. Whatever the length of a period, two of `2·B` looks are a multiple of it apart if
/// it is below `B·B` packets: after `B` next to one another come as many that are `B` apart. Each round has twice as many.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// The least that is possible.
    base: u64,
    babies: u64,
    taken: u64,
}

impl Stage {
    fn let_go(&mut self) {
        *self = match std::mem::take(self) {
            Self::Twice(period, begun) => Self::Once(Period { at: begun.at, prints: begun.prints, ..period }),
            other => other,
        }
    }

    /// Whether what it waits for did not come; what is over is no repetition.
    fn is_late(&self, has_news: bool, now: Moment) -> bool {
        match self {
            Self::Search => false,
            Self::Once(period) => now > period.at + period.length,
            Self::Twice(period, begun) => now > begun.at + period.length || has_news,
        }
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self::of(1)
    }
}

impl Steps {
    const fn of(base: u64) -> Self {
        Self { base, babies: BABIES, taken: 0 }
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
    border: Vec<(u32, PortId)>,
    /// What is looked for, from the shortest to the longest.
    pub seeks: (Across, Across),
    stage: Stage,
    pub lead: Option<u32>,
    /// What the lead had started when it was last looked at without being asked to.
    started: u64,
    /// What it had started at the moment that it was asked for last: somebody looks a little later.
    pub mark: u64,
    /// What it is to have started when somebody looks next.
    pub asks: u64,
    steps: Steps,
    /// Events and packets of the lead when its flows were first looked at.
    since: (u64, u64),
    looks: u64,
    /// What repeats itself among these flows was found, or cannot be repeated.
    is_done: bool,
    /// Situations: when, and how many data packets the lead had started.
    seen: FxHashMap<u64, (Moment, u64)>,
    epoch: u64,
    outside: Moment,
    /// What parts were like at these looks.
    parts: BTreeMap<&'static str, FxHashSet<u64>>,
    /// Packets to wait when flows have begun or ended.
    wait: u64,
    /// Words of one look.
    cost: u64,
    /// What repeats itself across ends of messages, and of operations.
    pub rounds: [Rounds; 3],
    /// The most packets that the lead went on between a moment that was asked for and the look.
    pub lag: u64,
    pub events_skipped: u64,
    /// Looks within messages since something was repeated.
    pub looks_in_vain: u64,
}

/// What came of a period.
pub enum Found {
    /// It did not come again.
    Nothing,
    /// It did, and cannot be repeated.
    Unfit,
    Fits(Box<Repeated>),
}

impl Search {
    /// Among these nodes, in their order, for what is no shorter and no longer than this.
    pub fn among(nodes: Vec<u32>, seeks: (Across, Across), cp: &Checkpoint<'_, Node>) -> Self {
        let wiring = &cp.node(0).core.routing.wiring;
        let is_inside = |node: u32| nodes.binary_search(&node).is_ok();
        let outputs = nodes.iter().flat_map(|node| PortId::each(&wiring.ports[index(*node)]).map(move |(port, end)| (*node, port, end)));
        let across = outputs.filter(|(.., end)| !is_inside(end.peer));
        let border = across.flat_map(|(node, port, end)| [(node, port), (end.peer, end.peer_port)]).collect();
        Self {
            nodes,
            border,
            seeks,
            stage: Stage::Search,
            lead: None,
            started: 0,
            mark: 0,
            asks: u64::MAX,
            steps: Steps::default(),
            since: (0, 0),
            looks: 0,
            is_done: false,
            seen: FxHashMap::default(),
            epoch: 0,
            outside: Moment::ZERO,
            parts: BTreeMap::new(),
            wait: CALM,
            cost: 0,
            rounds: [Across::Messages, Across::Operations, Across::Iterations].map(Rounds::across),
            lag: 0,
            events_skipped: 0,
            looks_in_vain: 0,
        }
    }

    /// Whether what nodes wrote down has to stay with them.
    pub fn holds(&self) -> bool {
        matches!(self.stage, Stage::Twice(..)) || self.rounds.iter().any(|rounds| matches!(rounds.stage, Stage::Twice(..)))
    }

    /// It need not: what was noted is noted anew when what they wrote was taken.
    pub fn let_go(&mut self) {
        self.stage.let_go();
        self.rounds.iter_mut().for_each(|rounds| rounds.stage.let_go());
    }

    /// Looks for something shorter or longer from now on.
    pub fn seek(&mut self, seeks: (Across, Across), cp: &mut Checkpoint<'_, Node>) {
        self.seeks = seeks;
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

    pub fn prints(&self, cp: &mut Checkpoint<'_, Node>) -> Vec<Fingerprint> {
        self.nodes.iter().map(|id| *cp.print_mut(*id)).collect()
    }

    /// Whether a flow is over that was not written into a table yet.
    pub fn has_news(&self, cp: &Checkpoint<'_, Node>) -> bool {
        let mut endpoints = self.nodes.iter().filter_map(|id| cp.node(*id).endpoint.as_ref());
        endpoints.any(|e| !(e.sent.is_empty() && e.arrived.is_empty()))
    }

    /// Bytes that have crossed the border of these nodes.
    fn crossed(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        let sent = |(node, port): &(u32, PortId)| {
            let port = &cp.node(*node).core.ports[*port];
            port.data_bytes + port.control_bytes
        };
        self.border.iter().map(sent).sum()
    }

    /// Data packets that these nodes have started.
    fn hops(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.nodes.iter().map(|id| cp.node(*id).counts.data_hops).sum()
    }

    /// Looks whether there is still a lead, and whether what was to be repeated still can be.
    pub fn tend(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        let has_news = self.has_news(cp);
        for rounds in &mut self.rounds {
            if rounds.stage.is_late(has_news, cp.now) {
                rounds.stage = Stage::Search;
            }
        }
        if self.stage.is_late(has_news, cp.now) {
            self.search(cp);
        }
        let started = self.started_by_lead(cp);
        let is_searching = matches!(self.stage, Stage::Search) && self.rounds.iter().all(|rounds| matches!(rounds.stage, Stage::Search));
        let is_lost = is_searching && (self.lead.is_none() || started == self.started);
        if is_lost && self.lacks(common, cp) == 0 {
            common.spent += wide(self.nodes.len());
            self.choose(common, cp);
        }
        self.started = self.started_by_lead(cp);
    }

    /// Data packets that the lead has started.
    pub fn started_by_lead(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.lead.map_or(0, |lead| cp.node(lead).counts.data_hops)
    }

    /// Makes the node the lead that has the most left to send.
    fn choose(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        // Messages that are to come are taken to be like the one at hand.
        let of = |u: UnderWay| {
            u64::from(u.alike.saturating_sub(u.sent)) + u.message.map_or(0, |(packets, more)| u64::from(packets) * u64::from(more))
        };
        let left = |id: u32| cp.node(id).endpoint.iter().flat_map(|e| e.under_way()).map(of).max();
        let most = self.nodes.iter().copied().filter_map(|id| left(id).map(|left| (left, std::cmp::Reverse(id)))).max();
        // While all compute it stays.
        let next = most.filter(|most| most.0 > 0).map_or(self.lead, |most| Some(most.1.0));
        let before = std::mem::replace(&mut self.lead, next);
        if before != next {
            self.rounds.iter_mut().for_each(Rounds::forget);
        }
        self.seen.clear();
        self.mark = self.started_by_lead(cp);
        self.rounds[STEPS].forget();
        self.follow_rounds(common, cp);
        self.arm(cp, self.steps.base);
    }

    /// Asks the lead for the first moment to come that is a multiple of so many packets after the last; says which multiple.
    fn arm(&mut self, cp: &mut Checkpoint<'_, Node>, packets: u64) -> u64 {
        let mut times = 1 + (self.started_by_lead(cp) - self.mark) / packets;
        while self.rounds.iter().any(|rounds| rounds.is_near(self.mark + times * packets, self.lag)) {
            times += 1;
        }
        self.mark += times * packets;
        self.ask(cp);
        times
    }

    /// Asks the lead for whatever comes first.
    fn ask(&mut self, cp: &Checkpoint<'_, Node>) {
        let started = self.started_by_lead(cp);
        let mark = if self.seeks.0 == Across::Packets { self.mark } else { u64::MAX };
        self.asks = self.rounds.iter().fold(mark, |first, rounds| first.min(rounds.next(started)));
    }

    pub fn search(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.stage = Stage::Search;
        self.seen.clear();
        self.mark = self.started_by_lead(cp);
        self.arm(cp, self.steps.base);
    }

    /// At a moment that the lead asked for.
    pub fn look(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        let (started, at) = (self.started_by_lead(cp), self.asks);
        self.lag = self.lag.max(started.saturating_sub(at));
        // What is longer comes first: what is within it begins anew then.
        if let Some(of) = (0..self.rounds.len()).rev().find(|of| self.rounds[*of].mark == at) {
            let found = self.look_at_round(common, of, cp);
            if self.mark <= self.started_by_lead(cp) {
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

    /// How many words lack for another look.
    pub fn lacks(&mut self, common: &mut Common, cp: &Checkpoint<'_, Node>) -> u64 {
        common.allowed = common.allowed.max(FREE + (cp.statistics.events + common.skipped.events / 8) * WORDS_AN_EVENT / SHARE);
        if let Some(given_up) = common.given_up {
            let events = cp.statistics.events + common.skipped.events;
            common.allowed = common.allowed.max((events + given_up.left(cp.now, events)) * WORDS_AN_EVENT / STUCK_SHARE);
        }
        let allowed = if common.is_halved { common.allowed / 2 } else { common.allowed };
        (common.spent + self.cost).saturating_sub(allowed)
    }

    /// Whether a look is to be earned before; then the lead goes on for so long.
    fn waits(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> bool {
        let lacks = self.lacks(common, cp);
        if lacks > 0 {
            let packets = (self.mark - self.since.1).max(1);
            let events = (cp.statistics.events - self.since.0).max(packets);
            let wait = lacks * SHARE / WORDS_AN_EVENT * packets / events;
            let packets = self.steps.again(wait);
            self.arm(cp, packets);
        }
        lacks > 0
    }

    fn look_for(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        if self.waits(common, cp) {
            return;
        }
        let reached = Reached::of(cp, &self.nodes, Across::Packets);
        common.spent += reached.cost();
        if reached.epoch != self.epoch {
            return self.begin(common, reached.epoch, cp);
        }
        // What may be over soon is not looked at, nor what was looked at enough. Where nothing is gained nothing is over.
        if self.is_done || (reached.least < LEAST && !common.given_up.is_some_and(|given_up| given_up.nears(cp))) {
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
        let events = cp.statistics.events + EVENTS_A_PACKET * reached.left + common.skipped.events / 8;
        common.allowed = common.allowed.max(FREE + events * WORDS_AN_EVENT / SHARE);
        if self.waits(common, cp) {
            return;
        }
        let mut walk = Walk::digest(cp.now, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let situation = walk.situation();
        self.cost = situation.count;
        common.spent += situation.count;
        if let Some((before, hops_before)) = self.seen.insert(situation.digest(), (cp.now, self.mark)) {
            let (at, length, hops) = (cp.now, cp.now - before, self.mark - hops_before);
            let mut walk = Walk::keep(at, &reached);
            cp.walk_some(self.nodes.iter().copied(), &mut walk);
            let situation = walk.situation();
            let times = self.arm(cp, hops);
            self.stage = Stage::Once(Period { length: length * times, hops: hops * times, at, situation, prints: self.prints(cp) });
            return;
        }
        self.looks += 1;
        self.looks_in_vain += 1;
        for (part, hash) in &situation.parts {
            self.parts.entry(part).or_default().insert(*hash);
        }
        let packets = self.steps.next();
        self.arm(cp, packets);
    }

    /// Other flows are under way, or the same towards another end. What has just begun may be over soon: where flows begin and end all
    /// the time it is looked less and less.
    fn begin(&mut self, common: &mut Common, epoch: u64, cp: &mut Checkpoint<'_, Node>) {
        self.blame(common);
        (self.epoch, self.looks, self.is_done) = (epoch, 0, false);
        self.seen.clear();
        self.parts.clear();
        self.since = (cp.statistics.events, self.mark);
        self.wait = (2 * self.wait).min(1 << 14);
        self.follow_rounds(common, cp);
        self.arm(cp, self.wait);
    }

    /// Remembers which parts were never like before, if it was never looked so often in vain.
    pub fn blame(&mut self, common: &mut Common) {
        if self.is_done || self.looks < NEVER || self.looks <= common.vain.0 {
            return;
        }
        let never = self.parts.iter().filter(|part| wide(part.1.len()) == self.looks && !part.0.is_empty());
        common.vain = (self.looks, never.map(|part| *part.0).collect());
    }

    /// Whether a situation is that of a period, at the moment at which it should be.
    fn is_again(&mut self, common: &mut Common, period: &Period, begun: Moment, reached: &Reached, cp: &mut Checkpoint<'_, Node>) -> bool {
        let rounds = self.rounds.iter_mut().find(|rounds| rounds.across == reached.across);
        let (epoch, spent) = rounds.map_or((self.epoch, &mut common.spent), |rounds| (rounds.epoch, &mut rounds.spent));
        if cp.now != begun + period.length || reached.epoch != epoch {
            return false;
        }
        let mut walk = Walk::keep(cp.now, reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let situation = walk.situation();
        *spent += situation.count;
        situation.is(&period.situation)
    }

    /// A situation that came again a period ago: what becomes of it.
    pub fn confirmed(&mut self, common: &mut Common, period: Period, across: Across, cp: &mut Checkpoint<'_, Node>) -> Stage {
        let reached = self.reach(across, cp);
        if !self.is_again(common, &period, period.at, &reached, cp) {
            return Stage::Search;
        }
        if self.has_news(cp) {
            return Stage::Once(Period { at: cp.now, prints: self.prints(cp), ..period });
        }
        Stage::Twice(period, Box::new(self.begun(common, cp.now, reached, cp)))
    }

    /// The beginning of a period, now that these nodes are at this moment.
    pub fn begun(&self, common: &Common, at: Moment, reached: Reached, cp: &mut Checkpoint<'_, Node>) -> Begun {
        let mut walk = Walk::note(at, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let (totals, prints) = (walk.totals(), self.prints(cp));
        let watched = common.watched.map_or(0, |(lead, _)| cp.node(lead).counts.data_hops);
        Begun { at, totals, prints, events: self.events(common, cp), crossed: self.crossed(cp), watched, reached }
    }

    fn confirm(&mut self, common: &mut Common, period: Period, cp: &mut Checkpoint<'_, Node>) {
        let hops = period.hops;
        self.stage = self.confirmed(common, period, Across::Packets, cp);
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

    /// What is found a period after it came again.
    pub fn repeated(&mut self, common: &mut Common, period: Period, begun: Box<Begun>, cp: &mut Checkpoint<'_, Node>) -> Found {
        let reached = self.reach(begun.reached.across, cp);
        if !self.is_again(common, &period, begun.at, &reached, cp) {
            return Found::Nothing;
        }
        self.fitting(common, period, begun, reached, cp).map_or(Found::Unfit, |found| Found::Fits(Box::new(found)))
    }

    /// A period that came again, if it can be repeated.
    fn fitting(
        &mut self,
        common: &Common,
        period: Period,
        begun: Box<Begun>,
        reached: Reached,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Repeated> {
        let mut walk = Walk::note(cp.now, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let totals = walk.totals();
        self.outside = totals.outside;
        let once = reached.since(&begun.reached, 1);
        let fits = self.times(common, &period, &begun, (&reached, &once), cp)?;
        let rows = totals.rows - begun.totals.rows.min(totals.rows);
        // What crosses the border may come otherwise next time; and who is paused there waits for somebody beyond it.
        let is_paused = |(node, port): &(u32, PortId)| cp.node(*node).open_pauses.iter().any(|pause| pause.port == *port);
        if self.crossed(cp) != begun.crossed || self.border.iter().any(is_paused) {
            return None;
        }
        // Ports that send nothing in all of it may be a deadlock, which somebody else looks for.
        if find_deadlock(cp, begun.at, |id| self.nodes.binary_search(&id).is_ok()).is_some() {
            return None;
        }
        // Nor is a circle that lasted for a part of a long period one that nobody looked at because of when it was.
        if period.length > STILL && may_have_stood_still(cp, &self.nodes) {
            return None;
        }
        let still = reached.since(&begun.reached, 0);
        let mut walk = Walk::repeat(cp.now, period.length, 0, begun.totals.clone(), &still);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let is_alike = walk.fits();
        let found = Repeated { at: cp.now, fits, times: fits.min((ROWS / rows.max(1)).max(1)), rows, period, begun, reached };
        (is_alike && self.prints_ahead(&found, 1, cp).is_some()).then_some(found)
    }

    /// What fingerprints are when it has happened so often again; none if its arrivals are not alike.
    fn prints_ahead(&self, of: &Repeated, times: u64, cp: &mut Checkpoint<'_, Node>) -> Option<Vec<Fingerprint>> {
        let ends = of.period.prints.iter().zip(&of.begun.prints);
        self.nodes.iter().zip(ends).map(|(id, (first, last))| cp.print_mut(*id).again(*first, *last, times)).collect()
    }

    /// Puts the nodes further by so many periods, no more than fit, and goes on looking there.
    pub fn put_further(&mut self, common: &mut Common, found: Repeated, times: u64, cp: &mut Checkpoint<'_, Node>) {
        let before = times.checked_sub(1).and_then(|but_one| self.prints_ahead(&found, but_one, cp));
        if let Some(ahead) = self.prints_ahead(&found, times, cp).filter(|_| times > 0) {
            let (hops, events) = (self.hops(cp), times * (self.events(common, cp) - found.begun.events));
            let further = found.reached.since(&found.begun.reached, times);
            let mut walk = Walk::repeat(found.at, found.period.length, times, found.begun.totals.clone(), &further);
            cp.walk_some(self.nodes.iter().copied(), &mut walk);
            for (id, print) in self.nodes.iter().zip(ahead) {
                *cp.print_mut(*id) = print;
            }
            let hops = self.hops(cp) - hops;
            common.skipped.packet_hops[found.reached.across as usize] += hops;
            common.skipped.packet_hops_in_islands += if self.is_whole() { 0 } else { hops };
            common.skipped.events += events;
            common.skipped.periods += 1;
            self.events_skipped += events;
            self.looks_in_vain = 0;
        }
        let Repeated { period, begun, reached, at, fits, times: most, .. } = found;
        let (across, at, hops) = (reached.across, at + period.length * times, period.hops);
        let next = if times == fits {
            // What is left is less than a period.
            Stage::Search
        } else if times == most {
            // It goes on when what it wrote was taken.
            Stage::Once(Period { at, prints: self.prints(cp), ..period })
        } else {
            let period = Period { prints: before.unwrap_or(begun.prints), ..period };
            let reached = Reached::of(cp, &self.nodes, across);
            Stage::Twice(period, Box::new(self.begun(common, at, reached, cp)))
        };
        if let Some(of) = self.rounds.iter().position(|rounds| rounds.across == across) {
            return self.go_on(of, (times, hops), next, cp);
        }
        if matches!(next, Stage::Search) {
            self.is_done = true;
            return self.search(cp);
        }
        self.arm(cp, hops);
        self.stage = next;
    }

    /// Whether these are all nodes.
    pub fn is_whole(&self) -> bool {
        self.seeks.1 == Across::Iterations
    }

    /// Events of these nodes up to now, skipped ones among them.
    pub fn events(&self, common: &Common, cp: &Checkpoint<'_, Node>) -> u64 {
        if self.is_whole() { cp.statistics.events + common.skipped.events } else { cp.events_of(&self.nodes) + self.events_skipped }
    }

    /// How often a period fits before something else happens: `reached` is how far it is now, and `once` by how much one brings it on.
    fn times(
        &self,
        common: &Common,
        period: &Period,
        begun: &Begun,
        (reached, once): (&Reached, &Reached),
        cp: &Checkpoint<'_, Node>,
    ) -> Option<u64> {
        let end = common.elsewhere.map_or(common.until, |at| common.until.min(at));
        let time = end.min(self.outside).since(cp.now);
        let mut times = time.ps() / period.length.ps();
        let given_up = common.given_up.filter(|given_up| given_up.nears(cp));
        if let Some(given_up) = given_up {
            let events = self.events(common, cp) - begun.events;
            let left = given_up.events.saturating_sub(cp.statistics.events + common.skipped.events);
            times = times.min(given_up.at.since(cp.now).ps() / period.length.ps()).min(left / events.max(1));
        }
        times = times.min(reached.fits(once)?);
        for longer in self.rounds.iter().filter(|rounds| rounds.across > reached.across) {
            times = times.min(longer.ahead(self.started_by_lead(cp)) / period.hops);
        }
        // Where the lead of all nodes is one of these, it is to be looked at where it asked for.
        if let Some((lead, asks)) = common.watched.filter(|_| !self.is_whole()) {
            let started = cp.node(lead).counts.data_hops;
            times = times.min(asks.saturating_sub(started + 1).checked_div(started - begun.watched).unwrap_or(u64::MAX));
        }
        let mut gains = given_up.is_some() && self.is_whole();
        for flow in self.nodes.iter().filter_map(|id| cp.node(*id).endpoint.as_ref()).flat_map(|e| e.under_way()) {
            let passed = once.packets(flow.flow);
            if reached.across != Across::Packets && flow.message.is_some() {
                gains |= passed > 0;
            } else if let Some(fits) = flow.alike.saturating_sub(flow.sent + 2).checked_div(passed) {
                gains = true;
                times = times.min(fits.into());
            }
        }
        (gains && times > 0).then_some(times)
    }
}
