//! What is known of what repeats itself across ends of messages, or of operations.

use rustc_hash::FxHashMap;
use xoff_engine::Fingerprint;
use xoff_engine::state::{PeriodKind, Snapshot};
use xoff_units::Moment;

use super::period::Stage;

/// Where steps are, then layers, then what holds layers.
pub const STEPS: usize = 0;
pub const LAYERS: usize = 1;

/// What is known of steps, or of layers.
#[derive(Default)]
pub struct LongLevel {
    pub kind: PeriodKind,
    pub stage: Stage,
    /// What the reference has started when somebody looks next; what it had when somebody did.
    pub mark: u64,
    /// So many packets of the reference are a step or a layer, and so many from one look to the next.
    pub each: u64,
    pub every: u64,
    /// Situations: when, and at which mark.
    pub seen: FxHashMap<u64, (Moment, u64)>,
    /// The last of them.
    pub last: Option<Look>,
    pub epoch: u64,
    pub looks: u64,
    /// Of those, and of others before, how many since anything was repeated.
    pub misses: u64,
    /// Nothing more is to be found in these messages, or repeated.
    pub is_over: bool,
    /// The first operation of the layers at hand, and of those of which nothing more is to be found.
    pub within: u32,
    pub over: Option<u32>,
    /// It is known how much there is to be gained.
    pub is_valued: bool,
    /// Words of one look.
    pub cost: u64,
}

/// A snapshot, and all that has to be known to repeat what follows if it comes again.
pub struct Look {
    pub at: Moment,
    pub snapshot: Snapshot,
    pub prints: Vec<Fingerprint>,
}

impl LongLevel {
    pub fn kind(kind: PeriodKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Another node references.
    pub fn forget(&mut self) {
        self.stage = Stage::Search;
        self.seen.clear();
        self.last = None;
        self.mark = 0;
    }

    /// The next look, if the reference has not come there.
    pub const fn next(&self, started: u64) -> u64 {
        if self.mark > started { self.mark } else { u64::MAX }
    }

    /// Packets of the reference that come before it.
    pub const fn ahead(&self, started: u64) -> u64 {
        if self.mark > started { self.mark - started - 1 } else { u64::MAX }
    }

    /// Whether a look would keep this one from taking place, or the other way round: somebody looks up to `lag` packets later.
    pub const fn is_near(&self, mark: u64, lag: u64) -> bool {
        mark.abs_diff(self.mark) <= 2 * lag
    }
}
