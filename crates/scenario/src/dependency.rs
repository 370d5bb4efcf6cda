//! Deadlocks before a run: cycles of buffers that can wait for one another on the routes of the scenario's flows.
//!
//! Under PFC what waits at the end of a link can stop the link, so that a link depends on every link that its packets take next
//! (Dally, Seitz 1987: routes whose dependencies have no cycle cannot deadlock). A pinned flow has its one path; any other may take
//! every shortest path. A cycle is possible trouble, not certain: whether it closes depends on the traffic.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use xoff_models::routing::{Paths, root};
use xoff_models::topology::{PortSpec, Topology};
use xoff_models::workload::{FlowSpec, Plan, Start};

use crate::audit::Waiter;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search {
    /// No cycle.
    None,
    /// Each waits for the next, and the last for the first.
    Cycle(Vec<Waiter>),
    /// Nothing was searched: it would take too long.
    TooLarge,
}

/// Links to look at for all destinations: seconds.
const MAX_WORK: u64 = 1 << 28;

/// Who sends to whom in a class, as far as routes can tell them apart.
#[derive(Default)]
struct Class {
    /// For each destination's switch the switches that send to it.
    pairs: BTreeMap<u32, BTreeSet<u32>>,
    /// Pinned paths with the node where they begin.
    pinned: BTreeSet<(u32, u16)>,
}

/// Random flows of one workload.
struct Drawn<'a> {
    destinations: &'a [u32],
    sources: BTreeSet<u32>,
}

/// Looks for a cycle in each class.
pub fn find_cycle(t: &Topology, ports: &[Vec<PortSpec>], plan: &Plan) -> Search {
    let roots: Vec<u32> = (0..t.nodes.len() as u32).map(|n| root(t, ports, n)).collect();
    let mut classes: BTreeMap<u8, Class> = BTreeMap::new();
    let mut listed = |src: usize, flow: &FlowSpec| {
        let class = classes.entry(flow.class).or_default();
        if flow.path >= Paths::FIRST {
            class.pinned.insert((src as u32, flow.path));
        } else {
            class.pairs.entry(roots[flow.dst as usize]).or_default().insert(roots[src]);
        }
    };
    for (src, flows) in plan.waiting.iter().enumerate() {
        for (_, flow) in flows {
            listed(src, flow);
        }
    }
    for (src, starts) in plan.starts.iter().enumerate() {
        for start in starts {
            if let Start::List(list) = start {
                for flow in list.as_slice() {
                    listed(src, flow);
                }
            }
        }
    }
    // Sources of one workload share their destinations: those are looked through once.
    let mut drawn: BTreeMap<(u8, usize), Drawn<'_>> = BTreeMap::new();
    for (src, starts) in plan.starts.iter().enumerate() {
        for start in starts {
            if let Start::Poisson(source) = start {
                let (class, destinations) = source.destinations();
                let workload = drawn.entry((class, destinations.as_ptr() as usize));
                workload.or_insert(Drawn { destinations, sources: BTreeSet::new() }).sources.insert(roots[src]);
            }
        }
    }
    for ((class, _), Drawn { destinations, sources }) in drawn {
        let pairs = &mut classes.entry(class).or_default().pairs;
        let distinct: BTreeSet<u32> = destinations.iter().map(|d| roots[*d as usize]).collect();
        if (distinct.len() as u64) * (sources.len() as u64) > MAX_WORK {
            return Search::TooLarge;
        }
        for destination in distinct {
            pairs.entry(destination).or_default().extend(&sources);
        }
    }
    // Hosts with one link neither forward nor are they looked at: their switch stands for them.
    let fabric: Vec<Vec<(u16, u32)>> = ports
        .iter()
        .enumerate()
        .map(|(n, list)| {
            let kept = |p: &PortSpec| roots[p.peer as usize] == p.peer && roots[n] == n as u32;
            list.iter().enumerate().filter(|p| kept(p.1)).map(|(i, p)| (i as u16, p.peer)).collect()
        })
        .collect();
    let links: u64 = fabric.iter().map(|l| l.len() as u64).sum();
    if classes.values().map(|c| c.pairs.len() as u64).sum::<u64>() * (links + t.nodes.len() as u64) > MAX_WORK {
        return Search::TooLarge;
    }
    let first: Vec<u32> = ports
        .iter()
        .scan(0_u32, |next, list| {
            let at = *next;
            *next += list.len() as u32;
            Some(at)
        })
        .collect();
    for (class, flows) in &classes {
        let mut next = Edges { lists: BTreeMap::new(), seen: HashSet::new() };
        for (src, path) in &flows.pinned {
            let mut at = *src;
            let mut before = None;
            for port in plan.paths.ports(*path) {
                let link = first[at as usize] + u32::from(*port);
                if let Some(before) = before {
                    next.add(before, link);
                }
                before = Some(link);
                at = ports[at as usize][*port as usize].peer;
            }
        }
        add_shortest(t, &fabric, &first, flows, &mut next);
        if let Some(cycle) = next.cycle() {
            let waiter = |link: u32| {
                let node = first.partition_point(|f| *f <= link) - 1;
                // Nodes without links share the first link of the next one, and come before it.
                (node as u32, (link - first[node]) as u16, *class)
            };
            return Search::Cycle(cycle.into_iter().map(waiter).collect());
        }
    }
    Search::None
}

