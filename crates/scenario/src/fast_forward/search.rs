//! Search: the detection of periods in one scope.
//!
//! Probes take place when one host, the *reference node*, has started a mark of data packets. The reference
//! node is the host with the most data left to send. A probe belongs to the longest level with this mark;
//! shorter levels keep their marks clear of the marks of longer levels.

use xoff_engine::Checkpoint;
use xoff_engine::state::{PeriodKind, Totals};
use xoff_models::hosts::endpoint::UnderWay;
use xoff_models::network::node::Node;
use xoff_models::traffic::application::period;
use xoff_units::{Duration, Moment, wide};

use super::blockers::Blockers;
use super::budget::{Account, Budget, Purpose, WORDS_PER_ENTRY};
use super::busy_periods::{BusyPeriods, Recall};
use super::detector::Detector;
use super::level::{LAYERS, Level, PACKETS, Probe, STEPS};
use super::offsets::NetworkOffsets;
use super::period::{Period, Stage};
use super::replay::{Bounds, Replay, unwatched};
use super::scope::{Instant, Scope};
use super::shared::Shared;
use super::suspended::Suspended;

/// Longest wait for a reference node that starts packets, in checkpoints; the wait doubles up to here.
/// Without a wait: 1.03 times the packet-hops.
const IDLE: u32 = 1 << 10;
/// Packets of the reference node after the start or end of flows before the next probe. With 16: 1.05 times
/// the packet-hops.
pub(super) const CALM: u64 = 8;
/// Fewest packets left of every flow for a probe of packets. With 16, iterations of micro-batches lose a
/// quarter.
const LEAST: u32 = 64;

/// Most probes of a longer level in the same collectives or loops. Without a limit, two jobs side by side
/// fall from 89 % of fast-forward to 53 %.
const MOST: u64 = 12;

/// What may be repeated in a scope, now or later.
pub struct Repetition {
    pub of: Source,
    /// Moment of the start.
    pub at: Moment,
    /// Time of one repetition.
    pub length: Duration,
    /// Number of repetitions, and rows of each.
    pub times: u64,
    pub rows: u64,
}

/// What is repeated.
pub enum Source {
    /// The period of a level.
    Period(usize, Box<Replay>),
    /// A busy period.
    BusyPeriod(Box<Recall>),
}

/// The host whose packets count the probes.
#[derive(Default)]
pub(super) struct Reference {
    pub(super) node: Option<u32>,
    /// Packets started at the last checkpoint.
    pub(super) started: u64,
    /// Checkpoints without a started packet, and the limit before another node is chosen.
    pub(super) idle: u32,
    pub(super) idle_limit: u32,
    /// Events and packets when the flows were first seen.
    pub(super) since: (u64, u64),
    /// Largest number of packets started between a mark and the probe.
    pub(super) lag: u64,
}

/// The search in one scope.
pub struct Search {
    pub scope: Scope,
    pub levels: [Level; 4],
    pub busy_periods: BusyPeriods,
    /// Mark of the next probe.
    pub(super) next_mark: Option<u64>,
    /// Events fast-forwarded by the scope.
    pub forwarded: u64,
    /// Place of the shortest level of the search.
    pub(super) shortest: usize,
    pub(super) reference: Reference,
    pub(super) account: Account,
    /// Packets to wait after a change of flows.
    pub(super) calm: u64,
    /// True if a probe waited for the budget since the last change of flows.
    pub(super) has_waited: bool,
    pub(super) blockers: Blockers,
}

impl Search {
    /// Returns the search in a scope.
    pub fn of(scope: Scope, cp: &Checkpoint<'_, Node>) -> Self {
        Self {
            levels: Level::all(),
            busy_periods: BusyPeriods::default(),
            next_mark: None,
            forwarded: 0,
            shortest: PACKETS,
            reference: Reference { idle_limit: 1, ..Reference::default() },
            account: Account::new(cp.events_of(&scope.nodes)),
            calm: CALM,
            has_waited: false,
            blockers: Blockers::default(),
            scope,
        }
    }

    /// True if records of the nodes must stay with the nodes.
    pub fn keeps_rows(&self) -> bool {
        self.busy_periods.keeps_rows() || self.levels.iter().any(|level| level.stage.keeps_rows())
    }

    /// Lets the records of the nodes go.
    pub fn release(&mut self) {
        self.busy_periods.release();
        self.levels.iter_mut().for_each(|level| level.stage.release());
    }

