//! How far the ranks of jobs have come in collectives and in their programs.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::random::fold;
use xoff_engine::state::{Counter, PeriodKind};
use xoff_models::frames::message::{MessageId, POSTED};
use xoff_models::paths::symmetry::Symmetry;
use xoff_models::traffic::application::{Growth, Loops, period};
use xoff_units::{index, number, wide};

use super::graph::Graph;
use super::images::JobImages;
use super::operation::What;
use super::program::Programs;
use super::progress::{CollectiveProgress, RankProgress, operations};
use super::repetition::{LoopRegion, SeriesStride};
use super::shape::Shape;

/// Returns the counter of the messages that the sender of a message has posted.
const fn posted(job: u32, number: u32, place: u32) -> Counter {
    MessageId { job, number, place }.posted()
}

/// A reading of ranks.
#[derive(Debug, Default)]
pub struct JobLoops {
    epoch: u64,
    /// Collectives of ranks, by job, number and first message of a run, and the first message not delivered.
    collectives: FxHashMap<(u32, u32, u32), CollectiveProgress>,
    undelivered: FxHashMap<(u32, u32, u32), u32>,
    /// Ranks, by job and rank.
    ranks: BTreeMap<(u32, u32), RankProgress>,
    /// The rank of a program, by node and place.
    programs: FxHashMap<(u32, u8), (u32, u32)>,
    graphs: FxHashMap<u32, Arc<Graph>>,
    /// The group of a folded run.
    folded: Option<Arc<Symmetry>>,
}

impl Loops for JobLoops {
    fn read(
        &mut self,
        kind: PeriodKind,
        node: u32,
        part: &dyn Any,
        undelivered: &mut dyn Iterator<Item = MessageId>,
        count: &mut dyn FnMut(Counter, u64),
    ) {
        let Some(programs) = part.downcast_ref::<Programs>() else { return };
        match kind {
            period::PACKETS => {}
            PeriodKind::Within(_) => self.read_collectives(programs, undelivered, count),
            PeriodKind::Across(_) | PeriodKind::Busy => self.read_ranks(kind, node, programs, count),
        }
    }

    fn close(
        &mut self,
        kind: PeriodKind,
        folded: Option<&Arc<Symmetry>>,
        count: &mut dyn FnMut(Counter, u64),
    ) {
        self.folded = folded.cloned();
        if kind == period::BUSY {
            self.count_series(count);
        }
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn counter(&self, counter: Counter) -> Option<Counter> {
        match counter {
            Counter::Timer(node, token) => {
                let (job, rank) = self.programs.get(&(node, (token >> 32) as u8))?;
                Some(operations(*job, *rank))
            }
            Counter::Own(POSTED, [job, number, place]) => {
                Some(posted(job, number, self.run_of(job, number, place)?))
            }
            other => Some(other),
        }
    }

    fn fits(&self, kind: PeriodKind, before: &dyn Loops, growth: &dyn Growth) -> Option<u64> {
        let before: &Self = (before as &dyn Any).downcast_ref()?;
        let mut times = u64::MAX;
        let mut limit =
            |left: u32, by: u32| times = times.min(left.checked_div(by).map_or(u64::MAX, u64::from));
        for (key, now) in &self.collectives {
            let further = |run: u32| growth.of(posted(key.0, key.1, run));
            let came = before.collectives.get(key).map_or(0, |then| then.to_come.wrapping_sub(now.to_come));
            limit(now.to_come.saturating_sub(1), came);
            let (by, graph) = (further(key.2), self.graphs.get(&key.0)?);
            let first = self.undelivered.get(key).copied().unwrap_or(u32::MAX).min(now.posted);
            let end = self.shape(key.0, key.1)?.alike(&now.run, first, further);
            limit(if graph.stays_on_line(by) { end.saturating_sub(now.posted) } else { 0 }, by);
        }
        if matches!(kind, PeriodKind::Within(_)) {
            return Some(times);
        }
        Some(times.min(self.fits_ranks(before, growth)?))
    }

    fn recurs(&self, ends: [&dyn Loops; 2], growth: &dyn Growth) -> bool {
        let [Some(begun), Some(ended)] = ends.map(|end| (end as &dyn Any).downcast_ref::<Self>()) else {
            return false;
        };
        let is_alike = |(key, end): (&(u32, u32), &RankProgress)| {
            let (by, graph) = (growth.of(operations(key.0, key.1)), &self.graphs[&key.0]);
            let first = begun.ranks.get(key)?.begun;
            let completed = |series| growth.of(Counter::Series(key.0, series));
            let waits = end.beyond.iter().all(|(place, _)| graph.needs_as_many(key.1, *place, by));
            Some(by == 0 || waits && graph.are_again(key.1, first + by..end.top + by + 1, by, completed))
        };
        ended.ranks.iter().all(|rank| is_alike(rank) == Some(true))
    }

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.graphs.get(&job).map_or((0, number), |graph| graph.turn(number))
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.graphs.get(&job).map_or(Some(place), |graph| graph.numbered(series, place)).unwrap_or(u32::MAX)
    }

    fn left(&self) -> u64 {
        let messages = self.collectives.values().map(|progress| progress.run.end - progress.posted);
        let periods = self.ranks.values().map(|rank| (rank.region.end - rank.begun) / rank.region.by);
        messages.chain(periods).map(u64::from).sum()
    }

