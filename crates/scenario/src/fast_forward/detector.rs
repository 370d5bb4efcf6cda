//! Detector: takes digests of states, and returns the candidate of a period when a digest recurs.
//!
//! Packets are probed with the baby-step giant-step method (Shanks 1971), as a period has any length: B
//! probes follow one another by one packet, then B probes by B packets. Of these 2·B probes two are a
//! multiple of the period apart, for any period below B² packets. Then B doubles. Longer levels have a known
//! length, a multiple of the step or layer, and are probed at constant strides.

use rustc_hash::FxHashMap;
use xoff_units::{Duration, Moment};

/// B in the first round. A period of 139 packets, as of data and ACKs of 1048 B on one line, needs 2·12
/// probes; 16 covers 256 packets in the first round. With 32: 1.07 times the packet-hops.
const BABY_STEPS: u64 = 16;

/// Digests of one level.
#[derive(Default)]
pub struct Detector {
    /// Shortest stride, in packets of the reference node.
    pub stride: u64,
    /// B, or 0 for constant strides.
    baby_steps: u64,
    /// Strides of this round.
    taken: u64,
    /// Moment and mark of each digest.
    seen: FxHashMap<u64, (Moment, u64)>,
}

/// Time and packets between two equal digests.
pub struct Recurrence {
    /// Time.
    pub length: Duration,
    /// Packets of the reference node.
    pub packets: u64,
}

impl Detector {
    /// Returns a detector for periods of any length, in multiples of `stride`.
    pub fn baby_step_giant_step(stride: u64) -> Self {
        Self { stride, baby_steps: BABY_STEPS, ..Self::default() }
    }

    /// Takes the digest at a mark of the reference node. Returns the distance to the last mark with this
    /// digest.
    pub fn probe(&mut self, digest: u64, at: Moment, mark: u64) -> Option<Recurrence> {
        let (before, mark_before) = self.seen.insert(digest, (at, mark))?;
        Some(Recurrence { length: at - before, packets: mark - mark_before })
    }

    /// Returns the packets to the next probe.
    pub const fn next_stride(&mut self) -> u64 {
        if self.baby_steps == 0 {
            return self.stride;
        }
        self.taken += 1;
        if self.taken == 2 * self.baby_steps {
            (self.baby_steps, self.taken) = (2 * self.baby_steps, 0);
        }
        if self.taken < self.baby_steps { self.stride } else { self.stride * self.baby_steps }
    }

    /// Starts the round again after a wait of this many packets. Returns the wait as a multiple of the
    /// stride.
    pub const fn wait(&mut self, packets: u64) -> u64 {
        self.taken = 0;
        (packets / self.stride + 1) * self.stride
    }

    /// Forgets all digests.
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}
