//! The messages of a collective, with their dependencies.

use xoff_units::{index, number};

use super::piece::Piece;

/// Messages, each with the places of the messages that must arrive at the sender before.
///
/// An all-to-all of 2,048 ranks has four million messages. All dependencies therefore lie in one list.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    pieces: Vec<Piece>,
    /// For each message the end of its dependencies.
    ends: Vec<u32>,
    before: Vec<u32>,
}

impl Messages {
    /// Adds a message; returns its place.
    pub fn push(&mut self, piece: Piece, before: impl IntoIterator<Item = usize>) -> usize {
        self.before.extend(before.into_iter().map(number));
        self.ends.push(number(self.before.len()));
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// The number of messages.
    pub const fn len(&self) -> usize {
        self.pieces.len()
    }

    /// True without messages.
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// All messages.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
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

    /// Returns the messages in the order of a key; messages with equal keys keep their order.
    #[must_use]
    pub fn sorted_by_key<K: Ord>(self, key: impl Fn(&Piece) -> K) -> Self {
        if self.pieces.is_sorted_by_key(&key) {
            return self;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|place| key(&self.pieces[*place]));
        let mut place_of = vec![0; order.len()];
        for (place, old) in order.iter().enumerate() {
            place_of[*old] = place;
        }
        let mut sorted = Self::default();
        for old in order {
            sorted.push(self.pieces[old], self.before(old).iter().map(|before| place_of[index(*before)]));
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
