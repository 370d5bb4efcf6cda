//! Moments, durations and sizes: integers with units, parsed from and printed as text.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer as SerdeSerializer, de};

/// Why a text is not a quantity; prints as a full sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseQuantityError(pub String);

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseQuantityError {}

/// Maximum number of characters of a quantity; a longer text is not shown.
const LONGEST: usize = 100;

/// Parses `<decimal number><unit>` exactly. `units` maps a unit to the number of base units.
pub(crate) fn parse(
    text: &str,
    what: &str,
    example: &str,
    units: &[(&str, u128)],
    max: u64,
) -> Result<u64, ParseQuantityError> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Err(ParseQuantityError(format!(
            "a text of {} characters is too large for {what}; write one such as \"{example}\"",
            text.len()
        )));
    }
    let allowed = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    if text.starts_with('-') {
        return Err(ParseQuantityError(format!(
            "`{text}` is negative; {what} must be zero or more, such as \"{example}\""
        )));
    }
    if number.is_empty() || number == "." || number.matches('.').count() > 1 {
        return Err(ParseQuantityError(format!(
            "`{text}` is not {what}; write a number and a unit, such as \"{example}\""
        )));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let zero = number.bytes().all(|b| b == b'0' || b == b'.');
    let scale = match units.iter().find(|u| u.0 == unit) {
        Some(found) => found.1,
        None if unit.is_empty() && zero => 1,
        None if unit.is_empty() => {
            return Err(ParseQuantityError(format!(
                "`{text}` has no unit; {what} needs one of {}, such as \"{example}\"",
                allowed()
            )));
        }
        None => {
            return Err(ParseQuantityError(format!(
                "`{unit}` in `{text}` is not a unit of {what}; allowed are {}",
                allowed()
            )));
        }
    };
    let too_large = || ParseQuantityError(format!("`{text}` is too large for {what}"));
    if whole.len() > 24 || fraction.len() > 15 {
        return Err(too_large());
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    let denominator = 10u128.pow(fraction.len() as u32);
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| too_large())? };
    let part = part * scale;
    if !part.is_multiple_of(denominator) {
        return Err(ParseQuantityError(format!("`{text}` is finer than the smallest step of {what}")));
    }
    let value =
        whole.checked_mul(scale).and_then(|v| v.checked_add(part / denominator)).ok_or_else(too_large)?;
    u64::try_from(value).ok().filter(|v| *v <= max).ok_or_else(too_large)
}

/// Prints with the largest unit that keeps the number exact and short.
///
/// A number that is no whole multiple of 1000 of a decimal unit is printed with a binary unit if divisible,
/// otherwise with the smallest unit: 400KB, 64KiB, 1048B.
pub(crate) fn print(value: u64, units: &[(&str, u128)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = u128::from(value);
    // A unit is short enough when at most three decimals are left.
    let decimal = || {
        units
            .iter()
            .rev()
            .find(|(_, s)| is_decimal(*s) && *s > 1 && value >= *s && (value * 1000).is_multiple_of(*s))
    };
    let binary = || units.iter().rev().find(|(_, s)| !is_decimal(*s) && value.is_multiple_of(*s));
    let has_binary = units.iter().any(|(_, s)| !is_decimal(*s));
    let (unit, scale) = match value {
        0 => units[0],
        _ if value.is_multiple_of(1000) || !has_binary => *decimal().unwrap_or(&units[0]),
        _ => *binary().unwrap_or(&units[0]),
    };
    let (whole, rest) = (value / scale, value % scale * 1000 / scale);
    if rest == 0 {
        write!(f, "{whole}{unit}")
    } else {
        let digits = format!("{rest:03}");
        write!(f, "{whole}.{}{unit}", digits.trim_end_matches('0'))
    }
}

const fn is_decimal(mut scale: u128) -> bool {
    while scale > 1 && scale.is_multiple_of(10) {
        scale /= 10;
    }
    scale == 1
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident as $schema:literal, $what:literal, $example:literal, $units:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);
            /// Largest value in a scenario.
            pub const MAX: Self = Self($max);

            /// To reckon with; exact below 2^53.
            #[inline]
            #[must_use]
            pub const fn real(self) -> f64 {
                self.0 as f64
            }

            /// Returns a computed value without its fraction, limited to 0 and 64 bits.
            #[inline]
            #[must_use]
            pub const fn of_real(value: f64) -> Self {
                Self(value as u64)
            }

            pub(crate) const UNITS: &'static [(&'static str, u128)] = $units;
        }

        impl FromStr for $name {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse(text, $what, $example, Self::UNITS, $max).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(self.0, Self::UNITS, f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, concat!($what, " as text with a unit, such as \"", $example, "\""))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        impl Serialize for $name {
            fn serialize<S: SerdeSerializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units = Self::UNITS.iter().map(|u| u.0).collect::<Vec<_>>().join("|");
                json_schema!({
                    "type": "string",
                    "description": concat!($what, ", such as \"", $example, "\""),
                    "pattern": format!("^[0-9][0-9_]*(\\.[0-9]+)? ?({units})$|^0$"),
                    "examples": [$example]
                })
            }
        }
    };
}
pub(crate) use quantity;

