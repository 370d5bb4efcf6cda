//! Limits checked before a network is built: memory, time, and settings that do not fit together.

use std::collections::{BTreeSet, VecDeque};

use xoff_applications::workload::Workload;
use xoff_document::{InputError, Scenario};
use xoff_models::frames::flow::Start;
use xoff_models::mechanisms::at;
use xoff_models::mechanisms::contract::{Levels, PortShape};
use xoff_models::network::Settings;
use xoff_models::parts::ids::PortId;
use xoff_models::parts::param_error::Change;
use xoff_models::paths::routing::{MAX_SWITCHES, root};
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::ports::core::Queueing;
use xoff_models::ports::queueing::buffer;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{index, number, wide};

/// Queues of all switches: 2.5 GB.
const MAX_QUEUES: u64 = 1 << 24;
/// Routing entries of all nodes: 4 GiB.
const MAX_ROUTES: u64 = 1 << 29;

/// Refuses networks that exceed memory, or with paths longer than a packet can record.
pub fn check_network(s: &Scenario, t: &Topology) -> Result<(), InputError> {
    let ports = t.ports();
    let mechanisms = s.switch.mechanisms();
    let parts = mechanisms.parts();
    let congestion = u64::from(mechanisms.any(|p| p.wants_congestion_queues));
    let classes = u64::from(s.switch.classes.max(mechanisms.interface_queues())) + congestion;
    let reorder = u64::from(mechanisms.reorder_queues());
    let wiring = t.wiring();
    let port_shape = PortShape { wiring: &wiring, relay: &s.host.relay };
    let mut queues = 0;
    for (n, (node, ports)) in t.nodes.iter().zip(&ports).enumerate() {
        let count = wide(ports.len());
        let inputs = if s.switch.queueing == Queueing::Voq && !node.is_host { count } else { 1 };
        queues += match parts.iter().find(|p| p.properties().plans_queues) {
            Some(part) => PortId::all(ports.len())
                .map(|i| 1 + part.queues(&port_shape, number(n), i).map_or(0, |q| wide(q.len())))
                .sum(),
            None => count * (1 + classes * (inputs + reorder)),
        };
    }
    if queues > MAX_QUEUES {
        let why = "a queue for each output, class and, with voq, input";
        let why = format!("the switches would have {queues} queues ({why}); the maximum is {MAX_QUEUES}");
        return Err(if s.switch.queueing == Queueing::Voq {
            InputError::new("switch.queueing", Change::set("switch.queueing", "oq").after(why))
        } else if s.switch.classes > 1 {
            InputError::new("network", Change::set("switch.classes", 1).after(why))
        } else {
            InputError::new("network", why)
        });
    }
    let shape = s.network.given().first().map_or("network".to_string(), |name| format!("network.{name}"));
    let roots: BTreeSet<u32> = (0..number(t.nodes.len())).map(|n| root(t, &ports, n)).collect();
    let routes = wide(roots.len()) * wide(t.nodes.len());
    if routes > MAX_ROUTES {
        // A host with one link shares the routes to its switch.
        let hosts = roots.iter().filter(|root| t.nodes[index(**root)].is_host).count();
        let switches = roots.len() - hosts;
        let count = format!("{} nodes need {routes} routes, and the maximum is {MAX_ROUTES}", t.nodes.len());
        let to_hosts = format!(
            "{hosts} hosts with several links each need routes of their own, like {switches} switches"
        );
        return Err(match s.network.planes {
            Some(planes) if planes > 1 => InputError::new(
                "network.planes",
                format!(
                    "{to_hosts}: {count}; simulate one plane with its share of the traffic, or fewer hosts"
                ),
            ),
            _ if hosts > 0 => {
                InputError::new(shape, format!("{to_hosts}: {count}; use fewer hosts, or one link for each"))
            }
            _ => {
                InputError::new(shape, format!("there are {switches} switches: {count}; use fewer switches"))
            }
        });
    }
    if let Some((a, b, switches)) = too_long(t, &ports) {
        let name = |n: u32| &t.nodes[index(n)].name;
        return Err(InputError::new(
            shape,
            format!(
                "the shortest path from {} to {} passes {switches} switches; the maximum is {MAX_SWITCHES}",
                name(a),
                name(b)
            ),
        ));
    }
    Ok(())
}

/// Computes the number of links from `start` to each node; paths pass forwarding nodes alone.
fn distances(t: &Topology, ports: &[Vec<PortSpec>], start: u32, distance: &mut [u32]) {
    distance.fill(u32::MAX);
    distance[index(start)] = 0;
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        if at != start && !t.nodes[index(at)].forwards {
            continue;
        }
        for p in &ports[index(at)] {
            if distance[index(p.peer)] == u32::MAX {
                distance[index(p.peer)] = distance[index(at)] + 1;
                queue.push_back(p.peer);
            }
        }
    }
}

