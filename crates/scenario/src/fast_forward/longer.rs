//! Looks for what repeats itself across ends of messages: the steps of a collective, in which ranks send one another as much again and
//! again. And across ends of operations: the layers of a model, which do the same one after the other.
//!
//! Steps are looked for where the reference has begun its next message, layers where it has begun the same operation of the next, beside what
//! repeats itself within them, which goes on meanwhile: between two such moments no more is forwarded than what lies between them. A period
//! is a number of steps or layers; it is repeated as often as all ranks have messages, or operations, that are like those before
//! them (`Shape::alike`, `Graph::stretch`).

use xoff_engine::Checkpoint;
use xoff_engine::state::{PeriodKind, Walk};
use xoff_models::endpoint::UnderWay;
use xoff_models::job::Cycle;
use xoff_models::node::Node;
use xoff_units::wide;

use super::Common;
use super::budget::{EVENTS_A_PACKET, Part};
use super::levels::{LAYERS, LongLevel, Look, STEPS};
use super::offsets::NetworkOffsets;
use super::period::{Found, Period, Repeated, Stage};
use super::search::{CALM, Search};

/// So many looks in vain are enough for one collective.
const MOST: u64 = 12;
/// After so many looks in vain at layers of all nodes, they are left to components, if there are any.
const LEFT_TO_ISLANDS: u64 = 6;
/// Of fewer messages than this too little is gained: some are gone through.
const FEW: u64 = 5;
/// Of fewer layers than this.
const FEW_LAYERS: u64 = 4;

impl Search {
    /// How far all is, relative to what it is to repeat.
    pub(super) fn reach(&mut self, kind: PeriodKind, common: &mut Common, cp: &mut Checkpoint<'_, Node>) -> NetworkOffsets {
        if self.rounds[LAYERS..].iter().any(|rounds| rounds.kind == kind) {
            let follow = |id: &u32| cp.node_mut(*id).endpoint.as_mut().map_or(0, |endpoint| endpoint.programs.follow(kind));
            let words = self.nodes.iter().map(follow).sum();
            self.pay(common, words);
        }
        NetworkOffsets::of(cp, &self.nodes, kind)
    }

    /// Plans when to look next.
    pub(super) fn follow_rounds(&mut self, common: &mut Common, cp: &mut Checkpoint<'_, Node>) {
        (LAYERS..self.rounds.len()).for_each(|of| self.follow_layers(common, of, cp));
        self.follow_steps(cp);
        self.keep_marks_ahead(cp);
    }

    /// Plans to look where the reference is as far in its next layer, if enough are left.
    fn follow_layers(&mut self, common: &mut Common, of: usize, cp: &mut Checkpoint<'_, Node>) {
        let (started, lacks) = (self.started_by_reference(cp), self.lacks(common, 0, Part::All, cp));
        let layers = &mut self.rounds[of];
        if !matches!(layers.stage, Stage::Search) || layers.mark > started || lacks > 0 {
            return;
        }
        (layers.mark, layers.every) = (0, 0);
        if self.shortest > PeriodKind::Packets && layers.kind == PeriodKind::Layers && layers.misses >= LEFT_TO_ISLANDS {
            return;
        }
        let Some(endpoint) = self.reference.and_then(|reference| cp.node_mut(reference).endpoint.as_mut()) else { return };
        let words = endpoint.programs.follow(layers.kind);
        let cycle = endpoint.cycle(layers.kind);
        self.pay(common, words);
        let layers = &mut self.rounds[of];
        let Some(Cycle { start, packets, begun, left }) = cycle.filter(|cycle| cycle.packets > 0) else { return };
        let several = (2 * self.lag + CALM).div_ceil(packets);
        let (is_over, every) = (layers.over == Some(start), several * packets);
        let is_planned = |other: &LongLevel| other.mark > started && other.kind >= PeriodKind::Layers && other.every == every;
        if left / several < FEW_LAYERS || is_over || self.rounds.iter().any(is_planned) {
            return;
        }
        // How long an operation takes would depend on when it is.
        self.pay(common, wide(self.nodes.len()));
        if self.nodes.iter().any(|id| cp.node(*id).failing.as_ref().is_some_and(|failing| failing.slows())) {
            return;
        }
        let layers = &mut self.rounds[of];
        layers.within = start;
        (layers.is_over, layers.is_valued) = (false, false);
        (layers.each, layers.every) = (packets, every);
        layers.mark = started + begun + CALM;
    }

    /// Plans to look at the next message of the reference, if enough are left for something to come of it.
    fn follow_steps(&mut self, cp: &Checkpoint<'_, Node>) {
        let started = self.started_by_reference(cp);
        let steps = &mut self.rounds[STEPS];
        if !matches!(steps.stage, Stage::Search) || self.shortest > PeriodKind::Steps {
            return;
        }
        (steps.is_over, steps.is_valued) = (false, false);
        let before = (steps.mark, steps.every);
        (steps.mark, steps.every) = (0, 0);
        let Some(endpoint) = self.reference.and_then(|reference| cp.node(reference).endpoint.as_ref()) else { return };
        let left = endpoint.programs.collectives().map(|(_, round)| round.run.end - round.posted).max().unwrap_or(0);
        let message = |flow: UnderWay| Some((flow.message?.0, (flow.alike + 1).saturating_sub(flow.sent)));
        let Some((packets, rest)) = endpoint.under_way().filter_map(message).max().filter(|message| message.0 > 0) else { return };
        let (left, packets) = (u64::from(left), u64::from(packets));
        // A look is over before the next.
        let several = (2 * self.lag + CALM).div_ceil(packets);
        if left / several < FEW {
            return;
        }
        let every = several * packets;
        (steps.each, steps.every) = (packets, every);
        // Where messages are as they were, looks go on as far apart, whichever of several connections has just begun one.
        steps.mark = if before.1 == every && before.0 > started { before.0 } else { started + u64::from(rest) + CALM };
    }

