//! Channels: the number and the speed of channels of a ring, of trees and of NVLS, in closed form.
//!
//! NCCL lists speeds of a channel and searches the number of channels with the greatest product of both. A
//! channel of speed s takes s from each link of its way: NIC, PCIe, and NVLink of each GPU that the channel
//! leaves. For equal GPUs at an NVSwitch the number is min(NICs ⌊min(nic / ⌊s⌋, pcie / s)⌋, GPUs ⌊pcie / s⌋,
//! ⌊nvlink / s⌋, 32): a GPU with several NICs reaches all of them by its own PCIe link.
//! Source: NCCL 2.30.7, `graph/search.cc` (`ncclTopoCompute`, `ncclTopoDupChannels`), `graph/connect.cc`
//! (`ncclTopoPostset`), `transport/nvls.cc` (`ncclNvlsTuning`).

use xoff_models::paths::topology::Generation;

use super::servers::{Distance, MAX_CHANNELS, Servers, pcie};

/// Most channels of the search, before each is doubled.
const MAX_SEARCHED: u32 = MAX_CHANNELS / 2;
/// Tolerance of comparisons of rates, in GB/s.
const EPSILON: f64 = 1e-6;

/// Speeds of a channel between servers, in GB/s, fastest first (`graph/search.cc`: `speedArrayInter`).
const BETWEEN: [&[f64]; 3] = [
    &[
        48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24,
        0.12,
    ],
    &[48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12],
    &[
        96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4,
        1.2, 0.24, 0.12,
    ],
];
/// Speeds of a channel within one server (`speedArrayIntra`).
const WITHIN: [&[f64]; 3] = [
    &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0],
    &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
    &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0],
];

/// Channels of one pattern. For NVLS a channel is a head: a GPU with a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Graph {
    /// Channels that the search finds.
    pub channels: u32,
    /// Speed of a channel within a server, in GB/s.
    pub intra: f64,
    /// Speed of a channel between servers, in GB/s.
    pub inter: f64,
}

/// The channels of a communicator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Graphs {
    /// Rings.
    pub ring: Graph,
    /// Trees.
    pub tree: Graph,
    /// NVLS; no channels without NVLS.
    pub nvls: Graph,
    /// True for trees whose links to the parent and to both children are at the first GPU of a server
    /// (pattern TREE).
    pub is_tree_of_one_gpu: bool,
    /// Channels in use: thread blocks of rings and trees.
    pub in_use: u32,
    /// Thread blocks of NVLS.
    pub nvls_in_use: u32,
}

impl Graphs {
    /// Searches the channels of equal servers.
    pub fn new(servers: &Servers) -> Self {
        let ring = ring(servers);
        let is_hopper = servers.gpu.generation() >= Generation::Hopper;
        let mut in_use = (2 * ring.channels).min(MAX_CHANNELS);
        if is_hopper && servers.servers > 1 && ring.intra > 45.0 && in_use < 16 {
            in_use *= 2;
        }
        Self {
            ring,
            tree: tree(servers, ring),
            nvls: nvls(servers),
            is_tree_of_one_gpu: servers.gpus == 1
                || (is_hopper && servers.servers > 1 && servers.distance == Distance::Pxn),
            in_use: in_use.min(servers.max_ctas).max(servers.min_ctas),
            nvls_in_use: nvls_blocks(servers),
        }
    }
}

fn speeds(servers: &Servers) -> &'static [f64] {
    let row = match servers.gpu.generation() {
        Generation::Volta | Generation::Ampere => 0,
        Generation::Hopper => 1,
        Generation::Blackwell => 2,
    };
    if servers.servers == 1 { WITHIN[row] } else { BETWEEN[row] }
}

/// Returns the number of channels of a speed for which the NICs of a server have room.
fn at_nics(servers: &Servers, speed: f64) -> u32 {
    let pcie = pcie(servers.gpu);
    if speed > pcie.min(servers.nic) + EPSILON {
        return 0;
    }
    // NCCL counts the rate of a NIC in whole GB/s of the speed.
    let by_rate = if speed < 1.0 { f64::from(MAX_CHANNELS) } else { servers.nic / speed.floor() };
    let by_pcie = pcie / speed;
    let at_gpus = servers.gpus * (by_pcie + EPSILON) as u32;
    (servers.nics * (by_rate.min(by_pcie) + EPSILON) as u32).min(at_gpus)
}

