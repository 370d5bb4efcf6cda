//! The construction of a job's graph: names, groups, shapes, and the operations of each rank or of all ranks.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_models::parts::param_error::ParamError;
use xoff_models::paths::topology::Reach;
use xoff_units::{Moment, index, number};

use super::collective::{Algorithm, Collective};
use super::graph::{Flops, Graph, Group, Lines, OnServers, Outside};
use super::nccl::{Communicators, Team};
use super::operation::{Operation, Shared, What, Work};
use super::pattern::{Family, Pattern, Slot};
use super::rank::{Listing, Numbers, Rank};
use super::shape::Shape;

/// A rank during the listing of its operations.
#[derive(Debug, Default)]
struct Draft {
    operations: Vec<Operation>,
    needs: Vec<u32>,
    /// Operations with their successors.
    pairs: Vec<(u32, u32)>,
}

/// A graph under construction.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    nodes: Vec<u32>,
    drafts: Vec<Draft>,
    names: FxHashMap<String, u32>,
    labels: FxHashMap<String, u16>,
    shapes: FxHashMap<(Collective, usize), u32>,
    /// Shapes of NCCL by collective and team.
    teams: FxHashMap<(Collective, Team), u32>,
    communicators: Option<Communicators>,
    /// Possible reducers, each with its index after the ranks once used.
    reducers: Vec<(Reach, Option<u32>)>,
    /// The families of a job whose ranks all run the program of rank 0.
    families: Option<Vec<Family>>,
}

impl Builder {
    /// Returns a builder for the job of a workload, with ranks at these hosts and possible reducers.
    pub fn new(workload: u32, start: Moment, nodes: Vec<u32>, lines: Lines, reducers: Vec<Reach>) -> Self {
        let graph = Graph {
            workload,
            start,
            ranks: Vec::new(),
            processors: number(nodes.len()),
            groups: Vec::new(),
            shapes: Vec::new(),
            pattern: None,
            listed: Vec::new(),
            names: Vec::new(),
            labels: Vec::new(),
            iterations: 1,
            flops: None,
            library: None,
            outside: Vec::new(),
            lines,
            strides: Vec::new(),
            series: Vec::new(),
        };
        let drafts = nodes.iter().map(|_| Draft::default()).collect();
        let (names, labels, shapes) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let reducers = reducers.into_iter().map(|reach| (reach, None)).collect();
        let (teams, communicators, families) = (FxHashMap::default(), None, None);
        Self { graph, nodes, drafts, names, labels, shapes, teams, communicators, reducers, families }
    }

