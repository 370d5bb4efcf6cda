//! Skips what repeats itself.
//!
//! A deterministic simulation whose situation, relative to now and to how far each flow and link is, is the same at two moments does
//! the same again. It is put further by as many such periods as fit before something else happens: a flow or a message ends, something
//! comes from outside, the run is over. Nothing is approximated: tables, summary, audits and fingerprint are those of a run that
//! went through all of it (`tests/validation/test_skip.py`).
//!
//! A period is looked for at moments of one node, the *lead*: each time that it has started so many data packets. What is found
//! by a hash is compared word by word a period later. A period after that, with all rows of it still at hand, it is repeated: three
//! moments show by how much each number grows from one period to the next, and the arrivals of one period by how much from one to the
//! next. What looking costs is bounded by what is simulated meanwhile, in numbers of words and events and not by the clock, so that
//! what is skipped is the same on any machine.

mod reached;
mod rounds;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use xoff_engine::state::{Across, Origin, Situation, Totals, Walk};
use xoff_engine::{Checkpoint, Fingerprint};
use xoff_models::delays::Traced;
use xoff_models::endpoint::UnderWay;
use xoff_models::node::Node;
use xoff_units::{Duration, Moment, index, wide};

use self::reached::Reached;
use self::rounds::{Rounds, STEPS};

use crate::audit::find_deadlock;
use crate::collect::Collector;
use crate::document::Scenario;

/// As many words are looked at in the time of an event; a packet makes about so many events.
const WORDS_AN_EVENT: u64 = 6;
const EVENTS_A_PACKET: u64 = 6;
/// So much of a run may be spent on looking: one part in so many; and whatever it takes, so many words, which take a millisecond.
const SHARE: u64 = 100;
const FREE: u64 = 100_000;
/// Where flows gain nothing it is known how long that may last, and that most of it will be gone through again and again: so much of it
/// may be spent.
const STUCK_SHARE: u64 = 20;
/// So many looks are next to one another in the first round of looking.
const BABIES: u64 = 16;
/// What was never like before at so many looks keeps all from repeating itself.
const NEVER: u64 = 32;
/// So many packets the lead goes on when flows have begun or ended.
const CALM: u64 = 8;
/// Fewer packets than this that a flow has left are not worth looking.
const LEAST: u32 = 64;
/// No more rows than this are written again at once.
const ROWS: u64 = 500_000;

/// A situation that came again, and how long after it was first seen.
struct Period {
    length: Duration,
    /// Data packets that the lead starts in one.
    hops: u64,
    at: Moment,
    situation: Situation,
    prints: Vec<Fingerprint>,
}

/// The beginning of the period that may be repeated.
struct Begun {
    at: Moment,
    totals: Totals,
    reached: Reached,
    prints: Vec<Fingerprint>,
    events: u64,
}