    /// Searches this level and longer levels from now on.
    pub fn set_shortest(&mut self, level: usize, cp: &Checkpoint<'_, Node>) {
        self.shortest = level;
        self.levels[STEPS].forget();
        self.restart_packets(cp);
    }

    /// Searches again for periods that could not be repeated before.
    pub const fn retry(&mut self) {
        self.levels[PACKETS].is_done = false;
    }

    /// Starts the search for packets again with short strides.
    pub fn hurry(&mut self, cp: &Checkpoint<'_, Node>) {
        let packets = &mut self.levels[PACKETS];
        if matches!(packets.stage, Stage::Search) {
            (packets.detector, packets.is_done) = (Detector::baby_step_giant_step(1), false);
            self.restart_packets(cp);
        }
    }

    /// Returns the reference node.
    pub const fn reference(&self) -> Option<u32> {
        self.reference.node
    }

    /// Returns the reference node and the mark of the next probe.
    pub fn request(&self) -> Option<(u32, u64)> {
        Some((self.reference.node?, self.next_mark?))
    }

    /// Returns the events of the scope, fast-forwarded events included.
    fn events(&self, shared: &Shared, cp: &Checkpoint<'_, Node>) -> u64 {
        self.scope.simulated(cp) + if self.scope.is_whole { shared.forwarded.events } else { self.forwarded }
    }

    /// Returns the packets started by the reference node.
    pub(super) fn started(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.reference.node.map_or(0, |node| cp.node(node).counts.data_hops)
    }

    pub(super) fn spend(&mut self, shared: &mut Shared, words: u64) {
        shared.budget.spend(&mut self.account, words, Purpose::Periods);
    }

    pub(super) fn missing(&self, shared: &mut Shared, cost: u64, cp: &Checkpoint<'_, Node>) -> u64 {
        shared.update_budget(cp);
        shared.budget.missing(&self.account, self.scope.simulated(cp), cost, Purpose::Periods)
    }
}

/// The reference node and the marks.
impl Search {
    /// Drops periods that can no longer be confirmed, and chooses another reference node if the node starts
    /// nothing.
    pub fn tend(&mut self, suspended: &Suspended, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let flow_ended = self.keeps_rows() && self.scope.has_ended_flows(cp);
        for level in &mut self.levels[STEPS..] {
            if level.stage.is_late(flow_ended, cp.now) {
                level.stage = Stage::Search;
            }
        }
        if self.levels[PACKETS].stage.is_late(flow_ended, cp.now) {
            self.restart_packets(cp);
        }
        let (started, reference) = (self.started(cp), &mut self.reference);
        reference.idle = if started == reference.started { reference.idle + 1 } else { 0 };
        let is_idle = reference.node.is_none() || reference.idle >= reference.idle_limit;
        let is_searching = self.levels.iter().all(|level| matches!(level.stage, Stage::Search));
        if is_idle
            && is_searching
            && self.missing(shared, WORDS_PER_ENTRY * wide(self.scope.nodes.len()), cp) == 0
        {
            self.choose_reference(suspended, shared, cp);
        }
        self.reference.started = self.started(cp);
    }

    /// Returns the running host with the most data left to send, and the cost of the choice.
    fn busiest(&self, suspended: &Suspended, cp: &Checkpoint<'_, Node>) -> (Option<u32>, u64) {
        let (mut most, mut busiest, mut seen) = (0, None, wide(self.scope.nodes.len()));
        for id in self.scope.nodes.iter().copied().filter(|id| !suspended.has(*id)) {
            for UnderWay { alike, sent, message, .. } in
                cp.node(id).endpoint.iter().flat_map(|e| e.under_way())
            {
                // Messages to come are taken as equal to the current message.
                let to_come = message.map_or(0, |(packets, more)| u64::from(packets) * u64::from(more));
                let left = u64::from(alike.saturating_sub(sent)) + to_come;
                if left > most {
                    (most, busiest) = (left, Some(id));
                }
                seen += 1;
            }
        }
        (busiest, seen * WORDS_PER_ENTRY)
    }

    /// Chooses the reference node. While all ranks compute, the node stays.
    fn choose_reference(
        &mut self,
        suspended: &Suspended,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        let (busiest, words) = self.busiest(suspended, cp);
        self.spend(shared, words);
        let node = busiest.or(self.reference.node);
        let is_same = std::mem::replace(&mut self.reference.node, node) == node;
        self.reference.idle = 0;
        self.reference.idle_limit = if is_same { (2 * self.reference.idle_limit).min(IDLE) } else { 1 };
        if !is_same {
            self.levels[STEPS..].iter_mut().for_each(Level::forget);
            self.reference.since = (cp.statistics.events + shared.forwarded.events, self.started(cp));
        }
        self.levels[STEPS].forget();
        self.plan(shared, cp);
        self.restart_packets(cp);
    }