    /// At a moment that is in step with the messages, or the layers, of the reference: what can be repeated.
    pub(super) fn look_at_round(&mut self, common: &mut Common, of: usize, cp: &mut Checkpoint<'_, Node>) -> Option<Repeated> {
        match std::mem::take(&mut self.rounds[of].stage) {
            Stage::Search => self.seek_round(common, of, cp),
            Stage::Once(period) => {
                let hops = period.hops;
                self.rounds[of].stage = self.confirmed(common, period, self.rounds[of].kind, cp);
                self.rounds[of].mark += if matches!(self.rounds[of].stage, Stage::Search) { self.rounds[of].every } else { hops };
            }
            Stage::Twice(period, begun) => match self.repeated(common, period, begun, cp) {
                Found::Nothing => self.rounds[of].mark += self.rounds[of].every,
                Found::Unfit => self.go_on(of, (0, 0), Stage::Search, cp),
                Found::Fits(found) => return Some(*found),
            },
        }
        self.keep_marks_ahead(cp);
        None
    }

    /// Goes on where these were repeated so many times, of as many packets of the reference each.
    pub(super) fn go_on(&mut self, of: usize, (times, hops): (u64, u64), next: Stage, cp: &mut Checkpoint<'_, Node>) {
        let (rounds, is_over) = (&mut self.rounds[of], matches!(next, Stage::Search));
        // What is left is less than a period, or cannot be repeated.
        rounds.is_over |= is_over;
        rounds.misses = if times > 0 { 0 } else { rounds.misses };
        rounds.mark += hops * times + if is_over { rounds.every } else { hops };
        rounds.stage = next;
        // What was known of this message, or layer, is of one that is long over.
        self.rounds[STEPS..of].iter_mut().for_each(LongLevel::forget);
        self.search(cp);
        self.keep_marks_ahead(cp);
    }

    /// Moments that have passed without a look come again later; and what would be looked at where something longer is waits.
    fn keep_marks_ahead(&mut self, cp: &Checkpoint<'_, Node>) {
        let (started, lag) = (self.started_by_reference(cp), self.lag);
        let mut longer: Vec<u64> = Vec::new();
        for rounds in self.rounds.iter_mut().rev().filter(|rounds| rounds.mark > 0) {
            let before = rounds.mark;
            if rounds.mark <= started {
                rounds.mark += rounds.every * (1 + (started - rounds.mark) / rounds.every);
            }
            while longer.iter().any(|mark| rounds.is_near(*mark, lag)) {
                rounds.mark += rounds.every;
            }
            if rounds.mark != before {
                rounds.stage = Stage::Search;
            }
            longer.push(rounds.mark);
        }
    }

    /// Whether another look at these would cost too much.
    fn are_dear(&self, common: &mut Common, of: usize, cp: &Checkpoint<'_, Node>) -> bool {
        let LongLevel { cost, misses, .. } = self.rounds[of];
        self.lacks(common, cost, self.given(Part::All, misses), cp) > 0
    }

    fn seek_round(&mut self, common: &mut Common, of: usize, cp: &mut Checkpoint<'_, Node>) {
        let mark = self.rounds[of].mark;
        self.rounds[of].mark += self.rounds[of].every;
        if self.rounds[of].is_over && of >= LAYERS {
            // What comes after these layers is looked for anew.
            (self.rounds[of].mark, self.rounds[of].over) = (0, Some(self.rounds[of].within));
            return self.follow_layers(common, of, cp);
        }
        if self.rounds[of].is_over || self.rounds[of].is_valued && self.are_dear(common, of, cp) {
            return;
        }
        let reached = self.reach(self.rounds[of].kind, common, cp);
        self.pay(common, reached.cost());
        if reached.epoch != self.rounds[of].epoch {
            (self.rounds[of].epoch, self.rounds[of].looks) = (reached.epoch, 0);
            self.rounds[of].seen.clear();
            self.rounds[of].last = None;
        }
        // What was simulated and what is left are what it takes if nothing repeats itself.
        let events = self.events(common, cp) + EVENTS_A_PACKET * reached.rounds_left() * self.rounds[of].each;
        common.budget.allow(events);
        self.rounds[of].is_valued = true;
        self.rounds[of].is_over = reached.rounds_left() == 0 || self.rounds[of].looks >= MOST;
        if self.rounds[of].is_over || self.are_dear(common, of, cp) {
            return;
        }
        let mut walk = Walk::keep(cp.now, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let snapshot = walk.snapshot();
        self.rounds[of].cost = snapshot.count;
        self.pay(common, snapshot.count);
        self.rounds[of].looks += 1;
        if let Some((before, mark_before)) = self.rounds[of].seen.insert(snapshot.digest(), (cp.now, mark)) {
            let (at, length, hops) = (cp.now, cp.now - before, mark - mark_before);
            self.rounds[of].mark = mark + hops;
            // Of the look before all is known that has to be.
            let last = self.rounds[of].last.take().filter(|last| last.at == before && last.snapshot.is(&snapshot));
            self.rounds[of].stage = match last.filter(|_| !self.has_news(cp)) {
                Some(last) => {
                    let period = Period { length, hops, at, snapshot, prints: last.prints };
                    Stage::Twice(period, Box::new(self.begun(common, at, reached, cp)))
                }
                None => Stage::Once(Period { length, hops, at, snapshot, prints: self.prints(cp) }),
            };
        } else {
            self.rounds[of].misses += 1;
            self.rounds[of].last = Some(Look { at: cp.now, snapshot, prints: self.prints(cp) });
        }
    }
}