#[derive(Default)]
enum Stage {
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
    /// Whether what it waits for did not come; what is over is no repetition.
    fn is_late(&self, cp: &mut Checkpoint<'_, Node>) -> bool {
        match self {
            Self::Search => false,
            Self::Once(period) => cp.now > period.at + period.length,
            Self::Twice(period, begun) => cp.now > begun.at + period.length || has_news(cp),
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

/// When a run in which flows gain nothing is given up.
#[derive(Debug, Clone, Copy)]
pub struct GivenUp {
    /// Packets that flows have gained.
    pub gained: u64,
    /// If they are as many at a moment beyond this one, or after so many events, somebody may give it up.
    pub at: Moment,
    pub events: u64,
}

impl GivenUp {
    /// Whether nothing was gained since.
    fn nears(&self, cp: &Checkpoint<'_, Node>) -> bool {
        Collector::gained(cp).0 == self.gained && cp.now < self.at
    }

    /// About how many events there are until then.
    fn left(&self, now: Moment, events: u64) -> u64 {
        let times = self.at.since(now).ps() / now.ps().max(1) + 1;
        self.events.saturating_sub(events).min(events.saturating_mul(times))
    }
}

/// What was skipped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Skipped {
    /// Data packets that would have been started on links, by what their periods go across.
    pub packet_hops: [u64; 4],
    /// Events.
    pub events: u64,
    /// Periods that were repeated, each as often as possible at once.
    pub periods: u64,
}

/// Looks for what repeats itself, and skips it.
pub struct Skip {
    until: Moment,
    /// When something comes from outside next of which nodes do not know.
    elsewhere: Option<Moment>,
    /// When the run is given up, if flows have gained nothing for some time.
    given_up: Option<GivenUp>,
    skips: bool,
    stage: Stage,
    lead: Option<u32>,
    /// What the lead had started when it was last looked at without being asked to.
    started: u64,
    /// What it had started at the moment that it was asked for last: somebody looks a little later.
    mark: u64,
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
    /// Of the flows that were looked at most in vain: how often, and the parts that were never like before.
    vain: (u64, Vec<&'static str>),
    /// Packets to wait when flows have begun or ended.
    wait: u64,
    /// Words looked at in all, those that may be, and those of one look.
    spent: u64,
    allowed: u64,
    cost: u64,
    /// What repeats itself across ends of messages, and of operations.
    rounds: [Rounds; 3],
    /// The most packets that the lead went on between a moment that was asked for and the look.
    lag: u64,
    /// What it came to.
    pub skipped: Skipped,
}

impl Skip {
    /// For a run up to a moment, if anything is to be skipped; nothing is where what is written down depends on each moment.
    pub fn of(scenario: &Scenario, until: Moment, skips: bool) -> Self {
        let probe = &scenario.probe;
        let is_followed = probe.delays != Traced::None || probe.replay;
        Self {
            until,
            elsewhere: None,
            given_up: None,
            skips: skips && !is_followed,
            stage: Stage::Search,
            lead: None,
            started: 0,
            mark: 0,
            steps: Steps::default(),
            since: (0, 0),
            looks: 0,
            is_done: false,
            seen: FxHashMap::default(),
            epoch: 0,
            outside: Moment::ZERO,
            parts: BTreeMap::new(),
            vain: (0, Vec::new()),
            wait: CALM,
            spent: 0,
            allowed: FREE,
            cost: 0,
            rounds: [Across::Messages, Across::Operations, Across::Iterations].map(Rounds::across),
            lag: 0,
            skipped: Skipped::default(),
        }
    }

    /// Parts that kept what was looked at most from repeating itself.
    pub fn kept_by(&mut self) -> Vec<&'static str> {
        self.blame();
        std::mem::take(&mut self.vain.1)
    }

    /// Says when something happens next that no node knows of: what was found before the last time is found anew.
    pub fn expect(&mut self, elsewhere: Option<Moment>) {
        if std::mem::replace(&mut self.elsewhere, elsewhere) != elsewhere {
            self.is_done = false;
        }
    }

    /// Says when the run will be given up if flows gain as little as they have.
    pub fn patience(&mut self, given_up: Option<GivenUp>, cp: &mut Checkpoint<'_, Node>) {
        let begins = given_up.is_some() && self.given_up.is_none();
        self.given_up = given_up;
        if begins && self.skips && matches!(self.stage, Stage::Search) {
            // There is more to be gained from looking than there was.
            (self.steps, self.is_done) = (Steps::default(), false);
            self.search(cp);
        }
    }

    /// Looks, if the lead asked for this checkpoint; then nobody else has anything to do there.
    pub fn is_asked(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if cp.is_marked {
            self.look(cp);
        }
        cp.is_marked
    }

    /// Whether what nodes wrote down has to stay with them, at a checkpoint that the lead did not ask for.
    pub fn holds(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        if self.skips {
            self.tend(cp);
        }
        matches!(self.stage, Stage::Twice(..)) || self.rounds.iter().any(|rounds| matches!(rounds.stage, Stage::Twice(..)))
    }

    /// Looks whether there is still a lead, and whether what was to be repeated still can be.
    fn tend(&mut self, cp: &mut Checkpoint<'_, Node>) {
        for rounds in &mut self.rounds {
            if rounds.stage.is_late(cp) {
                rounds.stage = Stage::Search;
            }
        }
        if self.stage.is_late(cp) {
            self.search(cp);
        }
        let started = self.started_by_lead(cp);
        let is_searching = matches!(self.stage, Stage::Search) && self.rounds.iter().all(|rounds| matches!(rounds.stage, Stage::Search));
        let is_lost = is_searching && (self.lead.is_none() || started == self.started);
        if is_lost && self.lacks(cp) == 0 {
            self.spent += u64::from(cp.nodes());
            self.choose(cp);
        }
        self.started = self.started_by_lead(cp);
    }

    /// Data packets that the lead has started.
    fn started_by_lead(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.lead.map_or(0, |lead| cp.node(lead).counts.data_hops)
    }

    /// Makes the node the lead that has the most left to send.
    fn choose(&mut self, cp: &mut Checkpoint<'_, Node>) {
        // Messages that are to come are taken to be like the one at hand.
        let of = |u: UnderWay| {
            u64::from(u.alike.saturating_sub(u.sent)) + u.message.map_or(0, |(packets, more)| u64::from(packets) * u64::from(more))
        };
        let left = |id: u32| cp.node(id).endpoint.iter().flat_map(|e| e.under_way()).map(of).max();
        let most = (0..cp.nodes()).filter_map(|id| left(id).map(|left| (left, std::cmp::Reverse(id)))).max();
        // While all compute it stays.
        let next = most.filter(|most| most.0 > 0).map_or(self.lead, |most| Some(most.1.0));
        let before = std::mem::replace(&mut self.lead, next);
        if before != next {
            if let Some(before) = before {
                cp.node_mut(before).marks_at = u64::MAX;
            }
            self.rounds.iter_mut().for_each(Rounds::forget);
        }
        self.seen.clear();
        self.mark = self.started_by_lead(cp);
        self.rounds[STEPS].forget();
        self.follow_rounds(cp);
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
    fn ask(&self, cp: &mut Checkpoint<'_, Node>) {
        let Some(lead) = self.lead else { return };
        let node = cp.node_mut(lead);
        node.marks_at = self.rounds.iter().fold(self.mark, |first, rounds| first.min(rounds.next(node.counts.data_hops)));
    }

    fn search(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.stage = Stage::Search;
        self.seen.clear();
        self.mark = self.started_by_lead(cp);
        self.arm(cp, self.steps.base);
    }

    /// At a moment that the lead asked for.
    fn look(&mut self, cp: &mut Checkpoint<'_, Node>) {
        let (started, at) = (self.started_by_lead(cp), self.lead.map_or(0, |lead| cp.node(lead).marks_at));
        self.lag = self.lag.max(started.saturating_sub(at));
        // What is longer comes first: what is within it begins anew then.
        if let Some(of) = (0..self.rounds.len()).rev().find(|of| self.rounds[*of].mark == at) {
            self.look_at_round(of, cp);
            if self.mark <= self.started_by_lead(cp) {
                self.search(cp);
            } else {
                self.ask(cp);
            }
            return;
        }
        match std::mem::replace(&mut self.stage, Stage::Search) {
            Stage::Search => self.look_for(cp),
            Stage::Once(period) => self.confirm(period, cp),
            Stage::Twice(period, begun) => self.repeat(period, &begun, cp),
        }
    }

    /// How many words lack for another look.
    fn lacks(&mut self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.allowed = self.allowed.max((cp.statistics.events + self.skipped.events / 8) * WORDS_AN_EVENT / SHARE);
        if let Some(given_up) = self.given_up {
            let events = cp.statistics.events + self.skipped.events;
            self.allowed = self.allowed.max((events + given_up.left(cp.now, events)) * WORDS_AN_EVENT / STUCK_SHARE);
        }
        (self.spent + self.cost).saturating_sub(self.allowed)
    }

    /// Whether a look is to be earned before; then the lead goes on for so long.
    fn waits(&mut self, cp: &mut Checkpoint<'_, Node>) -> bool {
        let lacks = self.lacks(cp);
        if lacks > 0 {
            let packets = (self.mark - self.since.1).max(1);
            let events = (cp.statistics.events - self.since.0).max(packets);
            let wait = lacks * SHARE / WORDS_AN_EVENT * packets / events;
            let packets = self.steps.again(wait);
            self.arm(cp, packets);
        }
        lacks > 0
    }

    fn look_for(&mut self, cp: &mut Checkpoint<'_, Node>) {
        if self.waits(cp) {
            return;
        }
        let reached = Reached::of(cp, Across::Packets);
        self.spent += reached.cost();
        if reached.epoch != self.epoch {
            return self.begin(reached.epoch, cp);
        }
        // What may be over soon is not looked at, nor what was looked at enough. Where nothing is gained nothing is over.
        if self.is_done || (reached.least < LEAST && !self.given_up.is_some_and(|given_up| given_up.nears(cp))) {
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
        let events = cp.statistics.events + EVENTS_A_PACKET * reached.left + self.skipped.events / 8;
        self.allowed = self.allowed.max(events * WORDS_AN_EVENT / SHARE);
        if self.waits(cp) {
            return;
        }
        let mut walk = Walk::digest(cp.now, &reached);
        cp.walk(&mut walk);
        let situation = walk.situation();
        self.cost = situation.count;
        self.spent += situation.count;
        if let Some((before, hops_before)) = self.seen.insert(situation.digest(), (cp.now, self.mark)) {
            let (at, length, hops) = (cp.now, cp.now - before, self.mark - hops_before);
            let mut walk = Walk::keep(at, &reached);
            cp.walk(&mut walk);
            let situation = walk.situation();
            let times = self.arm(cp, hops);
            self.stage = Stage::Once(Period { length: length * times, hops: hops * times, at, situation, prints: prints(cp) });
            return;
        }
        self.looks += 1;
        for (part, hash) in &situation.parts {
            self.parts.entry(part).or_default().insert(*hash);
        }
        let packets = self.steps.next();
        self.arm(cp, packets);
    }

    /// Other flows are under way, or the same towards another end. What has just begun may be over soon: where flows begin and end all
    /// the time it is looked less and less.
    fn begin(&mut self, epoch: u64, cp: &mut Checkpoint<'_, Node>) {
        self.blame();
        (self.epoch, self.looks, self.is_done) = (epoch, 0, false);
        self.seen.clear();
        self.parts.clear();
        self.since = (cp.statistics.events, self.mark);
        self.wait = (2 * self.wait).min(1 << 14);
        self.follow_rounds(cp);
        self.arm(cp, self.wait);
    }

    /// Remembers which parts were never like before, if it was never looked so often in vain.
    fn blame(&mut self) {
        if self.is_done || self.looks < NEVER || self.looks <= self.vain.0 {
            return;
        }
        let never = self.parts.iter().filter(|part| wide(part.1.len()) == self.looks && !part.0.is_empty());
        self.vain = (self.looks, never.map(|part| *part.0).collect());
    }

    /// Whether a situation is that of a period, at the moment at which it should be.
    fn is_again(&mut self, period: &Period, begun: Moment, reached: &Reached, cp: &mut Checkpoint<'_, Node>) -> bool {
        let rounds = self.rounds.iter_mut().find(|rounds| rounds.across == reached.across);
        let (epoch, spent) = rounds.map_or((self.epoch, &mut self.spent), |rounds| (rounds.epoch, &mut rounds.spent));
        if cp.now != begun + period.length || reached.epoch != epoch {
            return false;
        }
        let mut walk = Walk::keep(cp.now, reached);
        cp.walk(&mut walk);
        let situation = walk.situation();
        *spent += situation.count;
        situation.is(&period.situation)
    }

    /// A situation that came again a period ago: what becomes of it.
    fn confirmed(&mut self, period: Period, across: Across, cp: &mut Checkpoint<'_, Node>) -> Stage {
        let reached = self.reach(across, cp);
        if !self.is_again(&period, period.at, &reached, cp) {
            return Stage::Search;
        }
        if has_news(cp) {
            return Stage::Once(Period { at: cp.now, prints: prints(cp), ..period });
        }
        let mut walk = Walk::note(cp.now, &reached);
        cp.walk(&mut walk);
        let totals = walk.totals();
        Stage::Twice(period, Box::new(Begun { at: cp.now, totals, prints: prints(cp), events: self.events(cp), reached }))
    }

    fn confirm(&mut self, period: Period, cp: &mut Checkpoint<'_, Node>) {
        let hops = period.hops;
        self.stage = self.confirmed(period, Across::Packets, cp);
        if matches!(self.stage, Stage::Search) {
            return self.search(cp);
        }
        self.arm(cp, hops);
    }

    /// Repeats a period if it is one: what becomes of it, and how often that was. It goes on when what it wrote was taken.
    fn repeated(&mut self, period: Period, begun: &Begun, cp: &mut Checkpoint<'_, Node>) -> Option<(Stage, u64)> {
        let reached = self.reach(begun.reached.across, cp);
        if !self.is_again(&period, begun.at, &reached, cp) {
            return None;
        }
        let (times, fits) = self.again(&period, begun, &reached, cp).unwrap_or_default();
        let at = cp.now + period.length * times;
        let stage = if times < fits { Stage::Once(Period { at, prints: prints(cp), ..period }) } else { Stage::Search };
        Some((stage, times))
    }

    fn repeat(&mut self, period: Period, begun: &Begun, cp: &mut Checkpoint<'_, Node>) {
        let hops = period.hops;
        match self.repeated(period, begun, cp) {
            Some((Stage::Once(period), _)) => {
                self.arm(cp, hops);
                self.stage = Stage::Once(period);
                return;
            }
            // What is left is less than a period; and what kept it from being repeated does so again, until a flow begins or ends.
            Some(_) => self.is_done = true,
            None => {}
        }
        self.search(cp);
    }

    /// Repeats a period as often as nothing else happens, or as can be written at once: how often, and how often it would have fit.
    fn again(&mut self, period: &Period, begun: &Begun, reached: &Reached, cp: &mut Checkpoint<'_, Node>) -> Option<(u64, u64)> {
        let mut walk = Walk::note(cp.now, reached);
        cp.walk(&mut walk);
        let totals = walk.totals();
        self.outside = totals.outside;
        let once = reached.since(&begun.reached, 1);
        let fits = self.times(period, begun, (reached, &once), cp)?;
        let times = fits.min((ROWS / (totals.rows - begun.totals.rows.min(totals.rows)).max(1)).max(1));
        // Ports that send nothing in all of it may be a deadlock, which somebody else looks for.
        if find_deadlock(cp, begun.at).is_some() {
            return None;
        }
        let still = reached.since(&begun.reached, 0);
        let mut walk = Walk::repeat(cp.now, period.length, 0, begun.totals.clone(), &still);
        cp.walk(&mut walk);
        if !walk.fits() {
            return None;
        }
        let mut ahead = Vec::new();
        for id in 0..cp.nodes() {
            let (first, last) = (period.prints[index(id)], begun.prints[index(id)]);
            ahead.push(cp.print_mut(id).again(first, last, times)?);
        }
        let hops = |cp: &Checkpoint<'_, Node>| (0..cp.nodes()).map(|id| cp.node(id).counts.data_hops).sum::<u64>();
        let before = hops(cp);
        let further = reached.since(&begun.reached, times);
        let mut walk = Walk::repeat(cp.now, period.length, times, begun.totals.clone(), &further);
        cp.walk(&mut walk);
        for (id, print) in (0..).zip(ahead) {
            *cp.print_mut(id) = print;
        }
        self.skipped.packet_hops[reached.across as usize] += hops(cp) - before;
        self.skipped.events += times * (self.events(cp) - begun.events);
        self.skipped.periods += 1;
        Some((times, fits))
    }

    /// Events up to now, skipped ones among them.
    fn events(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        cp.statistics.events + self.skipped.events
    }

    /// How often a period fits before something else happens: `reached` is how far it is now, and `once` by how much one brings it on.
    fn times(&self, period: &Period, begun: &Begun, (reached, once): (&Reached, &Reached), cp: &Checkpoint<'_, Node>) -> Option<u64> {
        let end = self.elsewhere.map_or(self.until, |at| self.until.min(at));
        let time = end.min(self.outside).since(cp.now);
        let mut times = time.ps() / period.length.ps();
        let given_up = self.given_up.filter(|given_up| given_up.nears(cp));
        if let Some(given_up) = given_up {
            let events = self.events(cp) - begun.events;
            let left = given_up.events.saturating_sub(cp.statistics.events + self.skipped.events);
            times = times.min(given_up.at.since(cp.now).ps() / period.length.ps()).min(left / events.max(1));
        }
        times = times.min(reached.fits(once)?);
        for longer in self.rounds.iter().filter(|rounds| rounds.across > reached.across) {
            times = times.min(longer.ahead(self.started_by_lead(cp)) / period.hops);
        }
        let mut gains = given_up.is_some();
        for flow in (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref()).flat_map(|e| e.under_way()) {
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

fn prints(cp: &mut Checkpoint<'_, Node>) -> Vec<Fingerprint> {
    (0..cp.nodes()).map(|id| *cp.print_mut(id)).collect()
}

/// Whether a flow is over that was not written into a table yet.
fn has_news(cp: &Checkpoint<'_, Node>) -> bool {
    (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref()).any(|e| !(e.sent.is_empty() && e.arrived.is_empty()))
}
