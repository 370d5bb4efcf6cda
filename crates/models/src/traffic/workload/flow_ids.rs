//! Numbers the flows of all workloads, and gives each source its starts.
//!
//! Flows are numbered by source node, then by workload, then in order, so a number tells its source.
//! Dependencies and pinned paths are checked here, since both need the flows of all workloads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{Moment, index, number as number_of, wide};

use super::builder::{Common, DrawnAt, Listed, MAX_FLOWS, Making, Problem};
use super::circles::circle;
use super::collective_summary::Together;
use super::connected::{Block, Connected};
use super::row::{Flow, place};
use crate::frames::flow::{Connection, FlowSpec, Incoming, Planned, SourceQueue, Start};
use crate::frames::message::Post;
use crate::parts::ids::PortId;
use crate::parts::streams::Keys;
use crate::paths::routing::{MAX_SWITCHES, Paths, Sources};
use crate::paths::symmetry::{STAY, Symmetry};
use crate::paths::topology::{PortSpec, Topology};
use crate::ports::nvlink::queues::Queues;
use crate::traffic::application::{Plans, Waits};

/// A simulation ends before this.
pub const MAX_START: Moment = Moment::ms(281_000);

/// The logs of connections that end at a node.
pub type Logs = FxHashMap<u32, Incoming>;

/// All flows of a scenario, by source.
#[derive(Debug, Default)]
pub struct AllFlows {
    /// The source of each flow number.
    pub sources: Arc<Sources>,
    /// Pinned paths.
    pub paths: Arc<Paths>,
    /// For each node, the flows and operations that start without an event elsewhere.
    pub starts: Vec<Vec<Start>>,
    /// For each node, the flows that wait, with the numbers of the flows before.
    pub waiting: Vec<Vec<(Vec<u32>, FlowSpec)>>,
    /// For each node, the arrival times of packets of its flows.
    pub arrivals: Vec<FxHashMap<u32, Box<SourceQueue>>>,
    /// First flow number and name, in order of flow number.
    pub ranges: Vec<(u32, u32)>,
    /// Names of workloads, followed by names of warm flows.
    pub names: Vec<String>,
    /// The number of names of workloads.
    pub workloads: u32,
    /// Names of flows with a name.
    pub labels: HashMap<u32, String>,
    /// The number of flows.
    pub flows: u64,
    /// Payload of all flows.
    pub bytes: u64,
    /// Workloads whose flows are measured together, in order.
    pub collectives: Vec<Together>,
    /// What applications have planned.
    pub applications: Plans,
    /// Workloads whose flows are connections, with the number of messages.
    pub messages: BTreeMap<u32, u64>,
    /// For each node, its connections by number.
    pub connections: Vec<Vec<Planned>>,
    /// NVLink of all servers.
    pub nvlink: Queues,
    /// Workloads with open connections, and the number of connections.
    pub open: BTreeMap<u32, u64>,
    /// The end of the workloads with a stated duration.
    pub lasts: Moment,
}

impl AllFlows {
    /// Returns a copy for the time after the flows were handed to sources.
    #[must_use]
    pub fn without_flows(&self) -> Self {
        Self {
            sources: self.sources.clone(),
            paths: self.paths.clone(),
            ranges: self.ranges.clone(),
            names: self.names.clone(),
            workloads: self.workloads,
            labels: self.labels.clone(),
            flows: self.flows,
            bytes: self.bytes,
            collectives: self.collectives.clone(),
            applications: self.applications.without_parts(),
            messages: self.messages.clone(),
            open: self.open.clone(),
            nvlink: Queues::new(self.nvlink.servers),
            ..Self::default()
        }
    }

    /// Lets flows that a group maps onto each other share hashes and draws.
    pub fn share_keys(&mut self, group: &Symmetry) {
        let keys = Keys::new(group.first_flows().map(|first| self.sources.keys.of(first)).collect());
        self.sources = Arc::new(Sources { first: self.sources.first.clone(), keys: keys.clone() });
        self.paths = Arc::new(Paths::clone(&self.paths).with(keys));
    }