    /// Starts the search for packets again, from the next packet on.
    pub fn restart_packets(&mut self, cp: &Checkpoint<'_, Node>) {
        self.levels[PACKETS].restart();
        self.levels[PACKETS].mark = self.started(cp);
        self.advance(PACKETS, self.levels[PACKETS].detector.stride, cp);
    }

    /// Moves the mark of a level ahead by a multiple of these packets, clear of the marks of longer levels.
    /// Returns the multiple.
    fn advance(&mut self, of: usize, packets: u64, cp: &Checkpoint<'_, Node>) -> u64 {
        let mark = self.levels[of].mark;
        let mut times = 1 + self.started(cp).saturating_sub(mark) / packets;
        while self.levels[of + 1..]
            .iter()
            .any(|level| level.is_near(mark + times * packets, self.reference.lag))
        {
            times += 1;
        }
        self.levels[of].mark += times * packets;
        self.arrange(of > PACKETS, cp);
        times
    }

    /// Moves marks near the mark of a longer level, and past marks if `revives`, and finds the next mark.
    pub(super) fn arrange(&mut self, revives: bool, cp: &Checkpoint<'_, Node>) {
        let (started, lag) = (self.started(cp), self.reference.lag);
        for of in (STEPS..self.levels.len()).rev() {
            let (shorter, longer) = self.levels.split_at_mut(of + 1);
            let level = &mut shorter[of];
            let before = level.mark;
            if before == 0 || before <= started && !revives {
                continue;
            }
            let stride = level.detector.stride;
            if before <= started {
                level.mark += stride * (1 + (started - before) / stride);
            }
            while longer.iter().any(|other| other.is_near(level.mark, lag)) {
                level.mark += stride;
            }
            if level.mark != before {
                level.stage = Stage::Search;
            }
        }
        let marks = self.levels[self.shortest..].iter().filter_map(|level| level.planned(started));
        self.next_mark = marks.min();
    }
}

/// Probes.
impl Search {
    /// Probes the longest level with the current mark. Returns what may be repeated.
    pub fn probe(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) -> Option<Repetition> {
        let (started, mark) = (self.started(cp), self.next_mark?);
        self.reference.lag = self.reference.lag.max(started.saturating_sub(mark));
        let of = self.levels.iter().rposition(|level| level.mark == mark).unwrap_or(PACKETS);
        let mut found = None;
        match std::mem::take(&mut self.levels[of].stage) {
            Stage::Search if of == PACKETS => self.search_packets(shared, cp),
            Stage::Search => self.search_longer(of, shared, cp),
            Stage::Candidate(period) => self.confirm(of, period, shared, cp),
            Stage::Confirmed(period, start, totals) => {
                found = self.replay(of, (period, start, totals), shared, cp);
            }
        }
        if found.is_none() && of > PACKETS && self.levels[PACKETS].mark <= started {
            self.restart_packets(cp);
        }
        found
    }

    /// Returns the offsets of a level, and spends their cost.
    fn offsets(&mut self, of: usize, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) -> NetworkOffsets {
        let kind = self.levels[of].kind;
        let follow =
            |id: &u32| cp.node_mut(*id).endpoint.as_mut().map_or(0, |endpoint| endpoint.follow(kind));
        let words = if of < LAYERS { 0 } else { self.scope.nodes.iter().map(follow).sum() };
        self.spend(shared, words);
        NetworkOffsets::of(cp, &self.scope.nodes, kind, shared.folded.as_ref())
    }

    /// Probes packets, unless flows have changed or the budget is spent.
    fn search_packets(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        if let Some(wait) = self.wait(shared, cp) {
            let packets = self.levels[PACKETS].detector.wait(wait);
            self.advance(PACKETS, packets, cp);
            return;
        }
        let offsets = self.offsets(PACKETS, shared, cp);
        let packets = &mut self.levels[PACKETS];
        // Many probes end here, and have to be earned as well.
        packets.cost = packets.cost.max(offsets.cost());
        self.spend(shared, offsets.cost());
        if offsets.epoch != self.levels[PACKETS].epoch {
            return self.change_flows(offsets.epoch, shared, cp);
        }
        let ends_soon = offsets.least < LEAST && shared.stall_ahead(cp).is_none();
        if self.levels[PACKETS].is_done || ends_soon {
            self.advance(PACKETS, LEAST.into(), cp);
            return;
        }
        if self.blockers.probes == 0 && self.calm > CALM {
            // The shortest possible distance of two probes is the stride.
            self.calm = CALM;
            self.levels[PACKETS].detector = Detector::baby_step_giant_step(self.advance(PACKETS, 1, cp));
            return;
        }
        shared.budget.expect_packets(cp.statistics.events + shared.forwarded.events / 8, offsets.left);
        self.compare(PACKETS, offsets, shared, cp);
    }

