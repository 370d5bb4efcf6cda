//! Search for cyclic buffer dependencies (CBDs) before a run. Under PFC a full buffer at the end of a link
//! can stop the link. A link therefore depends on every link that its packets take next. Routes without a
//! cycle cannot deadlock (Dally, Seitz 1987).
//!
//! A pinned flow has one path; other flows may take every shortest path. Faults with failover change these paths. A packet
//! that was forwarded by the routes before a change may meet the routes after, and waits as long as it is paused. So a link
//! of one epoch also depends on the next links of all later epochs. A relay that passes pauses on makes
//! a link wait for all other links of the relay. With `hop_classes` a link waits in each class separately.
//! A link never waits in a class without PFC.
//! For a mechanism that plans queues, queues depend on queues by its own rule; with BFC any two queues of a
//! link may be shared. A cycle may close or not, depending on the traffic.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use xoff_models::frames::flow::Start;
use xoff_models::mechanisms::Part;
use xoff_models::mechanisms::contract::{Properties, QueueAt};
use xoff_models::network::Settings;
use xoff_models::parts::ids::{ClassSet, PortId};
use xoff_models::paths::routing::{Paths, root};
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{Moment, index, number, wide};

use crate::audit::Waiter;
use crate::epochs::{self, Epoch, Fabric};

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search {
    /// No cycle.
    None,
    /// A cycle of links, each waiting for the next.
    Cycle(Cycle),
    /// No search was made, as the search would take too long.
    TooLarge,
}

/// A cycle of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The links, each waiting for the next.
    pub links: Vec<Waiter>,
    /// A flow for each dependency.
    pub witnesses: Vec<Witness>,
    /// The start of the epoch of routes that closes the cycle; `None` if only several epochs together close it.
    pub since: Option<Moment>,
}

/// Links to look at for all destinations: seconds.
const MAX_WORK: u64 = 1 << 28;

/// Sources and destinations of a class, as far as routes distinguish them.
#[derive(Default)]
struct Class {
    /// Source switches of each destination switch.
    pairs: BTreeMap<u32, BTreeSet<u32>>,
    /// Pinned paths with their first and last nodes.
    pinned: BTreeSet<(u32, u32, u16)>,
}

/// Random flows of one workload.
struct Drawn<'a> {
    destinations: &'a [u32],
    sources: BTreeSet<u32>,
}

/// A link and a class.
type Buffer = (u32, u8);

/// A flow that makes one link wait for another link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// Source: a host, or the switch of hosts with one link.
    pub from: u32,
    /// Destination.
    pub to: u32,
    /// Pinned path, or 0.
    pub path: u16,
}

/// A network, with the settings that decide the links of packets.
pub struct Traffic<'a> {
    /// Nodes and links.
    pub topology: &'a Topology,
    /// Of each node.
    pub ports: &'a [Vec<PortSpec>],
    /// Flows.
    pub plan: &'a AllFlows,
    /// Mechanisms, and the rule of first hops.
    pub settings: &'a Settings,
    /// First link number of each node.
    first: Vec<u32>,
    /// Links between forwarding nodes. A host with one link is represented by its switch.
    fabric: Fabric,
    /// The epochs of routes, the whole network first; `None` if there are too many.
    epochs: Option<Vec<Epoch>>,
    /// Root of the routes to each node: the switch, for a host with one link.
    pub roots: Vec<u32>,
    /// A pausing mechanism raises classes at relays, or passes pauses on at relays.
    raises_classes: bool,
    passes_pauses_on: bool,
    /// Relays hold flows at their sources, and pauses do not depend on their queues.
    holds_at_relays: bool,
    /// For each of [`xoff_models::mechanisms::overrides::Locals::list`]: classes of which the neighbour of a port may be
    /// stopped, and of which the neighbour may stop the port.
    stopped: Vec<[ClassSet; 2]>,
}

