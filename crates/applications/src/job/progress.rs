//! Progress of programs: the state of a program that decides later events, relative to the position in a
//! loop.
//!
//! Within messages, a program only waits. In steps, a collective advances by equal messages. In layers, all
//! begun operations count relative to the start of the current period ([`LoopRegion`]).

use std::ops::Range;
use std::sync::Arc;

use xoff_engine::state::{Counter, Offsets, PeriodKind, Row, State, StateVisitor};
use xoff_models::frames::framing::Framing;
use xoff_models::frames::message::{After, MessageId};
use xoff_models::traffic::application::{Cycle, period};
use xoff_units::{Duration, index, wide};

use super::graph::Graph;
use super::operation::{What, Work};
use super::program::{Active, Ended, Program, Programs};
use super::repetition::LoopRegion;
use super::shape::Shape;

impl State for Programs {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        for program in &mut self.0 {
            if program.depends_on_others() {
                walk.refuse();
            }
            program.handovers.walk(walk);
            match walk.kind() {
                PeriodKind::Across(_) | PeriodKind::Busy => {
                    program.walk_operations(walk);
                    continue;
                }
                period::PACKETS => walk.same(
                    program.active.values().map(|a| u64::from(a.to_come) << 32 | u64::from(a.to_leave)).sum(),
                ),
                PeriodKind::Within(_) => program.walk_messages(walk),
            }
            // Finished operations do not recur.
            walk.same(u64::from(program.over.0) << 32 | wide(program.over.1.len()));
            walk.same(wide(program.active.len()));
            walk.same(program.early.values().map(|early| wide(early.len())).sum());
        }
    }
}

/// The kind of the counter of the operations that a rank has finished: by job and rank.
pub(super) const OPERATIONS: u8 = 1;

/// Returns the counter of the operations that a rank has finished.
pub(super) const fn operations(job: u32, rank: u32) -> Counter {
    Counter::Own(OPERATIONS, [job, rank, 0])
}

/// Returns the index of the loop region of a kind of period.
fn level(kind: PeriodKind) -> usize {
    usize::from(kind == period::ITERATIONS)
}

impl Row for Ended {
    fn shift(&mut self, by: Duration, on: &dyn Offsets) {
        let further = on.offset(operations(self.job, self.rank)) as u32;
        self.place += further;
        if let After::Operation(place) = &mut self.after {
            *place += further;
        }
        self.start += by;
        self.end += by;
        if let Some(message) = &mut self.by {
            message.posted += by;
        }
    }
}

impl Program {
    /// Visits operations relative to the present period. Operations beyond the loop region wait for fewer
    /// operations in each period.
    fn walk_operations(&mut self, walk: &mut StateVisitor<'_>) {
        // In a busy period no operation is beyond the region: a smaller number of open predecessors is
        // another state.
        let (by, end) = match walk.kind() {
            period::BUSY => (0, u32::MAX),
            kind => (self.stretches[level(kind)].by, self.stretches[level(kind)].end),
        };
        let (job, rank) = (self.job, self.rank);
        let counter = operations(job, rank);
        let further = walk.further(counter);
        walk.value(u64::from(by));
        walk.rows(&mut self.ended);
        walk.counted(counter, &mut self.over.0);
        self.over.1 = std::mem::take(&mut self.over.1).into_iter().map(|place| place + further).collect();
        walk.value(wide(self.over.1.len()));
        for place in &self.over.1 {
            walk.counted(counter, &mut { *place });
        }
        let mut active: Vec<_> = self.active.drain().collect();
        active.sort_unstable_by_key(|active| active.0);
        walk.value(wide(active.len()));
        for (place, active) in &mut active {
            walk.begun(*place, &mut active.start);
            walk.counted(counter, place);
            walk.value(active.after.kind());
            match &mut active.after {
                After::Operation(place) => walk.counted(counter, place),
                After::Message(message) => walk.value(u64::from(*message)),
                After::Start | After::Begun | After::Elsewhere => {}
            }
            walk.value(u64::from(active.to_come) << 32 | u64::from(active.to_leave));
            walk.value(u64::from(active.is_launched));
            active.missing.iter().for_each(|missing| walk.value(u64::from(*missing)));
        }
        self.active.extend(active);
        let mut early: Vec<_> = self.early.drain().collect();
        early.sort_unstable_by_key(|early| early.0);
        walk.value(wide(early.len()));
        for (place, messages) in &mut early {
            walk.counted(counter, place);
            walk.value(wide(messages.len()));
            for (message, posted) in messages {
                walk.value(u64::from(*message));
                walk.moment(posted);
            }
        }
        self.early.extend(early);
        let mut beyond = self.waiting.split_off(&end);
        let mut waiting: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        walk.value(wide(waiting.len()));
        for (place, missing) in &mut waiting {
            walk.counted(counter, place);
            walk.value(u64::from(*missing));
        }
        walk.same(wide(beyond.len()));
        for (place, missing) in &mut beyond {
            walk.same(u64::from(*place));
            walk.total(missing);
        }
        self.waiting = waiting.into_iter().chain(beyond).collect();
        let mut units: Vec<_> = self.units.iter_mut().collect();
        units.sort_unstable_by_key(|unit| *unit.0);
        for (unit, (is_busy, queue)) in units {
            walk.value(u64::from(*unit) << 1 | u64::from(*is_busy));
            walk.value(wide(queue.len()));
            for place in queue {
                walk.counted(counter, place);
            }
        }
    }

