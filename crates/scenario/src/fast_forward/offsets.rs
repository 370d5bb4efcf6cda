//! Offsets of a scope: the counters that a state is relative to, and the progress of flows and ranks that
//! limits a repetition.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_applications::job::{
    CollectiveProgress, Graph, LoopRegion, Programs, RankProgress, SeriesStride, Shape, What,
};
use xoff_engine::Checkpoint;
use xoff_engine::random::fold;
use xoff_engine::state::{Counter, Offsets, PeriodKind};
use xoff_models::endpoint::Endpoint;
use xoff_models::ids::PortId;
use xoff_models::mechanism::Hooks;
use xoff_models::node::Node;
use xoff_models::symmetry::Symmetry;
use xoff_models::topology::Wiring;
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
    /// Collectives of ranks, by job, number and first message of a run, and the first message not delivered.
    collectives: FxHashMap<(u32, u32, u32), CollectiveProgress>,
    undelivered: FxHashMap<(u32, u32, u32), u32>,
    /// Ranks, by job and rank.
    ranks: BTreeMap<(u32, u32), RankProgress>,
    /// The rank of a program, by node and place.
    programs: FxHashMap<(u32, u8), (u32, u32)>,
    graphs: FxHashMap<u32, Arc<Graph>>,
    /// Modulus less one of counters of classes.
    masks: FxHashMap<Counter, u32>,
    wiring: Arc<Wiring>,
    /// The group of a folded run.
    folded: Option<Arc<Symmetry>>,
    outputs: usize,
    flows: usize,
}