    fn done(&self) -> (u64, u64) {
        let of = |rank: &RankProgress| {
            (u64::from(rank.begun), u64::from(self.graphs[&rank.job].ranks[index(rank.rank)].count()))
        };
        self.ranks.values().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn entries(&self) -> u64 {
        wide(self.collectives.len() + self.ranks.len())
    }
}

impl JobLoops {
    fn enter(&mut self, key: impl IntoIterator<Item = u32>) {
        self.epoch = key.into_iter().fold(self.epoch, |hash, word| fold(hash, word.into()));
    }

    fn read_collectives(
        &mut self,
        programs: &Programs,
        undelivered: &mut dyn Iterator<Item = MessageId>,
        count: &mut dyn FnMut(Counter, u64),
    ) {
        let mut collectives: Vec<_> = programs.collectives().collect();
        collectives.sort_by_key(|(_, progress)| (progress.job, progress.number, progress.run.start));
        for (graph, progress) in collectives {
            let key = (progress.job, progress.number, progress.run.start);
            self.enter([key.0, key.1, key.2]);
            count(posted(key.0, key.1, key.2), progress.posted.into());
            self.collectives.insert(key, progress);
            self.graphs.entry(key.0).or_insert_with(|| graph.clone());
        }
        for id in undelivered {
            if let Some(run) = self.run_of(id.job, id.number, id.place) {
                let first = self.undelivered.entry((id.job, id.number, run)).or_insert(u32::MAX);
                *first = (*first).min(id.place);
            }
        }
    }

    fn read_ranks(
        &mut self,
        kind: PeriodKind,
        node: u32,
        programs: &Programs,
        count: &mut dyn FnMut(Counter, u64),
    ) {
        for (place, (graph, rank)) in (0..).zip(programs.ranks(kind)) {
            let (key, region) = ((rank.job, rank.rank), &rank.region);
            self.enter([key.0, key.1, region.start, region.by]);
            self.graphs.entry(key.0).or_insert_with(|| graph.clone());
            self.programs.insert((node, place), key);
            count(operations(key.0, key.1), rank.begun.into());
            for SeriesStride { series, first, by } in &region.strides {
                let completed = first + by * region.periods(rank.begun);
                count(Counter::Series(key.0, *series), completed.into());
            }
            self.ranks.insert(key, rank);
        }
    }

    /// Counts the completed collectives of each series, as of the first member.
    fn count_series(&self, count: &mut dyn FnMut(Counter, u64)) {
        for (job, graph) in &self.graphs {
            let first =
                |rank| self.folded.as_ref().map_or(rank, |group| first_rank(group, *job, graph, rank));
            let completed = |rank| self.ranks.get(&(*job, first(rank))).map(|rank| rank.begun);
            for series in 0..graph.series() {
                if let Some(behind) = graph.behind(series, completed) {
                    count(Counter::Series(*job, series), behind.into());
                }
            }
        }
    }

    fn fits_ranks(&self, before: &Self, growth: &dyn Growth) -> Option<u64> {
        let mut times = u64::MAX;
        let mut members: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, rank) in &self.ranks {
            times = times.min(rank.fits(growth.of(operations(key.0, key.1)), before.ranks.get(key)?)?);
            let LoopRegion { by, strides, .. } = &rank.region;
            let periods = growth.of(operations(key.0, key.1)) / by;
            for SeriesStride { series, by: stride, .. } in strides.iter().filter(|_| periods > 0) {
                if growth.of(Counter::Series(rank.job, *series)) != stride * periods {
                    return None;
                }
                *members.entry((rank.job, *series)).or_default() += 1;
            }
        }
        // All members of a collective progress.
        let mut are_complete = true;
        growth.each(&mut |counter, growth| {
            if let Counter::Series(job, series) = counter
                && growth > 0
                && let Some(graph) = self.graphs.get(&job)
            {
                let found = members.get(&(job, series)).copied().unwrap_or(0);
                are_complete &= found == self.members(graph, series);
            }
        });
        are_complete.then_some(times)
    }

    /// Returns the number of members of a series.
    fn members(&self, graph: &Graph, series: u32) -> u32 {
        match &self.folded {
            Some(group) => simulated_members(group, graph, series),
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
}

/// Returns the rank of a job that stands for a rank in a folded run.
fn first_rank(group: &Symmetry, job: u32, graph: &Graph, rank: u32) -> u32 {
    let first = group.representative(graph.ranks[index(rank)].node);
    group.messages_of::<JobImages>().and_then(|images| images.rank_at(job, first)).unwrap_or(rank)
}

/// Returns the number of simulated members of a series of collectives or messages.
fn simulated_members(group: &Symmetry, graph: &Graph, series: u32) -> u32 {
    let is_simulated = |rank: &&u32| group.is_representative(graph.ranks[index(**rank)].node);
    match graph.numbered(series, 0).map(|first| graph.shared(first).what) {
        Some(What::Collective { group, .. }) => {
            number(graph.groups[index(group)].ranks.iter().filter(is_simulated).count())
        }
        Some(What::Message { from, to, .. }) if from == to => u32::from(is_simulated(&&from)),
        Some(What::Message { from, to, .. }) => number([from, to].iter().filter(is_simulated).count()),
        None => 0,
    }
}
