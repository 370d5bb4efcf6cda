//! Numbers the flows of all workloads, and says for each source what starts when.
//!
//! Flows are numbered by source node, then by workload, then in order, so that a number tells its source. What a flow waits for
//! and which path it is pinned to is checked here, as both need the flows of all workloads.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::Time;

use super::{Flow, FlowSpec, MAX_FLOWS, Problem, Start, Workload, bernoulli, poisson};
use crate::routing::{MAX_SWITCHES, Paths, Sources};
use crate::topology::Topology;

/// A simulation ends before this.
pub const MAX_START: Time = Time::ms(281_000);

/// All flows of a scenario, by source.
#[derive(Debug, Default)]
pub struct Plan {
    /// Whose flow a number is.
    pub sources: Arc<Sources>,
    /// Pinned paths.
    pub paths: Arc<Paths>,
    /// For each node, what starts by itself.
    pub starts: Vec<Vec<Start>>,
    /// For each node, flows that wait for others (their numbers).
    pub waiting: Vec<Vec<(Vec<u32>, FlowSpec)>>,
    /// For each node, when the packets of its flows come that come bit by bit.
    pub arrivals: Vec<FxHashMap<u32, Box<bernoulli::Arrivals>>>,
    /// First flow number and workload, in order of flow number.
    pub ranges: Vec<(u32, u16)>,
    /// Names of workloads.
    pub names: Vec<String>,
    /// Names of flows that have one.
    pub labels: HashMap<u32, String>,
    /// How many flows there are.
    pub flows: u64,
    /// Payload of all flows.
    pub bytes: u64,
    /// Distinct source and destination pairs of listed flows.
    pub pairs: Vec<(u32, u32)>,
}

impl Plan {
    /// What is known of the flows when they have been handed to their sources.
    pub fn without_flows(&self) -> Self {
        Self {
            sources: self.sources.clone(),
            paths: self.paths.clone(),
            ranges: self.ranges.clone(),
            names: self.names.clone(),
            labels: self.labels.clone(),
            flows: self.flows,
            bytes: self.bytes,
            ..Self::default()
        }
    }

    /// Sources and flows that are listed, whether they wait for others or not.
    pub fn listed(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        let waiting = self.waiting.iter().enumerate().flat_map(|(src, list)| list.iter().map(move |w| (src as u32, &w.1)));
        let starting = self.starts.iter().enumerate().flat_map(|(src, starts)| {
            starts.iter().flat_map(move |start| match start {
                Start::List(list) => list.as_slice().iter().map(|flow| (src as u32, flow)).collect::<Vec<_>>(),
                Start::Poisson(_) => Vec::new(),
            })
        });
        waiting.chain(starting)
    }

    /// Sources and flows with pinned paths.
    pub fn pinned(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        self.listed().filter(|(_, flow)| flow.path >= Paths::FIRST)
    }

    /// For each source the nodes that it sends to on paths that are not pinned.
    pub fn destinations(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut all: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (src, flow) in self.listed().filter(|(_, flow)| flow.path < Paths::FIRST) {
            all.entry(src).or_default().insert(flow.dst);
        }
        for (src, start) in self.starts.iter().enumerate().flat_map(|(src, starts)| starts.iter().map(move |s| (src as u32, s))) {
            if let Start::Poisson(source) = start {
                all.entry(src).or_default().extend(source.destinations().1.iter().filter(|dst| **dst != src));
            }
        }
        all
    }

    /// The workload of a flow.
    pub fn workload_of(&self, flow: u32) -> &str {
        let at = self.ranges.partition_point(|r| r.0 <= flow);
        &self.names[self.ranges[at - 1].1 as usize]
    }
}

/// A flow before it has a number.
pub(super) struct Listed<'a> {
    /// In the order in which flows were listed.
    pub position: usize,
    /// Positions of those that it waits for, when its workload made it.
    pub after: Vec<usize>,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub start: Time,
    pub class: u8,
    pub workload: u16,
    pub detail: Option<(usize, &'a Flow)>,
    /// When its packets come, if they come bit by bit.
    pub arrivals: Option<Box<bernoulli::Arrivals>>,
}

/// Where a row stands: in the document, or in the table that the workload names.
pub(super) fn row(workload: usize, list: &Workload, index: usize) -> String {
    format!("workload[{workload}].{}[{index}]", if list.table.is_some() { "table" } else { "flows" })
}

