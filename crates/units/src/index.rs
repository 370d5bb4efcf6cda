//! Places in lists: ids and counts are kept in 32 bits or fewer, and lists are indexed by what the machine has.

/// The place in a list that a number stands for.
#[inline]
#[must_use]
pub const fn index(number: u32) -> usize {
    const { assert!(usize::BITS >= u32::BITS) };
    number as usize
}

/// The number of a place in a list, or of how many there are; scenarios are refused before there are more.
#[inline]
#[must_use]
pub const fn number(place: usize) -> u32 {
    debug_assert!(place <= u32::MAX as usize);
    place as u32
}

/// A place or a count in 64 bits.
#[inline]
#[must_use]
pub const fn wide(place: usize) -> u64 {
    place as u64
}
