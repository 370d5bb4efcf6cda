//! From a JSON value to the types of the document, with errors in words of the user that name the key.
//!
//! The reader replaces serde's own: serde names Rust types (`u64`, `struct Params`), and accepts a list in
//! place of a table.

use std::fmt::Display;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// A problem, with the path of the key below the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// Path of the key; empty for the value itself.
    pub path: String,
    /// The problem, and the remedy.
    pub message: String,
}

/// Reads a value.
pub fn parse<T: de::DeserializeOwned>(value: Value) -> Result<T, ValueError> {
    T::deserialize(Reader(value))
}

impl ValueError {
    fn below(mut self, key: &str) -> Self {
        let key = shown(key);
        self.path = match self.path.chars().next() {
            None => key,
            Some('[') => format!("{key}{}", self.path),
            Some(_) => format!("{key}.{}", self.path),
        };
        self
    }
}

impl Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for ValueError {}

/// Returns the expected type in words of the user.
fn wanted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    let plain = match text.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, zero or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        _ if text.starts_with("struct ") => "a table",
        _ => {
            return match text.strip_prefix("a tuple of size ") {
                Some(size) => format!("a list of {size}"),
                None => text,
            };
        }
    };
    plain.to_string()
}

fn given(unexpected: &Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("`{}`", shown(text)),
        Unexpected::Unit => "nothing".into(),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    }
}

/// Returns a text of the user for a message: one line, limited in length.
pub fn shown(text: &str) -> String {
    let mut made: String = text
        .chars()
        .take(SHOWN)
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        made.push('…');
    }
    made
}

/// Maximum number of shown characters of a text of the user.
const SHOWN: usize = 200;

/// Common names of keys with another name here.
const ALIASES: &[(&str, &str)] = &[
    ("ci", "congestion_isolation"),
    ("duration", "until"),
    ("flow_size", "size"),
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("latency", "delay"),
    ("mtu", "payload"),
    ("gbn", "go_back_n"),
];

/// Returns the nearest key: an alias, or the most similar key.
fn nearest<'a>(field: &str, expected: &[&'a str]) -> Option<&'a str> {
    let plain = field.to_lowercase();
    let alias =
        ALIASES.iter().filter(|a| a.0 == plain).find_map(|a| expected.iter().find(|name| **name == a.1));
    let similar = || {
        let near = expected
            .iter()
            .map(|name| (strsim::jaro_winkler(&plain, name), name))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        near.filter(|n| n.0 > 0.8).map(|n| n.1)
    };
    alias.or_else(similar).copied()
}

fn choices(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.as_slice() {
        [] => "none".into(),
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        many => many.join(", "),
    }
}

fn allowed(names: &[&str]) -> String {
    format!("allowed {} {}", if names.len() > 1 { "are" } else { "is" }, choices(names))
}