impl<'a> Traffic<'a> {
    /// Numbers the links.
    pub fn new(
        topology: &'a Topology,
        ports: &'a [Vec<PortSpec>],
        plan: &'a AllFlows,
        settings: &'a Settings,
        until: Option<Moment>,
    ) -> Self {
        let roots: Vec<u32> = (0..number(topology.nodes.len())).map(|n| root(topology, ports, n)).collect();
        let first = ports
            .iter()
            .scan(0_u32, |next, list| {
                let at = *next;
                *next += number(list.len());
                Some(at)
            })
            .collect();
        let fabric: Fabric = ports
            .iter()
            .enumerate()
            .map(|(n, list)| {
                let kept = |p: &PortSpec| roots[index(p.peer)] == p.peer && roots[n] == number(n);
                PortId::each(list).filter(|p| kept(p.1)).map(|(i, p)| (i, p.peer)).collect()
            })
            .collect();
        let any = |holds: fn(&Properties) -> bool| settings.mechanisms().any(holds);
        let (raises_classes, passes_pauses_on) = (any(|p| p.raises_classes), any(|p| p.passes_pauses_on));
        let holds_at_relays = settings.relay.per_flow.is_some() && any(|p| p.holds_at_relays);
        Self {
            topology,
            ports,
            plan,
            settings,
            first,
            epochs: epochs::epochs(settings, ports, &fabric, until),
            fabric,
            roots,
            raises_classes,
            passes_pauses_on,
            holds_at_relays,
            stopped: settings.locals.list().iter().map(|local| local.mechanisms.stopped()).collect(),
        }
    }

    /// Adds a dependency of a link on the next link, unless the link never waits in its class.
    fn add(&self, edges: &mut Edges, from: Buffer, to: Buffer, witness: Witness) {
        let (node, port) = self.end(from.0);
        let peer = &self.ports[index(node)][port];
        let at = |node: u32, port| self.stopped[self.settings.locals.place(index(node), port)];
        if at(peer.peer, peer.peer_port)[0].has(from.1) && at(node, port)[1].has(from.1) {
            edges.add(from, to, witness);
        }
    }

    fn link(&self, node: u32, port: PortId) -> u32 {
        self.first[index(node)] + u32::from(port.0)
    }

    /// Returns the node and port of a link. Nodes without links share the first link of the next node, and
    /// precede that node.
    fn end(&self, link: u32) -> (u32, PortId) {
        let node = self.first.partition_point(|f| *f <= link) - 1;
        (number(node), PortId::at((link - self.first[node]) as usize))
    }

    fn is_relay(&self, node: u32) -> bool {
        let node = &self.topology.nodes[index(node)];
        node.is_host && node.forwards
    }

    /// True if the node passes pauses on, independent of its queues.
    fn passes_on(&self, node: u32) -> bool {
        self.is_relay(node) && self.passes_pauses_on
    }

    /// True if packets that wait at the node stop no link.
    fn holds_at(&self, node: u32) -> bool {
        self.is_relay(node) && self.holds_at_relays
    }

    /// Returns the class of a relayed packet that arrived in a class.
    fn class_after(&self, node: u32, class: u8) -> u8 {
        let rises = self.is_relay(node) && self.raises_classes;
        (class + u8::from(rises)).min(self.settings.counted_classes() - 1)
    }

    /// Computes distances to a destination over forwarding nodes.
    pub fn distances(&self, destination: u32, distance: &mut [u32]) {
        self.distances_over(&self.fabric, destination, distance);
    }

    fn distances_over(&self, fabric: &Fabric, destination: u32, distance: &mut [u32]) {
        let forwards = |node: u32| self.topology.nodes[index(node)].forwards;
        epochs::distances(fabric, forwards, destination, distance);
    }

    /// Returns the ports on shortest paths with their next nodes, from the distances to a destination.
    pub fn next(&self, node: u32, destination: u32, to: &[u32]) -> Vec<(PortId, u32)> {
        self.next_over(&self.fabric, node, destination, to)
    }