/// Units of moments and durations, in picoseconds.
const TIMES: &[(&str, u128)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
/// 2^48 ps (281 s) bounds a simulation.
const LONGEST_TIME: u64 = (1 << 48) - 1;

quantity!(
    /// A moment: integer picoseconds since the start of the run.
    Moment as "Time", "a time", "150ns", TIMES, LONGEST_TIME
);

quantity!(
    /// A duration: integer picoseconds.
    Duration as "Time", "a time", "150ns", TIMES, LONGEST_TIME
);

quantity!(
    /// A number of bytes.
    Bytes as "Bytes", "a size", "400KB",
    &[("B", 1), ("KB", 1_000), ("KiB", 1_024), ("MB", 1_000_000), ("MiB", 1 << 20), ("GB", 1_000_000_000), ("GiB", 1 << 30), ("TB", 1_000_000_000_000)],
    1 << 50
);

/// Defines moments and durations with their conversions.
macro_rules! times {
    ($($name:ident)*) => {
        $(impl $name {
            /// Whole nanoseconds.
            pub const fn ns(n: u64) -> Self {
                Self(n * 1_000)
            }

            /// Whole microseconds.
            pub const fn us(n: u64) -> Self {
                Self(n * 1_000_000)
            }

            /// Whole milliseconds.
            pub const fn ms(n: u64) -> Self {
                Self(n * 1_000_000_000)
            }

            /// Picoseconds.
            pub const fn ps(self) -> u64 {
                self.0
            }

            /// Subtracts a duration; zero for a longer duration.
            #[must_use]
            pub const fn saturating_sub(self, other: Duration) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// Seconds, for rates and for reading.
            pub fn seconds(self) -> f64 {
                self.0 as f64 / 1e12
            }
        }

        // A sum beyond the largest value is the largest value, which stands for *never* and *for ever*. A time of a
        // plug-in may be any, and a sum that wraps would make a stopped flow send immediately.
        impl Add<Duration> for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Duration) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign<Duration> for $name {
            #[inline]
            fn add_assign(&mut self, other: Duration) {
                *self = *self + other;
            }
        }

        impl Sub<Duration> for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Duration) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Rem<Duration> for $name {
            type Output = Duration;
            fn rem(self, other: Duration) -> Duration {
                Duration(self.0 % other.0)
            }
        })*
    };
}

times! { Moment Duration }

impl Moment {
    /// Later than every moment.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the duration since another moment; zero for a later moment.
    #[must_use]
    pub const fn since(self, other: Self) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Sub for Moment {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Self) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Duration {
    /// Longer than every duration.
    pub const FOREVER: Self = Self(u64::MAX);
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_units_exactly() {
        assert_eq!("150ns".parse(), Ok(Duration::ns(150)));
        assert_eq!("2.5us".parse(), Ok(Duration(2_500_000)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
        assert_eq!("1.048 KB".parse(), Ok(Bytes(1_048)));
        assert_eq!("4KiB".parse(), Ok(Bytes(4_096)));
        assert_eq!("20.48MB".parse(), Ok(Bytes(20_480_000)));
    }

    #[test]
    fn prints_sizes_as_people_write_them() {
        for text in [
            "0B", "1B", "64B", "999B", "1KB", "1048B", "4KiB", "64KiB", "400KB", "1.5MB", "20.48MB", "32MiB",
            "1536KiB", "1GiB",
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        for text in ["0ps", "150ns", "2.5us", "281s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, words) in [
            ("150", "has no unit"),
            ("150kbit", "is not a unit of a time"),
            ("-3us", "is negative"),
            ("ns", "is not a time"),
            ("1.2.3us", "is not a time"),
            ("0.5ps", "finer than"),
            ("99999999999s", "too large"),
            ("", "is not a time"),
        ] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn printing_reads_back(value in 0..=Duration::MAX.0, size in 0..=Bytes::MAX.0) {
            prop_assert_eq!(Duration(value).to_string().parse(), Ok(Duration(value)));
            prop_assert_eq!(Bytes(size).to_string().parse(), Ok(Bytes(size)));
        }

        #[test]
        fn any_text_is_refused_or_read(text in ".{0,24}") {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Bytes>();
        }
    }
}
