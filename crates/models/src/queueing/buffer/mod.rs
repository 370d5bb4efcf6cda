//! Buffer admission: the decision of a node to accept a packet.
//! In a shared buffer each ingress port and class has a reserve, a share of the pool up to a dynamic
//! threshold, and headroom. Packets are released when their transmission starts.
//! Invariant: released bytes were admitted, so that every count returns to zero.
//! Source: `switch-mmu` of HPCC's public ns-3 code (`docs/models/switch_buffer.md`).

mod outputs;
mod params;

use crate::ids::PortId;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{index, number};

use self::outputs::Outputs;
pub use self::params::{Accounting, Egress, Group, Params, Shared};

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
    /// Reserve and pool bytes of each ingress port and class.
    main: Vec<i64>,
    in_headroom: Vec<i64>,
    /// High-water marks: of the pool, and of the headroom of each ingress port and class.
    shared_peak: i64,
    headroom_peak: Vec<i64>,
}

state!(SharedBuffer {
    value: shared_used, headroom_used, main, in_headroom;
    part: outputs;
    peak: shared_peak;
    peaks: headroom_peak;
    constant: pool, headroom_pool, cell, shares, counted_as, classes;
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
            main: zeros(),
            in_headroom: zeros(),
            shared_peak: 0,
            headroom_peak: zeros(),
            shares,
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
        self.in_headroom[group] + bytes > self.shares[group].headroom
            || self.headroom_used + bytes > self.headroom_pool
    }

    /// Returns the dynamic threshold of a port and class.
    #[inline]
    pub fn threshold(&self, group: usize) -> i64 {
        let group = self.counted(group);
        ((self.pool - self.shared_used).max(0) as f64 * self.shares[group].alpha) as i64
    }

    /// Returns the level at which a port and class is paused when alone in the pool, and its headroom.
    pub fn alone(&self, group: usize) -> (u64, u64) {
        let group = self.counted(group);
        let Share { alpha, reserve, headroom } = self.shares[group];
        let used = self.pool.max(0) as f64 * alpha / (1.0 + alpha);
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

    /// True when `bytes` more would be beyond the threshold.
    #[inline]
    fn is_beyond(&self, group: usize, bytes: i64) -> bool {
        let group = self.counted(group);
        let above = self.main[group] + bytes - self.shares[group].reserve;
        above > 0 && above > self.threshold(group)
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
mod tests {
    use xoff_units::Bytes;

    use super::*;

    const OUT: PortId = PortId(0);

    fn of(total: u64) -> Shared {
        Shared::for_tests(total)
    }

    const fn share(alpha: f64, headroom: i64) -> Share {
        Share { alpha, reserve: 0, headroom }
    }

    #[test]
    fn dynamic_threshold_settles_where_theory_says() {
        // n saturated groups each settle at alpha·B'/(1 + n·alpha), which leaves B'/(1 + n·alpha) free.
        for n in [1_usize, 2, 8] {
            let mut b = SharedBuffer::new(&of(1_000_000 + 8 * 10_000), 1, [share(0.125, 10_000); 8]);
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
        let mut buffer = SharedBuffer::new(&of(1_020_000), 1, [a, b].map(|alpha| share(alpha, 10_000)));
        // Who is beyond its share sends, and nobody else, until both are where they stay.
        for group in [0, 1].into_iter().cycle().take(40_000) {
            if buffer.main[group] > buffer.threshold(group) + 100 {
                buffer.release(group, OUT, 100);
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
        let shared = || {
            let group = Share { reserve: 1_000, ..share(0.5, 2_000) };
            Buffer::Shared(SharedBuffer::new(&of(20_000), 1, [group; 2]))
        };
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
    fn a_pool_of_headroom_serves_groups_until_it_is_full() {
        // Published cell counts of Tomahawk (sonic-mgmt, qos_params.th.yaml): a slice shares 13,071 cells, its
        // headroom pool has 5,041, alpha is 1, and a packet is one cell. Groups fill one after the other.
        for (groups, xoff, full, last) in [(10, 520, 520, 361), (8, 682, 682, 267), (4, 1292, 1292, 1165)] {
            let group = Share { reserve: 6, ..share(1.0, xoff) };
            let memory = Shared { headroom_pool: Some(Bytes(5041)), ..of(13_071 + 5041 + 6 * groups) };
            let mut b = SharedBuffer::new(&memory, 1, vec![group; groups as usize]);
            assert_eq!(b.pool(), 13_071);
            // All groups stand at the threshold: 6 + 13071/(1 + n) cells each, to the cell.
            let mut is_filling = true;
            while is_filling {
                is_filling = false;
                for g in 0..groups as usize {
                    if !b.is_beyond(g, 1) {
                        assert!(b.admit(g, 1));
                        is_filling = true;
                    }
                }
            }
            let at_threshold = 6 + 13_071 / (1 + groups as i64);
            assert!(b.main.iter().all(|held| (held - at_threshold).abs() <= 1), "{:?}", b.main);
            // Then each group takes its headroom, until the last finds the rest of the pool.
            for g in 0..groups as usize {
                while b.admit(g, 1) {}
            }
            let taken = &b.in_headroom;
            assert!(taken[..groups as usize - 1].iter().all(|held| *held == full), "{taken:?}");
            assert_eq!(*taken.last().unwrap(), last);
            assert_eq!(taken.iter().sum::<i64>(), 5041);
        }
    }

    #[test]
    fn a_group_alone_is_paused_where_theory_says() {
        // One after another with alpha 1: the n-th group stands at r + B/2^n. Alone, the first pause comes with
        // cell 6 + 13071/2, rounded up.
        let group = Share { reserve: 6, ..share(1.0, 520) };
        let memory = Shared { headroom_pool: Some(Bytes(5041)), ..of(13_071 + 5041 + 6 * 3) };
        let mut b = SharedBuffer::new(&memory, 1, [group; 3]);
        for g in 0..3 {
            while !b.is_beyond(g, 1) {
                assert!(b.admit(g, 1));
            }
        }
        for (g, expected) in [(0, 6 + 13_071 / 2), (1, 6 + 13_071 / 4), (2, 6 + 13_071 / 8)] {
            assert!((b.main[g] - expected).abs() <= 1, "{:?}", b.main);
        }
        // The packet that crosses the threshold is number 6,542; with 520 cells of headroom number 7,063 is lost.
        assert_eq!(b.main[0], 6542);
        let mut more = 0;
        while b.admit(0, 1) {
            more += 1;
        }
        assert_eq!(more, 520);
    }

    #[test]
    fn a_pause_ends_at_the_larger_of_two_levels() {
        // A pool of 13,071 cells, reserve 6, alpha 1: XOFF with cell 6,542. The threshold rises by each cell that
        // leaves: with an offset of 11 cells a pause ends after six cells, s + 11 <= 13071 - s.
        let offset = Resume { offset: Some(11), at: None };
        for (resume, left) in [
            (offset, 6536),
            (Resume { offset: None, at: Some(100) }, 100),
            (Resume { offset: Some(11), at: Some(100) }, 6536),
            (Resume { offset: Some(11), at: Some(6540) }, 6540),
        ] {
            let mut b = SharedBuffer::new(&of(13_071 + 6), 1, [Share { reserve: 6, ..share(1.0, 0) }]);
            while b.admit(0, 1) {}
            assert!(b.is_over(0));
            while !b.is_under(0, resume) {
                b.release(0, OUT, 1);
            }
            assert_eq!(b.main[0], left, "{resume:?}");
        }
    }

    #[test]
    fn frames_take_whole_cells() {
        // 65 B in cells of 208 B: a memory of 100 cells holds 100 frames, and 320 without cells.
        for (cell, frames) in [(Some(Bytes(208)), 100), (None, 320)] {
            let memory = Shared { cell, ..of(2 * 100 * 208) };
            let mut b = Buffer::Shared(SharedBuffer::new(&memory, 1, [share(1.0, 0)]));
            let mut held = 0;
            while b.admit(PortId(0), 0, PortId(0), 0, 0, 65) {
                held += 1;
            }
            assert_eq!(held, frames);
            for _ in 0..held {
                b.release(PortId(0), 0, PortId(0), 65);
            }
            let Buffer::Shared(b) = b else { unreachable!() };
            assert_eq!((b.shared_used, b.main[0]), (0, 0));
        }
    }

    #[test]
    fn a_pool_of_outputs_drops_before_the_headroom_is_full() {
        // Published cell counts of a Trident 3 (sonic-buildimage, pull request 21320): inputs admit 118,212 shared
        // cells, 1,440 of reserves and 8,040 of the headroom pool, 127,692 together. The egress pool has 126,332:
        // the first drop comes with cell 126,333, before the headroom is full.
        let groups = 80;
        let group = Share { reserve: 18, ..share(1.0, 625) };
        let egress = |cells| Egress { classes: None, total: Bytes(cells), limit: None, alpha: None };
        for (cells, least, most) in [(126_332, 126_332, 126_332), (127_692, 127_600, 127_692)] {
            let memory =
                Shared { headroom_pool: Some(Bytes(8040)), egress: vec![egress(cells)], ..of(127_692) };
            let mut b = SharedBuffer::new(&memory, 1, vec![group; groups]);
            assert_eq!(b.pool(), 118_212);
            let mut taken = 0;
            let mut is_filling = true;
            while is_filling {
                is_filling = false;
                for g in 0..groups {
                    while b.admit_to(g, OUT, 1) {
                        taken += 1;
                        is_filling = true;
                    }
                }
            }
            assert!((least..=most).contains(&taken), "{taken}");
            assert_eq!(b.outputs.as_ref().map(|outputs| outputs.used(0)), Some(taken));
        }
    }

    #[test]
    fn groups_of_classes_have_their_own_alpha() {
        // Alone at B/2 with alpha 1, and at B/3 with alpha ½.
        let memory = Shared {
            groups: vec![Group {
                classes: vec![1],
                alpha: Some(0.5),
                reserve: Some(Bytes(60)),
                headroom: None,
                together: false,
            }],
            ..of(12_000)
        };
        assert_eq!(memory.of_class(0), (1.0, Bytes(0), None));
        assert_eq!(memory.of_class(1), (0.5, Bytes(60), None));
        let shares = [0, 1].map(|class| {
            let (alpha, reserve, _) = memory.of_class(class);
            Share { alpha, reserve: reserve.0 as i64, headroom: 0 }
        });
        let b = SharedBuffer::new(&memory, 2, shares);
        assert_eq!((b.alone(0).0, b.alone(1).0), (11_940 / 2, 60 + 11_940 / 3));
    }

    #[test]
    fn classes_of_a_group_count_together() {
        // Alpha 1: alone at B/2, whichever classes hold the bytes; class 0 beside it takes half of the rest.
        let group = Group {
            classes: vec![2, 1],
            alpha: None,
            reserve: Some(Bytes(60)),
            headroom: Some(Bytes(300)),
            together: true,
        };
        let memory = Shared { groups: vec![group], ..of(12_000 + 2 * 360) };
        assert_eq!(memory.counted_with(2), [1, 2]);
        assert_eq!(memory.counted_with(0), [0]);
        let of_group = Share { reserve: 60, ..share(1.0, 300) };
        let shares = [share(1.0, 0), of_group, share(1.0, 0)];
        let mut b = SharedBuffer::new(&memory, 3, [shares, shares].concat());
        assert_eq!((b.pool(), b.kept()), (12_000, (120, 600)));
        assert_eq!([b.alone(4).0, b.alone(5).0], [6_060, 6_060]);
        assert_eq!(
            (b.together(5).collect::<Vec<_>>(), b.together(3).collect::<Vec<_>>()),
            (vec![1, 2], vec![0])
        );
        // Port 1: classes 1 and 2 in turn take 60 + 6,000 together, and then 300 of headroom.
        let mut taken = [0, 0];
        for n in 0.. {
            if !b.admit(4 + n % 2, 1) {
                break;
            }
            taken[n % 2] += 1;
        }
        assert_eq!(taken, [3_180, 3_180]);
        assert!(b.is_over(4) && b.is_over(5) && !b.is_over(3) && !b.is_over(1));
        // Bytes of class 2 that leave make room for class 1.
        (0..3_180).for_each(|_| b.release(5, OUT, 1));
        assert!(!b.is_over(4) && b.admit(4, 1));
        b.release(4, OUT, 1);
        (0..3_180).for_each(|_| b.release(4, OUT, 1));
        assert_eq!((b.shared_used, b.main.iter().sum::<i64>(), b.headroom_used), (0, 0, 0));
    }

    #[test]
    fn a_limit_at_an_output_counts_cells() {
        // Frames of 65 B in cells of 208 B: a limit of 100 cells holds 100 frames, not 320.
        let egress = Egress { classes: None, total: Bytes(1 << 20), limit: Some(Bytes(20_800)), alpha: None };
        let memory = Shared { cell: Some(Bytes(208)), egress: vec![egress], ..of(1 << 20) };
        let mut b = Buffer::Shared(SharedBuffer::new(&memory, 1, [share(8.0, 0); 2]));
        let mut held = 0;
        while b.admit(PortId(1), 1, OUT, 65 * held, 65 * held, 65) {
            held += 1;
        }
        assert_eq!(held, 100);
        // Another output has its own count.
        assert!(b.has_room(PortId(1), 1, PortId(1), 65 * held, 0, 65));
        b.release(PortId(1), 1, OUT, 65);
        assert!(b.has_room(PortId(1), 1, OUT, 65 * held, 65 * held, 65));
    }

    #[test]
    fn a_queue_has_a_limit_at_its_output() {
        let pool = |limit, alpha| Egress { classes: Some(vec![1]), total: Bytes(1000), limit, alpha };
        for (egress, most) in [
            (pool(Some(Bytes(300)), None), 300),
            (pool(None, Some(1.0)), 500),
            (pool(None, Some(0.5)), 333),
            (pool(None, None), 1000),
        ] {
            let memory = Shared { egress: vec![egress], ..of(1 << 20) };
            let mut b = SharedBuffer::new(&memory, 2, [share(8.0, 0); 2]);
            let mut held = 0;
            while b.admit_to(1, OUT, 1) {
                held += 1;
            }
            // With x bytes of a queue alone x <= alpha·(1000 - x) holds up to 1000·alpha/(1 + alpha).
            assert!(u32::abs_diff(held, most) <= 1, "{held} for {most}");
            // Another class has no pool.
            assert!((0..2000).all(|_| b.admit_to(0, OUT, 1)));
            (0..held).for_each(|_| b.release(1, OUT, 1));
            (0..2000).for_each(|_| b.release(0, OUT, 1));
            assert_eq!((b.outputs.as_ref().map(|outputs| outputs.used(0)), b.shared_used), (Some(0), 0));
        }
    }

    #[test]
    fn headroom_is_used_past_the_threshold_and_everything_returns() {
        let mut b = SharedBuffer::new(&of(10_000), 1, [share(1.0, 2_000)]);
        let mut admitted = 0;
        while b.admit(0, 1_000) {
            admitted += 1;
        }
        // The pool of 8000 is shared with itself: at alpha 1 half of it, then two packets of headroom.
        assert_eq!(admitted, 6);
        assert!(b.is_over(0) && !b.is_under(0, Resume { offset: Some(0), at: None }));
        for _ in 0..admitted {
            b.release(0, OUT, 1_000);
        }
        assert_eq!((b.shared_used, b.main[0], b.in_headroom[0]), (0, 0, 0));
        // What was used stays known: half of the pool, and the whole headroom.
        assert_eq!((b.pool_peak(), b.headroom_peak(0)), (4_000, (2_000, 2_000)));
    }
}
