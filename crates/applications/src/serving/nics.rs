//! KV caches over all NICs of a server: `kv.nics = "server"`.
//!
//! A rank cuts a message into parts of equal size, one for each rank of its pool at its server. A part goes over NVLink
//! to that rank, over the network to a rank of the pool of decode at the other server, and over NVLink to the decode
//! rank. The ranks of both servers are paired in order. Source: Mooncake's transfer engine.

use rustc_hash::FxHashMap;
use xoff_units::{index, number};

use super::plan::Plan;

impl Plan {
    /// Lets KV caches take all NICs of a server.
    pub fn take_all_nics(&mut self) {
        let ranks = 0..number(self.nodes.len());
        let place = |rank: u32| (self.seat(rank).pool, self.server(rank));
        let mut at: FxHashMap<_, Vec<u32>> = FxHashMap::default();
        for rank in ranks.clone() {
            at.entry(place(rank)).or_default().push(rank);
        }
        self.peers = ranks.map(|rank| at[&place(rank)].clone()).collect();
    }

    /// Returns the ranks of the pool of a rank at the server of the rank, in order.
    pub(super) fn peers(&self, rank: u32) -> &[u32] {
        &self.peers[index(rank)]
    }

    /// Returns the rank at the server of a decode rank to which a prefill rank sends a part.
    pub(super) fn opposite(&self, from: u32, to: u32) -> u32 {
        let (here, there) = (self.peers(from), self.peers(to));
        let place = here.iter().position(|rank| *rank == from).unwrap_or(0);
        there[place % there.len()]
    }

    /// Returns the next rank on the way of a part of a KV cache to a decode rank.
    pub(super) fn next_hop(&self, rank: u32, to: u32) -> u32 {
        let is_there = self.seat(rank).pool == self.seat(to).pool;
        if is_there { to } else { self.opposite(rank, to) }
    }

    /// Returns the hops of a KV cache from a prefill rank to a decode rank: each from a rank to a rank.
    pub(super) fn hops(&self, from: u32, to: u32) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for out in self.peers(from) {
            let into = self.opposite(*out, to);
            found.extend([(from, *out), (*out, into), (into, to)]);
        }
        found.retain(|(from, to)| from != to);
        found
    }

    /// True with `kv.nics = "server"`.
    pub(super) const fn shares_nics(&self) -> bool {
        !self.peers.is_empty()
    }

    /// True if a KV cache from rank to rank takes all NICs of the servers.
    pub(super) fn takes_all_nics(&self, from: u32, to: u32) -> bool {
        self.shares_nics() && self.server(from) != self.server(to)
    }
}
