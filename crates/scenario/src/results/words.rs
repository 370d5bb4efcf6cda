//! Numbers and lists in sentences.

/// Returns a list of up to three names.
pub fn listed(names: &[String]) -> String {
    let shown = names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > 3 { format!("{shown} and {} more", names.len() - 3) } else { shown }
}

/// Returns a number with its noun, which has a plural with an s.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Returns a number with commas.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups =
        digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let first = (first > 0).then(|| digits[..first].to_string());
    first.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}
