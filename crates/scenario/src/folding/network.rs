//! Decides whether the network stays the same under a rotation of hosts.

use std::collections::BTreeMap;

use xoff_models::network::Settings;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::symmetry::Rotation;
use xoff_models::paths::topology::{PortSpec, Topology};
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

/// What a rotation does with switches that no moved node reaches, such as aggregation switches above the rails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Equal switches turn in blocks of the size of the rotation, so that equal servers use equal switches.
    Turns,
    /// The switches stay, and all servers share them.
    Stays,
}

impl Wires {
    /// Returns the images of all nodes, or the first difference. A moved node keeps the numbers of its ports. A fixed
    /// node has a port to the image of each neighbour.
    pub fn of(
        topology: &Topology,
        ports: &[Vec<PortSpec>],
        hosts: &[u32],
        rotation: Rotation,
        beyond: Beyond,
    ) -> Result<Self, Reason> {
        let mut wires = Self { nodes: vec![UNKNOWN; topology.nodes.len()] };
        for (place, host) in (0..).zip(hosts) {
            wires.nodes[index(*host)] = hosts[index(rotation.of(place))];
        }
        let name = |node: u32| topology.nodes[index(node)].name.as_str();
        let differ = |(node, image): (u32, u32), what| differ(name(node), name(image), what);
        let mut open: Vec<u32> = hosts.to_vec();
        while !open.is_empty() {
            wires.follow(ports, &mut open).map_err(|(ends, what)| differ(ends, what))?;
            if beyond == Beyond::Turns {
                open = wires.turn(topology, ports, rotation.size);
            }
        }
        for (node, image) in (0..).zip(&mut wires.nodes) {
            if *image == UNKNOWN {
                *image = node;
            }
        }
        match wires.misplaced(topology, ports) {
            Some((node, what)) => Err(differ((node, wires.nodes[index(node)]), what)),
            None => Ok(wires),
        }
    }

    /// Follows the links of moved nodes: the neighbour at each port moves to the neighbour of the image at the same port.
    fn follow(
        &mut self,
        ports: &[Vec<PortSpec>],
        open: &mut Vec<u32>,
    ) -> Result<(), ((u32, u32), &'static str)> {
        while let Some(node) = open.pop() {
            let image = self.nodes[index(node)];
            if image == node {
                continue;
            }
            let (own, other) = (&ports[index(node)], &ports[index(image)]);
            if own.len() != other.len() {
                return Err(((node, image), "the number of links"));
            }
            for (a, b) in own.iter().zip(other) {
                let known = &mut self.nodes[index(a.peer)];
                if *known == UNKNOWN {
                    *known = b.peer;
                    open.push(a.peer);
                } else if *known != b.peer {
                    return Err(((node, image), "the neighbours"));
                }
            }
        }
        Ok(())
    }

    /// Turns switches that no moved node reaches, in blocks of `size`: switches with links to the same switches in place.
    /// Returns the turned switches.
    fn turn(&mut self, topology: &Topology, ports: &[Vec<PortSpec>], size: u32) -> Vec<u32> {
        let mut turned = Vec::new();
        for alike in self.alike(topology, ports).values() {
            if !number(alike.len()).is_multiple_of(size) {
                continue;
            }
            for block in alike.chunks(index(size)) {
                for (at, node) in block.iter().enumerate() {
                    self.nodes[index(*node)] = block[(at + 1) % block.len()];
                }
            }
            turned.extend(alike);
        }
        turned
    }

    /// Returns the switches without an image, by neighbours: those with links to switches in place only.
    fn alike(&self, topology: &Topology, ports: &[Vec<PortSpec>]) -> BTreeMap<Vec<u32>, Vec<u32>> {
        let mut alike: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for node in (0..number(ports.len())).filter(|node| self.nodes[index(*node)] == UNKNOWN) {
            let peers: Vec<u32> = ports[index(node)].iter().map(|port| port.peer).collect();
            let are_fixed = peers.iter().all(|peer| self.nodes[index(*peer)] == *peer);
            if topology.nodes[index(node)].forwards && !peers.is_empty() && are_fixed {
                alike.entry(peers).or_default().push(node);
            }
        }
        alike
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

/// Returns the reason that two nodes differ.
pub(super) fn differ(one: &str, other: &str, what: &str) -> Reason {
    format!("{one} and {other} differ: {what}")
}