    /// Keeps the flows and parts of representatives.
    pub fn fold(&mut self, group: &Symmetry) {
        self.applications.each_mut().for_each(|one| one.fold(&|node| group.is_representative(node)));
        for node in 0..self.starts.len() {
            if group.is_representative(number_of(node)) {
                continue;
            }
            self.starts[node] = Vec::new();
            self.waiting[node] = Vec::new();
            self.connections[node] = Vec::new();
        }
    }

    /// Takes the connections of all nodes, with their logs at both ends. In a folded run a connection to another host ends at
    /// the representative of the host.
    pub fn take_connections(&mut self, folded: Option<&Symmetry>) -> Vec<(Vec<Connection>, Logs)> {
        let planned = std::mem::take(&mut self.connections);
        let mut found: Vec<(Vec<Connection>, Logs)> = planned.iter().map(|_| Default::default()).collect();
        for (src, list) in planned.into_iter().enumerate() {
            found[src].0.reserve_exact(list.len());
            for Planned { spec, to_come } in list {
                let log = Arc::default();
                let (mut end, mut incoming) =
                    ((spec.dst, spec.flow), Incoming { log: Arc::clone(&log), element: STAY });
                if let Some(group) = folded {
                    incoming.element = group.inverse(group.element(spec.dst));
                    end =
                        (group.image(incoming.element, end.0), group.image_of_flow(incoming.element, end.1));
                }
                found[index(end.0)].1.insert(end.1, incoming);
                found[src].0.push(Connection { spec, to_come, log });
            }
        }
        found
    }

    /// True for an open connection.
    pub fn is_open(&self, flow: u32) -> bool {
        self.open.contains_key(&self.name_of(flow))
    }

    /// The name of a flow, by number.
    pub fn name_of(&self, flow: u32) -> u32 {
        self.ranges[self.ranges.partition_point(|r| r.0 <= flow) - 1].1
    }

    /// True for names of warm flows, whose times are not those of whole flows.
    pub const fn is_warm(&self, name: u32) -> bool {
        name >= self.workloads
    }

    /// Returns sources and listed flows, waiting or not.
    pub fn listed(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        let waiting = self
            .waiting
            .iter()
            .enumerate()
            .flat_map(|(src, list)| list.iter().map(move |w| (src as u32, &w.1)));
        let connections = self
            .connections
            .iter()
            .enumerate()
            .flat_map(|(src, list)| list.iter().map(move |c| (src as u32, &c.spec)));
        waiting.chain(connections).chain(self.starting())
    }

    /// Returns sources and listed flows that start without waiting.
    pub fn starting(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        self.starts.iter().enumerate().flat_map(|(src, starts)| {
            starts.iter().flat_map(move |start| match start {
                Start::List(list) => list.iter().rev().map(|flow| (src as u32, flow)).collect::<Vec<_>>(),
                Start::Drawn(_) => Vec::new(),
            })
        })
    }

    /// Sources and flows with pinned paths.
    pub fn pinned(&self) -> impl Iterator<Item = (u32, &FlowSpec)> {
        let listed = (!self.paths.is_empty()).then(|| self.listed());
        listed.into_iter().flatten().filter(|(_, flow)| flow.path >= Paths::FIRST)
    }

