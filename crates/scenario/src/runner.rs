//! From a scenario to a runnable network with flows and settings, or an error.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;

use xoff_applications::serving::Servings;
use xoff_applications::workload;
use xoff_document::{Input, InputError, Scenario, fill};
use xoff_engine::clock::{Instant, ProcessTime};
use xoff_models::faults::plan::Plan;
use xoff_models::frames::flow::Start;
use xoff_models::hosts::stack::Stacks;
use xoff_models::mechanisms::overrides::Locals;
use xoff_models::network::Settings;
use xoff_models::parts::names;
use xoff_models::parts::param_error::Change;
use xoff_models::paths::routing::FirstHop;
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::records::delays::Traced;
use xoff_models::records::events::Wanted;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{index, number};

use crate::limits;

/// A checked scenario, ready to run.
pub struct Runner {
    /// The network.
    pub topology: Topology,
    /// Ports of the network, by node.
    pub ports: Vec<Vec<PortSpec>>,
    /// All flows.
    pub plan: AllFlows,
    /// Models' settings.
    pub settings: Settings,
    pub(crate) scenario: Scenario,
    /// Start of the building.
    pub(crate) began: (Instant, ProcessTime),
}

impl Runner {
    /// Builds network and flows. Refuses impossible scenarios.
    pub fn new(scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Self, InputError> {
        let functions = functions(&scenario);
        Self::build(scenario, tables).map_err(|error| of_function(error, &functions))
    }

    fn build(mut scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Self, InputError> {
        let began = (Instant::now(), ProcessTime::now());
        fill(&mut scenario, tables)?;
        Self::filled(scenario, began)
    }

    /// Builds network and flows of a scenario with the content of its tables.
    pub(crate) fn filled(scenario: Scenario, began: (Instant, ProcessTime)) -> Result<Self, InputError> {
        let topology = topology(&scenario)?;
        limits::check_network(&scenario, &topology)?;
        let framing = scenario.framing.on_wire();
        let plan = workload::make(
            &scenario.workload,
            &topology,
            scenario.switch.classes,
            &framing,
            scenario.seed,
            scenario.switch.forwarding_latency,
        )?;
        traced(&scenario.probe.delays, plan.flows)?;
        let ports = topology.ports();
        let locals = Locals::new(scenario.switch.local(), &scenario.switch.overrides, &topology, &ports)
            .map_err(|(key, why)| InputError::new(format!("switch.{key}"), why))?;
        let stacks = Stacks::new(scenario.host.stack(), &scenario.host.overrides, &topology)
            .map_err(|(key, why)| InputError::new(format!("host.{key}"), why))?;
        xoff_document::stacks(&scenario, stacks.list())?;
        let (turns, strict_classes) = scenario.switch.scheduler.at_ports(
            scenario.switch.classes,
            scenario.switch.strict_priority_classes,
            number(framing.largest() as usize),
        );
        let settings = Settings {
            seed: scenario.seed,
            framing,
            switch_delay: scenario.switch.forwarding_latency,
            queueing: scenario.switch.queueing,
            locals,
            classes: scenario.switch.classes,
            turns,
            strict_classes,
            classify: scenario.host.classify.clone().unwrap_or_default(),
            jitter: scenario.host.jitter,
            stacks,
            relay: scenario.host.relay.settled(&topology),
            first_hop: scenario.host.first_hop.clone().unwrap_or_else(|| FirstHop::of(&topology)),
            acks: scenario.host.acks,
            faults: scenario.switch.faults,
            failover: scenario.network.failover,
            retry: scenario.network.link_retry.clone(),
            failures: Plan::new(&scenario.fault, &topology, scenario.seed)?,
            wanted: Wanted {
                packets: scenario.probe.packets,
                queues: scenario.probe.interval().unwrap_or_default(),
                delays: scenario.probe.delays.clone(),
                slices: scenario.probe.slices
                    || Servings::of(&plan.applications).next().is_some()
                        && scenario.probe.delays != Traced::None,
            },
            symmetric: None,
        };
        reachable(&topology, &ports, &plan)?;
        computing(&scenario, &topology, &plan)?;
        retrying(&scenario, &topology)?;
        limits::check_memory(&topology, &ports, &settings)?;
        limits::check_relays(&scenario, &topology, &ports, &plan)?;
        limits::check_levels(&topology, &ports, &settings)?;
        Ok(Self { topology, ports, plan, settings, scenario, began })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

/// Builds the network of a scenario.
pub fn topology(scenario: &Scenario) -> Result<Topology, InputError> {
    scenario.network.build().map_err(|(key, why)| {
        InputError::new(if key.is_empty() { "network".into() } else { format!("network.{key}") }, why)
    })
}

/// Returns the Python function of each workload that has one.
fn functions(scenario: &Scenario) -> Vec<(usize, String)> {
    let workloads = scenario.workload.iter().enumerate();
    workloads.filter_map(|(i, one)| Some((i, one.python.as_ref()?.function.clone()))).collect()
}

/// Returns an error on a row with the key of the Python function that returned the row, and the name of the function.
fn of_function(mut error: InputError, functions: &[(usize, String)]) -> InputError {
    const ROWS: [(&str, &str); 5] = [
        ("python.rows", "python.rows"),
        ("python.groups", "python.groups"),
        ("flows", "python.rows"),
        ("graph.operations", "python.rows"),
        ("graph.groups", "python.groups"),
    ];
    for (workload, function) in functions {
        let at = format!("workload[{workload}].");
        let Some(key) = error.path.strip_prefix(&at) else { continue };
        if let Some((own, called)) = ROWS.iter().find(|(own, _)| key.starts_with(own)) {
            error.path = format!("{at}{called}{}", &key[own.len()..]);
            error.message = format!("{} (returned by `{function}`)", error.message);
            // A change of the scenario does not change what a function returns.
            error.change = None;
            break;
        }
    }
    error
}

/// Refuses `probe.delays` of unknown flows.
fn traced(delays: &Traced, flows: u64) -> Result<(), InputError> {
    let Traced::Flows(list) = delays else { return Ok(()) };
    match list.iter().find(|flow| u64::from(**flow) >= flows) {
        Some(flow) => {
            let why = format!("unknown flow {flow}; the scenario has flows 0 to {}", flows.saturating_sub(1));
            Err(InputError::new("probe.delays", why))
        }
        None => Ok(()),
    }
}

/// Refuses stragglers at hosts without ranks of a job.
fn computing(scenario: &Scenario, topology: &Topology, plan: &AllFlows) -> Result<(), InputError> {
    for (i, fault) in scenario.fault.iter().enumerate().filter(|(_, fault)| fault.compute.is_some()) {
        let pattern = fault.host.as_deref().unwrap_or_default();
        let computes = |host: &u32| {
            names::matches(pattern, &topology.nodes[index(*host)].name)
                && plan.applications.each().any(|one| one.is_at(*host))
        };
        if !topology.hosts().iter().any(computes) {
            let why = format!(
                "no job has a rank at {pattern}; compute needs a workload of kind graph, training or serving"
            );
            return Err(InputError::new(format!("fault[{i}].compute"), why));
        }
    }
    Ok(())
}

/// Refuses unknown names of links, and link-level retry in networks with hosts that relay.
fn retrying(scenario: &Scenario, topology: &Topology) -> Result<(), InputError> {
    let Some(retry) = &scenario.network.link_retry else { return Ok(()) };
    let name = |node: u32| topology.nodes[index(node)].name.as_str();
    let links: Vec<_> = topology.links.iter().map(|l| (name(l.a), name(l.b))).collect();
    retry.known(&links).map_err(|(key, why)| InputError::new(format!("network.link_retry.{key}"), why))?;
    if topology.nodes.iter().any(|node| node.is_host && node.forwards) {
        let why = Change::remove("network.link_retry").after("not allowed with hosts that relay");
        return Err(InputError::new("network.link_retry", why));
    }
    Ok(())
}

/// Refuses flows between hosts without a path.
fn reachable(topology: &Topology, ports: &[Vec<PortSpec>], plan: &AllFlows) -> Result<(), InputError> {
    let n = topology.nodes.len();
    // Packets pass forwarding nodes alone. Nodes joined by forwarding nodes form an island.
    let mut island = vec![u32::MAX; n];
    for start in (0..n).filter(|n| topology.nodes[*n].forwards) {
        if island[start] != u32::MAX {
            continue;
        }
        let mut stack = vec![start];
        island[start] = number(start);
        while let Some(at) = stack.pop() {
            for p in ports[at].iter().filter(|p| topology.nodes[index(p.peer)].forwards) {
                if island[index(p.peer)] == u32::MAX {
                    island[index(p.peer)] = number(start);
                    stack.push(index(p.peer));
                }
            }
        }
    }
    // A host may be on several.
    let on = |host: u32| -> BTreeSet<u32> {
        let peers = ports[index(host)].iter().map(|p| p.peer);
        peers.chain([host]).map(|node| island[index(node)]).filter(|island| *island != u32::MAX).collect()
    };
    let islands: BTreeMap<u32, BTreeSet<u32>> = topology.ends().map(|host| (host, on(host))).collect();
    let mut all = islands.values();
    if all.next().is_some_and(|first| !first.is_empty() && all.all(|other| other == first)) {
        return Ok(());
    }
    let is_joined = |a: u32, b: u32| {
        !islands[&a].is_disjoint(&islands[&b]) || ports[index(a)].iter().any(|p| p.peer == b)
    };
    let drawn = plan.starts.iter().enumerate().flat_map(|(src, starts)| {
        starts.iter().filter_map(move |start| match start {
            Start::Drawn(source) => Some((number(src), source.destinations().1)),
            Start::List(_) => None,
        })
    });
    let drawn = drawn.flat_map(|(src, destinations)| {
        destinations.iter().filter(move |dst| **dst != src).map(move |dst| (src, *dst))
    });
    match plan.pairs().into_iter().chain(drawn).find(|(a, b)| !is_joined(*a, *b)) {
        Some((a, b)) => Err(InputError::new("workload", pathless(topology, ports, a, b))),
        None => Ok(()),
    }
}

/// Returns the message on two hosts without a path, with the first host that lies between them.
fn pathless(topology: &Topology, ports: &[Vec<PortSpec>], from: u32, to: u32) -> String {
    let name = |node: u32| &topology.nodes[index(node)].name;
    let why = format!("no path leads from {} to {}", name(from), name(to));
    let mut before = BTreeMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for p in &ports[index(at)] {
            if let Entry::Vacant(new) = before.entry(p.peer) {
                new.insert(at);
                queue.push_back(p.peer);
            }
        }
    }
    if !before.contains_key(&to) {
        return format!("{why}; no chain of links joins the two");
    }
    let way = iter::successors(Some(to), |at| before.get(at).copied()).skip(1).take_while(|at| *at != from);
    way.filter(|node| !topology.nodes[index(*node)].forwards).last().map_or(why.clone(), |between| {
        format!(
            "{why}: host {} lies between, and a host does not relay; in network.explicit, a node of `kind = \"relay\"` does",
            name(between)
        )
    })
}
