//! Serving: workers and controllers at their nodes, and control lines between them.

use std::collections::HashMap;

use xoff_engine::LinkSpec;
use xoff_units::{Duration, index, number};

use crate::serving::{Controller, Lines, Serving, Worker};
use crate::topology::PortSpec;
use crate::workload::{AllFlows, Served};

/// Serving at all nodes.
#[derive(Default)]
pub(super) struct Servings {
    /// By node.
    pub nodes: HashMap<u32, Serving>,
    /// Links behind those of the ports and of NVLink.
    pub links: Vec<LinkSpec>,
}

impl Servings {
    /// Builds serving at nodes with these ports. `used` has the outputs and in-links of nodes behind those of
    /// ports that are in use.
    pub fn new(plan: &AllFlows, ports: &[Vec<PortSpec>], used: &HashMap<u32, (u32, u32)>) -> Self {
        let mut found = Self::default();
        let mut used = used.clone();
        let mut next = |node: u32, is_output: bool| {
            let ports = number(ports[index(node)].len());
            let of = used.entry(node).or_insert((ports, ports));
            let place = if is_output { &mut of.0 } else { &mut of.1 };
            *place += 1;
            *place - 1
        };
        for Served { plan, flows, queues, .. } in &plan.serving {
            let center = plan.controller();
            let place = found.nodes.entry(center).or_default().controllers.len() as u8;
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
                let serving = found.nodes.entry(*node).or_default();
                let own = serving.workers.len() as u8;
                let mut worker = Worker::new(plan.clone(), rank, own, [flows, queues]);
                let ends = [number(serving.lines.len()), 0];
                let at_center = number(found.nodes.entry(center).or_default().lines.len());
                let ends = [ends[0], at_center + u32::from(*node == center)];
                let mut over = [None; 2];
                if *node != center {
                    for (way, from, to) in [(0, center, *node), (1, *node, center)] {
                        let (output, input) = (next(from, true), next(to, false));
                        over[way] = Some((output as u16, to));
                        found.links.push(LinkSpec {
                            from: (from, output),
                            to: (to, input),
                            lookahead: delay,
                        });
                    }
                }
                let lines = Lines::new((own, place, rank), ends, over, delay);
                worker.join(&lines);
                controller.join(&lines);
                let [at_rank, at_center] = lines.ends();
                let serving = found.nodes.entry(*node).or_default();
                serving.workers.push(worker);
                serving.lines.push(at_rank);
                found.nodes.entry(center).or_default().lines.push(at_center);
            }
            found.nodes.entry(center).or_default().controllers.push(controller);
        }
        found
    }
}
