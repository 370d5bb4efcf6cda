//! Nodes and links by name, one or many at once.

/// True if a name matches a pattern; `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        // The first match is as good as any later match.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A few of many names, for a message.
pub fn some(names: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let mut names = names.fuse();
    let mut list: Vec<String> = names.by_ref().take(SHOWN).collect();
    if names.next().is_some() {
        list.push("…".into());
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, is_meant) in [
            ("leaf1", "leaf1", true),
            ("leaf1", "leaf10", false),
            ("leaf*", "leaf10", true),
            ("*", "", true),
            ("*1", "leaf11", true),
            ("leaf*-spine3", "leaf1-spine3", true),
            ("leaf*-spine3", "leaf1-spine31", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*a", "a", false),
            ("*a*", "b", false),
        ] {
            assert_eq!(matches(pattern, name), is_meant, "{pattern} {name}");
        }
    }
}