    fn next_over(&self, fabric: &Fabric, node: u32, destination: u32, to: &[u32]) -> Vec<(PortId, u32)> {
        let is_nearer = |peer: u32| {
            to[index(peer)] < to[index(node)]
                && (peer == destination || self.topology.nodes[index(peer)].forwards)
        };
        let mut list: Vec<(PortId, u32)> =
            fabric[index(node)].iter().copied().filter(|(_, peer)| is_nearer(*peer)).collect();
        if self.topology.nodes[index(node)].is_host {
            self.settings.first_hop.choose(&mut list);
        }
        list
    }

    /// Searches for a cycle of links that can wait for one another: by the routes of all epochs together, and if these close
    /// one, by the routes of each epoch.
    pub fn find_cycle(&self) -> Search {
        let (Some(classes), Some(all)) = (self.classes(), &self.epochs) else { return Search::TooLarge };
        let links: u64 = self.fabric.iter().map(|l| wide(l.len())).sum();
        let each = wide(all.len()) * (links + wide(self.topology.nodes.len()));
        if classes.values().map(|class| wide(class.pairs.len())).sum::<u64>() * each > MAX_WORK {
            return Search::TooLarge;
        }
        let Some(together) = self.cycle_over(&classes, all) else { return Search::None };
        let of = |epoch: &Epoch| {
            let cycle = self.cycle_over(&classes, std::slice::from_ref(epoch))?;
            Some(Cycle { since: Some(epoch.from), ..cycle })
        };
        Search::Cycle(all.iter().find_map(of).unwrap_or(together))
    }

    /// Returns a cycle by the routes of some epochs together.
    fn cycle_over(&self, classes: &BTreeMap<u8, Class>, epochs: &[Epoch]) -> Option<Cycle> {
        let edges = self.edges(classes, epochs);
        let tells = |p: Properties| p.plans_queues && p.foretells_routes;
        if let Some(planner) = self.settings.mechanisms().parts().iter().find(|p| tells(p.properties())) {
            return self.queue_cycle(planner.as_ref(), &edges);
        }
        let cycle = edges.cycle()?;
        let mut found = Cycle { links: Vec::new(), witnesses: Vec::new(), since: None };
        for (i, (link, class)) in cycle.iter().enumerate() {
            let (node, port) = self.end(*link);
            found.links.push((node, port, *class));
            found.witnesses.push(edges.seen[&((*link, *class), cycle[(i + 1) % cycle.len()])]);
        }
        Some(found)
    }

    /// Searches for a cycle among queues planned by a mechanism and joined by a flow.
    fn queue_cycle(&self, planner: &dyn Part, pairs: &Edges) -> Option<Cycle> {
        let wiring = self.topology.wiring();
        let mut queues: BTreeMap<QueueAt, Witness> = BTreeMap::new();
        for (((from, _), (to, _)), witness) in &pairs.seen {
            let ((node, port), (next, out)) = (self.end(*from), self.end(*to));
            let further: Vec<Option<PortId>> = if self.is_relay(next) {
                pairs
                    .lists
                    .get(&(*to, 0))
                    .into_iter()
                    .flatten()
                    .map(|(link, _)| Some(self.end(*link).1))
                    .collect()
            } else {
                vec![None]
            };
            for third in further {
                if let Some(queue) = planner.queue_toward(&wiring, node, port, out, third) {
                    queues.entry((node, port, queue)).or_insert(*witness);
                }
            }
        }
        let number: BTreeMap<QueueAt, u32> =
            queues.keys().enumerate().map(|(i, q)| (*q, number(i))).collect();
        let mut edges = Edges::default();
        for (queue, witness) in &queues {
            for next in planner.waits_for(&wiring, *queue) {
                if let Some(next) = number.get(&next) {
                    edges.add((number[queue], 0), (*next, 0), *witness);
                }
            }
        }
        let list: Vec<_> = queues.into_iter().collect();
        let cycle = edges.cycle()?;
        let of = |buffer: &Buffer| &list[index(buffer.0)];
        let links = cycle.iter().map(|b| (of(b).0.0, of(b).0.1, 0)).collect();
        Some(Cycle { links, witnesses: cycle.iter().map(|b| of(b).1).collect(), since: None })
    }

