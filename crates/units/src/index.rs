//! Places in lists: ids and counts are kept in 32 bits or fewer, and lists are indexed by what the machine has.

/// The place in a list that a number stands for.
#[inline]
#[must_use]
pub const fn index(number: u32) -> usize {
    const { assert!(usize::BITS >= u32::BITS) };
    number as usize
}
