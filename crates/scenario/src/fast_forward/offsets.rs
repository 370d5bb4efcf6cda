//! How far a network is: what its snapshot is relative to, and by how much a repetition goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::Checkpoint;
use xoff_engine::random::fold;
use xoff_engine::state::{Offsets, PeriodKind};
use xoff_models::endpoint::Endpoint;
use xoff_models::ids::PortId;
use xoff_models::job::{CollectiveProgress, Graph, LoopRegion, RankProgress, SeriesStride, Shape, What};
use xoff_models::mechanism::Hooks;
use xoff_models::node::Node;
use xoff_models::topology::Wiring;
use xoff_units::{index, number, wide};

/// No place.
const NONE: u32 = u32::MAX;

/// How far all flows under way and all outputs are.
#[derive(Debug, Clone, Default)]
pub struct NetworkOffsets {
    packets: FxHashMap<u32, u32>,
    /// What receivers granted those that wait for that, and what of it their packets ask for.
    credit: FxHashMap<u32, (u32, u32)>,
    bytes: Vec<u64>,
    /// Of outputs by class, where a mechanism counts there: what it has counted, and what that is taken modulo, less one.
    counters: FxHashMap<(u32, u16, u8), (u64, u32)>,
    /// Ports of all nodes.
    wiring: Arc<Wiring>,
    /// By node: the place of its first output in `bytes`, if it is one of these.
    first: Vec<u32>,
    /// A hash of all flows and of where each ends, or of what collectives they go on in, and of what has failed.
    pub epoch: u64,
    /// The fewest packets that a flow has left, and those of all.
    pub least: u32,
    pub left: u64,
    /// Across the ends of what it goes on.
    pub kind: PeriodKind,
    /// Across messages: how far ranks are in collectives, by job, number and first message of a run.
    pub rounds: FxHashMap<(u32, u32, u32), CollectiveProgress>,
    /// Of those, the first message that others may still hear of.
    undelivered: FxHashMap<(u32, u32, u32), u32>,
    /// Messages to come of flows that carry some.
    to_come: FxHashMap<u32, u32>,
    graphs: FxHashMap<u32, Arc<Graph>>,
    /// Across operations: how far ranks are in them, by job and rank; and where their periods began, or how many operations they go on.
    ways: BTreeMap<(u32, u32), RankProgress>,
    operations: FxHashMap<(u32, u32), u32>,
    /// How many of each series of a job are behind.
    turns: FxHashMap<(u32, u32), u32>,
    /// By node and place there: whose program it is.
    ranks: FxHashMap<(u32, u8), (u32, u32)>,
}

impl NetworkOffsets {
    /// That of these nodes, in their order.
    pub fn of(cp: &Checkpoint<'_, Node>, nodes: &[u32], kind: PeriodKind) -> Self {
        let wiring = cp.node(0).core.routing.wiring.clone();
        let mut reached = Self { least: u32::MAX, wiring, kind, ..Self::default() };
        for node in nodes.iter().map(|id| cp.node(*id)) {
            reached.first.resize(index(node.core.id) + 1, NONE);
            reached.first[index(node.core.id)] = number(reached.bytes.len());
            reached.bytes.extend(node.core.ports.iter().map(|port| port.data_bytes));
            for mechanism in node.mechanisms.iter() {
                mechanism.counters(&mut |port, class, count, mask| {
                    reached.counters.insert((node.core.id, port.0, class), (count.into(), mask));
                });
            }
            reached.epoch = fold(reached.epoch, node.failing.as_ref().map_or(0, |failing| failing.epoch()));
            for flow in node.endpoint.iter().flat_map(|e| e.under_way()) {
                reached.packets.insert(flow.flow, flow.passed);
                if let Some(credit) = flow.credit {
                    reached.credit.insert(flow.flow, credit);
                }
                let mut end = flow.alike;
                if kind != PeriodKind::Packets
                    && let Some((_, to_come)) = flow.message
                {
                    reached.to_come.insert(flow.flow, to_come);
                    end = 0;
                }
                reached.epoch = fold(reached.epoch, u64::from(flow.flow) << 32 | u64::from(end));
                if flow.sent <= flow.alike {
                    reached.least = reached.least.min(flow.alike - flow.sent);
                    reached.left += u64::from(flow.alike - flow.sent);
                }
            }
            match kind {
                PeriodKind::Packets => {}
                PeriodKind::Steps => node.endpoint.iter().for_each(|endpoint| reached.follow(endpoint)),
                PeriodKind::Layers | PeriodKind::Iterations | PeriodKind::BusyPeriods => {
                    node.endpoint.iter().for_each(|endpoint| reached.follow_operations(endpoint));
                }
            }
        }
        if kind == PeriodKind::BusyPeriods {
            reached.follow_series();
        }
        reached
    }

