//! Conversion of fields to words of 64 bits, for hashes of a state.

use xoff_units::Duration;

use crate::random::{Stream, fold};

/// A value that a [`StateVisitor`](crate::state::StateVisitor) reads and does not change.
pub trait Word {
    /// Returns the value as 64 bits, or a hash of the value.
    fn word(&self) -> u64;
}

macro_rules! words {
    ($($type:ty)*) => {
        $(#[allow(clippy::cast_lossless)]
        impl Word for $type {
            fn word(&self) -> u64 {
                *self as u64
            }
        })*
    };
}

words!(bool u8 u16 u32 u64 usize i32 i64);

/// A counter: each repetition of a period adds or subtracts the same amount.
pub trait Total: Copy {
    /// Returns the counter as 64 bits.
    fn word(self) -> u64;
    /// Returns the counter of a word; the inverse of [`Total::word`].
    fn of(word: u64) -> Self;
}

macro_rules! totals {
    ($($type:ty)*) => {
        $(#[allow(clippy::cast_lossless)]
        impl Total for $type {
            fn word(self) -> u64 {
                self as u64
            }

            fn of(word: u64) -> Self {
                word as Self
            }
        })*
    };
}

totals!(u32 u64 i64 usize);

impl Total for Duration {
    fn word(self) -> u64 {
        self.0
    }

    fn of(word: u64) -> Self {
        Self(word)
    }
}

impl Word for Duration {
    fn word(&self) -> u64 {
        self.0
    }
}

impl Word for f64 {
    fn word(&self) -> u64 {
        self.to_bits()
    }
}

impl Word for () {
    fn word(&self) -> u64 {
        0
    }
}

impl<T: Word> Word for Option<T> {
    fn word(&self) -> u64 {
        self.as_ref().map_or(0, |word| fold(1, word.word()))
    }
}

impl<T: Word> Word for [T] {
    fn word(&self) -> u64 {
        self.iter().fold(self.len() as u64, |hash, word| fold(hash, word.word()))
    }
}

impl<T: Word, const N: usize> Word for [T; N] {
    fn word(&self) -> u64 {
        self.as_slice().word()
    }
}

impl<T: Word + ?Sized> Word for Box<T> {
    fn word(&self) -> u64 {
        (**self).word()
    }
}

impl<T: Word> Word for Vec<T> {
    fn word(&self) -> u64 {
        self.as_slice().word()
    }
}

impl<T: Word> Word for std::collections::VecDeque<T> {
    fn word(&self) -> u64 {
        self.iter().fold(self.len() as u64, |hash, word| fold(hash, word.word()))
    }
}

impl<K: Word, V: Word> Word for std::collections::BTreeMap<K, V> {
    fn word(&self) -> u64 {
        self.iter().fold(self.len() as u64, |hash, (key, value)| fold(fold(hash, key.word()), value.word()))
    }
}

impl<A: Word, B: Word> Word for (A, B) {
    fn word(&self) -> u64 {
        fold(self.0.word(), self.1.word())
    }
}

impl Word for Stream {
    fn word(&self) -> u64 {
        self.word()
    }
}

impl<A: Word, B: Word, C: Word> Word for (A, B, C) {
    fn word(&self) -> u64 {
        fold(fold(self.0.word(), self.1.word()), self.2.word())
    }
}
