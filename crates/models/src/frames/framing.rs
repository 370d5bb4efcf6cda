//! Framing: the sizes of frames for a given payload. Source: `docs/models/links.md`.

/// The sizes of frames, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: u64,
    /// Headers and gaps added to each.
    pub header: u64,
    /// A control frame.
    pub control: u16,
    /// No frame is smaller.
    pub minimum: u64,
}

impl Framing {
    /// Packets of a flow.
    pub fn packets(&self, size: u64) -> u64 {
        size.div_ceil(self.payload).max(1)
    }

    /// Wire size of a packet of a flow.
    #[inline]
    pub fn wire(&self, size: u64, seq: u32) -> u16 {
        self.frame((size - u64::from(seq) * self.payload).min(self.payload))
    }

    /// Wire size of a packet with this payload.
    #[inline]
    pub fn frame(&self, payload: u64) -> u16 {
        (payload + self.header).max(self.minimum) as u16
    }

    /// Wire size of all packets of a flow.
    pub fn whole(&self, size: u64) -> u64 {
        let last = self.packets(size) - 1;
        last * u64::from(self.wire(size, 0)) + u64::from(self.wire(size, last as u32))
    }

    /// The largest packet.
    pub fn largest(&self) -> u64 {
        (self.payload + self.header).max(self.minimum)
    }

    /// Full packets of 1250 bytes and control frames of 125: 100 ns and 10 ns at 100 Gb/s.
    #[cfg(any(test, feature = "testing"))]
    pub const fn for_tests() -> Self {
        Self { payload: 1000, header: 250, control: 125, minimum: 125 }
    }
}
