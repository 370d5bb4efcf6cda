//! A first-in first-out queue that starts at the beginning of its memory whenever empty.
//! Most queues are short and often empty. A ring that goes round its memory would touch all of it; this ring
//! touches a cache line or two.
//! Invariants: capacity is zero or a power of two; only memory that items used is touched, from the beginning
//! without gaps.

use xoff_engine::state::{State, StateVisitor};
use xoff_units::{index, number, wide};

/// Items in order of arrival.
#[derive(Debug, Default)]
pub struct Ring<T> {
    items: Vec<T>,
    head: u32,
    len: u32,
}

impl<T: Copy> Clone for Ring<T> {
    /// With as much room.
    fn clone(&self) -> Self {
        let mut items = Vec::new();
        items.reserve_exact(self.items.capacity());
        items.extend_from_slice(&self.items);
        Self { items, ..*self }
    }
}

impl<T: Copy + Default> FromIterator<T> for Ring<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut ring = Self::default();
        items.into_iter().for_each(|item| ring.push_back(item));
        ring
    }
}

impl<T: Copy + Default + State> State for Ring<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(wide(self.len()));
        for n in 0..self.len {
            let place = self.place(n);
            self.items[place].walk(walk);
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// True without items.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of items.
    #[inline]
    pub const fn len(&self) -> usize {
        index(self.len)
    }

    /// Returns the index of the item behind `n` items; memory is allocated.
    #[inline]
    const fn place(&self, n: u32) -> usize {
        index(self.head.wrapping_add(n)) & (self.items.capacity() - 1)
    }

    /// Puts an item at the end.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        if self.len() == self.items.capacity() {
            self.grow();
        }
        let place = self.place(self.len);
        match self.items.get_mut(place) {
            Some(taken) => *taken = item,
            None => self.items.push(item),
        }
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // Full, or without any room: what is kept begins at the head.
        let first = if self.items.is_empty() { 0 } else { self.place(0) };
        self.items.rotate_left(first);
        self.items.reserve_exact(self.len().max(2));
        self.head = 0;
        assert!(self.items.capacity().is_power_of_two(), "the room differs from the requested room");
    }

    /// Takes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let item = self.items[self.place(0)];
        self.len -= 1;
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
        Some(item)
    }

    /// The first item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The first item, which may be changed.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        let place = self.place(0);
        Some(&mut self.items[place])
    }

    /// Returns the item behind `n` items.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&T> {
        if n < self.len() { Some(&self.items[self.place(number(n))]) } else { None }
    }

    /// All items, the first first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len).map(|n| &self.items[self.place(n)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use xoff_engine::random::Stream;

    use super::*;

    #[test]
    fn it_does_what_a_queue_does() {
        let mut stream = Stream::new(1, 0, "ring");
        for most in [1, 2, 3, 9, 200] {
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for number in 0..5_000_u32 {
                if stream.below(2 * most) < most && queue.len() < most as usize {
                    ring.push_back(number);
                    queue.push_back(number);
                } else {
                    assert_eq!(ring.pop_front(), queue.pop_front());
                }
                if stream.below(9) == 0 {
                    ring = ring.clone();
                }
                if let (Some(first), Some(other)) = (ring.front_mut(), queue.front_mut()) {
                    (*first, *other) = (*first + 1, *other + 1);
                }
                let n = stream.below(most + 1) as usize;
                assert_eq!(
                    (ring.len(), ring.is_empty(), ring.front(), ring.get(n)),
                    (queue.len(), queue.is_empty(), queue.front(), queue.get(n))
                );
                assert!(ring.iter().eq(&queue) && ring.iter().rev().eq(queue.iter().rev()));
            }
        }
    }

    #[test]
    fn an_empty_one_starts_again() {
        let mut ring = Ring::default();
        for number in 0..100 {
            ring.push_back(number);
            assert_eq!(ring.pop_front(), Some(number));
        }
        assert_eq!((ring.items.len(), ring.items.capacity(), ring.head), (1, 2, 0));
    }
    #[test]
    fn room_that_nothing_took_is_not_touched() {
        let mut ring = Ring::default();
        (0..3).for_each(|number| ring.push_back(number));
        assert_eq!(ring.pop_front(), Some(0));
        (3..6).for_each(|number| ring.push_back(number));
        assert_eq!((ring.items.len(), ring.items.capacity()), (5, 8), "it went round once, and then grew");
        assert!(ring.iter().eq(&[1, 2, 3, 4, 5]));
    }
}
