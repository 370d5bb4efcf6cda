//! Targets of faults: the ports and nodes of each entry.

use std::collections::BTreeMap;

use xoff_engine::random::{Stream, mix};
use xoff_units::{Duration, Rate, index, number};

use super::schedule::Schedule;
use super::{Fault, Queued};
use crate::parts::ids::PortId;
use crate::parts::{names, streams};
use crate::paths::topology::{PortSpec, Topology};

/// Effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// Links are down; frames for the links are lost or wait.
    Down(Queued),
    /// Links have another rate.
    Rate(Rate),
    /// Links have another delay.
    Delay(Duration),
    /// Links damage each bit with a probability.
    Errors(f64),
    /// A host reads no frames.
    Stall,
    /// Computations of a host take this many times as long.
    Compute(f64),
}

impl What {
    /// Returns the name of the effect in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Down(_) => "down",
            Self::Rate(_) => "rate",
            Self::Delay(_) => "delay",
            Self::Errors(_) => "bit errors",
            Self::Stall => "stall",
            Self::Compute(_) => "compute",
        }
    }
}

/// Target of a fault: a link, a node or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The link between two ports, and for each port true if frames sent by the port are meant.
    Link([(u32, PortId); 2], [bool; 2]),
    /// All links of a node.
    Node(u32),
    /// A host.
    Host(u32),
}

/// A fault of one link, node or host.
#[derive(Debug, Clone)]
pub struct Unit {
    /// The entry of the scenario.
    pub fault: u32,
    /// Effect.
    pub what: What,
    /// Target.
    pub target: Target,
    /// Moments.
    pub schedule: Schedule,
}

/// A port at which a node feels a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The port.
    pub port: PortId,
    /// True for frames that the port sends.
    pub sends: bool,
    /// True for frames that come to the port.
    pub receives: bool,
}

/// Part of a fault at a node.
#[derive(Debug, Clone)]
pub struct Part {
    /// Index of the fault in [`Plan::units`].
    pub unit: u32,
    /// Effect.
    pub what: What,
    /// Ports of the effect.
    pub places: Vec<Place>,
    /// True when the node itself is down, and not a link.
    pub is_whole: bool,
    /// Moments.
    pub schedule: Schedule,
}

/// All faults of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Faults by link, node or host, in the order of entries and then of links or nodes.
    pub units: Vec<Unit>,
    parts: BTreeMap<u32, Vec<Part>>,
}

/// Largest number of links, nodes and hosts in all entries.
const MAX_UNITS: usize = 1 << 20;

impl Plan {
    /// Finds the targets of entries; an error has the path and the problem.
    pub fn new(faults: &[Fault], topology: &Topology, seed: u64) -> Result<Self, (String, String)> {
        let mut plan = Self::default();
        let ports = topology.ports();
        let mut turns: BTreeMap<u64, u64> = BTreeMap::new();
        let ends = if faults.is_empty() { Vec::new() } else { ends(topology) };
        for (i, fault) in faults.iter().enumerate() {
            let (key, targets) = targets(fault, topology, &ends);
            if targets.is_empty() {
                return Err((format!("fault[{i}].{key}"), unknown(key, fault, topology)));
            }
            if plan.units.len() + targets.len() > MAX_UNITS {
                return Err((
                    format!("fault[{i}].{key}"),
                    format!("too many failing links and nodes; the maximum is {MAX_UNITS}"),
                ));
            }
            for target in targets {
                let schedule = match (fault.time_between_failures, fault.time_to_repair) {
                    (Some(between), Some(repair)) => {
                        // The first entry that draws for a target has the same draws, whatever is listed
                        // before it.
                        let turn = turns.entry(key_of(target)).or_insert(0_u64);
                        *turn += 1;
                        let entity = mix(*turn) ^ key_of(target);
                        Schedule::drawn(fault.at, between, repair, Stream::new(seed, entity, streams::FAULT))
                    }
                    _ => Schedule::once(fault.at, fault.duration),
                };
                plan.units.push(Unit { fault: number(i), what: what(fault), target, schedule });
            }
        }
        for unit in 0..plan.units.len() {
            plan.place(number(unit), &ports);
        }
        Ok(plan)
    }

