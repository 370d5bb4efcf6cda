//! Builds an engine from nodes and links: chooses clusters, partitions, and the length of windows.

use xoff_units::{Duration, Moment};

use crate::channel::Route;
use crate::engine::{Engine, Plan};
use crate::event_set::MAX_PORTS;
use crate::partition::Partition;
use crate::sets::Sets;
use crate::{END_OF_TIME, Node};

/// A one-way link from an output of one node to an in-link of another node.
#[derive(Debug, Clone, Copy)]
pub struct LinkSpec {
    /// Sending node, and its output. The outputs of a node have the numbers 0, 1, 2, … without gaps.
    pub from: (u32, u32),
    /// Receiving node, and its in-link. The in-links of a node have the numbers 0, 1, 2, … without gaps.
    pub to: (u32, u32),
    /// Least time between sending and arrival: the propagation delay plus the serialisation of the smallest
    /// frame.
    pub lookahead: Duration,
}

/// The reason for which a network cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub String);

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

impl<N: Node> Engine<N> {
    /// Builds an engine. `groups` gives for each node the number of a node that should be near in memory, in
    /// the same partition: for a host the number of its leaf, for a switch the number of the switch itself.
    pub fn new(nodes: Vec<N>, groups: &[u32], links: &[LinkSpec], plan: Plan) -> Result<Self, PlanError> {
        assert_eq!(nodes.len(), groups.len(), "one group per node");
        let degree = degrees(nodes.len(), links)?;
        let threads = plan.threads.clamp(1, std::thread::available_parallelism().map_or(1, usize::from));
        let most = plan.partitions.unwrap_or(threads).clamp(1, nodes.len().clamp(1, usize::from(u16::MAX)));
        let (parts, bound) =
            if plan.clusters { with_clusters(nodes.len(), links, most) } else { (most, Duration::ZERO) };
        let mut sets = Sets::new(nodes.len());
        for link in links.iter().filter(|l| l.lookahead < bound) {
            sets.join(link.from.0, link.to.0);
        }
        let cluster: Vec<u32> = (0..nodes.len() as u32).map(|n| sets.root(n)).collect();
        for (node, group) in groups.iter().enumerate() {
            sets.join(node as u32, *group);
        }
        let unit: Vec<u32> = (0..nodes.len() as u32).map(|n| sets.root(n)).collect();
        let partition_of = assign(&unit, &degree, parts);

        let mut outer = END_OF_TIME - Moment::ZERO;
        let mut inner = vec![Duration::FOREVER; nodes.len()];
        for link in links {
            let (a, b) = (cluster[link.from.0 as usize], cluster[link.to.0 as usize]);
            if a == b && bound > Duration::ZERO {
                inner[a as usize] = inner[a as usize].min(link.lookahead);
            } else {
                outer = outer.min(link.lookahead);
            }
        }
        // The plan may shorten the window. A window longer than the lookahead would be wrong.
        let window = plan.window.map_or(outer, |w| w.clamp(Duration(1), outer));
        let shorter =
            |l: Duration| if l < window { plan.window.map_or(l, |w| l.min(w)) } else { Duration::FOREVER };

        let mut order: Vec<usize> = (0..nodes.len()).collect();
        // The order of nodes in memory: by partition, unit, cluster, group, and number. Hosts precede their
        // switch, as their numbers are lower.
        order.sort_by_key(|&n| (partition_of[n], unit[n], cluster[n], groups[n], n));
        let mut partitions: Vec<Partition<N>> = (0..parts).map(|_| Partition::new(parts)).collect();
        let mut places = vec![(0_u16, 0_u32); nodes.len()];
        let mut waiting: Vec<Option<N>> = nodes.into_iter().map(Some).collect();
        // Neighbours in memory without inner windows share a range.
        let range_of = |n: usize| {
            if shorter(inner[cluster[n] as usize]) == Duration::FOREVER { u32::MAX } else { cluster[n] }
        };
        for run in order.chunk_by(|a, b| partition_of[*a] == partition_of[*b] && range_of(*a) == range_of(*b))
        {
            let partition = &mut partitions[partition_of[run[0]]];
            let first = partition.slots.len();
            for &n in run {
                let Some(node) = waiting[n].take() else { unreachable!("each node is placed once") };
                let slot = partition.add_node(n as u32, node, degree[n].1, degree[n].0);
                places[n] = (partition_of[n] as u16, slot);
            }
            partition.add_cluster(first..first + run.len(), shorter(inner[cluster[run[0]] as usize]));
        }

        // Adds the outputs of each node in the order of their numbers.
        let mut by_sender: Vec<usize> = (0..links.len()).collect();
        by_sender.sort_by_key(|&l| links[l].from);
        for l in by_sender {
            let (from, to) = (links[l].from.0 as usize, links[l].to.0 as usize);
            let (p, slot) = places[from];
            let (partition, node) = places[to];
            let same_cluster = cluster[from] == cluster[to] && bound > Duration::ZERO;
            let route =
                Route { node, link: links[l].to.1 as u16, partition, local: partition == p, same_cluster };
            partitions[p as usize].add_output(slot, route);
        }
        let plan = Plan { threads: threads.min(parts), ..plan };
        let clusters = if bound > Duration::ZERO { cluster } else { (0..places.len() as u32).collect() };
        Ok(Self::of(partitions, (places, clusters), window, plan))
    }
}

