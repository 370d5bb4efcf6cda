//! Old names of keys: a document that uses one is refused, and the message has the new name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::InputError;

/// The table of renames, `crates/scenario/renames.toml`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Renames {
    /// New path of a key by its old path, without indices of lists.
    pub scenario: BTreeMap<String, String>,
    /// New values of a key by its old path. The key itself is renamed, too, so that the old path is refused with the values.
    pub values: BTreeMap<String, BTreeMap<String, Value>>,
    /// New key of the summary by its old key.
    pub summary: BTreeMap<String, String>,
    /// New name of a column by the name of its table, a dot and the old name.
    pub columns: BTreeMap<String, String>,
    /// New values of a column, with the new name of the column, by their old values.
    pub column_values: BTreeMap<String, BTreeMap<String, String>>,
}

/// Returns the table of renames. A table that is not well formed is empty, which a test excludes.
pub fn renames() -> &'static Renames {
    static TABLE: OnceLock<Renames> = OnceLock::new();
    TABLE.get_or_init(|| toml::from_str(include_str!("../renames.toml")).unwrap_or_default())
}

/// Returns an error for each old name in a document.
pub fn refused(document: &Value) -> Vec<InputError> {
    let mut found = Vec::new();
    for (old, new) in &renames().scenario {
        each(document, old, &mut |path| {
            let short = new.rsplit_once('.').filter(|new| Some(new.0) == old.rsplit_once('.').map(|old| old.0));
            let new = short.map_or(new.as_str(), |new| new.1);
            found.push(InputError::new(path, format!("renamed to `{new}`; `xoff migrate` rewrites a file")));
        });
    }
    found
}

/// Calls with the path of each value that a document has at `path`, also in overrides of hosts and switches. `path` has no indices of
/// lists; the path of a value has them.
fn each(document: &Value, path: &str, call: &mut impl FnMut(String)) {
    let keys: Vec<&str> = path.split('.').collect();
    below(document, &keys, String::new(), call);
    if let [room @ ("host" | "switch"), rest @ ..] = keys.as_slice() {
        let overridden: Vec<&str> = [*room, "overrides"].into_iter().chain(rest.iter().copied()).collect();
        below(document, &overridden, String::new(), call);
    }
}

fn below(value: &Value, keys: &[&str], path: String, call: &mut impl FnMut(String)) {
    match (value, keys) {
        (_, []) => call(path),
        (Value::Array(list), _) => {
            for (index, one) in list.iter().enumerate() {
                below(one, keys, format!("{path}[{index}]"), call);
            }
        }
        (Value::Object(table), [key, rest @ ..]) => {
            if let Some(inner) = table.get(*key) {
                let path = if path.is_empty() { (*key).to_string() } else { format!("{path}.{key}") };
                below(inner, rest, path, call);
            }
        }
        _ => {}
    }
}
