//! `xoff check`: numbers about a scenario, and warnings.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use xoff_applications::serving::{Load, Plan, Servings};
use xoff_applications::workload::Workload;
use xoff_document::{Audits, Input, InputError, Judgement, Scenario};
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::traffic::workload::{Flow, Host};
use xoff_units::{Bytes, Duration, Moment, index, wide};

use crate::dependency::{Cycle, Search, Traffic};
use crate::derived_defaults::settled;
use crate::folding;
use crate::load::{load, packet_hops};
use crate::runner::Runner;
use crate::single_failures::failures;
use crate::warnings::{IngressPorts, Warning, ingress_ports, warnings};

/// Returns the load of each pool of serving, with the batch and the step at the equilibrium.
fn serving(runner: &Runner) -> Vec<Value> {
    let of = |served: &Arc<Plan>| {
        let name = runner.plan.names[index(served.workload)].clone();
        let row = move |load: &Load| {
            json!({ "workload": name, "pool": load.pool, "load": format!("{:.2}", load.load),
                    "batch": format!("{:.1}", load.batch), "step": format!("{:.1}us", load.step.real() / 1e6) })
        };
        served.loads.iter().map(row).collect::<Vec<_>>()
    };
    Servings::of(&runner.plan.applications).flat_map(of).collect()
}

/// Checks a scenario and returns a description.
pub fn check(scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Value, InputError> {
    let runner = Runner::new(scenario, tables)?;
    let (t, s) = (&runner.topology, runner.scenario());
    let mut warnings = warnings(&runner);
    let switches = t.nodes.iter().filter(|n| !n.is_host).count();
    let ports = ingress_ports(&runner);
    let traffic = Traffic::new(t, &runner.ports, &runner.plan, &runner.settings, s.until);
    let deadlock = deadlock(&runner, &traffic, &mut warnings);
    let distinct = |times: Vec<Duration>| {
        let mut v: Vec<String> = times.into_iter().map(|t| t.to_string()).collect();
        v.sort();
        v.dedup();
        v
    };
    let rows: Vec<Value> = ports
        .iter()
        .map(|IngressPorts { rate, delay, levels, counted_after, count, .. }| {
            json!({ "rate": rate.to_string(), "delay": delay.to_string(), "ports": count, "needed_bytes": levels.headroom,
                    "xoff_bytes": levels.xoff, "xon_bytes": levels.xon, "available_bytes": levels.available,
                    "ingress_delay_bytes": counted_after, "dynamic": levels.is_dynamic })
        })
        .collect();
    let mut found = json!({
        "network": { "hosts": t.hosts().len(), "switches": switches, "links": t.links.len(),
                     "link_delays": distinct(t.links.iter().map(|l| l.link.delay).collect()) },
        "serving": serving(&runner),
        "workload": {
            "flows": runner.plan.flows,
            "bytes": runner.plan.bytes,
            "packet_hops": packet_hops(&traffic, s.until),
            "names": runner.plan.names,
        },
        "load": load(&traffic, s.until),
        "headroom": rows,
        "settled": settled(&runner),
        "paths": paths(t, &runner.ports),
        "failures": failures(&runner),
        "deadlock": deadlock,
        "warnings": warnings,
    });
    drop(traffic);
    found["folding"] = json!(folding::report(runner));
    Ok(found)
}

/// Returns whether a deadlock is possible, with the cycle, and adds a warning if so; null without a mechanism that can wait.
fn deadlock(runner: &Runner, traffic: &Traffic<'_>, warnings: &mut Vec<Warning>) -> Value {
    let parts = runner.settings.mechanisms().parts();
    let Some(waits) = parts.iter().find(|p| p.properties().can_deadlock) else { return Value::Null };
    let cycle = match traffic.find_cycle() {
        Search::None => return json!({ "possible": false }),
        Search::Cycle(cycle) => cycle,
        Search::TooLarge => {
            let why = "too large for the search for cyclic buffer dependencies; the search was left out";
            warnings.push(Warning::new("network", why));
            return Value::Null;
        }
    };
    let name = |node: u32| &runner.topology.nodes[index(node)].name;
    let links = cycle.links.iter().map(|(node, port, class)| {
        let peer = runner.ports[index(*node)][*port].peer;
        format!("{} port {port} (to {}), class {class}", name(*node), name(peer))
    });
    let links: Vec<String> = links.collect();
    let flows = closing_flows(traffic, &cycle);
    let listed: Vec<String> =
        flows.iter().map(|f| format!("{} to {} by {}", f.src, f.dst, f.via.join(", "))).collect();
    let routes = match cycle.since {
        Some(Moment::ZERO) => "the routes".to_string(),
        Some(since) => format!("the routes after the faults known at {since}"),
        None => "packets that meet a change of routes".to_string(),
    };
    let dependency = format!("{routes} form a cyclic buffer dependency: {}", links.join(" → "));
    let mut why = format!("{} can deadlock: {dependency}", waits.label());
    if !listed.is_empty() {
        why.push_str(&["; flows of the cycle: ", &listed.join("; ")].concat());
    }
    warnings.push(Warning::new(waits.path(), why));
    let scenario = (!flows.is_empty()).then(|| reproduction(runner.scenario(), &flows));
    json!({ "possible": true, "cycle": links, "since": cycle.since, "flows": flows, "scenario": scenario })
}

/// A flow of the cycle, with the nodes of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Closing {
    src: String,
    dst: String,
    via: Vec<String>,
}