    /// Returns the distinct sources and destinations of listed flows, in order.
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let mut found: Vec<_> = self.listed().map(|(src, flow)| (src, flow.dst)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns for each node whether flows start or end there.
    pub fn ends(&self, nodes: usize) -> Vec<bool> {
        let mut ends = vec![false; nodes];
        for (src, flow) in self.listed() {
            (ends[index(src)], ends[index(flow.dst)]) = (true, true);
        }
        // Sources of one workload share their list of destinations.
        let mut seen = HashSet::new();
        for (src, starts) in self.starts.iter().enumerate() {
            for start in starts {
                let Start::Drawn(flows) = start else { continue };
                ends[src] = true;
                let destinations = flows.destinations().1;
                if seen.insert(destinations.as_ptr()) {
                    for dst in destinations {
                        ends[index(*dst)] = true;
                    }
                }
            }
        }
        ends
    }

    /// Returns for each source the destinations of unpinned paths.
    pub fn destinations(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut all: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (src, flow) in self.listed().filter(|(_, flow)| flow.path < Paths::FIRST) {
            all.entry(src).or_default().insert(flow.dst);
        }
        for (src, start) in self
            .starts
            .iter()
            .enumerate()
            .flat_map(|(src, starts)| starts.iter().map(move |s| (src as u32, s)))
        {
            if let Start::Drawn(flows) = start {
                all.entry(src).or_default().extend(flows.destinations().1.iter().filter(|dst| **dst != src));
            }
        }
        all
    }
}

/// Numbers listed and drawn flows and sorts the flows by source.
pub fn number_flows<'a>(
    making: Making<'a>,
    workloads: &'a [Common<'a>],
    mut names: Vec<String>,
) -> Result<AllFlows, Problem> {
    let Making {
        topology,
        ports,
        nodes,
        mut listed,
        named,
        mut drawn,
        collectives,
        applications,
        connected,
        lasts,
        ..
    } = making;
    let n = topology.nodes.len();
    listed.sort_by_key(|f| f.src);
    drawn.sort_by_key(|d| (d.node, d.workload));
    let warm: BTreeSet<u16> = listed.iter().filter(|f| f.is_warm).map(|f| f.workload).collect();
    let warm = warm.into_iter().map(|w| {
        names.push(format!("{} warm", names[usize::from(w)]));
        (w, names.len() as u32 - 1)
    });
    let warm = warm.collect();
    let flows = AllFlows {
        workloads: workloads.len() as u32,
        lasts,
        collectives,
        applications,
        open: connected.iter().filter(|one| one.is_open).map(|one| (one.workload.into(), 0)).collect(),
        connections: (0..n).map(|_| Vec::new()).collect(),
        nvlink: Queues::new(topology.servers),
        starts: (0..n).map(|_| Vec::new()).collect(),
        waiting: vec![Vec::new(); n],
        arrivals: vec![FxHashMap::default(); n],
        names,
        flows: wide(listed.len())
            + connected.iter().map(|one| wide(one.list.len())).sum::<u64>()
            + drawn.iter().map(|d| d.flows.count()).sum::<u64>(),
        ..AllFlows::default()
    };
    let (paths, path_of, ids) = (Paths::new(), HashMap::new(), HashMap::new());
    let mut numbering = Numbering {
        workloads,
        warm,
        topology,
        ports,
        nodes,
        listed,
        connected,
        named,
        paths,
        path_of,
        ids,
        awaited: 0,
        flows,
    };
    numbering.check()?;
    let (specs, blocks) = numbering.assign(&mut drawn)?;
    numbering.start(&specs)?;
    numbering.depend()?;
    numbering.connect(&blocks);
    let Numbering { paths, mut flows, .. } = numbering;
    for at in drawn {
        flows.starts[index(at.node)].push(Start::Drawn(at.flows));
    }
    flows.paths = Arc::new(paths.with(flows.sources.keys.clone()));
    Ok(flows)
}

struct Numbering<'a> {
    workloads: &'a [Common<'a>],
    /// The name of a workload's warm flows.
    warm: BTreeMap<u16, u32>,
    topology: &'a Topology,
    ports: Vec<Vec<PortSpec>>,
    nodes: HashMap<&'a str, u32>,
    /// By source.
    listed: Vec<Listed<'a>>,
    connected: Vec<Connected>,
    /// Names of listed flows by position.
    named: HashMap<usize, String>,
    paths: Paths,
    /// Pinned paths by their ports there and back.
    path_of: HashMap<(Vec<PortId>, Vec<PortId>), u16>,
    /// Number and place in `listed` of flows with an id.
    ids: HashMap<&'a str, (u32, usize)>,
    /// Work of applications for which something waits.
    awaited: u32,
    flows: AllFlows,
}

impl<'a> Numbering<'a> {
    /// The key of a flow.
    fn key(&self, f: &Listed<'_>) -> String {
        let workload = usize::from(f.workload);
        place(
            &format!("workload[{workload}]"),
            self.workloads[workload].is_table,
            f.detail.map_or(0, |d| d.0),
        )
    }

    fn check(&self) -> Result<(), Problem> {
        if let Some(late) = self.listed.iter().find(|f| f.start >= MAX_START) {
            let key = if late.detail.is_some() {
                format!("{}.start", self.key(late))
            } else {
                format!("workload[{}]", late.workload)
            };
            return Err((key, too_late(late.start)));
        }
        if let Some(late) = self.connected.iter().find(|one| one.start >= MAX_START && !one.list.is_empty()) {
            return Err((format!("workload[{}]", late.workload), too_late(late.start)));
        }
        let total = self.flows.flows;
        if total > MAX_FLOWS {
            return Err(("workload".into(), format!("{total} flows exceed the maximum of {MAX_FLOWS}")));
        }
        Ok(())
    }

