//! Which port a packet takes: tables by destination, ECMP by stable hash, and pinned paths.

pub mod ate;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::mix;
use xoff_units::Time;

use crate::packet::Packet;
use crate::topology::{PortSpec, Topology, Wiring};

/// `host.first_hop`: by which of several ports a flow leaves its host, when more than one is on a shortest path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FirstHop {
    /// By a hash of the flow.
    #[default]
    Hash,
    /// The highest of the ports; relays choose so, too. In NDC it is one fixed order of digits, the highest first, as in `BCube`.
    Highest,
    /// Asymmetric Traffic Engineering over two domains of unequal bandwidth.
    Asymmetric(ate::Params),
}

/// Whose flow a number is: the flows of a source are numbered without gaps.
#[derive(Debug, Default)]
pub struct Sources {
    /// For each node its first flow, and one entry more.
    pub first: Vec<u32>,
}

impl Sources {
    /// The node that sends `flow`.
    pub fn of(&self, flow: u32) -> u32 {
        self.first.partition_point(|f| *f <= flow) as u32 - 1
    }
}

/// Pinned paths, in pairs: an even number for data and the next one for what comes back.
#[derive(Debug, Default)]
pub struct Paths {
    start: Vec<u32>,
    ports: Vec<u16>,
}

impl Paths {
    /// The first pinned path; smaller numbers mean none.
    pub const FIRST: u16 = 2;

    /// None yet.
    pub fn new() -> Self {
        Self { start: vec![0, 0, 0], ports: Vec::new() }
    }

    /// Adds the ports of one direction; paths are numbered in the order they are added.
    pub fn add(&mut self, ports: &[u16]) -> Option<u16> {
        self.ports.extend_from_slice(ports);
        self.start.push(self.ports.len() as u32);
        u16::try_from(self.start.len() - 2).ok()
    }

    /// The port that the node after `hops` others takes.
    #[inline]
    fn port(&self, path: u16, hops: usize) -> usize {
        self.ports[self.start[path as usize] as usize + hops] as usize
    }

    /// The ports of a path.
    pub fn ports(&self, path: u16) -> &[u16] {
        &self.ports[self.start[path as usize] as usize..self.start[path as usize + 1] as usize]
    }
}

/// What all nodes share: destinations by group (the hosts of one switch), and the port at which a switch finds a host of its own.
#[derive(Debug)]
pub struct Destinations {
    group: Vec<u32>,
    port: Vec<u16>,
}

/// The routes of one node.
#[derive(Debug)]
pub struct Routes {
    destinations: Arc<Destinations>,
    paths: Arc<Paths>,
    /// For each group: where its choices start and how many there are; zero of them means that the hosts are here.
    entries: Vec<(u32, u32)>,
    choices: Vec<u16>,
    /// A node with one port has nothing to choose, and no table.
    has_one_port: bool,
    salt: u64,
}

impl Routes {
    /// The port for a packet.
    #[inline(always)]
    pub fn port(&self, packet: &Packet) -> usize {
        self.port_after(packet, 0)
    }

    /// The port for a packet that will have passed this many nodes more when it comes here.
    #[inline(always)]
    pub fn port_after(&self, packet: &Packet, nodes: usize) -> usize {
        if packet.path >= Paths::FIRST {
            return self.paths.port(packet.path, packet.hops() + nodes);
        }
        self.choose(packet.dst(), packet.flow)
    }

    /// The ports on shortest paths to a destination, when there is a choice.
    pub fn choices(&self, dst: u32) -> &[u16] {
        if self.has_one_port {
            return &[];
        }
        let (start, count) = self.entries[self.destinations.group[dst as usize] as usize];
        &self.choices[start as usize..(start + count) as usize]
    }

    /// The port toward a destination for a flow.
    #[inline]
    pub fn choose(&self, dst: u32, flow: u32) -> usize {
        if self.has_one_port {
            return 0;
        }
        let (start, count) = self.entries[self.destinations.group[dst as usize] as usize];
        match count {
            1 => self.choices[start as usize] as usize,
            0 => self.destinations.port[dst as usize] as usize,
            n => {
                let hash = mix(u64::from(flow) ^ self.salt) >> 32;
                self.choices[start as usize + ((hash * u64::from(n)) >> 32) as usize] as usize
            }
        }
    }
}

/// Nodes that a packet may pass between two hosts; frames that pass more are taken for lost in a circle.
pub const MAX_SWITCHES: usize = 60;

/// Where routes to a node lead: a host with one link is found at its neighbour; everything else is a destination of its own.
pub fn root(topology: &Topology, ports: &[Vec<PortSpec>], node: u32) -> u32 {
    match ports[node as usize].as_slice() {
        [only] if !topology.nodes[node as usize].forwards && topology.nodes[only.peer as usize].forwards => only.peer,
        _ => node,
    }
}

/// The routes of all nodes and what they are wired to, for those who look ahead on a packet's path.
#[derive(Debug)]
pub struct Map {
    /// Of each node.
    pub routes: Vec<Arc<Routes>>,
    /// Ports of all nodes.
    pub wiring: Wiring,
}