    /// How far the ranks at a host are.
    fn follow(&mut self, endpoint: &Endpoint) {
        let mut rounds: Vec<_> = endpoint.programs.collectives().collect();
        rounds.sort_by_key(|(_, round)| (round.job, round.number, round.run.start));
        for (graph, round) in rounds {
            let key = (round.job, round.number, round.run.start);
            self.epoch = fold(fold(fold(self.epoch, u64::from(key.0)), u64::from(key.1)), u64::from(key.2));
            self.rounds.insert(key, round);
            self.graphs.entry(key.0).or_insert_with(|| graph.clone());
        }
        for id in endpoint.undelivered() {
            if let Some(key) = self.round_of(id.job, id.number, id.place) {
                let first = self.undelivered.entry(key).or_insert(u32::MAX);
                *first = (*first).min(id.place);
            }
        }
    }

    /// How far the ranks at a host are in their operations.
    fn follow_operations(&mut self, endpoint: &Endpoint) {
        for (of, (graph, way)) in (0..).zip(endpoint.programs.ranks(self.kind)) {
            let key = (way.job, way.rank);
            self.epoch = [key.0, key.1, way.region.start, way.region.by].into_iter().fold(self.epoch, |hash, word| fold(hash, word.into()));
            self.graphs.entry(way.job).or_insert_with(|| graph.clone());
            self.ranks.insert((endpoint.node(), of), key);
            self.operations.insert(key, way.begun);
            for SeriesStride { series, first, by } in &way.region.strides {
                self.turns.entry((way.job, *series)).or_insert(first + by * way.region.periods(way.begun));
            }
            self.ways.insert(key, way);
        }
    }

    /// How many of each series are behind, as far as its first member is.
    fn follow_series(&mut self) {
        for (job, graph) in &self.graphs {
            let over = |rank| self.ways.get(&(*job, rank)).map(|way| way.begun);
            let behind = (0..graph.series()).filter_map(|series| Some(((*job, series), graph.behind(series, over)?)));
            self.turns.extend(behind);
        }
    }

    /// How much further this is than where an busy period began, which went from one to another, if it will take place again from here.
    pub fn again(&self, [begun, ended]: [&Self; 2]) -> Option<Self> {
        let further = self.since(begun, 1);
        // The last message of a connection is marked as that.
        let has_more = |(flow, to_come): (&u32, &u32)| {
            let came = begun.to_come.get(flow)?.checked_sub(*ended.to_come.get(flow)?)?;
            Some(*to_come > came)
        };
        let is_alike = |(key, there): (&(u32, u32), &RankProgress)| {
            let (by, graph) = (further.operations[key], &self.graphs[&key.0]);
            let first = begun.ways.get(key)?.begun;
            let turns = |series| further.turns.get(&(key.0, series)).copied().unwrap_or(0);
            let waits = there.beyond.iter().all(|(place, _)| graph.needs_as_many(key.1, *place, by));
            Some(by == 0 || waits && graph.are_again(key.1, first + by..there.top + by + 1, by, turns))
        };
        let is_again = self.epoch == begun.epoch
            && self.counters.is_empty()
            && self.to_come.iter().all(|flow| has_more(flow) == Some(true))
            && ended.ways.iter().all(|way| is_alike(way) == Some(true));
        is_again.then_some(further)
    }

    /// What frames of a flow carry: its packets, what its receiver granted, and what its packets ask for.
    fn carried(&self, flow: u32) -> [u32; 3] {
        [self.packets(flow), self.granted(flow), self.asked(flow)]
    }

    /// By how many times as much this is further than another than a third one was, over as many: the same for all that frames of flows
    /// carry that went on in an busy period.
    pub fn ratio(&self, first: &Self, [begun, ended]: [&Self; 2]) -> Option<[u32; 2]> {
        let mut ratio = None;
        for flow in ended.packets.keys().copied().filter(|flow| ended.carried(*flow) != begun.carried(*flow)) {
            let [before, then, now] = [first, begun, self].map(|reached| reached.carried(flow));
            for ((before, then), now) in before.into_iter().zip(then).zip(now).filter(|((b, t), n)| (b, b) != (t, n)) {
                let (Some(x), Some(y)) = (now.checked_sub(before), then.checked_sub(before)) else { return None };
                let [of, over] = *ratio.get_or_insert([x, y]);
                if y == 0 || u64::from(x) * u64::from(over) != u64::from(y) * u64::from(of) {
                    return None;
                }
            }
        }
        Some(ratio.unwrap_or([0, 1]))
    }