    /// Returns the sources and destinations of each class, or `None` if the search would take too long.
    fn classes(&self) -> Option<BTreeMap<u8, Class>> {
        let plan = self.plan;
        let mut classes: BTreeMap<u8, Class> = BTreeMap::new();
        for (src, flow) in plan.listed() {
            let class = classes.entry(flow.class).or_default();
            if flow.path >= Paths::FIRST {
                class.pinned.insert((src, flow.dst, flow.path));
            } else {
                class.pairs.entry(self.roots[index(flow.dst)]).or_default().insert(self.roots[index(src)]);
            }
        }
        // Sources of one workload share destinations, which are searched once.
        let mut drawn: Vec<(u8, Drawn<'_>)> = Vec::new();
        for (src, starts) in plan.starts.iter().enumerate() {
            for start in starts {
                if let Start::Drawn(source) = start {
                    let (class, destinations) = source.destinations();
                    let is_it = |known: &&mut (u8, Drawn<'_>)| {
                        known.0 == class && std::ptr::eq(known.1.destinations, destinations)
                    };
                    let root = self.roots[src];
                    match drawn.iter_mut().find(is_it) {
                        Some((_, workload)) => drop(workload.sources.insert(root)),
                        None => drawn.push((class, Drawn { destinations, sources: BTreeSet::from([root]) })),
                    }
                }
            }
        }
        for (class, Drawn { destinations, sources }) in drawn {
            let pairs = &mut classes.entry(class).or_default().pairs;
            let distinct: BTreeSet<u32> = destinations.iter().map(|d| self.roots[index(*d)]).collect();
            if wide(distinct.len()) * wide(sources.len()) > MAX_WORK {
                return None;
            }
            for destination in distinct {
                pairs.entry(destination).or_default().extend(&sources);
            }
        }
        Some(classes)
    }

    /// Returns the dependencies between links by the routes of some epochs.
    fn edges(&self, classes: &BTreeMap<u8, Class>, epochs: &[Epoch]) -> Edges {
        let mut edges = Edges::default();
        for (class, flows) in classes {
            for (src, dst, path) in &flows.pinned {
                let witness = Witness { from: *src, to: *dst, path: *path };
                let (mut at, mut class) = (*src, *class);
                let mut before: Option<Buffer> = None;
                for port in self.plan.paths.ports(*path) {
                    if let Some(before) = before {
                        class = self.class_after(at, class);
                        if !self.holds_at(at) {
                            self.add(&mut edges, before, (self.link(at, *port), class), witness);
                        }
                    }
                    let link = (self.link(at, *port), class);
                    before = Some(link);
                    at = self.ports[index(at)][*port].peer;
                    self.add_passed_on(link, at, witness, &mut edges);
                }
            }
            self.add_shortest(*class, flows, epochs, &mut edges);
        }
        edges
    }

    /// Adds dependencies of a link into a node that passes pauses on: the link can wait for all other links
    /// of the node, in the next class with `hop_classes`. Packets that end at the node count as well.
    fn add_passed_on(&self, link: Buffer, at: u32, witness: Witness, edges: &mut Edges) {
        let class = link.1 + u8::from(self.raises_classes);
        if !self.passes_on(at) || class >= self.settings.counted_classes() {
            return;
        }
        let back = self.end(link.0).0;
        for (other, _) in PortId::each(&self.ports[index(at)]).filter(|p| p.1.peer != back) {
            self.add(edges, link, (self.link(at, other), class), witness);
        }
    }

    /// Adds the dependencies on all shortest paths between sources and destinations.
    fn add_shortest(&self, class: u8, flows: &Class, epochs: &[Epoch], edges: &mut Edges) {
        let n = self.topology.nodes.len();
        let mut ways = Ways::new(self, epochs);
        // Sets of next links of a node by number; many destinations share a set.
        let mut sets: Vec<HashMap<Vec<PortId>, u32>> = vec![HashMap::new(); n];
        // Links and classes, with the sets of next links already added.
        let mut done: HashSet<(u32, u8, u32)> = HashSet::new();
        // By node, and by the epoch from which on a packet is there.
        let mut set_of = vec![u32::MAX; n * epochs.len()];
        for (destination, sources) in &flows.pairs {
            ways.lead_to(*destination);
            set_of.fill(u32::MAX);
            let mut visited: HashSet<(u32, u8, usize)> = HashSet::new();
            let mut stack: Vec<(u32, u8, usize, u32)> =
                sources.iter().copied().filter(|s| ways.reach(*s)).map(|s| (s, class, 0, s)).collect();
            visited.extend(stack.iter().map(|s| (s.0, s.1, s.2)));
            while let Some((at, class, since, from)) = stack.pop() {
                let witness = Witness { from, to: *destination, path: 0 };
                for (port, peer, since) in ways.next(at, since) {
                    let link = (self.link(at, port), class);
                    self.add_passed_on(link, peer, witness, edges);
                    if peer == *destination {
                        continue;
                    }
                    let far = index(peer);
                    let beyond = ways.next(peer, since);
                    let set = &mut set_of[far * epochs.len() + since];
                    if *set == u32::MAX {
                        let fresh = number(sets[far].len());
                        *set = *sets[far].entry(beyond.iter().map(|n| n.0).collect()).or_insert(fresh);
                    }
                    let class = self.class_after(peer, class);
                    if done.insert((link.0, link.1, *set)) && !self.holds_at(peer) {
                        for (next, ..) in &beyond {
                            self.add(edges, link, (self.link(peer, *next), class), witness);
                        }
                    }
                    if visited.insert((peer, class, since)) {
                        stack.push((peer, class, since, from));
                    }
                }
            }
        }
    }

    /// Returns the nodes between the ends of a flow whose path takes one link and then a link of the next
    /// node by the routes since a moment, in the form of a pinned path.
    pub fn path_through(
        &self,
        since: Moment,
        witness: Witness,
        (node, port, _): Waiter,
        (_, next, _): Waiter,
    ) -> Option<Vec<u32>> {
        let target = self.ports[index(node)][port].peer;
        if witness.path > 0 {
            let mut at = witness.from;
            let mut nodes = Vec::new();
            for port in self.plan.paths.ports(witness.path) {
                at = self.ports[index(at)][*port].peer;
                nodes.push(at);
            }
            nodes.pop();
            return Some(nodes);
        }
        let epoch = self.epochs.iter().flatten().find(|epoch| epoch.from == since)?;
        let mut routes = Ways::new(self, std::slice::from_ref(epoch));
        routes.lead_to(witness.to);
        // To the first link by depth-first search, across the link, then by the second link if on a shortest
        // path, and on by any path.
        let mut path = Vec::new();
        let mut tried = HashSet::new();
        if !routes.pass(witness.from, node, &mut path, &mut tried) {
            return None;
        }
        path.push(target);
        let mut at = target;
        while at != witness.to {
            let ways = routes.next(at, 0);
            let (_, peer, _) = ways.iter().find(|w| at == target && w.0 == next).or(ways.first())?;
            path.push(*peer);
            at = *peer;
        }
        Some(path)
    }

    /// Returns a host at or behind a node; the n-th host, modulo the number of hosts.
    pub fn host_at(&self, node: u32, n: usize) -> Option<u32> {
        if self.topology.nodes[index(node)].is_host {
            return Some(node);
        }
        let hosts: Vec<u32> = (0..number(self.roots.len()))
            .filter(|h| self.roots[index(*h)] == node && self.topology.nodes[index(*h)].is_host)
            .collect();
        hosts.get(n % hosts.len().max(1)).copied()
    }
}

/// The ways to a destination by the routes of some epochs together, in the order of their first starts.
struct Ways<'a> {
    traffic: &'a Traffic<'a>,
    epochs: &'a [Epoch],
    destination: u32,
    /// Distances in the whole network, and in each epoch.
    whole: Vec<u32>,
    each: Vec<Vec<u32>>,
}

