//! Reading of scenarios: from text to document, with errors that name key, problem and remedy.

use serde::de::DeserializeOwned;

use crate::deserialize::{ValueError, parse};
use crate::diagnostics;
use crate::document::Scenario;
use crate::error::{InputError, InputErrors};
use crate::renames;
use crate::validate::{MAX_WORKLOADS, validate};

/// Reads TOML, with `key=value` pairs on top.
pub fn from_toml(text: &str, overrides: &[(String, String)]) -> Result<Scenario, InputErrors> {
    // Refused before parsing, as a text of this length takes long.
    if text.matches("[[workload]]").count() > MAX_WORKLOADS {
        return Err(InputError::new(
            "workload",
            format!("too many workloads; the maximum is {MAX_WORKLOADS}"),
        )
        .into());
    }
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(0, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        InputError::new(format!("line {line}"), format!("this is not TOML: {}", e.message()))
    })?;
    let table = toml::Value::Table(table);
    finite(&table, "")?;
    let value = serde_json::to_value(table).map_err(|e| InputError::new("", e.to_string()))?;
    from_value(value, overrides).map_err(|mut wrong| {
        // A value set on top of the text has no line.
        let is_below = |path: &str, key: &str| {
            path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_set = |path: &str| overrides.iter().any(|(key, _)| is_below(path, key));
        let (of_text, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut wrong.0).into_iter().partition(|e| !is_set(&e.path));
        wrong.0 = of_text;
        diagnostics::locate(text, &mut wrong.0);
        wrong.0.extend(others);
        wrong
    })
}

/// Reads JSON, with `key=value` pairs on top.
pub fn from_json(text: &str, overrides: &[(String, String)]) -> Result<Scenario, InputErrors> {
    let value = serde_json::from_str(text)
        .map_err(|e| InputError::new(format!("line {}", e.line()), format!("this is not JSON: {e}")))?;
    from_value(value, overrides)
}

/// Refuses `nan` and `inf`, which JSON has no word for.
fn finite(value: &toml::Value, path: &str) -> Result<(), InputError> {
    match value {
        toml::Value::Float(number) if !number.is_finite() => {
            Err(InputError::new(path, format!("{number} is not a finite number")))
        }
        toml::Value::Array(list) => {
            list.iter().enumerate().try_for_each(|(i, one)| finite(one, &format!("{path}[{i}]")))
        }
        toml::Value::Table(table) => table.iter().try_for_each(|(key, one)| {
            finite(one, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") })
        }),
        _ => Ok(()),
    }
}

fn from_value(mut value: serde_json::Value, overrides: &[(String, String)]) -> Result<Scenario, InputErrors> {
    for (path, text) in overrides {
        set(&mut value, path, text)?;
    }
    let old = renames::refused(&value);
    if !old.is_empty() {
        return Err(InputErrors(old));
    }
    let scenario: Scenario = parse(value.clone()).map_err(|_| InputErrors(diagnostics::all(value)))?;
    let wrong = validate(&scenario);
    if wrong.is_empty() { Ok(scenario) } else { Err(InputErrors(wrong)) }
}

/// Reads the request of a calculator, from JSON.
pub fn request<T: DeserializeOwned>(text: &str) -> Result<T, InputError> {
    let value =
        serde_json::from_str(text).map_err(|e| InputError::new("", format!("this is not JSON: {e}")))?;
    parse(value).map_err(|e: ValueError| InputError::new(e.path, e.message))
}

/// Sets a value by path, and creates missing tables: `switch.flow_control.pfc.xoff` or
/// `workload[0].incast.size`. `null` removes the value, and the default holds.
fn set(root: &mut serde_json::Value, path: &str, text: &str) -> Result<(), InputError> {
    let bad = |why: &str| InputError::new(path, why.to_string());
    if text.contains(['\n', '\r']) {
        return Err(bad("the value has more than one line; give a single line"));
    }
    // A TOML value (number, boolean, list, quoted text), or plain text.
    let value = match format!("v = {text}").parse::<toml::Table>() {
        Ok(table) => {
            finite(&table["v"], path)?;
            serde_json::to_value(&table["v"]).map_err(|e| bad(&e.to_string()))?
        }
        Err(_) => serde_json::Value::String(text.to_string()),
    };
    let is_taken_away = text.trim() == "null";
    let mut at = root;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let (key, mut rest) = part.find('[').map_or((part, ""), |i| part.split_at(i));
        if key.is_empty() {
            return Err(bad("not a path; separate keys with dots, such as switch.flow_control.pfc.xoff"));
        }
        if key.contains(']') {
            return Err(bad(
                "not a path; write an index in brackets after the list, such as workload[0].class",
            ));
        }
        if at.is_null() {
            *at = serde_json::json!({});
        }
        let table = at.as_object_mut().ok_or_else(|| bad("a part of this path is not a table"))?;
        if is_taken_away && parts.peek().is_none() && rest.is_empty() {
            table.remove(key);
            return Ok(());
        }
        at = table.entry(key).or_insert(serde_json::Value::Null);
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[').and_then(|r| r.split_once(']')).ok_or_else(|| {
                bad("not a path; write an index in brackets after the list, such as workload[0].class")
            })?;
            if !index.bytes().all(|b| b.is_ascii_digit()) {
                return Err(bad("an index is not a number"));
            }
            let n: usize = index.parse().map_err(|_| bad("an index is not a number"))?;
            let list = at.as_array_mut().ok_or_else(|| bad("the key before the index is not a list"))?;
            let length = list.len();
            at = list
                .get_mut(n)
                .ok_or_else(|| bad(&format!("index {n} is out of range; the list has {length}")))?;
            rest = after;
        }
    }
    *at = value;
    Ok(())
}

