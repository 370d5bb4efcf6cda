//! Rails between GPU servers: rail-only (Wang et al. 2023) and, with aggregation switches, rail-optimised.
//!
//! GPUs are nodes that relay. Port 0 leads to the switch of the server, port 1 to the switch of the rail,
//! which joins the GPUs of one position over all servers of a segment. Rail-only is NDC with two kinds of
//! links (section III-A of the `PortFC` paper); rail-optimised is section VI-D of the paper.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Link, MAX_NODES, Shape, Topology, bounded};

/// `network.rail`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Servers (of each segment).
    pub servers: u64,
    /// GPUs of a server with a NIC of their own, which is the number of rails; with `network.servers` the
    /// NICs of a server.
    pub gpus_per_server: u64,
    /// Links within a server, for packets: the high-bandwidth domain. With `network.servers` there may be none:
    /// GPUs then do not relay, and `library = "nccl"` has NVLink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<Link>,
    /// Links from GPUs to rail switches.
    pub rail: Link,
    /// A layer of switches above the rails: rail-optimised. Default: rail-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
}

/// `network.rail.aggregation`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// Switches, each linked to every rail switch.
    pub switches: u64,
    /// Links from rail switches to aggregation switches.
    pub link: Link,
    /// Groups of servers with separate rail switches, joined by aggregation switches only.
    #[serde(default = "one")]
    pub segments: u64,
}

fn one() -> u64 {
    1
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        let gpus = bounded("gpus_per_server", self.gpus_per_server, 4_096)?;
        let segments = self
            .aggregation
            .as_ref()
            .map_or(Ok(1), |a| bounded("aggregation.segments", a.segments, 4_096))?;
        let servers = bounded(
            "servers",
            self.servers,
            (MAX_NODES / 2 / u64::from(gpus) / u64::from(segments)).min(4_096),
        )?;
        let has_servers = self.scale_up.is_some();
        let mut t = Topology { has_servers, ..Topology::default() };
        let all = servers * segments;
        if let Some(link) = self.scale_up {
            t.add_relays(all * gpus);
            let server = t.add_switches("server", all);
            for gpu in 0..all * gpus {
                t.join(gpu, server + gpu / gpus, link);
            }
        } else {
            t.add_hosts(all * gpus);
        }
        let rail = t.add_switches("rail", segments * gpus);
        for gpu in 0..all * gpus {
            t.join(gpu, rail + gpu / gpus / servers * gpus + gpu % gpus, self.rail);
        }
        if let Some(aggregation) = &self.aggregation {
            let switches = bounded("aggregation.switches", aggregation.switches, 4_096)?;
            if u64::from(switches) * u64::from(segments * gpus) > 4 * MAX_NODES {
                return Err((
                    "aggregation.switches".into(),
                    format!("{switches} for {} rail switches make too many links", segments * gpus),
                ));
            }
            let above = t.add_switches("aggregation", switches);
            for r in 0..segments * gpus {
                for a in 0..switches {
                    t.join(rail + r, above + a, aggregation.link);
                }
            }
        }
        Ok(t)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Duration, Rate, index};

    use super::*;

    fn link(gbps: u64) -> Link {
        Link { rate: Rate::gbps(gbps), delay: Duration::us(1) }
    }

    #[test]
    fn rail_only_with_as_many_servers_as_gpus_is_ndc() {
        let ours = Params {
            servers: 4,
            gpus_per_server: 4,
            scale_up: Some(link(160)),
            rail: link(100),
            aggregation: None,
        }
        .build()
        .unwrap();
        let ndc =
            super::super::ndc::Params { n: 4, k: 1, link: link(100), levels: vec![link(160), link(100)] }
                .build()
                .unwrap();
        assert_eq!(ours.ports(), ndc.ports());
    }

    #[test]
    fn aggregation_joins_segments() {
        let aggregation = Some(Aggregation { switches: 3, link: link(400), segments: 2 });
        let t = Params {
            servers: 4,
            gpus_per_server: 2,
            scale_up: Some(link(160)),
            rail: link(100),
            aggregation,
        }
        .build()
        .unwrap();
        assert_eq!((t.hosts().len(), t.nodes.len()), (16, 16 + 8 + 4 + 3));
        let ports = t.ports();
        // GPU 9 is the second one of the first server of the second segment.
        assert_eq!(t.nodes[index(ports[9][0].peer)].name, "server4");
        assert_eq!(t.nodes[index(ports[9][1].peer)].name, "rail3");
        assert_eq!(ports[index(ports[9][1].peer)].len(), 4 + 3);
    }
}