    /// Finds the loop regions of the present operation. Returns the number of compared operations.
    pub(super) fn follow(&mut self, kind: PeriodKind) -> u64 {
        let (first, mut at_least, mut cost) = (self.over.0, 1, 0);
        // A region without a longer region around counts as the longer region, because another rank may have
        // a longer region.
        let mut shorter = LoopRegion::whole(self.own().count());
        for region in &mut self.stretches[..=level(kind)] {
            if first >= region.end {
                *region = LoopRegion::whole(u32::MAX);
            }
            let (found, took) = self.graph.region(self.rank, first, at_least..region.by);
            cost += took;
            if let Some(found) = found {
                *region = found;
            } else if region.end == u32::MAX {
                *region = shorter;
            }
            // The longer region ends after the shorter region.
            at_least = region.end - first;
            shorter = region.clone();
        }
        cost
    }

    /// Returns the progress in the program.
    fn rank_progress(&self, kind: PeriodKind) -> RankProgress {
        // In a busy period a waiting operation counts by its open predecessors alone.
        let (region, begun, end) = match kind {
            period::BUSY => (LoopRegion { by: 1, ..LoopRegion::whole(self.over.0) }, self.over.0, 0),
            _ => {
                let region = &self.stretches[level(kind)];
                (region.clone(), region.begin(self.over.0), region.end)
            }
        };
        let touched = [
            self.over.0,
            self.over.1.last().copied().unwrap_or(0),
            self.active.keys().copied().max().unwrap_or(0),
            self.early.keys().copied().max().unwrap_or(0),
            self.waiting.range(..end).next_back().map_or(0, |waiting| *waiting.0),
            self.units.values().filter_map(|unit| unit.1.iter().copied().max()).max().unwrap_or(0),
        ];
        RankProgress {
            job: self.job,
            rank: self.rank,
            begun,
            top: touched.into_iter().max().unwrap_or(0),
            beyond: self.waiting.range(end..).map(|(place, missing)| (*place, *missing)).collect(),
            region,
        }
    }

    /// Returns the cycle of the present loop region, if a whole period is left.
    pub(super) fn cycle(&self, kind: PeriodKind, framing: &Framing) -> Option<Cycle> {
        let of = |place: u32| match self.own().operation(place).work {
            Work::Send(number) => match self.graph.shared(number).what {
                What::Message { bytes, .. } => framing.packets(bytes),
                What::Collective { .. } => 0,
            },
            Work::Collective { number, place: own } => self
                .shape(number)
                .map_or(0, |shape| shape.sends(own).map(|m| framing.packets(shape.piece(m).bytes)).sum()),
            Work::Compute(_) | Work::Receive(_) => 0,
        };
        let LoopRegion { start, by, end, .. } = self.stretches[level(kind)];
        let first = self.over.0;
        (end - first >= by).then(|| Cycle {
            start,
            packets: (first..first + by).map(of).sum(),
            begun: self.active.keys().map(|place| of(*place)).sum(),
            left: ((end - first) / by).into(),
        })
    }

    fn walk_messages(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { graph, job, rank, active, .. } = self;
        walk.keyed(active, |walk, place, active| {
            if let Work::Collective { number, place: own } = graph.ranks[index(*rank)].operation(*place).work
                && let What::Collective { shape, .. } = graph.shared(number).what
            {
                let shape = &graph.shapes[index(shape)];
                for run in shape.runs(own) {
                    active.walk_run(
                        walk.further(MessageId { job: *job, number, place: run.start }.posted()),
                        shape,
                        &run,
                        shape.sends(own).start,
                        walk,
                    );
                }
            }
            walk.total(&mut active.to_come);
            walk.total(&mut active.to_leave);
        });
    }

