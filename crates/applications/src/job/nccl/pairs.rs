//! Messages between pairs of ranks: send and receive, and all-to-all.
//!
//! A rank serves its peers in rounds. Servers follow at distance 0, 1, 3, 6, 10, … modulo the next power of
//! two; within a server the place of the GPU turns. The sender uses the NIC of its server with the place of
//! the receiving GPU (PXN), so that traffic stays on its rail. Eight peers are served at once on each channel.
//! Simplification: the next eight begin when the data of the eighth peer has come.
//! Source: NCCL 2.30.7, `init.cc` (`ncclP2pSchedule`), `graph/paths.cc` (`ncclTopoComputeP2pChannels`),
//! `enqueue.cc` (`scheduleP2pTasksToPlan`, `addP2pToPlan`).

use std::collections::BTreeMap;

use super::super::piece::Way;
use super::team::{Draft, Team, part, pieces};
use crate::job::nccl::tuner::Tuning;

/// Peers that a channel serves at once.
const AT_ONCE: usize = 8;
/// Rate of a channel to a peer, in GB/s.
const CHANNEL_RATE: f64 = 14.0;

/// Returns the distances of servers in the order of rounds: triangular numbers modulo the next power of two.
fn distances(servers: u32) -> Vec<u32> {
    let modulus = servers.next_power_of_two();
    let (mut at, mut found) = (0, Vec::new());
    for round in 0..modulus {
        at = (at + round) % modulus;
        if at < servers {
            found.push(at);
        }
    }
    found
}

/// Returns for each rank its peers in the order of rounds.
fn rounds(team: &Team) -> Vec<Vec<u32>> {
    let (servers, gpus) = (team.servers(), team.gpus());
    let distances = distances(servers);
    let of = |rank: u32| {
        let (server, gpu) = team.place(rank);
        let peers = distances.iter().flat_map(move |distance| {
            (0..gpus).map(move |turn| ((server + distance) % servers, (gpu + turn) % gpus))
        });
        peers.map(|(server, gpu)| team.rank(server, gpu)).filter(|peer| *peer != rank).collect()
    };
    (0..team.ranks()).map(of).collect()
}

/// Channels of a message to a peer.
struct Spread {
    /// Channels in use.
    all: u32,
    /// Most channels of a peer.
    per_peer: u32,
}

impl Spread {
    fn new(tuning: &Tuning, ranks: u32) -> Self {
        let servers = tuning.servers();
        let all = tuning.graphs().in_use;
        let nics = servers.nics.div_ceil(servers.gpus).max(1);
        let rate = f64::from(nics) * servers.nic;
        let mut per_peer = nics.max((rate / CHANNEL_RATE).ceil() as u32).next_power_of_two();
        while per_peer > 1 && per_peer * ranks.div_ceil(8) > all {
            per_peer /= 2;
        }
        Self { all, per_peer }
    }

    /// Returns the channels of a message.
    fn of(&self, ranks: u32, bytes: u64) -> u32 {
        let mut parts = self.per_peer;
        while parts > 1 && (parts * ranks > self.all || bytes / u64::from(parts) < 64 << 10) {
            parts /= 2;
        }
        while parts < self.per_peer && bytes.div_ceil(u64::from(parts)) > 128 << 10 {
            parts *= 2;
        }
        parts
    }
}

/// Returns the data of a message on the network.
const fn chunk(bytes: u64) -> u64 {
    match bytes {
        _ if bytes < 128 << 10 => 32 << 10,
        _ if bytes < 1 << 20 => 64 << 10,
        _ => 128 << 10,
    }
}

/// Adds messages of `bytes` between ranks: from each rank to each other rank, or to the next rank.
pub fn add(draft: &mut Draft<'_>, tuning: &Tuning, bytes: u64, is_all: bool) {
    let team = draft.team;
    let ranks = team.ranks();
    let peers = if is_all { rounds(team) } else { (0..ranks).map(|rank| vec![(rank + 1) % ranks]).collect() };
    let spread = Spread::new(tuning, ranks);
    let parts = spread.of(ranks, bytes);
    let most = peers.iter().map(Vec::len).max().unwrap_or(0);
    let mut served: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    // By receiver, channel and batch: the last piece of the last message.
    let mut arrived: BTreeMap<(u32, u32, usize), usize> = BTreeMap::new();
    for round in 0..most {
        for which in 0..parts {
            let channel = (round as u32 * parts + which) % spread.all;
            for from in 0..ranks {
                let Some(to) = peers[from as usize].get(round).copied() else { continue };
                let turn = served.entry((from, channel)).or_default();
                let batch = *turn / AT_ONCE;
                *turn += 1;
                let before = batch.checked_sub(1).and_then(|before| arrived.get(&(from, channel, before)));
                let after = before.copied();
                for data in pieces(part(bytes, parts, which), chunk(bytes)) {
                    let way = way(draft, from, to);
                    let turn = (channel, round as u32);
                    let piece = draft.add(turn, (from, to), way, data, after.into_iter().collect());
                    arrived.insert((to, channel, batch), piece);
                }
            }
        }
    }
}

/// Returns the way to a peer: over NVLink, or by the NIC of the GPU at the place of the peer.
fn way(draft: &Draft<'_>, from: u32, to: u32) -> Way {
    let ((server, _), (far, gpu)) = (draft.team.place(from), draft.team.place(to));
    if server == far {
        Way::NvLink
    } else if draft.pxn {
        let beside = draft.team.rank(server, gpu);
        Way::Nic(if draft.team.nic(from) == draft.team.nic(beside) { from } else { beside })
    } else {
        Way::Nic(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_each_peer_once() {
        for (servers, gpus) in [(1, 8), (2, 8), (3, 4), (5, 2), (6, 1)] {
            let ranks: Vec<(u32, u32)> = (0..servers * gpus).map(|r| (r / gpus, r % gpus)).collect();
            let team = Team::new(&ranks).unwrap();
            for (rank, mut peers) in (0..).zip(rounds(&team)) {
                peers.sort_unstable();
                let others: Vec<u32> = (0..servers * gpus).filter(|other| *other != rank).collect();
                assert_eq!(peers, others);
            }
        }
        assert_eq!(distances(8), [0, 1, 3, 6, 2, 7, 5, 4]);
    }
}
