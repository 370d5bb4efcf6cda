//! Routes: tables by destination, ECMP by a stable hash, and pinned paths.
//! Source: `docs/models/ecmp.md`.

pub mod ate;
pub mod failover;
pub mod shortest;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::mix;
use xoff_units::{Duration, Serializer, index, number};

use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::ids::PortId;
use crate::parts::streams::Keys;
use crate::paths::topology::{PortSpec, Topology, Wiring};

/// `host.first_hop`: the port by which a flow leaves its host, when several ports are on shortest paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FirstHop {
    /// By a hash of the flow.
    #[default]
    Hash,
    /// The lowest port, also at relays. In `network.rail` a flow to another rail goes over the scale-up link
    /// first, to the GPU of its server on the destination's rail, as NCCL does (PXN).
    Lowest,
    /// The highest port, also at relays. In NDC this is one fixed order of digits, the highest first, as in
    /// `BCube`.
    Highest,
    /// Asymmetric Traffic Engineering over two domains of unequal bandwidth.
    Asymmetric(ate::Params),
}

impl FirstHop {
    /// Keeps the ports by which flows may leave a host, of ports in ascending order.
    pub fn choose<T>(&self, ports: &mut Vec<T>) {
        match self {
            Self::Lowest => ports.truncate(1),
            Self::Highest => drop(ports.drain(..ports.len().saturating_sub(1))),
            Self::Hash | Self::Asymmetric(_) => {}
        }
    }

    /// Returns the default rule of a network: NCCL's PXN with servers, elsewhere a hash.
    pub fn of(topology: &Topology) -> Self {
        if topology.has_servers { Self::Lowest } else { Self::Hash }
    }
}

/// Sources of flows. The flows of a source are numbered without gaps.
#[derive(Debug, Default)]
pub struct Sources {
    /// For each node its first flow, and a final entry.
    pub first: Vec<u32>,
    /// Keys of flows for hashes and draws.
    pub keys: Keys,
}

impl Sources {
    /// Returns the node that sends `flow`.
    pub fn of(&self, flow: u32) -> u32 {
        number(self.first.partition_point(|f| *f <= flow)) - 1
    }
}

/// Pinned paths in pairs, an even number for data and the next number for answers; and the keys for hashes of
/// other flows.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    keys: Keys,
    start: Vec<u32>,
    ports: Vec<PortId>,
}

impl Paths {
    /// The first pinned path; smaller numbers mean none.
    pub const FIRST: u16 = 2;

    /// Makes an empty list.
    pub fn new() -> Self {
        Self { keys: Keys::default(), start: vec![0, 0, 0], ports: Vec::new() }
    }

    /// Returns the paths with other keys.
    #[must_use]
    pub fn with(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// True without pinned paths.
    pub const fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Adds the ports of one direction. Paths are numbered in the order of addition.
    pub fn add(&mut self, ports: &[PortId]) -> Option<u16> {
        self.ports.extend_from_slice(ports);
        self.start.push(number(self.ports.len()));
        u16::try_from(self.start.len() - 2).ok()
    }

    /// Returns the port of the node after `hops` nodes.
    #[inline]
    fn port(&self, path: u16, hops: usize) -> PortId {
        self.ports[index(self.start[usize::from(path)]) + hops]
    }

    /// The ports of a path.
    pub fn ports(&self, path: u16) -> &[PortId] {
        &self.ports[index(self.start[usize::from(path)])..self.start[usize::from(path) + 1] as usize]
    }
}

/// Shared by all nodes: destinations by group (the hosts of a switch), and the port of each host at its
/// switch.
#[derive(Debug)]
pub struct Destinations {
    group: Vec<u32>,
    port: Vec<PortId>,
}

/// The routes of a node.
#[derive(Debug)]
pub struct Routes {
    destinations: Arc<Destinations>,
    paths: Arc<Paths>,
    /// For each group: the start and the number of its choices; zero for hosts of this node.
    entries: Vec<(u32, u32)>,
    choices: Vec<PortId>,
    /// True for a node with one port, which has no table.
    has_one_port: bool,
    salt: u64,
    alike: Option<Arc<Alike>>,
}

/// Images of ports under the renamings of a symmetric network.
pub trait Images: std::fmt::Debug + Send + Sync {
    /// Returns the image of a node's port under the renaming that leads to a flow from the first flow of its orbit.
    fn image(&self, node: u32, port: PortId, flow: u32) -> PortId;
    /// True if renamings that leave a node in place map this list of its ports onto itself.
    fn is_closed(&self, node: u32, ports: &[PortId]) -> bool;
}

/// How flows of equal hosts choose among several ports of a switch in place: if the first flow of an orbit takes a port, the
/// other flows take the images of this port. The flows therefore spread evenly over equal switches, and a folded run, which
/// simulates one of these switches, sees the same packets.
#[derive(Debug)]
struct Alike {
    node: u32,
    images: Arc<dyn Images>,
    /// For each group of destinations, true if renamings map the choices onto themselves.
    is_closed: Vec<bool>,
}

impl Routes {
    /// The port for a packet.
    #[inline(always)]
    pub fn port(&self, packet: &Packet) -> PortId {
        self.port_after(packet, 0)
    }