/// A flow for each step of a circle, which makes a link wait for the next; no flow if only several epochs of routes close
/// the circle.
fn closing_flows(traffic: &Traffic<'_>, cycle: &Cycle) -> Vec<Closing> {
    let (Cycle { links: cycle, witnesses, .. }, Some(since)) = (cycle, cycle.since) else {
        return Vec::new();
    };
    let name = |n: u32| traffic.topology.nodes[index(n)].name.clone();
    let mut list: Vec<Closing> = Vec::new();
    for (i, witness) in witnesses.iter().enumerate() {
        let Some(mut nodes) = traffic.path_through(since, *witness, cycle[i], cycle[(i + 1) % cycle.len()])
        else {
            continue;
        };
        // Switches stand for their hosts at both ends.
        let (Some(src), Some(dst)) = (traffic.host_at(witness.from, i), traffic.host_at(witness.to, i))
        else {
            continue;
        };
        if witness.path == 0 && src != witness.from {
            nodes.insert(0, witness.from);
        }
        if witness.path == 0 && dst == witness.to {
            nodes.pop();
        }
        let flow = Closing { src: name(src), dst: name(dst), via: nodes.into_iter().map(name).collect() };
        if !list.contains(&flow) {
            list.push(flow);
        }
    }
    list
}

/// Number of flows per path in a scenario that reproduces a deadlock, and their payload: enough to fill every
/// buffer of the cycle.
const COPIES: usize = 8;
const FILLING: u64 = 16_000_000;

/// Returns a scenario of the same network with only the flows of the cycle, several per path, started one after
/// another. It has no faults, because the paths are pinned.
fn reproduction(s: &Scenario, flows: &[Closing]) -> Scenario {
    let list = flows.iter().enumerate().flat_map(|(i, f)| {
        (0..COPIES).map(move |_| Flow {
            src: Host::Name(f.src.clone()),
            dst: Host::Name(f.dst.clone()),
            size: Bytes(FILLING),
            start: Duration::us(3 * wide(i)),
            id: None,
            after: Vec::new(),
            via: f.via.clone(),
        })
    });
    Scenario {
        name: Some("deadlock".into()),
        description: Some("Flows whose routes form a cyclic buffer dependency.".into()),
        until: Some(Moment::ms(50)),
        fault: Vec::new(),
        workload: vec![Workload { flows: Some(list.collect()), ..Workload::default() }],
        audits: Audits {
            deadlock: Judgement::Record,
            pauses: Judgement::Record,
            completion: Judgement::Record,
            loss: Judgement::Record,
        },
        ..s.clone()
    }
}

/// Shortest paths from the first host: a row for each distance and number of paths, with the first host of
/// the row.
fn paths(t: &Topology, ports: &[Vec<PortSpec>]) -> Vec<Value> {
    let Some(first) = t.hosts().first().copied() else { return Vec::new() };
    let mut links = vec![u32::MAX; t.nodes.len()];
    let mut count = vec![0_u64; t.nodes.len()];
    let mut delay = vec![Duration::ZERO; t.nodes.len()];
    let mut queue = VecDeque::from([first]);
    (links[index(first)], count[index(first)]) = (0, 1);
    while let Some(at) = queue.pop_front() {
        if at != first && !t.nodes[index(at)].forwards {
            continue;
        }
        for p in &ports[index(at)] {
            let (here, peer) = (index(at), index(p.peer));
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
    for host in t.hosts().into_iter().filter(|h| *h != first && links[index(*h)] != u32::MAX) {
        rows.entry((links[index(host)], count[index(host)])).or_insert((host, 0)).1 += 1;
    }
    rows.into_iter()
        .map(|((links, paths), (host, hosts))| {
            json!({ "from": t.nodes[index(first)].name, "to": t.nodes[index(host)].name, "hosts": hosts, "links": links,
                    "paths": paths, "propagation": delay[index(host)].to_string() })
        })
        .collect()
}
