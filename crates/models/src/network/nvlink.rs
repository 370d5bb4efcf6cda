//! NVLink of the servers: queues between GPUs, and links of the engine between the nodes of a server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use xoff_engine::LinkSpec;
use xoff_units::{index, number};

use crate::endpoint::nvlink::{End, NvLink};
use crate::flow::MessageLog;
use crate::topology::PortSpec;
use crate::workload::NvLinkPlan;

/// NVLink of all nodes.
#[derive(Default)]
pub(super) struct NvLinks {
    /// By node.
    pub nodes: HashMap<u32, NvLink>,
    /// Links behind those of the ports.
    pub links: Vec<LinkSpec>,
    /// For nodes with such links: the next output and the next in-link.
    pub next: HashMap<u32, (u32, u32)>,
}

impl NvLinks {
    /// Builds the queues of a plan at nodes with these ports.
    pub fn new(plan: &NvLinkPlan, ports: &[Vec<PortSpec>]) -> Self {
        let Some(servers) = plan.servers else { return Self::default() };
        let new = || NvLink::new(servers.gpus_of_host(), servers.nvlink, servers.nvls(), servers.latency);
        let mut nodes: HashMap<u32, NvLink> = HashMap::new();
        let mut outputs: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
        let mut ends: HashMap<u32, (u32, u32)> = HashMap::new();
        for queue in &plan.queues {
            let log = Arc::<MessageLog>::default();
            let [(from, from_gpu), (to, to_gpu)] = [queue.from, queue.to];
            let entering = nodes.entry(to).or_insert_with(new).entering(
                to_gpu,
                queue.directions[1],
                queue.of,
                log.clone(),
            );
            let end = if from == to {
                End::Here(entering)
            } else {
                let (output, _) = *outputs.entry((from, to)).or_insert_with(|| {
                    let base = |node: u32| number(ports[index(node)].len());
                    let output = ends.entry(from).or_insert((base(from), base(from))).0;
                    let input = ends.entry(to).or_insert((base(to), base(to))).1;
                    if let Some(from) = ends.get_mut(&from) {
                        from.0 += 1;
                    }
                    if let Some(to) = ends.get_mut(&to) {
                        to.1 += 1;
                    }
                    (output, input)
                });
                End::There(output as u16, to, entering)
            };
            nodes.entry(from).or_insert_with(new).leaving(from_gpu, queue.directions[0], end, log);
        }
        let link = |((from, to), (output, input))| LinkSpec {
            from: (from, output),
            to: (to, input),
            lookahead: servers.latency,
        };
        Self { nodes, links: outputs.into_iter().map(link).collect(), next: ends }
    }
}
