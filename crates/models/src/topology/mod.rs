//! Topologies: nodes and the links between the nodes. Each shape is a file; the registry is in this file. Source:
//! `docs/models/topologies.md`.

use std::collections::VecDeque;

use crate::ids::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Propagation, Rate, index, number};

use crate::failover::Failover;
use crate::names;
use crate::retry;

mod planes;
mod reducers;

pub use self::reducers::{Reach, Reducers};

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

/// `network.overrides`: a link that differs from its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOverride {
    /// The link, by the names of its ends in either order, such as `leaf1-spine3`; `*` stands for any characters.
    pub link: String,
    /// Bits per second, each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, or the length of the cable.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Propagation::some_time")]
    #[schemars(with = "Option<Propagation>")]
    pub delay: Option<Duration>,
}

/// A shape that can be built.
pub trait Shape {
    /// Returns nodes and links, or the key below the shape's table and the problem.
    fn build(&self) -> Result<Topology, (String, String)>;
}

/// Makes the table `network`. A line names a module, which is the table's key and holds `Params`, a [`Shape`]; the line's comment
/// is the documentation of the key.
macro_rules! registry {
    ($($(#[doc = $doc:literal])* $shape:ident),* $(,)?) => {
        $(pub mod $shape;)*

        /// `network`: exactly one shape.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Network {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $shape: Option<$shape::Params>,)*
            /// Number of copies of all switches. Every host has links to each copy, as a card with a port in each plane; no link joins two
            /// planes. Switches are then called `p0.leaf0`, `p1.leaf0`, …. A flow leaves by one port (`host.first_hop`), and moves to
            /// another port when the first leads nowhere (`network.failover`). Default: 1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub planes: Option<u64>,
            /// Links that differ from the shape. The last override of a link counts.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub overrides: Vec<LinkOverride>,
            /// Switches that reduce, for collectives with `algorithm = "in_network"`.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub reducers: Vec<Reducers>,
            /// Routes after links go down (`fault`).
            #[serde(default, skip_serializing_if = "is_default")]
            pub failover: Failover,
            /// Links repeat damaged frames (`fault.bit_error_rate`), as Ultra Ethernet's LLR.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub link_retry: Option<retry::Params>,
        }

        impl Network {
            const SHAPES: &[&str] = &[$(stringify!($shape)),*];

            fn shapes(&self) -> Vec<(&'static str, &dyn Shape)> {
                let mut list: Vec<(&'static str, &dyn Shape)> = Vec::new();
                $(if let Some(shape) = &self.$shape { list.push((stringify!($shape), shape)); })*
                list
            }
        }
    };
}

registry! {
    /// Hosts around one switch.
    star,
    /// Switches in a row, hosts at each.
    line,
    /// Leaves with hosts, each linked to every spine.
    leaf_spine,
    /// Pods of access and aggregation switches under cores.
    three_tier_clos,
    /// The k-ary fat tree (Al-Fares, Loukissas, Vahdat 2008).
    fat_tree,
    /// The node-centric NDC(n, k) (`BCube`), whose hosts relay.
    ndc,
    /// GPU servers joined by rails: rail-only or rail-optimised.
    rail,
    /// Nodes and links listed.
    explicit,
}

impl Network {
    /// The names of the given shapes.
    pub fn given(&self) -> Vec<&'static str> {
        self.shapes().into_iter().map(|s| s.0).collect()
    }

    /// Builds the given shape; an error has the key below `network` and the reason.
    pub fn build(&self) -> Result<Topology, (String, String)> {
        let shapes = self.shapes();
        let all = Self::SHAPES.join(", ");
        match shapes.as_slice() {
            [(name, shape)] => {
                let mut topology = shape
                    .build()
                    .map_err(|(key, why)| (if key.is_empty() { (*name).to_string() } else { format!("{name}.{key}") }, why))?;
                topology = topology.with_planes(self.planes.unwrap_or(1))?;
                self.change_links(&mut topology)?;
                for (i, reducers) in self.reducers.iter().enumerate() {
                    reducers.join(&mut topology).map_err(|(key, why)| (format!("reducers[{i}].{key}"), why))?;
                }
                topology.check().map_err(|why| ((*name).to_string(), why))?;
                Ok(topology)
            }
            [] => Err((String::new(), format!("missing; give one of {all}"))),
            several => {
                let names: Vec<_> = several.iter().map(|s| s.0).collect();
                Err((String::new(), format!("{} are given; give exactly one of {all}", names.join(" and "))))
            }
        }
    }

    /// Applies the overrides of links.
    fn change_links(&self, topology: &mut Topology) -> Result<(), (String, String)> {
        for (i, change) in self.overrides.iter().enumerate() {
            if change.rate.is_none() && change.delay.is_none() {
                return Err((format!("overrides[{i}]"), "an empty override; give rate, delay or both".into()));
            }
            if let Some(why) = change.rate.and_then(too_slow) {
                return Err((format!("overrides[{i}].rate"), format!("{why}; use fault[].link to take a link down")));
            }
            let Topology { nodes, links, .. } = topology;
            let is_meant = |l: &LinkSpec| {
                let (a, b) = (&nodes[index(l.a)].name, &nodes[index(l.b)].name);
                names::matches(&change.link, &format!("{a}-{b}")) || names::matches(&change.link, &format!("{b}-{a}"))
            };
            let mut found = 0;
            for link in links.iter_mut() {
                if is_meant(link) {
                    found += 1;
                    link.link = Link { rate: change.rate.unwrap_or(link.link.rate), delay: change.delay.unwrap_or(link.link.delay) };
                }
            }
            if found == 0 {
                let known = links.iter().map(|l| format!("{}-{}", nodes[index(l.a)].name, nodes[index(l.b)].name));
                let why = format!("no link is called `{}`; links are {}", change.link, names::some(known));
                return Err((format!("overrides[{i}].link"), why));
            }
        }
        Ok(())
    }
}

/// Returns the problem of a link below the least rate.
fn too_slow(rate: Rate) -> Option<String> {
    (rate < Rate(1_000_000)).then(|| format!("a link rate of {rate} is below the minimum of 1Mbps"))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Most nodes of a network.
pub const MAX_NODES: u64 = 1 << 20;

/// Most links of a node.
pub const MAX_PORTS: u32 = xoff_engine::MAX_PORTS as u32;

/// Refuses a size of zero or above the bound, before memory is allocated.
pub(crate) fn bounded(key: &str, value: u64, max: u64) -> Result<u32, (String, String)> {
    if value == 0 || value > max {
        return Err((key.to_string(), format!("{value} is out of range; allowed are 1 to {max}")));
    }
    Ok(value as u32)
}

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
    /// True for hosts that are GPUs: the lowest port of each GPU leads into its server, the other ports to NICs.
    pub has_servers: bool,
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

    fn add(&mut self, name: &str, count: u32, forwards: bool, is_host: bool) -> u32 {
        let first = number(self.nodes.len());
        self.nodes.extend((0..count).map(|i| NodeSpec { name: format!("{name}{i}"), forwards, is_host, reduces: false, delay: None }));
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

    fn check(&self) -> Result<(), String> {
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
                return Err(format!("`{}` has too many links; the maximum is {MAX_PORTS}", self.nodes[index(end)].name));
            }
        }
        Ok(())
    }
}
