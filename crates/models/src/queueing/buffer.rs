//! Buffer admission: the decision of a node to accept a packet.
//! In a shared buffer each ingress port and class has a reserve, a share of the pool up to a dynamic
//! threshold, and headroom. Packets are released when their transmission starts.
//! Invariant: released bytes were admitted, so that every count returns to zero.
//! Source: `switch-mmu` of HPCC's public ns-3 code (`docs/models/switch_buffer.md`).

use crate::ids::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::Bytes;

/// `switch.buffer`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Params {
    /// Accepts every packet.
    #[default]
    Unlimited,
    /// A buffer of this size for each port: for its ingress traffic (`iq`, `voq`, `oq` with ingress
    /// accounting) or for its egress queues (`oq` with egress accounting).
    PerPort(Bytes),
    /// A buffer of this size for each ingress port and class where `per_port` counts ingress, and for each
    /// egress queue otherwise.
    PerQueue(Bytes),
    /// A buffer for the whole switch, with dynamic thresholds.
    Shared(Shared),
}

/// Bytes that are compared with thresholds, and owner of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// Bytes in the node that came by an ingress port.
    #[default]
    Ingress,
    /// Bytes in an egress queue, from all ports.
    Egress,
}

/// `switch.buffer.shared`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Memory of the switch.
    pub total: Bytes,
    /// Share of the pool's free bytes that a port and class may use (Choudhury, Hahne 1998).
    #[serde(default = "default_alpha")]
    pub alpha: f64,
    /// Memory reserved for each ingress port and class.
    #[serde(default = "default_reserve")]
    pub reserve: Bytes,
    /// Headroom of each ingress port and class. Default: computed from the port's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
}

fn default_alpha() -> f64 {
    0.125
}

fn default_reserve() -> Bytes {
    Bytes(4096)
}

/// The buffer of a node.
#[derive(Debug, Clone)]
pub enum Buffer {
    /// Accepts every packet.
    Unlimited,
    /// A limit on the bytes of each ingress port.
    PerIngress {
        /// Bytes a port may hold.
        limit: u32,
        /// Bytes each port holds.
        used: Vec<u32>,
        /// Bytes each group may hold; empty without limits of groups.
        caps: Vec<u32>,
    },
    /// A limit on the bytes of each egress port.
    PerEgress {
        /// Bytes a port may hold.
        limit: u32,
        /// Bytes each port holds.
        used: Vec<u32>,
        /// Bytes each group may hold; empty without limits of groups.
        caps: Vec<u32>,
    },
    /// A limit on the bytes of each ingress port and class, which the node counts.
    PerIngressClass(u32),
    /// A limit on the bytes of each egress queue, which the node counts.
    PerEgressQueue(u32),
    /// Dynamic thresholds.
    Shared(SharedBuffer),
}

impl State for Buffer {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        match self {
            Self::Unlimited | Self::PerIngressClass(_) | Self::PerEgressQueue(_) => {}
            Self::PerIngress { used, .. } | Self::PerEgress { used, .. } => {
                walk.value(used.word());
            }
            Self::Shared(shared) => shared.walk(walk),
        }
    }
}

/// Reserve, shared pool and headroom.
#[derive(Debug, Clone)]
pub struct SharedBuffer {
    pool: i64,
    reserve: i64,
    /// Of each ingress port and class.
    shares: Vec<Share>,
    shared_used: i64,
    /// Reserve and pool bytes of each ingress port and class.
    main: Vec<i64>,
    in_headroom: Vec<i64>,
    /// High-water marks: of the pool, and of the headroom of each ingress port and class.
    shared_peak: i64,
    headroom_peak: Vec<i64>,
}

state!(SharedBuffer {
    value: shared_used, main, in_headroom;
    peak: shared_peak;
    peaks: headroom_peak;
    constant: pool, reserve, shares;
});

/// Part of an ingress port and class in a shared buffer.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// Share of the pool's free bytes.
    pub alpha: f64,
    /// Bytes of headroom.
    pub headroom: i64,
}

impl SharedBuffer {
    /// With the share of each ingress port and class.
    pub fn new(total: u64, reserve: u64, shares: impl IntoIterator<Item = Share>) -> Self {
        let shares: Vec<Share> = shares.into_iter().collect();
        let (count, reserve) = (shares.len(), reserve as i64);
        let pool = total as i64 - shares.iter().map(|s| s.headroom).sum::<i64>() - reserve * count as i64;
        let zeros = || vec![0; count];
        Self {
            pool,
            reserve,
            shares,
            shared_used: 0,
            main: zeros(),
            in_headroom: zeros(),
            shared_peak: 0,
            headroom_peak: zeros(),
        }
    }

    /// Returns the dynamic threshold of a port and class.
    #[inline]
    pub fn threshold(&self, group: usize) -> i64 {
        ((self.pool - self.shared_used).max(0) as f64 * self.shares[group].alpha) as i64
    }

