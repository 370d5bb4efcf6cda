//! Old names of keys. A document with an old name is refused, and the message gives the new name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::InputError;

/// The table of renames, `crates/scenario/renames.toml`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Renames {
    /// New path of a key by old path, without list indices.
    pub scenario: BTreeMap<String, String>,
    /// New values of a key by old path. The key is renamed as well, and the old path is refused together with
    /// old values.
    pub values: BTreeMap<String, BTreeMap<String, Value>>,
    /// New key of the summary by old key.
    pub summary: BTreeMap<String, String>,
    /// New name of a column by table name, a dot and the old name.
    pub columns: BTreeMap<String, String>,
    /// New values of a column by old value, under the new name of the column.
    pub column_values: BTreeMap<String, BTreeMap<String, String>>,
}

/// Returns the table of renames. An invalid table would be empty, which a test excludes.
pub fn renames() -> &'static Renames {
    static TABLE: OnceLock<Renames> = OnceLock::new();
    TABLE.get_or_init(|| toml::from_str(include_str!("../renames.toml")).unwrap_or_default())
}

/// Returns an error for each old name in a document.
pub fn refused(document: &Value) -> Vec<InputError> {
    let mut found = Vec::new();
    for (old, new) in &renames().scenario {
        each(document, old, &mut |path| {
            let short =
                new.rsplit_once('.').filter(|new| Some(new.0) == old.rsplit_once('.').map(|old| old.0));
            let new = short.map_or(new.as_str(), |new| new.1);
            found.push(InputError::new(path, format!("renamed to `{new}`; `xoff migrate` rewrites a file")));
        });
    }
    found
}

/// Calls back with the path of each value at `path`, also in overrides of hosts and switches. `path` has no
/// list indices; the path of a value has indices.
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
