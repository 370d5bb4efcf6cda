//! NDC(n, k), the node-centric data centre (`BCube`; Guo et al. 2009): n^(k+1) relaying nodes, and k + 1
//! levels of n^k switches.
//!
//! The digits `a_k` … `a_0` of a node are its number to base n. Port l of a node leads to the level-l switch
//! of the n nodes that differ in digit l only; port p of a switch leads to the node with digit p.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{index, number};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.ndc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Ports of a switch, 2 or more.
    pub n: u64,
    /// Levels above level 0.
    #[serde(default = "one")]
    pub k: u64,
    /// Every link.
    pub link: Link,
    /// Links of each level from 0 on. Default: `link`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Link>,
}

fn one() -> u64 {
    1
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let n = bounded("n", self.n, 4_096)?;
        let k = bounded("k", self.k, 8)?;
        if n < 2 {
            return Err(("n".into(), "1 is out of range; a switch joins 2 nodes or more".into()));
        }
        let nodes = u64::from(n).checked_pow(k + 1).filter(|nodes| *nodes <= MAX_NODES / 2);
        let Some(nodes) = nodes.map(|nodes| nodes as u32) else {
            return Err((
                "n".into(),
                format!("NDC({n}, {k}) has too many nodes; the maximum is {}", MAX_NODES / 2),
            ));
        };
        if !self.levels.is_empty() && number(self.levels.len()) != k + 1 {
            return Err((
                "levels".into(),
                format!("{} links are given; NDC({n}, {k}) has {} levels", self.levels.len(), k + 1),
            ));
        }
        let mut t = Topology::default();
        t.add_relays(nodes);
        for level in 0..=k {
            let link = self.levels.get(index(level)).copied().unwrap_or(self.link);
            let first = t.add_switches(&format!("level{level}_"), nodes / n);
            let weight = n.pow(level);
            for switch in 0..nodes / n {
                // Its number is that of its nodes without digit `level`.
                let (high, low) = (switch / weight, switch % weight);
                for digit in 0..n {
                    t.join((high * n + digit) * weight + low, first + switch, link);
                }
            }
        }
        Ok(t)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Duration, Rate};

    use super::*;

    fn ndc(n: u64, k: u64) -> Topology {
        Params { n, k, link: Link { rate: Rate::gbps(100), delay: Duration::us(1) }, levels: Vec::new() }
            .build()
            .unwrap()
    }

    #[test]
    fn counts_follow_the_formulas() {
        for (n, k) in [(2, 1), (4, 1), (8, 1), (32, 1), (2, 2), (3, 3)] {
            let t = ndc(n, k);
            let nodes = n.pow(k as u32 + 1) as usize;
            assert_eq!(t.hosts().len(), nodes);
            assert_eq!(t.nodes.len() - nodes, (k as usize + 1) * n.pow(k as u32) as usize);
            let ports = t.ports();
            assert!(ports[..nodes].iter().all(|p| p.len() == k as usize + 1));
            assert!(ports[nodes..].iter().all(|p| p.len() == n as usize));
        }
    }

    #[test]
    fn nodes_hang_where_figure_6_of_the_portfc_paper_has_them() {
        let t = ndc(4, 1);
        let ports = t.ports();
        // Node 15 on switches 19 and 23; flow F1 takes 15, 19, 12, 20, 0.
        assert_eq!(ports[15].iter().map(|p| p.peer).collect::<Vec<_>>(), [19, 23]);
        assert_eq!(ports[19].iter().map(|p| p.peer).collect::<Vec<_>>(), [12, 13, 14, 15]);
        assert_eq!(ports[12][1].peer, 20);
        assert_eq!(ports[20].iter().map(|p| p.peer).collect::<Vec<_>>(), [0, 4, 8, 12]);
    }
}
