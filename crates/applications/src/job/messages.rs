//! The messages of a collective, with their dependencies.

use xoff_units::{index, number};

use super::piece::Piece;

/// Messages, each with the places of the messages that must arrive at the sender before.
///
/// An all-to-all of 2,048 ranks has four million messages. All dependencies therefore lie in one list.
///
/// If the ranks are some equal *parts* of consecutive ranks, only the messages of the first part are listed. The messages of
/// the next part are the same, with each rank one part further; the first part follows the last. Example: in a ring of 8
/// ranks each rank is a part. Rank 0 sends to rank 1, so rank 3 sends to rank 4, and rank 7 to rank 0. A ring of NCCL on
/// 9,216 GPUs has two billion messages, of which those of one server of 1,152 are listed. Places count the messages of all
/// parts: with m messages in a part, message k of part p has the place p · m + k.
#[derive(Debug, Clone)]
pub struct Messages {
    parts: u32,
    pieces: Vec<Piece>,
    /// For each message the end of its dependencies.
    ends: Vec<u32>,
    before: Vec<u32>,
}

impl Default for Messages {
    fn default() -> Self {
        Self::of_first_of(1)
    }
}

impl Messages {
    /// Returns an empty list for the messages of the first of some equal parts of the ranks.
    pub const fn of_first_of(parts: u32) -> Self {
        Self { parts, pieces: Vec::new(), ends: Vec::new(), before: Vec::new() }
    }

    /// Returns the number of equal parts.
    pub const fn parts(&self) -> u32 {
        self.parts
    }

    /// Adds a message; returns its place.
    pub fn push(&mut self, piece: Piece, before: impl IntoIterator<Item = usize>) -> usize {
        self.before.extend(before.into_iter().map(number));
        self.ends.push(number(self.before.len()));
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// The number of listed messages.
    pub const fn len(&self) -> usize {
        self.pieces.len()
    }

    /// True without messages.
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// All listed messages.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the list of the messages of all parts, among `ranks` ranks.
    #[must_use]
    pub fn whole(self, ranks: u32) -> Self {
        if self.parts == 1 {
            return self;
        }
        let (size, listed) = (ranks / self.parts, self.len());
        let mut all = Self::default();
        for part in 0..self.parts {
            let (by, further) = (part * size, index(part) * listed);
            for (piece, before) in self.iter() {
                let before = before.iter().map(|one| (index(*one) + further) % (listed * index(self.parts)));
                all.push(piece.further(by, ranks), before);
            }
        }
        all
    }

    /// Returns the places of the messages that must arrive before a message.
    pub fn before(&self, place: usize) -> &[u32] {
        let start = place.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.before[index(start)..index(self.ends[place])]
    }

    /// Returns each message with the places of the messages before.
    pub fn iter(&self) -> impl Iterator<Item = (&Piece, &[u32])> + Clone {
        self.pieces.iter().enumerate().map(|(place, piece)| (piece, self.before(place)))
    }

    /// Returns the messages in the order of a key; messages with equal keys keep their order. The key orders the messages of
    /// each part alike.
    #[must_use]
    pub fn sorted_by_key<K: Ord>(self, key: impl Fn(&Piece) -> K) -> Self {
        if self.pieces.is_sorted_by_key(&key) {
            return self;
        }
        let listed = self.len();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|place| key(&self.pieces[*place]));
        let mut place_of = vec![0; order.len()];
        for (place, old) in order.iter().enumerate() {
            place_of[*old] = place;
        }
        let mut sorted = Self::of_first_of(self.parts);
        for old in order {
            let before = self.before(old).iter().map(|before| {
                let of = index(*before) % listed;
                index(*before) - of + place_of[of]
            });
            sorted.push(self.pieces[old], before);
        }
        sorted
    }

    /// Returns the messages, and drops the dependencies.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::Way;
    use super::*;

    #[test]
    fn the_messages_of_a_part_stand_for_those_of_all_parts() {
        // Three parts of two ranks. Rank 1 waits for rank 0, and sends to the next part, whose rank 2 waits for the message.
        let mut messages = Messages::of_first_of(3);
        messages.push(piece(0, 0), [2 * 2 + 1]);
        messages.push(piece(1, 1), [0]);
        let whole = messages.whole(6);
        let found: Vec<_> = whole.iter().map(|(piece, before)| (piece.from, piece.to, before[0])).collect();
        assert_eq!(found, [(0, 1, 5), (1, 2, 0), (2, 3, 1), (3, 4, 2), (4, 5, 3), (5, 0, 4)]);
        assert_eq!(whole.pieces()[5].way, Way::Nic(5));
        assert_eq!(whole.clone().whole(6).pieces(), whole.pieces());
    }

    fn piece(from: u32, step: u32) -> Piece {
        Piece { from, to: from + 1, channel: 0, step, bytes: 1, way: Way::Nic(from) }
    }

    #[test]
    fn sorted_messages_keep_their_dependencies_and_the_order_of_equals() {
        let mut messages = Messages::default();
        assert!(messages.is_empty());
        assert_eq!(messages.push(piece(2, 0), []), 0);
        assert_eq!(messages.push(piece(0, 1), [0]), 1);
        assert_eq!(messages.push(piece(2, 2), [1, 0]), 2);
        assert_eq!(messages.push(piece(1, 3), [2]), 3);
        let sorted = messages.sorted_by_key(|piece| piece.from);
        let found: Vec<_> = sorted.iter().map(|(piece, before)| (piece.step, before.to_vec())).collect();
        assert_eq!(found, [(1, vec![2]), (3, vec![3]), (0, vec![]), (2, vec![0, 2])]);
        let again = sorted.clone().sorted_by_key(|piece| piece.from);
        assert!(again.iter().eq(sorted.iter()), "sorted messages stay");
        assert_eq!(again.into_pieces(), sorted.pieces());
    }
}