/// Numbers flows that are listed and sources that draw theirs, and sorts them by source.
pub(super) fn number(
    topology: &Topology,
    workloads: &[Workload],
    mut listed: Vec<Listed<'_>>,
    mut drawn: Vec<(u16, u32, poisson::Source)>,
    names: Vec<String>,
    nodes: &HashMap<&str, u32>,
) -> Result<Plan, Problem> {
    let n = topology.nodes.len();
    let key_of = |f: &Listed<'_>| row(f.workload as usize, &workloads[f.workload as usize], f.detail.map_or(0, |d| d.0));
    listed.sort_by_key(|f| f.src);
    drawn.sort_by_key(|d| (d.1, d.0));
    if let Some(late) = listed.iter().find(|f| f.start >= MAX_START) {
        let key = if late.detail.is_some() { format!("{}.start", key_of(late)) } else { format!("workload[{}]", late.workload) };
        return Err((key, format!("a flow would start at {}; a simulation ends before {MAX_START}", late.start)));
    }
    let total = listed.len() as u64 + drawn.iter().map(|d| d.2.count()).sum::<u64>();
    if total > MAX_FLOWS {
        return Err(("workload".into(), format!("{total} flows are more than the {MAX_FLOWS} that a scenario may have")));
    }
    let mut plan = Plan {
        starts: (0..n).map(|_| Vec::new()).collect(),
        waiting: vec![Vec::new(); n],
        arrivals: vec![FxHashMap::default(); n],
        names,
        flows: total,
        ..Plan::default()
    };
    let mut first = vec![0_u32; n + 1];
    let mut paths = Paths::new();
    let mut path_of: HashMap<(Vec<u16>, Vec<u16>), u16> = HashMap::new();
    let ports = topology.ports();
    let mut ids: HashMap<&str, (u32, usize)> = HashMap::new();
    let mut next = 0_u32;
    let (mut l, mut d) = (0, 0);
    let mut specs: Vec<(usize, FlowSpec)> = Vec::new();
    for node in 0..n as u32 {
        first[node as usize] = next;
        let mut last_workload = None;
        while l < listed.len() && listed[l].src == node {
            if let Some(arrivals) = listed[l].arrivals.take() {
                plan.arrivals[node as usize].insert(next, arrivals);
            }
            let f = &listed[l];
            if last_workload != Some(f.workload) {
                plan.ranges.push((next, f.workload));
                last_workload = Some(f.workload);
            }
            let mut path = 0;
            if let Some((_, detail)) = f.detail {
                if let Some(id) = &detail.id {
                    if ids.insert(id, (next, l)).is_some() {
                        return Err((format!("{}.id", key_of(f)), format!("`{id}` is the id of two flows")));
                    }
                    plan.labels.insert(next, id.clone());
                }
                if !detail.via.is_empty() {
                    // The same ports from another source lead back elsewhere.
                    let ends = walk(topology, &ports, f, &key_of(f), &detail.via, nodes)?;
                    path = match path_of.get(&ends) {
                        Some(path) => *path,
                        None => {
                            let too_many = || (key_of(f), "there are more than 32 000 different pinned paths".to_string());
                            let path = paths.add(&ends.0).filter(|p| *p < 64_000).ok_or_else(too_many)?;
                            paths.add(&ends.1).ok_or_else(too_many)?;
                            path_of.insert(ends, path);
                            path
                        }
                    };
                }
            }
            specs.push((l, FlowSpec { flow: next, dst: f.dst, size: f.size, start: f.start, path, class: f.class }));
            plan.bytes = plan.bytes.saturating_add(f.size);
            next += 1;
            l += 1;
        }
        while d < drawn.len() && drawn[d].1 == node {
            plan.ranges.push((next, drawn[d].0));
            let count = drawn[d].2.count();
            drawn[d].2.set_first_flow(next);
            plan.bytes = plan.bytes.saturating_add(drawn[d].2.total_bytes());
            next += count as u32;
            d += 1;
        }
    }
    first[n] = next;
    let mut lists: Vec<Vec<FlowSpec>> = vec![Vec::new(); n];
    let mut waits_for: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut number_of = vec![0_u32; listed.len()];
    for (l, spec) in &specs {
        number_of[listed[*l].position] = spec.flow;
    }
    for (l, spec) in &specs {
        let f = &listed[*l];
        let after = f.detail.map_or(&[][..], |detail| &detail.1.after);
        if after.is_empty() && f.after.is_empty() {
            lists[f.src as usize].push(*spec);
            continue;
        }
        // What a workload made waits in no circle.
        let mut numbers: Vec<u32> = f.after.iter().map(|a| number_of[*a]).collect();
        for (i, id) in after.iter().enumerate() {
            let key = format!("{}.after[{i}]", key_of(f));
            let Some((flow, other)) = ids.get(id.as_str()) else { return Err((key, format!("there is no flow with id `{id}`"))) };
            if listed[*other].dst != f.src {
                let (to, here) = (&topology.nodes[listed[*other].dst as usize].name, &topology.nodes[f.src as usize].name);
                return Err((key, format!("`{id}` goes to {to}; a flow waits for flows that arrive at its own source, {here}")));
            }
            numbers.push(*flow);
            waits_for.entry(*l).or_default().push(*other);
        }
        numbers.sort_unstable();
        numbers.dedup();
        plan.waiting[f.src as usize].push((numbers, *spec));
    }
    if let Some(circle) = circle(&waits_for) {
        let ids: Vec<String> =
            circle.iter().chain(&circle[..1]).filter_map(|l| listed[*l].detail?.1.id.as_ref()).map(|id| format!("`{id}`")).collect();
        let why = format!("flows wait for one another in a circle, so that none would ever start: {}", ids.join(" after "));
        return Err((format!("{}.after", key_of(&listed[circle[0]])), why));
    }
    for (node, mut list) in lists.into_iter().enumerate() {
        if !list.is_empty() {
            list.sort_by_key(|f| (f.start, f.flow));
            plan.starts[node].push(Start::List(list.into_iter()));
        }
    }
    for (_, node, source) in drawn {
        plan.starts[node as usize].push(Start::Poisson(source));
    }
    plan.pairs = listed.iter().map(|f| (f.src, f.dst)).collect();
    plan.pairs.sort_unstable();
    plan.pairs.dedup();
    plan.sources = Arc::new(Sources { first });
    plan.paths = Arc::new(paths);
    Ok(plan)
}