    /// Returns the port for a packet that passes `nodes` nodes before it comes here.
    #[inline(always)]
    pub fn port_after(&self, packet: &Packet, nodes: usize) -> PortId {
        if packet.path() >= Paths::FIRST {
            return self.paths.port(packet.path(), packet.hops() + nodes);
        }
        self.choose(packet.dst(), packet.flow())
    }

    /// Returns the ports on shortest paths to a destination, when several exist.
    pub fn choices(&self, dst: u32) -> &[PortId] {
        if self.has_one_port {
            return &[];
        }
        let (start, count) = self.entries[index(self.destinations.group[index(dst)])];
        self.choices.get(index(start)..start as usize + index(count)).unwrap_or(&[])
    }

    /// The port toward a destination for a flow.
    #[inline(always)]
    pub fn choose(&self, dst: u32, flow: u32) -> PortId {
        if self.has_one_port {
            return PortId(0);
        }
        let group = index(self.destinations.group[index(dst)]);
        let (start, count) = self.entries[group];
        match count {
            // Where nothing leads there, by the first port, for it to be lost.
            1 => self.choices.get(index(start)).copied().unwrap_or_default(),
            0 => self.destinations.port[index(dst)],
            n => {
                let hash = mix(u64::from(self.paths.keys.of(flow)) ^ self.salt) >> 32;
                let port = self.choices[index(start) + ((hash * u64::from(n)) >> 32) as usize];
                match &self.alike {
                    Some(alike) if alike.is_closed[group] => alike.images.image(alike.node, port, flow),
                    _ => port,
                }
            }
        }
    }
}

/// Largest number of nodes between two hosts. A frame that passes more is taken for lost in a circle.
pub const MAX_SWITCHES: usize = 60;

/// Returns the node at which routes to a node end: the neighbour of a host with one link, otherwise the node.
pub fn root(topology: &Topology, ports: &[Vec<PortSpec>], node: u32) -> u32 {
    match ports[index(node)].as_slice() {
        [only] if !topology.nodes[index(node)].forwards && topology.nodes[index(only.peer)].forwards => {
            only.peer
        }
        _ => node,
    }
}

/// The routes and the wiring of all nodes. Each node holds the valid map ([`crate::network::node::Node::reroute`]),
/// and no older map is kept.
#[derive(Debug, Default)]
pub struct Map {
    /// Number of changes of routes in this run.
    pub epoch: u32,
    /// Routes by node.
    pub routes: Vec<Arc<Routes>>,
    /// Ports of all nodes.
    pub wiring: Arc<Wiring>,
}

impl Map {
    /// Makes the map of a run's start.
    pub fn new(routes: Vec<Arc<Routes>>, wiring: Wiring) -> Self {
        Self { epoch: 0, routes, wiring: Arc::new(wiring) }
    }

    /// Returns the port by which a flow enters a node on its way from `src` to a destination, by routes or by a pinned
    /// path; `None` for a node that the flow does not pass.
    pub fn entry(&self, src: u32, (flow, dst, path): (u32, u32, u16), node: u32) -> Option<PortId> {
        let mut packet = Packet::new(Kind::Data, flow, 0, dst, 0, 0);
        packet.set_path(path);
        let mut at = src;
        for nodes in 0..=MAX_SWITCHES {
            let port = self.routes[index(at)].port_after(&packet, nodes);
            let link = self.wiring.ports[index(at)].get(port.index())?;
            if link.peer == node {
                return Some(link.peer_port);
            }
            at = link.peer;
        }
        None
    }

