//! The k-ary fat tree (Al-Fares, Loukissas, Vahdat 2008): k pods of k/2 edge and k/2 aggregation switches,
//! k²/4 cores, k³/4 hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, Shape, Topology, three_tier_clos};

/// `network.fat_tree`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Ports of a switch: even, 2 to 64.
    pub k: u64,
    /// Every link.
    pub link: Link,
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let k = self.k;
        if !(2..=64).contains(&k) || k % 2 == 1 {
            return Err(("k".into(), format!("{k} is not possible; allowed are even numbers from 2 to 64")));
        }
        let half = k / 2;
        three_tier_clos::Params {
            pods: k,
            access_per_pod: half,
            aggregation_per_pod: half,
            cores: half * half,
            hosts_per_access: half,
            access_uplinks: 1,
            core_uplinks: 1,
            cores_per_aggregation: Some(half),
            link: self.link,
            fabric_link: None,
        }
        .build()
    }
}
