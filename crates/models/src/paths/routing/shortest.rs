//! Shortest paths: the routes of all nodes to the nodes where flows start or end.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_units::{index, number};

use super::{Destinations, FirstHop, Paths, Routes, root, salt};
use crate::parts::ids::PortId;
use crate::paths::topology::{PortSpec, Topology};

/// Destinations whose routes are computed together. The 16 entries in the table of a node fill two lines of the cache.
const AT_ONCE: usize = 16;

/// Computes shortest paths to the nodes where flows start or end, over all paths of equal length. Hosts that
/// do not forward are on no path.
pub fn shortest(
    topology: &Topology,
    paths: Arc<Paths>,
    first_hop: &FirstHop,
    seed: u64,
    is_end: impl Fn(usize) -> bool,
) -> Vec<Arc<Routes>> {
    shortest_by(topology, paths, first_hop, seed, is_end, |_, _| true)
}

/// Computes shortest paths over usable ports. A packet for an unreachable node goes astray.
pub fn shortest_by(
    topology: &Topology,
    paths: Arc<Paths>,
    first_hop: &FirstHop,
    seed: u64,
    is_end: impl Fn(usize) -> bool,
    may_use: impl Fn(u32, PortId) -> bool,
) -> Vec<Arc<Routes>> {
    let ports = topology.ports();
    let (destinations, roots) = grouped(topology, &ports, is_end);
    let (destinations, links) = (Arc::new(destinations), Links::new(topology, &ports));
    let has_table = |ports: &Vec<PortSpec>| ports.len() != 1;
    let mut tables: Vec<Option<Table>> =
        ports.iter().map(|ports| has_table(ports).then(|| Table::new(roots.len()))).collect();
    let mut distances = vec![vec![u32::MAX; ports.len()]; AT_ONCE];
    let (mut queue, mut next) = (Vec::new(), Vec::new());
    for (part, roots) in roots.chunks(AT_ONCE).enumerate() {
        for (root, distance) in roots.iter().zip(&mut distances) {
            links.measure(*root, &may_use, distance, &mut queue);
        }
        for (node, table) in tables.iter_mut().enumerate() {
            let Some(table) = table else { continue };
            for (group, (root, distance)) in (part * AT_ONCE..).zip(roots.iter().zip(&distances)) {
                if distance[node] == u32::MAX {
                    continue;
                }
                if number(node) == *root {
                    table.entries[group] = (0, 0);
                    continue;
                }
                links.choices(node, *root, &may_use, distance, &mut next);
                if topology.nodes[node].is_host {
                    first_hop.choose(&mut next);
                }
                table.set(group, &next);
            }
        }
    }
    let routes = tables.into_iter().enumerate().map(|(node, table)| {
        let has_one_port = table.is_none();
        let (entries, choices) = table.map(|table| (table.entries, table.choices)).unwrap_or_default();
        let (destinations, paths, salt) = (destinations.clone(), paths.clone(), salt(seed, number(node)));
        Arc::new(Routes { destinations, paths, entries, choices, has_one_port, salt, alike: None })
    });
    routes.collect()
}

/// Groups the hosts where flows start or end by the node at which their routes end, and returns that node of
/// each group.
fn grouped(
    topology: &Topology,
    ports: &[Vec<PortSpec>],
    is_end: impl Fn(usize) -> bool,
) -> (Destinations, Vec<u32>) {
    let n = topology.nodes.len();
    let mut group = vec![u32::MAX; n];
    let mut port = vec![PortId(0); n];
    let mut roots = Vec::new();
    let mut group_of_root = HashMap::new();
    // Nothing is sent to any other node.
    for node in (0..n).filter(|n| topology.nodes[*n].is_host && is_end(*n)) {
        let root = root(topology, ports, number(node));
        if root != number(node) {
            port[node] = ports[node][0].peer_port;
        }
        group[node] = *group_of_root.entry(root).or_insert_with(|| {
            roots.push(root);
            number(roots.len()) - 1
        });
    }
    (Destinations { group, port }, roots)
}

/// The links of all nodes, in one list: a search for each of thousands of destinations stays in the cache.
struct Links {
    /// For each node the first link, and a final entry.
    first: Vec<u32>,
    /// For each port the neighbour, and the port of the neighbour.
    all: Vec<(u32, PortId)>,
    forwards: Vec<bool>,
}

impl Links {
    fn new(topology: &Topology, ports: &[Vec<PortSpec>]) -> Self {
        let (mut first, mut all) = (vec![0], Vec::new());
        for list in ports {
            all.extend(list.iter().map(|port| (port.peer, port.peer_port)));
            first.push(number(all.len()));
        }
        Self { first, all, forwards: topology.nodes.iter().map(|node| node.forwards).collect() }
    }

    /// The links of a node, by port.
    fn of(&self, node: usize) -> &[(u32, PortId)] {
        &self.all[index(self.first[node])..index(self.first[node + 1])]
    }

    /// Finds the number of links from each node to `root`; `u32::MAX` for nodes without a path.
    fn measure(
        &self,
        root: u32,
        may_use: impl Fn(u32, PortId) -> bool,
        distance: &mut [u32],
        queue: &mut Vec<u32>,
    ) {
        distance.fill(u32::MAX);
        distance[index(root)] = 0;
        queue.clear();
        queue.push(root);
        let mut done = 0;
        while let Some(at) = queue.get(done).copied() {
            done += 1;
            // Packets go through a node on their way only when it forwards.
            if at != root && !self.forwards[index(at)] {
                continue;
            }
            for (peer, port) in self.of(index(at)) {
                if distance[index(*peer)] == u32::MAX && may_use(*peer, *port) {
                    distance[index(*peer)] = distance[index(at)] + 1;
                    queue.push(*peer);
                }
            }
        }
    }

    /// Finds the ports of a node on shortest paths to `root`, from the distances of nodes to the root.
    fn choices(
        &self,
        node: usize,
        root: u32,
        may_use: impl Fn(u32, PortId) -> bool,
        distance: &[u32],
        next: &mut Vec<PortId>,
    ) {
        next.clear();
        for (port, (peer, _)) in PortId::each(self.of(node)) {
            let leads_on = self.forwards[index(*peer)] || *peer == root;
            if distance[index(*peer)] < distance[node] && leads_on && may_use(number(node), port) {
                next.push(port);
            }
        }
    }
}

/// The routes of a node with several ports, under construction.
struct Table {
    /// For each group of destinations: the start and the number of its choices.
    entries: Vec<(u32, u32)>,
    choices: Vec<PortId>,
    /// The start of each list of choices.
    known: FxHashMap<Vec<PortId>, u32>,
    /// The last entry: destinations in a row mostly have the same choices.
    last: (u32, u32),
}

impl Table {
    /// Returns a table that leads nowhere.
    fn new(groups: usize) -> Self {
        let (entries, choices, known) = (vec![(u32::MAX, 1); groups], Vec::new(), FxHashMap::default());
        Self { entries, choices, known, last: (0, 0) }
    }

    /// Sets the choices of a group.
    fn set(&mut self, group: usize, next: &[PortId]) {
        let (start, count) = self.last;
        if self.choices[index(start)..][..index(count)] != *next {
            let start = self.known.get(next).copied().unwrap_or_else(|| {
                let start = number(self.choices.len());
                self.choices.extend_from_slice(next);
                self.known.insert(next.to_vec(), start);
                start
            });
            self.last = (start, number(next.len()));
        }
        self.entries[group] = self.last;
    }
}