    /// Numbers each flow; returns the listed flows as their sources know the flows, and the connections of ranks.
    fn assign(&mut self, drawn: &mut [DrawnAt]) -> Result<(Vec<FlowSpec>, Vec<Block>), Problem> {
        let n = self.topology.nodes.len();
        let mut first = vec![0_u32; n + 1];
        let mut next = 0_u32;
        let mut keys = Vec::with_capacity(self.flows.flows as usize);
        let mut specs: Vec<FlowSpec> = Vec::with_capacity(self.listed.len());
        let mut blocks = Block::all(&self.connected);
        let mut ahead = blocks.iter_mut().peekable();
        let mut drawn = drawn.iter_mut().peekable();
        for node in 0..n as u32 {
            first[index(node)] = next;
            let mut last_name = None;
            loop {
                let block = ahead.peek().filter(|block| block.src == node);
                let end = block.map_or(usize::MAX, |block| self.connected[block.of].position);
                let flow = self.listed.get(specs.len()).filter(|f| f.src == node && f.position < end);
                let name = match (flow, block) {
                    (Some(flow), _) if flow.is_warm => self.warm[&flow.workload],
                    (Some(flow), _) => u32::from(flow.workload),
                    (None, Some(block)) => u32::from(self.connected[block.of].workload),
                    (None, None) => break,
                };
                if last_name.replace(name) != Some(name) {
                    self.flows.ranges.push((next, name));
                }
                if let Some(flow) = flow {
                    keys.push(flow.key);
                    specs.push(self.assign_listed(specs.len(), next)?);
                    next += 1;
                } else if let Some(block) = ahead.next() {
                    block.first = next;
                    self.assign_block(block, &mut keys);
                    next += number_of(block.places.len());
                }
            }
            while let Some(at) = drawn.next_if(|d| d.node == node) {
                self.flows.ranges.push((next, u32::from(at.workload)));
                at.flows.number_from(next);
                self.flows.bytes = self.flows.bytes.saturating_add(at.flows.bytes());
                keys.extend((0..at.flows.count()).map(|number| Keys::key(at.entity, number)));
                next += at.flows.count() as u32;
            }
        }
        first[n] = next;
        self.flows.sources = Arc::new(Sources { first, keys: Keys::new(keys) });
        Ok((specs, blocks))
    }

    /// Returns a listed flow with its number.
    fn assign_listed(&mut self, place: usize, flow: u32) -> Result<FlowSpec, Problem> {
        let listed = &mut self.listed[place];
        if let Some(arrivals) = listed.arrivals.take() {
            self.flows.arrivals[index(listed.src)].insert(flow, arrivals);
        }
        let Listed { position, dst, size, start, class, detail, .. } = *listed;
        let mut spec = FlowSpec { flow, dst, size, start, path: 0, class };
        if let Some(name) = self.named.remove(&position) {
            self.flows.labels.insert(flow, name);
        }
        if let Some((_, row)) = detail {
            self.label(place, row, flow)?;
            spec.path = self.pin(place, row)?;
        }
        self.flows.bytes = self.flows.bytes.saturating_add(size);
        Ok(spec)
    }

    /// Gives the connections of a rank to their source.
    fn assign_block(&mut self, block: &Block, keys: &mut Vec<u32>) {
        let of = &self.connected[block.of];
        let (mut messages, planned) = (0, &mut self.flows.connections[index(block.src)]);
        planned.reserve_exact(block.places.len());
        for (place, flow) in block.flows() {
            let (spec, to_come) = (of.spec(place, flow), of.list[index(place)].messages);
            keys.push(of.key(place));
            planned.push(Planned { spec, to_come });
            messages += u64::from(to_come);
            if !of.is_open {
                self.flows.bytes = self.flows.bytes.saturating_add(spec.size);
            }
        }
        let (counts, added) = if of.is_open {
            (&mut self.flows.open, wide(block.places.len()))
        } else {
            (&mut self.flows.messages, messages)
        };
        *counts.entry(of.workload.into()).or_default() += added;
    }

