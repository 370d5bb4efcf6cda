//! Hosts around one switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.star`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Hosts.
    pub hosts: u64,
    /// Every link.
    pub link: Link,
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let hosts = bounded("hosts", self.hosts, 16_000.min(MAX_NODES))?;
        let mut t = Topology::default();
        t.add_hosts(hosts);
        let switch = t.add_switches("switch", 1);
        for host in 0..hosts {
            t.join(host, switch, self.link);
        }
        Ok(t)
    }
}
