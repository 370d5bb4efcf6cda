//! What would take absurd memory or time, or would not fit together in the network it was built for: refused before it is built.

use std::collections::{BTreeSet, VecDeque};

use xoff_models::mechanism::Queueing;
use xoff_models::mechanisms::pfc::Accounting;
use xoff_models::mechanisms::portfc;
use xoff_models::mechanisms::sfc::Mode;
use xoff_models::network::Settings;
use xoff_models::queueing::buffer;
use xoff_models::routing::{MAX_SWITCHES, root};
use xoff_models::topology::{PortSpec, Topology};
use xoff_models::workload::{AllFlows, Start};
use xoff_units::Bytes;

use crate::document::Scenario;
use crate::read::InputError;

/// Queues of all switches: 2.5 GB.
const MAX_QUEUES: u64 = 1 << 24;
/// Routing entries of all nodes: 4 GiB.
const MAX_ROUTES: u64 = 1 << 29;

/// Refuses networks that would not fit into memory, or whose paths are longer than a packet can go.
pub fn check_network(s: &Scenario, t: &Topology) -> Result<(), InputError> {
    let ports = t.ports();
    let control = &s.switch.flow_control;
    let classes = u64::from(s.switch.classes.max(control.interface_queues())) + control.congestion_queues() as u64;
    let wiring = t.wiring();
    let queues: u64 = t
        .nodes
        .iter()
        .zip(&ports)
        .enumerate()
        .map(|(n, (node, ports))| {
            if control.portfc.is_some() {
                return (0..ports.len()).map(|port| 1 + portfc::Outputs::new(&wiring, n as u32, port).queues() as u64).sum();
            }
            let count = ports.len() as u64;
            let inputs = if s.switch.queueing == Queueing::Voq && !node.is_host { count } else { 1 };
            count * (1 + classes * inputs)
        })
        .sum();
    if queues > MAX_QUEUES {
        let key = if s.switch.queueing == Queueing::Voq { "switch.queueing" } else { "network" };
        let why = "a queue for each output, class and, with voq, input";
        return Err(InputError::new(key, format!("the switches would have {queues} queues ({why}); {MAX_QUEUES} are possible")));
    }
    let shape = s.network.given().first().map_or("network".to_string(), |name| format!("network.{name}"));
    let roots: BTreeSet<u32> = (0..t.nodes.len() as u32).map(|n| root(t, &ports, n)).collect();
    let routes = roots.len() as u64 * t.nodes.len() as u64;
    if routes > MAX_ROUTES {
        return Err(InputError::new(
            shape,
            format!(
                "its {} nodes would hold routes to {} switches each, {routes} in all; {MAX_ROUTES} are possible",
                t.nodes.len(),
                roots.len()
            ),
        ));
    }
    if let Some((a, b, switches)) = too_long(t, &ports) {
        let name = |n: u32| &t.nodes[n as usize].name;
        return Err(InputError::new(
            shape,
            format!("the shortest path from {} to {} passes {switches} switches; {MAX_SWITCHES} are possible", name(a), name(b)),
        ));
    }
    Ok(())
}

/// For each node the links from `start` to it; only nodes that forward are passed.
fn distances(t: &Topology, ports: &[Vec<PortSpec>], start: u32, distance: &mut [u32]) {
    distance.fill(u32::MAX);
    distance[start as usize] = 0;
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        if at != start && !t.nodes[at as usize].forwards {
            continue;
        }
        for p in &ports[at as usize] {
            if distance[p.peer as usize] == u32::MAX {
                distance[p.peer as usize] = distance[at as usize] + 1;
                queue.push_back(p.peer);
            }
        }
    }
}