/// Returns the number of links from each node and to each node. Refuses a link without lookahead, and a node
/// with too many links.
fn degrees(nodes: usize, links: &[LinkSpec]) -> Result<Vec<(usize, usize)>, PlanError> {
    let mut degree = vec![(0_usize, 0_usize); nodes];
    for link in links {
        degree[link.from.0 as usize].0 += 1;
        degree[link.to.0 as usize].1 += 1;
        if link.lookahead == Duration::ZERO {
            return Err(PlanError(
                "a link without delay and without a smallest frame gives no lookahead; give one of them"
                    .into(),
            ));
        }
    }
    if let Some(widest) = degree.iter().map(|d| d.0.max(d.1)).max()
        && widest > MAX_PORTS
    {
        return Err(PlanError(format!("a node has {widest} ports; the maximum is {MAX_PORTS}")));
    }
    Ok(degree)
}

/// Returns the number of partitions, and the bound of [`cluster_bound`]: the most partitions that leave clusters, or as
/// many as allowed without clusters. Fewer partitions with long windows are faster than many with short windows, but
/// two partitions are the least if two are allowed. Example: rails of 16 servers and 16 partitions of which each needs
/// four clusters. With 4 partitions a window has 500 ns, and with 16 it would have the 25 ns of a server.
fn with_clusters(nodes: usize, links: &[LinkSpec], most: usize) -> (usize, Duration) {
    let found = (most.min(2)..=most).rev().map(|parts| (parts, cluster_bound(nodes, links, parts)));
    found.into_iter().find(|(_, bound)| *bound > Duration::ZERO).unwrap_or((most, Duration::ZERO))
}

/// Returns the lookahead below which a link joins its ends into a cluster; zero if there are no clusters. The
/// function sorts the lookaheads, and takes the largest ratio of two neighbouring values. The ratio must be
/// at least 2, and at least four clusters must be left for each partition. Example: lookaheads of 0.5, 0.6
/// and 20 us have the ratios 1.2 and 33. The result is 20 us: links of 0.5 and 0.6 us join nodes into
/// clusters.
fn cluster_bound(nodes: usize, links: &[LinkSpec], parts: usize) -> Duration {
    let mut lengths: Vec<Duration> = links.iter().map(|l| l.lookahead).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut best = (2.0, Duration::ZERO);
    for pair in lengths.windows(2) {
        let ratio = pair[1].0 as f64 / pair[0].0 as f64;
        if ratio < best.0 {
            continue;
        }
        let mut sets = Sets::new(nodes);
        let joined =
            links.iter().filter(|l| l.lookahead < pair[1]).filter(|l| sets.join(l.from.0, l.to.0)).count();
        if nodes - joined >= 4 * parts {
            best = (ratio, pair[1]);
        }
    }
    best.1
}

