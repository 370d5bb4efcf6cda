//! Nodes and links of a network.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Propagation, Rate, index, number};

use super::reach::Reach;
use super::servers::Servers;
use crate::parts::ids::PortId;

/// A full-duplex link's rate and propagation delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation delay, or the length of the cable (`"30m"`, 5 ns a metre); may be zero.
    #[serde(deserialize_with = "Propagation::time")]
    #[schemars(with = "Propagation")]
    pub delay: Duration,
}

/// Returns the problem of a link below the least rate.
pub(super) fn too_slow(rate: Rate) -> Option<String> {
    (rate < Rate(1_000_000)).then(|| format!("a link rate of {rate} is below the minimum of 1Mbps"))
}

/// Most nodes of a network.
pub const MAX_NODES: u64 = 1 << 20;

/// Most links of a node.
pub const MAX_PORTS: u32 = xoff_engine::MAX_PORTS as u32;

/// A node of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// True for a node that forwards packets.
    pub forwards: bool,
    /// True for a node where flows start and end.
    pub is_host: bool,
    /// True for a reducer of a switch: only flows of collectives start and end there.
    pub reduces: bool,
    /// Forwarding delay of the node, if it differs from the scenario's.
    pub delay: Option<Duration>,
}

/// A link between two nodes. Port numbers follow from the order of links at each node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSpec {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Rate and delay.
    pub link: Link,
}

/// One end of a link as seen by the node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortSpec {
    /// The node at the other end.
    pub peer: u32,
    /// The peer's port.
    pub peer_port: PortId,
    /// Rate and delay.
    pub link: Link,
}

/// The wiring of a network, for code that needs several nodes.
#[derive(Debug, Default, Clone)]
pub struct Wiring {
    /// Of each node.
    pub ports: Vec<Vec<PortSpec>>,
    /// True for hosts that forward.
    pub is_relay: Vec<bool>,
    /// Nodes where flows end.
    pub is_host: Vec<bool>,
}

/// Nodes and links; hosts come first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// Nodes by number.
    pub nodes: Vec<NodeSpec>,
    /// Links in an order that sets port numbers.
    pub links: Vec<LinkSpec>,
    /// True for hosts that are GPUs: the lowest port of each GPU leads into its server, the other ports to
    /// NICs.
    pub has_servers: bool,
    /// The servers of GPUs, if given.
    pub servers: Option<Servers>,
}

impl Topology {
    /// Adds hosts `host0`, `host1`, …; returns the first number.
    pub fn add_hosts(&mut self, count: u32) -> u32 {
        self.add("host", count, false, true)
    }

    /// Adds relaying hosts `host0`, `host1`, …; returns the first number.
    pub fn add_relays(&mut self, count: u32) -> u32 {
        self.add("host", count, true, true)
    }

    /// Adds switches with this name and a number; returns the first node number.
    pub fn add_switches(&mut self, name: &str, count: u32) -> u32 {
        self.add(name, count, true, false)
    }

    pub(super) fn add(&mut self, name: &str, count: u32, forwards: bool, is_host: bool) -> u32 {
        let first = number(self.nodes.len());
        self.nodes.extend((0..count).map(|i| NodeSpec {
            name: format!("{name}{i}"),
            forwards,
            is_host,
            reduces: false,
            delay: None,
        }));
        first
    }

    /// Adds a full-duplex link.
    pub fn join(&mut self, a: u32, b: u32, link: Link) {
        self.links.push(LinkSpec { a, b, link });
    }

    /// The ports of each node.
    pub fn ports(&self) -> Vec<Vec<PortSpec>> {
        let mut ports: Vec<Vec<PortSpec>> = vec![Vec::new(); self.nodes.len()];
        for l in &self.links {
            let (pa, pb) = (PortId::at(ports[index(l.a)].len()), PortId::at(ports[index(l.b)].len()));
            ports[index(l.a)].push(PortSpec { peer: l.b, peer_port: pb, link: l.link });
            ports[index(l.b)].push(PortSpec { peer: l.a, peer_port: pa, link: l.link });
        }
        ports
    }

    /// Ports and roles of all nodes.
    pub fn wiring(&self) -> Wiring {
        Wiring {
            ports: self.ports(),
            is_relay: self.nodes.iter().map(|n| n.is_host && n.forwards).collect(),
            is_host: self.nodes.iter().map(|n| n.is_host).collect(),
        }
    }

    /// The number of a node by name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.nodes.iter().position(|n| n.name == name).map(number)
    }

    /// Host numbers in order.
    pub fn hosts(&self) -> Vec<u32> {
        self.ends().filter(|n| !self.nodes[index(*n)].reduces).collect()
    }

    /// Nodes where flows start and end: hosts and reducers.
    pub fn ends(&self) -> impl Iterator<Item = u32> + '_ {
        (0..number(self.nodes.len())).filter(|n| self.nodes[index(*n)].is_host)
    }

    /// Returns the reducers, with the distance to each of these hosts.
    pub fn reach(&self, ports: &[Vec<PortSpec>], hosts: &[u32]) -> Vec<Reach> {
        let reducers = (0..number(self.nodes.len())).filter(|n| self.nodes[index(*n)].reduces);
        let of = |node: u32| {
            let mut links = vec![u32::MAX; self.nodes.len()];
            let mut queue = VecDeque::from([node]);
            links[index(node)] = 0;
            while let Some(at) = queue.pop_front() {
                for port in ports[index(at)].iter().filter(|_| at == node || self.nodes[index(at)].forwards) {
                    if links[index(port.peer)] == u32::MAX {
                        links[index(port.peer)] = links[index(at)] + 1;
                        queue.push_back(port.peer);
                    }
                }
            }
            Reach { node, links: hosts.iter().map(|host| links[index(*host)]).collect() }
        };
        reducers.map(of).collect()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !self.nodes.iter().any(|n| n.is_host) {
            return Err("the network has no host; add one".into());
        }
        if let Some(why) = self.links.iter().find_map(|l| too_slow(l.link.rate)) {
            return Err(why);
        }
        if let Some(l) = self.links.iter().find(|l| l.link.delay > Duration::ms(1_000)) {
            return Err(format!("a link delay of {} is above the maximum of 1s", l.link.delay));
        }
        let mut degree = vec![0_u32; self.nodes.len()];
        for end in self.links.iter().flat_map(|l| [l.a, l.b]) {
            degree[index(end)] += 1;
            if degree[index(end)] > MAX_PORTS {
                return Err(format!(
                    "`{}` has too many links; the maximum is {MAX_PORTS}",
                    self.nodes[index(end)].name
                ));
            }
        }
        Ok(())
    }
}
