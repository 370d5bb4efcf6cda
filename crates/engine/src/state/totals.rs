//! Totals: fields that are only counted or recorded. A walk notes totals, and a repetition lets totals grow
//! again.
//!
//! There are two repetitions. The last stretch is repeated k times: each total grows k times by its growth in
//! the stretch. Or a copy of a component, after a stretch, replaces the component before the same stretch:
//! each total is the total of the replaced component, plus the growth in the copy.

use std::any::Any;
use std::vec::IntoIter;

use xoff_units::{Duration, Moment};

use crate::offsets::Offsets;
use crate::random::fold;

/// Totals of parts at one moment, in the order of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    pub(super) words: Vec<u64>,
    /// Moments and peaks. A copy that replaces a part takes the later and the higher.
    pub(super) aside: Vec<u64>,
    /// A hash of the kind and the part of each total.
    pub(super) shape: u64,
    /// Recorded rows that were not collected yet.
    pub rows: u64,
    /// Moment of the next event from outside.
    pub outside: Moment,
    /// True if two parts share a state, which a copy would share as well.
    pub is_shared: bool,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            aside: Vec::new(),
            shape: 0,
            rows: 0,
            outside: Moment::NEVER,
            is_shared: false,
        }
    }
}

impl Totals {
    /// Returns the places of totals that have grown since other totals.
    pub fn grown(&self, before: &Self) -> Vec<usize> {
        let pairs = self.words.iter().zip(&before.words).enumerate();
        pairs.filter(|(_, (now, then))| now > then).map(|(place, _)| place).collect()
    }

    /// Returns the totals with one total of another moment, which then does not grow: as if a part had left
    /// out the total.
    #[must_use]
    pub fn leaving_out(mut self, place: usize, now: &Self) -> Self {
        self.words[place] = now.words[place];
        self
    }

    /// True for totals of the same parts.
    pub fn are_of(&self, other: &Self) -> bool {
        self.shape == other.shape
    }

    pub(super) fn push(&mut self, kind: Kind, word: u64) {
        match kind {
            Kind::Since | Kind::Peak => self.aside.push(word),
            Kind::Total | Kind::Same | Kind::Rows | Kind::Begun => self.words.push(word),
        }
        self.about(kind as u64);
    }

    pub(super) fn about(&mut self, what: u64) {
        self.shape = fold(self.shape, what);
    }
}

/// Kind of a word of totals.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Total,
    Same,
    Since,
    Peak,
    Rows,
    Begun,
}

/// Totals, and copies of recorded rows that were not collected yet.
#[derive(Debug, Default)]
pub struct Left {
    /// Totals.
    pub totals: Totals,
    pub(super) rows: Vec<Box<dyn Any>>,
}

/// A note of totals, with or without rows.
#[derive(Debug)]
pub(super) struct Note {
    pub totals: Totals,
    pub(super) rows: Option<Vec<Box<dyn Any>>>,
}

/// A repetition in progress.
#[derive(Debug)]
pub(super) struct Repetition {
    /// Duration of the stretch, duration of all repetitions, and number of repetitions.
    pub(super) stretch: Duration,
    pub by: Duration,
    pub(super) times: u64,
    /// Totals at the start of the stretch that the visit has not reached yet.
    pub(super) before: IntoIter<u64>,
    /// Totals and rows of the replaced part, for a copy.
    pub(super) onto: Option<Onto>,
    /// True while the visit meets the noted totals.
    pub fits: bool,
}

/// The part that a copy replaces. Moments and peaks are those of the part, and those of the copy before the
/// stretch.
#[derive(Debug)]
pub(super) struct Onto {
    pub(super) words: IntoIter<u64>,
    pub(super) aside: [IntoIter<u64>; 2],
    pub(super) rows: IntoIter<Box<dyn Any>>,
}

impl Repetition {
    pub(super) fn next(&mut self) -> u64 {
        self.before.next().unwrap_or_else(|| {
            self.fits = false;
            0
        })
    }

    /// Returns the next total of the replaced part; `None` without a replaced part.
    pub(super) fn next_onto(&mut self) -> Option<u64> {
        let next = self.onto.as_mut()?.words.next();
        self.fits &= next.is_some();
        next.or(Some(0))
    }

    /// Returns a moment or peak of the replaced part, and of the copy before the stretch.
    pub(super) fn next_aside(&mut self) -> Option<[u64; 2]> {
        let [onto, before] = self.onto.as_mut()?.aside.each_mut().map(Iterator::next);
        self.fits &= onto.is_some() && before.is_some();
        Some([onto.unwrap_or(0), before.unwrap_or(0)])
    }

    /// True for a moment before the stretch; false for a copy.
    pub fn is_before(&self, at: Moment, now: Moment) -> bool {
        self.onto.is_none() && at < now.saturating_sub(self.stretch)
    }

    /// True if the visit has met all noted totals.
    pub fn is_over(&self) -> bool {
        let is_empty = |onto: &Onto| {
            onto.words.len() + onto.rows.len() + onto.aside.iter().map(IntoIter::len).sum::<usize>() == 0
        };
        self.before.len() == 0 && self.onto.as_ref().is_none_or(is_empty)
    }
}

/// A recorded row.
pub trait Row: Clone + 'static {
    /// Moves the row in time, and by the progress of counters.
    fn shift(&mut self, by: Duration, on: &dyn Offsets);
}
