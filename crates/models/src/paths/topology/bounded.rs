//! Bounds of sizes, checked before memory is allocated.

/// Refuses a size of zero or above the bound, before memory is allocated.
pub(crate) fn bounded(key: &str, value: u64, max: u64) -> Result<u32, (String, String)> {
    if value == 0 || value > max {
        return Err((key.to_string(), format!("{value} is out of range; allowed are 1 to {max}")));
    }
    Ok(value as u32)
}
