//! Decides whether the network stays the same under a rotation of hosts.

use std::collections::VecDeque;

use xoff_models::ids::PortId;
use xoff_models::network::Settings;
use xoff_models::symmetry::{Rotation, STAY, Symmetry};
use xoff_models::topology::{PortSpec, Topology};
use xoff_models::workload::AllFlows;
use xoff_units::{index, number};

/// The reason that the search found no group, or no larger group: the first difference between a node, link or flow and the
/// image of the node, link or flow.
pub type Reason = String;

/// The images of all nodes under a rotation.
#[derive(Debug)]
pub(super) struct Wires {
    pub nodes: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

impl Wires {
    /// Returns the images of all nodes, or the first difference. A moved node keeps the numbers of its ports. A fixed
    /// node has a port to the image of each neighbour.
    pub fn of(
        topology: &Topology,
        ports: &[Vec<PortSpec>],
        hosts: &[u32],
        rotation: Rotation,
    ) -> Result<Self, Reason> {
        let mut nodes = vec![UNKNOWN; topology.nodes.len()];
        for (place, host) in (0..).zip(hosts) {
            nodes[index(*host)] = hosts[index(rotation.of(place))];
        }
        let name = |node: u32| topology.nodes[index(node)].name.as_str();
        let mut open: Vec<u32> = hosts.to_vec();
        while let Some(node) = open.pop() {
            let image = nodes[index(node)];
            if image == node {
                continue;
            }
            let (own, other) = (&ports[index(node)], &ports[index(image)]);
            if own.len() != other.len() {
                return Err(differ(name(node), name(image), "the number of links"));
            }
            for (a, b) in own.iter().zip(other) {
                let known = &mut nodes[index(a.peer)];
                if *known == UNKNOWN {
                    *known = b.peer;
                    open.push(a.peer);
                } else if *known != b.peer {
                    return Err(differ(name(node), name(image), "the neighbours"));
                }
            }
        }
        // Nodes that no moved node reaches stay.
        for (node, image) in (0..).zip(&mut nodes) {
            if *image == UNKNOWN {
                *image = node;
            }
        }
        let wires = Self { nodes };
        match wires.misplaced(topology, ports) {
            Some((node, what)) => Err(differ(name(node), name(wires.nodes[index(node)]), what)),
            None => Ok(wires),
        }
    }

    /// Returns the image of a port.
    pub fn port(&self, ports: &[Vec<PortSpec>], node: u32, at: PortId) -> Option<PortId> {
        let port = &ports[index(node)][at];
        let peer = self.nodes[index(port.peer)];
        if self.nodes[index(node)] != node || peer == port.peer {
            return Some(at);
        }
        // The image of the neighbour has a link back.
        ports[index(peer)].get(port.peer_port.index()).map(|back| back.peer_port)
    }

    /// Returns the first node whose kind or neighbours differ from those of its image.
    fn misplaced(&self, topology: &Topology, ports: &[Vec<PortSpec>]) -> Option<(u32, &'static str)> {
        let kind = |node: u32| {
            let node = &topology.nodes[index(node)];
            (node.forwards, node.is_host, node.reduces)
        };
        (0..number(ports.len())).find_map(|node| {
            let image = self.nodes[index(node)];
            if kind(node) != kind(image) {
                return Some((node, "the kind of node"));
            }
            let is_mapped = |(at, port): (PortId, &PortSpec)| {
                let peer = self.nodes[index(port.peer)];
                let mapped = self.port(ports, node, at).and_then(|at| ports[index(image)].get(at.index()));
                // A fixed neighbour knows the image by another port.
                let is_same_port =
                    |mapped: &PortSpec| peer == port.peer || mapped.peer_port == port.peer_port;
                mapped.is_some_and(|mapped| mapped.peer == peer && is_same_port(mapped))
            };
            (!PortId::each(&ports[index(node)]).all(is_mapped)).then_some((node, "the neighbours"))
        })
    }