    /// How often what brought ranks so many operations further fits before one comes that is not like those before it. None if what they do
    /// together is not as much further for all of them.
    fn fits_operations(&self, once: &Self) -> Option<u64> {
        let mut times = u64::MAX;
        let mut members: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, way) in &self.ways {
            let further = once.operations[key];
            let before = &once.ways.get(key)?.beyond;
            for (place, missing) in &way.beyond {
                let then = before.iter().find(|then| then.0 == *place)?.1;
                times = times.min(missing.saturating_sub(1).checked_div(then.checked_sub(*missing)?).map_or(u64::MAX, u64::from));
            }
            if further == 0 {
                continue;
            }
            let LoopRegion { start, by, end, strides } = &way.region;
            if !further.is_multiple_of(*by) || way.begun.checked_sub(further)? < *start {
                return None;
            }
            times = times.min((end.checked_sub(1 + way.top)? / further).into());
            for SeriesStride { series, by: goes_on, .. } in strides {
                let series = (way.job, *series);
                if once.turns.get(&series).copied().unwrap_or(0) != goes_on * (further / by) {
                    return None;
                }
                *members.entry(series).or_default() += 1;
            }
        }
        // Whoever takes part in what goes on goes on himself.
        let is_whole = |(key, further): (&(u32, u32), &u32)| {
            *further == 0 || members.get(key).copied().unwrap_or(0) == self.graphs[&key.0].members(key.1)
        };
        once.turns.iter().all(is_whole).then_some(times)
    }

    /// What is sent in a collective.
    fn shape(&self, job: u32, number: u32) -> Option<&Shape> {
        let graph = self.graphs.get(&job)?;
        match graph.shared[index(number)].what {
            What::Collective { shape, .. } => Some(&graph.shapes[index(shape)]),
            What::Message { .. } => None,
        }
    }

    /// How often what made so much of it fits before a message comes that is not like those before it.
    pub fn fits(&self, once: &Self) -> Option<u64> {
        let mut times = u64::MAX;
        // The last message of a connection is marked as that.
        for (flow, to_come) in &self.to_come {
            let came = once.to_come.get(flow)?;
            times = times.min(to_come.saturating_sub(1).checked_div(*came).map_or(u64::MAX, u64::from));
        }
        if self.kind >= PeriodKind::Layers {
            times = times.min(self.fits_operations(once)?);
        }
        for (key, now) in &self.rounds {
            let further = |run: u32| once.rounds.get(&(key.0, key.1, run)).map_or(0, |round| round.posted);
            let came = once.rounds[key].to_come;
            times = times.min(now.to_come.saturating_sub(1).checked_div(came).map_or(u64::MAX, u64::from));
            let by = further(key.2);
            let first = self.undelivered.get(key).copied().unwrap_or(u32::MAX).min(now.posted);
            let end = self.shape(key.0, key.1)?.alike(&now.run, first, further);
            if let Some(fits) = end.saturating_sub(now.posted).checked_div(by) {
                let fits = if self.graphs.get(&key.0)?.stays_on_line(by) { fits } else { 0 };
                times = times.min(fits.into());
            }
        }
        Some(times)
    }

    /// How many operations are behind, of how many that jobs have.
    pub fn operations_begun(&self) -> (u64, u64) {
        let of = |way: &RankProgress| (u64::from(way.begun), wide(self.graphs[&way.job].ranks[index(way.rank)].operations().len()));
        self.ways.values().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Messages of collectives that were not handed over, or periods of operations to come, of all ranks.
    pub fn periods_left(&self) -> u64 {
        let messages = self.rounds.values().map(|round| round.run.end - round.posted);
        let periods = self.ways.values().map(|way| (way.region.end - way.begun) / way.region.by);
        messages.chain(periods).map(u64::from).sum()
    }

    /// Words that it took to find it out.
    pub fn cost(&self) -> u64 {
        wide(2 * self.bytes.len() + 30 * (self.packets.len() + self.rounds.len() + self.ways.len()))
    }

    /// The run that a message is in, as it is known in `rounds`.
    fn round_of(&self, job: u32, number: u32, place: u32) -> Option<(u32, u32, u32)> {
        Some((job, number, self.shape(job, number)?.run_of(place)))
    }

    /// So many times how far it is from another.
    #[must_use]
    pub fn since(&self, before: &Self, times: u64) -> Self {
        let packets = self.packets.iter().map(|(flow, n)| (*flow, (n - before.packets(*flow)).wrapping_mul(times as u32))).collect();
        let bytes = self.bytes.iter().zip(&before.bytes).map(|(now, then)| (now - then).wrapping_mul(times)).collect();
        let counted = |(at, (now, mask)): (&(u32, u16, u8), &(u64, u32))| {
            let grown = (*now as u32).wrapping_sub(before.counters[at].0 as u32) & mask;
            (*at, (u64::from(grown) * times, *mask))
        };
        let counters = self.counters.iter().map(counted).collect();
        let grown = |now: u32, then: u32| now.wrapping_sub(then).wrapping_mul(times as u32);
        let credit = self.credit.iter().map(|(flow, now)| {
            let then = before.credit.get(flow).copied().unwrap_or_default();
            (*flow, (grown(now.0, then.0), grown(now.1, then.1)))
        });
        let credit = credit.collect();
        let further = |(key, now): (&(u32, u32, u32), &CollectiveProgress)| {
            let then = before.rounds.get(key).unwrap_or(now);
            let (posted, to_come) = (grown(now.posted, then.posted), grown(then.to_come, now.to_come));
            (*key, CollectiveProgress { posted, to_come, ..now.clone() })
        };
        Self {
            packets,
            credit,
            bytes,
            counters,
            wiring: self.wiring.clone(),
            first: self.first.clone(),
            kind: self.kind,
            operations: self
                .operations
                .iter()
                .map(|(key, now)| (*key, grown(*now, before.operations.get(key).copied().unwrap_or(*now))))
                .collect(),
            turns: self.turns.iter().map(|(key, now)| (*key, grown(*now, before.turns.get(key).copied().unwrap_or(*now)))).collect(),
            ways: before.ways.clone(),
            ranks: self.ranks.clone(),
            rounds: self.rounds.iter().map(further).collect(),
            to_come: self
                .to_come
                .iter()
                .map(|(flow, now)| (*flow, grown(before.to_come.get(flow).copied().unwrap_or(*now), *now)))
                .collect(),
            graphs: self.graphs.clone(),
            ..Self::default()
        }
    }
}