    /// Returns the packets of the reference node during which the scope earns a probe of packets.
    fn wait(&mut self, shared: &mut Shared, cp: &Checkpoint<'_, Node>) -> Option<u64> {
        let cost = self.levels[PACKETS].cost;
        let missing = self.missing(shared, cost, cp);
        if missing == 0 {
            return None;
        }
        self.has_waited = true;
        let missing = shared.budget.settle(&mut self.account, self.scope.simulated(cp), (cost, missing));
        let packets = (self.levels[PACKETS].mark - self.reference.since.1).max(1);
        let events = (cp.statistics.events + shared.forwarded.events - self.reference.since.0).max(packets);
        Some(Budget::events(missing) * packets / events)
    }

    /// Starts with other flows, or the same flows towards another end. Where flows change often, probes are
    /// fewer.
    fn change_flows(&mut self, epoch: u64, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        self.blockers.changes += u64::from(!self.levels[PACKETS].is_done);
        self.report_blockers(shared);
        let packets = &mut self.levels[PACKETS];
        (packets.epoch, packets.is_done) = (epoch, false);
        packets.restart();
        self.blockers.clear();
        self.reference.since = (cp.statistics.events + shared.forwarded.events, self.levels[PACKETS].mark);
        if !std::mem::take(&mut self.has_waited) {
            self.calm = (2 * self.calm).min(1 << 14);
        }
        self.plan(shared, cp);
        self.advance(PACKETS, self.calm, cp);
    }

    /// Probes a longer level, unless the budget is spent.
    fn search_longer(&mut self, of: usize, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let Level { is_done, cost, region, .. } = self.levels[of];
        if is_done && of >= LAYERS {
            (self.levels[of].mark, self.levels[of].done_region) = (0, Some(region));
            self.plan_layers(of, shared, cp);
            return self.arrange(true, cp);
        }
        let mut is_possible = !is_done && (cost == 0 || self.missing(shared, cost, cp) == 0);
        let offsets = if is_possible { Some(self.offsets(of, shared, cp)) } else { None };
        if let Some(offsets) = &offsets {
            self.spend(shared, offsets.cost());
            let (level, left) = (&mut self.levels[of], offsets.periods_left());
            if offsets.epoch != level.epoch {
                (level.epoch, level.probes) = (offsets.epoch, 0);
                level.restart();
            }
            level.is_done = left == 0 || level.probes >= MOST;
            level.cost = level.cost.max(1);
            let (events, unit, cost) = (self.events(shared, cp), self.levels[of].unit, self.levels[of].cost);
            shared.budget.expect_packets(events, left * unit);
            is_possible = !self.levels[of].is_done && self.missing(shared, cost, cp) == 0;
        }
        match offsets.filter(|_| is_possible) {
            Some(offsets) => self.compare(of, offsets, shared, cp),
            None => _ = self.advance(of, self.levels[of].detector.stride, cp),
        }
    }

    /// Compares the state with the states of earlier probes.
    fn compare(
        &mut self,
        of: usize,
        offsets: NetworkOffsets,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        let (at, keeps_words) = (cp.now, of > PACKETS);
        let snapshot = self.scope.snapshot(at, &offsets, keeps_words, cp);
        self.spend(shared, snapshot.count);
        let level = &mut self.levels[of];
        level.cost = snapshot.count;
        level.probes += 1;
        let Some(recurrence) = level.detector.probe(snapshot.digest(), at, level.mark) else {
            let stride = level.detector.next_stride();
            if keeps_words {
                level.last = Some(Probe { at, snapshot, fingerprints: self.scope.fingerprints(cp) });
            } else {
                self.blockers.count(&snapshot);
            }
            self.advance(of, stride, cp);
            return;
        };
        let last = level.last.take();
        let snapshot = if keeps_words { snapshot } else { self.scope.snapshot(at, &offsets, true, cp) };
        let times = self.advance(of, recurrence.packets, cp);
        let (length, packets) = (recurrence.length * times, recurrence.packets * times);
        // After two equal probes in sequence, the first is a confirmation.
        let is_confirmed = |last: &Probe| times == 1 && last.at + length == at && last.snapshot.is(&snapshot);
        self.levels[of].stage =
            match last.filter(|last| is_confirmed(last) && !self.scope.has_ended_flows(cp)) {
                Some(Probe { fingerprints, .. }) => self.confirmed(
                    Period { length, packets, at, snapshot, fingerprints },
                    at,
                    offsets,
                    shared,
                    cp,
                ),
                None => Stage::Candidate(Period {
                    length,
                    packets,
                    at,
                    snapshot,
                    fingerprints: self.scope.fingerprints(cp),
                }),
            };
    }

