//! Choice of algorithm, protocol and channels: NCCL's model of latencies and bandwidths.
//!
//! The time of an operation of S bytes is latency × correction + S / (bandwidth × correction), and the least
//! time wins. `docs/models/nccl.md` has the tables. Source: NCCL 2.30.7, `graph/tuning.cc`
//! (`ncclTopoTuneModel`, `ncclTopoGetAlgoTime`), `enqueue.cc` (`topoGetAlgoInfo`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::paths::topology::{self, Cpu, Generation, Gpu};
use xoff_units::{Rate, index, wide};

use super::search::{Graph, Graphs};
use super::servers::{Distance, Servers, net_overhead};
use crate::job::algorithm::Algorithm as OfCollective;

/// Operation of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// All ranks have the sum of all vectors.
    AllReduce,
    /// All ranks have the parts of all ranks.
    AllGather,
    /// Each rank has a part of the sum of all vectors.
    ReduceScatter,
    /// All ranks have the data of one rank.
    Broadcast,
    /// One rank has the sum of all vectors.
    Reduce,
}

/// Algorithm of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Two trees between servers, a chain within each server.
    Tree,
    /// Each rank to the next rank.
    Ring,
    /// The NVSwitch of one server reduces and multicasts.
    Nvls,
    /// NVLS within servers, two trees between the heads of servers.
    NvlsTree,
    /// Parallel aggregated trees: one GPU per server, a logarithmic number of rounds.
    Pat,
}

/// The algorithms of collectives that NCCL has, with those of the tuner.
const OF_COLLECTIVES: [(OfCollective, Algorithm); 5] = [
    (OfCollective::Tree, Algorithm::Tree),
    (OfCollective::Ring, Algorithm::Ring),
    (OfCollective::Nvls, Algorithm::Nvls),
    (OfCollective::NvlsTree, Algorithm::NvlsTree),
    (OfCollective::Pat, Algorithm::Pat),
];

impl Algorithm {
    /// Returns the tuner's algorithm for the algorithm of a collective; `None` for one that NCCL does not have.
    pub fn of(given: OfCollective) -> Option<Self> {
        OF_COLLECTIVES.iter().find(|one| one.0 == given).map(|one| one.1)
    }

    /// Returns the algorithm as the algorithm of a collective.
    pub fn of_collective(self) -> OfCollective {
        OF_COLLECTIVES.iter().find(|one| one.1 == self).map_or(OfCollective::Auto, |one| one.0)
    }

    /// Returns the name in documents.
    pub fn name(self) -> &'static str {
        self.of_collective().name()
    }
}

/// Protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Low latency: 4 bytes of flag for 4 bytes of data.
    Ll,
    /// Low latency: 8 bytes of flag for 120 bytes of data.
    Ll128,
    /// Data without flags, and a counter for each slot.
    Simple,
}

impl Protocol {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ll => "ll",
            Self::Ll128 => "ll128",
            Self::Simple => "simple",
        }
    }
}

const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Tree, Algorithm::Ring, Algorithm::Nvls, Algorithm::NvlsTree, Algorithm::Pat];
const PROTOCOLS: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

/// Latency of an operation without a step, by protocol, in µs (`baseLatencies`).
const fn base(algorithm: Algorithm) -> [f64; 3] {
    match algorithm {
        Algorithm::Tree => [6.8, 14.0, 8.4],
        Algorithm::Ring => [6.6, 14.0, 8.4],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0; 3],
        Algorithm::Pat => [8.0; 3],
    }
}

/// Latency of a step over NVLink, by protocol, in µs (`hwLatencies`).
const fn over_nvlink(algorithm: Algorithm) -> [f64; 3] {
    match algorithm {
        Algorithm::Tree => [0.6, 1.25, 4.0],
        Algorithm::Ring => [0.6, 1.9, 3.4],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0, 0.0, 25.0],
        Algorithm::Pat => [0.0, 0.0, 4.0],
    }
}

/// Latency of a step over PCIe.
const fn over_pcie(algorithm: Algorithm) -> [f64; 3] {
    match algorithm {
        Algorithm::Tree => [1.0, 1.9, 4.0],
        Algorithm::Ring => [1.0, 2.5, 5.7],
        Algorithm::Nvls | Algorithm::NvlsTree => [0.0; 3],
        Algorithm::Pat => [0.0, 0.0, 4.0],
    }
}

