//! Hosts in workloads: by number or by name.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A host by number or by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Host {
    /// The n-th host.
    Number(u64),
    /// The name.
    Name(String),
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Host;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the number or the name of a host, such as 8 or \"host8\"")
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Host, E> {
                Ok(Host::Number(n))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Host, E> {
                u64::try_from(n)
                    .map(Host::Number)
                    .map_err(|_| E::custom(format!("{n} is not a host's number")))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Host, E> {
                Ok(Host::Name(name.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Host {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Host".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "description": "the number or the name of a host" })
    }
}
