//! Repeating a period: whether it came again, how often it fits, and how nodes are put further by it.

use xoff_engine::state::{Offsets, PeriodKind, Walk};
use xoff_engine::{Checkpoint, Fingerprint};
use xoff_models::ids::PortId;
use xoff_models::node::Node;
use xoff_units::Moment;

use super::Common;
use super::offsets::NetworkOffsets;
use super::period::{Again, Begun, Found, Period, ROWS, Repeated, Stage, What};
use super::search::Search;
use crate::audit::{STILL, find_deadlock, may_stand_still};

impl Search {
    pub fn prints(&self, cp: &mut Checkpoint<'_, Node>) -> Vec<Fingerprint> {
        self.nodes.iter().map(|id| *cp.fingerprint_mut(*id)).collect()
    }

    /// Whether a flow is over that was not written into a table yet.
    pub fn has_news(&self, cp: &Checkpoint<'_, Node>) -> bool {
        let mut endpoints = self.nodes.iter().filter_map(|id| cp.node(*id).endpoint.as_ref());
        endpoints.any(|e| !(e.sent.is_empty() && e.arrived.is_empty()))
    }

    /// Bytes that have crossed the border of these nodes.
    pub fn crossed(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        let sent = |(node, port): &(u32, PortId)| {
            let port = &cp.node(*node).core.ports[*port];
            port.data_bytes + port.control_bytes
        };
        self.border.iter().map(sent).sum()
    }

    /// Data packets that these nodes have started.
    pub fn hops(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.nodes.iter().map(|id| cp.node(*id).counts.data_hops).sum()
    }

