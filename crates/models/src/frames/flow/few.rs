//! A queue that seldom holds more than one item: a single item lies in the queue itself, and not on the heap.

use std::collections::VecDeque;

use xoff_engine::state::{State, StateVisitor};

/// A queue of few items. Example: a connection of an all-to-all has one message.
#[derive(Debug, Clone, Default)]
pub enum Few<T> {
    /// No item.
    #[default]
    None,
    /// A single item.
    One(T),
    /// Several items, or fewer after several.
    Many(Box<VecDeque<T>>),
}

impl<T> Few<T> {
    fn slices(&self) -> (&[T], &[T]) {
        match self {
            Self::None => (&[], &[]),
            Self::One(one) => (std::slice::from_ref(one), &[]),
            Self::Many(many) => many.as_slices(),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        let (first, second) = self.slices();
        first.len() + second.len()
    }

    /// True without items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item by its place.
    pub fn get(&self, place: usize) -> Option<&T> {
        let (first, second) = self.slices();
        first.get(place).or_else(|| second.get(place - first.len()))
    }

    /// Returns an item by its place, to change it.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        match self {
            Self::None => None,
            Self::One(one) => (place == 0).then_some(one),
            Self::Many(many) => many.get_mut(place),
        }
    }

    /// Returns the first item.
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Returns the last item.
    pub fn back(&self) -> Option<&T> {
        let (first, second) = self.slices();
        second.last().or_else(|| first.last())
    }

    /// Returns the items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (first, second) = self.slices();
        first.iter().chain(second)
    }

    /// Returns the items in order, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (first, second) = match self {
            Self::None => (&mut [][..], &mut [][..]),
            Self::One(one) => (std::slice::from_mut(one), &mut [][..]),
            Self::Many(many) => many.as_mut_slices(),
        };
        first.iter_mut().chain(second)
    }

    /// Returns the number of first items for which the condition is true; no item is true after a false item.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (first, second) = self.slices();
        let found = first.partition_point(&is_before);
        if found < first.len() { found } else { found + second.partition_point(is_before) }
    }

    /// Adds an item at the end.
    pub fn push_back(&mut self, item: T) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(item),
            Self::One(one) => Self::Many(Box::new(VecDeque::from([one, item]))),
            Self::Many(mut many) => {
                many.push_back(item);
                Self::Many(many)
            }
        };
    }

    /// Takes the first item.
    pub fn pop_front(&mut self) -> Option<T> {
        match self {
            Self::None => None,
            Self::Many(many) => many.pop_front(),
            Self::One(_) => match std::mem::take(self) {
                Self::One(one) => Some(one),
                Self::None | Self::Many(_) => None,
            },
        }
    }
}

impl<T: State> State for Few<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        match self {
            Self::None => walk.value(0),
            Self::One(one) => std::slice::from_mut(one).walk(walk),
            Self::Many(many) => many.walk(walk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_queue() {
        let (mut few, mut queue) = (Few::default(), VecDeque::new());
        // Pushes and pops in an order that passes one item, several items and none.
        for (step, pushes) in [1, 0, 2, 1, 0, 0, 3, 0, 1, 0, 0, 0].into_iter().enumerate() {
            for _ in 0..pushes {
                few.push_back(10 * step + pushes);
                queue.push_back(10 * step + pushes);
            }
            if pushes == 0 {
                assert_eq!(few.pop_front(), queue.pop_front());
            }
            assert!(few.iter().eq(queue.iter()));
            assert_eq!((few.len(), few.is_empty()), (queue.len(), queue.is_empty()));
            assert_eq!((few.front(), few.back()), (queue.front(), queue.back()));
            assert_eq!(few.get(1), queue.get(1));
            for limit in [0, 25, 35, 200] {
                assert_eq!(
                    few.partition_point(|one| *one < limit),
                    queue.partition_point(|one| *one < limit)
                );
            }
        }
    }
}
