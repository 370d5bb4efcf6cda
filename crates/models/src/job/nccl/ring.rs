//! Rings: each channel begins at the GPU of a NIC, visits all GPUs of a server, and leaves by the same NIC.
//!
//! Example: with 8 GPUs and 8 NICs, channel 2 visits GPUs 2, 1, 0, 7, 6, 5, 4, 3 of each server. GPU 3 hands
//! its data over NVLink to GPU 2, whose NIC sends to the NIC of GPU 2 in the next server. Source: NCCL 2.30.7,
//! `graph/search.cc` (`ncclTopoSearchNextGpuSort`), `graph/connect.cc` (`connectRings`), `all_reduce.h`.

use super::team::{Draft, Team, part, pieces};
use crate::nccl::{Choice, Chunks, Operation, Tuning};

/// Least data of a slice, in bytes.
const LEAST_SLICE: u64 = 32 << 10;

/// A ring of ranks, and the NIC by which it leaves servers.
struct Ring {
    order: Vec<u32>,
    nic: u32,
}

/// Returns the ring of a channel of the search.
fn ring(team: &Team, searched: u32, channel: u32) -> Ring {
    let channel = channel % searched.max(1);
    let nic = channel % team.nics;
    let order = (0..team.servers()).flat_map(|server| {
        let entry = if team.servers() == 1 { channel % team.gpus() } else { team.beside(server, nic) };
        let gpus = team.gpus();
        (0..gpus).map(move |i| (server, (entry + gpus - i) % gpus))
    });
    Ring { order: order.map(|(server, gpu)| team.rank(server, gpu)).collect(), nic }
}

/// Adds the messages of an operation of `bytes`.
pub fn add(
    draft: &mut Draft<'_>,
    tuning: &Tuning,
    operation: Operation,
    choice: Choice,
    chunks: &Chunks,
    bytes: u64,
) {
    for channel in 0..choice.channels {
        let ring = ring(draft.team, tuning.graphs().ring.channels, channel);
        let n = u64::from(draft.team.ranks());
        match operation {
            Operation::AllReduce => {
                let bytes = part(bytes, choice.channels, channel);
                in_loops(draft, &ring, channel, chunks, (bytes, 0, 2 * (n - 1)));
            }
            Operation::ReduceScatter | Operation::AllGather => {
                let first = if operation == Operation::AllGather { n - 1 } else { 0 };
                let bytes = part(bytes / n, choice.channels, channel) * n;
                in_loops(draft, &ring, channel, chunks, (bytes, first, first + n - 1));
            }
            Operation::Broadcast | Operation::Reduce => {
                let bytes = part(bytes, choice.channels, channel);
                along(draft, &ring, channel, chunks, bytes, operation == Operation::Reduce);
            }
        }
    }
}

/// Adds loops of blocks, one for each rank, that go around the ring. The steps are those of an all-reduce.
fn in_loops(
    draft: &mut Draft<'_>,
    ring: &Ring,
    channel: u32,
    chunks: &Chunks,
    (bytes, first, end): (u64, u64, u64),
) {
    let n = ring.order.len();
    let ranks = n as u64;
    let mut start = 0;
    // The last message that each member received in the previous loop.
    let mut heard: Vec<Vec<usize>> = vec![Vec::new(); n];
    while start < bytes {
        let rest = bytes - start;
        let chunk = if rest >= ranks * chunks.chunk {
            chunks.chunk
        } else {
            rest.div_ceil(ranks).next_multiple_of(16)
        };
        let halves = chunks.chunk / chunks.slice;
        let slice = chunk.div_ceil(halves).max(if halves > 1 { LEAST_SLICE.min(chunk) } else { 1 });
        let mut arrived: Vec<Vec<usize>> = vec![Vec::new(); n];
        for step in first..end {
            let mut fresh: Vec<Vec<usize>> = vec![Vec::new(); n];
            for at in 0..n {
                let block = (at as u64 + 2 * ranks - 1 - step) % ranks;
                let own = rest.saturating_sub(block * chunk).min(chunk);
                let next = (at + 1) % n;
                for (place, data) in pieces(own, slice).enumerate() {
                    let after = if step == first {
                        heard[at].last().copied().into_iter().collect()
                    } else {
                        arrived[at].get(place).copied().into_iter().collect()
                    };
                    let turn = (channel, (step - first) as u32);
                    let ends = (ring.order[at], ring.order[next]);
                    let message = draft.send(turn, ends, ring.nic, chunks.wire(data), after);
                    fresh[next].push(message);
                }
            }
            for (at, messages) in fresh.iter().enumerate() {
                if !messages.is_empty() {
                    heard[at].clone_from(messages);
                }
            }
            arrived = fresh;
        }
        start += ranks * chunk;
    }
}

/// Adds chunks that go along the ring from the first rank, or to the first rank.
fn along(draft: &mut Draft<'_>, ring: &Ring, channel: u32, chunks: &Chunks, bytes: u64, is_back: bool) {
    let n = ring.order.len();
    let root = ring.order.iter().position(|rank| *rank == 0).unwrap_or(0);
    let first = if is_back { root + 1 } else { root };
    let at = |place: usize| ring.order[(first + place) % n];
    for data in pieces(bytes, chunks.slice) {
        let mut before = Vec::new();
        for hop in 0..n - 1 {
            let ends = (at(hop), at(hop + 1));
            let turn = (channel, hop as u32);
            before = vec![draft.send(turn, ends, ring.nic, chunks.wire(data), before)];
        }
    }
}
