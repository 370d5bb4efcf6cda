//! Two-layer Clos: leaves with hosts, each linked to every spine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.leaf_spine`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Leaf switches.
    pub leaves: u64,
    /// Spine switches.
    pub spines: u64,
    /// Hosts at each leaf.
    pub hosts_per_leaf: u64,
    /// Every link.
    pub link: Link,
    /// Links between leaves and spines. Default: `link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_link: Option<Link>,
    /// Parallel links from each leaf to each spine.
    #[serde(default = "one")]
    pub parallel: u64,
}

fn one() -> u64 {
    1
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let leaves = bounded("leaves", self.leaves, 8_192)?;
        let spines = bounded("spines", self.spines, 4_096)?;
        let parallel = bounded("parallel", self.parallel, 64)?;
        let hosts = bounded("hosts_per_leaf", self.hosts_per_leaf, (MAX_NODES / self.leaves).min(16_000))?;
        if u64::from(leaves) * u64::from(spines) * u64::from(parallel) > 4 * MAX_NODES {
            return Err((
                "spines".into(),
                format!("{leaves} leaves and {spines} spines make too many links"),
            ));
        }
        let mut t = Topology::default();
        t.add_hosts(leaves * hosts);
        let leaf = t.add_switches("leaf", leaves);
        let spine = t.add_switches("spine", spines);
        for host in 0..leaves * hosts {
            t.join(host, leaf + host / hosts, self.link);
        }
        for l in 0..leaves {
            for s in 0..spines {
                for _ in 0..parallel {
                    t.join(leaf + l, spine + s, self.fabric_link.unwrap_or(self.link));
                }
            }
        }
        Ok(t)
    }
}