    /// Compares the links and settings of nodes with those of their images.
    pub fn check(
        &self,
        topology: &Topology,
        ports: &[Vec<PortSpec>],
        settings: &Settings,
    ) -> Result<(), Reason> {
        for (node, image) in (0..).zip(self.nodes.iter().copied()) {
            let (own, other) = (&topology.nodes[index(node)], &topology.nodes[index(image)]);
            let differ = |what: &str| Err(differ(&own.name, &other.name, what));
            if settings.delay(own) != settings.delay(other) {
                return differ("the forwarding delay");
            }
            if settings.stacks.place(index(node)) != settings.stacks.place(index(image)) {
                return differ("host.overrides");
            }
            for (at, port) in PortId::each(&ports[index(node)]) {
                let other_at = self.port(ports, node, at).unwrap_or(at);
                if ports[index(image)][other_at].link != port.link {
                    return differ("the rate or the delay of a link");
                }
                let place = |node: u32, port: PortId| settings.locals.place(index(node), port);
                if place(node, at) != place(image, other_at) {
                    return differ("switch.overrides");
                }
            }
        }
        Ok(())
    }
}

/// Refuses a pinned path that leaves a fixed switch by a port that several servers share, or by the port to another server.
pub(super) fn returns_pinned(
    ports: &[Vec<PortSpec>],
    plan: &AllFlows,
    group: &Symmetry,
) -> Result<(), Reason> {
    for (src, flow) in plan.pinned().filter(|(src, _)| group.is_representative(*src)) {
        for (first, last, path) in [(src, flow.dst, flow.path), (flow.dst, src, flow.path + 1)] {
            let mut node = first;
            for port in plan.paths.ports(path) {
                let here = group.at(node, group.element(last));
                if group.is_fixed(node) && group.element_of_port(node, *port) != Some(here) {
                    return Err("a pinned path (via) takes a port that several servers share".into());
                }
                node = ports[index(node)][*port].peer;
            }
        }
    }
    Ok(())
}

/// Refuses a network in which a fixed switch sends packets for one server by a port that several servers share, or by the port
/// to another server.
pub(super) fn returns(topology: &Topology, ports: &[Vec<PortSpec>], group: &Symmetry) -> Result<(), Reason> {
    let forwards = |node: u32| topology.nodes[index(node)].forwards;
    let nodes = || 0..number(ports.len());
    let fixed: Vec<u32> =
        nodes().filter(|node| group.is_fixed(*node) && group.is_representative(*node)).collect();
    for end in nodes().filter(|node| topology.nodes[index(*node)].is_host) {
        let here: Vec<u32> =
            fixed.iter().copied().filter(|node| group.at(*node, group.element(end)) == STAY).collect();
        if here.is_empty() {
            continue;
        }
        // The number of links from each node to the destination, over nodes that forward.
        let mut links = vec![UNKNOWN; ports.len()];
        links[index(end)] = 0;
        let mut queue = VecDeque::from([end]);
        while let Some(at) = queue.pop_front() {
            for port in &ports[index(at)] {
                if links[index(port.peer)] == UNKNOWN {
                    links[index(port.peer)] = links[index(at)] + 1;
                    if forwards(port.peer) {
                        queue.push_back(port.peer);
                    }
                }
            }
        }
        for node in here {
            let is_nearer = |(_, port): &(PortId, &PortSpec)| links[index(port.peer)] < links[index(node)];
            let strays = |(at, _): &(PortId, &PortSpec)| group.element_of_port(node, *at) != Some(STAY);
            let name = |node: u32| &topology.nodes[index(node)].name;
            let nearer: Vec<_> = PortId::each(&ports[index(node)]).filter(is_nearer).collect();
            if let Some((_, port)) = nearer.iter().find(|port| strays(port)) {
                let [node, peer, end] = [node, port.peer, end].map(name);
                return Err(format!("{node} sends packets for {end} by {peer}, which several servers share"));
            }
            // A flow chooses among ports by their order.
            let keeps_order = |element: &u32| {
                nearer.iter().map(|(at, _)| group.image_port(*element, node, *at)).is_sorted()
            };
            if nearer.len() > 1 && !group.elements_at(node).iter().all(keeps_order) {
                return Err(format!("the ports of {} are in another order for some hosts", name(node)));
            }
        }
    }
    Ok(())
}

/// Returns the reason that two nodes differ.
pub(super) fn differ(one: &str, other: &str, what: &str) -> Reason {
    format!("{one} and {other} differ: {what}")
}