/// Sources that are looked at for the longest round trip; in a larger network the rest is taken to be like them.
const MAX_SOURCES: usize = 256;

/// The longest round trip without queues: propagation and forwarding delays both ways, and a frame of `bytes` stored and forwarded
/// one way, over shortest paths by links.
pub fn longest_round_trip(topology: &Topology, ports: &[Vec<PortSpec>], delay_of: impl Fn(u32) -> Time, bytes: u64) -> Time {
    let hosts = topology.hosts();
    let mut roots: Vec<(u32, u32)> = hosts.iter().map(|h| (root(topology, ports, *h), *h)).collect();
    roots.sort_unstable();
    roots.dedup_by_key(|r| r.0);
    let mut longest = Time::ZERO;
    let mut time = vec![Time::NEVER; topology.nodes.len()];
    for (_, source) in roots.into_iter().take(MAX_SOURCES) {
        time.fill(Time::NEVER);
        time[source as usize] = Time::ZERO;
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            let forwards = topology.nodes[at as usize].forwards;
            if at != source && !forwards {
                continue;
            }
            let passed = if at == source { Time::ZERO } else { delay_of(at) };
            for link in &ports[at as usize] {
                if time[link.peer as usize] == Time::NEVER {
                    time[link.peer as usize] = time[at as usize] + (passed + link.link.delay) * 2 + link.link.rate.time(bytes);
                    queue.push_back(link.peer);
                }
            }
        }
        longest = hosts.iter().map(|h| time[*h as usize]).filter(|t| *t != Time::NEVER).fold(longest, Time::max);
    }
    longest
}

/// Shortest paths, all of equal length used; hosts that do not forward are never on the way.
pub fn shortest(topology: &Topology, paths: Arc<Paths>, first_hop: &FirstHop, seed: u64) -> Vec<Arc<Routes>> {
    let ports = topology.ports();
    let n = topology.nodes.len();
    let mut group = vec![u32::MAX; n];
    let mut port = vec![0_u16; n];
    let mut root_of_group = Vec::new();
    let mut group_of_root = HashMap::new();
    // Nothing is sent to a node that is no host.
    for node in (0..n).filter(|n| topology.nodes[*n].is_host) {
        let root = root(topology, &ports, node as u32);
        if root != node as u32 {
            port[node] = ports[node][0].peer_port;
        }
        group[node] = *group_of_root.entry(root).or_insert_with(|| {
            root_of_group.push(root);
            root_of_group.len() as u32 - 1
        });
    }
    let destinations = Arc::new(Destinations { group, port });
    let has_one_port: Vec<bool> = ports.iter().map(|p| p.len() == 1).collect();
    let table = |one: &bool| if *one { Vec::new() } else { vec![(u32::MAX, 1_u32); root_of_group.len()] };
    let mut entries: Vec<Vec<(u32, u32)>> = has_one_port.iter().map(table).collect();
    let mut choices: Vec<Vec<u16>> = vec![Vec::new(); n];
    let mut known: Vec<HashMap<Vec<u16>, u32>> = vec![HashMap::new(); n];
    let mut distance = vec![u32::MAX; n];
    let mut queue = VecDeque::new();
    for (g, root) in root_of_group.iter().enumerate() {
        distance.fill(u32::MAX);
        distance[*root as usize] = 0;
        queue.push_back(*root);
        while let Some(at) = queue.pop_front() {
            // Packets go through a node on their way only when it forwards.
            if at != *root && !topology.nodes[at as usize].forwards {
                continue;
            }
            for link in &ports[at as usize] {
                if distance[link.peer as usize] == u32::MAX {
                    distance[link.peer as usize] = distance[at as usize] + 1;
                    queue.push_back(link.peer);
                }
            }
        }
        for node in 0..n {
            if distance[node] == u32::MAX || has_one_port[node] {
                continue;
            }
            if node as u32 == *root {
                entries[node][g] = (0, 0);
                continue;
            }
            let mut next: Vec<u16> = ports[node]
                .iter()
                .enumerate()
                .filter(|(_, l)| {
                    distance[l.peer as usize] < distance[node] && (l.peer == *root || topology.nodes[l.peer as usize].forwards)
                })
                .map(|(p, _)| p as u16)
                .collect();
            if *first_hop == FirstHop::Highest && topology.nodes[node].is_host {
                next.drain(..next.len() - 1);
            }
            let count = next.len() as u32;
            let list = &mut choices[node];
            let start = *known[node].entry(next).or_insert_with_key(|next| {
                list.extend_from_slice(next);
                list.len() as u32 - count
            });
            entries[node][g] = (start, count);
        }
    }
    entries
        .into_iter()
        .zip(choices)
        .enumerate()
        .map(|(node, (entries, choices))| {
            let salt = mix(seed ^ mix(node as u64 + 1));
            Arc::new(Routes {
                destinations: destinations.clone(),
                paths: paths.clone(),
                entries,
                choices,
                has_one_port: has_one_port[node],
                salt,
            })
        })
        .collect()
}
