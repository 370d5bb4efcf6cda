//! Offsets of a scope: the counters that a state is relative to, and the progress of flows and ranks that
//! limits a repetition.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::Checkpoint;
use xoff_engine::random::fold;
use xoff_engine::state::{Counter, Offsets, PeriodKind};
use xoff_models::hosts::endpoint::Endpoint;
use xoff_models::mechanisms::contract::Hooks;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::{ApplicationId, PortId};
use xoff_models::paths::symmetry::Symmetry;
use xoff_models::paths::topology::Wiring;
use xoff_models::traffic::application::{Growth, Loops, period};
use xoff_units::{index, wide};

use super::folded;

/// The counters of a scope, or their growth.
#[derive(Debug, Clone)]
pub struct NetworkOffsets {
    counters: FxHashMap<Counter, u64>,
    progress: Arc<Progress>,
}

/// The progress of a scope.
#[derive(Debug, Default)]
pub struct Progress {
    pub kind: PeriodKind,
    /// A hash of all flows and their ends, or of the collectives of the flows, and of failed links.
    pub epoch: u64,
    /// Fewest packets left of a flow, and packets left of all flows.
    pub least: u32,
    pub left: u64,
    /// Messages to come of each connection.
    to_come: FxHashMap<u32, u32>,
    /// Readings of applications.
    loops: Vec<(ApplicationId, Box<dyn Loops>)>,
    /// Modulus less one of counters of classes.
    masks: FxHashMap<Counter, u32>,
    wiring: Arc<Wiring>,
    /// The group of a folded run.
    folded: Option<Arc<Symmetry>>,
    outputs: usize,
    flows: usize,
}

impl std::ops::Deref for NetworkOffsets {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl NetworkOffsets {
    /// Returns the offsets of these nodes, in ascending order.
    pub fn of(
        cp: &Checkpoint<'_, Node>,
        nodes: &[u32],
        kind: PeriodKind,
        folded: Option<&Arc<Symmetry>>,
    ) -> Self {
        let wiring = cp.node(0).core.routing.wiring.clone();
        let mut counters = FxHashMap::default();
        let folded = folded.cloned();
        let mut progress = Progress { least: u32::MAX, wiring, kind, folded, ..Progress::default() };
        for node in nodes.iter().map(|id| cp.node(*id)) {
            let id = node.core.id;
            for (port, at) in PortId::each(&node.core.ports) {
                counters.insert(Counter::Bytes(id, port.0), at.data_bytes);
                progress.outputs += 1;
            }
            for mechanism in node.mechanisms.iter() {
                mechanism.counters(&mut |port, class, count, mask| {
                    counters.insert(Counter::Class(id, port.0, class), count.into());
                    progress.masks.insert(Counter::Class(id, port.0, class), mask);
                });
            }
            progress.epoch = fold(progress.epoch, node.failing.as_ref().map_or(0, |failing| failing.epoch()));
            let Some(endpoint) = node.endpoint.as_deref() else { continue };
            progress.follow_flows(endpoint, &mut counters);
            progress.read(endpoint, &mut counters);
        }
        let Progress { loops, folded, epoch, .. } = &mut progress;
        for (_, one) in loops {
            one.close(kind, folded.as_ref(), &mut |counter, value| {
                _ = counters.entry(counter).or_insert(value);
            });
            *epoch = fold(*epoch, one.epoch());
        }
        Self { counters, progress: Arc::new(progress) }
    }

    /// Returns `times` the growth of each counter since earlier offsets.
    #[must_use]
    pub fn since(&self, before: &Self, times: u64) -> Self {
        let grown = |(counter, now): (&Counter, &u64)| {
            // A rank without an earlier position has not moved. Credits and other counters start from zero.
            let is_placed = matches!(counter, Counter::Own(..) | Counter::Series(..));
            let then = before.counters.get(counter).copied().unwrap_or(if is_placed { *now } else { 0 });
            let grown = now.wrapping_sub(then)
                & if matches!(counter, Counter::Bytes(..)) { u64::MAX } else { self.mask(*counter).into() };
            (*counter, grown.wrapping_mul(times))
        };
        Self { counters: self.counters.iter().map(grown).collect(), progress: self.progress.clone() }
    }