    /// Notes the id of a row.
    fn label(&mut self, place: usize, row: &'a Flow, number: u32) -> Result<(), Problem> {
        let Some(id) = &row.id else { return Ok(()) };
        if self.ids.insert(id, (number, place)).is_some() {
            return Err((
                format!("{}.id", self.key(&self.listed[place])),
                format!("`{id}` is the id of two flows"),
            ));
        }
        self.flows.labels.insert(number, id.clone());
        Ok(())
    }

    /// Returns the pinned path of a row, or 0.
    fn pin(&mut self, place: usize, row: &Flow) -> Result<u16, Problem> {
        if row.via.is_empty() {
            return Ok(0);
        }
        let key = self.key(&self.listed[place]);
        // The same ports from another source lead back elsewhere.
        let ends = walk(self.topology, &self.ports, &self.listed[place], &key, &row.via, &self.nodes)?;
        if let Some(path) = self.path_of.get(&ends) {
            return Ok(*path);
        }
        let too_many = || (key.clone(), "too many different pinned paths; the maximum is 32 000".to_string());
        let path = self.paths.add(&ends.0).filter(|p| *p < 64_000).ok_or_else(too_many)?;
        self.paths.add(&ends.1).ok_or_else(too_many)?;
        self.path_of.insert(ends, path);
        Ok(path)
    }

    /// Divides the listed flows of each node into starting and waiting flows.
    fn start(&mut self, specs: &[FlowSpec]) -> Result<(), Problem> {
        let mut lists: Vec<Vec<FlowSpec>> = vec![Vec::new(); self.topology.nodes.len()];
        // Places of rows that a row waits for: what a workload made waits in no circle.
        let mut waits_for: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut number_of = vec![0_u32; self.listed.len()];
        for (f, spec) in self.listed.iter().zip(specs) {
            number_of[f.position] = spec.flow;
        }
        for (place, (f, spec)) in self.listed.iter().zip(specs).enumerate() {
            let after = f.detail.map_or(&[][..], |detail| &detail.1.after);
            if after.is_empty() && f.after.is_empty() {
                lists[index(f.src)].push(*spec);
                continue;
            }
            let mut numbers: Vec<u32> = f.after.iter().map(|a| number_of[*a]).collect();
            for (i, id) in after.iter().enumerate() {
                if !self.ids.contains_key(id.as_str())
                    && let Some(number) = Self::work(&mut self.flows, &mut self.awaited, f.src, id)
                {
                    numbers.push(number);
                    continue;
                }
                let (flow, other) = self.awaited(f, i, id)?;
                numbers.push(flow);
                waits_for.entry(place).or_default().push(other);
            }
            numbers.sort_unstable();
            numbers.dedup();
            self.flows.waiting[index(f.src)].push((numbers, *spec));
        }
        self.check_circles(&waits_for)?;
        for (starts, mut list) in self.flows.starts.iter_mut().zip(lists).filter(|(_, list)| !list.is_empty())
        {
            list.sort_by_key(|f| (f.start, f.flow));
            starts.push(Start::list(list));
        }
        Ok(())
    }

    /// Tells applications the flows of their connections.
    fn connect(&mut self, blocks: &[Block]) {
        // The application with the highest number adds its queues over NVLink first.
        for one in self.flows.applications.each_mut().rev() {
            let is_own = |block: &&Block| self.connected[block.of].owner.0 == one.id();
            let own: Vec<_> =
                blocks.iter().filter(is_own).map(|block| block.numbered(&self.connected)).collect();
            one.number(&own, &mut self.flows.nvlink);
        }
    }

    /// Returns the number under which something at a node waits for the work `WORKLOAD/NAME` of an application.
    fn work(flows: &mut AllFlows, awaited: &mut u32, node: u32, name: &str) -> Option<u32> {
        // The last number stands for NVLink in messages.
        let next = Post::NVLINK - 1 - *awaited;
        let found = flows.applications.each_mut().find_map(|one| one.awaited(&flows.names, node, name, next));
        *awaited += u32::from(found == Some(next));
        found
    }

