//! Chunks and slots: the units in which a channel hands data over.
//!
//! A connection has a buffer of slots. A chunk is the data of one hand-over. A slice is a part of a chunk and
//! one message on the network. LL and LL128 send flags with the data, on NVLink and on the network alike.
//! Source: NCCL 2.30.7, `init.cc` (`computeBuffSizes`), `enqueue.cc` (`calcCollChunking`), `device.h`,
//! `primitives.h`.

use xoff_models::paths::topology::Generation;
use xoff_units::wide;

use super::tuning::{Algorithm, Choice, Operation, Protocol, Tuning};

/// Slots of a connection (`NCCL_STEPS`).
pub const SLOTS: u32 = 8;

/// Largest chunk of NVLS, in bytes (`NVLS_CHUNKSIZE`).
const NVLS_CHUNK: u64 = 128 << 10;

/// Data of a slot, in bytes, with a buffer of Simple.
const fn slot(protocol: Protocol, buffer: u64) -> u64 {
    match protocol {
        Protocol::Ll => 32 << 10,
        Protocol::Ll128 => 576_000,
        Protocol::Simple => buffer / SLOTS as u64,
    }
}

/// Sizes of the hand-overs of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Data of a chunk, in bytes.
    pub chunk: u64,
    /// Data of a slice, in bytes: a chunk, or half a chunk.
    pub slice: u64,
    /// Slices that may be under way on a connection.
    pub slices: u32,
    /// Bytes on the wire for 15 bytes of data.
    pub wire_15: u64,
    /// Grain of a chunk, in bytes.
    pub grain: u64,
}

impl Chunks {
    /// Returns the sizes for a choice and an operation of `bytes`.
    pub fn new(tuning: &Tuning, operation: Operation, choice: Choice, bytes: u64) -> Self {
        let Choice { algorithm, protocol, channels, .. } = choice;
        let slot = slot(protocol, tuning.servers().buffer);
        let (wire_15, grain) = match protocol {
            Protocol::Ll => (30, 16),
            Protocol::Ll128 => (16, 1_920),
            Protocol::Simple => (15, 512),
        };
        let whole = |chunk| Self { chunk, slice: chunk, slices: SLOTS, wire_15, grain };
        let is_shared = !matches!(operation, Operation::Broadcast | Operation::Reduce);
        match (algorithm, protocol) {
            // Four slots in two slices.
            (Algorithm::Ring, Protocol::Simple) if is_shared => {
                Self { chunk: 4 * slot, slice: 2 * slot, slices: SLOTS / 2, wire_15, grain }
            }
            (Algorithm::NvlsTree, _) => whole(of_nvls_tree(tuning, channels, bytes)),
            (Algorithm::Nvls, _) => whole(of_nvls(tuning, channels, bytes)),
            (Algorithm::Tree, Protocol::Ll128) => {
                whole(of_tree_ll128(tuning, slot, bytes / u64::from(channels)) / grain * grain)
            }
            _ => whole(slot / grain * grain),
        }
    }

    /// Returns the bytes on the wire for this data.
    pub const fn wire(&self, data: u64) -> u64 {
        (data * self.wire_15).div_ceil(15)
    }
}

/// Returns the chunk of trees with LL128 for a part of a channel: smaller for deep trees, so that a chunk is
/// on each level.
fn of_tree_ll128(tuning: &Tuning, slot: u64, part: u64) -> u64 {
    let servers = tuning.servers();
    let depth = 1.0 + f64::from(servers.servers.ilog2()) + 0.1 * f64::from(servers.gpus);
    let mut chunk = slot;
    for (chunks, least) in [(64.0, 128 << 10), (16.0, 32 << 10)] {
        while ((part / chunk) as f64) < depth * chunks / f64::from(servers.gpus) && chunk > least {
            chunk /= 2;
        }
    }
    chunk
}

/// Returns the chunk of NVLS in one server.
fn of_nvls(tuning: &Tuning, blocks: u32, bytes: u64) -> u64 {
    let at_once = u64::from(blocks) * u64::from(tuning.graphs().nvls.channels);
    let mut chunk: u64 = NVLS_CHUNK;
    for (chunks, limit) in [(64, 64 << 10), (8, 32 << 10), (2, 16 << 10)] {
        if bytes < chunks * at_once * chunk {
            chunk = chunk.min(limit);
        }
    }
    chunk
}

fn of_nvls_tree(tuning: &Tuning, blocks: u32, bytes: u64) -> u64 {
    let servers = tuning.servers();
    let mut chunk: u64 = match servers.gpu.generation() {
        Generation::Blackwell if servers.nic >= 96.0 => {
            if servers.servers > 2 {
                256 << 10
            } else {
                128 << 10
            }
        }
        Generation::Blackwell => 64 << 10,
        _ => {
            if servers.servers >= 4 {
                64 << 10
            } else {
                128 << 10
            }
        }
    };
    let at_once = u64::from(blocks) * wide(tuning.graphs().nvls.channels as usize);
    for (chunks, limit) in [(32, 256 << 10), (16, 128 << 10), (4, 64 << 10), (1, 32 << 10)] {
        if bytes < chunks * at_once * chunk {
            chunk = chunk.min(limit);
        }
    }
    chunk
}