/// Runs of equal units that a partition takes.
const TURNS: usize = 4;

/// Returns the partition of each node. A *unit* is a set of nodes that stay together: clusters, and hosts
/// with their leaf. The weight of a unit is the number of links that leave its nodes. Units of equal weight are cut into
/// contiguous runs that the partitions take in turns: leaves and spines are distributed evenly. Example: 16 leaves and 8
/// spines in 4 partitions are 4 leaves and 2 spines each. Each partition has units from all quarters of the list, because a
/// job uses one range of servers after the other: the stages of a pipeline exchange gradients at different times.
fn assign(unit: &[u32], degree: &[(usize, usize)], parts: usize) -> Vec<usize> {
    let mut weight = vec![0_usize; unit.len()];
    for (n, u) in unit.iter().enumerate() {
        weight[*u as usize] += degree[n].0;
    }
    let mut units: Vec<u32> = unit.to_vec();
    units.sort_unstable();
    units.dedup();
    units.sort_by_key(|u| (std::cmp::Reverse(weight[*u as usize]), *u));
    let mut of_unit = vec![0_usize; unit.len()];
    let mut load = vec![0_usize; parts];
    let quarters = units.chunk_by(|a, b| weight[*a as usize] == weight[*b as usize]).flat_map(|run| {
        let turns = TURNS.min(run.len() / parts).max(1);
        (0..turns).map(move |turn| &run[run.len() * turn / turns..run.len() * (turn + 1) / turns])
    });
    for run in quarters {
        let mut chunks: Vec<&[u32]> =
            (0..parts).map(|p| &run[run.len() * p / parts..run.len() * (p + 1) / parts]).collect();
        chunks.sort_by_key(|c| std::cmp::Reverse(c.len()));
        let mut lightest: Vec<usize> = (0..parts).collect();
        lightest.sort_by_key(|p| (load[*p], *p));
        for (chunk, p) in chunks.into_iter().zip(lightest) {
            for u in chunk {
                of_unit[*u as usize] = p;
                load[p] += weight[*u as usize];
            }
        }
    }
    unit.iter().map(|u| of_unit[*u as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers of 8 GPUs at a switch, links of 25 ns; and 8 rails, links of 500 ns. Nodes and links.
    fn rails(servers: u32) -> (usize, Vec<LinkSpec>) {
        let switch = |server: u32| 8 * servers + server;
        let rail = |gpu: u32| 9 * servers + gpu;
        let mut links = Vec::new();
        for server in 0..servers {
            for gpu in 0..8 {
                let host = 8 * server + gpu;
                for (to, lookahead) in [(switch(server), Duration::ns(25)), (rail(gpu), Duration::ns(500))] {
                    links.push(LinkSpec { from: (host, 0), to: (to, 0), lookahead });
                    links.push(LinkSpec { from: (to, 0), to: (host, 0), lookahead });
                }
            }
        }
        (9 * servers as usize + 8, links)
    }

    #[test]
    fn many_partitions_leave_clusters() {
        // 16 servers and 8 rails are 24 clusters: six partitions of four clusters, and no more.
        let (nodes, links) = rails(16);
        assert_eq!(cluster_bound(nodes, &links, 16), Duration::ZERO);
        for (most, parts) in [(1, 1), (2, 2), (6, 6), (7, 6), (16, 6)] {
            assert_eq!(with_clusters(nodes, &links, most), (parts, Duration::ns(500)));
        }
        // 64 servers are enough for 16 partitions. With one server no two partitions have clusters.
        let (nodes, links) = rails(64);
        assert_eq!(with_clusters(nodes, &links, 16), (16, Duration::ns(500)));
        let (nodes, links) = rails(1);
        assert_eq!(with_clusters(nodes, &links, 16), (2, Duration::ns(500)));
        let uniform: Vec<LinkSpec> =
            links.iter().map(|link| LinkSpec { lookahead: Duration::ns(500), ..*link }).collect();
        assert_eq!(with_clusters(nodes, &uniform, 16), (16, Duration::ZERO));
    }
}