impl<'a> Ways<'a> {
    fn new(traffic: &'a Traffic<'a>, epochs: &'a [Epoch]) -> Self {
        let unknown = vec![u32::MAX; traffic.topology.nodes.len()];
        Self { traffic, epochs, destination: 0, each: vec![unknown.clone(); epochs.len()], whole: unknown }
    }

    /// Finds the ways to a destination.
    fn lead_to(&mut self, destination: u32) {
        self.destination = destination;
        self.traffic.distances(destination, &mut self.whole);
        for (epoch, distance) in self.epochs.iter().zip(&mut self.each) {
            self.traffic.distances_over(&epoch.fabric, destination, distance);
        }
    }

    /// True for a node that leads to the destination.
    fn reach(&self, node: u32) -> bool {
        self.whole[index(node)] != u32::MAX
    }

    /// Returns the next ports of a packet that is at a node since some epoch, with the next nodes and the first epochs in
    /// which the packet may leave. Where an epoch has no path, the routes of the whole network hold.
    fn next(&self, node: u32, since: usize) -> Vec<(PortId, u32, usize)> {
        let mut found: Vec<(PortId, u32, usize)> = Vec::new();
        for (place, (epoch, distance)) in self.epochs.iter().zip(&self.each).enumerate() {
            if epoch.to <= self.epochs[since].from {
                continue;
            }
            let is_cut = distance[index(node)] == u32::MAX;
            let (fabric, to) =
                if is_cut { (&self.traffic.fabric, &self.whole) } else { (&epoch.fabric, distance) };
            for (port, peer) in self.traffic.next_over(fabric, node, self.destination, to) {
                if found.iter().all(|known| known.0 != port) {
                    found.push((port, peer, place.max(since)));
                }
            }
        }
        found
    }