/// Returns two hosts whose shortest path passes too many switches, with the number of switches.
fn too_long(t: &Topology, ports: &[Vec<PortSpec>]) -> Option<(u32, u32, u32)> {
    let n = t.nodes.len();
    let hosts = t.hosts();
    let most_links = number(MAX_SWITCHES) + 1;
    let mut distance = vec![u32::MAX; n];
    let mut is_near = vec![false; n];
    // A host near one switch of a connected part is near every host of the part. Most networks end here.
    for start in (0..n as u32).filter(|n| t.nodes[index(*n)].forwards) {
        if is_near[index(start)] {
            continue;
        }
        distances(t, ports, start, &mut distance);
        let reached = || hosts.iter().map(|h| index(*h)).filter(|h| distance[*h] != u32::MAX);
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
        let neighbours_are_near =
            ports[index(host)].iter().all(|p| is_near[index(p.peer)] || !t.nodes[index(p.peer)].forwards);
        if neighbours_are_near || !searched.insert(root) {
            continue;
        }
        distances(t, ports, host, &mut distance);
        let far = hosts
            .iter()
            .copied()
            .filter(|h| distance[index(*h)] != u32::MAX)
            .max_by_key(|h| distance[index(*h)]);
        if let Some(far) = far
            && distance[index(far)] > most_links
        {
            return Some((host, far, distance[index(far)] - 1));
        }
    }
    None
}

/// Refuses mechanisms that do not allow relays, and flows that pass too many relays.
pub fn check_relays(
    s: &Scenario,
    t: &Topology,
    ports: &[Vec<PortSpec>],
    plan: &AllFlows,
) -> Result<(), InputError> {
    let mechanisms = s.switch.mechanisms();
    let parts = mechanisms.parts();
    let drawn = plan
        .starts
        .iter()
        .enumerate()
        .filter(|s| s.1.iter().any(|s| matches!(s, Start::Drawn(_))))
        .map(|s| number(s.0));
    let is_relay = |n: &u32| t.nodes[index(*n)].is_host && t.nodes[index(*n)].forwards;
    if let Some(source) = plan.listed().map(|(src, _)| src).chain(drawn).find(is_relay) {
        let name = &t.nodes[index(source)].name;
        for part in &parts {
            if let Some((key, why)) = part.properties().refuses_relayed_sources {
                return Err(InputError::new(at(part.path(), key), format!("{name} relays and sends; {why}")));
            }
        }
    }
    let above = u32::from(s.switch.classes - 1 - highest_class(s));
    let Some((path, (key, most, why))) = parts.iter().find_map(|p| Some((p.path(), p.most_relays(above)?)))
    else {
        return Ok(());
    };
    if let Some((a, b, relays)) = most_relays(t, ports, plan).filter(|found| found.2 > most) {
        let (a, b) = (&t.nodes[index(a)].name, &t.nodes[index(b)].name);
        return Err(InputError::new(
            at(path, key),
            format!("a path from {a} to {b} passes {relays} relays; the maximum is {most}: {why}"),
        ));
    }
    Ok(())
}

/// The highest class in which a flow may start.
fn highest_class(s: &Scenario) -> u8 {
    let classify = s.host.classify.clone().unwrap_or_default();
    let others = classify
        .by_destination
        .map_or_else(|| s.workload.iter().map(Workload::highest_class).max().unwrap_or(0), |n| n - 1);
    classify.mice.map_or(others, |mice| mice.class.max(others))
}

