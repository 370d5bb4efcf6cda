//! Reading of scenarios: from text to document, with errors that name key, problem and remedy.

use std::cmp::Reverse;

use serde::de::DeserializeOwned;

use crate::deserialize::{ValueError, parse};
use crate::diagnostics;
use crate::document::Scenario;
use crate::error::{InputError, InputErrors};
use crate::validate::{MAX_WORKLOADS, validate};

/// Text in the place of a value that removes a value or an element of a list.
const NOTHING: &str = "null";

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
        // A value set on top of the text has no line, and neither has a table that only such a value made.
        let is_below = |path: &str, key: &str| {
            path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let plain: serde_json::Value = toml::from_str(text).unwrap_or_default();
        let is_set = |path: &str| {
            overrides.iter().any(|(key, _)| {
                is_below(path, key) || (is_below(key, path) && plain.pointer(&pointer(path)).is_none())
            })
        };
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
    let is_element = |path: &str, text: &str| path.ends_with(']') && text.trim() == NOTHING;
    for (path, text) in overrides.iter().filter(|(path, text)| !is_element(path, text)) {
        set(&mut value, path, text)?;
    }
    // Elements of lists leave last, the last first: until then every index means what it means in the text.
    let mut elements: Vec<&str> = overrides
        .iter()
        .filter(|(path, text)| is_element(path, text))
        .map(|(path, _)| path.as_str())
        .collect();
    elements.sort_by_key(|path| Reverse(pieces(path)));
    elements.dedup_by_key(|path| pieces(path));
    for path in &elements {
        remove(&mut value, path)?;
    }
    read(value).map_err(|mut wrong| {
        for error in &mut wrong.0 {
            error.path = path_before(&error.path, &elements);
            if let Some(change) = &mut error.change {
                change.key = path_before(&change.key, &elements);
            }
        }
        wrong
    })
}

/// Returns a path with the indices of the text: before these elements were removed, the last first.
fn path_before(path: &str, removed: &[&str]) -> String {
    removed.iter().rev().fold(path.to_string(), |path, element| {
        let Some((list, index)) = element.rsplit_once('[') else { return path };
        let found = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')?.split_once(']'));
        match (found.and_then(|(at, _)| at.parse::<usize>().ok()), index.trim_end_matches(']').parse()) {
            (Some(at), Ok(gone)) if at >= gone => {
                format!("{list}[{}]{}", at + 1, found.map_or("", |(_, rest)| rest))
            }
            _ => path,
        }
    })
}

fn read(value: serde_json::Value) -> Result<Scenario, InputErrors> {
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

/// Returns the keys and indices of a path: `workload[0].incast` has three.
fn pieces(path: &str) -> Vec<Result<usize, &str>> {
    let parts = path.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    parts.map(|part| part.parse().map_err(|_| part)).collect()
}

/// Returns the path as a JSON pointer (RFC 6901).
fn pointer(path: &str) -> String {
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let piece = |piece: Result<usize, &str>| piece.map_or_else(escaped, |index| index.to_string());
    let pieces: Vec<String> = pieces(path).into_iter().map(piece).collect();
    format!("/{}", pieces.join("/"))
}

/// Removes an element of a list.
fn remove(root: &mut serde_json::Value, path: &str) -> Result<(), InputError> {
    // Checks the path; the element is null afterwards.
    set(root, path, NOTHING)?;
    let (list, index) = path.rsplit_once('[').unwrap_or((path, ""));
    let found = root.pointer_mut(&pointer(list)).and_then(serde_json::Value::as_array_mut);
    if let (Some(found), Ok(index)) = (found, index.trim_end_matches(']').parse()) {
        let _: serde_json::Value = found.remove(index);
    }
    Ok(())
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
    let is_taken_away = text.trim() == NOTHING;
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
    let mut schema = serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default();
    schema["$id"] = format!("urn:xoff:scenario:{}", env!("CARGO_PKG_VERSION")).into();
    schema
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
    fn elements_of_lists_leave_after_all_settings() {
        let text = format!(
            "{STAR}{}",
            ["a", "b", "c"].map(|name| format!("[[workload]]\nname = \"{name}\"\nflows = []\n")).concat()
        );
        let names = |set: &[(&str, &str)]| {
            let pairs: Vec<_> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            from_toml(&text, &pairs)
                .map(|found| found.workload.into_iter().filter_map(|one| one.name).collect::<Vec<_>>())
                .map_err(|wrong| wrong.to_string())
        };
        // Every index is that of the text: `workload[2]` is `c` after `workload[0]` has left, too.
        let found = names(&[("workload[0]", "null"), ("workload[2].name", "d"), ("workload[1]", "null")]);
        assert_eq!(found.unwrap(), ["d"]);
        assert_eq!(names(&[("workload[1]", "null"), ("workload[1]", "null")]).unwrap(), ["a", "c"]);
        assert_eq!(names(&[("workload[0]", "null"), ("workload[0].name", "x")]).unwrap(), ["b", "c"]);
        assert_eq!(names(&[("workload[1]", "null"), ("workload[01]", "null")]).unwrap(), ["a", "c"]);
        // A message has the index of the text, too.
        for (gone, at) in
            [(&["workload[0]"][..], 2), (&["workload[1]", "workload[0]"], 2), (&["workload[2]"], 1)]
        {
            let start = format!("workload[{at}].start");
            let mut set: Vec<_> = gone.iter().map(|path| (*path, "null")).collect();
            set.push((&start, "5XB"));
            let wrong = names(&set).unwrap_err();
            assert!(wrong.contains(&format!("workload[{at}].start: ")) && !wrong.contains("line"), "{wrong}");
        }
        let wrong = names(&[("workload[3]", "null")]).unwrap_err();
        assert!(wrong.contains("index 3 is out of range; the list has 3"), "{wrong}");
    }

    #[test]
    fn a_table_that_a_setting_made_has_no_line() {
        let text = format!("{STAR}[[workload]]\nflows = []\n");
        let wrong =
            from_toml(&text, &[("workload[0].incast.size".into(), "1MB".into())]).unwrap_err().to_string();
        assert!(wrong.contains("workload[0].incast: missing key `senders`"), "{wrong}");
        assert!(!wrong.contains("line"), "{wrong}");
        let wrong = from_toml(&text, &[("workload[0].flows".into(), "3".into())]).unwrap_err().to_string();
        assert!(!wrong.contains("line"), "{wrong}");
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
