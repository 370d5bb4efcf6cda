//! Totals: fields that are only counted or recorded. A walk notes totals, and a repetition lets totals grow again.
//!
//! There are two repetitions. The last stretch is repeated k times: each total grows k times by its growth in the stretch.
//! Or a copy of a component, after a stretch, replaces the component before the same stretch: each total is the total of
//! the replaced component, plus the growth in the copy.

use std::any::Any;
use std::vec::IntoIter;

use xoff_units::{Duration, Moment};

use super::{Action, StateVisitor};
use crate::offsets::{Offsets, Part, PeriodKind};
use crate::random::fold;
use crate::word::Total;

/// What was counted up to a moment, in the order of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    words: Vec<u64>,
    /// Moments and peaks, which matter where a copy takes the place of another part.
    aside: Vec<u64>,
    /// A hash of what each of all these is, and of whose.
    shape: u64,
    /// Rows that were written down and not taken yet.
    pub rows: u64,
    /// When something comes from outside next.
    pub outside: Moment,
    /// Not all of what was seen is in it: a copy would share it.
    pub is_shared: bool,
}

impl Default for Totals {
    fn default() -> Self {
        Self { words: Vec::new(), aside: Vec::new(), shape: 0, rows: 0, outside: Moment::NEVER, is_shared: false }
    }
}

impl Totals {
    /// Those that have grown since others, by their places.
    pub fn grown(&self, before: &Self) -> Vec<usize> {
        let pairs = self.words.iter().zip(&before.words).enumerate();
        pairs.filter(|(_, (now, then))| now > then).map(|(place, _)| place).collect()
    }

    /// The same as if one had been then what it is at another moment, so that it does not grow again: as if a part had left it out.
    #[must_use]
    pub fn leaving_out(mut self, place: usize, now: &Self) -> Self {
        self.words[place] = now.words[place];
        self
    }

    /// Whether they are of the same parts.
    pub fn are_of(&self, other: &Self) -> bool {
        self.shape == other.shape
    }

    fn push(&mut self, kind: Kind, word: u64) {
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

/// What a word of totals is.
#[derive(Clone, Copy)]
enum Kind {
    Total,
    Same,
    Since,
    Peak,
    Rows,
    Begun,
}

/// Totals, and copies of all rows that were written down and not taken.
#[derive(Debug, Default)]
pub struct Left {
    /// Those.
    pub totals: Totals,
    rows: Vec<Box<dyn Any>>,
}

/// What was noted.
#[derive(Debug)]
pub(super) struct Note {
    pub totals: Totals,
    rows: Option<Vec<Box<dyn Any>>>,
}

/// How what happened is repeated.
#[derive(Debug)]
pub(super) struct Repetition {
    /// How long the stretch takes, and all of them; how often it happens again.
    stretch: Duration,
    pub by: Duration,
    times: u64,
    /// Totals when the stretch began, those that were met yet gone.
    before: IntoIter<u64>,
    /// What was left of the part whose place this one takes, if it is a copy.
    onto: Option<Onto>,
    /// What was noted is what was met.
    pub fits: bool,
}

/// What a copy takes the place of; of moments and peaks, also those that the copy had before.
#[derive(Debug)]
struct Onto {
    words: IntoIter<u64>,
    aside: [IntoIter<u64>; 2],
    rows: IntoIter<Box<dyn Any>>,
}

impl Repetition {
    fn next(&mut self) -> u64 {
        self.before.next().unwrap_or_else(|| {
            self.fits = false;
            0
        })
    }

    /// The same of the part whose place this one takes.
    fn next_onto(&mut self) -> Option<u64> {
        let next = self.onto.as_mut()?.words.next();
        self.fits &= next.is_some();
        next.or(Some(0))
    }

    /// A moment or a peak of that part, and the same of this one before.
    fn next_aside(&mut self) -> Option<[u64; 2]> {
        let [onto, before] = self.onto.as_mut()?.aside.each_mut().map(Iterator::next);
        self.fits &= onto.is_some() && before.is_some();
        Some([onto.unwrap_or(0), before.unwrap_or(0)])
    }

    /// Whether a moment was before the stretch; nothing in a copy is.
    pub fn is_before(&self, at: Moment, now: Moment) -> bool {
        self.onto.is_none() && at < now.saturating_sub(self.stretch)
    }

    /// Nothing that was noted is left.
    pub fn is_over(&self) -> bool {
        let is_empty = |onto: &Onto| onto.words.len() + onto.rows.len() + onto.aside.iter().map(IntoIter::len).sum::<usize>() == 0;
        self.before.len() == 0 && self.onto.as_ref().is_none_or(is_empty)
    }
}

/// Something that was written down.
pub trait Row: Clone + 'static {
    /// The same later, and so far on.
    fn shift(&mut self, by: Duration, on: &dyn Offsets);
}

impl<'a> StateVisitor<'a> {
    /// Notes the totals of what is seen.
    pub fn note(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Note(Note { totals: Totals::default(), rows: None }))
    }

