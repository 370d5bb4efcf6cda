//! `xoff check`: what a scenario is, in numbers, and what looks wrong with it.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use xoff_models::flow_control::pfc::Accounting;
use xoff_models::queueing::{buffer, ecn};
use xoff_models::topology::{PortSpec, Topology};
use xoff_units::{Bytes, Time};

use crate::dependency::{self, Search};
use crate::document::Scenario;
use crate::read::InputError;
use crate::run::Runner;
use crate::table::Input;

/// Checks a scenario and explains it.
pub fn check(scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Value, InputError> {
    let runner = Runner::new(scenario, tables)?;
    let (t, s) = (&runner.topology, runner.scenario());
    let mut warnings: Vec<Value> = Vec::new();
    let mut warn = |path: &str, message: String| warnings.push(json!({ "path": path, "message": message }));
    let switches = t.nodes.iter().filter(|n| !n.is_host).count();
    let mut headroom = BTreeMap::new();
    if let Some(pfc) = &s.switch.flow_control.pfc {
        for (n, node) in t.nodes.iter().enumerate().filter(|n| n.1.forwards) {
            let delay = runner.settings.delay(node);
            for p in &runner.ports[n] {
                let h = runner.settings.thresholds(p, delay, node.is_host);
                headroom
                    .entry((p.link.rate, p.link.delay, h.headroom, h.xoff, h.xon, h.available))
                    .and_modify(|n| *n += 1)
                    .or_insert(1_u64);
            }
        }
        for (rate, delay, needed, xoff, _, available) in headroom.keys() {
            if let Some(available) = available
                && available < needed
                && pfc.accounting == Accounting::Ingress
            {
                warn(
                    "switch.flow_control.pfc.xoff",
                    format!(
                        "{}{} above XOFF {} is less than the {} that a {rate} link of {delay} may need: packets may be lost",
                        if s.switch.classes > 1 {
                            format!("with the buffer shared by {} classes, ", s.switch.classes)
                        } else {
                            String::new()
                        },
                        Bytes(*available),
                        Bytes(*xoff),
                        Bytes(*needed)
                    ),
                );
            }
            let kmin = match &s.switch.ecn {
                Some(ecn::Params::Red(red)) => Some(red.kmin.0),
                Some(ecn::Params::Step(step)) => Some(step.threshold.0),
                None => None,
            };
            if kmin.is_some_and(|k| k > *xoff) && !matches!(s.switch.buffer, buffer::Params::Shared(_)) {
                warn("switch.ecn", format!("marking starts above XOFF, {}: PFC acts first", Bytes(*xoff)));
            }
            if s.switch.flow_control.sfc.as_ref().and_then(|sfc| sfc.threshold).is_some_and(|t| t.0 > *xoff) {
                warn("switch.flow_control.sfc.threshold", format!("it is above XOFF, {}: PFC acts first", Bytes(*xoff)));
            }
        }
    }
    if s.switch.flow_control.pfc.is_some() {
        match dependency::find_cycle(t, &runner.ports, &runner.plan) {
            Search::None => {}
            Search::Cycle(cycle) => {
                let names: Vec<String> = cycle
                    .iter()
                    .map(|(node, port, class)| {
                        let peer = runner.ports[*node as usize][*port as usize].peer;
                        format!("{} port {port} (to {}), class {class}", t.nodes[*node as usize].name, t.nodes[peer as usize].name)
                    })
                    .collect();
                warn(
                    "switch.flow_control.pfc",
                    format!(
                        "PFC can deadlock: on the routes of these flows each of these can wait for the next, and the last for the first: {}",
                        names.join(" → ")
                    ),
                );
            }
            Search::TooLarge => warn("network", "it is too large for the search for deadlocks, which was left out".into()),
        }
    }
    if s.host.congestion_control.dcqcn.is_some() && s.switch.ecn.is_none() {
        warn("host.congestion_control.dcqcn", "no switch marks packets (switch.ecn), so DCQCN never reacts".into());
    }
    if s.switch.ecn.is_some() && s.host.congestion_control.dcqcn.is_none() {
        warn("switch.ecn", "no host reacts to marks (host.congestion_control)".into());
    }
    if runner.plan.flows == 0 {
        warn("workload", "nothing is sent".into());
    }
    let distinct = |times: Vec<Time>| {
        let mut v: Vec<String> = times.into_iter().map(|t| t.to_string()).collect();
        v.sort();
        v.dedup();
        v
    };
    let rows: Vec<Value> = headroom
        .iter()
        .map(|((rate, delay, needed, xoff, xon, available), ports)| {
            json!({ "rate": rate.to_string(), "delay": delay.to_string(), "ports": ports, "needed_bytes": needed, "xoff_bytes": xoff,
                    "xon_bytes": xon, "available_bytes": available })
        })
        .collect();
    Ok(json!({
        "network": { "hosts": t.nodes.len() - switches, "switches": switches, "links": t.links.len(),
                     "link_delays": distinct(t.links.iter().map(|l| l.link.delay).collect()) },
        "workload": { "flows": runner.plan.flows, "bytes": runner.plan.bytes, "names": runner.plan.names },
        "headroom": rows,
        "paths": paths(t, &runner.ports),
        "warnings": warnings,
    }))
}

/// Shortest paths from the first host to the others: a row for each distance and number of paths, with the first such host.
fn paths(t: &Topology, ports: &[Vec<PortSpec>]) -> Vec<Value> {
    let Some(first) = t.hosts().first().copied() else { return Vec::new() };
    let mut links = vec![u32::MAX; t.nodes.len()];
    let mut count = vec![0_u64; t.nodes.len()];
    let mut delay = vec![Time::ZERO; t.nodes.len()];
    let mut queue = VecDeque::from([first]);
    (links[first as usize], count[first as usize]) = (0, 1);
    while let Some(at) = queue.pop_front() {
        if at != first && !t.nodes[at as usize].forwards {
            continue;
        }
        for p in &ports[at as usize] {
            let (here, peer) = (at as usize, p.peer as usize);
            if links[peer] == u32::MAX {
                links[peer] = links[here] + 1;
                delay[peer] = delay[here] + p.link.delay;
                queue.push_back(p.peer);
            }
            if links[peer] == links[here] + 1 {
                count[peer] = count[peer].saturating_add(count[here]);
                delay[peer] = delay[peer].min(delay[here] + p.link.delay);
            }
        }
    }
    let mut rows: BTreeMap<(u32, u64), (u32, u64)> = BTreeMap::new();
    for host in t.hosts().into_iter().filter(|h| *h != first && links[*h as usize] != u32::MAX) {
        rows.entry((links[host as usize], count[host as usize])).or_insert((host, 0)).1 += 1;
    }
    rows.into_iter()
        .map(|((links, paths), (host, hosts))| {
            json!({ "from": t.nodes[first as usize].name, "to": t.nodes[host as usize].name, "hosts": hosts, "links": links,
                    "paths": paths, "propagation": delay[host as usize].to_string() })
        })
        .collect()
}