    /// Returns the level at which a port and class is paused when alone in the pool, and its headroom.
    pub fn alone(&self, group: usize) -> (u64, u64) {
        let Share { alpha, headroom } = self.shares[group];
        let used = self.pool.max(0) as f64 * alpha / (1.0 + alpha);
        (self.reserve as u64 + used as u64, headroom as u64)
    }

    /// Returns the bytes of the pool.
    pub const fn pool(&self) -> i64 {
        self.pool
    }

    /// Returns the high-water mark of the pool.
    pub const fn pool_peak(&self) -> i64 {
        self.shared_peak
    }

    /// Returns the high-water mark of a headroom, and its size.
    pub fn headroom_peak(&self, group: usize) -> (i64, i64) {
        (self.headroom_peak[group], self.shares[group].headroom)
    }

    /// True when a port and class should be paused.
    #[inline]
    pub fn is_over(&self, group: usize) -> bool {
        self.in_headroom[group] > 0 || (self.main[group] - self.reserve).max(0) >= self.threshold(group)
    }

    /// True when a port and class may be resumed: `offset` below the threshold, or empty.
    #[inline]
    pub fn is_under(&self, group: usize, offset: i64) -> bool {
        let used = (self.main[group] - self.reserve).max(0);
        self.in_headroom[group] == 0 && (used == 0 || used + offset <= self.threshold(group))
    }

    /// True when `bytes` more would be beyond the threshold.
    #[inline]
    fn is_beyond(&self, group: usize, bytes: i64) -> bool {
        let main = self.main[group] + bytes;
        main > self.reserve && main - self.reserve > self.threshold(group)
    }

    fn admit(&mut self, group: usize, bytes: i64) -> bool {
        let main = self.main[group] + bytes;
        if self.is_beyond(group, bytes) {
            if self.in_headroom[group] + bytes > self.shares[group].headroom {
                return false;
            }
            self.in_headroom[group] += bytes;
            self.headroom_peak[group] = self.headroom_peak[group].max(self.in_headroom[group]);
        } else {
            self.main[group] = main;
            self.shared_used += bytes.min((main - self.reserve).max(0));
            self.shared_peak = self.shared_peak.max(self.shared_used);
        }
        true
    }

    fn release(&mut self, group: usize, bytes: i64) {
        let from_headroom = bytes.min(self.in_headroom[group]);
        self.in_headroom[group] -= from_headroom;
        let rest = bytes - from_headroom;
        self.shared_used -= rest.min((self.main[group] - self.reserve).max(0));
        self.main[group] -= rest;
    }
}

/// Largest byte count of a queue and of an input.
const UNLIMITED: u32 = u32::MAX - (1 << 16);

/// True if a group that holds `held` bytes may hold a packet more.
#[inline]
fn is_below_cap(caps: &[u32], group: usize, held: u32, bytes: u16) -> bool {
    caps.get(group).is_none_or(|cap| held + u32::from(bytes) <= *cap)
}

impl Buffer {
    /// Takes a packet's bytes; false without room. `group` is ingress port × classes + class and holds
    /// `in_group` bytes; the packet's egress queue holds `in_queue`.
    #[inline]
    pub fn admit(
        &mut self,
        in_port: PortId,
        group: usize,
        out_port: PortId,
        in_group: u32,
        in_queue: u32,
        bytes: u16,
    ) -> bool {
        let (limit, used, caps, held) = match self {
            Self::Unlimited => return in_group.max(in_queue) < UNLIMITED,
            Self::PerIngress { limit, used, caps } => (*limit, &mut used[in_port], caps, in_group),
            Self::PerEgress { limit, used, caps } => (*limit, &mut used[out_port], caps, in_queue),
            Self::PerIngressClass(limit) => return in_group + u32::from(bytes) <= *limit,
            Self::PerEgressQueue(limit) => return in_queue + u32::from(bytes) <= *limit,
            Self::Shared(shared) => return shared.admit(group, i64::from(bytes)),
        };
        let fits = *used + u32::from(bytes) <= limit && is_below_cap(caps, group, held, bytes);
        if fits {
            *used += u32::from(bytes);
        }
        fits
    }

    /// True when [`Self::admit`] would take a packet's bytes.
    pub fn has_room(
        &self,
        in_port: PortId,
        group: usize,
        out_port: PortId,
        in_group: u32,
        in_queue: u32,
        bytes: u16,
    ) -> bool {
        let more = u32::from(bytes);
        match self {
            Self::Unlimited => in_group.max(in_queue) < UNLIMITED,
            Self::PerIngress { limit, used, caps } => {
                used[in_port] + more <= *limit && is_below_cap(caps, group, in_group, bytes)
            }
            Self::PerEgress { limit, used, caps } => {
                used[out_port] + more <= *limit && is_below_cap(caps, group, in_queue, bytes)
            }
            Self::PerIngressClass(limit) => in_group + more <= *limit,
            Self::PerEgressQueue(limit) => in_queue + more <= *limit,
            Self::Shared(shared) => {
                let bytes = i64::from(bytes);
                !shared.is_beyond(group, bytes)
                    || shared.in_headroom[group] + bytes <= shared.shares[group].headroom
            }
        }
    }

