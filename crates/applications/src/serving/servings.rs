//! The plan of all serving workloads: workers and controllers at their nodes, and control lines between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_models::parts::ids::ApplicationId;
use xoff_models::ports::nvlink::pipes::Direction;
use xoff_models::ports::nvlink::queues::{Queue, Queues};
use xoff_models::traffic::application::{ControlLines, NumberedBlock, Parts, Planned, Plans};
use xoff_units::{Duration, index, number};

use super::application::Serving;
use super::control::Lines;
use super::controller::Controller;
use super::plan::{Connects, NUMBER, Plan, job_of};
use super::worker::Worker;

/// A serving workload, with the ways of its messages.
#[derive(Debug, Clone)]
pub struct Served {
    /// The constant data.
    pub plan: Arc<Plan>,
    /// The flow of each connection over the network.
    flows: Vec<u32>,
    /// The queues over NVLink, with the numbers at the sending nodes.
    queues: Vec<(Connects, u32)>,
}

/// Serving workloads, in the order of the document.
#[derive(Debug, Clone, Default)]
pub struct Servings(Vec<Served>);

impl Servings {
    /// Adds a workload.
    pub fn add(&mut self, plan: Plan) {
        self.0.push(Served { plan: Arc::new(plan), flows: Vec::new(), queues: Vec::new() });
    }

    /// Returns the constant data of all workloads.
    fn all(&self) -> impl Iterator<Item = &Arc<Plan>> {
        self.0.iter().map(|one| &one.plan)
    }

    /// Returns the constant data of a workload.
    pub fn plan(&self, workload: u32) -> &Plan {
        &self.0[index(workload)].plan
    }

    /// Returns the constant data of the serving workloads of a scenario.
    pub fn of(plans: &Plans) -> impl Iterator<Item = &Arc<Plan>> {
        plans.of::<Self>().into_iter().flat_map(Self::all)
    }
}

impl Planned for Servings {
    fn new(_: Option<ApplicationId>) -> Option<Self> {
        Some(Self::default())
    }

    fn id(&self) -> ApplicationId {
        NUMBER
    }

    fn number(&mut self, blocks: &[NumberedBlock<'_>], nvlink: &mut Queues) {
        for block in blocks {
            let flows = &mut self.0[index(block.of)].flows;
            let end = index(block.place) + block.list.len();
            flows.resize(flows.len().max(end), 0);
            for (flow, number) in flows[index(block.place)..end].iter_mut().zip(block.first..) {
                *flow = number;
            }
        }
        for served in &mut self.0 {
            served.queues = add_queues(nvlink, &served.plan);
        }
    }

    fn take_parts(&mut self, lines: &mut ControlLines<'_>) -> Parts {
        let mut found: BTreeMap<u32, Serving> = BTreeMap::new();
        for served in &self.0 {
            served.parts(&mut found, lines);
        }
        found.into_iter().map(|(node, part)| (node, Box::new(part) as _)).collect()
    }

    fn without_parts(&self) -> Box<dyn Planned> {
        Box::new(self.clone())
    }

    fn is_at(&self, node: u32) -> bool {
        self.all().any(|plan| plan.nodes.contains(&node))
    }

    fn folding(&self) -> Result<(), String> {
        Err("serving draws requests at random".into())
    }
}

impl Served {
    /// Adds the parts of the workload.
    fn parts(&self, found: &mut BTreeMap<u32, Serving>, control: &mut ControlLines<'_>) {
        let Self { plan, flows, queues } = self;
        let center = plan.controller();
        let place = found.entry(center).or_default().controllers.len() as u8;
        let mut controller = Controller::new(plan.clone(), place);
        let mut of_rank = vec![Vec::new(); plan.nodes.len()];
        for (one, flow) in plan.connections().into_iter().zip(flows) {
            of_rank[index(one.from)].push((one, *flow));
        }
        let mut over_nvlink = vec![Vec::new(); plan.nodes.len()];
        for (one, queue) in queues {
            over_nvlink[index(one.from)].push((*one, *queue));
        }
        let delay = Duration(plan.delay.ps() / 2);
        for (((rank, flows), queues), node) in (0..).zip(of_rank).zip(over_nvlink).zip(&plan.nodes) {
            let serving = found.entry(*node).or_default();
            let own = serving.workers.len() as u8;
            let mut worker = Worker::new(plan.clone(), rank, own, [flows, queues]);
            let at_rank = number(serving.lines.len());
            let at_center = number(found.entry(center).or_default().lines.len());
            let ends = [at_rank, at_center + u32::from(*node == center)];
            let over = if *node == center {
                [None; 2]
            } else {
                [(center, *node), (*node, center)]
                    .map(|(from, to)| Some((control.add(from, to, delay) as u16, to)))
            };
            let lines = Lines::new((own, place, rank), ends, over, delay);
            worker.join(&lines);
            controller.join(&lines);
            let [at_rank, at_center] = lines.ends();
            let serving = found.entry(*node).or_default();
            serving.workers.push(worker);
            serving.lines.push(at_rank);
            found.entry(center).or_default().lines.push(at_center);
        }
        found.entry(center).or_default().controllers.push(controller);
    }
}

/// Adds the queues of a workload over NVLink. Returns the queues with the numbers at the sending nodes.
fn add_queues(nvlink: &mut Queues, plan: &Plan) -> Vec<(Connects, u32)> {
    let Some(servers) = nvlink.servers else { return Vec::new() };
    let place = |rank: u32| {
        let gpu = plan.gpus[index(rank)].1;
        (plan.nodes[index(rank)], gpu % servers.gpus_of_host())
    };
    let mut found = Vec::new();
    for one in plan.queues() {
        let [from, to] = [place(one.from), place(one.to)];
        let directions = [Direction::Out, Direction::In];
        let queue = Queue { from, to, directions, of: (job_of(plan.number, one.from), one.to) };
        found.push((one, nvlink.push(queue)));
    }
    found
}
