//! Errors of parameter tables, and the changes that they propose.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A key of a table, with problem and remedy. A remedy that is one change of the scenario is a [`Change`].
pub type ParamError = (&'static str, String);

/// Separates the problem from the change in a message.
const SEPARATOR: char = '\u{1e}';

/// A change of a scenario after which a problem is gone. The sentence of the remedy is made of it, so that a program can do
/// what the sentence says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The key: a whole path, a path within the workload of the error if it begins with a dot, or empty for the key of the
    /// error.
    pub key: String,
    /// The new value; null removes the key.
    pub value: Value,
}

impl Change {
    /// A new value.
    pub fn set(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// A key that is removed.
    pub fn remove(key: impl Into<String>) -> Self {
        Self { key: key.into(), value: Value::Null }
    }

    /// Returns a message with a problem and this change.
    #[must_use]
    pub fn after(&self, problem: impl fmt::Display) -> String {
        format!("{problem}{SEPARATOR}{}{SEPARATOR}{}", self.key, self.value)
    }

    /// Returns the problem of a message, and the change if the message has one.
    pub fn split(message: &str) -> (&str, Option<Self>) {
        let mut parts = message.splitn(3, SEPARATOR);
        let problem = parts.next().unwrap_or_default();
        let change = parts.next().zip(parts.next()).and_then(|(key, value)| {
            Some(Self { key: key.into(), value: serde_json::from_str(value).ok()? })
        });
        (problem, change)
    }
}

/// Returns a message with a problem that is gone when the key of the error is removed.
pub fn remove(problem: impl fmt::Display) -> String {
    Change::remove("").after(problem)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => write!(f, "remove {}", self.key),
            value => write!(f, "set {} = {value}", self.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_comes_out_of_a_message_as_it_went_in() {
        for change in [
            Change::remove("probe.replay"),
            Change::set("switch.queueing", "oq"),
            Change::set(".nccl.buffer", "8MiB"),
            Change::set("switch.classes", 1),
        ] {
            let message = change.after("not allowed");
            assert_eq!(Change::split(&message), ("not allowed", Some(change)));
        }
        assert_eq!(Change::split("too late; give another"), ("too late; give another", None));
        assert_eq!(Change::set("a.b", "c").to_string(), "set a.b = \"c\"");
        assert_eq!(Change::remove("a.b").to_string(), "remove a.b");
    }
}
