//! All problems of a document at once, each with its line.
//!
//! Type errors end a reading at the first problem. Here the wrong value is removed and the rest is read
//! again, until no problem is left.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use xoff_units::Bytes;

use crate::deserialize::{ValueError, parse};
use crate::document::Scenario;
use crate::error::InputError;

/// Maximum number of reported problems.
const MOST: usize = 20;

/// Returns all type errors of a document with at least one error.
pub fn all(mut document: Value) -> Vec<InputError> {
    let mut found: Vec<InputError> = Vec::new();
    let mut out = TakenOut::default();
    while found.len() < MOST {
        let Err(wrong) = parse::<Scenario>(document.clone()) else { break };
        let missing = wrong.message.strip_prefix("missing key `").and_then(|rest| rest.split('`').next());
        let path = out.original(&wrong.path);
        // A removed key is not missing, and a problem of a table may result from the removal.
        let is_ours =
            missing.map_or_else(|| out.has_within(&path), |key| out.paths.contains(&join(&path, key)));
        if !is_ours {
            found.push(InputError::new(path.clone(), hinted(&path, wrong.message.clone())));
        }
        if !out.take(&mut document, &wrong) {
            break;
        }
    }
    found
}

/// The usual cause of a table in place of a list in TOML is a missing pair of brackets.
fn hinted(path: &str, message: String) -> String {
    let is_buffer = path.rsplit('.').next() == Some("buffer");
    let size = message
        .strip_prefix("unknown choice `")
        .and_then(|rest| rest.split('`').next())
        .filter(|t| t.parse::<Bytes>().is_ok());
    if let Some(size) = size.filter(|_| is_buffer) {
        return format!(
            "{message}; name the scope of the size: {{ per_port = \"{size}\" }} or {{ shared = {{ total = \"{size}\" }} }}"
        );
    }
    if message == "a table was given; a list is needed" {
        return format!(
            "{message}; in TOML each entry begins with the name in two brackets, such as [[workload]]"
        );
    }
    message
}

/// Removed parts of a document.
#[derive(Default)]
struct TakenOut {
    /// Removed keys, by their original paths.
    paths: Vec<String>,
    /// Removed list entries, with the present path of the list.
    entries: Vec<(String, usize)>,
}

impl TakenOut {
    /// Removes the wrong value. False for a missing value, and for the document itself.
    fn take(&mut self, document: &mut Value, wrong: &ValueError) -> bool {
        let parts = split(&wrong.path);
        let Some((last, way)) = parts.split_last() else { return false };
        let mut at = document;
        for part in way {
            let next = match part {
                Part::Key(key) => at.get_mut(*key),
                Part::Index(index) => at.get_mut(*index),
            };
            let Some(next) = next else { return false };
            at = next;
        }
        self.paths.push(self.original(&wrong.path));
        match (last, at) {
            (Part::Key(key), Value::Object(table)) => table.remove(*key).is_some(),
            (Part::Index(index), Value::Array(list)) if *index < list.len() => {
                list.remove(*index);
                let end = wrong.path.rfind('[').unwrap_or_default();
                self.entries.push((wrong.path[..end].to_string(), *index));
                true
            }
            _ => false,
        }
    }

    /// True if a key within a table was removed.
    fn has_within(&self, table: &str) -> bool {
        self.paths.iter().any(|path| {
            path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
        })
    }

    /// Returns the original path of a path in the present document.
    fn original(&self, path: &str) -> String {
        let mut made = path.to_string();
        // The latest removal first.
        for (list, taken) in self.entries.iter().rev() {
            let entry = made
                .strip_prefix(list.as_str())
                .and_then(|rest| rest.strip_prefix('['))
                .and_then(|rest| rest.split_once(']'));
            let Some((index, behind)) = entry else { continue };
            if let Some(index) = index.parse::<usize>().ok().filter(|index| index >= taken) {
                made = format!("{list}[{}]{behind}", index + 1);
            }
        }
        made
    }
}

enum Part<'a> {
    Key(&'a str),
    Index(usize),
}

