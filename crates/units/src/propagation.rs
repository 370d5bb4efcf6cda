//! Propagation delays, which may be written as the length of a cable.

use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::Duration;
use crate::quantity::{ParseQuantityError, parse};

/// A time, or a length at 5 ns per metre: the speed of light in fibre (refractive index 1.5), and about the
/// speed of a signal in copper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagation(pub Duration);

const UNITS: &[(&str, u128)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("m", 5_000),
    ("km", 5_000_000),
];

impl FromStr for Propagation {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, "a delay or a length", "150ns", UNITS, Duration::MAX.0).map(|ps| Self(Duration(ps)))
    }
}

impl<'de> Deserialize<'de> for Propagation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Propagation;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a delay or a length as text with a unit, such as \"150ns\" or \"30m\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Propagation, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl Propagation {
    /// For a [`Duration`] field: `#[serde(deserialize_with = …)]`.
    pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Self::deserialize(deserializer).map(|delay| delay.0)
    }

    /// For an optional field.
    pub fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<Self>::deserialize(deserializer).map(|delay| delay.map(|d| d.0))
    }
}

impl JsonSchema for Propagation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Propagation".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let units = UNITS.iter().map(|u| u.0).collect::<Vec<_>>().join("|");
        json_schema!({
            "type": "string",
            "description": "a delay such as \"150ns\", or a length such as \"30m\", at 5 ns per metre",
            "pattern": format!("^[0-9][0-9_]*(\\.[0-9]+)? ?({units})$|^0$"),
            "examples": ["150ns", "30m"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_its_delay_at_5_ns_a_metre() {
        let ps = |text: &str| text.parse::<Propagation>().map(|d| d.0.0);
        assert_eq!(ps("3m"), Ok(15_000));
        assert_eq!(ps("0.5m"), Ok(2_500));
        assert_eq!(ps("2km"), Ok(10_000_000));
        assert_eq!(ps("2ms"), Ok(2_000_000_000));
        assert_eq!(ps("0"), Ok(0));
        assert!(ps("3mm").unwrap_err().to_string().contains("allowed are ps, ns, us, ms, s, m, km"));
    }
}