impl Offsets for NetworkOffsets {
    fn packets(&self, flow: u32) -> u32 {
        self.packets.get(&flow).copied().unwrap_or(0)
    }

    fn granted(&self, flow: u32) -> u32 {
        self.credit.get(&flow).map_or(0, |credit| credit.0)
    }

    fn asked(&self, flow: u32) -> u32 {
        self.credit.get(&flow).map_or(0, |credit| credit.1)
    }

    fn bytes(&self, node: u32, output: u16) -> u64 {
        // What others send is not counted relative to anything.
        let first = self.first.get(index(node)).copied().filter(|first| *first != NONE);
        first.map_or(0, |first| self.bytes[index(first) + usize::from(output)])
    }

    fn counter(&self, node: u32, output: u16, class: u8) -> (u64, u32) {
        self.counters.get(&(node, output, class)).copied().unwrap_or((0, u32::MAX))
    }

    fn kind(&self) -> PeriodKind {
        self.kind
    }

    fn operations(&self, job: u32, rank: u32) -> u32 {
        self.operations.get(&(job, rank)).copied().unwrap_or(0)
    }

    fn operations_of_timer(&self, node: u32, token: u64) -> u32 {
        self.ranks.get(&(node, (token >> 32) as u8)).map_or(0, |(job, rank)| self.operations(*job, *rank))
    }

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.graphs.get(&job).map_or((0, number), |graph| graph.turn(number))
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.graphs.get(&job).map_or(Some(place), |graph| graph.numbered(series, place)).unwrap_or(u32::MAX)
    }

    fn turns(&self, job: u32, series: u32) -> u32 {
        self.turns.get(&(job, series)).copied().unwrap_or(0)
    }

    fn messages(&self, job: u32, number: u32, place: u32) -> u32 {
        self.round_of(job, number, place).and_then(|key| self.rounds.get(&key)).map_or(0, |round| round.posted)
    }

    fn far(&self, node: u32, port: u16) -> (u32, u16) {
        let end = &self.wiring.ports[index(node)][PortId(port)];
        (end.peer, end.peer_port.0)
    }
}
