//! Time of the iterations of a job, and the parts of the time of each rank.
//!
//! While a rank does not compute, its next computation waits. The waiting time belongs to the predecessor
//! that ended last, and recursively to earlier predecessors, back to the last computation. For a received
//! message, the time before posting is waiting for the other rank (`bubble`), and the rest is `exposed`, by
//! label. For a collective, the time before the last rank began is `bubble`. At the end of an iteration a
//! finished rank waits for other ranks (`bubble`). Invariant: the parts of each rank and iteration add up to
//! the time of the iteration.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use xoff_applications::job::nccl::tuner::Protocol;
use xoff_applications::job::{self as model, Ended, Graph, Rank, What, Work};
use xoff_document::Scenario;
use xoff_models::frames::message::After;
use xoff_models::traffic::workload::{AllFlows, Over as Ends, Together};
use xoff_units::{index, number, wide};

use super::contract::{Group, KeyType, Measure, Rows, Say};
use super::measured::{Measured, Of};
use super::parts::Part;
use crate::results::news::Over;
use crate::results::statistics::Fct;

/// No moment.
const NEVER: u64 = u64::MAX;

/// A finished operation.
#[derive(Debug, Clone, Copy)]
struct Done {
    start: u64,
    end: u64,
    after: After,
    /// Posting time of the message that ended the operation.
    posted: u64,
}

/// A collective, during arrivals and departures of ranks.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    first: u64,
    last: u64,
    end: u64,
    ranks: u32,
}

/// State of a job.
struct Job {
    graph: Arc<Graph>,
    /// Of each rank, by the places of operations.
    done: Vec<Vec<Option<Done>>>,
    /// Of collectives, by number.
    meetings: Vec<Meeting>,
    /// Unfinished operations of each iteration, and the end of the last finished operation.
    iterations: Vec<(u64, u64)>,
    /// Numbers of finished collectives, in the order of their ends.
    finished: Vec<u32>,
}

/// Part of the time of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Compute,
    Exposed(u16),
    Bubble,
}

/// Of each iteration of a job.
#[derive(Debug, Clone, Serialize)]
struct JobSummary {
    ranks: u64,
    iterations: u64,
    completed: u64,
    iteration_ps: Option<u64>,
    iteration_p99_ps: Option<u64>,
    longest_iteration_ps: Option<u64>,
    compute_ps: Option<u64>,
    exposed_ps: Option<u64>,
    bubble_ps: Option<u64>,
    groups: BTreeMap<String, LabelSummary>,
    mfu: Option<f64>,
}

/// Values of one label: mean waiting time of ranks per iteration, and bus bandwidth of collectives.
#[derive(Debug, Clone, Default, Serialize)]
struct LabelSummary {
    exposed_ps: Option<u64>,
    bus_bps: Option<f64>,
}

/// Jobs of a run. Workloads with a single collective have a measure of their own.
pub struct Jobs(Vec<Option<Job>>);

impl Measure for Jobs {
    const KEYS: &'static [(&'static str, KeyType, &'static str)] = &[(
        "job",
        KeyType::Sometimes("JobSummary"),
        "Time of the iterations and the breakdown of the time of ranks; only for a job.",
    )];

    fn new(_: &[Group], plan: &AllFlows, _: &Scenario) -> Self {
        let is_alone = |graph: &Graph| plan.collectives.iter().any(|c| c.workload == graph.workload);
        let jobs = model::Jobs::of(&plan.applications);
        Self(jobs.iter().map(|graph| (!is_alone(graph)).then(|| Job::new(graph.clone()))).collect())
    }

    fn add(&mut self, _: usize, _: &Over) {}

    fn end(&mut self, ended: &Ended) {
        if let Some(job) = &mut self.0[index(ended.job)] {
            job.end(ended);
        }
    }

    fn say(&mut self, _: usize, of: &Group, say: &mut Say<'_>) {
        let mut jobs = self.0.iter().flatten().filter(|job| of.workloads.contains(&job.graph.workload));
        if let Some(job) = jobs.next() {
            say("job", json!(job.summary()));
        }
    }

    fn rows(&self, rows: &mut Rows) {
        for job in self.0.iter().flatten() {
            job.parts(&mut |rank, iteration, kind, time| {
                rows.jobs.push(job.row(rank, iteration, kind, time));
            });
            rows.collectives.extend(job.finished.iter().filter_map(|number| job.measured(*number)));
        }
    }
}

impl Job {
    fn new(graph: Arc<Graph>) -> Self {
        let done = graph.ranks[..index(graph.processors)]
            .iter()
            .map(|rank| vec![None; index(rank.count())])
            .collect();
        let meetings = vec![Meeting { first: NEVER, last: 0, end: 0, ranks: 0 }; index(graph.count_shared())];
        let mut iterations = vec![(0, graph.start.ps()); usize::from(graph.iterations)];
        for operation in graph.ranks[..index(graph.processors)].iter().flat_map(Rank::operations) {
            iterations[usize::from(operation.iteration)].0 += 1;
        }
        Self { graph, done, meetings, iterations, finished: Vec::new() }
    }

