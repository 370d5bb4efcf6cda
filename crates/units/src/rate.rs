//! Link and flow rates, and the time a frame takes on a link.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer as SerdeSerializer, de};

use crate::Duration;
use crate::quantity::{ParseQuantityError, parse, print, quantity};

quantity!(
    /// Bits per second.
    Rate as "Rate", "a rate", "200Gbps",
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)],
    10_000_000_000_000
);

const BIT_PS: u64 = 8_000_000_000_000;

impl Rate {
    /// Whole gigabits per second.
    pub const fn gbps(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Returns the time of `bytes` at this rate, rounded up to a picosecond: never faster than the link.
    #[inline]
    pub fn time(self, bytes: u64) -> Duration {
        self.serializer().time(bytes)
    }

    /// Returns the bytes that fit into `time`, rounded down.
    pub fn bytes_in(self, time: Duration) -> u64 {
        (u128::from(self.0) * u128::from(time.0) / u128::from(BIT_PS)) as u64
    }

    /// Returns a precomputed divisor, for a link that serialises many frames.
    pub fn serializer(self) -> Serializer {
        let exact = self.0 > 0 && BIT_PS.is_multiple_of(self.0);
        Serializer { ps_per_byte: if exact { BIT_PS / self.0 } else { 0 }, bits_per_second: self.0 }
    }
}

/// Converts bytes to picoseconds at one rate.
///
/// At rates with a whole number of picoseconds per byte (all Ethernet rates from 10 Mb/s to 1.6 Tb/s except
/// 56 Gb/s) the time is exact. At other rates the time of each frame is rounded up separately, and rounding
/// does not depend on earlier frames.
#[derive(Debug, Clone, Copy)]
pub struct Serializer {
    ps_per_byte: u64,
    bits_per_second: u64,
}

impl Serializer {
    /// The time of `bytes`.
    #[inline]
    pub fn time(self, bytes: u64) -> Duration {
        if self.ps_per_byte != 0 { Duration(bytes * self.ps_per_byte) } else { self.rounded(bytes) }
    }

    #[cold]
    fn rounded(self, bytes: u64) -> Duration {
        let rate = u128::from(self.bits_per_second);
        if rate == 0 {
            return Duration::FOREVER;
        }
        Duration((u128::from(bytes) * u128::from(BIT_PS)).div_ceil(rate).min(u128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_800_gbps_is_10_ps() {
        assert_eq!(Rate::gbps(800).time(1), Duration(10));
        assert_eq!("1.6Tbps".parse::<Rate>().unwrap().time(1), Duration(5));
        assert_eq!("10Mbps".parse::<Rate>().unwrap().time(1), Duration(800_000));
        assert_eq!(Rate::gbps(100).time(1048), Duration(83_840));
    }

    #[test]
    fn uneven_rates_round_up_per_frame() {
        // 1000 B at 56 Gb/s are 142 857.14 ps.
        assert_eq!(Rate::gbps(56).time(1000), Duration(142_858));
        assert_eq!(Rate::gbps(200).bytes_in(Duration::ns(600)), 15_000);
    }
}
