//! A period: what has to be known of one to repeat it.

use xoff_engine::Fingerprint;
use xoff_engine::state::{Snapshot, Totals};
use xoff_units::{Duration, Moment};

use super::busy_periods::Recalled;
use super::offsets::NetworkOffsets;

/// No more rows than this are written again at once.
pub const ROWS: u64 = 500_000;

/// A snapshot that came again, and how long after it was first seen.
pub struct Period {
    pub length: Duration,
    /// Data packets that the reference starts in one.
    pub hops: u64,
    pub at: Moment,
    pub snapshot: Snapshot,
    pub prints: Vec<Fingerprint>,
}

/// The beginning of the period that may be repeated.
pub struct Begun {
    pub at: Moment,
    pub totals: Totals,
    pub reached: NetworkOffsets,
    pub prints: Vec<Fingerprint>,
    pub events: u64,
    /// Bytes that crossed the border of these nodes.
    pub crossed: u64,
    /// The reference of all nodes, and what it had started.
    pub watched: Option<(u32, u64)>,
}

/// What may be repeated so many times.
pub struct Repeated {
    pub what: What,
    pub length: Duration,
    /// From when on.
    pub at: Moment,
    /// How often it can be written at once before something else happens.
    pub times: u64,
    /// Rows that it writes each time.
    pub rows: u64,
}

/// What it is.
pub enum What {
    /// A period whose last time has just been over.
    Period(Box<Again>),
    /// An busy period that was seen before.
    BusyPeriod(Box<Recalled>),
}

/// A period that came again.
pub struct Again {
    pub period: Period,
    pub begun: Box<Begun>,
    pub reached: NetworkOffsets,
    /// How often it fits before something else happens.
    pub fits: u64,
}

/// What is known of one.
#[derive(Default)]
pub enum Stage {
    /// Nothing is known to repeat itself.
    #[default]
    Search,
    /// A snapshot came again.
    Once(Period),
    /// And again.
    Twice(Period, Box<Begun>),
}

impl Stage {
    pub fn let_go(&mut self) {
        *self = match std::mem::take(self) {
            Self::Twice(period, begun) => Self::Once(Period { at: begun.at, prints: begun.prints, ..period }),
            other => other,
        }
    }

    /// Whether what it waits for did not come; what is over is no repetition.
    pub fn is_late(&self, has_news: bool, now: Moment) -> bool {
        match self {
            Self::Search => false,
            Self::Once(period) => now > period.at + period.length,
            Self::Twice(period, begun) => now > begun.at + period.length || has_news,
        }
    }
}

/// What came of a period.
pub enum Found {
    /// It did not come again.
    Nothing,
    /// It did, and cannot be repeated.
    Unfit,
    Fits(Box<Repeated>),
}
