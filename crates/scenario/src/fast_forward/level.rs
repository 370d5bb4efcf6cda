//! Level: the search for periods of one kind in a scope.
//!
//! A scope has four levels, the shortest first: packets, steps of a collective, layers of a model, and
//! iterations. Probes of a level take place when the reference node has started a *mark* of data packets.

use xoff_engine::Fingerprint;
use xoff_engine::state::{PeriodKind, Snapshot};
use xoff_models::traffic::application::period;
use xoff_units::Moment;

use super::detector::Detector;
use super::period::Stage;

/// Place of packets among the levels.
pub const PACKETS: usize = 0;
/// Place of steps.
pub const STEPS: usize = 1;
/// Place of layers; the level above is that of iterations.
pub const LAYERS: usize = 2;

/// One level.
pub struct Level {
    pub kind: PeriodKind,
    pub stage: Stage,
    pub detector: Detector,
    /// Packets started by the reference node at the next probe; of no interest if not above the packets so
    /// far.
    pub mark: u64,
    /// Packets of a step or layer.
    pub unit: u64,
    /// Hash of the flows, or of the collectives, in which a period may be found.
    pub epoch: u64,
    /// True if no period is to be expected in these flows, collectives or layers.
    pub is_done: bool,
    /// First operation of the current loop.
    pub region: u32,
    /// First operation of the last loop that is done.
    pub done_region: Option<u32>,
    /// Probes in this epoch.
    pub probes: u64,
    /// Words of a probe; 0 before the first.
    pub cost: u64,
    /// The last probe.
    pub last: Option<Probe>,
}

/// A probe with all data for a confirmed period.
pub struct Probe {
    pub at: Moment,
    pub snapshot: Snapshot,
    pub fingerprints: Vec<Fingerprint>,
}

impl Level {
    /// Returns the four levels of a scope.
    pub fn all() -> [Self; 4] {
        let level = |kind| Self {
            kind,
            stage: Stage::Search,
            detector: Detector::default(),
            mark: 0,
            unit: 0,
            epoch: 0,
            is_done: false,
            region: 0,
            done_region: None,
            probes: 0,
            cost: 0,
            last: None,
        };
        let packets = Self { detector: Detector::baby_step_giant_step(1), ..level(period::PACKETS) };
        [packets, level(period::STEPS), level(period::LAYERS), level(period::ITERATIONS)]
    }

    /// Starts the search again.
    pub fn restart(&mut self) {
        self.stage = Stage::Search;
        self.detector.clear();
        self.last = None;
    }

    /// Starts the search again, without a planned probe.
    pub fn forget(&mut self) {
        self.restart();
        self.mark = 0;
    }

    /// Returns the mark of the planned probe, if any, after this many packets of the reference node.
    pub fn planned(&self, started: u64) -> Option<u64> {
        Some(self.mark).filter(|mark| *mark > started)
    }

    /// True if a probe at `mark` is within twice the `lag` of the planned probe: one of both would be late.
    pub const fn is_near(&self, mark: u64, lag: u64) -> bool {
        self.mark > 0 && mark.abs_diff(self.mark) <= 2 * lag
    }
}