    fn end(&mut self, ended: &Ended) {
        // A reducer is a part of the work of its ranks.
        if ended.rank >= self.graph.processors {
            return;
        }
        let (start, end) = (ended.start.ps(), ended.end.ps());
        let posted = ended.by.filter(|by| by.arrived).map_or(start, |by| by.posted.ps());
        self.done[index(ended.rank)][index(ended.place)] =
            Some(Done { start, end, after: ended.after, posted });
        let operation = self.graph.ranks[index(ended.rank)].operation(ended.place);
        let iteration = &mut self.iterations[usize::from(operation.iteration)];
        *iteration = (iteration.0 - 1, iteration.1.max(end));
        if let Work::Collective { number, .. } = operation.work {
            self.meet(number, start, end);
        }
    }

    /// A rank is through with a collective.
    fn meet(&mut self, number: u32, start: u64, end: u64) {
        let shared = self.graph.shared(number);
        let What::Collective { group, .. } = shared.what else { return };
        let meeting = &mut self.meetings[index(number)];
        meeting.first = meeting.first.min(start);
        meeting.last = meeting.last.max(start);
        meeting.end = meeting.end.max(end);
        meeting.ranks += 1;
        if index(meeting.ranks) == self.graph.groups[index(group)].ranks.len() {
            self.finished.push(number);
        }
    }

    /// Returns a finished collective.
    fn measured(&self, number: u32) -> Option<Measured> {
        let (shared, meeting) = (self.graph.shared(number), self.meetings[index(number)]);
        let What::Collective { shape, group } = shared.what else { return None };
        let (of, group) = (&self.graph.shapes[index(shape)], &self.graph.groups[index(group)]);
        let together = Together {
            workload: self.graph.workload,
            operation: of.of.operation.name(),
            algorithm: of.of.algorithm.name(),
            ranks: meeting.ranks,
            bytes: of.of.size.0,
            bus: of.of.operation.bus(group.ranks.len()),
            protocol: of.protocol.map(Protocol::name),
            predicted: of.predicted,
            channels: of.of.channels as u32,
            over: Ends::Messages(of.count()),
        };
        Some(Measured {
            arrived: together.over.count(),
            of: together,
            start: Some(meeting.first),
            end: meeting.end,
            job: Some(Of {
                name: self.graph.names[index(shared.name)].clone(),
                group: group.name.clone(),
                label: self.graph.labels[usize::from(shared.label)].clone(),
                iteration: shared.iteration,
                joined: meeting.last,
            }),
        })
    }

    /// Returns the end of each finished iteration; at least the end of the previous iteration.
    fn ends(&self) -> Vec<u64> {
        let over = self.iterations.iter().take_while(|(left, _)| *left == 0);
        over.scan(0, |latest, (_, end)| {
            *latest = (*latest).max(*end);
            Some(*latest)
        })
        .collect()
    }

    fn row(&self, rank: u32, iteration: u16, kind: Kind, time: u64) -> Part {
        let (part, label) = match kind {
            Kind::Compute => ("compute", None),
            Kind::Exposed(label) => ("exposed", Some(self.graph.labels[usize::from(label)].clone())),
            Kind::Bubble => ("bubble", None),
        };
        Part {
            workload: self.graph.workload,
            iteration,
            rank,
            node: self.graph.ranks[index(rank)].node,
            what: part,
            label,
            time,
        }
    }

    /// Cuts the time of all ranks, and calls back with rank, iteration, kind and duration.
    fn parts(&self, found: &mut dyn FnMut(u32, u16, Kind, u64)) {
        let ends = self.ends();
        for rank in 0..self.graph.processors {
            for ((iteration, kind), time) in Cutting::new(self, rank, &ends).cut() {
                found(rank, iteration, kind, time);
            }
        }
    }

    fn summary(&self) -> JobSummary {
        let (ends, ranks) = (self.ends(), u64::from(self.graph.processors));
        let completed = wide(ends.len());
        let start = self.graph.start.ps();
        let times: Vec<u64> =
            ends.iter().scan(start, |from, end| Some(end - std::mem::replace(from, *end))).collect();
        let mut sums: BTreeMap<Kind, u128> = BTreeMap::new();
        self.parts(&mut |_, _, kind, time| *sums.entry(kind).or_default() += u128::from(time));
        // Of a rank and an iteration.
        let mean = |sum: u128| (sum / u128::from((ranks * completed).max(1))) as u64;
        let of = |is: fn(&Kind) -> bool| sums.iter().filter(|(kind, _)| is(kind)).map(|(_, sum)| sum).sum();
        let known = |sum: u128| (completed > 0).then(|| mean(sum));
        let bus = self.bus();
        let group = |(number, label): (u16, &String)| {
            let exposed_ps = known(sums.get(&Kind::Exposed(number)).copied().unwrap_or(0));
            (label.clone(), LabelSummary { exposed_ps, bus_bps: bus.get(label.as_str()).copied() })
        };
        let groups = (0..).zip(&self.graph.labels).map(group).collect();
        let lasted = Fct::of(times.into_iter().collect());
        let mfu = self
            .graph
            .flops
            .zip(lasted.mean)
            .map(|(flops, time)| flops.iteration / (time as f64 * 1e-12 * ranks as f64 * flops.peak));
        JobSummary {
            ranks,
            iterations: wide(self.iterations.len()),
            completed,
            iteration_ps: lasted.mean,
            iteration_p99_ps: lasted.p99,
            longest_iteration_ps: lasted.max,
            compute_ps: known(of(|kind| *kind == Kind::Compute)),
            exposed_ps: known(of(|kind| matches!(kind, Kind::Exposed(_)))),
            bubble_ps: known(of(|kind| *kind == Kind::Bubble)),
            groups,
            mfu,
        }
    }