    /// Makes the map after a change.
    #[must_use]
    pub fn changed(&self, routes: Vec<Arc<Routes>>) -> Self {
        Self { epoch: self.epoch + 1, routes, wiring: self.wiring.clone() }
    }
}

/// Number of sources inspected for the longest round trip; a larger network is taken to be uniform.
const MAX_SOURCES: usize = 256;

/// Returns the longest round trip without queues: propagation and forwarding delays both ways, a frame of
/// `bytes` one way and a frame of `answer` back, over shortest paths by links. `tail_of` returns the time by
/// which a node handles a frame before its last bit, for the input port, its line, and the output line.
pub fn longest_round_trip(
    topology: &Topology,
    ports: &[Vec<PortSpec>],
    delay_of: impl Fn(u32) -> Duration,
    tail_of: impl Fn(u32, PortId, [Serializer; 2]) -> Duration,
    bytes: u64,
    answer: u64,
) -> Duration {
    let hosts: Vec<u32> = topology.ends().collect();
    // Of the hosts at one switch the one with the slowest link is on the longest way, to others there as well
    // as elsewhere.
    let own = |h: u32| {
        ports[index(h)]
            .first()
            .map_or(Duration::ZERO, |p| p.link.delay * 2 + p.link.rate.time(bytes) + p.link.rate.time(answer))
    };
    let mut roots: Vec<(u32, u32)> = hosts.iter().map(|h| (root(topology, ports, *h), *h)).collect();
    roots.sort_by_key(|r| (r.0, Reverse(own(r.1))));
    roots.dedup_by_key(|r| r.0);
    let mut longest = Duration::ZERO;
    let mut time = vec![Duration::FOREVER; topology.nodes.len()];
    // Of each node the port and the line by which the frame comes.
    let mut came: Vec<Option<(PortId, Serializer)>> = vec![None; topology.nodes.len()];
    for (_, source) in roots.into_iter().take(MAX_SOURCES) {
        time.fill(Duration::FOREVER);
        came.fill(None);
        time[index(source)] = Duration::ZERO;
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            let forwards = topology.nodes[index(at)].forwards;
            if at != source && !forwards {
                continue;
            }
            let passed = if at == source { Duration::ZERO } else { delay_of(at) };
            for link in &ports[index(at)] {
                if time[index(link.peer)] == Duration::FOREVER {
                    let line = link.link.rate.serializer();
                    let tail = came[index(at)].map(|(port, input)| tail_of(at, port, [input, line]));
                    let here = time[index(at)] - tail.unwrap_or_default();
                    time[index(link.peer)] =
                        here + (passed + link.link.delay) * 2 + line.time(bytes) + line.time(answer);
                    came[index(link.peer)] = Some((link.peer_port, line));
                    queue.push_back(link.peer);
                }
            }
        }
        longest = hosts
            .iter()
            .map(|h| time[index(*h)])
            .filter(|t| *t != Duration::FOREVER)
            .fold(longest, Duration::max);
    }
    longest
}

/// Lets equal nodes choose alike among paths: `of` returns the node with the same choices.
pub fn choose_alike(
    routes: &mut [Arc<Routes>],
    seed: u64,
    of: impl Fn(u32) -> u32,
    images: &Arc<impl Images + 'static>,
) {
    for (node, routes) in (0..).zip(routes) {
        if let Some(routes) = Arc::get_mut(routes) {
            routes.salt = salt(seed, of(node));
            let is_closed = |(start, count): &(u32, u32)| {
                let choices = routes.choices.get(index(*start)..index(*start) + index(*count)).unwrap_or(&[]);
                choices.len() > 1 && images.is_closed(node, choices)
            };
            let is_closed: Vec<bool> = routes.entries.iter().map(is_closed).collect();
            if is_closed.contains(&true) {
                routes.alike = Some(Arc::new(Alike { node, images: images.clone(), is_closed }));
            }
        }
    }
}

/// Returns what distinguishes the choices of a node.
fn salt(seed: u64, node: u32) -> u64 {
    mix(seed ^ mix(u64::from(node) + 1))
}

