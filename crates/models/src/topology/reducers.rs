//! Switches that reduce: what their ports bring is added up there, and the sum is sent to all.
//!
//! Models: beside each such switch stands a node, `SWITCH.reducer`, that collectives with `algorithm = "in_network"` send their
//! data to and get their results from; it is no host, so that nothing else is sent there and no host has another number. Its link is
//! what the switch takes in for all ranks together, and gives out to them.
//! Source: Graham et al. 2016, "Scalable Hierarchical Aggregation Protocol (`SHArP`)", and `NVLink` SHARP of NVIDIA's third `NVSwitch`.
//! Leaves out: trees of reducing switches, limits of operations and of buffers in them, and copies that are made at the ports: each
//! rank's copy crosses the link of the reducer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{index, number};

use super::{Link, NodeSpec, Topology};
use crate::names;
use crate::wrong::Wrong;

/// `network.reducers`: switches that reduce.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reducers {
    /// Names of switches; `*` stands for any characters.
    pub switches: String,
    /// What a switch reduces and gives out, both of all ranks together: as much as all their links, if it does so at line rate.
    pub link: Link,
}

impl Reducers {
    /// Puts a reducer beside each of its switches.
    pub(super) fn join(&self, topology: &mut Topology) -> Result<(), Wrong> {
        let is_switch = |n: &u32| topology.nodes[index(*n)].forwards && !topology.nodes[index(*n)].is_host;
        let switches: Vec<u32> = (0..number(topology.nodes.len())).filter(is_switch).collect();
        let name = |n: u32| topology.nodes[index(n)].name.clone();
        let meant: Vec<u32> = switches.iter().copied().filter(|n| names::matches(&self.switches, &name(*n))).collect();
        if meant.is_empty() {
            let known: Vec<String> = switches.iter().map(|n| name(*n)).collect();
            return Err(("switches", format!("no switch is called `{}`; switches are {}", self.switches, names::some(known.into_iter()))));
        }
        for switch in meant {
            let name = format!("{}.reducer", topology.nodes[index(switch)].name);
            if topology.find(&name).is_some() {
                return Err(("switches", format!("there is a `{name}` already; name each switch once")));
            }
            let node = number(topology.nodes.len());
            topology.nodes.push(NodeSpec { name, forwards: false, is_host: true, reduces: true, delay: None });
            topology.join(switch, node, self.link);
        }
        Ok(())
    }
}

/// A reducer, and how far ranks are from it.
#[derive(Debug)]
pub struct Reach {
    /// Its node.
    pub node: u32,
    /// Links to each rank; `u32::MAX` where nothing leads there.
    pub links: Vec<u32>,
}

impl Reach {
    /// The place of the reducer that all of these ranks are closest to, by the farthest of them, then by all together; the first of
    /// several that are alike.
    pub fn closest<'a>(all: impl Iterator<Item = &'a Self>, ranks: &[u32]) -> Option<usize> {
        let far = |reach: &Self| {
            let links = || ranks.iter().map(|rank| reach.links[index(*rank)]);
            (links().max().unwrap_or(u32::MAX), links().map(u64::from).sum::<u64>())
        };
        let reached = all.map(far).enumerate().filter(|(_, far)| far.0 != u32::MAX);
        reached.min_by_key(|(place, far)| (*far, *place)).map(|(place, _)| place)
    }

    /// What is wrong where there is none.
    pub fn none() -> Wrong {
        let why = "no switch that reduces can be reached by all of its ranks; name some in network.reducers, or use another algorithm";
        ("algorithm", why.into())
    }
}
