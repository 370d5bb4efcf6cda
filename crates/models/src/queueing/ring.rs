//! A first-in first-out queue that starts again at the beginning of its memory whenever it is empty.
//!
//! Most queues are short and often empty: one that went round its memory would touch all of it, and this touches a line of the
//! cache or two. Invariant: the memory is a power of two of items, or none.

use xoff_engine::state::{State, Walk};
/// Items in order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Ring<T> {
    items: Box<[T]>,
    head: u32,
    len: u32,
}

impl<T: Copy + Default> FromIterator<T> for Ring<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut ring = Self::default();
        items.into_iter().for_each(|item| ring.push_back(item));
        ring
    }
}

impl<T: Copy + Default + State> State for Ring<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(self.len() as u64);
        for n in 0..self.len {
            let place = self.place(n);
            self.items[place].walk(walk);
        }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Whether nothing waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many items wait.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Where the item after `n` others is kept; there is memory.
    #[inline]
    const fn place(&self, n: u32) -> usize {
        self.head.wrapping_add(n) as usize & (self.items.len() - 1)
    }

    /// Puts an item at the end.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        if self.len() == self.items.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.items[place] = item;
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut items = vec![T::default(); (2 * self.items.len()).max(2)];
        for (to, item) in items.iter_mut().zip(self.iter()) {
            *to = *item;
        }
        (self.items, self.head) = (items.into_boxed_slice(), 0);
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

    /// The item after `n` others.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&T> {
        if n < self.len() { Some(&self.items[self.place(n as u32)]) } else { None }
    }

    /// All items, the first first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len).map(|n| &self.items[self.place(n)])
    }

    /// Exchanges the items after `a` and after `b` others.
    pub fn swap(&mut self, a: usize, b: usize) {
        assert!(a.max(b) < self.len(), "no such item");
        self.items.swap(self.place(a as u32), self.place(b as u32));
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
                if queue.len() > 1 {
                    let (a, b) = (stream.below(queue.len() as u64) as usize, queue.len() - 1);
                    ring.swap(a, b);
                    queue.swap(a, b);
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
        assert_eq!((ring.items.len(), ring.head), (2, 0));
    }
}