#[cfg(test)]
mod tests {
    use xoff_units::Rate;

    use super::shortest::{shortest, shortest_by};
    use super::*;
    use crate::frames::kinds::Kind;
    use crate::paths::topology::{Link, Shape, leaf_spine, star};

    const LINK: Link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };

    /// Two hosts at each of two leaves: hosts 0 to 3, leaves 4 and 5, spines from 6 on.
    fn clos(spines: u64, parallel: u64) -> Topology {
        leaf_spine::Params { leaves: 2, spines, hosts_per_leaf: 2, link: LINK, fabric_link: None, parallel }
            .build()
            .unwrap()
    }

    fn routes(topology: &Topology, first_hop: &FirstHop, seed: u64) -> Vec<Arc<Routes>> {
        shortest(topology, Arc::new(Paths::new()), first_hop, seed, |_| true)
    }

    #[test]
    fn only_links_that_may_be_used_are() {
        // Leaf 4 may not send by port 2, to spine 6: what is for hosts 2 and 3 goes by spine 7, and what
        // comes from them by both.
        let topology = clos(2, 1);
        let by = |may_use: &dyn Fn(u32, PortId) -> bool| {
            shortest_by(&topology, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true, may_use)
        };
        let table = by(&|node, port| (node, port) != (4, PortId(2)));
        assert_eq!(
            (table[4].choices(2), table[5].choices(0)),
            (&[PortId(3)][..], &[PortId(2), PortId(3)][..])
        );
        // Without both spines nothing leads there, and a packet goes by the first port, for it to be lost.
        let cut = by(&|node, port| node != 4 || port < PortId(2));
        assert_eq!(
            (cut[4].choices(2), cut[4].choose(2, 7), cut[4].choose(1, 7)),
            (&[][..], PortId(0), PortId(1))
        );
    }

    #[test]
    fn flows_spread_over_equal_ports_and_stay() {
        // Ports 0 and 1 of a leaf are its hosts, ports 2 to 5 go to spines.
        let topology = clos(4, 1);
        let tables = [1, 1, 2].map(|seed| routes(&topology, &FirstHop::Hash, seed));
        let port = |table: &[Arc<Routes>], leaf: usize, flow: u32| table[leaf].choose(2, flow);
        let (mut counts, mut same_at_other_seed) = ([0_u32; 6], 0_u32);
        for flow in 0..40_000 {
            let chosen = port(&tables[0], 4, flow);
            counts[chosen] += 1;
            assert_eq!(port(&tables[1], 4, flow), chosen);
            same_at_other_seed += u32::from(port(&tables[2], 4, flow) == chosen);
        }
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert_eq!(counts[..2], [0, 0]);
        assert!(
            counts[2..].iter().chain([&same_at_other_seed]).all(|n| n.abs_diff(10_000) < 346),
            "{counts:?} {same_at_other_seed}"
        );
    }

    #[test]
    fn tables_are_as_long_as_there_are_ends() {
        // Of hosts 0 to 3 at two leaves flows start and end at 0 and 3: two ways to keep at each leaf and
        // spine.
        let topology = clos(4, 1);
        let table =
            shortest(&topology, Arc::new(Paths::new()), &FirstHop::Hash, 1, |node| node == 0 || node == 3);
        let all = routes(&topology, &FirstHop::Hash, 1);
        assert_eq!(table[4].entries.len(), 2);
        for (few, all) in table.iter().zip(&all) {
            assert!(
                (0..100)
                    .all(|flow| [0, 3].iter().all(|dst| few.choose(*dst, flow) == all.choose(*dst, flow)))
            );
        }
        // A host that relays is a destination of its own, if anything ends there at all.
        let mut relays = Topology::default();
        relays.add_relays(5);
        (1..5).for_each(|n| relays.join(n - 1, n, LINK));
        let table =
            shortest(&relays, Arc::new(Paths::new()), &FirstHop::Hash, 1, |node| node == 0 || node == 4);
        assert_eq!([1, 2, 3].map(|n: usize| table[n].entries.len()), [2; 3]);
    }

    #[test]
    fn what_a_flow_takes_at_one_node_says_nothing_of_the_next() {
        // Two spines above each of two leaves: with a hash of the flow alone half of the ports of leaf 5
        // would lie idle.
        let table = routes(&clos(2, 1), &FirstHop::Hash, 1);
        let mut pairs = [[0_u32; 2]; 2];
        for flow in 0..40_000 {
            pairs[table[4].choose(2, flow).index() - 2][table[5].choose(0, flow).index() - 2] += 1;
        }
        assert!(pairs.iter().flatten().all(|n| n.abs_diff(10_000) < 346), "{pairs:?}");
    }

    #[test]
    fn ports_follow_from_where_a_host_hangs() {
        let table = routes(&clos(2, 1), &FirstHop::Hash, 1);
        // Own hosts at their port, without a choice; a spine has one way down, by the leaf.
        assert_eq!(
            [table[4].choose(0, 7), table[4].choose(1, 7), table[5].choose(3, 7)],
            [0, 1, 1].map(PortId)
        );
        assert_eq!([0, 1, 2, 3].map(|dst| table[6].choose(dst, 7)), [0, 0, 1, 1].map(PortId));
        assert_eq!(
            (table[4].choices(1), table[4].choices(3), table[0].choices(3)),
            (&[][..], &[2, 3].map(PortId)[..], &[][..])
        );
        assert_eq!(table[0].choose(3, 7), PortId(0), "a host of one link has no table");
    }

    #[test]
    fn parallel_links_share_flows() {
        // Three links to one spine: ports 2 to 4.
        let table = routes(&clos(1, 3), &FirstHop::Hash, 1);
        assert_eq!(table[4].choices(2), [2, 3, 4].map(PortId));
        let mut counts = [0_u32; 3];
        for flow in 0..30_000 {
            counts[table[4].choose(2, flow).index() - 2] += 1;
        }
        // Four standard deviations are 4 √(30,000 · 1/3 · 2/3) = 327.
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 327), "{counts:?}");
    }

    #[test]
    fn the_highest_port_is_taken_by_hosts_alone() {
        // Hosts 0 and 1 have two links each to switch 2, which has three links to switch 3 with host 4.
        let mut t = Topology::default();
        t.add_hosts(2);
        t.add_switches("switch", 2);
        t.add_hosts(1);
        for (a, b) in [(0, 2), (0, 2), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4)] {
            t.join(a, b, LINK);
        }
        let (hash, highest) = (routes(&t, &FirstHop::Hash, 1), routes(&t, &FirstHop::Highest, 1));
        assert_eq!(
            (hash[0].choices(4), highest[0].choices(4)),
            (&[0, 1].map(PortId)[..], &[1].map(PortId)[..])
        );
        assert_eq!(highest[2].choices(4), [4, 5, 6].map(PortId), "a switch goes on sharing");
        assert!((0..100).all(|flow| highest[0].choose(4, flow) == PortId(1)));
        assert_eq!(highest[2].choices(1), [2, 3].map(PortId));
    }

    #[test]
    fn hosts_that_do_not_forward_are_on_nobodys_way() {
        // Host 1 has links to both switches, but packets of host 0 for host 4 take the long way by switch 5.
        let mut t = Topology::default();
        t.add_hosts(2);
        t.add_switches("switch", 2);
        t.add_hosts(1);
        t.add_switches("way", 1);
        for (a, b) in [(0, 2), (1, 2), (1, 3), (2, 5), (5, 3), (3, 4)] {
            t.join(a, b, LINK);
        }
        let table = routes(&t, &FirstHop::Hash, 1);
        assert_eq!(
            [table[2].choose(4, 0), table[5].choose(4, 0), table[3].choose(4, 0)],
            [2, 1, 2].map(PortId)
        );
        t.nodes[1].forwards = true;
        let table = routes(&t, &FirstHop::Hash, 1);
        assert_eq!(table[2].choices(4), [1, 2].map(PortId), "one that relays is as near");
    }

    #[test]
    fn a_pinned_path_leads_there_and_back() {
        // From host 0 by leaf 4, spine 7 and leaf 5 to host 3; ports 2 and 3 of a leaf go to spines 6 and 7.
        let topology = clos(2, 1);
        let mut paths = Paths::new();
        assert_eq!(paths.add(&[PortId(0), PortId(3), PortId(1), PortId(1)]), Some(2));
        assert_eq!(paths.add(&[PortId(0), PortId(3), PortId(0), PortId(0)]), Some(3));
        assert_eq!(
            (paths.ports(2), paths.ports(3)),
            (&[0, 3, 1, 1].map(PortId)[..], &[0, 3, 0, 0].map(PortId)[..])
        );
        let (table, ports) =
            (shortest(&topology, Arc::new(paths), &FirstHop::Hash, 1, |_| true), topology.ports());
        for (path, dst, way) in [(2, 3, [0, 4, 7, 5, 3]), (3, 0, [3, 5, 7, 4, 0])] {
            for flow in 0..8 {
                let mut packet = Packet::new(Kind::Data, flow, 0, dst, 1000, 0);
                packet.set_path(path);
                let mut at = way[0];
                for (hops, next) in way[1..].iter().enumerate() {
                    assert_eq!(table[index(at)].port_after(&packet, 0), table[index(at)].port(&packet));
                    if hops == 0 {
                        let ahead = table[index(way[2])].port_after(&packet, 2);
                        assert_eq!(ports[index(way[2])][ahead].peer, way[3], "two nodes ahead");
                    }
                    at = ports[index(at)][table[index(at)].port(&packet)].peer;
                    packet.hop();
                    assert_eq!(at, *next);
                }
            }
        }
    }

    #[test]
    fn numbers_tell_sources() {
        // Node 1 sends nothing, and node 3 is a switch.
        let sources = Sources { first: vec![0, 2, 2, 5, 5], ..Sources::default() };
        assert_eq!([0, 1, 2, 4].map(|flow| sources.of(flow)), [0, 0, 2, 2]);
    }

    #[test]
    fn the_longest_round_trip_is_both_ways_and_a_frame_stored_at_each_node_or_cut_through() {
        let switch = Duration::ns(300);
        let delay_of = |topology: &Topology| {
            let forwards: Vec<bool> = topology.nodes.iter().map(|n| n.forwards).collect();
            move |n: u32| if forwards[index(n)] { switch } else { Duration::ZERO }
        };
        // 1250 bytes take 100 ns on each link. A star: two links, one switch.
        let star = star::Params { hosts: 3, link: LINK }.build().unwrap();
        let longest =
            longest_round_trip(&star, &star.ports(), delay_of(&star), |_, _, _| Duration::ZERO, 1250, 0);
        assert_eq!(longest, (Duration::us(2) + switch) * 2 + Duration::ns(200));
        // Leaves and spines: four links, three switches.
        let topology = clos(2, 1);
        let longest = longest_round_trip(
            &topology,
            &topology.ports(),
            delay_of(&topology),
            |_, _, _| Duration::ZERO,
            1250,
            0,
        );
        assert_eq!(longest, (Duration::us(4) + switch * 3) * 2 + Duration::ns(400));
        // Where switches cut through, the frame is stored at the last host alone, and 125 bytes of it take 10
        // ns on the other links.
        let cut = |_: u32, _: PortId, [input, _]: [Serializer; 2]| input.time(1250) - input.time(125);
        let longest = longest_round_trip(&topology, &topology.ports(), delay_of(&topology), cut, 1250, 0);
        assert_eq!(longest, (Duration::us(4) + switch * 3) * 2 + Duration::ns(130));
        // A slow link to one of the hosts is on the longest: 10 us, and 1000 ns for the frame.
        let mut uneven = star.clone();
        uneven.links[2].link = Link { rate: Rate::gbps(10), delay: Duration::us(10) };
        let longest = longest_round_trip(
            &uneven,
            &uneven.ports(),
            delay_of(&uneven),
            |_, _, _| Duration::ZERO,
            1250,
            0,
        );
        assert_eq!(longest, (Duration::us(11) + switch) * 2 + Duration::ns(1100));
        // Two of them at one switch are farthest from one another, whichever host is the first there.
        uneven.links[1].link = uneven.links[2].link;
        let longest = longest_round_trip(
            &uneven,
            &uneven.ports(),
            delay_of(&uneven),
            |_, _, _| Duration::ZERO,
            1250,
            0,
        );
        assert_eq!(longest, (Duration::us(20) + switch) * 2 + Duration::ns(2000));
    }
}