    /// Returns the growth of the counters since the start of a busy period that went from one offset to
    /// another, if the busy period recurs from here.
    pub fn again(&self, [begun, ended]: [&Self; 2]) -> Option<Self> {
        let growth = self.since(begun, 1);
        // The last message of a connection differs from the messages before.
        let has_more = |(flow, to_come): (&u32, &u32)| {
            let came = begun.to_come.get(flow)?.checked_sub(*ended.to_come.get(flow)?)?;
            Some(*to_come > came)
        };
        let recurs = self.epoch == begun.epoch
            && self.masks.is_empty()
            && self.to_come.iter().all(|flow| has_more(flow) == Some(true))
            && self.each_loop([begun, ended]).all(|(now, ends)| now.recurs(ends, &growth));
        recurs.then_some(growth)
    }

    /// Returns the progress since the first of two occurrences over the progress between both, if equal for
    /// all flows that progress in the busy period.
    pub fn ratio(&self, first: &Self, [begun, ended]: [&Self; 2]) -> Option<[u32; 2]> {
        let mut ratio = None;
        let carried = |offsets: &Self, flow| {
            [Counter::Packets(flow), Counter::Granted(flow), Counter::Asked(flow)].map(|c| offsets.get(c))
        };
        let flows = ended
            .counters
            .keys()
            .filter_map(|counter| if let Counter::Packets(flow) = counter { Some(*flow) } else { None });
        for flow in flows.filter(|flow| carried(ended, *flow) != carried(begun, *flow)) {
            let [before, then, now] = [first, begun, self].map(|offsets| carried(offsets, flow));
            for ((before, then), now) in
                before.into_iter().zip(then).zip(now).filter(|((b, t), n)| (b, b) != (t, n))
            {
                let (Some(x), Some(y)) = (now.checked_sub(before), then.checked_sub(before)) else {
                    return None;
                };
                let [of, over] = *ratio.get_or_insert([x, y]);
                if y == 0 || u64::from(x) * u64::from(over) != u64::from(y) * u64::from(of) {
                    return None;
                }
            }
        }
        Some(ratio.unwrap_or([0, 1]))
    }

    /// Returns the number of repetitions of the period since earlier offsets, before a message or an
    /// operation differs from those in the period. Returns `None` if the ranks of a collective do not
    /// progress together.
    pub fn fits(&self, before: &Self) -> Option<u64> {
        let growth = self.since(before, 1);
        let mut times = u64::MAX;
        let mut limit =
            |left: u32, by: u32| times = times.min(left.checked_div(by).map_or(u64::MAX, u64::from));
        // The last message of a connection differs from the messages before.
        for (flow, to_come) in &self.to_come {
            limit(
                to_come.saturating_sub(1),
                before.to_come.get(flow).copied().unwrap_or(*to_come).wrapping_sub(*to_come),
            );
        }
        for (now, [before]) in self.each_loop([before]) {
            times = times.min(now.fits(self.kind, before, &growth)?);
        }
        Some(times)
    }

    /// Returns the readings of applications, each with those of other offsets. An application without a reading in all of
    /// them has no part in the scope.
    fn each_loop<'a, const N: usize>(
        &'a self,
        others: [&'a Self; N],
    ) -> impl Iterator<Item = (&'a dyn Loops, [&'a dyn Loops; N])> {
        self.loops.iter().filter_map(move |(id, own)| {
            let found = others.map(|other| other.loops_of(*id));
            found.iter().all(Option::is_some).then(|| (&**own, found.map(|one| one.unwrap_or(&**own))))
        })
    }

    fn get(&self, counter: Counter) -> u32 {
        if self.folded.is_some() {
            return self.offset(counter) as u32;
        }
        self.counters.get(&counter).copied().unwrap_or(0) as u32
    }
}