/// Flows that wait for one another in a circle, each before the one it waits for; the search begins with the first flow.
fn circle(waits_for: &HashMap<usize, Vec<usize>>) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = waits_for.keys().copied().collect();
    order.sort_unstable();
    let mut searched = std::collections::HashSet::new();
    for start in order {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut on_path = HashMap::new();
        if searched.insert(start) {
            on_path.insert(start, 0);
            path.push((start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let Some(to) = waits_for.get(at).and_then(|w| w.get(*next)).copied() else {
                on_path.remove(at);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = on_path.get(&to) {
                return Some(path[*from..].iter().map(|p| p.0).collect());
            }
            if searched.insert(to) {
                on_path.insert(to, path.len());
                path.push((to, 0));
            }
        }
    }
    None
}

/// The ports of a pinned path, there and back.
fn walk(
    topology: &Topology,
    ports: &[Vec<crate::topology::PortSpec>],
    flow: &Listed<'_>,
    key: &str,
    via: &[String],
    nodes: &HashMap<&str, u32>,
) -> Result<(Vec<u16>, Vec<u16>), Problem> {
    if via.len() > MAX_SWITCHES {
        return Err((format!("{key}.via"), format!("{} nodes are on the path; {MAX_SWITCHES} are possible", via.len())));
    }
    let mut at = flow.src;
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let last = topology.nodes[flow.dst as usize].name.clone();
    for (i, step) in via.iter().chain(std::iter::once(&last)).enumerate() {
        let key = if i < via.len() { format!("{key}.via[{i}]") } else { format!("{key}.via") };
        let (name, which) = match step.split_once('/') {
            Some((name, k)) => (name, k.parse::<usize>().map_err(|_| (key.clone(), format!("`{k}` in `{step}` is not a link's number")))?),
            None => (step.as_str(), 0),
        };
        let Some(to) = nodes.get(name).copied() else { return Err((key, format!("there is no node `{name}`"))) };
        let here = &topology.nodes[at as usize];
        if i < via.len() && !topology.nodes[to as usize].forwards {
            return Err((key, format!("`{name}` does not forward")));
        }
        let Some((port, link)) = ports[at as usize].iter().enumerate().filter(|p| p.1.peer == to).nth(which) else {
            return Err((key, format!("`{}` has no such link to `{name}`", here.name)));
        };
        there.push(port as u16);
        back.push(link.peer_port);
        at = to;
    }
    back.reverse();
    Ok((there, back))
}