/// Refuses levels that are invalid at some port, together with computed levels or a shared buffer.
pub fn check_levels(t: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Result<(), InputError> {
    let locals: Vec<_> = settings.locals.list().iter().map(|l| l.mechanisms.parts()).collect();
    for (n, (node, ports)) in t.nodes.iter().zip(ports).enumerate().filter(|n| n.1.0.forwards) {
        for number in PortId::all(ports.len()) {
            let ingress = settings.ingress(n as u32, number, ports, node);
            let parts = &locals[settings.locals.place(n, number)];
            let levels = parts.iter().find_map(|p| p.levels(&ingress));
            for part in parts {
                let found = part.check_port(&ingress, levels.as_ref());
                found.map_err(|(key, why)| {
                    InputError::new(at(part.path(), key), format!("{why} (at {})", node.name))
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the source and destination of the path with the most relays, and the number of relays.
fn most_relays(t: &Topology, ports: &[Vec<PortSpec>], plan: &AllFlows) -> Option<(u32, u32, u32)> {
    let is_relay = |n: u32| t.nodes[index(n)].is_host && t.nodes[index(n)].forwards;
    if !(0..number(t.nodes.len())).any(is_relay) {
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
            at = ports[index(at)][*port].peer;
            relays += u32::from(at != flow.dst && is_relay(at));
        }
        enter(src, flow.dst, relays);
    }
    let (mut distance, mut relays) = (vec![u32::MAX; t.nodes.len()], vec![0_u32; t.nodes.len()]);
    for (src, destinations) in plan.destinations() {
        distance.fill(u32::MAX);
        relays.fill(0);
        distance[index(src)] = 0;
        let mut queue = VecDeque::from([src]);
        while let Some(at) = queue.pop_front() {
            if at != src && !t.nodes[index(at)].forwards {
                continue;
            }
            let passed = relays[index(at)] + u32::from(at != src && is_relay(at));
            for p in &ports[index(at)] {
                let peer = index(p.peer);
                if distance[peer] == u32::MAX {
                    distance[peer] = distance[index(at)] + 1;
                    queue.push_back(p.peer);
                }
                if distance[peer] == distance[index(at)] + 1 {
                    relays[peer] = relays[peer].max(passed);
                }
            }
        }
        for dst in destinations {
            if distance[index(dst)] != u32::MAX {
                enter(src, dst, relays[index(dst)]);
            }
        }
    }
    most
}

/// Refuses thresholds and reserves that exceed the memory of a switch.
pub fn check_memory(t: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Result<(), InputError> {
    for (n, (node, ports)) in t.nodes.iter().zip(ports).enumerate().filter(|n| n.1.0.forwards) {
        let memory = settings.switch_memory(n as u32, ports.len(), node.is_host);
        let table = if node.is_host { "host.relay" } else { "switch" };
        if let buffer::Params::Shared(shared) = memory {
            let wrong = |key: &str, what: &str, bytes: u128| {
                let total = shared.total;
                let why = format!(
                    "{what} for all ports and classes of {} needs {bytes} B; {table}.buffer.shared.total is {total}",
                    node.name
                );
                // Thresholds that follow the total rise with it.
                let change = Change::set(format!("{table}.buffer.shared.total"), format!("{}B", 2 * bytes));
                Err(InputError::new(format!("{table}.buffer.shared.{key}"), change.after(why)))
            };
            let levels: Vec<Option<Levels>> = PortId::all(ports.len())
                .map(|number| settings.levels(n as u32, number, ports, node))
                .collect();
            let buffer::Buffer::Shared(made) = settings.buffer(n as u32, &levels, node.is_host) else {
                continue;
            };
            let total = u128::from(shared.total.0);
            let (reserve, headroom) = made.kept();
            let (reserve, headroom) = (reserve as u128, headroom as u128);
            if reserve > total {
                return wrong("reserve", "the reserve", reserve);
            }
            if reserve + headroom > total {
                let key = match (shared.headroom_pool, shared.headroom) {
                    (Some(_), _) => "headroom_pool",
                    (None, Some(_)) => "headroom",
                    (None, None) => "total",
                };
                return wrong(key, "the headroom and the reserve", reserve + headroom);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_document::from_toml;

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
            let words = format!(
                "network.line: the shortest path from host0 to host{} passes {switches} switches",
                switches - 1
            );
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
                write!(
                    nodes,
                    "{{ name = \"h{i}\", kind = \"host\" }}, {{ name = \"s{i}\", kind = \"switch\" }}, "
                )
                .unwrap();
                write!(links, "{{ a = \"s{i}\", b = \"s{}\", {link} }}, ", (i + 1) % switches).unwrap();
                for home in 0..homes {
                    write!(links, "{{ a = \"h{i}\", b = \"s{}\", {link} }}, ", (i + home) % switches)
                        .unwrap();
                }
            }
            refusal(&format!("[network.explicit]\nnodes = [{nodes}]\nlinks = [{links}]\n"))
        };
        assert_eq!(ring(60, 1), None);
        assert_eq!(ring(119, 1), None);
        assert!(ring(120, 1).unwrap().contains("passes 61 switches"));
        // Hosts with two links use the nearer link.
        assert_eq!(ring(121, 2), None);
        assert!(ring(122, 2).unwrap().contains("passes 61 switches"));
    }

    #[test]
    fn queues_and_routes_are_bounded() {
        let star = |hosts: u64| {
            format!(
                "[network.star]\nhosts = {hosts}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[switch]\nclasses = 2\n"
            )
        };
        assert_eq!(refusal(&format!("{}queueing = \"voq\"\n", star(2000))), None);
        assert!(
            refusal(&format!("{}queueing = \"voq\"\n", star(4000))).unwrap().starts_with("switch.queueing: ")
        );
        assert_eq!(refusal(&star(16_000)), None);
        assert!(refusal(&line(100_000)).unwrap().starts_with("network.line: "));
    }
}