/// Two hosts whose shortest path passes more switches than a packet can, and how many.
fn too_long(t: &Topology, ports: &[Vec<PortSpec>]) -> Option<(u32, u32, u32)> {
    let n = t.nodes.len();
    let hosts = t.hosts();
    let most_links = MAX_SWITCHES as u32 + 1;
    let mut distance = vec![u32::MAX; n];
    let mut is_near = vec![false; n];
    // A host that is near one switch of its island is near every host of the island: most networks end here.
    for start in (0..n as u32).filter(|n| t.nodes[*n as usize].forwards) {
        if is_near[start as usize] {
            continue;
        }
        distances(t, ports, start, &mut distance);
        let reached = || hosts.iter().map(|h| *h as usize).filter(|h| distance[*h] != u32::MAX);
        if reached().any(|h| distance[h] > most_links / 2) {
            break;
        }
        for node in (0..n).filter(|n| distance[*n] != u32::MAX) {
            is_near[node] = t.nodes[node].forwards;
        }
    }
    let mut searched = BTreeSet::new();
    for host in hosts.iter().copied() {
        let root = root(t, ports, host);
        let neighbours_are_near = ports[host as usize].iter().all(|p| is_near[p.peer as usize] || !t.nodes[p.peer as usize].forwards);
        if neighbours_are_near || !searched.insert(root) {
            continue;
        }
        distances(t, ports, host, &mut distance);
        let far = hosts.iter().copied().filter(|h| distance[*h as usize] != u32::MAX).max_by_key(|h| distance[*h as usize]);
        if let Some(far) = far
            && distance[far as usize] > most_links
        {
            return Some((host, far, distance[far as usize] - 1));
        }
    }
    None
}

/// Refuses mechanisms where hosts relay, or where flows pass more relays than they can stand.
pub fn check_relays(s: &Scenario, t: &Topology, ports: &[Vec<PortSpec>], plan: &AllFlows) -> Result<(), InputError> {
    let control = &s.switch.flow_control;
    let drawn = plan.starts.iter().enumerate().filter(|s| s.1.iter().any(|s| matches!(s, Start::Drawn(_)))).map(|s| s.0 as u32);
    let is_relay = |n: &u32| t.nodes[*n as usize].is_host && t.nodes[*n as usize].forwards;
    if let Some(source) = plan.listed().map(|(src, _)| src).chain(drawn).find(is_relay) {
        let name = &t.nodes[source as usize].name;
        let wrong =
            |key: &str, why: &str| Err(InputError::new(format!("switch.flow_control.{key}"), format!("{name} relays and sends; {why}")));
        if control.congestion_isolation.is_some() {
            return wrong("congestion_isolation", "a host that relays does not isolate flows of its own, which PFC could then not hold");
        }
        if control.sfc.as_ref().is_some_and(|sfc| sfc.mode != Mode::Host) {
            return wrong("sfc.mode", "it has no switch of its own that could act for it; use host");
        }
    }
    let (key, most, why) = match (&control.portfc, &control.pfc) {
        (Some(_), _) => ("portfc", 1, "the second relay would hear of no pause, so that PortFC would lose packets; it is for k = 1"),
        (_, Some(pfc)) if pfc.hop_classes => {
            let why = "a class is needed for each, above that in which flows start; raise switch.classes";
            ("pfc.hop_classes", u32::from(s.switch.classes - 1 - highest_class(s)), why)
        }
        _ => return Ok(()),
    };
    if let Some((a, b, relays)) = most_relays(t, ports, plan).filter(|found| found.2 > most) {
        let (a, b) = (&t.nodes[a as usize].name, &t.nodes[b as usize].name);
        return Err(InputError::new(
            format!("switch.flow_control.{key}"),
            format!("a path from {a} to {b} passes {relays} relays, and {most} are possible: {why}"),
        ));
    }
    Ok(())
}

/// The highest class in which a flow may start.
fn highest_class(s: &Scenario) -> u8 {
    let classify = s.host.classify.clone().unwrap_or_default();
    let others = classify.by_destination.map_or_else(|| s.workload.iter().map(|w| w.class).max().unwrap_or(0), |n| n - 1);
    classify.mice.map_or(others, |mice| mice.class.max(others))
}

