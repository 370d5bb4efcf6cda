//! The table `plugins` of a scenario: given parts of a kind, with their parameters.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::entry::{Entry, Params, PartKind};

/// A given part, with parameters.
struct One<V: 'static> {
    entry: &'static Entry<V>,
    params: Box<dyn Params>,
}

impl<V> Clone for One<V> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, params: self.params.clone() }
    }
}

/// Given parts of a kind, with their parameters: the table `plugins`.
pub struct Given<V: 'static>(Vec<One<V>>);

impl<V> Given<V> {
    /// Returns the given parts, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Entry<V>, &dyn Params)> {
        self.0.iter().map(|one| (one.entry, &*one.params))
    }

    /// Returns the key of a part in the table of its kind: `plugins.NAME` for a given part of a plug-in.
    pub fn key(&self, name: &str) -> String {
        let is_here = self.0.iter().any(|one| one.entry.name == name);
        if is_here { format!("plugins.{name}") } else { name.to_string() }
    }

    /// True without a given part.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the same parts with other parameters.
    #[must_use]
    pub(crate) fn map(&self, change: impl Fn(&'static Entry<V>, &dyn Params) -> Box<dyn Params>) -> Self {
        Self(self.iter().map(|(entry, params)| One { entry, params: change(entry, params) }).collect())
    }
}

impl<V> Default for Given<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Clone for Given<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Debug for Given<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(entry, params)| (entry.name, params))).finish()
    }
}

impl<V> PartialEq for Given<V> {
    fn eq(&self, other: &Self) -> bool {
        let is_equal = |a: &One<V>, b: &One<V>| a.entry.name == b.entry.name && a.params.is_equal(&*b.params);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| is_equal(a, b))
    }
}

impl<V> Serialize for Given<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (entry, params) in self.iter() {
            map.serialize_entry(entry.name, &Shown(params))?;
        }
        map.end()
    }
}

struct Shown<'a>(&'a dyn Params);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.0, serializer)
    }
}

impl<'de, V: PartKind> Deserialize<'de> for Given<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table(PhantomData))
    }
}

struct Table<V>(PhantomData<V>);

impl<'de, V: PartKind> Visitor<'de> for Table<V> {
    type Value = Given<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Given<V>, A::Error> {
        let mut given = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let entry = V::registry().iter().find(|entry| entry.name == key);
            let params = map.next_value_seed(OfEntry(entry))?;
            given.extend(entry.zip(params).map(|(entry, params)| One { entry, params }));
        }
        given.sort_by_key(|one| one.entry.name);
        Ok(Given(given))
    }
}

/// Reads the parameters of an entry.
struct OfEntry<V: 'static>(Option<&'static Entry<V>>);

impl<'de, V: PartKind> DeserializeSeed<'de> for OfEntry<V> {
    type Value = Option<Box<dyn Params>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Some(entry) = self.0 else {
            let known: Vec<&str> = V::registry().iter().map(|entry| entry.name).collect();
            let known = match known.as_slice() {
                [] => format!("no plug-in with a {} is installed", V::KIND),
                known => format!("plug-ins have {}", known.join(", ")),
            };
            return Err(Error::custom(format_args!(
                "unknown {}; {known}: add a plug-in with `xoff plugins build FOLDER`",
                V::KIND
            )));
        };
        let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(deserializer);
        (entry.read)(&mut erased).map(Some).map_err(Error::custom)
    }
}

impl<V: PartKind> JsonSchema for Given<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("PluginsOf{}", std::any::type_name::<V>()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for entry in V::registry().iter() {
            let mut schema = (entry.schema)(generator);
            schema.insert("description".into(), entry.about.into());
            properties.insert(entry.name.into(), schema.into());
        }
        json_schema!({ "type": "object", "additionalProperties": false, "properties": properties })
    }
}