    /// Reads the state, and returns true if the state is that of a period, at the end of the period.
    fn verify(
        &mut self,
        of: usize,
        (period, start): (&Period, Moment),
        offsets: &NetworkOffsets,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) -> bool {
        if cp.now != start + period.length || offsets.epoch != self.levels[of].epoch {
            return false;
        }
        let snapshot = self.scope.snapshot(cp.now, offsets, true, cp);
        self.spend(shared, snapshot.count);
        snapshot.is(&period.snapshot)
    }

    /// Returns a confirmed period that starts at a moment.
    fn confirmed(
        &self,
        period: Period,
        at: Moment,
        offsets: NetworkOffsets,
        shared: &Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Stage {
        let totals = self.scope.totals(at, &offsets, cp);
        Stage::Confirmed(
            period,
            Box::new(self.scope.instant(at, offsets, self.events(shared, cp), cp)),
            totals,
        )
    }

    /// Compares a candidate with the state a period later.
    fn confirm(&mut self, of: usize, period: Period, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let offsets = self.offsets(of, shared, cp);
        if !self.verify(of, (&period, period.at), &offsets, shared, cp) {
            return self.fail(of, cp);
        }
        self.advance(of, period.packets, cp);
        self.levels[of].stage = if self.scope.has_ended_flows(cp) {
            Stage::Candidate(Period { at: cp.now, fingerprints: self.scope.fingerprints(cp), ..period })
        } else {
            self.confirmed(period, cp.now, offsets, shared, cp)
        };
    }

    /// Searches again after a period did not recur.
    fn fail(&mut self, of: usize, cp: &Checkpoint<'_, Node>) {
        if of == PACKETS {
            return self.restart_packets(cp);
        }
        self.advance(of, self.levels[of].detector.stride, cp);
    }

    /// Returns the replay of a period that has recurred for the second time.
    fn replay(
        &mut self,
        of: usize,
        (period, start, totals): (Period, Box<Instant>, Totals),
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Repetition> {
        let offsets = self.offsets(of, shared, cp);
        // Traffic across the border may differ the next time, and a pause at the border waits for other
        // nodes.
        let is_closed = self.scope.crossed(cp) == start.crossed && !self.scope.is_border_paused(cp);
        if !is_closed
            || !self.verify(of, (&period, start.at), &offsets, shared, cp)
            || unwatched(&self.scope, shared, &start, cp) == 0
        {
            self.fail(of, cp);
            return None;
        }
        let started = self.started(cp);
        let marks = self.levels[of + 1..].iter().filter_map(|level| level.planned(started));
        let bounds = Bounds {
            events: self.events(shared, cp),
            packets: marks.min().map_or(u64::MAX, |mark| mark - started - 1),
        };
        let Some(replay) = Replay::new(&self.scope, shared, (period, start, totals), offsets, &bounds, cp)
        else {
            // The reason stands until flows change.
            self.go_on(of, (0, 0), Stage::Search, cp);
            return None;
        };
        let (length, times, rows) = (replay.period.length, replay.times, replay.rows);
        Some(Repetition { of: Source::Period(of, Box::new(replay)), at: cp.now, length, times, rows })
    }
}

/// Repetition.
impl Search {
    /// Repeats this many times, at most as often as possible, and continues the search from there.
    pub fn fast_forward(
        &mut self,
        found: Repetition,
        times: u64,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        match found.of {
            Source::Period(of, replay) => self.repeat(of, *replay, times, shared, cp),
            Source::BusyPeriod(recall) if times > 0 => {
                let hops = self.scope.packet_hops(cp);
                if let Some(events) = self.busy_periods.apply(&self.scope, &recall, found.at, cp) {
                    self.count(period::BUSY, hops, events, shared, cp);
                    self.busy_periods.refund(&mut self.account, shared);
                    self.restart_packets(cp);
                }
            }
            Source::BusyPeriod(_) => {}
        }
    }

    fn repeat(
        &mut self,
        of: usize,
        replay: Replay,
        times: u64,
        shared: &mut Shared,
        cp: &mut Checkpoint<'_, Node>,
    ) {
        let (events, hops, packets) =
            (self.events(shared, cp), self.scope.packet_hops(cp), replay.period.packets);
        let before = times.checked_sub(1).and_then(|but_one| replay.fingerprints(&self.scope, but_one, cp));
        if let Some(events) = replay.apply(&self.scope, times, events, cp) {
            self.count(self.levels[of].kind, hops, events, shared, cp);
            self.blockers.changes /= 2;
        }
        let next = if replay.is_complete(times) {
            Stage::Search
        } else if times == replay.times {
            // Records are taken first.
            Stage::Candidate(replay.candidate(times, self.scope.fingerprints(cp)))
        } else {
            let at = replay.begun() + replay.period.length * times;
            let offsets =
                NetworkOffsets::of(cp, &self.scope.nodes, self.levels[of].kind, shared.folded.as_ref());
            let Replay { period, start, .. } = replay;
            let period = Period { fingerprints: before.unwrap_or(start.fingerprints), ..period };
            self.confirmed(period, at, offsets, shared, cp)
        };
        self.go_on(of, (times, packets), next, cp);
    }

    /// Continues after repetitions of a period with this many packets of the reference node.
    fn go_on(&mut self, of: usize, (times, packets): (u64, u64), next: Stage, cp: &Checkpoint<'_, Node>) {
        let level = &mut self.levels[of];
        let is_done = matches!(next, Stage::Search);
        level.is_done |= is_done;
        level.stage = next;
        level.mark += times * packets;
        let ahead = if is_done { level.detector.stride } else { packets };
        self.advance(of, ahead, cp);
        // Shorter levels knew messages or layers that are over.
        self.levels[..of].iter_mut().for_each(Level::forget);
        if of > PACKETS || is_done {
            self.restart_packets(cp);
        }
    }

    /// Counts what was repeated, from a number of packet-hops on.
    fn count(
        &mut self,
        kind: PeriodKind,
        hops: u64,
        events: u64,
        shared: &mut Shared,
        cp: &Checkpoint<'_, Node>,
    ) {
        let hops = self.scope.packet_hops(cp) - hops;
        let forwarded = &mut shared.forwarded;
        forwarded.packet_hops[period::place(kind)] += hops;
        forwarded.packet_hops_in_components += if self.scope.is_whole { 0 } else { hops };
        forwarded.events += events;
        *(if kind == period::BUSY { &mut forwarded.busy_periods } else { &mut forwarded.periods }) += 1;
        self.forwarded += events;
    }

    /// Forgets all periods in sequence with the current moment, which nodes have passed as part of another
    /// scope.
    pub fn overtake(&mut self, cp: &Checkpoint<'_, Node>) {
        self.levels[STEPS..].iter_mut().for_each(|level| level.stage = Stage::Search);
        self.busy_periods.forget_open();
        self.restart_packets(cp);
    }

    /// Returns the recorded busy period that begins at a quiet moment.
    pub fn recall(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) -> Option<Repetition> {
        // Layers in sequence are repeated many at once.
        let is_next = |level: &Level| match &level.stage {
            Stage::Search => false,
            Stage::Candidate(period) | Stage::Confirmed(period, ..) => {
                period.packets <= level.detector.stride
            }
        };
        let is_preceded = self.levels[LAYERS..].iter().any(is_next);
        let events = self.events(shared, cp);
        let found =
            self.busy_periods.recall(&self.scope, &mut self.account, (events, is_preceded), shared, cp)?;
        let (at, length, rows) = (found.at, found.length, found.rows);
        Some(Repetition { of: Source::BusyPeriod(Box::new(found)), at, length, times: 1, rows })
    }

    /// Ends the search.
    pub fn end(mut self, shared: &mut Shared) {
        self.report_blockers(shared);
        shared.recorded -= self.busy_periods.recorded;
    }

    /// Reports the reasons against repetition of this scope, if no scope has failed more often.
    pub fn report_blockers(&mut self, shared: &mut Shared) {
        self.blockers.report(self.levels[PACKETS].is_done, &mut shared.blockers);
    }
}
