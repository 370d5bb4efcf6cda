//! Buffer admission: the decision of a node to accept a packet.
//! In a shared buffer each ingress port and class has a reserve, a share of the pool up to a dynamic
//! threshold, and headroom. Packets are released when their transmission starts.
//! The threshold bounds lossy classes, and lossless classes that pause at it. A lossless class with a level of its
//! own pauses there, and may fill the pool.
//! Invariant: released bytes were admitted, so that every count returns to zero.
//! Source: `switch-mmu` of HPCC's public ns-3 code (`docs/models/switch_buffer.md`).

mod outputs;
mod params;

use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{Moment, index, number};

use self::outputs::Outputs;
pub use self::params::{Accounting, Egress, Group, Params, Shared};
use crate::parts::ids::PortId;

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
    /// Bytes of headroom for all ports and classes together; `i64::MAX` for separate headroom.
    headroom_pool: i64,
    /// The size of a cell; zero if frames take their bytes.
    cell: i64,
    /// Of each ingress port and class.
    shares: Vec<Share>,
    /// For each ingress port and class: the index of the share and of the counts. Empty if each class counts by
    /// itself.
    counted_as: Vec<u32>,
    classes: usize,
    /// Limits at the outputs.
    outputs: Option<Box<Outputs>>,
    shared_used: i64,
    headroom_used: i64,
    /// What thresholds see, at a switch whose ports take turns.
    seen: Option<Seen>,
    /// Reserve and pool bytes of each ingress port and class.
    main: Vec<i64>,
    in_headroom: Vec<i64>,
    /// High-water marks: of the pool, and of the headroom of each ingress port and class.
    shared_peak: i64,
    headroom_peak: Vec<i64>,
}

state!(SharedBuffer {
    value: shared_used, headroom_used, main, in_headroom;
    part: outputs, seen;
    peak: shared_peak;
    peaks: headroom_peak;
    constant: pool, headroom_pool, cell, shares, counted_as, classes;
});

/// The content of a shared buffer before the events of a moment. With relative ties, thresholds at a switch whose ports take
/// turns compare with this content: what arrives or leaves at one moment sees the same pool, so that no order among equal
/// servers decides which of them meets a threshold. A folded run holds the packets of one of `copies` equal parts.
#[derive(Debug, Clone)]
struct Seen {
    at: Moment,
    shared: i64,
    headroom: i64,
    copies: i64,
}

state!(Seen {
    moment: at;
    value: shared, headroom;
    constant: copies;
});

/// The level at which a pause of a port and class in a shared buffer ends: the larger of both.
#[derive(Debug, Clone, Copy)]
pub struct Resume {
    /// Bytes below the threshold; an empty share of the pool is below in any case.
    pub offset: Option<i64>,
    /// Bytes of the port and class.
    pub at: Option<i64>,
}

/// Part of an ingress port and class in a shared buffer.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// Share of the pool's free bytes.
    pub alpha: f64,
    /// Bytes that no other port and class uses.
    pub reserve: i64,
    /// Bytes of headroom.
    pub headroom: i64,
    /// The dynamic threshold does not bound the port and class: it may use all of the pool's free bytes.
    pub fills_pool: bool,
}

impl SharedBuffer {
    /// With the share of each ingress port and class, class by class.
    pub fn new(memory: &Shared, classes: usize, shares: impl IntoIterator<Item = Share>) -> Self {
        let shares: Vec<Share> = shares.into_iter().collect();
        let sum = |of: fn(&Share) -> i64| shares.iter().map(of).sum::<i64>();
        let pool = memory.pool(sum(|s| s.reserve), sum(|s| s.headroom));
        let zeros = || vec![0; shares.len()];
        let first = |class: usize| usize::from(memory.counted_with(class as u8)[0]);
        let counted_as = if memory.groups.iter().any(|group| group.together) {
            (0..shares.len()).map(|group| number(group - group % classes + first(group % classes))).collect()
        } else {
            Vec::new()
        };
        Self {
            counted_as,
            classes,
            pool,
            headroom_pool: memory.headroom_pool.map_or(i64::MAX, |pool| pool.0 as i64),
            cell: memory.cell.map_or(0, |cell| cell.0 as i64),
            outputs: Outputs::new(memory, classes, shares.len()).map(Box::new),
            shared_used: 0,
            headroom_used: 0,
            seen: None,
            main: zeros(),
            in_headroom: zeros(),
            shared_peak: 0,
            headroom_peak: zeros(),
            shares,
        }
    }