/// A path in parts: `workload[1].class` is a key, an index and a key.
fn split(path: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for one in path.split('.').filter(|p| !p.is_empty()) {
        let (key, indices) = one.find('[').map_or((one, ""), |at| one.split_at(at));
        parts.push(Part::Key(key));
        parts.extend(indices.split(['[', ']']).filter_map(|n| n.parse().ok()).map(Part::Index));
    }
    parts
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// Adds line numbers of a TOML text to problems, and sorts the problems. The line is the line of the key, or
/// of the table without the key.
pub fn locate(text: &str, mistakes: &mut [InputError]) {
    let Ok(document) = DeTable::parse(text) else { return };
    for mistake in mistakes.iter_mut() {
        if let Some(at) = place(&document, &split(&mistake.path)) {
            mistake.line = Some(text[..at.min(text.len())].matches('\n').count() + 1);
        }
    }
    mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
}

/// Returns the position in the text of the longest prefix of a path found there.
fn place(document: &Spanned<DeTable<'_>>, parts: &[Part<'_>]) -> Option<usize> {
    let (first, rest) = parts.split_first()?;
    let Part::Key(key) = first else { return None };
    let (name, mut value) = document.get_ref().iter().find(|(name, _)| name.get_ref() == key)?;
    let mut at = name.span().start;
    for part in rest {
        match (part, value.get_ref()) {
            (Part::Key(key), DeValue::Table(table)) => {
                let Some((name, inner)) = table.iter().find(|(name, _)| name.get_ref() == key) else { break };
                (at, value) = (name.span().start, inner);
            }
            (Part::Index(index), DeValue::Array(list)) => {
                let Some(inner) = list.get(*index) else { break };
                (at, value) = (inner.span().start, inner);
            }
            _ => break,
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use crate::read::from_toml;

    fn found(text: &str) -> Vec<(String, Option<usize>)> {
        from_toml(text, &[]).unwrap_err().0.into_iter().map(|e| (e.path, e.line)).collect()
    }

    #[test]
    fn all_mistakes_come_at_once_with_their_lines() {
        let text = "seed = true\n\n[network.star]\nhosts = 2\nlink = { rate = 5, delay = \"1 parsec\" }\n\n[switch]\ncolour = 1\n\n\
                    [[workload]]\nincast = { senders = [1], receiver = 0, size = \"1MB\" }\n\n[[workload]]\nincast = { receiver = 0 }\n";
        assert_eq!(
            found(text),
            [
                ("seed".to_string(), Some(1)),
                ("network.star.link.delay".to_string(), Some(5)),
                ("network.star.link.rate".to_string(), Some(5)),
                ("switch.colour".to_string(), Some(8)),
                ("workload[1].incast".to_string(), Some(14)),
            ]
        );
    }

    #[test]
    fn entries_keep_their_numbers_when_others_are_taken_out() {
        let star = "[network.star]\nhosts = 2\nlink = { rate = \"1Gbps\", delay = \"1us\" }\n";
        let text = format!("workload = [1, {{ colour = 2 }}, 3, {{ class = true }}]\n{star}");
        let paths: Vec<String> = found(&text).into_iter().map(|f| f.0).collect();
        assert_eq!(paths, ["workload[0]", "workload[1].colour", "workload[2]", "workload[3].class"]);
    }

    #[test]
    fn what_makes_no_sense_is_told_for_each_part_of_the_document() {
        let text = "until = \"0s\"\n[network.star]\nhosts = 2\nlink = { rate = \"1Gbps\", delay = \"1us\" }\n[switch]\nclasses = 9\n[framing]\npayload = \"0B\"\n";
        let lines: Vec<Option<usize>> = found(text).into_iter().map(|f| f.1).collect();
        assert_eq!(lines, [Some(1), Some(6), Some(8)]);
    }

    #[test]
    fn a_table_instead_of_a_list_of_tables_is_hinted_at() {
        let text = "[network.star]\nhosts = 2\nlink = { rate = \"1Gbps\", delay = \"1us\" }\n[workload]\nclass = 1\n";
        let error = from_toml(text, &[]).unwrap_err().to_string();
        assert!(error.contains("[[workload]]") && error.ends_with("(line 4)"), "{error}");
    }
}
