//! Ids of the parts of a node: numbers from zero, with a type for each kind of part.

use std::fmt;
use std::ops::{Index, IndexMut};

use xoff_engine::state::Word;

macro_rules! ids {
    ($($(#[$about:meta])* $name:ident($number:ty);)*) => {
        $($(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $number);

        impl $name {
            /// Returns the id of a list index. Scenarios with more entries than ids are refused earlier.
            #[inline]
            pub const fn at(index: usize) -> Self {
                debug_assert!(index <= <$number>::MAX as usize);
                Self(index as $number)
            }

            /// Returns the list index of the id.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the entries of a list with their ids.
            pub fn each<T>(list: &[T]) -> impl DoubleEndedIterator<Item = (Self, &T)> + ExactSizeIterator {
                list.iter().enumerate().map(|(index, item)| (Self::at(index), item))
            }

            /// Returns the first `count` ids in order.
            pub fn all(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (0..count).map(Self::at)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Word for $name {
            fn word(&self) -> u64 {
                u64::from(self.0)
            }
        }

        impl<T> Index<$name> for Vec<T> {
            type Output = T;

            #[inline]
            fn index(&self, id: $name) -> &T {
                &self[id.index()]
            }
        }

        impl<T> IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self[id.index()]
            }
        }

        impl<T> Index<$name> for [T] {
            type Output = T;

            #[inline]
            fn index(&self, id: $name) -> &T {
                &self[id.index()]
            }
        }

        impl<T> IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self[id.index()]
            }
        })*
    };
}

ids! {
    /// A port of a node.
    PortId(u16);
    /// A queue of a port.
    QueueId(u16);
}

/// Maximum number of data classes of a node.
pub const MAX_CLASSES: usize = 8;

/// Number of data classes of the ports of a node. Values for each port and class are kept in one list; an
/// index of the list is a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes(pub u8);

impl Classes {
    /// Returns the number of groups of `ports` ports.
    pub const fn groups(self, ports: usize) -> usize {
        ports * self.0 as usize
    }

    /// Returns the group of a class of a port.
    #[inline]
    pub const fn group(self, port: PortId, class: u8) -> usize {
        port.index() * self.0 as usize + class as usize
    }

    /// Returns the port and class of a group.
    #[inline]
    pub const fn of(self, group: usize) -> (PortId, u8) {
        (PortId::at(group / self.0 as usize), (group % self.0 as usize) as u8)
    }

    /// Returns all classes.
    pub fn each(self) -> impl Iterator<Item = u8> {
        0..self.0
    }
}

/// A set of data classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSet(u8);

impl ClassSet {
    /// No class.
    pub const NONE: Self = Self(0);
    /// All classes.
    pub const ALL: Self = Self(u8::MAX);

    /// Returns the set with these classes, each below 8.
    pub fn of(classes: impl IntoIterator<Item = u8>) -> Self {
        Self(classes.into_iter().fold(0, |set, class| set | 1 << class))
    }

    /// Returns the set with the classes of a list, or all classes without a list.
    pub fn listed(list: Option<&Vec<u8>>) -> Self {
        list.map_or(Self::ALL, |list| Self::of(list.iter().copied()))
    }

    /// Returns the classes of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the classes that are not in another set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the lowest class of the set.
    pub fn lowest(self) -> Option<u8> {
        (self.0 != 0).then_some(self.0.trailing_zeros() as u8)
    }

    /// True if the class is in the set.
    #[inline]
    pub const fn has(self, class: u8) -> bool {
        self.0 >> class & 1 != 0
    }
}

/// The number of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApplicationId(u8);

impl ApplicationId {
    /// The first bit of the number in the number of a job, which the identity of a message has.
    const SHIFT: u32 = 29;

    /// Returns a number below 8.
    pub const fn new(number: u8) -> Self {
        assert!(number < 8, "the number has three bits");
        Self(number)
    }

    /// Returns the number of a plug-in's application: this number, or the first behind those of xoff. `None` if all are taken.
    pub const fn free(number: u8) -> Option<Self> {
        let number = if number < 2 { 2 } else { number };
        if number < 8 { Some(Self(number)) } else { None }
    }

    /// Returns the number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the application of a job's number, as in a message's identity.
    pub const fn of_job(job: u32) -> Self {
        Self((job >> Self::SHIFT) as u8)
    }

    /// Returns the application of a timer's token.
    pub const fn of_timer(token: u64) -> Self {
        Self((token >> 48) as u8)
    }

    /// Returns the number as a part of a job's number.
    pub const fn in_job(self) -> u32 {
        (self.0 as u32) << Self::SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_a_port_has_one_place() {
        let classes = Classes(3);
        let all: Vec<_> =
            PortId::all(4).flat_map(|port| classes.each().map(move |class| (port, class))).collect();
        assert_eq!(all.len(), classes.groups(4));
        for (group, (port, class)) in all.into_iter().enumerate() {
            assert_eq!((classes.group(port, class), classes.of(group)), (group, (port, class)));
        }
    }

    #[test]
    fn a_set_has_the_classes_that_it_was_made_of() {
        let set = ClassSet::of([0, 3, 7]);
        assert_eq!((0..8).filter(|class| set.has(*class)).collect::<Vec<_>>(), [0, 3, 7]);
        assert!((0..8).all(|class| ClassSet::ALL.has(class) && !ClassSet::NONE.has(class)));
        assert_eq!(ClassSet::listed(Some(&vec![7, 0])).or(ClassSet::of([3])), set);
        assert_eq!(
            (set.lowest(), ClassSet::of([3, 5]).lowest(), ClassSet::NONE.lowest()),
            (Some(0), Some(3), None)
        );
        assert_eq!(ClassSet::listed(None), ClassSet::ALL);
    }

    #[test]
    fn an_id_is_a_place_in_a_list() {
        let mut list = vec!['a', 'b', 'c'];
        assert_eq!(
            (list[PortId(1)], PortId::at(2).index(), QueueId::at(2).to_string()),
            ('b', 2, "2".to_string())
        );
        list[QueueId(0)] = 'd';
        assert_eq!(
            PortId::each(&list).map(|(id, c)| (id.0, *c)).collect::<Vec<_>>(),
            [(0, 'd'), (1, 'b'), (2, 'c')]
        );
        assert_eq!(QueueId::all(4).skip(1).rev().collect::<Vec<_>>(), [3, 2, 1].map(QueueId));
    }
}
