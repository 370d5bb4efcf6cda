//! Rings: each channel begins at the GPU of a NIC, visits all GPUs of a server, and leaves by the same NIC.
//!
//! Example: with 8 GPUs and 8 NICs, channel 2 visits GPUs 2, 1, 0, 7, 6, 5, 4, 3 of each server. GPU 3 hands
//! its data over NVLink to GPU 2, whose NIC sends to the NIC of GPU 2 in the next server. Source: NCCL 2.30.7,
//! `graph/search.cc` (`ncclTopoSearchNextGpuSort`), `graph/connect.cc` (`connectRings`), `all_reduce.h`.

use xoff_units::index;

use super::team::{Draft, Team, part, pieces};
use crate::job::nccl::tuner::{Choice, Chunks, Operation, Tuning};

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

/// A loop: blocks, one for each rank, go around the ring.
struct Loop {
    /// Bytes of this loop and all later loops.
    rest: u64,
    /// Bytes of a block.
    chunk: u64,
    /// Bytes of a message.
    slice: u64,
}

/// The data of a channel, and its steps among those of an all-reduce.
struct OfChannel {
    bytes: u64,
    first: u64,
    /// The step after the last.
    end: u64,
    /// The blocks of the last loop are multiples of this. An all-reduce cuts its data into blocks of whole cells, so the last
    /// block may be smaller; the blocks of other operations are the equal shares of the ranks.
    grain: u64,
}

/// Returns the data of a channel; `None` for an operation without loops.
fn of_channel(
    operation: Operation,
    ranks: u64,
    (channels, channel): (u32, u32),
    bytes: u64,
) -> Option<OfChannel> {
    let of_shares = part(bytes / ranks, channels, channel) * ranks;
    let (bytes, first, end, grain) = match operation {
        Operation::AllReduce => (part(bytes, channels, channel), 0, 2 * (ranks - 1), 16),
        Operation::ReduceScatter => (of_shares, 0, ranks - 1, 1),
        Operation::AllGather => (of_shares, ranks - 1, 2 * (ranks - 1), 1),
        Operation::Broadcast | Operation::Reduce => return None,
    };
    Some(OfChannel { bytes, first, end, grain })
}

impl OfChannel {
    /// Returns the loops.
    fn loops(&self, ranks: u64, chunks: &Chunks) -> impl Iterator<Item = Loop> + use<> {
        let (whole, halves, grain) = (chunks.chunk, chunks.chunk / chunks.slice, self.grain);
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let now = std::mem::take(&mut rest);
            let is_whole = now >= ranks * whole;
            let chunk = if is_whole { whole } else { now.div_ceil(ranks).next_multiple_of(grain) };
            let slice = chunk.div_ceil(halves).max(if halves > 1 { LEAST_SLICE.min(chunk) } else { 1 });
            rest = now.saturating_sub(ranks * chunk);
            (now > 0).then_some(Loop { rest: now, chunk, slice })
        })
    }
}

/// Returns the number of equal parts of the ranks, see [`Messages`](super::super::Messages), and the number of messages of a
/// part. A part is a server; a last loop that gives some ranks less makes servers differ.
pub fn parts(
    team: &Team,
    operation: Operation,
    channels: u32,
    chunks: &Chunks,
    bytes: u64,
) -> Option<(u32, u64)> {
    let ranks = u64::from(team.ranks());
    let mut messages = 0;
    for channel in 0..channels {
        let of = of_channel(operation, ranks, (channels, channel), bytes)?;
        for Loop { rest, chunk, slice } in of.loops(ranks, chunks) {
            if rest < ranks * chunk {
                return None;
            }
            messages += u64::from(team.gpus()) * (of.end - of.first) * chunk.div_ceil(slice);
        }
    }
    (team.servers() > 1 && team.has_servers_in_order()).then_some((team.servers(), messages))
}

/// Adds the messages of an operation of `bytes`. If the draft has equal parts, `listed` is the number of messages of a part.
pub fn add(
    draft: &mut Draft<'_>,
    tuning: &Tuning,
    (operation, bytes): (Operation, u64),
    choice: Choice,
    chunks: &Chunks,
    listed: usize,
) {
    for channel in 0..choice.channels {
        let ring = ring(draft.team, tuning.graphs().ring.channels, channel);
        let ranks = u64::from(draft.team.ranks());
        match of_channel(operation, ranks, (choice.channels, channel), bytes) {
            Some(of) => in_loops(draft, (&ring, listed), channel, chunks, &of),
            None => {
                let bytes = part(bytes, choice.channels, channel);
                along(draft, &ring, channel, chunks, bytes, operation == Operation::Reduce);
            }
        }
    }
}

/// Adds the messages of loops. The steps are those of an all-reduce.
fn in_loops(
    draft: &mut Draft<'_>,
    (ring, listed): (&Ring, usize),
    channel: u32,
    chunks: &Chunks,
    of: &OfChannel,
) {
    let (ranks, parts) = (ring.order.len() as u64, index(draft.list.parts()));
    // The first part's members. The member before them is the last of the last part.
    let n = ring.order.len() / parts;
    let last_part = (parts - 1) * listed;
    // The last message that each member received in the previous loop.
    let mut heard: Vec<Vec<usize>> = vec![Vec::new(); n];
    for Loop { rest, chunk, slice } in of.loops(ranks, chunks) {
        let mut arrived: Vec<Vec<usize>> = vec![Vec::new(); n];
        for step in of.first..of.end {
            let mut fresh: Vec<Vec<usize>> = vec![Vec::new(); n];
            for at in 0..n {
                let block = (at as u64 + 2 * ranks - 1 - step) % ranks;
                let own = rest.saturating_sub(block * chunk).min(chunk);
                let next = (at + 1) % n;
                let further = if next == 0 { last_part } else { 0 };
                for (place, data) in pieces(own, slice).enumerate() {
                    let after = if step == of.first {
                        heard[at].last().copied().into_iter().collect()
                    } else {
                        arrived[at].get(place).copied().into_iter().collect()
                    };
                    let turn = (channel, (step - of.first) as u32);
                    let ends = (ring.order[at], ring.order[(at + 1) % ring.order.len()]);
                    let message = draft.send(turn, ends, ring.nic, chunks.wire(data), after);
                    fresh[next].push(message + further);
                }
            }
            for (at, messages) in fresh.iter().enumerate() {
                if !messages.is_empty() {
                    heard[at].clone_from(messages);
                }
            }
            arrived = fresh;
        }
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