    /// Returns the number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.graph.processors
    }

    /// Returns the number of messages of all shared operations so far.
    pub fn messages(&self) -> u64 {
        let of = |shared: &Shared| match shared.what {
            What::Message { .. } => 1,
            What::Collective { shape, .. } => self.graph.shapes[index(shape)].count(),
        };
        self.graph.listed.iter().map(of).sum()
    }

    /// The place of a name.
    pub fn name(&mut self, name: &str) -> u32 {
        place_of(&mut self.names, &mut self.graph.names, name, number)
    }

    /// The place of a label.
    pub fn label(&mut self, label: &str) -> u16 {
        place_of(&mut self.labels, &mut self.graph.labels, label, |place| place as u16)
    }

    /// Adds a group.
    pub fn group(&mut self, name: &str, ranks: Vec<u32>) -> u32 {
        self.graph.groups.push(Group { name: name.into(), ranks, reducer: None });
        number(self.graph.groups.len()) - 1
    }

    /// The place of a collective among the ranks of a group.
    pub fn shape(&mut self, collective: &Collective, group: u32) -> Result<u32, ParamError> {
        if let Some(communicators) = self.communicators.take() {
            let place = self.shape_of_nccl(&communicators, collective, group);
            self.communicators = Some(communicators);
            return place;
        }
        if collective.algorithm == Algorithm::InNetwork && self.graph.groups[index(group)].reducer.is_none() {
            self.graph.groups[index(group)].reducer = Some(self.reducer(group)?);
        }
        let ranks = self.graph.groups[index(group)].ranks.len();
        let place = number(self.graph.shapes.len());
        Ok(match self.shapes.entry((collective.clone(), ranks)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                self.graph.shapes.push(collective.shape(ranks)?);
                *unknown.insert(place)
            }
        })
    }

    /// Returns the builder of a job whose messages go by NCCL.
    #[must_use]
    pub fn on(mut self, communicators: Communicators) -> Self {
        let all: Vec<u32> = (0..self.graph.processors).collect();
        let costs = communicators.costs(number(all.len()));
        self.graph.library = Some(OnServers { costs, gpus: communicators.gpus.clone() });
        self.graph.lines = Lines::Shared(communicators.options.qps);
        self.communicators = Some(communicators);
        self
    }

    /// True for a job whose messages go by NCCL.
    pub const fn is_nccl(&self) -> bool {
        self.communicators.is_some()
    }

    /// The place of a collective of NCCL among the ranks of a group.
    fn shape_of_nccl(
        &mut self,
        communicators: &Communicators,
        collective: &Collective,
        group: u32,
    ) -> Result<u32, ParamError> {
        let team = communicators.team(&self.graph.groups[index(group)].ranks)?;
        let place = number(self.graph.shapes.len());
        Ok(match self.teams.entry((collective.clone(), team)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let plan = communicators.plan(&unknown.key().1, collective)?;
                let of = Collective {
                    experts: collective.experts,
                    overhead: collective.overhead,
                    ..plan.collective(collective.operation, collective.size)
                };
                let ranks = unknown.key().1.ranks();
                let costs = Some(plan.costs);
                let mut shape = Shape::new(ranks, of, plan.messages);
                if let Some(messages) = plan.in_loop {
                    shape.find_loop(messages);
                }
                (shape.costs, shape.protocol, shape.predicted) = (costs, Some(plan.protocol), plan.predicted);
                self.graph.shapes.push(shape);
                *unknown.insert(place)
            }
        })
    }

    /// Returns the reducer of a group, by its index after the ranks.
    fn reducer(&mut self, group: u32) -> Result<u32, ParamError> {
        let reaches = self.reducers.iter().map(|(reach, _)| reach);
        let place =
            Reach::closest(reaches, &self.graph.groups[index(group)].ranks).ok_or_else(Reach::none)?;
        let (reach, known) = &mut self.reducers[place];
        Ok(*known.get_or_insert_with(|| {
            self.nodes.push(reach.node);
            self.drafts.push(Draft::default());
            number(self.drafts.len()) - 1
        }))
    }

    /// Adds a shared operation and returns its number. A reducer takes part implicitly.
    pub fn share(&mut self, shared: Shared) -> u32 {
        self.graph.iterations = self.graph.iterations.max(shared.iteration + 1);
        self.graph.listed.push(shared);
        let number = number(self.graph.listed.len()) - 1;
        self.reduce(number, shared);
        number
    }

    /// Lists a collective at its reducer, if a reducer takes part.
    fn reduce(&mut self, number: u32, shared: Shared) {
        let Shared { what, name, iteration, .. } = shared;
        if let What::Collective { shape, group } = what
            && self.graph.shapes[index(shape)].of.algorithm == Algorithm::InNetwork
            && let Group { ranks, reducer: Some(reducer), .. } = &self.graph.groups[index(group)]
        {
            let (reducer, work) = (*reducer, Work::Collective { number, place: ranks.len() as u32 });
            self.add(reducer, Operation { work, name, iteration, unit: 0 }, &[]);
        }
    }

    /// Lets all ranks run the program of rank 0. Its collectives are those of families of groups.
    pub fn share_program(&mut self) {
        self.families.get_or_insert_default();
    }

    /// Adds a family of consecutive groups that divide the ranks. Returns its place.
    pub fn family(&mut self, groups: Range<u32>) -> Result<u32, ParamError> {
        let ranks: Vec<&[u32]> =
            (groups.clone().map(index)).map(|at| &*self.graph.groups[at].ranks).collect();
        let mut kinds = vec![0; ranks.len()];
        if let Some(communicators) = &self.communicators {
            let mut teams: FxHashMap<Team, u32> = FxHashMap::default();
            for (kind, ranks) in kinds.iter_mut().zip(&ranks) {
                let next = number(teams.len());
                *kind = *teams.entry(communicators.team(ranks)?).or_insert(next);
            }
        }
        let family = Family::new(groups.start, &ranks, kinds);
        let families = self.families.get_or_insert_default();
        families.push(family);
        Ok(number(families.len()) - 1)
    }

    /// Lets an operation of the program be a collective of each group of a family. `shared` has the names of the
    /// collective.
    pub fn repeat(
        &mut self,
        (place, family): (u32, u32),
        collective: &Collective,
        shared: Shared,
    ) -> Result<(), ParamError> {
        self.graph.iterations = self.graph.iterations.max(shared.iteration + 1);
        let families = self.families.take().unwrap_or_default();
        let Family { group: first, ref kinds, .. } = families[index(family)];
        let mut shapes = Vec::new();
        for (group, kind) in (first..).zip(kinds) {
            // Each group needs a reducer of its own, and groups of a kind have a shape.
            let has_shape = index(*kind) < shapes.len();
            if !has_shape || collective.algorithm == Algorithm::InNetwork {
                let shape = self.shape(collective, group)?;
                if !has_shape {
                    shapes.push(shape);
                }
            }
        }
        let families = self.families.insert(families);
        let slot = families[index(family)].push(Slot::new(place, shapes, shared));
        self.set(0, place, Pattern::listed(family, slot));
        Ok(())
    }

    /// Lets operations wait for flows and operations of other workloads.
    pub fn wait_outside(&mut self, outside: Vec<Outside>) {
        let is_shared = self.families.is_some();
        for one in outside.iter().filter(|one| !is_shared || one.rank == 0) {
            self.drafts[index(one.rank)].needs[index(one.place)] += 1;
        }
        self.graph.outside = outside;
    }

    /// Adds an operation of a rank after other operations of the rank; returns its index.
    pub fn add(&mut self, rank: u32, operation: Operation, after: &[u32]) -> u32 {
        self.graph.iterations = self.graph.iterations.max(operation.iteration + 1);
        let draft = &mut self.drafts[index(rank)];
        let place = number(draft.operations.len());
        draft.operations.push(operation);
        draft.needs.push(0);
        for before in after {
            self.wait(rank, place, *before);
        }
        place
    }

    /// Sets the work of an operation.
    pub fn set(&mut self, rank: u32, place: u32, work: Work) {
        self.drafts[index(rank)].operations[index(place)].work = work;
    }

    /// Adds a dependency between two operations of a rank; the predecessor may be listed later.
    pub fn wait(&mut self, rank: u32, place: u32, before: u32) {
        let draft = &mut self.drafts[index(rank)];
        draft.needs[index(place)] += 1;
        draft.pairs.push((before, place));
    }

    /// Sets the computation of the job.
    pub const fn compute(&mut self, flops: Flops) {
        self.graph.flops = Some(flops);
    }

    /// The graph.
    pub fn build(mut self) -> Graph {
        let families = self.families.take();
        let pattern = families.map(|families| Arc::new(Pattern::new(families)));
        if let Some(pattern) = &pattern
            && self.graph.groups.iter().any(|group| group.reducer.is_some())
        {
            (0..pattern.count()).for_each(|number| self.reduce(number, pattern.shared(number)));
        }
        let Self { mut graph, nodes, drafts, .. } = self;
        let processors = index(graph.processors);
        let mut program = None;
        let rank = |((rank, node), draft): ((u32, u32), Draft)| match &pattern {
            Some(pattern) if index(rank) < processors => {
                let program: &mut Arc<Listing> = program.get_or_insert_with(|| Arc::new(draft.listing()));
                Rank::new(node, program.clone(), Numbers::Pattern(pattern.clone(), rank))
            }
            _ => {
                let listing = draft.listing();
                let numbers = Numbers::Listed(listing.places());
                Rank::new(node, Arc::new(listing), numbers)
            }
        };
        graph.ranks = (0..).zip(nodes).zip(drafts).map(rank).collect();
        graph.pattern = pattern;
        graph.arrange();
        graph
    }
}

impl Draft {
    fn listing(self) -> Listing {
        Listing::new(self.operations, self.needs, &self.pairs)
    }
}

fn place_of<T: Copy>(
    known: &mut FxHashMap<String, T>,
    list: &mut Vec<String>,
    name: &str,
    place: impl Fn(usize) -> T,
) -> T {
    if let Some(place) = known.get(name) {
        return *place;
    }
    let place = place(list.len());
    list.push(name.into());
    known.insert(name.into(), place);
    place
}
