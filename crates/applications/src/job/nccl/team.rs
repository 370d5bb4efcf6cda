//! The ranks of a communicator by server, and the list of its messages.

use std::collections::BTreeMap;

use xoff_units::{index, number};

use super::super::messages::Messages;
use super::super::piece::{Piece, Way};
use crate::job::nccl::tuner::Operation;

/// The ranks of a communicator by server. All servers have as many ranks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Team {
    /// For each server, its ranks by their places in the communicator.
    servers: Vec<Vec<u32>>,
    /// For each rank: the server, and the place in the server.
    places: Vec<(u32, u32)>,
    /// For each rank, its NIC among the NICs of the server's ranks.
    nic_of: Vec<u32>,
    /// NICs of the ranks of a server.
    pub nics: u32,
}

impl Team {
    /// Returns the team of ranks with a server and a NIC each, or `None` if servers differ in the number of
    /// ranks or NICs.
    pub fn new(ranks: &[(u32, u32)]) -> Option<Self> {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut order: Vec<u32> = Vec::new();
        for (rank, (server, _)) in (0..).zip(ranks) {
            let list = members.entry(*server).or_default();
            if list.is_empty() {
                order.push(*server);
            }
            list.push(rank);
        }
        let servers: Vec<Vec<u32>> = order.iter().map(|server| members[server].clone()).collect();
        let (mut places, mut nic_of) = (vec![(0, 0); ranks.len()], vec![0; ranks.len()]);
        let mut nics = Vec::new();
        for (server, list) in (0..).zip(&servers) {
            let mut known: Vec<u32> = list.iter().map(|rank| ranks[index(*rank)].1).collect();
            known.sort_unstable();
            known.dedup();
            for (place, rank) in (0..).zip(list) {
                places[index(*rank)] = (server, place);
                nic_of[index(*rank)] = known.binary_search(&ranks[index(*rank)].1).map_or(0, number);
            }
            nics.push(known.len());
        }
        let is_even = servers.iter().all(|list| list.len() == servers[0].len())
            && nics.iter().all(|count| *count == nics[0]);
        is_even.then(|| Self { nics: number(nics[0]), servers, places, nic_of })
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        number(self.places.len())
    }

    /// Returns the number of servers.
    pub fn servers(&self) -> u32 {
        number(self.servers.len())
    }

    /// Returns the ranks of a server.
    pub fn gpus(&self) -> u32 {
        number(self.servers[0].len())
    }

    /// Returns the rank of a GPU of a server.
    pub fn rank(&self, server: u32, gpu: u32) -> u32 {
        self.servers[index(server)][index(gpu)]
    }

    /// Returns the server of a rank, and its GPU.
    pub fn place(&self, rank: u32) -> (u32, u32) {
        self.places[index(rank)]
    }

    /// Returns the NIC of a rank.
    pub fn nic(&self, rank: u32) -> u32 {
        self.nic_of[index(rank)]
    }

    /// True if the ranks of each server follow those of the server before, and use its NICs in the same order.
    pub fn has_servers_in_order(&self) -> bool {
        let gpus = self.gpus();
        (0..self.ranks()).all(|rank| {
            self.place(rank) == (rank / gpus, rank % gpus) && self.nic(rank) == self.nic(rank % gpus)
        })
    }

    /// Returns the first GPU of a server beside a NIC.
    pub fn beside(&self, server: u32, nic: u32) -> u32 {
        let list = &self.servers[index(server)];
        number(list.iter().position(|rank| self.nic(*rank) == nic).unwrap_or(0))
    }
}

/// The messages of an operation, under construction.
#[derive(Debug)]
pub struct Draft<'a> {
    /// The ranks.
    pub team: &'a Team,
    /// True if a rank may send by the NIC of another rank of its server.
    pub pxn: bool,
    /// Messages.
    pub list: Messages,
}

impl Draft<'_> {
    /// Adds a message between two ranks, over NVLink within a server, or from a NIC of the sender's server;
    /// returns its place in the list.
    pub fn send(
        &mut self,
        (channel, step): (u32, u32),
        (from, to): (u32, u32),
        nic: u32,
        bytes: u64,
        after: Vec<usize>,
    ) -> usize {
        let (server, _) = self.team.place(from);
        let way = if server == self.team.place(to).0 {
            Way::NvLink
        } else if !self.pxn || self.team.nic(from) == nic {
            Way::Nic(from)
        } else {
            Way::Nic(self.team.rank(server, self.team.beside(server, nic)))
        };
        self.add((channel, step), (from, to), way, bytes, after)
    }

    /// Adds a message with a way.
    pub fn add(
        &mut self,
        (channel, step): (u32, u32),
        (from, to): (u32, u32),
        way: Way,
        bytes: u64,
        after: Vec<usize>,
    ) -> usize {
        self.list.push(Piece { from, to, channel: channel as u16, step, bytes, way }, after)
    }

    /// Returns the messages with those of a connection together, in order.
    pub fn together(self) -> Messages {
        self.list.sorted_by_key(|piece| (piece.from, piece.channel, piece.to, piece.way.kind()))
    }
}

/// Returns the bytes of a part of data that is cut into parts of whole cells of 16 bytes.
pub fn part(bytes: u64, parts: u32, which: u32) -> u64 {
    let (cells, parts, which) = (bytes.div_ceil(16), u64::from(parts), u64::from(which));
    let start = cells / parts * which + which.min(cells % parts);
    let end = cells / parts * (which + 1) + (which + 1).min(cells % parts);
    (end * 16).min(bytes) - (start * 16).min(bytes)
}

/// Returns the sizes of the pieces of data: all of `largest`, but the last.
pub fn pieces(bytes: u64, largest: u64) -> impl Iterator<Item = u64> {
    let count = bytes.div_ceil(largest);
    (0..count).map(move |i| (bytes - i * largest).min(largest))
}

/// Returns the load of a link for a byte of data: the factor between algorithm and bus bandwidth.
pub fn bus(operation: Operation, ranks: u32) -> f64 {
    let ranks = f64::from(ranks);
    match operation {
        Operation::AllReduce => 2.0 * (ranks - 1.0) / ranks,
        Operation::AllGather | Operation::ReduceScatter => (ranks - 1.0) / ranks,
        Operation::Broadcast | Operation::Reduce => 1.0,
    }
}