impl de::Error for ValueError {
    fn custom<T: Display>(message: T) -> Self {
        let message = message.to_string();
        // The reader of a plug-in's parameters passes on the text of an error, which begins with the path.
        let is_path = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c));
        match message.split_once(": ") {
            Some((path, rest)) if !path.is_empty() && is_path(path) => {
                Self { path: path.to_string(), message: rest.to_string() }
            }
            _ => Self { path: String::new(), message },
        }
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("{} was given; {} is needed", given(&unexpected), wanted(expected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("{} is out of range; {} is needed", given(&unexpected), wanted(expected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("a list of {length} was given; {} is needed", wanted(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("unknown choice `{}`; {}", shown(variant), allowed(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let meant =
            nearest(field, expected).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        Self::custom(format_args!("unknown key `{}`{meant}; {}", shown(field), allowed(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("missing key `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format_args!("the key `{field}` is given twice"))
    }
}

struct Reader(Value);

impl<'de> Deserializer<'de> for Reader {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, Some(value)) => visitor.visit_f64(value),
                _ => Err(de::Error::custom(format_args!("{number} is not a readable number"))),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(list) => {
                let length = list.len();
                let mut items = Items { list: list.into_iter(), next: 0 };
                let value = visitor.visit_seq(&mut items)?;
                match items.list.len() {
                    0 => Ok(value),
                    left => Err(de::Error::custom(format_args!(
                        "a list of {length} was given; a list of {} is needed",
                        length - left
                    ))),
                }
            }
            Value::Object(table) => visitor.visit_map(Entries { entries: table.into_iter(), next: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let _ = (name, fields);
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &"a table")),
            Value::Null => Err(de::Error::invalid_type(Unexpected::Unit, &"a table")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let wrong = |what: &str| {
            Err(de::Error::custom(format_args!(
                "{what} given; exactly one of {} is needed",
                variants.join(", ")
            )))
        };
        match self.0 {
            Value::String(name) => visitor.visit_enum(Choice { name, value: None }),
            Value::Object(table) => {
                let count = table.len();
                let mut entries = table.into_iter();
                match (entries.next(), count) {
                    (Some((name, value)), 1) => visitor.visit_enum(Choice { name, value: Some(value) }),
                    (None, _) => wrong("an empty table was"),
                    (Some(first), _) => {
                        let names: Vec<String> =
                            std::iter::once(first.0).chain(entries.map(|e| e.0)).collect();
                        wrong(&format!("{} are", names.join(" and ")))
                    }
                }
            }
            Value::Array(_) => wrong("a list was"),
            Value::Null => wrong("nothing was"),
            Value::Bool(value) => wrong(&format!("{value} was")),
            Value::Number(number) => wrong(&format!("{number} was")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map identifier ignored_any
    }
}

struct Items {
    list: std::vec::IntoIter<Value>,
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut Items {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(value) = self.list.next() else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Reader(value)).map(Some).map_err(|e| e.below(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len())
    }
}

struct Entries {
    entries: serde_json::map::IntoIter,
    next: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        self.next = self.entries.next();
        let Some((key, _)) = &self.next else { return Ok(None) };
        seed.deserialize(StrDeserializer::<ValueError>::new(key)).map(Some).map_err(|e| e.below(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let (key, value) = self.next.take().unwrap_or_default();
        seed.deserialize(Reader(value)).map_err(|e| e.below(&key))
    }
}

struct Choice {
    name: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for Choice {
    type Error = ValueError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ValueError> {
        let is_table = self.value.is_some();
        let variant = seed.deserialize(StrDeserializer::<ValueError>::new(&self.name));
        // The key of a table has a path of its own. A text is the value of its key.
        Ok((variant.map_err(|e| if is_table { e.below(&self.name) } else { e })?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        match self.value {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(<ValueError as de::Error>::custom(format_args!(
                "`{}` has no settings; write it as text",
                self.name
            ))
            .below(&self.name)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        let Some(value) = self.value else {
            return Err(de::Error::custom(format_args!(
                "`{}` alone says too little; write {{ {} = … }}",
                self.name, self.name
            )));
        };
        seed.deserialize(Reader(value)).map_err(|e| e.below(&self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        Reader(self.value.unwrap_or_default()).deserialize_any(visitor).map_err(|e| e.below(&self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        Reader(self.value.unwrap_or_default())
            .deserialize_struct("", fields, visitor)
            .map_err(|e| e.below(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        count: u8,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Which {
        Plain,
        Other(Inner),
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        flag: bool,
        share: f64,
        list: Vec<Inner>,
        pairs: Vec<(f64, f64)>,
        inner: Option<Inner>,
        which: Option<Which>,
        text: Option<String>,
    }

    #[test]
    fn reads_what_is_right() {
        let read: Outer = parse(serde_json::json!({
            "flag": true, "share": 1, "list": [{ "count": 1 }], "pairs": [[0, 1.5]], "inner": null, "which": { "other": { "count": 2 } }
        }))
        .unwrap();
        assert_eq!(read.pairs, [(0.0, 1.5)]);
        assert_eq!((read.share, read.inner, read.which), (1.0, None, Some(Which::Other(Inner { count: 2 }))));
        assert_eq!(
            parse::<Outer>(serde_json::json!({ "which": "plain" })).unwrap().which,
            Some(Which::Plain)
        );
    }

    #[test]
    fn says_where_and_what_in_plain_words() {
        for (json, words) in [
            (r#"{"flag": 1}"#, "flag: 1 was given; true or false is needed"),
            (r#"{"share": "x"}"#, "share: `x` was given; a number is needed"),
            (r#"{"share": null}"#, "share: nothing was given; a number is needed"),
            (r#"{"inner": [1]}"#, "inner: a list was given; a table is needed"),
            (r#"{"inner": true}"#, "inner: true was given; a table is needed"),
            (
                r#"{"inner": {"count": 300}}"#,
                "inner.count: 300 is out of range; a whole number from 0 to 255 is needed",
            ),
            (
                r#"{"inner": {"count": 1.5}}"#,
                "inner.count: 1.5 was given; a whole number from 0 to 255 is needed",
            ),
            (r#"{"inner": {}}"#, "inner: missing key `count`"),
            (
                r#"{"inner": {"coun": 1}}"#,
                "inner.coun: unknown key `coun` (did you mean `count`?); allowed is `count`",
            ),
            (r#"{"list": {}}"#, "list: a table was given; a list is needed"),
            (r#"{"list": [{"count": 1}, [2]]}"#, "list[1]: a list was given; a table is needed"),
            (r#"{"pairs": [[1, 2], [3]]}"#, "pairs[1]: a list of 1 was given; a list of 2 is needed"),
            (r#"{"pairs": [[1, 2, 3]]}"#, "pairs[0]: a list of 3 was given; a list of 2 is needed"),
            (r#"{"text": 5}"#, "text: 5 was given; a text is needed"),
            (r#"{"which": "no"}"#, "which: unknown choice `no`; allowed are `plain` or `other`"),
            (r#"{"which": {"no": 1}}"#, "which.no: unknown choice `no`"),
            (
                r#"{"which": {"plain": 1, "other": 2}}"#,
                "which: plain and other are given; exactly one of plain, other is needed",
            ),
            (r#"{"which": {"other": {"count": -1}}}"#, "which.other.count: -1 is out of range"),
            (r#"{"which": {"plain": 1}}"#, "which.plain: `plain` has no settings"),
            (r#"{"which": "other"}"#, "which: `other` alone says too little"),
        ] {
            let error = parse::<Outer>(serde_json::from_str(json).unwrap()).unwrap_err().to_string();
            assert!(error.starts_with(words), "{json}: {error}");
        }
    }
}
