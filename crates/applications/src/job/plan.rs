//! The plan of all jobs: their graphs, and the program of each rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_models::parts::ids::ApplicationId;
use xoff_models::paths::symmetry::MessageImages;
use xoff_models::ports::nvlink::pipes::Direction;
use xoff_models::ports::nvlink::queues::{Queue, Queues};
use xoff_models::traffic::application::{ControlLines, NumberedBlock, Parts, Planned, Plans, Waits};
use xoff_units::index;

use super::dependencies::Dependencies;
use super::graph::{Graph, Outside};
use super::handover::QueueKey;
use super::images::{JobImages, RanksByHost};
use super::program::{NUMBER, Program, Programs};
use super::symmetry::Renaming;
use crate::job::nccl::tuner::nvls_rate;

/// The connections of a rank: receiving rank and line, and the flow.
type Flows = Vec<((u32, u64), u32)>;

/// Jobs, in the order of their workloads.
#[derive(Debug, Default)]
pub struct Jobs {
    list: Vec<Arc<Graph>>,
    dependencies: Dependencies,
    /// The programs at each node with a rank.
    programs: BTreeMap<u32, Vec<Program>>,
}

impl Jobs {
    /// Adds a job. Returns its number.
    pub fn add(&mut self, graph: Graph) -> u32 {
        self.list.push(Arc::new(graph));
        xoff_units::number(self.list.len() - 1)
    }

    /// Returns all jobs.
    pub fn list(&self) -> &[Arc<Graph>] {
        &self.list
    }

    /// Returns the jobs of a scenario.
    pub fn of(plans: &Plans) -> &[Arc<Graph>] {
        plans.of::<Self>().map_or(&[], Self::list)
    }

    /// Returns the programs at a node.
    #[cfg(test)]
    pub(crate) fn programs(&self, node: u32) -> &[Program] {
        self.programs.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the graph and the program of each rank, by job. Programs that were taken or dropped are missing.
    fn by_job(&self) -> impl Iterator<Item = (&Arc<Graph>, Vec<Option<&Program>>)> {
        let mut programs: Vec<Vec<Option<&Program>>> =
            self.list.iter().map(|job| vec![None; job.ranks.len()]).collect();
        for program in self.programs.values().flatten() {
            let (job, rank) = program.of();
            programs[index(job)][index(rank)] = Some(program);
        }
        self.list.iter().zip(programs)
    }
}

impl Planned for Jobs {
    fn new(_: Option<ApplicationId>) -> Option<Self> {
        Some(Self::default())
    }

    fn id(&self) -> ApplicationId {
        NUMBER
    }

