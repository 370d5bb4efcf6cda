//! What repeats itself across ends of messages: the steps of a collective, in which ranks send one another as much again and again.
//!
//! It is looked for where the lead has begun its next message, beside what repeats itself within messages, which goes on meanwhile:
//! between two such moments no more is skipped than what lies between them. A period is a number of steps; it is repeated as often
//! as all ranks have messages that are like those before them (`Shape::alike`).

use rustc_hash::FxHashMap;
use xoff_engine::Checkpoint;
use xoff_engine::state::Walk;
use xoff_models::endpoint::UnderWay;
use xoff_models::node::Node;
use xoff_units::Moment;

use super::reached::Reached;
use super::{CALM, EVENTS_A_PACKET, Period, SHARE, Skip, Stage, WORDS_AN_EVENT, prints};

/// So many looks in vain are enough for one collective.
const MOST: u64 = 12;
/// Of fewer messages than this too little is gained: four are gone through.
const FEW: u64 = 8;

/// What is known of steps.
#[derive(Default)]
pub struct Rounds {
    pub stage: Stage,
    /// What the lead has started when somebody looks next; what it had when somebody did.
    pub mark: u64,
    /// So many packets of the lead are a step, or a few.
    every: u64,
    /// Situations: when, and at which mark.
    pub seen: FxHashMap<u64, (Moment, u64)>,
    pub epoch: u64,
    looks: u64,
    /// Nothing more is to be found in these messages, or repeated.
    is_over: bool,
    /// It is known how much there is to be gained.
    is_valued: bool,
    /// Words looked at, and those of one look.
    pub spent: u64,
    cost: u64,
}

impl Rounds {
    /// The next look, if the lead has not come there.
    pub const fn next(&self, started: u64) -> u64 {
        if self.mark > started { self.mark } else { u64::MAX }
    }

    /// Packets of the lead that come before it.
    pub const fn ahead(&self, started: u64) -> u64 {
        if self.mark > started { self.mark - started - 1 } else { u64::MAX }
    }

    /// Whether another look would cost too much: as much as looking within messages may.
    const fn is_dear(&self, allowed: u64) -> bool {
        self.spent + self.cost > allowed
    }

    /// Whether a look would keep this one from taking place, or the other way round: somebody looks up to `lag` packets later.
    pub const fn is_near(&self, mark: u64, lag: u64) -> bool {
        mark.abs_diff(self.mark) <= 2 * lag
    }
}

impl Skip {
    /// Plans to look at the next message of the lead, if enough are left for something to come of it.
    pub(super) fn follow_rounds(&mut self, cp: &Checkpoint<'_, Node>) {
        if !matches!(self.rounds.stage, Stage::Search) {
            return;
        }
        (self.rounds.is_over, self.rounds.is_valued) = (false, false);
        let before = (self.rounds.mark, self.rounds.every);
        (self.rounds.mark, self.rounds.every) = (0, 0);
        let Some(endpoint) = self.lead.and_then(|lead| cp.node(lead).endpoint.as_ref()) else { return };
        let left = endpoint.programs.rounds().map(|(_, round)| round.run.end - round.posted).max().unwrap_or(0);
        let message = |flow: UnderWay| Some((flow.message?.0, (flow.alike + 1).saturating_sub(flow.sent)));
        let Some((packets, rest)) = endpoint.under_way().filter_map(message).max().filter(|message| message.0 > 0) else { return };
        let (left, packets) = (u64::from(left), u64::from(packets));
        // A look is over before the next.
        let several = (2 * self.lag + CALM).div_ceil(packets);
        if left / several < FEW {
            return;
        }
        let (started, every) = (self.started_by_lead(cp), several * packets);
        self.rounds.every = every;
        // Where messages are as they were, looks go on as far apart, whichever of several connections has just begun one.
        self.rounds.mark = if before.1 == every && before.0 > started { before.0 } else { started + u64::from(rest) + CALM };
    }

    /// At a moment that is in step with the messages of the lead.
    pub(super) fn look_at_round(&mut self, cp: &mut Checkpoint<'_, Node>) {
        match std::mem::take(&mut self.rounds.stage) {
            Stage::Search => self.seek_round(cp),
            Stage::Once(period) => {
                let hops = period.hops;
                self.rounds.stage = self.confirmed(period, true, cp);
                self.rounds.mark += if matches!(self.rounds.stage, Stage::Search) { self.rounds.every } else { hops };
            }
            Stage::Twice(period, begun) => {
                let hops = period.hops;
                if let Some((stage, times)) = self.repeated(period, &begun, cp) {
                    self.rounds.mark += hops * times;
                    self.rounds.mark += if matches!(stage, Stage::Search) { self.rounds.every } else { hops };
                    if matches!(stage, Stage::Search) {
                        // What is left is less than a period, or cannot be repeated.
                        self.rounds.is_over = true;
                    }
                    self.rounds.stage = stage;
                    // What was known of this message is of one that is long over.
                    self.search(cp);
                } else {
                    self.rounds.mark += self.rounds.every;
                }
            }
        }
        let started = self.started_by_lead(cp);
        if self.rounds.mark <= started {
            self.rounds.stage = Stage::Search;
            self.rounds.mark += self.rounds.every * (1 + (started - self.rounds.mark) / self.rounds.every);
        }
    }

    fn seek_round(&mut self, cp: &mut Checkpoint<'_, Node>) {
        let mark = self.rounds.mark;
        self.rounds.mark += self.rounds.every;
        self.lacks(cp);
        if self.rounds.is_over || self.rounds.is_dear(self.allowed) && self.rounds.is_valued {
            return;
        }
        let reached = Reached::of(cp, true);
        self.rounds.spent += reached.cost();
        if reached.epoch != self.rounds.epoch {
            (self.rounds.epoch, self.rounds.looks) = (reached.epoch, 0);
            self.rounds.seen.clear();
        }
        // What was simulated and what is left are what it takes if nothing repeats itself.
        let events = self.events(cp) + EVENTS_A_PACKET * reached.messages_left() * self.rounds.every;
        self.allowed = self.allowed.max(events * WORDS_AN_EVENT / SHARE);
        self.rounds.is_valued = true;
        self.rounds.is_over = reached.rounds.is_empty() || self.rounds.looks >= MOST;
        if self.rounds.is_over || self.rounds.is_dear(self.allowed) {
            return;
        }
        let mut walk = Walk::digest(cp.now, &reached);
        cp.walk(&mut walk);
        let situation = walk.situation();
        self.rounds.cost = situation.count;
        self.rounds.spent += situation.count;
        self.rounds.looks += 1;
        if let Some((before, mark_before)) = self.rounds.seen.insert(situation.digest(), (cp.now, mark)) {
            let (at, length, hops) = (cp.now, cp.now - before, mark - mark_before);
            let mut walk = Walk::keep(at, &reached);
            cp.walk(&mut walk);
            let situation = walk.situation();
            self.rounds.mark = mark + hops;
            self.rounds.stage = Stage::Once(Period { length, hops, at, situation, prints: prints(cp) });
        }
    }
}
