//! The messages of a collective for a number of ranks: sender, receiver, and dependencies of each message.

use std::ops::Range;

use xoff_models::parts::param_error::ParamError;
use xoff_units::{Duration, index, number, wide};

use super::collective::{Algorithm, Collective};
use super::messages::Messages;
use super::piece::{Costs, Piece, Way, further};
use crate::job::nccl::tuner::Protocol;

/// Lists by number, contiguous in memory.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Lists {
    /// Returns `n` lists from pairs of list and entry; a list keeps the order of the pairs.
    pub fn new(n: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        if pairs.clone().next().is_none() {
            return Self::default();
        }
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
        if self.all.is_empty() {
            return &[];
        }
        let list = index(list);
        &self.all[index(self.first[list])..self.first[list + 1] as usize]
    }
}

/// A collective for a number of ranks.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The collective.
    pub of: Collective,
    /// The costs of a library; `None` for textbook algorithms.
    pub costs: Option<Costs>,
    /// The protocol of NCCL.
    pub protocol: Option<Protocol>,
    /// The time that NCCL's own model predicts.
    pub predicted: Option<Duration>,
    /// For each rank, the bytes of the messages that its NIC sends in a loop of a library's algorithm; empty if
    /// the algorithm has no loop.
    loops: Vec<Box<[u64]>>,
    /// Number of ranks.
    ranks: u32,
    /// Number of equal parts of the ranks. All lists below are those of the first part, see [`Messages`].
    parts: u32,
    /// Messages by sender, in sending order.
    pieces: Vec<Piece>,
    /// The first of each sender, and the end.
    first: Vec<u32>,
    /// Number of messages that must arrive at the sender before each message.
    needs: Vec<u16>,
    /// Successors of each message at its receiver, by their places among those of all parts.
    then: Lists,
    /// Number of messages received by each rank.
    receives: Vec<u32>,
    /// For each message, the start of its run: consecutive messages to one rank on one channel.
    runs: Vec<u32>,
}

impl Collective {
    /// Returns the shape for a number of ranks.
    pub fn shape(&self, ranks: usize) -> Result<Shape, ParamError> {
        let places = ranks + usize::from(self.algorithm == Algorithm::InNetwork);
        Ok(Shape::new(number(places), self.clone(), self.of_first_part(ranks)?))
    }
}

impl Shape {
    /// Returns the shape for `ranks` ranks.
    pub fn new(ranks: u32, of: Collective, made: Messages) -> Self {
        let made = made.sorted_by_key(|piece| piece.from);
        let (parts, listed) = (made.parts(), number(made.len()));
        let (size, all) = (ranks / parts, parts * listed);
        // A message of the first part that waits for one of another part is like one of another part that waits for the first.
        let pairs = (0..).zip(made.iter()).flat_map(|(place, (_, before))| {
            before.iter().map(move |one| (one % listed, further(place, all - one / listed * listed, all)))
        });
        let then = Lists::new(made.len(), pairs);
        let needs = made.iter().map(|(_, before)| before.len() as u16).collect();
        let pieces = made.into_pieces();
        let first = (0..=size).map(|rank| number(pieces.partition_point(|p| p.from < rank))).collect();
        let mut receives = vec![0; index(size)];
        for piece in &pieces {
            receives[index(piece.to % size)] += 1;
        }
        let mut runs: Vec<u32> = Vec::with_capacity(pieces.len());
        for (place, piece) in pieces.iter().enumerate() {
            let goes_on = place.checked_sub(1).filter(|before| {
                let before = pieces[*before];
                (before.from, before.to, before.channel) == (piece.from, piece.to, piece.channel)
            });
            runs.push(goes_on.map_or(number(place), |before| runs[before]));
        }
        Self {
            of,
            costs: None,
            protocol: None,
            predicted: None,
            loops: Vec::new(),
            ranks,
            parts,
            pieces,
            first,
            needs,
            then,
            receives,
            runs,
        }
    }

    /// Finds the loop of a library's algorithm, in which each run has this number of messages.
    pub fn find_loop(&mut self, messages: usize) {
        let mut loops: Vec<Vec<u64>> = vec![Vec::new(); self.receives.len()];
        let mut place = 0;
        while let Some(first) = self.pieces.get(place) {
            let run = number(place);
            let end = (place..self.pieces.len())
                .find(|other| self.runs[*other] != run)
                .unwrap_or(self.pieces.len());
            if let Way::Nic(via) = first.way {
                let bytes = self.pieces[place..end].iter().take(messages).map(|piece| piece.bytes);
                loops[index(via)].extend(bytes);
            }
            place = end;
        }
        self.loops = loops.into_iter().map(Vec::into_boxed_slice).collect();
    }

    /// Returns the bytes of the messages that the NIC of a rank sends in a loop; empty without a loop.
    pub fn in_loop(&self, rank: u32) -> &[u64] {
        self.loops.get(index(rank % self.of_part())).map_or(&[], |bytes| bytes)
    }

    /// Returns the number of messages.
    pub fn count(&self) -> u64 {
        u64::from(self.parts) * wide(self.pieces.len())
    }

    /// Returns the number of messages that leave by a NIC.
    pub fn over_network(&self) -> u64 {
        let of_part = self.pieces.iter().filter(|piece| matches!(piece.way, Way::Nic(_)));
        u64::from(self.parts) * wide(of_part.count())
    }

    /// Returns the number of ranks of a part. The messages of the next part are the same, with each rank one part further.
    pub const fn of_part(&self) -> u32 {
        self.ranks / self.parts
    }

    /// Returns the number of listed messages of a part.
    pub const fn listed(&self) -> u32 {
        number(self.pieces.len())
    }