    /// Lets thresholds see the content before each moment; the buffer holds one of so many equal parts.
    fn see_moments(&mut self, copies: u32) {
        self.seen = Some(Seen { at: Moment::ZERO, shared: 0, headroom: 0, copies: copies.into() });
    }

    /// An event begins.
    fn begin(&mut self, now: Moment) {
        if let Some(seen) = &mut self.seen
            && seen.at != now
        {
            seen.at = now;
            (seen.shared, seen.headroom) = (self.shared_used * seen.copies, self.headroom_used * seen.copies);
        }
    }

    /// Returns the sum of all reserves, and the headroom of all ports and classes.
    pub fn kept(&self) -> (i64, i64) {
        let sum = |of: fn(&Share) -> i64| self.shares.iter().map(of).sum::<i64>();
        let headroom = if self.headroom_pool == i64::MAX { sum(|s| s.headroom) } else { self.headroom_pool };
        (sum(|s| s.reserve), headroom)
    }

    /// Returns the index of the share and of the counts of a port and class.
    #[inline]
    fn counted(&self, group: usize) -> usize {
        self.counted_as.get(group).map_or(group, |at| index(*at))
    }

    /// True if some classes count together.
    #[inline]
    pub const fn counts_together(&self) -> bool {
        !self.counted_as.is_empty()
    }

    /// Returns the classes of an ingress port that count with a port and class.
    pub fn together(&self, group: usize) -> impl Iterator<Item = u8> {
        let base = group - group % self.classes;
        let all = if self.counted_as.is_empty() { group..group + 1 } else { base..base + self.classes };
        all.filter(move |other| self.counted(*other) == self.counted(group))
            .map(move |other| (other - base) as u8)
    }

    /// True if an output may hold more bytes of a class.
    #[inline]
    fn has_room_at_output(&self, group: usize, out: PortId, bytes: i64) -> bool {
        self.outputs.as_ref().is_none_or(|outputs| outputs.has_room(group % self.classes, out, bytes))
    }

    /// Returns the memory that a frame takes.
    #[inline]
    const fn taken(&self, bytes: u16) -> i64 {
        let bytes = bytes as i64;
        if self.cell == 0 { bytes } else { (bytes + self.cell - 1) / self.cell * self.cell }
    }

    /// True if the headroom of a port and class has no room for more bytes.
    #[inline]
    fn is_full(&self, group: usize, bytes: i64) -> bool {
        let group = self.counted(group);
        let used = self.seen.as_ref().map_or(self.headroom_used, |seen| seen.headroom);
        self.in_headroom[group] + bytes > self.shares[group].headroom || used + bytes > self.headroom_pool
    }

    /// Returns the dynamic threshold of a port and class.
    #[inline]
    pub fn threshold(&self, group: usize) -> i64 {
        let group = self.counted(group);
        (self.free() as f64 * self.shares[group].alpha) as i64
    }

    /// Returns the free bytes of the pool.
    #[inline]
    fn free(&self) -> i64 {
        let used = self.seen.as_ref().map_or(self.shared_used, |seen| seen.shared);
        (self.pool - used).max(0)
    }

