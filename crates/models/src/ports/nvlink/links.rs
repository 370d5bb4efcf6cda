//! NVLink of a network: the pipes of its nodes with their queues, and links of the engine between the nodes of a server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use xoff_engine::LinkSpec;
use xoff_units::{index, number};

use super::pipes::{End, NvLink};
use super::queues::Queues;
use crate::frames::flow::MessageLog;
use crate::paths::symmetry::{STAY, Symmetry};
use crate::paths::topology::PortSpec;

/// NVLink of all nodes.
#[derive(Debug, Default)]
pub struct NvLinks {
    /// By node.
    pub nodes: HashMap<u32, NvLink>,
    /// Links behind those of the ports.
    pub links: Vec<LinkSpec>,
    /// For nodes with such links: the next output and the next in-link.
    pub next: HashMap<u32, (u32, u32)>,
}

impl NvLinks {
    /// Builds the queues of a plan at nodes with these ports. In a folded run a queue to another node ends at the node that
    /// stands for the other node: it takes the place of the image of the queue there.
    pub fn new(plan: &Queues, ports: &[Vec<PortSpec>], folded: Option<&Symmetry>) -> Self {
        let Some(servers) = plan.servers else { return Self::default() };
        let new = || NvLink::new(servers.gpus_of_host(), servers.nvlink, plan.in_switch, servers.latency);
        let is_simulated = |node: u32| folded.is_none_or(|group| group.is_representative(node));
        let element = |node: u32| folded.map_or(STAY, |group| group.element(node));
        let mut nodes: HashMap<u32, NvLink> = HashMap::new();
        let mut pairs = Pairs::default();
        let mut leaving: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut entering: Vec<(u32, Arc<MessageLog>)> = Vec::with_capacity(plan.queues.len());
        for (place, queue) in plan.queues.iter().enumerate() {
            let [(from, _), (to, to_gpu)] = [queue.from, queue.to];
            let log = Arc::<MessageLog>::default();
            let number = if is_simulated(to) {
                let of = (queue.of, element(from));
                nodes.entry(to).or_insert_with(new).entering(to_gpu, queue.directions[1], of, log.clone())
            } else {
                0
            };
            entering.push((number, log));
            leaving.entry(from).or_default().push(place);
            pairs.add((from, to), ports);
        }
        let mut links = BTreeMap::new();
        for (from, own) in leaving.iter().filter(|(from, _)| is_simulated(**from)) {
            for (at, place) in own.iter().enumerate() {
                let queue = &plan.queues[*place];
                // The queue that ends here in place of this one: the image of this one.
                let back = |node: u32| {
                    folded.map_or(node, |group| group.image(group.inverse(element(queue.to.0)), node))
                };
                let image = leaving[&back(*from)][at];
                let (number, log) = entering[image].clone();
                let [own, other] =
                    [(*from, queue.to.0), (plan.queues[image].from.0, plan.queues[image].to.0)];
                let end = if own.0 == own.1 {
                    End::Here(number)
                } else {
                    let output = pairs.ends[&own].0;
                    links.insert((*from, output), (other.1, pairs.ends[&other].1));
                    End::There(output as u16, other.1, number)
                };
                nodes.entry(*from).or_insert_with(new).leaving(queue.from.1, queue.directions[0], end, log);
            }
        }
        let link = |(from, to)| LinkSpec { from, to, lookahead: servers.latency };
        Self { nodes, links: links.into_iter().map(link).collect(), next: pairs.next }
    }
}

/// The links of the engine between the nodes of a server.
#[derive(Default)]
struct Pairs {
    /// For each pair of nodes the output and the in-link.
    ends: HashMap<(u32, u32), (u32, u32)>,
    /// For each node the next output and the next in-link, behind those of the ports.
    next: HashMap<u32, (u32, u32)>,
}

impl Pairs {
    /// Adds the link from a node to another node, unless it is known.
    fn add(&mut self, (from, to): (u32, u32), ports: &[Vec<PortSpec>]) {
        if from == to || self.ends.contains_key(&(from, to)) {
            return;
        }
        let base = |node: u32| (number(ports[index(node)].len()), number(ports[index(node)].len()));
        let outputs = &mut self.next.entry(from).or_insert_with(|| base(from)).0;
        let output = *outputs;
        *outputs += 1;
        let inputs = &mut self.next.entry(to).or_insert_with(|| base(to)).1;
        let input = *inputs;
        *inputs += 1;
        self.ends.insert((from, to), (output, input));
    }
}
