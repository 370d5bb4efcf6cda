//! Reducers: switches that add up data of ranks for collectives in the network.
//!
//! Models: each such switch has a node `SWITCH.reducer`. Collectives with `algorithm = "in_network"` send
//! data to the node and get results from the node. The node is no host, so other traffic never goes there and
//! host numbers stay. The link of the node carries the data of all ranks together. Source: Graham et al.
//! 2016, "Scalable Hierarchical Aggregation Protocol (`SHArP`)", and `NVLink` SHARP of NVIDIA's third
//! `NVSwitch`; `docs/models/reducers.md`. Simplifications: no trees of reducers; no limits of operations and
//! buffers; each rank's copy crosses the link of the reducer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{index, number};

use super::nodes::{Link, NodeSpec, Topology};
use crate::parts::names;
use crate::parts::param_error::ParamError;

/// `network.reducers`: switches that reduce.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reducers {
    /// Names of switches; `*` stands for any characters.
    pub switches: String,
    /// The link of the reducer, for the data of all ranks together. A switch that reduces at line rate needs
    /// the sum of the ranks' rates.
    pub link: Link,
}

impl Reducers {
    /// Puts a reducer beside each named switch.
    pub(super) fn join(&self, topology: &mut Topology) -> Result<(), ParamError> {
        let is_switch = |n: &u32| topology.nodes[index(*n)].forwards && !topology.nodes[index(*n)].is_host;
        let switches: Vec<u32> = (0..number(topology.nodes.len())).filter(is_switch).collect();
        let name = |n: u32| topology.nodes[index(n)].name.clone();
        let meant: Vec<u32> =
            switches.iter().copied().filter(|n| names::matches(&self.switches, &name(*n))).collect();
        if meant.is_empty() {
            let known: Vec<String> = switches.iter().map(|n| name(*n)).collect();
            return Err((
                "switches",
                format!(
                    "no switch is called `{}`; switches are {}",
                    self.switches,
                    names::some(known.into_iter())
                ),
            ));
        }
        for switch in meant {
            let name = format!("{}.reducer", topology.nodes[index(switch)].name);
            if topology.find(&name).is_some() {
                return Err(("switches", format!("`{name}` exists already; name each switch once")));
            }
            let node = number(topology.nodes.len());
            topology.nodes.push(NodeSpec {
                name,
                forwards: false,
                is_host: true,
                reduces: true,
                delay: None,
            });
            topology.join(switch, node, self.link);
        }
        Ok(())
    }
}