impl Progress {
    fn follow_flows(&mut self, endpoint: &Endpoint, counters: &mut FxHashMap<Counter, u64>) {
        for flow in endpoint.under_way() {
            self.flows += 1;
            counters.insert(Counter::Packets(flow.flow), flow.passed.into());
            if let Some((granted, asked)) = flow.credit {
                counters.insert(Counter::Granted(flow.flow), granted.into());
                counters.insert(Counter::Asked(flow.flow), asked.into());
            }
            let message = flow.message.filter(|_| self.kind != period::PACKETS);
            if let Some((_, to_come)) = message {
                self.to_come.insert(flow.flow, to_come);
            }
            let end = if message.is_some() { 0 } else { flow.alike };
            self.epoch = fold(self.epoch, u64::from(flow.flow) << 32 | u64::from(end));
            if flow.sent <= flow.alike {
                self.least = self.least.min(flow.alike - flow.sent);
                self.left += u64::from(flow.alike - flow.sent);
            }
        }
    }

    /// Reads the parts of applications at a host.
    fn read(&mut self, endpoint: &Endpoint, counters: &mut FxHashMap<Counter, u64>) {
        for (id, part) in endpoint.applications.with_numbers() {
            let known = self.loops.iter().position(|one| one.0 == id);
            let Some(place) = known.or_else(|| {
                self.loops.push((id, part.loops()?));
                Some(self.loops.len() - 1)
            }) else {
                continue;
            };
            let count = &mut |counter, value| _ = counters.entry(counter).or_insert(value);
            self.loops[place].1.read(self.kind, endpoint.node(), part, &mut endpoint.undelivered(), count);
        }
    }

    fn loops_of(&self, id: ApplicationId) -> Option<&dyn Loops> {
        self.loops.iter().find(|one| one.0 == id).map(|one| &*one.1)
    }

    fn loops_of_job(&self, job: u32) -> Option<&dyn Loops> {
        self.loops_of(ApplicationId::of_job(job))
    }

    /// Returns the work of all applications that is done, and all their work.
    pub fn work_done(&self) -> (u64, u64) {
        self.loops.iter().map(|one| one.1.done()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Returns the periods left in the loops of all applications.
    pub fn periods_left(&self) -> u64 {
        self.loops.iter().map(|one| one.1.left()).sum()
    }

    /// Returns the words read for the offsets.
    pub fn cost(&self) -> u64 {
        let entries: u64 = self.loops.iter().map(|one| one.1.entries()).sum();
        wide(2 * self.outputs + 30 * self.flows) + 30 * entries
    }

    fn mask(&self, counter: Counter) -> u32 {
        self.masks.get(&counter).copied().unwrap_or(u32::MAX)
    }
}

impl Offsets for NetworkOffsets {
    fn offset(&self, counter: Counter) -> u64 {
        let counter = match &self.folded {
            Some(group) => folded::canonical(group, counter),
            None => counter,
        };
        let known = match counter {
            Counter::Timer(_, token) => {
                self.loops_of(ApplicationId::of_timer(token)).and_then(|one| one.counter(counter))
            }
            Counter::Own(_, [job, ..]) => self.loops_of_job(job).and_then(|one| one.counter(counter)),
            other => Some(other),
        };
        let Some(counter) = known else { return 0 };
        self.counters.get(&counter).copied().unwrap_or(0)
    }

    fn kind(&self) -> PeriodKind {
        self.progress.kind
    }

    fn mask(&self, counter: Counter) -> u32 {
        self.progress.mask(counter)
    }

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.loops_of_job(job).map_or((0, number), |one| one.turn(job, number))
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.loops_of_job(job).map_or(place, |one| one.numbered(job, series, place))
    }

    fn far(&self, node: u32, port: u16) -> (u32, u16) {
        let end = &self.wiring.ports[index(node)][PortId(port)];
        (end.peer, end.peer_port.0)
    }
}

impl Growth for NetworkOffsets {
    fn of(&self, counter: Counter) -> u32 {
        self.get(counter)
    }

    fn each(&self, call: &mut dyn FnMut(Counter, u64)) {
        self.counters.iter().for_each(|(counter, growth)| call(*counter, *growth));
    }
}
