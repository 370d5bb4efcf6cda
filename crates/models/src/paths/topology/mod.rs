//! Topologies: nodes and the links between the nodes. Each shape is a file; the registry is in this file.
//! Source: `docs/models/topologies.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Propagation, Rate, index, wide};

use crate::parts::names;
use crate::paths::failover::Failover;
use crate::paths::retry;

mod bounded;
mod nodes;
mod planes;
mod processors;
mod reach;
mod reducers;
pub mod servers;

pub(crate) use self::bounded::bounded;
use self::nodes::too_slow;
pub use self::nodes::{Link, LinkSpec, MAX_NODES, MAX_PORTS, NodeSpec, PortSpec, Topology, Wiring};
pub use self::processors::{Cpu, Generation, Gpu};
pub use self::reach::Reach;
pub use self::reducers::Reducers;
pub use self::servers::Servers;

/// `network.overrides`: a link that differs from its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOverride {
    /// The link, by the names of its ends in either order, such as `leaf1-spine3`; `*` stands for any
    /// characters.
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

/// Makes the table `network`. A line names a module, which is the table's key and holds `Params`, a
/// [`Shape`]; the line's comment is the documentation of the key.
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
            /// Number of copies of all switches. Every host has links to each copy, as a card with a port in
            /// each plane; no link joins two planes. Switches are then called `p0.leaf0`, `p1.leaf0`, …. A
            /// flow leaves by one port (`host.first_hop`), and moves to another port when the first leads
            /// nowhere (`network.failover`). Default: 1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub planes: Option<u64>,
            /// Links that differ from the shape. The last override of a link counts.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub overrides: Vec<LinkOverride>,
            /// Switches that reduce, for collectives with `algorithm = "in_network"`.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub reducers: Vec<Reducers>,
            /// Servers of GPUs, for collectives with `library = "nccl"`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub servers: Option<servers::Params>,
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
                let mut topology = shape.build().map_err(|(key, why)| {
                    (if key.is_empty() { (*name).to_string() } else { format!("{name}.{key}") }, why)
                })?;
                topology = topology.with_planes(self.planes.unwrap_or(1))?;
                self.change_links(&mut topology)?;
                for (i, reducers) in self.reducers.iter().enumerate() {
                    reducers
                        .join(&mut topology)
                        .map_err(|(key, why)| (format!("reducers[{i}].{key}"), why))?;
                }
                topology.check().map_err(|why| ((*name).to_string(), why))?;
                if self.rail.as_ref().is_some_and(|rail| rail.scale_up.is_none()) && self.servers.is_none() {
                    let why = "missing; give the links within a server, or network.servers";
                    return Err(("rail.scale_up".into(), why.into()));
                }
                if let Some(servers) = &self.servers {
                    let all = servers
                        .of(wide(topology.hosts().len()))
                        .map_err(|(key, why)| (format!("servers.{key}"), why))?;
                    topology.servers = Some(all);
                }
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
                return Err((
                    format!("overrides[{i}]"),
                    "an empty override; give rate, delay or both".into(),
                ));
            }
            if let Some(why) = change.rate.and_then(too_slow) {
                return Err((
                    format!("overrides[{i}].rate"),
                    format!("{why}; use fault[].link to take a link down"),
                ));
            }
            let Topology { nodes, links, .. } = topology;
            let is_meant = |l: &LinkSpec| {
                let (a, b) = (&nodes[index(l.a)].name, &nodes[index(l.b)].name);
                names::matches(&change.link, &format!("{a}-{b}"))
                    || names::matches(&change.link, &format!("{b}-{a}"))
            };
            let mut found = 0;
            for link in links.iter_mut() {
                if is_meant(link) {
                    found += 1;
                    link.link = Link {
                        rate: change.rate.unwrap_or(link.link.rate),
                        delay: change.delay.unwrap_or(link.link.delay),
                    };
                }
            }
            if found == 0 {
                let known =
                    links.iter().map(|l| format!("{}-{}", nodes[index(l.a)].name, nodes[index(l.b)].name));
                let why = format!("no link is called `{}`; links are {}", change.link, names::some(known));
                return Err((format!("overrides[{i}].link"), why));
            }
        }
        Ok(())
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
