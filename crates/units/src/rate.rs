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
        let (mut divisor, mut rest) = (BIT_PS, self.0);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Serializer { ps: BIT_PS / divisor, bytes: self.0 / divisor }
    }
}

/// Frames of fewer bytes are converted with 64 bits: `BIT_PS` has 43 bits.
const SHORT: u64 = 1 << 20;

/// Converts bytes to picoseconds at one rate.
///
/// At rates with a whole number of picoseconds per byte (all Ethernet rates from 10 Mb/s to 1.6 Tb/s except
/// 56 Gb/s) the time is exact. At other rates the time of each frame is rounded up separately, and rounding
/// does not depend on earlier frames.
#[derive(Debug, Clone, Copy)]
pub struct Serializer {
    /// The picoseconds of `bytes` bytes, in lowest terms; no bytes at a rate of zero.
    ps: u64,
    bytes: u64,
}

impl Serializer {
    /// The time of `bytes`.
    #[inline]
    pub fn time(self, bytes: u64) -> Duration {
        if self.bytes == 1 {
            Duration(bytes.saturating_mul(self.ps))
        } else if self.bytes > 0 && bytes < SHORT {
            Duration((bytes * self.ps).div_ceil(self.bytes))
        } else {
            self.rounded(bytes)
        }
    }

    #[cold]
    fn rounded(self, bytes: u64) -> Duration {
        if self.bytes == 0 {
            return Duration::FOREVER;
        }
        let time = (u128::from(bytes) * u128::from(self.ps)).div_ceil(u128::from(self.bytes));
        Duration(time.min(u128::from(u64::MAX)) as u64)
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
        // 2.88 Tb/s: 25/9 ps a byte; short frames and long messages round alike.
        for bytes in [1, 64, 4_154, SHORT - 1, SHORT, 3 * SHORT + 7] {
            assert_eq!(Rate::gbps(2880).time(bytes), Duration((25 * bytes).div_ceil(9)));
        }
        assert_eq!(Rate(0).time(1), Duration::FOREVER);
    }
}
