//! NVLS: the switch of a server reduces and multicasts.
//!
//! A head is a GPU for whose share the switch reduces, and whose result the switch multicasts. The switch
//! needs the data of all GPUs: an empty message from each GPU tells a head that the GPU has begun. An empty
//! message from each head tells a GPU that all of the head's share has come. Source: NCCL 2.30.7,
//! `transport/nvls.cc`, `all_reduce.h`.

use super::super::piece::Way;
use super::team::{Draft, bus, part, pieces};
use crate::nccl::{Choice, Chunks, Operation};

/// Adds the messages by which each head of a server knows that all GPUs have begun; returns these messages for
/// each rank.
pub fn ready(draft: &mut Draft<'_>, heads: u32) -> Vec<Vec<usize>> {
    let team = draft.team;
    let mut ready = vec![Vec::new(); team.ranks() as usize];
    for server in 0..team.servers() {
        for head in 0..heads {
            let gpu = if heads == team.nics { team.beside(server, head) } else { head };
            let to = team.rank(server, gpu);
            for from in (0..team.gpus()).map(|gpu| team.rank(server, gpu)).filter(|from| *from != to) {
                let message = draft.add((0, 0), (from, to), Way::NvLink, 0, Vec::new());
                ready[to as usize].push(message);
            }
        }
    }
    ready
}

/// Adds the messages by which each GPU of a server knows that a head's share has come. `last` has for each
/// head the messages that must have arrived.
pub fn done(draft: &mut Draft<'_>, last: &[Vec<usize>]) {
    let team = draft.team;
    for (from, messages) in (0..).zip(last).filter(|(_, messages)| !messages.is_empty()) {
        let (server, _) = team.place(from);
        for to in (0..team.gpus()).map(|gpu| team.rank(server, gpu)).filter(|to| *to != from) {
            draft.add((0, 4), (from, to), Way::NvLink, 0, messages.clone());
        }
    }
}

/// Adds the messages of an operation of `bytes` in one server.
pub fn add(draft: &mut Draft<'_>, operation: Operation, choice: Choice, chunks: &Chunks, bytes: u64) {
    let heads = draft.team.gpus();
    let ready = ready(draft, heads);
    let share = bus(operation, draft.team.ranks());
    let mut last: Vec<Vec<usize>> = vec![Vec::new(); heads as usize];
    for block in 0..choice.channels {
        let own = part(bytes, choice.channels, block);
        for head in 0..heads {
            let rank = draft.team.rank(0, head);
            for data in pieces(part(own, heads, head), chunks.chunk) {
                let charged = (data as f64 * share) as u64;
                let mut before = ready[rank as usize].clone();
                if operation != Operation::AllGather {
                    before = vec![draft.add((block, 0), (rank, rank), Way::Reduce, charged, before)];
                }
                if operation != Operation::ReduceScatter {
                    before = vec![draft.add((block, 3), (rank, rank), Way::Multicast, charged, before)];
                }
                last[rank as usize].extend(before);
            }
        }
    }
    if operation != Operation::ReduceScatter {
        done(draft, &last);
    }
}
