//! Ranks with common experts, by server: with `copies = "server"` a token goes to each server once.
//!
//! A dispatch sends one message to the rank of each other server at the same place, the *rail*. The rank on the rail
//! passes the tokens on to the other ranks of the server over NVLink. For a combine the ranks of a server send
//! results for a rank of another server to the rank on the rail, which adds the results up and sends a message.
//! Source: `DeepEP`'s normal kernels.

use std::ops::Range;

/// The ranks of a group, seen by a rank of the group. The group fills servers of `gpus` ranks in order.
#[derive(Debug, Clone)]
pub(super) struct Rails {
    group: Range<u32>,
    gpus: u32,
    own: u32,
}

impl Rails {
    /// Returns the group of a rank.
    pub const fn new(group: Range<u32>, gpus: u32, own: u32) -> Self {
        Self { group, gpus, own }
    }

    /// Returns the place of a rank in the group.
    pub const fn place(&self, rank: u32) -> u32 {
        rank - self.group.start
    }

    /// Returns the rank at a place.
    pub const fn rank(&self, place: u32) -> u32 {
        self.group.start + place
    }

    /// Number of ranks of a server.
    pub const fn gpus(&self) -> u32 {
        self.gpus
    }

    const fn first_of_server(&self) -> u32 {
        self.group.start + self.place(self.own) / self.gpus * self.gpus
    }

    /// True for a rank of the same server.
    pub fn is_local(&self, rank: u32) -> bool {
        let first = self.first_of_server();
        (first..first + self.gpus).contains(&rank)
    }

    /// Returns the other ranks of the server, from the next rank on.
    pub fn local(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, gpus) = (self.first_of_server(), self.gpus);
        let place = self.own - first;
        (1..gpus).map(move |step| first + (place + step) % gpus)
    }

    /// Returns the ranks of other servers, from the next server on, and in each server from the own rail on.
    pub fn remote(&self) -> impl Iterator<Item = u32> + use<> {
        let (gpus, place) = (self.gpus, self.own - self.first_of_server());
        let firsts = self.firsts();
        firsts.flat_map(move |first| (0..gpus).map(move |step| first + (place + step) % gpus))
    }

    /// Returns the ranks of other servers on the rail of this rank, from the next server on.
    pub fn rail(&self) -> impl Iterator<Item = u32> + use<> {
        let place = self.own - self.first_of_server();
        self.firsts().map(move |first| first + place)
    }

    /// Returns the first ranks of other servers, from the next server on.
    fn firsts(&self) -> impl Iterator<Item = u32> + use<> {
        let (start, gpus) = (self.group.start, self.gpus);
        let (own, servers) = (self.place(self.own) / gpus, (self.group.end - start) / gpus);
        (1..servers).map(move |step| start + (own + step) % servers * gpus)
    }

    /// Returns the rank of this server on the rail of a rank.
    pub const fn gateway(&self, rank: u32) -> u32 {
        self.first_of_server() + self.place(rank) % self.gpus
    }
}
