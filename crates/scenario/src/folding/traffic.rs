//! Decides whether the traffic stays the same under a rotation of hosts, and finds the images of flows and messages.

use std::collections::BTreeMap;

use xoff_models::frames::flow::{FlowSpec, Start};
use xoff_models::network::Settings;
use xoff_models::paths::routing::{FirstHop, Paths};
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::ports::core::Queueing;
use xoff_models::ports::nvlink::pipes::Direction;
use xoff_models::ports::nvlink::queues::Queue;
use xoff_models::traffic::application::Planned;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{index, number};

use super::network::{Reason, Wires, differ};

/// Refuses settings and traffic that change under each rotation, or whose symmetry is not proved.
pub(super) fn refuse(settings: &Settings, plan: &AllFlows) -> Result<(), Reason> {
    let given = |is_given: bool, what: &str| if is_given { Err(what.to_string()) } else { Ok(()) };
    given(!settings.failures.is_empty(), "a fault strikes some nodes and not others")?;
    given(settings.retry.is_some(), "network.link_retry")?;
    given(settings.queueing != Queueing::Oq, "switch.queueing: packets wait at inputs")?;
    given(matches!(settings.first_hop, FirstHop::Asymmetric(_)), "host.first_hop draws by host")?;
    let faults = settings.faults;
    given(faults.vanish > 0 || faults.overtake > 0 || faults.hurry > 0, "switch.faults")?;
    for part in settings.locals.list().iter().flat_map(|local| local.mechanisms.parts()) {
        given(!part.properties().folds, &format!("the mechanism `{}` is not folded", part.name()))?;
    }
    for stack in settings.stacks.list() {
        if let Some(name) = stack.controls().into_iter().find_map(|(_, control)| control.unfolded()) {
            return Err(format!("the congestion control `{name}` is not folded"));
        }
    }
    for protocol in settings.protocols() {
        given(!protocol.folds(), &format!("the transport `{}` is not folded", protocol.name()))?;
    }
    plan.applications.each().try_for_each(Planned::folding)?;
    given(plan.arrivals.iter().any(|list| !list.is_empty()), "packets arrive at random at a host")?;
    let is_drawn = |start: &Start| matches!(start, Start::Drawn(_));
    given(plan.starts.iter().flatten().any(is_drawn), "a host draws flows at random")
}

/// The images of all flows under a rotation.
#[derive(Debug)]
pub(super) struct Renamed {
    /// Empty before the first image: most rotations fail before the first image, and a job has millions of flows.
    pub flows: Vec<u32>,
    count: usize,
}

const UNKNOWN: u32 = u32::MAX;

/// Returns the pinned path of each flow; nothing without pinned paths.
pub(super) fn pinned(plan: &AllFlows) -> Vec<u16> {
    if plan.paths.is_empty() {
        return Vec::new();
    }
    let mut pinned = vec![0; plan.flows as usize];
    for (_, flow) in plan.pinned() {
        pinned[index(flow.flow)] = flow.path;
    }
    pinned
}

/// True if the queues over NVLink of each node map onto the queues of the image, in the same order: the queues that leave the
/// node, and the queues that enter the node.
fn nvlink(plan: &AllFlows, wires: &Wires) -> bool {
    type Ends = Vec<(u32, (u32, u32), [Direction; 2])>;
    let image = |node: u32| wires.nodes[index(node)];
    let queues = |of: fn(&Queue) -> [(u32, u32); 2], rename: &dyn Fn(u32) -> u32| -> BTreeMap<u32, Ends> {
        let mut found: BTreeMap<u32, Ends> = BTreeMap::new();
        for queue in &plan.nvlink.queues {
            let [(own, gpu), (far, far_gpu)] = of(queue);
            found.entry(rename(own)).or_default().push((gpu, (rename(far), far_gpu), queue.directions));
        }
        found
    };
    let leave: fn(&Queue) -> [(u32, u32); 2] = |queue| [queue.from, queue.to];
    let enter: fn(&Queue) -> [(u32, u32); 2] = |queue| [queue.to, queue.from];
    [leave, enter].into_iter().all(|of| queues(of, &image) == queues(of, &|node| node))
}

/// Refuses a rotation that maps GPUs of a server onto GPUs of two servers.
pub(super) fn maps_servers(plan: &AllFlows, wires: &Wires) -> Result<(), Reason> {
    plan.applications.each().try_for_each(|one| one.maps_servers(&|node| wires.nodes[index(node)]))
}

/// True if a pinned path maps onto the pinned path of the image, in both directions.
fn is_image_of_path(
    ports: &[Vec<PortSpec>],
    plan: &AllFlows,
    wires: &Wires,
    ends: [u32; 2],
    paths: [u16; 2],
) -> bool {
    [0, 1].into_iter().all(|back| {
        let [own, other] = paths.map(|path| plan.paths.ports(path + back));
        let mut node = ends[usize::from(back)];
        own.len() == other.len()
            && own.iter().zip(other).all(|(own, other)| {
                let is_image = wires.port(ports, node, *own) == Some(*other);
                node = ports[index(node)][*own].peer;
                is_image
            })
    })
}

