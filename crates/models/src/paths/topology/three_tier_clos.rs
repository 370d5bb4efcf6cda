//! Three-layer Clos: pods of access and aggregation switches under core switches.
//!
//! The 1024-GPU network of the SFC document has 8 pods of 16 access and 4 aggregation switches under 8 cores,
//! 8 hosts per access switch, 2 links from an access switch to each aggregation switch of its pod, and 4
//! links from an aggregation switch to each core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.three_tier_clos`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pods.
    pub pods: u64,
    /// Access switches of a pod.
    pub access_per_pod: u64,
    /// Aggregation switches of a pod.
    pub aggregation_per_pod: u64,
    /// Core switches.
    pub cores: u64,
    /// Hosts at each access switch.
    pub hosts_per_access: u64,
    /// Parallel links from an access switch to each aggregation switch of its pod.
    #[serde(default = "one")]
    pub access_uplinks: u64,
    /// Parallel links from an aggregation switch to each linked core.
    #[serde(default = "one")]
    pub core_uplinks: u64,
    /// Cores linked to each aggregation switch, those of its plane: aggregation switch a of every pod to
    /// cores a·n … a·n + n − 1 (mod cores). Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores_per_aggregation: Option<u64>,
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
        let pods = bounded("pods", self.pods, 1_024)?;
        let access = bounded("access_per_pod", self.access_per_pod, 1_024)?;
        let aggregation = bounded("aggregation_per_pod", self.aggregation_per_pod, 1_024)?;
        let cores = bounded("cores", self.cores, 4_096)?;
        let hosts = bounded(
            "hosts_per_access",
            self.hosts_per_access,
            (MAX_NODES / (self.pods * self.access_per_pod)).clamp(1, 16_000),
        )?;
        let up = bounded("access_uplinks", self.access_uplinks, 64)?;
        let core_up = bounded("core_uplinks", self.core_uplinks, 64)?;
        let plane =
            bounded("cores_per_aggregation", self.cores_per_aggregation.unwrap_or(self.cores), self.cores)?;
        if u64::from(pods * aggregation) * u64::from(plane * core_up + access * up) > 4 * MAX_NODES {
            return Err((String::new(), "too many links; give smaller numbers".into()));
        }
        let fabric = self.fabric_link.unwrap_or(self.link);
        let mut t = Topology::default();
        t.add_hosts(pods * access * hosts);
        let first_access = t.add_switches("access", pods * access);
        let first_aggregation = t.add_switches("aggregation", pods * aggregation);
        let first_core = t.add_switches("core", cores);
        for host in 0..pods * access * hosts {
            t.join(host, first_access + host / hosts, self.link);
        }
        for pod in 0..pods {
            for a in 0..access {
                for g in 0..aggregation {
                    for _ in 0..up {
                        t.join(
                            first_access + pod * access + a,
                            first_aggregation + pod * aggregation + g,
                            fabric,
                        );
                    }
                }
            }
            for g in 0..aggregation {
                for c in 0..plane {
                    for _ in 0..core_up {
                        t.join(
                            first_aggregation + pod * aggregation + g,
                            first_core + (g * plane + c) % cores,
                            fabric,
                        );
                    }
                }
            }
        }
        Ok(t)
    }
}