/// The JSON Schema of scenarios.
pub fn schema() -> serde_json::Value {
    serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR: &str = "[network.star]\nhosts = 2\nlink = { rate = \"100Gbps\", delay = \"1us\" }\n";

    fn error(more: &str) -> String {
        from_toml(&format!("{STAR}{more}"), &[]).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_what_and_what_would_be_right() {
        for (more, words) in [
            ("[switch]\ncolour = 1", "switch.colour: unknown key `colour`"),
            ("[switch.flow_control.pfc]\nxof = \"1KB\"", "switch.flow_control.pfc.xof: unknown key"),
            (
                "[switch]\nforwarding_latency = 3",
                "switch.forwarding_latency: 3 was given; a time as text with a unit",
            ),
            (
                "[switch]\nforwarding_latency = \"3kg\"",
                "switch.forwarding_latency: `kg` in `3kg` is not a unit of a time",
            ),
            (
                "[switch.flow_control.pfc]\nxoff = \"-1KB\"",
                "switch.flow_control.pfc.xoff: `-1KB` is negative",
            ),
            ("[switch]\nqueueing = \"xq\"", "switch.queueing: unknown choice `xq`"),
            (
                "[switch.flow_control.pfc]\nxoff = \"10KB\"\nxon = \"20KB\"",
                "switch.flow_control.pfc.xon: 20KB is not below",
            ),
            (
                "[[workload]]\nincast = { senders = [1], receiver = true, size = \"1MB\" }",
                "workload[0].incast.receiver: ",
            ),
            ("this is no toml", "line 4: this is not TOML"),
        ] {
            let found = error(more);
            assert!(found.contains(words), "{found}\nshould contain {words}");
        }
    }

    #[test]
    fn values_are_set_by_path() {
        let set = |k: &str, v: &str| from_toml(STAR, &[(k.into(), v.into())]);
        assert_eq!(
            set("switch.flow_control.pfc.xoff", "90KB")
                .unwrap()
                .switch
                .flow_control
                .pfc
                .unwrap()
                .xoff
                .unwrap()
                .0,
            90_000
        );
        assert_eq!(set("seed", "7").unwrap().seed, 7);
        assert!(set("sede", "7").unwrap_err().to_string().contains("unknown key"));
        for path in [
            "workload[3].class",
            "workload[0.class",
            "workload[]",
            "workload0].class",
            "workload[0]x",
            "workload[+0]",
            "a[0][",
            "[0]",
        ] {
            assert!(set(path, "1").is_err(), "{path}");
        }
        assert!(set("switch.flow_control.pfc", "null").is_ok(), "what is not there is taken away, too");
        let both = [
            ("switch.flow_control.pfc".to_string(), "{}".to_string()),
            ("switch.flow_control.pfc".into(), "null".into()),
        ];
        assert!(from_toml(STAR, &both).unwrap().switch.flow_control.pfc.is_none());
        assert!(set("network", "null").unwrap_err().to_string().contains("missing key `network`"));
        assert!(set("seed", "1\nname = 2").unwrap_err().to_string().contains("more than one line"));
    }

    #[test]
    fn what_is_resolved_reads_back() {
        let s = from_toml(STAR, &[]).unwrap();
        let text = serde_json::to_string(&s).unwrap();
        assert_eq!(from_json(&text, &[]).unwrap(), s);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_error_or_a_scenario(text in ".{0,200}") {
            let _ = from_toml(&text, &[]);
            let _ = from_json(&text, &[]);
        }
    }
}
