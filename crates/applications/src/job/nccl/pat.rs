//! PAT: a logarithmic number of rounds, for one GPU in each server.
//!
//! In round r of an all-gather, rank p sends all blocks that rank p has to rank p + 2^r. A reduce-scatter is
//! the same backwards. Simplification: NCCL overlaps the rounds of different parts of the data; here each
//! piece of a block goes on as soon as the piece has arrived. Source: NCCL 2.30.7, `collectives.h`
//! (`PatAGAlgorithm`, `PatRSAlgorithm`).

use super::team::{Draft, part, pieces};
use crate::job::nccl::tuner::{Choice, Chunks, Operation};

/// Adds the messages of an operation of `bytes`.
pub fn add(draft: &mut Draft<'_>, operation: Operation, choice: Choice, chunks: &Chunks, bytes: u64) {
    let n = draft.team.ranks();
    for channel in 0..choice.channels {
        let own = part(bytes / u64::from(n), choice.channels, channel);
        for data in pieces(own, chunks.chunk) {
            for block in 0..n {
                if operation == Operation::AllGather {
                    gather(draft, channel, block, chunks.wire(data));
                } else {
                    scatter(draft, channel, block, chunks.wire(data));
                }
            }
        }
    }
}

/// Adds the messages that bring a piece of a rank's block to all ranks.
fn gather(draft: &mut Draft<'_>, channel: u32, block: u32, bytes: u64) {
    let n = draft.team.ranks();
    let mut came: Vec<Option<usize>> = vec![None; n as usize];
    let mut round = 0;
    while 1 << round < n {
        let by = 1 << round;
        for distance in 0..by.min(n - by) {
            let (from, to) = ((block + distance) % n, (block + distance + by) % n);
            let after = came[distance as usize].into_iter().collect();
            let nic = draft.team.nic(from);
            came[(distance + by) as usize] =
                Some(draft.send((channel, round), (from, to), nic, bytes, after));
        }
        round += 1;
    }
}

/// Adds the messages that bring a piece of a block, reduced, from all ranks to its rank.
fn scatter(draft: &mut Draft<'_>, channel: u32, block: u32, bytes: u64) {
    let n = draft.team.ranks();
    let mut came: Vec<Vec<usize>> = vec![Vec::new(); n as usize];
    let rounds = n.next_power_of_two().trailing_zeros();
    for round in (0..rounds).rev() {
        let by = 1 << round;
        for distance in 0..by.min(n - by) {
            let (from, to) = ((block + n - distance - by) % n, (block + n - distance) % n);
            let after = std::mem::take(&mut came[(distance + by) as usize]);
            let nic = draft.team.nic(from);
            let sent = draft.send((channel, rounds - 1 - round), (from, to), nic, bytes, after);
            came[distance as usize].push(sent);
        }
    }
}
