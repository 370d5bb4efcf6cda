//! Totals: fields that are only counted or recorded. A walk ([`State::walk`](super::State::walk)) notes
//! totals, and a later walk lets totals grow again, in one of two ways:
//!
//! - **Repeat a period k times.** Each total grows by k times its growth in the period. Example: an output
//!   had sent 100 packets before a period, and 220 after the period. Ten repetitions bring the total to 220 +
//!   10 · 120 = 1,420.
//! - **Replace a component by a copy.** The copy was taken after an equal period, and replaces the component
//!   at the start of the period. Each total becomes the total of the component, plus the growth in the copy.
//!   Example: the component has sent 5,000 packets, and the copy sent 120 in its period. The total becomes
//!   5,120.

use std::any::Any;
use std::vec::IntoIter;

use xoff_units::{Duration, Moment};

use crate::offsets::Offsets;
use crate::random::fold;

/// Totals of components at one moment, in the order of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    pub(super) words: Vec<u64>,
    /// Moments and peaks ([`Kind::Since`], [`Kind::Peak`]). When a copy replaces a component, the higher peak
    /// remains. The component keeps its moment, unless the moment changed in the period of the copy.
    pub(super) aside: Vec<u64>,
    /// A hash of the kinds of all totals, and of the numbers of the visited flows.
    pub(super) shape: u64,
    /// Number of recorded rows that the collector has not taken yet.
    pub rows: u64,
    /// Moment of the next event from outside ([`StateVisitor::outside`](super::StateVisitor::outside)).
    pub outside: Moment,
    /// True if two components share data: a copy then cannot replace a component.
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
    /// Returns the indices of the totals that are larger than in `before`.
    pub fn grown(&self, before: &Self) -> Vec<usize> {
        let pairs = self.words.iter().zip(&before.words).enumerate();
        pairs.filter(|(_, (now, then))| now > then).map(|(place, _)| place).collect()
    }

    /// Returns the totals with the total at index `place` taken from `now`. In a repetition the total then
    /// does not grow, as if the component had not counted the total.
    #[must_use]
    pub fn leaving_out(mut self, place: usize, now: &Self) -> Self {
        self.words[place] = now.words[place];
        self
    }

    /// True if both totals come from components of the same kinds, in the same order.
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

/// Kind of a total: the method of [`StateVisitor`](super::StateVisitor) that visits the total.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Total,
    Same,
    Since,
    Peak,
    Rows,
    Begun,
}

/// Totals, and copies of the recorded rows that the collector has not taken yet.
#[derive(Debug, Default)]
pub struct Left {
    /// Totals.
    pub totals: Totals,
    pub(super) rows: Vec<Box<dyn Any>>,
}

/// The action *note*: totals read so far, and copies of rows if requested.
#[derive(Debug)]
pub(super) struct Note {
    pub totals: Totals,
    pub(super) rows: Option<Vec<Box<dyn Any>>>,
}

/// The action *repeat*: a repetition in progress.
#[derive(Debug)]
pub(super) struct Repetition {
    /// Duration of the period, duration of all repetitions, and number of repetitions.
    pub(super) stretch: Duration,
    pub by: Duration,
    pub(super) times: u64,
    /// Totals at the start of the period that the visit has not met yet.
    pub(super) before: IntoIter<u64>,
    /// Totals and rows of the replaced component, if a copy replaces a component.
    pub(super) onto: Option<Onto>,
    /// True as long as the visited totals match the noted totals in number and kind.
    pub fits: bool,
}

/// Totals and rows of the component that a copy replaces. `aside` has the moments and peaks of the component,
/// and of the copy at the start of its period.
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

    /// Returns the next total of the replaced component; `None` if no component is replaced.
    pub(super) fn next_onto(&mut self) -> Option<u64> {
        let next = self.onto.as_mut()?.words.next();
        self.fits &= next.is_some();
        next.or(Some(0))
    }

    /// Returns the next moment or peak of the replaced component, and of the copy at the start of its period.
    pub(super) fn next_aside(&mut self) -> Option<[u64; 2]> {
        let [onto, before] = self.onto.as_mut()?.aside.each_mut().map(Iterator::next);
        self.fits &= onto.is_some() && before.is_some();
        Some([onto.unwrap_or(0), before.unwrap_or(0)])
    }

    /// True if `at` is before the repeated period. Always false for a copy.
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

/// A recorded row of a table.
pub trait Row: Clone + 'static {
    /// Moves the times of the row by `by`, and its counters by their growth in `on`.
    fn shift(&mut self, by: Duration, on: &dyn Offsets);
}
