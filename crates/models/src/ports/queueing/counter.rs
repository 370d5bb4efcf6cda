//! Byte counts, with and without a watched level.

use xoff_engine::state;
/// Bytes in a queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauge {
    bytes: u32,
    peak: u32,
}

state!(Gauge {
    value: bytes;
    peak: peak;
});

impl Gauge {
    /// Adds bytes.
    #[inline]
    pub fn add(&mut self, bytes: u16) {
        self.bytes += u32::from(bytes);
        self.peak = self.peak.max(self.bytes);
    }

    /// Subtracts bytes.
    #[inline]
    pub fn sub(&mut self, bytes: u16) {
        self.bytes -= u32::from(bytes);
    }

    /// Returns the bytes now.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns the high-water mark.
    pub const fn peak(&self) -> u32 {
        self.peak
    }
}

/// Bytes from an ingress port. A test for a crossing costs one comparison: below the level the upward mark is
/// armed, above the level the downward mark.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    gauge: Gauge,
    up: u32,
    down: u32,
    high: u32,
    low: u32,
}

state!(Counter {
    part: gauge;
    value: up, down;
    constant: high, low;
});

impl Default for Counter {
    fn default() -> Self {
        Self { gauge: Gauge::default(), up: u32::MAX, down: 0, high: u32::MAX, low: 0 }
    }
}

impl Counter {
    /// Reports a crossing when the count reaches `high`, and a crossing when the count falls to `low`, in
    /// turn.
    pub fn watch(&mut self, high: u32, low: u32) {
        *self = Self { up: high, down: 0, high, low, ..*self };
    }

    /// Returns the level with reported upward crossings, if any.
    pub fn level(&self) -> Option<u32> {
        (self.high != u32::MAX).then_some(self.high)
    }

    /// Adds; true when the level was crossed upwards.
    #[inline]
    pub fn add(&mut self, bytes: u16) -> bool {
        self.gauge.add(bytes);
        if self.bytes() < self.up {
            return false;
        }
        self.up = u32::MAX;
        self.down = self.low + 1;
        true
    }

    /// Subtracts; true when the level was crossed downwards.
    #[inline]
    pub fn sub(&mut self, bytes: u16) -> bool {
        self.gauge.sub(bytes);
        if self.bytes() >= self.down {
            return false;
        }
        self.down = 0;
        self.up = self.high;
        true
    }

    /// Bytes now.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.gauge.bytes
    }

    /// Returns the high-water mark.
    pub const fn peak(&self) -> u32 {
        self.gauge.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crosses_up_at_high_and_down_at_low() {
        let mut c = Counter::default();
        assert_eq!(c.level(), None);
        c.watch(300, 100);
        assert_eq!(c.level(), Some(300));
        assert!(!c.add(299));
        assert!(c.add(1));
        assert!(!c.add(50));
        assert!(!c.sub(249));
        assert!(c.sub(1));
        assert!(!c.sub(50));
        assert!(c.add(300));
        assert_eq!((c.bytes(), c.peak()), (350, 350));
    }
}