    /// Returns number and place of the flow that the i-th id of a row names.
    fn awaited(&self, f: &Listed<'_>, i: usize, id: &str) -> Result<(u32, usize), Problem> {
        let key = || format!("{}.after[{i}]", self.key(f));
        let Some((flow, other)) = self.ids.get(id).copied() else {
            return Err((key(), format!("unknown flow `{id}`")));
        };
        let end = self.listed[other].dst;
        if end != f.src {
            let (to, here) = (&self.topology.nodes[index(end)].name, &self.topology.nodes[index(f.src)].name);
            return Err((
                key(),
                format!(
                    "`{id}` ends at {to}; a flow may wait for a flow that ends at its own source, {here}"
                ),
            ));
        }
        Ok((flow, other))
    }

    /// Finds the flows, and the work of other workloads, for which applications wait.
    fn depend(&mut self) -> Result<(), Problem> {
        let all: Vec<_> = self.flows.applications.each().map(|one| (one.id(), one.waits())).collect();
        for (id, waits) in all {
            for (place, Waits { node, workload, name, unknown }) in waits.into_iter().enumerate() {
                let (of, row) = name.split_once('/').unwrap_or_default();
                let ends_here = |(_, place): &&(u32, usize)| {
                    let flow = &self.listed[*place];
                    flow.dst == node && self.flows.names[usize::from(flow.workload)] == of
                };
                let flow = self.ids.get(row).filter(ends_here).map(|(number, _)| *number);
                let number = match flow {
                    Some(flow) => Some(flow),
                    None if self.flows.names[index(workload)] == of => None,
                    None => Self::work(&mut self.flows, &mut self.awaited, node, &name),
                };
                let Some(number) = number else { return Err(unknown) };
                if let Some(one) = self.flows.applications.each_mut().find(|one| one.id() == id) {
                    one.wait(place, number);
                }
            }
        }
        Ok(())
    }

    fn check_circles(&self, waits_for: &HashMap<usize, Vec<usize>>) -> Result<(), Problem> {
        let Some(circle) = circle(waits_for) else { return Ok(()) };
        let id = |place: &usize| self.listed[*place].detail?.1.id.as_ref();
        let ids: Vec<String> =
            circle.iter().chain(&circle[..1]).filter_map(id).map(|id| format!("`{id}`")).collect();
        let why = format!("flows wait for one another in a circle: {}", ids.join(" after "));
        Err((format!("{}.after", self.key(&self.listed[circle[0]])), why))
    }
}

/// Returns why a flow cannot start at a moment.
fn too_late(start: Moment) -> String {
    format!("a flow would start at {start}; a simulation ends before {MAX_START}")
}

/// Returns the ports of a pinned path, there and back.
fn walk(
    topology: &Topology,
    ports: &[Vec<PortSpec>],
    flow: &Listed<'_>,
    key: &str,
    via: &[String],
    nodes: &HashMap<&str, u32>,
) -> Result<(Vec<PortId>, Vec<PortId>), Problem> {
    if via.len() > MAX_SWITCHES {
        return Err((
            format!("{key}.via"),
            format!("{} nodes are on the path; the maximum is {MAX_SWITCHES}", via.len()),
        ));
    }
    let mut at = flow.src;
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let last = topology.nodes[index(flow.dst)].name.clone();
    for (i, step) in via.iter().chain(std::iter::once(&last)).enumerate() {
        let key = if i < via.len() { format!("{key}.via[{i}]") } else { format!("{key}.via") };
        let (name, which) = match step.split_once('/') {
            Some((name, k)) => (
                name,
                k.parse::<usize>()
                    .map_err(|_| (key.clone(), format!("`{k}` in `{step}` is not a link's number")))?,
            ),
            None => (step.as_str(), 0),
        };
        let Some(to) = nodes.get(name).copied() else { return Err((key, format!("unknown node `{name}`"))) };
        let here = &topology.nodes[index(at)];
        if i < via.len() && !topology.nodes[index(to)].forwards {
            return Err((key, format!("`{name}` does not forward")));
        }
        let Some((port, link)) = PortId::each(&ports[index(at)]).filter(|p| p.1.peer == to).nth(which) else {
            return Err((key, format!("`{}` has no link of this number to `{name}`", here.name)));
        };
        there.push(port);
        back.push(link.peer_port);
        at = to;
    }
    back.reverse();
    Ok((there, back))
}
