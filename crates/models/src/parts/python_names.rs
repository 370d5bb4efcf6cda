//! Names of Python code in a scenario: references of the form `module:name`, and names of arguments.

use std::collections::BTreeMap;

use serde_json::Value;

/// The key by which the reader of TOML passes dates on.
const DATE: &str = "$__toml_private_datetime";
/// Longest reference; file systems have no longer names.
const LONGEST: usize = 255;

/// True for `module:name`, with dots in the module for packages.
pub fn is_reference(text: &str) -> bool {
    text.len() <= LONGEST
        && text.split_once(':').is_some_and(|(module, name)| module.split('.').all(is_name) && is_name(name))
}

/// Refuses a name of an argument that Python could not have, a name in `taken`, and a date. An error has the key below
/// the table, and the problem; `what` gets the arguments in any case.
pub fn check_arguments(
    parameters: &BTreeMap<String, Value>,
    taken: &[&str],
    what: &str,
) -> Result<(), (String, String)> {
    for (name, value) in parameters {
        let wrong = |why: String| Err((format!("parameters.{name}"), why));
        if !is_name(name) {
            return Err(("parameters".into(), format!("`{}` cannot name an argument", name.escape_debug())));
        }
        if taken.contains(&name.as_str()) {
            return wrong(format!("the {what} gets `{name}` in any case; choose another name"));
        }
        if has_date(value) {
            return wrong("a date is not allowed; give a text".into());
        }
    }
    Ok(())
}

/// True for a value with a date of TOML, for which JSON has no type.
fn has_date(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_date),
        Value::Object(table) => table.keys().any(|key| key == DATE) || table.values().any(has_date),
        _ => false,
    }
}

/// True for a Python identifier in ASCII.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_two_names_and_names_no_path() {
        for text in ["traffic:web", "lab.traffic:web", "_a.b1:_c"] {
            assert!(is_reference(text), "{text}");
        }
        for text in [
            "",
            "traffic",
            "traffic:",
            ":web",
            "a:b:c",
            "../traffic:web",
            "/traffic:web",
            "a b:c",
            "a-b:c",
            "1a:b",
            "a.:b",
            ".a:b",
            "a..b:c",
            "a:b.c",
            "a:b()",
            "é:b",
            "a\n:b",
            "os;x:y",
        ] {
            assert!(!is_reference(text), "{text}");
        }
        assert!(!is_reference(&format!("{}:b", "a".repeat(LONGEST))));
    }
}
