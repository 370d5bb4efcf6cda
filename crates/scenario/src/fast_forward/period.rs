//! Period: the data of a recurring stretch of a run.
//!
//! A period is a *candidate* when a digest recurs, and is *confirmed* when the state recurs word by word one
//! period later. One period after that, three moments are known, and the totals and fingerprints at these
//! moments determine every further repetition.

use xoff_engine::Fingerprint;
use xoff_engine::state::{Snapshot, Totals};
use xoff_units::{Duration, Moment};

use super::scope::Instant;

/// A state that recurred.
pub struct Period {
    /// Time from one occurrence of the state to the next.
    pub length: Duration,
    /// Data packets that the reference node starts in a period.
    pub packets: u64,
    /// Moment of the last occurrence.
    pub at: Moment,
    /// The state.
    pub snapshot: Snapshot,
    /// Fingerprints at `at`.
    pub fingerprints: Vec<Fingerprint>,
}

/// The knowledge about the period of a level.
#[derive(Default)]
pub enum Stage {
    /// No period is known.
    #[default]
    Search,
    /// A digest recurred.
    Candidate(Period),
    /// The state recurred, at this instant and with these totals.
    Confirmed(Period, Box<Instant>, Totals),
}

impl Stage {
    /// True if records of the nodes must stay with the nodes.
    pub const fn keeps_rows(&self) -> bool {
        matches!(self, Self::Confirmed(..))
    }

    /// Lets records go: a confirmed period becomes a candidate again.
    pub fn release(&mut self) {
        *self = match std::mem::take(self) {
            Self::Confirmed(period, start, _) => {
                Self::Candidate(Period { at: start.at, fingerprints: start.fingerprints, ..period })
            }
            other => other,
        }
    }

    /// True if the period can no longer be confirmed: its moment is past, or a flow ended in a confirmed
    /// period.
    pub fn is_late(&self, flow_ended: bool, now: Moment) -> bool {
        match self {
            Self::Search => false,
            Self::Candidate(period) => now > period.at + period.length,
            Self::Confirmed(period, start, _) => now > start.at + period.length || flow_ended,
        }
    }
}