    /// Finds a path to a node by depth-first search; true if there is one.
    fn pass(&self, at: u32, goal: u32, path: &mut Vec<u32>, tried: &mut HashSet<u32>) -> bool {
        if at == goal {
            return true;
        }
        for (_, peer, _) in self.next(at, 0) {
            if peer != self.destination && tried.insert(peer) {
                path.push(peer);
                if self.pass(peer, goal, path, tried) {
                    return true;
                }
                path.pop();
            }
        }
        false
    }
}

/// Dependencies between links, with a flow for each.
#[derive(Default)]
struct Edges {
    lists: BTreeMap<Buffer, Vec<Buffer>>,
    seen: BTreeMap<(Buffer, Buffer), Witness>,
}

impl Edges {
    fn add(&mut self, from: Buffer, to: Buffer, witness: Witness) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.seen.entry((from, to)) {
            entry.insert(witness);
            self.lists.entry(from).or_default().push(to);
        }
    }

    /// Depth-first search in the order of links; each is searched once.
    fn cycle(&self) -> Option<Vec<Buffer>> {
        let mut searched = HashSet::new();
        for start in self.lists.keys() {
            let mut path: Vec<(Buffer, usize)> = Vec::new();
            let mut on_path = HashSet::new();
            if searched.insert(*start) {
                on_path.insert(*start);
                path.push((*start, 0));
            }
            while let Some((at, next)) = path.last_mut() {
                let Some(to) = self.lists.get(at).and_then(|l| l.get(*next)).copied() else {
                    on_path.remove(at);
                    path.pop();
                    continue;
                };
                *next += 1;
                if on_path.contains(&to) {
                    let from = path.iter().position(|p| p.0 == to)?;
                    return Some(path[from..].iter().map(|p| p.0).collect());
                }
                if searched.insert(to) {
                    on_path.insert(to);
                    path.push((to, 0));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Runner;
    use xoff_document::from_toml;

    fn search(text: &str) -> Search {
        let text = format!("{text}\n[switch.flow_control.pfc]\n");
        let runner = Runner::new(from_toml(&text, &[]).unwrap(), |_| None).unwrap();
        Traffic::new(&runner.topology, &runner.ports, &runner.plan, &runner.settings, None).find_cycle()
    }

    fn ring(switches: usize, traffic: &str) -> Search {
        use std::fmt::Write;
        let link = "rate = \"100Gbps\", delay = \"1us\"";
        let mut text = String::from("[network.explicit]\nnodes = [");
        for i in 0..switches {
            write!(
                text,
                "{{ name = \"h{i}\", kind = \"host\" }}, {{ name = \"s{i}\", kind = \"switch\" }}, "
            )
            .unwrap();
        }
        text += "]\nlinks = [";
        for i in 0..switches {
            let next = (i + 1) % switches;
            write!(
                text,
                "{{ a = \"h{i}\", b = \"s{i}\", {link} }}, {{ a = \"s{i}\", b = \"s{next}\", {link} }}, "
            )
            .unwrap();
        }
        search(&format!("{text}]\n{traffic}"))
    }

    const ALL: &str = "[[workload]]\nall_to_all = { size = \"1KB\" }\n";
    const DRAWN: &str = "[[workload]]\npoisson = { load = 0.5, sizes = \"websearch\", flows = 1 }\n";

    /// Two hops clockwise from each of the first switches of a ring of three.
    fn clockwise(flows: usize) -> Search {
        let rows: Vec<String> = (0..flows)
            .map(|i| {
                let (b, c) = ((i + 1) % 3, (i + 2) % 3);
                format!("{{ src = \"h{i}\", dst = \"h{c}\", size = \"1KB\", via = [\"s{i}\", \"s{b}\", \"s{c}\"] }}")
            })
            .collect();
        ring(3, &format!("[[workload]]\nflows = [{}]\n", rows.join(", ")))
    }

    #[test]
    fn pinned_paths_around_a_ring_close_a_cycle() {
        let Search::Cycle(Cycle { links: cycle, .. }) = clockwise(3) else { panic!("no cycle") };
        // Hosts are nodes 0 to 2. The first switch has links to its host, the next and the last switch; other
        // switches first to the previous switch.
        let mut cycle: Vec<_> = cycle.iter().map(|w| (w.0, w.2)).collect();
        cycle.sort_unstable();
        assert_eq!(cycle, [(3, 0), (4, 0), (5, 0)]);
        assert_eq!(clockwise(2), Search::None);
    }

    #[test]
    fn shortest_paths_close_a_cycle_in_rings_of_four_and_more() {
        for traffic in [ALL, DRAWN] {
            assert_eq!(ring(3, traffic), Search::None);
            for switches in [4, 5, 6] {
                let Search::Cycle(Cycle { links: cycle, .. }) = ring(switches, traffic) else {
                    panic!("no cycle in a ring of {switches}")
                };
                assert_eq!(cycle.len(), switches);
            }
        }
    }

    #[test]
    fn networks_in_levels_have_none() {
        let link = "link = { rate = \"100Gbps\", delay = \"1us\" }";
        for network in [
            "star]\nhosts = 4",
            "line]\nswitches = 5\nhosts_per_switch = 2",
            "leaf_spine]\nleaves = 4\nspines = 3\nhosts_per_leaf = 2\nparallel = 2",
            "fat_tree]\nk = 4",
            "three_tier_clos]\npods = 2\naccess_per_pod = 3\naggregation_per_pod = 2\ncores = 2\nhosts_per_access = 2\naccess_uplinks = 2",
        ] {
            for traffic in [ALL, DRAWN] {
                assert_eq!(
                    search(&format!("[network.{network}\n{link}\n{traffic}")),
                    Search::None,
                    "{network}"
                );
            }
        }
    }
}