    /// True when memory belongs to outputs. A packet in transmission then takes no memory.
    pub const fn is_by_output(&self) -> bool {
        matches!(self, Self::PerEgress { .. } | Self::PerEgressQueue(_))
    }

    /// Gives a packet's bytes back.
    #[inline(always)]
    pub fn release(&mut self, in_port: PortId, group: usize, out_port: PortId, bytes: u16) {
        match self {
            Self::Unlimited | Self::PerIngressClass(_) | Self::PerEgressQueue(_) => {}
            Self::PerIngress { used, .. } => used[in_port] -= u32::from(bytes),
            Self::PerEgress { used, .. } => used[out_port] -= u32::from(bytes),
            Self::Shared(shared) => shared.release(group, i64::from(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_threshold_settles_where_theory_says() {
        // n saturated groups each settle at alpha·B'/(1 + n·alpha), which leaves B'/(1 + n·alpha) free.
        for n in [1_usize, 2, 8] {
            let mut b =
                SharedBuffer::new(1_000_000 + 8 * 10_000, 0, [Share { alpha: 0.125, headroom: 10_000 }; 8]);
            assert_eq!(b.pool(), 1_000_000);
            loop {
                let before = b.shared_used;
                for group in 0..n {
                    if !b.is_over(group) {
                        assert!(b.admit(group, 100));
                    }
                }
                if b.shared_used == before {
                    break;
                }
            }
            let expected = 0.125 * 1e6 / (1.0 + n as f64 * 0.125);
            for group in 0..n {
                assert!(
                    (b.main[group] as f64 - expected).abs() <= 200.0,
                    "n {n}: {} against {expected}",
                    b.main[group]
                );
            }
        }
    }

    #[test]
    fn shares_of_the_pool_are_as_their_alphas() {
        // Saturated groups of alphas a and b settle at a·B'/(1 + a + b) and b·B'/(1 + a + b).
        let (a, b) = (0.25, 1.0);
        let mut buffer =
            SharedBuffer::new(1_020_000, 0, [a, b].map(|alpha| Share { alpha, headroom: 10_000 }));
        // Who is beyond its share sends, and nobody else, until both are where they stay.
        for group in [0, 1].into_iter().cycle().take(40_000) {
            if buffer.main[group] > buffer.threshold(group) + 100 {
                buffer.release(group, 100);
            } else if !buffer.is_over(group) {
                assert!(buffer.admit(group, 100));
            }
        }
        for (group, alpha) in [(0, a), (1, b)] {
            let expected = alpha * 1e6 / (1.0 + a + b);
            assert!(
                (buffer.main[group] as f64 - expected).abs() <= 300.0,
                "{group}: {} against {expected}",
                buffer.main[group]
            );
        }
    }

    #[test]
    fn there_is_room_for_what_would_be_admitted() {
        let shared =
            || Buffer::Shared(SharedBuffer::new(20_000, 1_000, [Share { alpha: 0.5, headroom: 2_000 }; 2]));
        let per_ingress =
            |caps: &[u32]| Buffer::PerIngress { limit: 5_000, used: vec![0; 2], caps: caps.into() };
        let per_egress =
            |caps: &[u32]| Buffer::PerEgress { limit: 5_000, used: vec![0; 2], caps: caps.into() };
        let all = [
            shared(),
            per_ingress(&[]),
            per_egress(&[]),
            per_ingress(&[5_000, 1_500]),
            per_egress(&[5_000, 1_500]),
            Buffer::PerIngressClass(5_000),
            Buffer::PerEgressQueue(5_000),
            Buffer::Unlimited,
        ];
        for mut b in all {
            let mut admitted = 0;
            for n in 0..40_u32 {
                let (in_group, in_queue) = (n * 300, n * 200);
                let has_room = b.has_room(PortId(1), 1, PortId(0), in_group, in_queue, 700);
                assert_eq!(b.admit(PortId(1), 1, PortId(0), in_group, in_queue, 700), has_room, "{b:?}");
                admitted += usize::from(has_room);
            }
            assert!(admitted > 0 && (admitted < 40 || matches!(b, Buffer::Unlimited)), "{b:?}");
        }
    }

    #[test]
    fn headroom_is_used_past_the_threshold_and_everything_returns() {
        let mut b = SharedBuffer::new(10_000, 0, [Share { alpha: 1.0, headroom: 2_000 }]);
        let mut admitted = 0;
        while b.admit(0, 1_000) {
            admitted += 1;
        }
        // The pool of 8000 is shared with itself: at alpha 1 half of it, then two packets of headroom.
        assert_eq!(admitted, 6);
        assert!(b.is_over(0) && !b.is_under(0, 0));
        for _ in 0..admitted {
            b.release(0, 1_000);
        }
        assert_eq!((b.shared_used, b.main[0], b.in_headroom[0]), (0, 0, 0));
        // What was used stays known: half of the pool, and the whole headroom.
        assert_eq!((b.pool_peak(), b.headroom_peak(0)), (4_000, (2_000, 2_000)));
    }
}