    /// Returns a message of the first part, and the place of the first message of the part of a message.
    const fn in_part(&self, place: u32) -> (usize, u32) {
        if self.parts == 1 {
            return (index(place), 0);
        }
        let of = place % self.listed();
        (index(of), place - of)
    }

    /// A message.
    pub fn piece(&self, place: u32) -> Piece {
        let (of, first) = self.in_part(place);
        let piece = self.pieces[of];
        if first == 0 {
            return piece;
        }
        piece.further(first / self.listed() * self.of_part(), self.ranks)
    }

    /// Returns the number of ranks.
    pub const fn senders(&self) -> u32 {
        self.ranks
    }

    /// The places of the messages of a sender.
    pub fn sends(&self, rank: u32) -> std::ops::Range<u32> {
        let (part, of) = (rank / self.of_part(), index(rank % self.of_part()));
        let first = part * self.listed();
        first + self.first[of]..first + self.first[of + 1]
    }

    /// Returns the number of messages that must arrive before a message.
    pub fn needs(&self, place: u32) -> u16 {
        self.needs[self.in_part(place).0]
    }

    /// Returns the messages that wait for a message at its receiver.
    pub fn then(&self, place: u32) -> impl ExactSizeIterator<Item = u32> + Clone {
        let (of, first) = self.in_part(place);
        let all = self.parts * self.listed();
        self.then.of(number(of)).iter().map(move |then| further(*then, first, all))
    }

    /// Returns the first message of the run of a message.
    pub fn run_of(&self, place: u32) -> u32 {
        let (of, first) = self.in_part(place);
        first + self.runs[of]
    }

    /// The runs of a rank.
    pub fn runs(&self, rank: u32) -> impl Iterator<Item = Range<u32>> {
        let sends = self.sends(rank);
        let mut start = sends.start;
        std::iter::from_fn(move || {
            let end = (start + 1..sends.end).find(|place| self.run_of(*place) != start).unwrap_or(sends.end);
            (start < sends.end).then(|| std::mem::replace(&mut start, end)..end)
        })
    }

    /// Returns the first message of a run, from `place` on, that differs from its predecessor at distance
    /// `further`: in bytes, or in the number of dependencies or successors, or with a successor at another
    /// distance than `further` of the successor's run. Returns the end of the run if no message differs.
    pub fn alike(&self, run: &Range<u32>, place: u32, further: impl Fn(u32) -> u32) -> u32 {
        let by = further(run.start);
        let is_like = |place: u32| {
            let Some(before) = place.checked_sub(by).filter(|before| *before >= run.start) else {
                return false;
            };
            let goes_on = |then: u32| then + further(self.run_of(then));
            (self.piece(before).bytes, self.needs(before)) == (self.piece(place).bytes, self.needs(place))
                && self.then(before).map(goes_on).eq(self.then(place))
        };
        (place..run.end).find(|place| !is_like(*place)).unwrap_or(run.end)
    }

    /// Returns the number of messages received by a rank.
    pub fn receives(&self, rank: u32) -> u32 {
        self.receives[index(rank % self.of_part())]
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Bytes;

    use super::super::collective::{Algorithm, Operation};
    use super::*;

    fn ring(operation: Operation, bytes: u64) -> Shape {
        Collective { algorithm: Algorithm::Ring, ..Collective::new(operation, Bytes(bytes)) }
            .shape(8)
            .unwrap()
    }

    /// Returns the run of a rank in a ring of one channel.
    fn run(shape: &Shape, own: u32) -> Range<u32> {
        let mut runs = shape.runs(own);
        let run = runs.next().unwrap();
        assert!(run == shape.sends(own) && runs.next().is_none());
        run
    }

    #[test]
    fn messages_of_a_ring_are_like_the_one_before_as_long_as_shares_are_of_a_size() {
        for operation in [Operation::AllGather, Operation::AllReduce] {
            let shape = ring(operation, 8_000);
            for own in 0..8 {
                let run = run(&shape, own);
                // The first message has no dependency.
                assert_eq!(shape.alike(&run, run.start + 1, |_| 1), run.start + 1);
                // The last message has no successor.
                assert_eq!(shape.alike(&run, run.start + 2, |_| 1), run.end - 1);
                assert_eq!(shape.alike(&run, run.start + 3, |_| 2), run.end - 1);
                // The receiver would be another rank.
                assert_eq!(
                    shape.alike(&run, run.start + 2, |other| if other == run.start { 1 } else { 2 }),
                    run.start + 2
                );
                assert_eq!(shape.alike(&run, run.start, |_| 1), run.start, "none is before it");
            }
        }
        // One share has one byte more, and passes each rank once.
        let shape = ring(Operation::AllGather, 8_001);
        let mut ends = Vec::new();
        for own in 0..8 {
            let run = run(&shape, own);
            let differs = |place: &u32| shape.piece(*place).bytes != shape.piece(place - 1).bytes;
            let end = (run.start + 2..run.end - 1).find(differs).unwrap_or(run.end - 1);
            assert_eq!(shape.alike(&run, run.start + 2, |_| 1), end, "rank {own}");
            ends.push(end - run.start);
        }
        ends.sort_unstable();
        assert_eq!(ends, [2, 2, 3, 4, 5, 6, 6, 6]);
    }

    #[test]
    fn each_channel_is_a_run() {
        let shape = Collective { channels: 3, ..Collective::new(Operation::AllGather, Bytes(24_000)) }
            .shape(8)
            .unwrap();
        for own in 0..8 {
            let runs: Vec<_> = shape.runs(own).collect();
            assert_eq!(runs.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(), [7, 7, 7]);
            assert!(runs.iter().all(|run| run.clone().all(|place| shape.run_of(place) == run.start)));
            assert_eq!((runs[0].start, runs[2].end), (shape.sends(own).start, shape.sends(own).end));
        }
    }
}
