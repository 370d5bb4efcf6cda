//! What all flows of a host share: how payload becomes frames, and which class a flow gets.

use xoff_engine::random::mix;
use xoff_units::Bytes;

use crate::workload::FlowSpec;

/// How payload becomes frames, in bytes.
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
        let rest = size - u64::from(seq) * self.payload;
        (rest.min(self.payload) + self.header).max(self.minimum) as u16
    }

    /// The largest packet.
    pub fn largest(&self) -> u64 {
        (self.payload + self.header).max(self.minimum)
    }

    /// Bytes on the wire for a whole flow.
    pub fn wire_bytes(&self, size: u64) -> u64 {
        let full = size / self.payload;
        let rest = size % self.payload;
        let last = if rest > 0 || full == 0 { (rest + self.header).max(self.minimum) } else { 0 };
        full * self.largest() + last
    }
}

/// `host.classify`: which class a flow gets, when it is not that of its workload. The first rule that fits holds.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Classify {
    /// Flows below a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mice: Option<Mice>,
    /// Spread the others over this many classes from 0 on, by a hash of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_destination: Option<u8>,
}

/// `host.classify.mice`
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mice {
    /// Flows of less payload than this …
    pub below: Bytes,
    /// … are of this class.
    pub class: u8,
}

impl Classify {
    /// The class of a new flow.
    pub fn class(&self, spec: &FlowSpec) -> u8 {
        match (self.mice, self.by_destination) {
            (Some(mice), _) if spec.size < mice.below.0 => mice.class,
            (_, Some(classes)) => (mix(u64::from(spec.dst)) % u64::from(classes)) as u8,
            _ => spec.class,
        }
    }
}
