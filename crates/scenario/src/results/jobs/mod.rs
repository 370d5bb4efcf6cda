//! Jobs: finished operations.

mod operations;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xoff_applications::job::{self as model, Ended, Graph, Programs, What, Work};
use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{Moment, index, wide};

use self::operations::Operation;
use super::contract::{Collect, Shared};
use super::rows::row_set;
use crate::runner::Runner;
use crate::verdicts::Ledger;

/// Maximum number of named operations.
const MOST: usize = 10;

row_set! { operations: Operation }

/// Collects operations of jobs.
pub struct Jobs {
    rows: Rows,
}

impl Collect for Jobs {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        if model::Jobs::of(&shared.plan.applications).is_empty() {
            return;
        }
        let unfold = shared.unfold.clone();
        let image = |view: &View, rows: &[Ended]| rows.iter().map(|one| unfold.ended(view, one)).collect();
        let mut ended = unfold.take(
            cp,
            |node| {
                let programs = node.endpoint.as_mut().and_then(|e| e.applications.of_mut::<Programs>());
                programs.map_or_else(Vec::new, |programs| programs.take_ended().collect())
            },
            Some(&image),
        );
        ended.sort_by_key(|e| e.end);
        shared.news.operations.extend(&ended);
        // A reducer has messages alone.
        let jobs = model::Jobs::of(&shared.plan.applications);
        ended.retain(|one| one.rank < jobs[index(one.job)].processors);
        shared.ends.end(wide(ended.len()), ended.last().map_or(Moment::ZERO, |one| one.end));
        if shared.keeps.flows {
            self.rows.operations.extend(ended.iter().map(|one| operation(&shared.plan, one)));
        }
    }

    fn judge(&self, cp: &Checkpoint<'_, Node>, shared: &Shared, ledger: &mut Ledger) {
        ledger.stuck = stuck(cp, model::Jobs::of(&shared.plan.applications));
    }
}

/// Describes operations that wait for one another without end.
fn stuck(cp: &Checkpoint<'_, Node>, jobs: &[Arc<Graph>]) -> Option<String> {
    // First waiting operation of each rank.
    let mut waiting: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for id in 0..cp.nodes() {
        let programs = cp.node(id).endpoint.as_ref().and_then(|e| e.applications.of::<Programs>());
        let waiting_here = programs.into_iter().flat_map(Programs::waiting);
        for (job, rank, place) in waiting_here.filter(|(job, rank, _)| *rank < jobs[index(*job)].processors) {
            waiting.entry((job, rank)).or_insert(place);
        }
    }
    let (first, _) = waiting.first_key_value()?;
    let (job, mut rank) = *first;
    let graph = &jobs[index(job)];
    let name = |rank: u32, place: u32| {
        let operation = graph.ranks[index(rank)].operation(place);
        format!("`{}` of rank {rank}", graph.names[index(operation.name)])
    };
    let (mut words, mut seen) = (Vec::new(), BTreeSet::new());
    while seen.insert(rank)
        && words.len() < MOST
        && let Some(place) = waiting.get(&(job, rank))
    {
        let number = graph.ranks[index(rank)].operation(*place).work.number()?;
        // A rank of the operation that waits for another operation, and has not begun its part.
        let others = match graph.shared(number).what {
            What::Message { from, .. } => vec![from],
            What::Collective { group, .. } => graph.groups[index(group)].ranks.clone(),
        };
        let is_behind = |other: &&u32| {
            let own = graph.ranks[index(**other)].place_of(number);
            **other != rank && waiting.get(&(job, **other)).is_some_and(|at| Some(*at) != own)
        };
        let Some(other) = others.iter().find(is_behind).copied() else {
            words.push(format!("{} waits for a message or operation that never came", name(rank, *place)));
            break;
        };
        let part = graph.ranks[index(other)].place_of(number)?;
        words.push(format!("{} waits for {}", name(rank, *place), name(other, part)));
        rank = other;
    }
    Some(words.join("; "))
}

fn operation(plan: &AllFlows, one: &Ended) -> Operation {
    let job = &model::Jobs::of(&plan.applications)[index(one.job)];
    let rank = &job.ranks[index(one.rank)];
    let what = rank.operation(one.place);
    let number = what.work.number();
    let shared = number.map(|number| job.shared(number));
    Operation {
        workload: job.workload,
        iteration: what.iteration,
        rank: one.rank,
        node: rank.node,
        place: one.place,
        number,
        kind: match what.work {
            Work::Compute(_) => "compute",
            Work::Send(_) => "send",
            Work::Receive(_) => "recv",
            Work::Collective { .. } => match shared.map(|shared| shared.what) {
                Some(What::Collective { shape, .. }) => job.shapes[index(shape)].of.operation.name(),
                _ => "",
            },
        },
        name: job.names[index(what.name)].clone(),
        label: shared.map(|shared| job.labels[usize::from(shared.label)].clone()),
        start: one.start.ps(),
        after: one.after,
        end: one.end.ps(),
        by: one.by,
        then: rank.then(one.place).to_vec(),
    }
}