    /// True without faults.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns the parts of faults at a node.
    pub fn parts(&self, node: u32) -> &[Part] {
        self.parts.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the shortest delay and the highest rate of a port's transmissions.
    pub fn bounds(&self, node: u32, port: PortId, spec: &PortSpec) -> (Duration, Rate) {
        let sends = |part: &&Part| part.places.iter().any(|place| place.port == port && place.sends);
        self.parts(node).iter().filter(sends).fold(
            (spec.link.delay, spec.link.rate),
            |(delay, rate), part| match part.what {
                What::Rate(other) => (delay, rate.max(other)),
                What::Delay(other) => (delay.min(other), rate),
                What::Down(_) | What::Errors(_) | What::Stall | What::Compute(_) => (delay, rate),
            },
        )
    }

    /// Returns the name of a fault's link, node or host.
    pub fn name(&self, unit: u32, nodes: &[String]) -> String {
        let name = |node: u32| &nodes[index(node)];
        match self.units[index(unit)].target {
            Target::Link([a, b], [true, true]) => format!("{}-{}", name(a.0), name(b.0)),
            Target::Link([a, b], [true, _]) => format!("{} -> {}", name(a.0), name(b.0)),
            Target::Link([a, b], _) => format!("{} -> {}", name(b.0), name(a.0)),
            Target::Node(node) | Target::Host(node) => name(node).clone(),
        }
    }

    /// True for a fault that takes links down.
    pub fn is_cut(&self, unit: u32) -> bool {
        matches!(self.units[index(unit)].what, What::Down(_))
    }

    /// Returns both ends of all links that a fault takes down.
    pub fn links(&self, unit: u32, ports: &[Vec<PortSpec>]) -> Vec<(u32, PortId)> {
        match self.units[index(unit)].target {
            Target::Link(ends, _) => ends.to_vec(),
            Target::Node(node) => PortId::each(&ports[index(node)])
                .flat_map(|(port, p)| [(node, port), (p.peer, p.peer_port)])
                .collect(),
            Target::Host(_) => Vec::new(),
        }
    }

    fn place(&mut self, number: u32, ports: &[Vec<PortSpec>]) {
        let Unit { what, target, schedule, .. } = self.units[index(number)].clone();
        let mut add = |node: u32, places: Vec<Place>, is_whole: bool| {
            let part = Part { unit: number, what, places, is_whole, schedule: schedule.clone() };
            self.parts.entry(node).or_default().push(part);
        };
        match target {
            Target::Link([a, b], [from_a, from_b]) => {
                add(a.0, vec![Place { port: a.1, sends: from_a, receives: from_b }], false);
                add(b.0, vec![Place { port: b.1, sends: from_b, receives: from_a }], false);
            }
            Target::Node(node) => {
                let both = |port| Place { port, sends: true, receives: true };
                add(node, PortId::all(ports[index(node)].len()).map(both).collect(), true);
                let mut peers: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
                for p in &ports[index(node)] {
                    peers.entry(p.peer).or_default().push(both(p.peer_port));
                }
                for (peer, places) in peers {
                    add(peer, places, false);
                }
            }
            Target::Host(node) => add(node, Vec::new(), true),
        }
    }
}

fn what(fault: &Fault) -> What {
    if let Some(rate) = fault.rate {
        What::Rate(rate)
    } else if let Some(delay) = fault.delay {
        What::Delay(delay)
    } else if let Some(p) = fault.bit_error_rate {
        What::Errors(p)
    } else if let Some(times) = fault.compute {
        What::Compute(times)
    } else if fault.stall {
        What::Stall
    } else {
        What::Down(fault.queued)
    }
}

/// Returns a key of a link or node that does not depend on the rest of the network.
fn key_of(target: Target) -> u64 {
    match target {
        Target::Link([a, _], _) => mix(u64::from(a.0) << 16 | u64::from(a.1.0)),
        Target::Node(node) | Target::Host(node) => mix(u64::from(node) << 16 | 0xFFFF),
    }
}

/// Both ports of each link.
fn ends(topology: &Topology) -> Vec<[(u32, PortId); 2]> {
    let mut used = vec![0; topology.nodes.len()];
    let mut next = |node: u32| {
        used[index(node)] += 1;
        (node, PortId::at(used[index(node)] - 1))
    };
    topology.links.iter().map(|l| [next(l.a), next(l.b)]).collect()
}

/// Returns the key of the target, and the targets.
fn targets(fault: &Fault, topology: &Topology, ends: &[[(u32, PortId); 2]]) -> (&'static str, Vec<Target>) {
    let name = |node: u32| topology.nodes[index(node)].name.as_str();
    let nodes = |pattern: &str, is_meant: fn(bool) -> bool| -> Vec<u32> {
        let meant =
            |n: &u32| is_meant(topology.nodes[index(*n)].is_host) && names::matches(pattern, name(*n));
        (0..number(topology.nodes.len())).filter(meant).collect()
    };
    if let Some(pattern) = &fault.node {
        return ("node", nodes(pattern, |_| true).into_iter().map(Target::Node).collect());
    }
    if let Some(pattern) = &fault.host {
        return ("host", nodes(pattern, |is_host| is_host).into_iter().map(Target::Host).collect());
    }
    let pattern = fault.link.as_deref().unwrap_or_default();
    let link = |[a, b]: &[(u32, PortId); 2]| {
        let ways = match pattern.split_once("->") {
            Some((from, to)) => {
                let leads = |a: u32, b: u32| {
                    names::matches(from.trim(), name(a)) && names::matches(to.trim(), name(b))
                };
                [leads(a.0, b.0), leads(b.0, a.0)]
            }
            None => {
                let is_called = |a: u32, b: u32| names::matches(pattern, &format!("{}-{}", name(a), name(b)));
                [is_called(a.0, b.0) || is_called(b.0, a.0); 2]
            }
        };
        (ways != [false; 2]).then_some(Target::Link([*a, *b], ways))
    };
    ("link", ends.iter().filter_map(link).collect())
}

fn unknown(key: &str, fault: &Fault, topology: &Topology) -> String {
    let name = |node: u32| topology.nodes[index(node)].name.clone();
    let all = |is_meant: fn(bool) -> bool| {
        let meant = topology.nodes.iter().filter(move |n| is_meant(n.is_host));
        names::some(meant.map(|n| n.name.clone()))
    };
    match key {
        "node" => format!(
            "no node is called `{}`; nodes are {}",
            fault.node.as_deref().unwrap_or_default(),
            all(|_| true)
        ),
        "host" => format!(
            "no host is called `{}`; hosts are {}",
            fault.host.as_deref().unwrap_or_default(),
            all(|is_host| is_host)
        ),
        _ => {
            let links = topology.links.iter().map(|l| format!("{}-{}", name(l.a), name(l.b)));
            format!(
                "no link is called `{}`; links are {}",
                fault.link.as_deref().unwrap_or_default(),
                names::some(links)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Moment;

    use super::*;
    use crate::paths::topology::{Link, Shape, leaf_spine};

    /// Two leaves (nodes 4 and 5) with two hosts each, and two spines (6 and 7); ports 2 and 3 of a leaf lead
    /// to spines.
    fn clos() -> Topology {
        let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
        leaf_spine::Params { leaves: 2, spines: 2, hosts_per_leaf: 2, link, fabric_link: None, parallel: 1 }
            .build()
            .unwrap()
    }

    fn plan(text: &str) -> Result<Plan, (String, String)> {
        Plan::new(&[serde_json::from_str(text).unwrap()], &clos(), 1)
    }

    #[test]
    fn a_link_is_named_from_either_end_or_one_way() {
        let names: Vec<String> = clos().nodes.iter().map(|n| n.name.clone()).collect();
        let named = |text: &str| {
            let plan = plan(text).unwrap();
            (0..number(plan.units.len())).map(|unit| plan.name(unit, &names)).collect::<Vec<_>>()
        };
        assert_eq!(named(r#"{"link": "spine1-leaf0", "state": "down"}"#), ["leaf0-spine1"]);
        assert_eq!(named(r#"{"link": "leaf*-spine1", "state": "down"}"#), ["leaf0-spine1", "leaf1-spine1"]);
        assert_eq!(
            named(r#"{"link": "spine* -> leaf0", "rate": "1Gbps"}"#),
            ["spine0 -> leaf0", "spine1 -> leaf0"]
        );
        assert_eq!(named(r#"{"host": "*", "stall": true}"#).len(), 4);
    }

    #[test]
    fn both_ends_feel_it_and_all_neighbours_of_a_node() {
        let one_way = plan(r#"{"link": "leaf0 -> spine1", "rate": "1Gbps"}"#).unwrap();
        let place = |port, sends| Place { port: PortId(port), sends, receives: !sends };
        assert_eq!(
            (&one_way.parts(4)[0].places[..], &one_way.parts(7)[0].places[..]),
            (&[place(3, true)][..], &[place(0, false)][..])
        );
        assert!(one_way.parts(5).is_empty() && one_way.parts(0).is_empty());
        let node = plan(r#"{"node": "leaf1", "state": "down"}"#).unwrap();
        let felt = |n: u32| node.parts(n).iter().map(|p| (p.places.len(), p.is_whole)).collect::<Vec<_>>();
        assert_eq!(
            [felt(5), felt(2), felt(6), felt(0)],
            [vec![(4, true)], vec![(1, false)], vec![(1, false)], vec![]]
        );
        assert_eq!(node.links(0, &clos().ports()).len(), 8);
    }

    #[test]
    fn what_there_is_not_is_refused_by_its_key() {
        for (text, key) in [
            (r#"{"link": "leaf0-leaf1", "state": "down"}"#, "fault[0].link"),
            (r#"{"node": "core*", "state": "down"}"#, "fault[0].node"),
            (r#"{"host": "leaf0", "stall": true}"#, "fault[0].host"),
        ] {
            assert_eq!(plan(text).unwrap_err().0, key);
        }
    }

    #[test]
    fn the_shortest_delay_and_the_highest_rate_bound_what_is_sent() {
        let faults = [
            r#"{"link": "leaf0 -> spine0", "rate": "400Gbps"}"#,
            r#"{"link": "leaf0-spine0", "rate": "1Gbps"}"#,
            r#"{"link": "leaf0-spine0", "delay": "5ns"}"#,
            r#"{"link": "leaf0-spine0", "delay": "5us"}"#,
        ];
        let faults: Vec<Fault> = faults.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let (topology, gbps) = (clos(), Rate::gbps);
        let (plan, ports) = (Plan::new(&faults, &topology, 1).unwrap(), topology.ports());
        let bounds =
            |node: u32, port: u16| plan.bounds(node, PortId(port), &ports[index(node)][PortId(port)]);
        assert_eq!(
            [bounds(4, 2), bounds(6, 0)],
            [(Duration::ns(5), gbps(400)), (Duration::ns(5), gbps(100))]
        );
        assert_eq!(bounds(4, 3), (Duration::us(1), gbps(100)));
    }

    #[test]
    fn links_draw_for_themselves() {
        let text = r#"{"link": "leaf*-spine*", "state": "down", "time_between_failures": {"exponential": "1ms"}, "time_to_repair": {"exponential": "1ms"}}"#;
        let mut firsts: Vec<Moment> =
            plan(text).unwrap().units.into_iter().map(|mut u| u.schedule.next().unwrap().start).collect();
        firsts.sort();
        firsts.dedup();
        assert_eq!(firsts.len(), 4);
    }
}
