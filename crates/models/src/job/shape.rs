//! The messages of a collective among so many ranks, whoever they are: which rank sends which to whom, and what each waits for.

use super::collective::{Collective, Messages};
use xoff_units::{index, number};

/// A message of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The sender's place among the ranks.
    pub from: u32,
    /// The receiver's.
    pub to: u32,
    /// The channel: messages of one between two ranks share a connection.
    pub channel: u16,
    /// The step of the algorithm.
    pub step: u32,
    /// Payload.
    pub bytes: u64,
}

/// Lists by number, one after the other in memory.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    /// Of `n` lists, from pairs of a list and what is in it; the order within a list is that of the pairs.
    pub fn new(n: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0_u32; n + 1];
        for (list, _) in pairs.clone() {
            first[index(list) + 1] += 1;
        }
        for i in 0..n {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut all = vec![0; index(first[n])];
        for (list, item) in pairs {
            let place = &mut next[index(list)];
            all[index(*place)] = item;
            *place += 1;
        }
        Self { first, all }
    }

    /// A list.
    pub fn of(&self, list: u32) -> &[u32] {
        let list = index(list);
        &self.all[index(self.first[list])..self.first[list + 1] as usize]
    }
}

/// A collective among so many ranks, whoever they are.
#[derive(Debug, Clone)]
pub struct Shape {
    /// What it is.
    pub of: Collective,
    /// Messages by sender, each sender's in the order in which it would send them.
    pieces: Vec<Piece>,
    /// The first of each sender, and the end.
    first: Vec<u32>,
    /// How many messages have to arrive at its sender before each.
    needs: Vec<u16>,
    /// Of each message, those that wait for it at its receiver.
    then: Lists,
    /// How many messages each rank receives.
    receives: Vec<u32>,
}

impl Shape {
    /// Of `ranks`, from messages and the places in this list of those that have to arrive at the sender of each before.
    pub fn new(ranks: u32, of: Collective, made: &Messages) -> Self {
        let mut order: Vec<usize> = (0..made.len()).collect();
        order.sort_by_key(|place| made[*place].0.from);
        let mut place_of = vec![0_u32; made.len()];
        for (place, old) in order.iter().enumerate() {
            place_of[*old] = number(place);
        }
        let pieces: Vec<Piece> = order.iter().map(|old| made[*old].0).collect();
        let first = (0..=ranks).map(|rank| number(pieces.partition_point(|p| p.from < rank))).collect();
        let pairs = order.iter().flat_map(|old| made[*old].1.iter().map(|before| (place_of[*before], place_of[*old])));
        let then = Lists::new(made.len(), pairs);
        let needs = order.iter().map(|old| made[*old].1.len() as u16).collect();
        let mut receives = vec![0; index(ranks)];
        for piece in &pieces {
            receives[index(piece.to)] += 1;
        }
        Self { of, pieces, first, needs, then, receives }
    }

    /// All messages.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// A message.
    pub fn piece(&self, place: u32) -> Piece {
        self.pieces[index(place)]
    }

    /// The places of the messages of a sender.
    pub fn sends(&self, rank: u32) -> std::ops::Range<u32> {
        self.first[index(rank)]..self.first[index(rank) + 1]
    }

    /// How many messages have to arrive before one.
    pub fn needs(&self, place: u32) -> u16 {
        self.needs[index(place)]
    }

    /// The messages that wait for one at its receiver.
    pub fn then(&self, place: u32) -> &[u32] {
        self.then.of(place)
    }

    /// How many messages a rank receives.
    pub fn receives(&self, rank: u32) -> u32 {
        self.receives[index(rank)]
    }
}