/// Refuses levels that make no sense beside others that are computed, or that a shared buffer does not have.
pub fn check_levels(s: &Scenario, t: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Result<(), InputError> {
    let control = &s.switch.flow_control;
    let wrong = |key: &str, why: String| Err(InputError::new(format!("switch.flow_control.{key}"), why));
    if let Some(portfc) = &control.portfc {
        for port in t.nodes.iter().zip(ports).filter(|n| !n.0.is_host).flat_map(|n| n.1) {
            if let Err((key, why)) = portfc::check_levels(portfc, port, settings.framing.largest()) {
                return wrong(&format!("portfc.{key}"), why);
            }
        }
    }
    if settings.has_dynamic_xoff(false) {
        if control.pfc.as_ref().is_some_and(|p| p.accounting == Accounting::Egress) {
            return wrong(
                "pfc.xoff",
                "it is needed here: the dynamic threshold of a shared buffer is for inputs, and not for egress queues".into(),
            );
        }
        if control.sfc.as_ref().and_then(|sfc| sfc.dynamic).is_some_and(|d| d.threshold) {
            return wrong("pfc.xoff", "it is needed here: sfc.dynamic.threshold keeps below XOFF, which moves in a shared buffer".into());
        }
    }
    Ok(())
}

/// A source and a destination of flows whose path passes the most relays, and how many.
fn most_relays(t: &Topology, ports: &[Vec<PortSpec>], plan: &AllFlows) -> Option<(u32, u32, u32)> {
    let is_relay = |n: u32| t.nodes[n as usize].is_host && t.nodes[n as usize].forwards;
    if !(0..t.nodes.len() as u32).any(is_relay) {
        return None;
    }
    let mut most: Option<(u32, u32, u32)> = None;
    let mut enter = |a, b, relays| {
        if most.is_none_or(|m| m.2 < relays) {
            most = Some((a, b, relays));
        }
    };
    for (src, flow) in plan.pinned() {
        let path = plan.paths.ports(flow.path);
        let mut at = src;
        let mut relays = 0;
        for port in path {
            at = ports[at as usize][*port as usize].peer;
            relays += u32::from(at != flow.dst && is_relay(at));
        }
        enter(src, flow.dst, relays);
    }
    let (mut distance, mut relays) = (vec![u32::MAX; t.nodes.len()], vec![0_u32; t.nodes.len()]);
    for (src, destinations) in plan.destinations() {
        distance.fill(u32::MAX);
        relays.fill(0);
        distance[src as usize] = 0;
        let mut queue = VecDeque::from([src]);
        while let Some(at) = queue.pop_front() {
            if at != src && !t.nodes[at as usize].forwards {
                continue;
            }
            let passed = relays[at as usize] + u32::from(at != src && is_relay(at));
            for p in &ports[at as usize] {
                let peer = p.peer as usize;
                if distance[peer] == u32::MAX {
                    distance[peer] = distance[at as usize] + 1;
                    queue.push_back(p.peer);
                }
                if distance[peer] == distance[at as usize] + 1 {
                    relays[peer] = relays[peer].max(passed);
                }
            }
        }
        for dst in destinations {
            if distance[dst as usize] != u32::MAX {
                enter(src, dst, relays[dst as usize]);
            }
        }
    }
    most
}

/// Refuses thresholds and reserves that do not fit into the switches' memory.
pub fn check_memory(t: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Result<(), InputError> {
    let pfc = settings.flow_control.pfc.as_ref();
    for (node, ports) in t.nodes.iter().zip(ports).filter(|n| n.0.forwards) {
        let delay = settings.delay(node);
        let (memory, table) = if node.is_host { (&settings.relay.buffer, "host.relay") } else { (&settings.buffer, "switch") };
        if let buffer::Params::Shared(shared) = memory {
            let wrong = |key: &str, what: &str, bytes: u128| {
                let total = shared.total;
                let why =
                    format!("{what} for all ports and classes of {} takes {bytes} B; {table}.buffer.shared.total is {total}", node.name);
                Err(InputError::new(format!("{table}.buffer.shared.{key}"), why))
            };
            let (total, classes) = (u128::from(shared.total.0), u128::from(settings.counted_classes()));
            let reserve = u128::from(shared.reserve.0) * ports.len() as u128 * classes;
            if reserve > total {
                return wrong("reserve", "the reserve", reserve);
            }
            let headroom: u128 = match (pfc, shared.headroom) {
                (None, _) => 0,
                (_, Some(given)) => u128::from(given.0) * ports.len() as u128 * classes,
                _ => ports.iter().map(|p| u128::from(settings.thresholds(p, delay, node.is_host).headroom)).sum::<u128>() * classes,
            };
            if reserve + headroom > total {
                let key = if shared.headroom.is_some() { "headroom" } else { "total" };
                return wrong(key, "the headroom and the reserve", reserve + headroom);
            }
        } else if let Some(xon) = pfc.filter(|p| p.xoff.is_none()).and_then(|p| p.xon) {
            let short = ports.iter().find(|p| xon.0 >= settings.thresholds(p, delay, node.is_host).xoff);
            if let Some(port) = short {
                let (xoff, link) = (Bytes(settings.thresholds(port, delay, node.is_host).xoff), port.link);
                return Err(InputError::new(
                    "switch.flow_control.pfc.xon",
                    format!("{xon} is not below XOFF, which is {xoff} for a {} link of {} at {}", link.rate, link.delay, node.name),
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::from_toml;

    fn refusal(text: &str) -> Option<String> {
        let s = from_toml(text, &[]).unwrap();
        let t = s.network.build().unwrap();
        check_network(&s, &t).err().map(|e| e.to_string())
    }

    fn line(switches: usize) -> String {
        format!("[network.line]\nswitches = {switches}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n")
    }

    #[test]
    fn rows_are_as_long_as_a_packet_can_go() {
        for switches in [1, 2, 30, 31, 59, 60] {
            assert_eq!(refusal(&line(switches)), None, "{switches}");
        }
        for switches in [61, 70, 500] {
            let words = format!("network.line: the shortest path from host0 to host{} passes {switches} switches", switches - 1);
            assert!(refusal(&line(switches)).unwrap().starts_with(&words), "{switches}");
        }
    }

    #[test]
    fn both_ways_around_a_ring_count() {
        use std::fmt::Write;
        let ring = |switches: usize, homes: usize| {
            let link = "rate = \"100Gbps\", delay = \"1us\"";
            let (mut nodes, mut links) = (String::new(), String::new());
            for i in 0..switches {
                write!(nodes, "{{ name = \"h{i}\", kind = \"host\" }}, {{ name = \"s{i}\", kind = \"switch\" }}, ").unwrap();
                write!(links, "{{ a = \"s{i}\", b = \"s{}\", {link} }}, ", (i + 1) % switches).unwrap();
                for home in 0..homes {
                    write!(links, "{{ a = \"h{i}\", b = \"s{}\", {link} }}, ", (i + home) % switches).unwrap();
                }
            }
            refusal(&format!("[network.explicit]\nnodes = [{nodes}]\nlinks = [{links}]\n"))
        };
        assert_eq!(ring(60, 1), None);
        assert_eq!(ring(119, 1), None);
        assert!(ring(120, 1).unwrap().contains("passes 61 switches"));
        // Hosts with two links leave by the nearer one.
        assert_eq!(ring(121, 2), None);
        assert!(ring(122, 2).unwrap().contains("passes 61 switches"));
    }

    #[test]
    fn queues_and_routes_are_bounded() {
        let star = |hosts: u64| {
            format!("[network.star]\nhosts = {hosts}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[switch]\nclasses = 2\n")
        };
        assert_eq!(refusal(&format!("{}queueing = \"voq\"\n", star(2000))), None);
        assert!(refusal(&format!("{}queueing = \"voq\"\n", star(4000))).unwrap().starts_with("switch.queueing: "));
        assert_eq!(refusal(&star(16_000)), None);
        assert!(refusal(&line(100_000)).unwrap().starts_with("network.line: "));
    }
}