/// Latency of a step over the network.
const fn over_network(algorithm: Algorithm) -> [f64; 3] {
    match algorithm {
        Algorithm::Tree => [5.0, 8.5, 14.0],
        Algorithm::Ring => [2.7, 4.0, 14.0],
        Algorithm::Nvls => [0.0, 0.0, 18.0],
        Algorithm::NvlsTree => [0.0, 0.0, 20.9],
        Algorithm::Pat => [0.0, 0.0, 14.0],
    }
}

// Limits in GB/s for one server, for two, and for more, by generation: Volta, Ampere, Hopper, Blackwell.
/// Of LL within one server (`llMaxBws`).
const LL_WITHIN: [f64; 4] = [39.0, 87.7, 141.0, 282.0];
/// Of LL between servers, with CPUs of Intel or ARM.
const LL_INTEL: [f64; 2] = [39.0, 20.4];
/// Of LL between servers, with CPUs of AMD.
const LL_AMD: [f64; 2] = [22.5, 19.0];
/// Of LL128 of a channel of a ring (`perChMaxRingLL128Bws`).
const RING_LL128: [[f64; 3]; 4] = [[20.0; 3], [20.0; 3], [36.7; 3], [40.0; 3]];
/// Of LL128 of a channel of trees (`perChMaxTreeLL128Bws`).
const TREE_LL128: [[f64; 3]; 4] = [[20.0; 3], [20.0; 3], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]];
/// Of a channel of trees (`perChMaxTreeBws`).
const TREE: [[f64; 3]; 4] = [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]];
/// Of a head of NVLSTree (`perChMaxNVLSTreeBws`).
const NVLS_TREE: [[f64; 3]; 4] =
    [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [0.0, 57.7, 45.5], [0.0, 96.0, 80.0]];
/// Bytes of LL128 on the wire for a byte of data.
const LL128_WIRE: f64 = 16.0 / 15.0;
/// Share of the rate that NVLS reaches (`nvlsEfficiency`).
const NVLS_EFFICIENCY: [f64; 4] = [0.0, 0.0, 0.85, 0.74];

/// Correction of the bandwidth of trees by ⌊log2(S / 64)⌋, for 64 B to 256 MB (`treeCorrectionFactor`).
const CORRECTION: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9, 0.9,
    ],
];

/// Predicted cost of an algorithm with a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Latency, in µs.
    pub latency: f64,
    /// Algorithm bandwidth, in GB/s.
    pub bandwidth: f64,
}

/// What an operation costs besides the time of data, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Once for an operation of a rank.
    pub launch: f64,
    /// Each hand-over over NVLink.
    pub nvlink: f64,
    /// Each hand-over over the network.
    pub network: f64,
}

/// The choice for an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Protocol.
    pub protocol: Protocol,
    /// Channels that carry data.
    pub channels: u32,
    /// Predicted time, in µs.
    pub time: f64,
}

/// NCCL's model of a communicator.
#[derive(Debug, Clone)]
pub struct Tuning {
    servers: Servers,
    graphs: Graphs,
}

impl Tuning {
    /// Returns the model of a communicator with one rank on each GPU.
    pub fn new(servers: Servers) -> Self {
        Self { servers, graphs: Graphs::new(&servers) }
    }

    /// Returns the channels.
    pub const fn graphs(&self) -> &Graphs {
        &self.graphs
    }

    /// Returns the servers.
    pub const fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Returns the row of tables for the GPUs.
    const fn generation(&self) -> usize {
        self.servers.gpu.generation() as usize
    }

    /// Returns the column of tables for the number of servers.
    fn column(&self) -> usize {
        index(self.servers.servers.min(3)) - 1
    }

    fn graph(&self, algorithm: Algorithm) -> Graph {
        match algorithm {
            Algorithm::Ring => self.graphs.ring,
            Algorithm::Tree | Algorithm::Pat => self.graphs.tree,
            Algorithm::Nvls | Algorithm::NvlsTree => self.graphs.nvls,
        }
    }