    /// Returns the bytes that a port and class may hold when alone in the pool, and its headroom. A class that
    /// pauses at the dynamic threshold is paused there.
    pub fn alone(&self, group: usize) -> (u64, u64) {
        let group = self.counted(group);
        let Share { alpha, reserve, headroom, fills_pool } = self.shares[group];
        let part = if fills_pool { 1.0 } else { alpha / (1.0 + alpha) };
        let used = self.pool.max(0) as f64 * part;
        (reserve as u64 + used as u64, headroom as u64)
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
        let group = self.counted(group);
        self.in_headroom[group] > 0 || self.above_reserve(group) >= self.threshold(group)
    }

    /// True when a port and class may be resumed.
    #[inline]
    pub fn is_under(&self, group: usize, resume: Resume) -> bool {
        let group = self.counted(group);
        let used = self.above_reserve(group);
        let is_below = |offset| used == 0 || used + offset <= self.threshold(group);
        self.in_headroom[group] == 0
            && (resume.at.is_some_and(|level| self.main[group] <= level)
                || resume.offset.is_some_and(is_below))
    }

    /// True when `bytes` more would be beyond the threshold, or beyond the pool for a class that may fill it.
    #[inline]
    fn is_beyond(&self, group: usize, bytes: i64) -> bool {
        let group = self.counted(group);
        let share = &self.shares[group];
        let above = self.main[group] + bytes - share.reserve;
        let is_too_much =
            if share.fills_pool { above.min(bytes) > self.free() } else { above > self.threshold(group) };
        above > 0 && is_too_much
    }

    /// Returns the bytes of the pool that a port and class uses.
    #[inline]
    fn above_reserve(&self, group: usize) -> i64 {
        (self.main[group] - self.shares[group].reserve).max(0)
    }

    /// Takes a packet at the input and the output; false without room at one of them.
    fn admit_to(&mut self, group: usize, out: PortId, bytes: i64) -> bool {
        if !self.has_room_at_output(group, out, bytes) || !self.admit(group, bytes) {
            return false;
        }
        self.count_at_output(group, out, bytes);
        true
    }

    #[inline]
    fn count_at_output(&mut self, group: usize, out: PortId, bytes: i64) {
        if let Some(outputs) = &mut self.outputs {
            outputs.count(group % self.classes, out, bytes);
        }
    }

    fn admit(&mut self, group: usize, bytes: i64) -> bool {
        let group = self.counted(group);
        let main = self.main[group] + bytes;
        if self.is_beyond(group, bytes) {
            if self.is_full(group, bytes) {
                return false;
            }
            self.in_headroom[group] += bytes;
            self.headroom_used += bytes;
            self.headroom_peak[group] = self.headroom_peak[group].max(self.in_headroom[group]);
        } else {
            self.main[group] = main;
            self.shared_used += bytes.min(self.above_reserve(group));
            self.shared_peak = self.shared_peak.max(self.shared_used);
        }
        true
    }

    fn release(&mut self, group: usize, out: PortId, bytes: i64) {
        self.count_at_output(group, out, -bytes);
        let group = self.counted(group);
        let from_headroom = bytes.min(self.in_headroom[group]);
        self.in_headroom[group] -= from_headroom;
        self.headroom_used -= from_headroom;
        let rest = bytes - from_headroom;
        self.shared_used -= rest.min(self.above_reserve(group));
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
            Self::Shared(shared) => return shared.admit_to(group, out_port, shared.taken(bytes)),
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
                let bytes = shared.taken(bytes);
                shared.has_room_at_output(group, out_port, bytes)
                    && (!shared.is_beyond(group, bytes) || !shared.is_full(group, bytes))
            }
        }
    }

    /// Lets thresholds of a shared buffer see the content before each moment; the node holds one of so many equal parts.
    pub fn see_moments(&mut self, copies: u32) {
        if let Self::Shared(shared) = self {
            shared.see_moments(copies);
        }
    }

    /// An event begins, at a node that sees moments.
    pub fn begin(&mut self, now: Moment) {
        if let Self::Shared(shared) = self {
            shared.begin(now);
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
            Self::Shared(shared) => shared.release(group, out_port, shared.taken(bytes)),
        }
    }
}

#[cfg(test)]
mod tests;