    /// Whether a snapshot is that of a period, at the moment at which it should be.
    pub fn is_again(
        &mut self,
        common: &mut Common,
        period: &Period,
        begun: Moment,
        reached: &NetworkOffsets,
        cp: &mut Checkpoint<'_, Node>,
    ) -> bool {
        let of = self.rounds.iter().position(|rounds| rounds.kind == reached.kind);
        let epoch = of.map_or(self.epoch, |of| self.rounds[of].epoch);
        if cp.now != begun + period.length || reached.epoch != epoch {
            return false;
        }
        let mut walk = Walk::keep(cp.now, reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let snapshot = walk.snapshot();
        self.pay(common, snapshot.count);
        snapshot.is(&period.snapshot)
    }

    /// A snapshot that came again a period ago: what becomes of it.
    pub fn confirmed(&mut self, common: &mut Common, period: Period, kind: PeriodKind, cp: &mut Checkpoint<'_, Node>) -> Stage {
        let reached = self.reach(kind, common, cp);
        if !self.is_again(common, &period, period.at, &reached, cp) {
            return Stage::Search;
        }
        if self.has_news(cp) {
            return Stage::Once(Period { at: cp.now, prints: self.prints(cp), ..period });
        }
        Stage::Twice(period, Box::new(self.begun(common, cp.now, reached, cp)))
    }

    /// The beginning of a period, now that these nodes are at this moment.
    pub fn begun(&self, common: &Common, at: Moment, reached: NetworkOffsets, cp: &mut Checkpoint<'_, Node>) -> Begun {
        let mut walk = Walk::note(at, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let (totals, prints) = (walk.totals(), self.prints(cp));
        let watched = common.watched.map(|(reference, _)| (reference, cp.node(reference).counts.data_hops));
        Begun { at, totals, prints, events: self.events(common, cp), crossed: self.crossed(cp), watched, reached }
    }

    /// What is found a period after it came again.
    pub fn repeated(&mut self, common: &mut Common, period: Period, begun: Box<Begun>, cp: &mut Checkpoint<'_, Node>) -> Found {
        let reached = self.reach(begun.reached.kind, common, cp);
        // What crosses the border may come otherwise next time; and who is paused there waits for somebody beyond it.
        let is_paused = |(node, port): &(u32, PortId)| cp.node(*node).open_pauses.iter().any(|pause| pause.port == *port);
        let is_apart = self.crossed(cp) == begun.crossed && !self.border.iter().any(is_paused);
        if !is_apart || !self.is_again(common, &period, begun.at, &reached, cp) || self.times_unwatched(common, &begun, cp) == 0 {
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
        reached: NetworkOffsets,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Option<Repeated> {
        let mut walk = Walk::note(cp.now, &reached);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let totals = walk.totals();
        self.outside = totals.outside;
        let once = reached.since(&begun.reached, 1);
        let fits = self.times(common, &period, &begun, (&reached, &once), cp)?;
        let rows = totals.rows - begun.totals.rows.min(totals.rows);
        // Ports that send nothing in all of it may be a deadlock, which somebody else looks for.
        if find_deadlock(cp, begun.at, |id| self.nodes.binary_search(&id).is_ok()).is_some() {
            return None;
        }
        // Nor is a circle that lasted for a part of a long period one that nobody looked at because of when it was.
        if period.length > STILL && may_stand_still(cp, self.nodes.iter().copied(), STILL) {
            return None;
        }
        let still = reached.since(&begun.reached, 0);
        let mut walk = Walk::repeat(cp.now, period.length, 0, begun.totals.clone(), &still);
        cp.walk_some(self.nodes.iter().copied(), &mut walk);
        let is_alike = walk.fits();
        let (length, times) = (period.length, fits.min((ROWS / rows.max(1)).max(1)));
        let found = Again { period, begun, reached, fits };
        let is_found = is_alike && self.prints_ahead(&found, 1, cp).is_some();
        is_found.then(|| Repeated { what: What::Period(Box::new(found)), length, at: cp.now, times, rows })
    }

    /// What fingerprints are when it has happened so often again; none if its arrivals are not alike.
    fn prints_ahead(&self, of: &Again, times: u64, cp: &mut Checkpoint<'_, Node>) -> Option<Vec<Fingerprint>> {
        let ends = of.period.prints.iter().zip(&of.begun.prints);
        self.nodes.iter().zip(ends).map(|(id, (first, last))| cp.fingerprint_mut(*id).again(*first, *last, times)).collect()
    }

    /// Puts the nodes further by so many times what was found, no more than fit, and goes on looking there.
    pub fn fast_forward(&mut self, common: &mut Common, found: Repeated, times: u64, cp: &mut Checkpoint<'_, Node>) {
        match found.what {
            What::Period(again) => self.put_periods(common, (*again, found.at, found.times), times, cp),
            What::BusyPeriod(recalled) if times > 0 => self.put_busy_period(common, *recalled, found.at, cp),
            What::BusyPeriod(_) => {}
        }
    }

    /// Counts what was forwarded, across the ends of that, beyond so many packets that these had started.
    pub fn count(&mut self, common: &mut Common, kind: PeriodKind, (hops, events): (u64, u64), cp: &Checkpoint<'_, Node>) {
        let hops = self.hops(cp) - hops;
        common.forwarded.packet_hops[kind as usize] += hops;
        common.forwarded.packet_hops_in_components += if self.is_whole { 0 } else { hops };
        common.forwarded.events += events;
        self.events_forwarded += events;
    }

    fn put_periods(&mut self, common: &mut Common, (found, at, most): (Again, Moment, u64), times: u64, cp: &mut Checkpoint<'_, Node>) {
        let before = times.checked_sub(1).and_then(|but_one| self.prints_ahead(&found, but_one, cp));
        if let Some(ahead) = self.prints_ahead(&found, times, cp).filter(|_| times > 0) {
            let (hops, events) = (self.hops(cp), times * (self.events(common, cp) - found.begun.events));
            let further = found.reached.since(&found.begun.reached, times);
            let mut walk = Walk::repeat(at, found.period.length, times, found.begun.totals.clone(), &further);
            cp.walk_some(self.nodes.iter().copied(), &mut walk);
            for (id, print) in self.nodes.iter().zip(ahead) {
                *cp.fingerprint_mut(*id) = print;
            }
            self.count(common, found.reached.kind, (hops, events), cp);
            common.forwarded.periods += 1;
            (self.misses, self.begun) = (0, self.begun / 2);
        }
        let Again { period, begun, reached, fits } = found;
        let (kind, at, hops) = (reached.kind, at + period.length * times, period.hops);
        let next = if times == fits {
            // What is left is less than a period.
            Stage::Search
        } else if times == most {
            // It goes on when what it wrote was taken.
            Stage::Once(Period { at, prints: self.prints(cp), ..period })
        } else {
            let period = Period { prints: before.unwrap_or(begun.prints), ..period };
            let reached = NetworkOffsets::of(cp, &self.nodes, kind);
            Stage::Twice(period, Box::new(self.begun(common, at, reached, cp)))
        };
        if let Some(of) = self.rounds.iter().position(|rounds| rounds.kind == kind) {
            return self.go_on(of, (times, hops), next, cp);
        }
        if matches!(next, Stage::Search) {
            self.is_done = true;
            return self.search(cp);
        }
        self.arm(cp, hops);
        self.stage = next;
    }

    /// Events of these nodes that were simulated.
    pub fn simulated(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        if self.is_whole { cp.statistics.events } else { cp.events_of(&self.nodes) }
    }

    /// Events of these nodes up to now, forwarded ones among them.
    pub fn events(&self, common: &Common, cp: &Checkpoint<'_, Node>) -> u64 {
        self.simulated(cp) + if self.is_whole { common.forwarded.events } else { self.events_forwarded }
    }

    /// How often a period fits before all nodes are looked at, if their reference is one of these: it is to be looked at where it asked for.
    fn times_unwatched(&self, common: &Common, begun: &Begun, cp: &Checkpoint<'_, Node>) -> u64 {
        let watched = common.watched.filter(|(reference, _)| !self.is_whole && self.nodes.binary_search(reference).is_ok());
        let Some((reference, asks)) = watched else { return u64::MAX };
        let Some((_, before)) = begun.watched.filter(|before| before.0 == reference) else { return 0 };
        let started = cp.node(reference).counts.data_hops;
        asks.saturating_sub(started + 1).checked_div(started - before).unwrap_or(u64::MAX)
    }

    /// How often a period fits before something else happens: `reached` is how far it is now, and `once` by how much one brings it on.
    fn times(
        &self,
        common: &Common,
        period: &Period,
        begun: &Begun,
        (reached, once): (&NetworkOffsets, &NetworkOffsets),
        cp: &Checkpoint<'_, Node>,
    ) -> Option<u64> {
        let end = common.elsewhere.map_or(common.until, |at| common.until.min(at));
        let time = end.min(self.outside).since(cp.now);
        let mut times = time.ps() / period.length.ps();
        let stall_deadline = common.stall_deadline.filter(|stall_deadline| stall_deadline.nears(cp));
        if let Some(stall_deadline) = stall_deadline {
            let events = self.events(common, cp) - begun.events;
            let left = stall_deadline.events.saturating_sub(cp.statistics.events + common.forwarded.events);
            times = times.min(stall_deadline.at.since(cp.now).ps() / period.length.ps()).min(left / events.max(1));
        }
        times = times.min(reached.fits(once)?);
        for longer in self.rounds.iter().filter(|rounds| rounds.kind > reached.kind) {
            times = times.min(longer.ahead(self.started_by_reference(cp)) / period.hops);
        }
        times = times.min(self.times_unwatched(common, begun, cp));
        let mut gains = stall_deadline.is_some() && self.is_whole;
        for flow in self.nodes.iter().filter_map(|id| cp.node(*id).endpoint.as_ref()).flat_map(|e| e.under_way()) {
            let passed = once.packets(flow.flow);
            if reached.kind != PeriodKind::Packets && flow.message.is_some() {
                gains |= passed > 0;
            } else if let Some(fits) = flow.alike.saturating_sub(flow.sent + 2).checked_div(passed) {
                gains = true;
                times = times.min(fits.into());
            }
        }
        (gains && times > 0).then_some(times)
    }
}