/// Returns the most channels of a ring of this speed.
fn fits(servers: &Servers, speed: f64) -> u32 {
    let by_nvlink =
        if servers.gpus > 1 { (servers.gpu.nvlink() / speed + EPSILON) as u32 } else { MAX_SEARCHED };
    let by_nics = if servers.servers > 1 { at_nics(servers, speed) } else { MAX_SEARCHED };
    by_nics.min(by_nvlink).min(MAX_SEARCHED)
}

fn ring(servers: &Servers) -> Graph {
    let speeds = speeds(servers);
    let (mut channels, mut speed) = (0_u32, 0.0_f64);
    for s in speeds {
        if channels > 0 && s / speed <= 0.49 {
            break;
        }
        let n = fits(servers, *s);
        if f64::from(n) * s > f64::from(channels) * speed + 1e-9 {
            (channels, speed) = (n, *s);
        }
    }
    // Twice as many channels of half the speed, unless few and fast channels are enough for a later GPU.
    let stays = servers.gpu.generation() > Generation::Ampere && speed < 50.0 && channels > 4;
    if speed >= 25.0 && !stays {
        let more = (2 * channels).min(MAX_SEARCHED);
        speed /= f64::from(more.div_ceil(channels));
        channels = more;
    }
    // Then the fastest speed at which as many channels fit.
    speed =
        speeds.iter().copied().filter(|s| *s > speed && fits(servers, *s) >= channels).fold(speed, f64::max);
    Graph { channels, intra: speed, inter: speed }
}

fn tree(servers: &Servers, ring: Graph) -> Graph {
    let (speeds, channels, gpus) = (speeds(servers), ring.channels, f64::from(servers.gpus));
    // The last GPU of a chain sends to no GPU of the server.
    let fits_tree = |speed: f64| {
        servers.servers > 1
            && servers.gpus > 1
            && at_nics(servers, speed) >= channels
            && f64::from(channels) * speed <= servers.gpu.nvlink() * gpus / (gpus - 1.0) + EPSILON
    };
    let fitting = speeds.iter().copied().filter(|s| fits(servers, *s) >= channels || fits_tree(*s));
    let inter = fitting.fold(ring.inter, f64::max);
    let by_nvlink =
        |speed: f64| servers.gpus == 1 || f64::from(channels) * speed <= servers.gpu.nvlink() + EPSILON;
    Graph { channels, intra: faster(speeds, inter, inter, by_nvlink), inter }
}

/// Returns the speed reached from `speed` in rising steps, each below twice `inter` before the step.
fn faster(speeds: &[f64], speed: f64, inter: f64, fits: impl Fn(f64) -> bool) -> f64 {
    let rising = speeds.iter().rev().copied();
    rising.fold(
        speed,
        |speed, next| if next > speed && speed < 2.0 * inter && fits(next) { next } else { speed },
    )
}

fn nvls(servers: &Servers) -> Graph {
    if !servers.has_nvls {
        return Graph::default();
    }
    let (speeds, reach) = (speeds(servers), pcie(servers.gpu).min(servers.nic));
    let all = if servers.servers > 1 { servers.nics.min(servers.gpus) } else { servers.gpus };
    let (mut heads, mut speed) = (0_u32, 0.0_f64);
    for s in speeds.iter().copied().filter(|s| servers.servers == 1 || *s <= reach) {
        let h = all.min(((servers.gpu.nvlink() / s + EPSILON) as u32).saturating_sub(1));
        if servers.servers == 1 && h < all {
            continue;
        }
        if h > heads || f64::from(h) * s > f64::from(heads) * speed {
            (heads, speed) = (h, s);
        }
        if h == all {
            break;
        }
    }
    let inter = faster(speeds, speed, speed, |s| servers.servers == 1 || s <= reach);
    Graph { channels: heads, intra: speed, inter }
}

fn nvls_blocks(servers: &Servers) -> u32 {
    let has_fast_nics = servers.nic >= 48.0;
    match (servers.gpu.generation(), servers.servers) {
        (Generation::Blackwell, 1) => 24,
        (Generation::Blackwell, 2) if has_fast_nics => 32,
        (Generation::Blackwell, _) => {
            if has_fast_nics {
                24
            } else {
                32
            }
        }
        _ => 16,
    }
}