    /// Notes the totals of what is seen, and copies its rows: something else will take its place ([`StateVisitor::onto`]).
    pub fn leave(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Note(Note { totals: Totals::default(), rows: Some(Vec::new()) }))
    }

    /// Repeats, so many times, what happened in a stretch of time up to `now`, at whose beginning the totals were these. `origin`
    /// tells how far all goes on.
    pub fn repeat(now: Moment, stretch: Duration, times: u64, before: Totals, origin: &'a dyn Offsets) -> Self {
        let (before, by) = (before.words.into_iter(), stretch * times);
        Self::new(now, origin, Action::Repeat(Repetition { stretch, by, times, before, onto: None, fits: true }))
    }

    /// Puts a copy of `now` later by `by` in the place of what was `left`; something had happened in the copy since its totals were `before`.
    /// `origin` tells how far all goes on.
    pub fn onto(now: Moment, by: Duration, before: Totals, left: Left, origin: &'a dyn Offsets) -> Self {
        let fits = before.are_of(&left.totals);
        let Left { totals, rows } = left;
        let aside = [totals.aside, before.aside].map(Vec::into_iter);
        let onto = Some(Onto { words: totals.words.into_iter(), aside, rows: rows.into_iter() });
        let before = before.words.into_iter();
        Self::new(now, origin, Action::Repeat(Repetition { stretch: by, by, times: 1, before, onto, fits }))
    }

    /// The totals that were noted; none of other walks.
    pub fn totals(self) -> Totals {
        self.left().totals
    }

    /// The totals that were noted, and the rows that were copied.
    pub fn left(self) -> Left {
        match self.action {
            Action::Note(Note { totals, rows }) => Left { totals, rows: rows.unwrap_or_default() },
            _ => Left::default(),
        }
    }

    /// Whether what was repeated is what was noted: as many totals, and no row that had left in between. Otherwise what was walked
    /// is worth nothing.
    pub fn fits(&self) -> bool {
        !matches!(&self.action, Action::Repeat(r) if !r.fits || !r.is_over())
    }

    /// What was only counted.
    pub fn total<T: Total>(&mut self, total: &mut T) {
        match &mut self.action {
            Action::Digest(_) | Action::Shift(_) => {}
            Action::Note(note) => note.totals.push(Kind::Total, total.word()),
            Action::Repeat(r) => {
                let grown = total.word().wrapping_sub(r.next());
                let from = r.next_onto().unwrap_or_else(|| total.word());
                *total = T::of(from.wrapping_add(grown.wrapping_mul(r.times)));
            }
        }
    }

    /// Something that has to be as it was when a stretch of time began, for that to be repeated.
    pub fn same(&mut self, word: u64) {
        match &mut self.action {
            Action::Digest(_) | Action::Shift(_) => {}
            Action::Note(note) => note.totals.push(Kind::Same, word),
            Action::Repeat(r) => {
                r.fits &= r.next() == word;
                r.fits &= r.next_onto().is_none_or(|onto| onto == word);
            }
        }
    }

    /// Something here cannot be repeated.
    pub const fn refuse(&mut self) {
        if let Action::Repeat(r) = &mut self.action {
            r.fits = false;
        }
    }

    /// Counts that come into being when there is something to count.
    pub fn total_each<'t, T: Total + 't>(&mut self, totals: impl ExactSizeIterator<Item = &'t mut T>) {
        self.same(totals.len() as u64);
        totals.for_each(|total| self.total(total));
    }

    /// The most that there ever was: what happens again changes it no more.
    pub fn peak<T: Total + Ord>(&mut self, peak: &mut T) {
        match &mut self.action {
            Action::Digest(_) | Action::Shift(_) => {}
            Action::Note(note) => note.totals.push(Kind::Peak, peak.word()),
            Action::Repeat(r) => *peak = r.next_aside().map_or(*peak, |[onto, _]| T::of(onto).max(*peak)),
        }
    }

    /// A moment from which on something is counted: it is in no digest. One that was before the stretch that is repeated stays.
    pub fn since(&mut self, at: &mut Moment) {
        match &mut self.action {
            Action::Digest(_) => {}
            Action::Shift(_) => self.moment(at),
            Action::Note(note) => note.totals.push(Kind::Since, at.0),
            Action::Repeat(r) => match r.next_aside() {
                Some([onto, before]) if at.0 == before => *at = Moment(onto),
                Some(_) => self.moment(at),
                None => self.reminder(at),
            },
        }
    }

    /// When something began that has a place in a sequence, which is only written down. If another one took its place while a stretch of time
    /// went by, it began as much later; to be repeated it has to. From one quiet moment to another it is a part of the situation.
    pub fn begun(&mut self, place: u32, at: &mut Moment) {
        if self.origin.kind() == PeriodKind::BusyPeriods {
            return self.moment(at);
        }
        match &mut self.action {
            Action::Digest(_) => {}
            Action::Shift(by) => *at += *by,
            Action::Note(note) => {
                note.totals.push(Kind::Begun, place.into());
                note.totals.push(Kind::Begun, at.0);
            }
            Action::Repeat(r) => {
                let (place_before, before) = (r.next(), r.next());
                if place_before == u64::from(place) {
                    r.fits &= before == at.0;
                } else {
                    r.fits &= before + r.stretch.0 == at.0;
                    *at += r.by;
                }
            }
        }
    }

    /// What was written down, and will be again.
    pub fn rows<R: Row>(&mut self, rows: &mut Vec<R>) {
        let origin = self.origin;
        match &mut self.action {
            Action::Digest(_) | Action::Shift(_) => {}
            Action::Note(note) => {
                note.totals.push(Kind::Rows, rows.len() as u64);
                note.totals.rows += rows.len() as u64;
                if let Some(copies) = &mut note.rows {
                    copies.push(Box::new(rows.clone()));
                }
            }
            Action::Repeat(r) => {
                let (from, to) = (r.next() as usize, rows.len());
                r.fits &= from <= to;
                if r.next_onto().is_some() {
                    let left = r.onto.as_mut().and_then(|onto| onto.rows.next()).and_then(|rows| rows.downcast::<Vec<R>>().ok());
                    r.fits &= left.is_some();
                    rows.drain(..from.min(to));
                    for row in rows.iter_mut() {
                        row.shift(r.by, origin);
                    }
                    rows.splice(..0, left.into_iter().flat_map(|rows| *rows));
                    return;
                }
                for nth in 1..=r.times {
                    for row in from..to {
                        let mut again = rows[row].clone();
                        let part = Part { origin, nth, of: r.times };
                        again.shift(Duration(part.of(r.by.0)), &part);
                        rows.push(again);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::state::{Counter, State};

    /// A row with its time and packet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Line(Moment, u32);

    impl Row for Line {
        fn shift(&mut self, by: Duration, on: &dyn Offsets) {
            self.0 += by;
            self.1 += on.offset(Counter::Packets(0)) as u32;
        }
    }

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Part {
        next: Moment,
        seq: u32,
        sent: u64,
        kept: u64,
        quiet_since: Moment,
        most: u32,
        marks: Vec<u32>,
        lines: Vec<Line>,
        constant: u64,
    }

    impl State for Part {
        fn walk(&mut self, walk: &mut StateVisitor<'_>) {
            let Self { next, seq, sent, kept, quiet_since, most, marks, lines, constant: _ } = self;
            walk.due(next);
            walk.of_flow(0);
            walk.packet(seq);
            walk.total(sent);
            walk.same(*kept);
            walk.since(quiet_since);
            walk.peak(most);
            walk.total_each(marks.iter_mut());
            walk.rows(lines);
        }
    }

    /// Something at a moment from which on it does the same as at any other: so many packets are behind it.
    fn part(now: u64, packets: u32) -> Part {
        let lines = vec![Line(Moment(now - 7), packets)];
        Part {
            next: Moment(now + 5),
            seq: packets,
            sent: 10 * u64::from(packets),
            kept: 4,
            quiet_since: Moment(now - 3),
            most: 2,
            marks: vec![packets],
            lines,
            constant: 1,
        }
    }

    /// What it does then.
    fn happen(part: &mut Part, now: u64) {
        part.next = Moment(now + 45);
        part.seq += 3;
        part.sent += 30;
        part.most = part.most.max(6);
        part.marks[0] += 3;
        part.lines.push(Line(Moment(now + 9), part.seq));
    }

    fn noted(part: &mut Part) -> Totals {
        let mut walk = StateVisitor::note(Moment::ZERO, &|_| 0);
        part.walk(&mut walk);
        walk.totals()
    }

    /// A copy from the end of a busy period that began at 100 replaces another component at 1000, 40 packets further.
    fn put(copy: &mut Part, before: Totals, onto: &mut Part) -> bool {
        let mut walk = StateVisitor::leave(Moment(1000), &|_| 0);
        onto.walk(&mut walk);
        let left = walk.left();
        let further = |_| 40;
        let mut walk = StateVisitor::onto(Moment(140), Duration(900), before, left, &further);
        copy.walk(&mut walk);
        walk.fits()
    }

    #[test]
    fn a_copy_takes_the_place_of_what_would_have_become_the_same() {
        // In one the mark of what is the most is beyond what happens, and something is counted since it is quiet.
        for (most, touches) in [(2, false), (9, true)] {
            let mut copy = part(100, 8);
            let before = noted(&mut copy);
            let mut onto = Part { most, ..part(1000, 48) };
            let mut expected = onto.clone();
            happen(&mut copy, 100);
            happen(&mut expected, 1000);
            if touches {
                (copy.quiet_since, expected.quiet_since) = (Moment(120), Moment(1020));
            }
            assert!(put(&mut copy, before, &mut onto));
            assert_eq!(copy, expected);
        }
    }

    #[test]
    fn what_is_of_another_shape_or_was_changed_is_not_put_in_place() {
        let changes: [fn(&mut Part); 3] = [|part| part.kept += 1, |part| part.marks.push(1), |part| part.lines.clear()];
        for change in changes {
            let (mut copy, mut onto) = (part(100, 8), part(1000, 48));
            let before = noted(&mut copy);
            happen(&mut copy, 100);
            let mut changed = copy.clone();
            change(&mut changed);
            assert!(put(&mut copy, before.clone(), &mut onto));
            assert!(!put(&mut changed, before, &mut onto), "{changed:?}");
        }
        let (mut copy, mut onto) = (part(100, 8), Part { kept: 5, ..part(1000, 48) });
        let before = noted(&mut copy);
        assert!(!put(&mut copy, before, &mut onto), "it had changed before");
    }

    #[test]
    fn a_total_that_is_left_out_does_not_grow() {
        let (mut copy, mut onto) = (part(100, 8), part(1000, 48));
        let before = noted(&mut copy);
        happen(&mut copy, 100);
        let now = noted(&mut copy);
        assert_eq!(now.grown(&before), [0, 3, 4], "what was sent, a mark, rows");
        assert!(put(&mut copy, before.leaving_out(0, &now), &mut onto));
        assert_eq!(copy.sent, 480);
    }
}
