//! Conversions between ids and list indices: ids and counts have 32 bits or fewer, and lists use the machine
//! word.

/// Returns the list index of a number.
#[inline]
#[must_use]
pub const fn index(number: u32) -> usize {
    const { assert!(usize::BITS >= u32::BITS) };
    number as usize
}

/// Returns the number of a list index or count. Scenarios with larger counts are refused earlier.
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