    /// True if NCCL may take an algorithm with a protocol.
    pub fn allows(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> bool {
        let Servers { servers, gpus, .. } = self.servers;
        let is_known = match operation {
            Operation::Broadcast | Operation::Reduce => algorithm == Algorithm::Ring,
            Operation::AllGather | Operation::ReduceScatter => {
                matches!(algorithm, Algorithm::Ring | Algorithm::Pat | Algorithm::Nvls)
            }
            Operation::AllReduce => algorithm != Algorithm::Pat,
        };
        let fits = match algorithm {
            Algorithm::Ring | Algorithm::Tree => true,
            Algorithm::Nvls => servers == 1 && self.graphs.nvls.channels >= 2,
            Algorithm::NvlsTree => servers > 1 && self.graphs.nvls.channels >= 2,
            Algorithm::Pat => gpus == 1,
        };
        let is_for_all = matches!(algorithm, Algorithm::Ring | Algorithm::Tree);
        let fits_protocol = match protocol {
            Protocol::Ll => is_for_all,
            Protocol::Ll128 => is_for_all && self.allows_ll128(),
            Protocol::Simple => true,
        };
        is_known && fits && fits_protocol
    }

    /// True if all paths keep the 128-byte lines of LL128 whole.
    fn allows_ll128(&self) -> bool {
        if self.servers.gpu == Gpu::Rtx5090 {
            return false;
        }
        let farthest =
            if self.servers.gpu.generation() >= Generation::Hopper { Distance::Pxn } else { Distance::Pxb };
        self.servers.servers == 1 || self.servers.distance <= farthest
    }

    /// Returns the number of steps of a ring.
    const fn steps(&self, operation: Operation) -> f64 {
        let ranks = self.servers.ranks() as f64;
        match operation {
            Operation::AllReduce => 2.0 * (ranks - 1.0),
            Operation::AllGather | Operation::ReduceScatter => ranks - 1.0,
            Operation::Broadcast | Operation::Reduce => ranks,
        }
    }

    /// Returns the cost before corrections for the size, or `None` for a combination that NCCL does not take.
    pub fn cost(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> Option<Cost> {
        if !self.allows(operation, algorithm, protocol) {
            return None;
        }
        Some(Cost {
            latency: self.latency(operation, algorithm, protocol as usize),
            bandwidth: self.bandwidth(operation, algorithm, protocol),
        })
    }

    /// Returns the algorithm bandwidth, in GB/s.
    fn bandwidth(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let Servers { servers, cpu, .. } = self.servers;
        let (graph, row, column) = (self.graph(algorithm), self.generation(), self.column());
        let channels = f64::from(graph.channels);
        let speed = if servers <= 2 { graph.intra } else { graph.inter };
        let per_step = f64::from(self.servers.ranks()) / self.steps(operation);
        let ll = match (servers, cpu) {
            (1, _) => LL_WITHIN[row],
            (_, Cpu::Amd) => LL_AMD[column - 1],
            _ => LL_INTEL[column - 1],
        };
        match algorithm {
            Algorithm::Ring => {
                let bus = match protocol {
                    Protocol::Simple => channels * speed,
                    Protocol::Ll => ll.min(channels * speed * 0.5),
                    Protocol::Ll128 => (channels * speed * 0.92).min(channels * RING_LL128[row][column]),
                };
                bus * per_step
            }
            Algorithm::Tree => {
                let simple = (channels * speed * 0.92).min(channels * TREE[row][column]);
                let bus = match protocol {
                    Protocol::Simple => simple,
                    Protocol::Ll => (simple / 3.8).min(ll),
                    Protocol::Ll128 => {
                        let share = if servers == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                        (simple * share).min(channels * TREE_LL128[row][column])
                    }
                };
                (if self.graphs.is_tree_of_one_gpu { bus * 0.85 } else { bus }) * 0.5
            }
            Algorithm::Nvls | Algorithm::NvlsTree => {
                let gpus = f64::from(self.servers.gpus);
                let within = graph.intra * NVLS_EFFICIENCY[row] * (channels - 1.0) / channels;
                let within =
                    within * if operation == Operation::AllReduce { 2.0 } else { (gpus - 1.0) / gpus };
                let is_tree = algorithm == Algorithm::NvlsTree;
                let between = graph.inter * if is_tree && servers <= 2 { 2.0 } else { 1.0 };
                let limit = if is_tree { NVLS_TREE[row][column] } else { f64::INFINITY };
                let bus = channels * within.min(between).min(limit);
                if is_tree || operation == Operation::AllReduce { bus * per_step } else { bus }
            }
            Algorithm::Pat => channels * speed * 0.75,
        }
    }

    /// Returns what an operation and its hand-overs cost, in µs: the parts of the model's latency.
    pub fn step(&self, algorithm: Algorithm, protocol: Protocol) -> Step {
        let Servers { servers, gpus, cpu, net_latency, .. } = self.servers;
        let (place, is_simple) = (protocol as usize, protocol == Protocol::Simple);
        let within = (if gpus > 1 { over_nvlink } else { over_pcie })(algorithm)[place];
        let between = over_network(if gpus == 1 { Algorithm::Tree } else { algorithm })[place]
            + net_latency * if is_simple { 2.0 } else { 1.0 };
        let base = base(algorithm)[place];
        match algorithm {
            Algorithm::Ring if servers > 1 => {
                let overhead = net_overhead(cpu) * if is_simple { 3.0 } else { 1.0 };
                Step { launch: base, nvlink: within.max(overhead), network: between }
            }
            Algorithm::Ring | Algorithm::Tree => Step { launch: base, nvlink: within, network: between },
            Algorithm::Nvls | Algorithm::NvlsTree => {
                Step { launch: base + within, nvlink: 0.0, network: between }
            }
            Algorithm::Pat => Step { launch: base, nvlink: within, network: between / 3.5 },
        }
    }

    /// Returns the rate at which the thread block of a channel hands data over, in GB/s on the wire: the speed
    /// of a channel of the search, with NCCL's limits for the algorithm, shared by the copies of the channel.
    /// `None` for NVLS, whose switch moves the data.
    pub fn block(&self, algorithm: Algorithm, protocol: Protocol) -> Option<f64> {
        let (graph, row, column) = (self.graph(algorithm), self.generation(), self.column());
        let speed = if self.servers.servers <= 2 { graph.intra } else { graph.inter };
        let rate = match (algorithm, protocol) {
            (Algorithm::Nvls | Algorithm::NvlsTree, _) => return None,
            (Algorithm::Ring, Protocol::Ll128) => speed.min(RING_LL128[row][column] * LL128_WIRE),
            (Algorithm::Ring | Algorithm::Pat, _) => speed,
            (Algorithm::Tree, protocol) => {
                let limit = match protocol {
                    Protocol::Ll128 => TREE_LL128[row][column] * LL128_WIRE,
                    Protocol::Ll | Protocol::Simple => TREE[row][column],
                };
                (speed * 0.92).min(limit) * if self.graphs.is_tree_of_one_gpu { 0.85 } else { 1.0 }
            }
        };
        let copies = f64::from(self.graphs.in_use) / f64::from(graph.channels.max(1));
        Some(rate / copies.max(1.0))
    }

    /// Returns the bus bandwidth of NVLS in a server, in GB/s, for each head.
    pub fn nvls_bus(&self) -> f64 {
        let Graph { channels, intra, .. } = self.graphs.nvls;
        let heads = f64::from(channels.max(2));
        intra * NVLS_EFFICIENCY[self.generation()] * (heads - 1.0) / heads * 2.0
    }

    /// Returns the latency before corrections, in µs.
    fn latency(&self, operation: Operation, algorithm: Algorithm, protocol: usize) -> f64 {
        let Servers { servers, gpus, cpu, net_latency, .. } = self.servers;
        let is_simple = protocol == Protocol::Simple as usize;
        let inside = if gpus > 1 { over_nvlink } else { over_pcie };
        let within = inside(algorithm)[protocol];
        // With one GPU per server a ring takes the latency of trees.
        let between = over_network(if gpus == 1 { Algorithm::Tree } else { algorithm })[protocol];
        let between = between + net_latency * if is_simple { 2.0 } else { 1.0 };
        let depth = f64::from(servers.ilog2());
        let base = base(algorithm)[protocol];
        match algorithm {
            Algorithm::Ring => match operation {
                Operation::Broadcast | Operation::Reduce => {
                    let link = if servers > 1 { over_network } else { inside };
                    if gpus == 1 {
                        base + link(Algorithm::Ring)[protocol]
                    } else {
                        let of = if is_simple { Algorithm::Tree } else { Algorithm::Ring };
                        base + self.steps(operation) * link(of)[protocol]
                    }
                }
                _ => {
                    let overhead = net_overhead(cpu) * if is_simple { 3.0 } else { 1.0 };
                    let within = if servers > 1 { within.max(overhead) } else { within };
                    let crossings = f64::from(match operation {
                        _ if servers == 1 => 0,
                        Operation::AllReduce if self.servers.is_before_2_23 => 2 * servers,
                        Operation::AllReduce => 2 * (servers - 1),
                        _ => servers - 1,
                    });
                    base + (self.steps(operation) - crossings) * within + crossings * between
                }
            },
            Algorithm::Tree => base + 2.0 * (f64::from(gpus - 1) * within + depth * between),
            Algorithm::Nvls => within,
            Algorithm::NvlsTree => base + within + 2.0 * depth * between,
            Algorithm::Pat => base + depth * between / 3.5 + f64::from(self.servers.ranks()) * 2.8,
        }
    }

    /// Returns the predicted time of an operation of `bytes`, in µs; `bytes` as nccl-tests counts the size.
    pub fn time(
        &self,
        operation: Operation,
        algorithm: Algorithm,
        protocol: Protocol,
        bytes: u64,
    ) -> Option<f64> {
        let Cost { mut latency, mut bandwidth } = self.cost(operation, algorithm, protocol)?;
        if operation == Operation::AllReduce && bytes >= 64 {
            let corrected = match algorithm {
                Algorithm::Tree => 23,
                Algorithm::NvlsTree if self.servers.gpu.generation() == Generation::Blackwell => 24,
                _ => 0,
            };
            let correction = &CORRECTION[protocol as usize][..corrected];
            bandwidth *= correction.get(index((bytes / 64).ilog2())).unwrap_or(&1.0);
        }
        let share = bytes / wide(index(self.graphs.in_use * self.servers.ranks()));
        let is_ring =
            (operation, algorithm, protocol) == (Operation::AllReduce, Algorithm::Ring, Protocol::Simple);
        if is_ring && self.servers.servers > 1 && share >= 64 {
            latency *= if self.servers.gpu.generation() == Generation::Volta { 1.9 } else { 1.4 };
        }
        Some(latency + bytes as f64 / (1000.0 * bandwidth))
    }

    /// Returns NCCL's choice for an operation of `bytes` among the given algorithms and protocols; `None` if
    /// none of them is possible.
    pub fn choose(
        &self,
        operation: Operation,
        bytes: u64,
        algorithm: Option<Algorithm>,
        protocol: Option<Protocol>,
    ) -> Option<Choice> {
        let mut best: Option<Choice> = None;
        for a in ALGORITHMS.into_iter().filter(|a| algorithm.is_none_or(|given| given == *a)) {
            for p in PROTOCOLS.into_iter().filter(|p| protocol.is_none_or(|given| given == *p)) {
                if let Some(time) = self.time(operation, a, p, bytes)
                    && best.is_none_or(|best| time < best.time)
                {
                    best = Some(Choice {
                        algorithm: a,
                        protocol: p,
                        channels: self.channels(operation, a, p, bytes),
                        time,
                    });
                }
            }
        }
        best
    }

    /// Returns the channels that carry data: fewer than all for a small operation.
    fn channels(&self, operation: Operation, algorithm: Algorithm, protocol: Protocol, bytes: u64) -> u32 {
        if matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree) {
            return self.graphs.nvls_in_use;
        }
        let ranks = wide(index(self.servers.ranks()));
        let is_slow = self.graphs.ring.intra * f64::from(self.graphs.ring.channels) <= 12.0;
        let threads = match protocol {
            Protocol::Simple if algorithm == Algorithm::Ring && is_slow => 256,
            Protocol::Ll | Protocol::Simple => 512,
            Protocol::Ll128 => 640,
        };
        let per_thread = match (algorithm, protocol) {
            (_, Protocol::Simple) => 64,
            (Algorithm::Ring, Protocol::Ll) => 8 * ranks,
            _ => 8,
        };
        let channels = u64::from(self.graphs.in_use).min(bytes / (threads * per_thread)).max(1);
        // At least 32 KiB of traffic for each channel, in cells of that traffic.
        let (count, traffic) = match operation {
            Operation::AllReduce => (bytes, 2),
            Operation::AllGather | Operation::ReduceScatter => (bytes / ranks, ranks),
            Operation::Broadcast | Operation::Reduce => (bytes, 1),
        };
        let traffic = traffic * if protocol == Protocol::Ll { 4 } else { 1 };
        let cell = MIN_TRAFFIC.div_ceil(traffic).next_multiple_of(16);
        let cells = count.div_ceil(cell).max(1);
        let per_channel = ((count * traffic).max(MIN_TRAFFIC) / channels).next_multiple_of(16);
        let cells_per_channel = per_channel.div_ceil(cell * traffic).clamp(1, cells);
        channels.min(cells.div_ceil(cells_per_channel)) as u32
    }
}

/// Least traffic of a channel (`enqueue.cc`: `MinTrafficPerChannel`).
const MIN_TRAFFIC: u64 = 32 << 10;

/// Returns the rate of NVLS at a GPU, counted as NCCL counts the bus bandwidth of an all-reduce.
pub fn nvls_rate(servers: &topology::Servers) -> Rate {
    let of_one = Servers::new(1, servers.gpus, servers.gpus, 1.0, servers.gpu);
    Rate((Tuning::new(of_one).nvls_bus() * 8e9) as u64).max(Rate(1_000_000_000))
}
