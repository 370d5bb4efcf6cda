//! NVLS: the switch of a server reduces and multicasts.
//!
//! A head is a GPU for whose share the switch reduces, and whose result the switch multicasts. The switch
//! needs the data of all GPUs: an empty message from each GPU tells a head that the GPU has begun. An empty
//! message from each head tells a GPU that all of the head's share has come.
//!
//! NVLink bounds NVLS. For each byte that h heads reduce, a GPU sends h bytes to the switch; for each byte that they
//! multicast, it receives h bytes; and an all-reduce adds a byte for its own head. A head's data rate is thus at most
//! the NVLink rate over h, or over h + 1 for an all-reduce, whatever NCCL predicts. Source: NCCL 2.30.7,
//! `transport/nvls.cc`, `all_reduce.h`; `graph/search.cc` counts h + 1 as well.

use super::super::piece::Way;
use super::team::{Draft, bus, part, pieces};
use crate::job::nccl::tuner::{Choice, Chunks, Operation};

/// Returns the load of the pipes of NVLS for a byte of data: as NCCL counts the bus bandwidth, and at least the load of
/// NVLink, of which the pipes have `nvls_over_nvlink` times the rate.
pub fn load(operation: Operation, ranks: u32, heads: u32, nvls_over_nvlink: f64) -> f64 {
    let on_nvlink = heads + u32::from(operation == Operation::AllReduce);
    bus(operation, ranks).max(f64::from(on_nvlink) * nvls_over_nvlink)
}

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
pub fn add(
    draft: &mut Draft<'_>,
    (operation, load): (Operation, f64),
    choice: Choice,
    chunks: &Chunks,
    bytes: u64,
) {
    let heads = draft.team.gpus();
    let ready = ready(draft, heads);
    let mut last: Vec<Vec<usize>> = vec![Vec::new(); heads as usize];
    for block in 0..choice.channels {
        let own = part(bytes, choice.channels, block);
        for head in 0..heads {
            let rank = draft.team.rank(0, head);
            for data in pieces(part(own, heads, head), chunks.chunk) {
                let charged = (data as f64 * load) as u64;
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