    /// Returns the bus bandwidth of the collectives of each label: bytes of their links divided by time.
    fn bus(&self) -> BTreeMap<&str, f64> {
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for number in &self.finished {
            let shared = self.graph.shared(*number);
            let What::Collective { shape, group } = shared.what else { continue };
            let (of, ranks) =
                (&self.graph.shapes[index(shape)].of, self.graph.groups[index(group)].ranks.len());
            let Meeting { last, end, .. } = self.meetings[index(*number)];
            let sum = sums.entry(&self.graph.labels[usize::from(shared.label)]).or_default();
            let bits = of.size.0 as f64 * of.operation.bus(ranks) * 8e12;
            *sum = (sum.0 + bits, sum.1 + (end - last) as f64);
        }
        sums.into_iter().map(|(label, (bits, time))| (label, bits / time.max(1.0))).collect()
    }
}

/// State while the time of a rank is cut.
struct Cutting<'a> {
    job: &'a Job,
    rank: usize,
    /// Ends of iterations.
    ends: &'a [u64],
    found: BTreeMap<(u16, Kind), u64>,
}

impl<'a> Cutting<'a> {
    const fn new(job: &'a Job, rank: u32, ends: &'a [u64]) -> Self {
        Self { job, rank: index(rank), ends, found: BTreeMap::new() }
    }

    fn cut(mut self) -> BTreeMap<(u16, Kind), u64> {
        let Some(end) = self.ends.last().copied() else { return self.found };
        let done = &self.job.done[self.rank];
        let rank = &self.job.graph.ranks[self.rank];
        let known = || done.iter().enumerate().filter_map(|(place, done)| done.map(|done| (place, done)));
        let mut computed: Vec<(usize, Done)> = known()
            .filter(|(place, _)| matches!(rank.operation(number(*place)).work, Work::Compute(_)))
            .collect();
        computed.sort_by_key(|(place, done)| (done.start, done.end, *place));
        let mut at = self.job.graph.start.ps();
        for (_, one) in computed {
            let start = one.start.min(end);
            if start > at {
                self.wait(before(one.after), at, start);
                at = start;
            }
            let over = one.end.min(end).max(at);
            self.add(Kind::Compute, at, over);
            at = over;
        }
        // The last operation besides computations, followed by idle time.
        let last = known().filter(|(_, done)| done.end > at).max_by_key(|(place, done)| (done.end, *place));
        if let Some((place, one)) = last {
            let over = one.end.min(end).max(at);
            self.wait(Some(place), at, over);
            at = over;
        }
        self.add(Kind::Bubble, at, end);
        self.found
    }

    /// Adds a waiting time that ends with the end of an operation.
    fn wait(&mut self, operation: Option<usize>, from: u64, to: u64) {
        let (mut at, mut next) = (to, operation);
        while let Some((place, one)) = next.and_then(|place| Some((place, self.job.done[self.rank][place]?)))
            && at > from
        {
            let start = one.start.clamp(from, at);
            let work = self.job.graph.ranks[self.rank].operation(number(place)).work;
            let moves = match work {
                Work::Compute(_) => at,
                Work::Send(_) => start,
                Work::Receive(_) => one.posted.clamp(start, at),
                Work::Collective { number, .. } => self.job.meetings[index(number)].last.clamp(start, at),
            };
            self.add(Kind::Bubble, start, moves);
            if let Some(number) = work.number() {
                self.add(Kind::Exposed(self.job.graph.shared(number).label), moves, at);
            }
            (at, next) = (start, before(one.after));
        }
        self.add(Kind::Bubble, from, at);
    }

    /// Adds a stretch of time, iteration by iteration.
    fn add(&mut self, kind: Kind, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let iteration = self.ends.partition_point(|end| *end <= at);
            let until = self.ends.get(iteration).map_or(to, |end| to.min(*end));
            *self.found.entry((iteration as u16, kind)).or_default() += until - at;
            at = until;
        }
    }
}

/// Returns the operation that ended last before another operation.
const fn before(after: After) -> Option<usize> {
    match after {
        After::Operation(place) => Some(index(place)),
        After::Start | After::Begun | After::Message(_) | After::Elsewhere => None,
    }
}