    fn number(&mut self, blocks: &[NumberedBlock<'_>], nvlink: &mut Queues) {
        // By job and rank.
        let mut connections: Vec<Vec<Flows>> =
            self.list.iter().map(|job| vec![Flows::new(); job.ranks.len()]).collect();
        for block in blocks {
            let flows = block.list.iter().zip(block.first..).map(|(one, flow)| ((one.to, one.line), flow));
            connections[index(block.of)][index(block.list[0].from)].extend(flows);
        }
        for (number, (job, of_rank)) in (0..).zip(self.list.iter().zip(connections)) {
            let mut queues = add_queues(nvlink, number, job);
            for (rank, connections) in (0..).zip(of_rank) {
                let queues = job.library.is_some().then(|| queues.remove(&rank).unwrap_or_default());
                let mut program = Program::new(job.clone(), number, rank, connections, queues);
                let (calls, awaits) = self.dependencies.of(number, rank);
                program.depend(calls, awaits);
                self.programs.entry(job.ranks[index(rank)].node).or_default().push(program);
            }
        }
    }

    fn take_parts(&mut self, _lines: &mut ControlLines<'_>) -> Parts {
        let part = |(node, list)| (node, Box::new(Programs::new(list)) as _);
        std::mem::take(&mut self.programs).into_iter().map(part).collect()
    }

    fn without_parts(&self) -> Box<dyn Planned> {
        Box::new(Self { list: self.list.clone(), ..Self::default() })
    }

    fn is_at(&self, node: u32) -> bool {
        self.programs.contains_key(&node)
    }

    fn awaited(&mut self, workload: &[String], node: u32, name: &str, next: u32) -> Option<u32> {
        self.dependencies.operation((&self.list, workload), node, name, next)
    }

    fn waits(&self) -> Vec<Waits> {
        let of = |graph: &Arc<Graph>| {
            let wait = |one: &Outside| Waits {
                node: graph.ranks[index(one.rank)].node,
                workload: graph.workload,
                name: one.name.clone(),
                unknown: one.unknown.clone(),
            };
            graph.outside.iter().map(wait).collect::<Vec<_>>()
        };
        self.list.iter().flat_map(of).collect()
    }

    fn wait(&mut self, place: usize, number: u32) {
        let of = |(job, graph): (u32, &'_ Arc<Graph>)| -> Vec<_> {
            graph.outside.iter().map(|one| (job, one.rank, one.place)).collect()
        };
        let found = (0..).zip(&self.list).flat_map(of).nth(place);
        if let Some((job, rank, at)) = found {
            self.dependencies.wait((job, rank), number, at);
        }
    }

    fn folding(&self) -> Result<(), String> {
        Ok(())
    }

    fn maps_servers(&self, rename: &dyn Fn(u32) -> u32) -> Result<(), String> {
        for job in &self.list {
            let Some(library) = &job.library else { continue };
            let servers = library.gpus.iter().map(|gpu| gpu.0);
            let places: BTreeMap<u32, u32> = job.ranks.iter().map(|rank| rank.node).zip(servers).collect();
            let mut images = BTreeMap::new();
            for (node, server) in &places {
                let image = places.get(&rename(*node));
                if image.is_none_or(|image| images.entry(*server).or_insert(image) != &image) {
                    return Err("the servers of a job are not mapped onto one another".into());
                }
            }
        }
        Ok(())
    }

    fn compare(&self, rename: &dyn Fn(u32) -> u32, found: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
        for (job, programs) in self.by_job() {
            let images = RanksByHost::new(job);
            let ranks: Option<Vec<u32>> =
                job.ranks.iter().map(|rank| images.rank_at(rename(rank.node))).collect();
            let is_one_per_host = images.count() == job.ranks.len();
            let Some(ranks) = ranks.filter(|_| is_one_per_host) else {
                return Err("the hosts of a job are not mapped onto one another".into());
            };
            let programs: Vec<&Program> = programs.into_iter().flatten().collect();
            Renaming::new(job, programs, ranks).compare(found)?;
        }
        Ok(())
    }

    fn keeps_order(&self, rename: &dyn Fn(u32) -> u32) -> bool {
        let order = |node: u32| {
            self.programs.get(&node).into_iter().flatten().map(|program| program.of().0).collect::<Vec<_>>()
        };
        self.programs.keys().all(|node| order(*node) == order(rename(*node)))
    }

    fn fold(&mut self, is_simulated: &dyn Fn(u32) -> bool) {
        self.programs.retain(|node, _| is_simulated(*node));
    }

    fn images(&self) -> Option<Box<dyn MessageImages>> {
        Some(Box::new(JobImages(self.list.iter().map(RanksByHost::new).collect())))
    }
}

/// Adds the queues of a job over NVLink. Returns for each rank the queues by key, with their numbers at its node.
fn add_queues(nvlink: &mut Queues, job: u32, graph: &Graph) -> BTreeMap<u32, Vec<(QueueKey, u32)>> {
    let mut found: BTreeMap<u32, Vec<(QueueKey, u32)>> = BTreeMap::new();
    let (Some(library), Some(servers)) = (&graph.library, nvlink.servers) else { return found };
    let place = |rank: u32| {
        let gpu = library.gpus[index(rank)].1;
        (graph.ranks[index(rank)].node, gpu % servers.gpus_of_host())
    };
    let (queues, slices) = graph.queues();
    nvlink.slices += slices;
    nvlink.in_switch = nvls_rate(&servers);
    for (from, key) in queues {
        let directions = match key.2 {
            2 => [Direction::Reduce; 2],
            3 => [Direction::Multicast; 2],
            _ => [Direction::Out, Direction::In],
        };
        let queue = Queue { from: place(from), to: place(key.0), directions, of: (job, key.0) };
        found.entry(from).or_default().push((key, nvlink.push(queue)));
    }
    found
}
