//! Switches in a row, with hosts at each switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.line`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Switches.
    pub switches: u64,
    /// Hosts at each switch.
    #[serde(default = "one")]
    pub hosts_per_switch: u64,
    /// Every link.
    pub link: Link,
    /// Links between switches. Default: `link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_link: Option<Link>,
}

fn one() -> u64 {
    1
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let switches = bounded("switches", self.switches, MAX_NODES)?;
        let hosts =
            bounded("hosts_per_switch", self.hosts_per_switch, (MAX_NODES / self.switches).min(16_000))?;
        let mut t = Topology::default();
        t.add_hosts(switches * hosts);
        let first = t.add_switches("switch", switches);
        for host in 0..switches * hosts {
            t.join(host, first + host / hosts, self.link);
        }
        for s in 1..switches {
            t.join(first + s - 1, first + s, self.fabric_link.unwrap_or(self.link));
        }
        Ok(t)
    }
}