/// Which link waits for which.
struct Edges {
    lists: BTreeMap<u32, Vec<u32>>,
    seen: HashSet<(u32, u32)>,
}

impl Edges {
    fn add(&mut self, from: u32, to: u32) {
        if self.seen.insert((from, to)) {
            self.lists.entry(from).or_default().push(to);
        }
    }

    /// Depth-first search in the order of links; each is searched once.
    fn cycle(&self) -> Option<Vec<u32>> {
        let mut searched = HashSet::new();
        for start in self.lists.keys() {
            let mut path: Vec<(u32, usize)> = Vec::new();
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

/// Adds what waits for what on all shortest paths between those who send to each other.
fn add_shortest(t: &Topology, fabric: &[Vec<(u16, u32)>], first: &[u32], flows: &Class, edges: &mut Edges) {
    let mut distance = vec![u32::MAX; t.nodes.len()];
    let mut queue = VecDeque::new();
    // The sets of next links that a node has toward any destination, by number: many destinations share them.
    let mut sets: Vec<HashMap<Vec<u16>, u32>> = vec![HashMap::new(); t.nodes.len()];
    // For each link the sets of its far end that it is known to wait for.
    let mut done: Vec<Vec<bool>> = Vec::new();
    let mut set_of = vec![u32::MAX; t.nodes.len()];
    for (destination, sources) in &flows.pairs {
        distance.fill(u32::MAX);
        set_of.fill(u32::MAX);
        distance[*destination as usize] = 0;
        queue.push_back(*destination);
        while let Some(at) = queue.pop_front() {
            if at != *destination && !t.nodes[at as usize].forwards {
                continue;
            }
            for (_, peer) in &fabric[at as usize] {
                if distance[*peer as usize] == u32::MAX {
                    distance[*peer as usize] = distance[at as usize] + 1;
                    queue.push_back(*peer);
                }
            }
        }
        let to = &distance;
        let next_of = |node: u32| {
            fabric[node as usize].iter().filter(move |(_, peer)| {
                to[*peer as usize] < to[node as usize] && (peer == destination || t.nodes[*peer as usize].forwards)
            })
        };
        let mut is_visited = vec![false; t.nodes.len()];
        let mut stack: Vec<u32> = sources.iter().copied().filter(|s| distance[*s as usize] != u32::MAX).collect();
        for source in &stack {
            is_visited[*source as usize] = true;
        }
        while let Some(at) = stack.pop() {
            for (port, peer) in next_of(at).filter(|n| n.1 != *destination) {
                let (link, far) = ((first[at as usize] + u32::from(*port)) as usize, *peer as usize);
                if set_of[far] == u32::MAX {
                    let fresh = sets[far].len() as u32;
                    set_of[far] = *sets[far].entry(next_of(*peer).map(|n| n.0).collect()).or_insert(fresh);
                }
                let set = set_of[far] as usize;
                if done.len() <= link {
                    done.resize_with(link + 1, Vec::new);
                }
                if done[link].len() <= set {
                    done[link].resize(set + 1, false);
                }
                if !std::mem::replace(&mut done[link][set], true) {
                    for (next, _) in next_of(*peer) {
                        edges.add(link as u32, first[far] + u32::from(*next));
                    }
                }
                if !std::mem::replace(&mut is_visited[far], true) {
                    stack.push(*peer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::from_toml;
    use crate::run::Runner;

    fn search(text: &str) -> Search {
        let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
        find_cycle(&runner.topology, &runner.ports, &runner.plan)
    }

    fn ring(switches: usize, traffic: &str) -> Search {
        use std::fmt::Write;
        let link = "rate = \"100Gbps\", delay = \"1us\"";
        let mut text = String::from("[network.explicit]\nnodes = [");
        for i in 0..switches {
            write!(text, "{{ name = \"h{i}\", kind = \"host\" }}, {{ name = \"s{i}\", kind = \"switch\" }}, ").unwrap();
        }
        text += "]\nlinks = [";
        for i in 0..switches {
            let next = (i + 1) % switches;
            write!(text, "{{ a = \"h{i}\", b = \"s{i}\", {link} }}, {{ a = \"s{i}\", b = \"s{next}\", {link} }}, ").unwrap();
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
        let Search::Cycle(cycle) = clockwise(3) else { panic!("no cycle") };
        // Hosts are nodes 0 to 2. The first switch is linked to its host, the next and the last switch, others to the one before first.
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
                let Search::Cycle(cycle) = ring(switches, traffic) else { panic!("no cycle in a ring of {switches}") };
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
                assert_eq!(search(&format!("[network.{network}\n{link}\n{traffic}")), Search::None, "{network}");
            }
        }
    }
}