    /// Returns the packets that the NIC of this rank sends in a loop of its active collectives.
    pub(super) fn packets_in_loop(&self, framing: &Framing) -> u64 {
        let of = |place: &u32| match self.own().operation(*place).work {
            Work::Collective { number, place: own } => self.shape(number).map_or(0, |shape| {
                shape.in_loop(own).iter().map(|bytes| framing.packets(*bytes)).sum::<u64>()
            }),
            _ => 0,
        };
        self.active.keys().map(of).sum()
    }

    /// Returns the progress in active collectives.
    fn collectives(&self) -> impl Iterator<Item = CollectiveProgress> {
        self.active.iter().flat_map(move |(place, active)| {
            let collective = match self.own().operation(*place).work {
                Work::Collective { number, place: own } => {
                    self.shape(number).map(|shape| (number, own, shape))
                }
                _ => None,
            };
            collective.into_iter().flat_map(move |(number, own, shape)| {
                let first = shape.sends(own).start;
                shape.runs(own).map(move |run| CollectiveProgress {
                    job: self.job,
                    number,
                    posted: active.posted(&run, first),
                    run,
                    to_come: active.to_come,
                })
            })
        })
    }
}

impl Active {
    /// Returns the first message of a run that was not posted. `first` is the first message of the rank.
    fn posted(&self, run: &Range<u32>, first: u32) -> u32 {
        run.clone().find(|place| self.missing[index(place - first)] > 0).unwrap_or(run.end)
    }

    /// Visits the messages of a run that were not posted and have some of their inputs. A repetition moves
    /// their missing inputs by `further` messages.
    fn walk_run(
        &mut self,
        further: u32,
        shape: &Shape,
        run: &Range<u32>,
        first: u32,
        walk: &mut StateVisitor<'_>,
    ) {
        let posted = self.posted(run, first);
        let known: Vec<(u32, u16)> = (posted..run.end)
            .map(|place| (place, self.missing[index(place - first)]))
            .filter(|(place, missing)| *missing != shape.needs(*place))
            .collect();
        walk.value(wide(known.len()));
        for (place, missing) in &known {
            walk.value(u64::from(place - posted) << 16 | u64::from(*missing));
        }
        if further > 0 {
            for (place, _) in &known {
                self.missing[index(place - first)] = shape.needs(*place);
            }
            self.missing[index(posted - first)..index(posted - first + further)].fill(0);
            for (place, missing) in known {
                self.missing[index(place - first + further)] = missing;
            }
        }
    }
}

/// Progress of a rank in a run: messages of a collective to one rank, in order.
#[derive(Debug, Clone)]
pub struct CollectiveProgress {
    /// The job.
    pub job: u32,
    /// The collective's number.
    pub number: u32,
    /// Indices of the messages.
    pub run: Range<u32>,
    /// The first message that was not posted.
    pub posted: u32,
    /// Messages of the collective that have not arrived.
    pub to_come: u32,
}

/// Progress of a rank in its program.
#[derive(Debug, Clone)]
pub struct RankProgress {
    /// The job.
    pub job: u32,
    /// The rank.
    pub rank: u32,
    /// First operation of the present period.
    pub begun: u32,
    /// Last operation with any progress.
    pub top: u32,
    /// Operations beyond the loop region that wait for operations of the region, and the number of these.
    pub beyond: Vec<(u32, u32)>,
    /// The loop region.
    pub region: LoopRegion,
}

impl RankProgress {
    /// Returns the repetitions before an operation differs, after `further` operations since earlier
    /// progress. Returns `None` if these operations are no multiple of a period.
    pub fn fits(&self, further: u32, before: &Self) -> Option<u64> {
        let mut times = u32::MAX;
        for (place, missing) in &self.beyond {
            let then = before.beyond.iter().find(|then| then.0 == *place)?.1;
            times = times
                .min(missing.saturating_sub(1).checked_div(then.checked_sub(*missing)?).unwrap_or(u32::MAX));
        }
        let LoopRegion { start, by, end, .. } = &self.region;
        if further > 0 {
            if !further.is_multiple_of(*by) || self.begun.checked_sub(further)? < *start {
                return None;
            }
            times = times.min(end.checked_sub(1 + self.top)? / further);
        }
        Some(if times == u32::MAX { u64::MAX } else { times.into() })
    }
}

impl Programs {
    /// Returns the progress of the ranks of this host in collectives, with the graphs of the jobs.
    pub fn collectives(&self) -> impl Iterator<Item = (&Arc<Graph>, CollectiveProgress)> {
        self.0.iter().flat_map(|program| program.collectives().map(|round| (&program.graph, round)))
    }

    /// Returns the progress of the ranks of this host in their programs, with the graphs of the jobs.
    pub fn ranks(&self, kind: PeriodKind) -> impl Iterator<Item = (&Arc<Graph>, RankProgress)> {
        self.0.iter().map(move |program| (&program.graph, program.rank_progress(kind)))
    }
}
