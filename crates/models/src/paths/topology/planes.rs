//! Planes: copies of all switches of a network, each with links to every host and without links to other
//! planes.
//!
//! Models: a host whose network card has a port in each plane, as in the multi-plane fat tree of Zhao et al.,
//! "Insights into DeepSeek-V3" (ISCA 2025, section 5.1). Failures and congestion in one plane do not affect
//! another. Simplification: no card stripes the packets of one flow over its ports. A flow leaves by one port
//! (`host.first_hop`), and a job's messages take turns over several connections
//! (`workload.connections_per_channel`). Invariants: hosts keep their numbers and names; the first links of a
//! host lead to the first plane.

use std::collections::HashSet;

use xoff_units::{index, number, wide};

use super::bounded::bounded;
use super::nodes::{LinkSpec, MAX_NODES, NodeSpec, Topology};

/// More ports than the network cards of a host have.
const MOST: u64 = 64;

impl Topology {
    /// Returns the network with this many planes; switches are called `p0.leaf0`, `p1.leaf0` and so on.
    pub(super) fn with_planes(self, planes: u64) -> Result<Self, (String, String)> {
        let wrong = |why: String| Err(("planes".to_string(), why));
        let planes = bounded("planes", planes, MOST)?;
        if planes == 1 {
            return Ok(self);
        }
        if let Some(relay) = self.nodes.iter().find(|n| n.is_host && n.forwards) {
            return wrong(format!(
                "`{}` relays, and a relay cannot have several planes; use hosts that do not relay",
                relay.name
            ));
        }
        let switches = wide(self.nodes.iter().filter(|n| !n.is_host).count());
        let hosts = wide(self.nodes.len()) - switches;
        if hosts + switches * u64::from(planes) > MAX_NODES
            || wide(self.links.len()) * u64::from(planes) > 4 * MAX_NODES
        {
            return wrong(format!("{planes} planes make too many switches or links"));
        }
        // Hosts as they are, and of each switch its copy in the plane.
        let mut all = Self {
            nodes: self.nodes.iter().filter(|n| n.is_host).cloned().collect(),
            links: Vec::new(),
            ..Self::default()
        };
        let taken: HashSet<String> = all.nodes.iter().map(|n| n.name.clone()).collect();
        let mut own_hosts = 0..hosts as u32;
        let mut place: Vec<Option<u32>> =
            self.nodes.iter().map(|n| if n.is_host { own_hosts.next() } else { None }).collect();
        for plane in 0..planes {
            for (node, place) in self.nodes.iter().zip(&mut place).filter(|(node, _)| !node.is_host) {
                *place = Some(number(all.nodes.len()));
                let name = format!("p{plane}.{}", node.name);
                if taken.contains(&name) {
                    return wrong(format!("`{name}` is a host, and would be a switch of plane {plane}"));
                }
                all.nodes.push(NodeSpec { name, ..node.clone() });
            }
            let at = |end: u32| place[index(end)].unwrap_or_default();
            all.links.extend(self.links.iter().map(|l| LinkSpec { a: at(l.a), b: at(l.b), ..*l }));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Duration, Rate};

    use super::super::{Link, Network, Shape, leaf_spine, ndc, star};
    use super::*;

    const LINK: Link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };

    #[test]
    fn each_plane_is_a_copy_and_a_hosts_port_is_its_plane() {
        let shape = leaf_spine::Params {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 2,
            link: LINK,
            fabric_link: None,
            parallel: 1,
        };
        let one = shape.build().unwrap();
        let two = one.clone().with_planes(2).unwrap();
        assert_eq!(one.clone().with_planes(1).unwrap(), one);
        assert_eq!((two.nodes.len(), two.links.len()), (4 + 2 * 4, 2 * one.links.len()));
        let (before, ports) = (one.ports(), two.ports());
        for host in 0..4_u32 {
            let peers: Vec<&str> =
                ports[index(host)].iter().map(|p| two.nodes[index(p.peer)].name.as_str()).collect();
            let leaf = &one.nodes[index(before[index(host)][0].peer)].name;
            assert_eq!(peers, [format!("p0.{leaf}"), format!("p1.{leaf}")]);
        }
        // Nothing leads from one plane to the other but hosts.
        let plane = |n: u32| two.nodes[index(n)].name.split('.').next().unwrap().to_string();
        assert!(two.links.iter().all(|l| two.nodes[index(l.a)].is_host || plane(l.a) == plane(l.b)));
    }

    #[test]
    fn what_has_no_planes_says_so() {
        let of = |network: Network| network.build().unwrap_err();
        let star = Some(star::Params { hosts: 2, link: LINK });
        for planes in [0, 65] {
            let (key, why) = of(Network { star: star.clone(), planes: Some(planes), ..Network::default() });
            assert_eq!(key, "planes");
            assert!(why.contains("allowed are 1 to 64"), "{why}");
        }
        let relays = serde_json::from_str::<ndc::Params>(
            r#"{"n": 2, "k": 2, "link": {"rate": "100Gbps", "delay": "1us"}}"#,
        )
        .unwrap();
        let (key, why) = of(Network { ndc: Some(relays), planes: Some(2), ..Network::default() });
        assert_eq!(key, "planes");
        assert!(why.contains("relays"), "{why}");
    }
}
