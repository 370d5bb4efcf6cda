//! The response time of a station to a pause: from the last bit of the pause to the last moment at which the
//! station begins a frame.
//! Source: IEEE Std 802.3, 31B.3.7, whose limits are in quanta of 512 bit times, by rate.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xoff_units::{Duration, Rate};

/// The text for the limits of 802.3.
const STANDARD: &str = "802.3";

/// Bits of a pause quantum.
pub const BITS_A_QUANTUM: u64 = 512;

/// Rates in Mb/s, and the quanta within which a station stops.
const QUANTA: [(u64, u64); 11] = [
    (1_000, 2),
    (2_500, 67),
    (5_000, 67),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
    (800_000, 905),
];

/// A response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// The same time at each rate.
    Time(Duration),
    /// The limit of 802.3 for the rate of the link.
    Standard,
}

impl Response {
    /// Returns the time at a rate; none if 802.3 has no limit for the rate.
    pub fn time(self, rate: Rate) -> Option<Duration> {
        match self {
            Self::Time(time) => Some(time),
            Self::Standard => QUANTA
                .iter()
                .find(|(mbps, _)| mbps * 1_000_000 == rate.0)
                .map(|(_, quanta)| rate.time(quanta * BITS_A_QUANTUM / 8)),
        }
    }

    /// Returns the limits of 802.3: rates in Mb/s, and the quanta within which a station stops.
    pub const fn limits() -> &'static [(u64, u64)] {
        &QUANTA
    }

    /// Returns the rates for which 802.3 has a limit, as text.
    pub fn rates() -> String {
        QUANTA.map(|(mbps, _)| Rate(mbps * 1_000_000).to_string()).join(", ")
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Time(time) => time.serialize(serializer),
            Self::Standard => serializer.serialize_str(STANDARD),
        }
    }
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Response;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a time as text with a unit, such as \"2us\", or \"802.3\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Response, E> {
                if text == STANDARD {
                    return Ok(Response::Standard);
                }
                text.parse().map(Response::Time).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Response {
    fn schema_name() -> Cow<'static, str> {
        "Response".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a time such as \"2us\", or \"802.3\": the limit of IEEE Std 802.3, 31B.3.7, for the rate",
            "pattern": "^[0-9][0-9_]*(\\.[0-9]+)? ?(ps|ns|us|ms|s)$|^0$|^802\\.3$",
            "examples": ["2us", "802.3"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_standard_are_quanta_of_512_bit_times() {
        // 394 quanta of 512 bits at 100 Gb/s, and 905 at 400 Gb/s.
        let gbps = |n: u64| Rate(n * 1_000_000_000);
        assert_eq!(Response::Standard.time(gbps(100)), Some(Duration(394 * 512 * 10)));
        assert_eq!(Response::Standard.time(gbps(400)), Some(Duration(905 * 512 * 10 / 4)));
        assert_eq!(Response::Standard.time(gbps(101)), None);
        assert_eq!(Response::Time(Duration::us(2)).time(gbps(101)), Some(Duration::us(2)));
    }

    #[test]
    fn texts_are_read_and_written() {
        let read = |text: &str| serde_json::from_str::<Response>(text);
        assert_eq!(read("\"802.3\"").unwrap(), Response::Standard);
        assert_eq!(read("\"2us\"").unwrap(), Response::Time(Duration::us(2)));
        assert!(read("\"803.3\"").is_err() && read("2").is_err());
        for one in [Response::Standard, Response::Time(Duration::us(2))] {
            assert_eq!(read(&serde_json::to_string(&one).unwrap()).unwrap(), one);
        }
    }
}