/// Returns the progress of the ranks of a host in collectives, with the graphs of the jobs.
pub(super) fn collectives_at(endpoint: &Endpoint) -> impl Iterator<Item = (&Arc<Graph>, CollectiveProgress)> {
    endpoint.applications.of::<Programs>().into_iter().flat_map(Programs::collectives)
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
            match kind {
                PeriodKind::Packets => {}
                PeriodKind::Steps => progress.follow_collectives(endpoint, &mut counters),
                PeriodKind::Layers | PeriodKind::Iterations | PeriodKind::BusyPeriods => {
                    progress.follow_ranks(endpoint, &mut counters);
                }
            }
        }
        if kind == PeriodKind::BusyPeriods {
            progress.follow_series(&mut counters);
        }
        Self { counters, progress: Arc::new(progress) }
    }

    /// Returns `times` the growth of each counter since earlier offsets.
    #[must_use]
    pub fn since(&self, before: &Self, times: u64) -> Self {
        let grown = |(counter, now): (&Counter, &u64)| {
            // A rank without an earlier position has not moved. Credits and other counters start from zero.
            let is_placed =
                matches!(counter, Counter::Messages(..) | Counter::Operations(..) | Counter::Series(..));
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
        let is_alike = |(key, end): (&(u32, u32), &RankProgress)| {
            let (by, graph) = (growth.get(Counter::Operations(key.0, key.1)), &self.graphs[&key.0]);
            let first = begun.ranks.get(key)?.begun;
            let completed = |series| growth.get(Counter::Series(key.0, series));
            let waits = end.beyond.iter().all(|(place, _)| graph.needs_as_many(key.1, *place, by));
            Some(by == 0 || waits && graph.are_again(key.1, first + by..end.top + by + 1, by, completed))
        };
        let recurs = self.epoch == begun.epoch
            && self.masks.is_empty()
            && self.to_come.iter().all(|flow| has_more(flow) == Some(true))
            && ended.ranks.iter().all(|rank| is_alike(rank) == Some(true));
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
        for (key, now) in &self.collectives {
            let further = |run: u32| growth.get(Counter::Messages(key.0, key.1, run));
            let came = before.collectives.get(key).map_or(0, |then| then.to_come.wrapping_sub(now.to_come));
            limit(now.to_come.saturating_sub(1), came);
            let (by, graph) = (further(key.2), self.graphs.get(&key.0)?);
            let first = self.undelivered.get(key).copied().unwrap_or(u32::MAX).min(now.posted);
            let end = self.shape(key.0, key.1)?.alike(&now.run, first, further);
            limit(if graph.stays_on_line(by) { end.saturating_sub(now.posted) } else { 0 }, by);
        }
        if self.kind < PeriodKind::Layers {
            return Some(times);
        }
        Some(times.min(self.fits_ranks(before, &growth)?))
    }

    /// Does the same for the operations of ranks.
    fn fits_ranks(&self, before: &Self, growth: &Self) -> Option<u64> {
        let mut times = u64::MAX;
        let mut members: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, rank) in &self.ranks {
            times =
                times.min(rank.fits(growth.get(Counter::Operations(key.0, key.1)), before.ranks.get(key)?)?);
            let LoopRegion { by, strides, .. } = &rank.region;
            let periods = growth.get(Counter::Operations(key.0, key.1)) / by;
            for SeriesStride { series, by: stride, .. } in strides.iter().filter(|_| periods > 0) {
                if growth.get(Counter::Series(rank.job, *series)) != stride * periods {
                    return None;
                }
                *members.entry((rank.job, *series)).or_default() += 1;
            }
        }
        // All members of a collective progress.
        let is_complete = |(counter, growth): (&Counter, &u64)| match counter {
            Counter::Series(job, series) if *growth > 0 => {
                members.get(&(*job, *series)).copied().unwrap_or(0)
                    == self.members(&self.graphs[job], *series)
            }
            _ => true,
        };
        growth.counters.iter().all(is_complete).then_some(times)
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
            let message = flow.message.filter(|_| self.kind != PeriodKind::Packets);
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

    fn follow_collectives(&mut self, endpoint: &Endpoint, counters: &mut FxHashMap<Counter, u64>) {
        let mut collectives: Vec<_> = collectives_at(endpoint).collect();
        collectives.sort_by_key(|(_, progress)| (progress.job, progress.number, progress.run.start));
        for (graph, progress) in collectives {
            let key = (progress.job, progress.number, progress.run.start);
            self.epoch =
                [key.0, key.1, key.2].into_iter().fold(self.epoch, |hash, word| fold(hash, word.into()));
            counters.insert(Counter::Messages(key.0, key.1, key.2), progress.posted.into());
            self.collectives.insert(key, progress);
            self.graphs.entry(key.0).or_insert_with(|| graph.clone());
        }
        for id in endpoint.undelivered() {
            if let Some(run) = self.run_of(id.job, id.number, id.place) {
                let first = self.undelivered.entry((id.job, id.number, run)).or_insert(u32::MAX);
                *first = (*first).min(id.place);
            }
        }
    }

    fn follow_ranks(&mut self, endpoint: &Endpoint, counters: &mut FxHashMap<Counter, u64>) {
        let programs = endpoint.applications.of::<Programs>();
        let ranks = programs.into_iter().flat_map(|programs| programs.ranks(self.kind));
        for (place, (graph, rank)) in (0..).zip(ranks) {
            let (key, region) = ((rank.job, rank.rank), &rank.region);
            self.epoch = [key.0, key.1, region.start, region.by]
                .into_iter()
                .fold(self.epoch, |hash, word| fold(hash, word.into()));
            self.graphs.entry(key.0).or_insert_with(|| graph.clone());
            self.programs.insert((endpoint.node(), place), key);
            counters.insert(Counter::Operations(key.0, key.1), rank.begun.into());
            for SeriesStride { series, first, by } in &region.strides {
                let completed = first + by * region.periods(rank.begun);
                counters.entry(Counter::Series(key.0, *series)).or_insert(completed.into());
            }
            self.ranks.insert(key, rank);
        }
    }

    /// Counts the completed collectives of each series, as of the first member.
    fn follow_series(&self, counters: &mut FxHashMap<Counter, u64>) {
        for (job, graph) in &self.graphs {
            let first = |rank| match &self.folded {
                Some(group) => folded::first_rank(group, *job, graph, rank),
                None => rank,
            };
            let completed = |rank| self.ranks.get(&(*job, first(rank))).map(|rank| rank.begun);
            let of = |series| Some((Counter::Series(*job, series), graph.behind(series, completed)?.into()));
            counters.extend((0..graph.series()).filter_map(of));
        }
    }

    /// Returns the number of members of a series.
    fn members(&self, graph: &Graph, series: u32) -> u32 {
        match &self.folded {
            Some(group) => folded::members(group, graph, series),
            None => graph.members(series),
        }
    }

    fn shape(&self, job: u32, number: u32) -> Option<&Shape> {
        let graph = self.graphs.get(&job)?;
        match graph.shared(number).what {
            What::Collective { shape, .. } => Some(&graph.shapes[index(shape)]),
            What::Message { .. } => None,
        }
    }

    /// Returns the first message of the run with a message.
    fn run_of(&self, job: u32, number: u32, place: u32) -> Option<u32> {
        Some(self.shape(job, number)?.run_of(place))
    }

    /// Returns the completed operations, and the operations of all jobs.
    pub fn operations_begun(&self) -> (u64, u64) {
        let of = |rank: &RankProgress| {
            (u64::from(rank.begun), u64::from(self.graphs[&rank.job].ranks[index(rank.rank)].count()))
        };
        self.ranks.values().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Returns the messages to post, or the periods of operations to come, of all ranks.
    pub fn periods_left(&self) -> u64 {
        let messages = self.collectives.values().map(|progress| progress.run.end - progress.posted);
        let periods = self.ranks.values().map(|rank| (rank.region.end - rank.begun) / rank.region.by);
        messages.chain(periods).map(u64::from).sum()
    }

    /// Returns the words read for the offsets.
    pub fn cost(&self) -> u64 {
        wide(2 * self.outputs + 30 * (self.flows + self.collectives.len() + self.ranks.len()))
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
        let counter = match counter {
            Counter::Timer(node, token) => match self.programs.get(&(node, (token >> 32) as u8)) {
                Some((job, rank)) => Counter::Operations(*job, *rank),
                None => return 0,
            },
            Counter::Messages(job, number, place) => match self.run_of(job, number, place) {
                Some(run) => Counter::Messages(job, number, run),
                None => return 0,
            },
            other => other,
        };
        self.counters.get(&counter).copied().unwrap_or(0)
    }

    fn kind(&self) -> PeriodKind {
        self.progress.kind
    }

    fn mask(&self, counter: Counter) -> u32 {
        self.progress.mask(counter)
    }

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.graphs.get(&job).map_or((0, number), |graph| graph.turn(number))
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.graphs.get(&job).map_or(Some(place), |graph| graph.numbered(series, place)).unwrap_or(u32::MAX)
    }

    fn far(&self, node: u32, port: u16) -> (u32, u16) {
        let end = &self.wiring.ports[index(node)][PortId(port)];
        (end.peer, end.peer_port.0)
    }
}