impl Renamed {
    /// Returns the images of all flows, or the first difference.
    pub fn of(
        topology: &Topology,
        ports: &[Vec<PortSpec>],
        plan: &AllFlows,
        wires: &Wires,
    ) -> Result<Self, Reason> {
        let mut renamed = Self { flows: Vec::new(), count: plan.flows as usize };
        let image = |node: u32| wires.nodes[index(node)];
        let name = |node: u32| topology.nodes[index(node)].name.as_str();
        for src in 0..number(topology.nodes.len()) {
            let differ = |what: &str| Err(differ(name(src), name(image(src)), what));
            let lists =
                [src, image(src)].map(|node| plan.starts.get(index(node)).map_or(&[][..], |list| list));
            if lists[0].len() != lists[1].len() {
                return differ("the flows");
            }
            for pair in lists[0].iter().zip(lists[1]) {
                let (Start::List(own), Start::List(other)) = pair else { return differ("the flows") };
                if own.len() != other.len() || !renamed.list(plan, wires, own.iter().zip(other)) {
                    return differ("the flows");
                }
            }
            let [own, other] = [src, image(src)].map(|node| &plan.waiting[index(node)]);
            let specs = own.iter().map(|one| &one.1).zip(other.iter().map(|one| &one.1));
            if own.len() != other.len() || !renamed.list(plan, wires, specs) {
                return differ("the flows that wait for others");
            }
        }
        let paths = pinned(plan);
        let is_alike = |(src, flow): &(u32, &FlowSpec)| {
            let image = paths[index(renamed.flows[index(flow.flow)])];
            is_image_of_path(ports, plan, wires, [*src, flow.dst], [flow.path, image])
        };
        if let Some((src, _)) = plan.pinned().find(|flow| !is_alike(flow)) {
            return Err(differ(name(src), name(image(src)), "a pinned path (via)"));
        }
        renamed.applications(topology, plan, wires)?;
        renamed.dependencies(topology, plan, wires)?;
        Ok(renamed)
    }

    /// Notes the image of a flow.
    fn note(&mut self, flow: u32, image: u32) {
        if self.flows.is_empty() {
            self.flows = vec![UNKNOWN; self.count];
        }
        self.flows[index(flow)] = image;
    }

    /// Notes the images of flows of two lists. True if each flow is like its image.
    fn list<'a>(
        &mut self,
        plan: &AllFlows,
        wires: &Wires,
        pairs: impl Iterator<Item = (&'a FlowSpec, &'a FlowSpec)>,
    ) -> bool {
        let mut pairs = pairs;
        pairs.all(|(own, other)| {
            self.note(own.flow, other.flow);
            wires.nodes[index(own.dst)] == other.dst
                && (own.size, own.start, own.class) == (other.size, other.start, other.class)
                && (own.path >= Paths::FIRST) == (other.path >= Paths::FIRST)
                && plan.name_of(own.flow) == plan.name_of(other.flow)
        })
    }

    /// Notes the images of the connections of applications.
    fn applications(&mut self, topology: &Topology, plan: &AllFlows, wires: &Wires) -> Result<(), Reason> {
        let rename = |node: u32| wires.nodes[index(node)];
        for one in plan.applications.each() {
            one.compare(&rename, &mut |flow, image| self.note(flow, image))?;
        }
        if !nvlink(plan, wires) {
            return Err("the queues of servers over NVLink are in another order".into());
        }
        if !plan.applications.each().all(|one| one.keeps_order(&rename)) {
            return Err("the jobs of hosts are in another order".into());
        }
        self.connections(topology, plan, wires)
    }

    /// Compares connections with their images.
    fn connections(&self, topology: &Topology, plan: &AllFlows, wires: &Wires) -> Result<(), Reason> {
        for (src, list) in (0..).zip(&plan.connections) {
            let node = wires.nodes[index(src)];
            let other = &plan.connections[index(node)];
            for own in list {
                let image = self.flows[index(own.spec.flow)];
                // The connections of a host mostly have consecutive numbers.
                let first = other.first().map_or(0, |one| one.spec.flow);
                let near = other.get(image.wrapping_sub(first) as usize).filter(|one| one.spec.flow == image);
                let found = near.or_else(|| {
                    other.binary_search_by_key(&image, |one| one.spec.flow).ok().map(|at| &other[at])
                });
                let is_alike = found.is_some_and(|found| {
                    let (a, b) = (own.spec, found.spec);
                    wires.nodes[index(a.dst)] == b.dst
                        && (a.size, a.start, a.class, own.to_come)
                            == (b.size, b.start, b.class, found.to_come)
                });
                if !is_alike {
                    let name = |node: u32| topology.nodes[index(node)].name.as_str();
                    return Err(differ(name(src), name(node), "a connection"));
                }
            }
        }
        Ok(())
    }

    /// Compares the flows for which flows wait.
    fn dependencies(&self, topology: &Topology, plan: &AllFlows, wires: &Wires) -> Result<(), Reason> {
        for (src, list) in (0..).zip(&plan.waiting) {
            let node = wires.nodes[index(src)];
            for (own, other) in list.iter().zip(&plan.waiting[index(node)]) {
                let mut images: Vec<u32> = own.0.iter().map(|flow| self.flows[index(*flow)]).collect();
                images.sort_unstable();
                if images != other.0 {
                    let name = |node: u32| topology.nodes[index(node)].name.as_str();
                    return Err(differ(name(src), name(node), "the flows before a flow"));
                }
            }
        }
        if self.flows.len() < self.count || self.flows.contains(&UNKNOWN) {
            return Err("a flow has no image".into());
        }
        Ok(())
    }
}
