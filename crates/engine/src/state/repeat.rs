//! Visits that note totals, and visits that let totals grow again (see [`totals`](super::totals)).

use xoff_units::{Duration, Moment};

use super::totals::{Kind, Left, Note, Onto, Repetition, Row, Totals};
use super::{Action, StateVisitor};
use crate::offsets::{Offsets, Part, PeriodKind};
use crate::word::Total;

impl<'a> StateVisitor<'a> {
    /// Returns a visitor that notes the totals of the visited components.
    pub fn note(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Note(Note { totals: Totals::default(), rows: None }))
    }

    /// Returns a visitor that notes the totals and copies the rows of a component, before a copy replaces the
    /// component ([`StateVisitor::onto`]).
    pub fn leave(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Note(Note { totals: Totals::default(), rows: Some(Vec::new()) }))
    }

    /// Returns a visitor that repeats the period that ended at `now`, `times` times. `stretch` is the length
    /// of the period. `before` has the totals at the start of the period. `origin` has the growth of each
    /// counter in all repetitions.
    pub fn repeat(
        now: Moment,
        stretch: Duration,
        times: u64,
        before: Totals,
        origin: &'a dyn Offsets,
    ) -> Self {
        let (before, by) = (before.words.into_iter(), stretch * times);
        Self::new(
            now,
            origin,
            Action::Repeat(Repetition { stretch, by, times, before, onto: None, fits: true }),
        )
    }

    /// Returns a visitor of a copy that replaces a component. The copy was taken at `now`, at the end of a
    /// period, and moves ahead by `by`. `before` has the totals of the copy at the start of the period.
    /// `left` has the totals and rows of the replaced component. `origin` has the growth of each counter.
    pub fn onto(now: Moment, by: Duration, before: Totals, left: Left, origin: &'a dyn Offsets) -> Self {
        let fits = before.are_of(&left.totals);
        let Left { totals, rows } = left;
        let aside = [totals.aside, before.aside].map(Vec::into_iter);
        let onto = Some(Onto { words: totals.words.into_iter(), aside, rows: rows.into_iter() });
        let before = before.words.into_iter();
        Self::new(now, origin, Action::Repeat(Repetition { stretch: by, by, times: 1, before, onto, fits }))
    }

    /// Returns the noted totals; empty for a visitor with another action.
    pub fn totals(self) -> Totals {
        self.left().totals
    }

    /// Returns the noted totals and the copied rows.
    pub fn left(self) -> Left {
        match self.action {
            Action::Note(Note { totals, rows }) => Left { totals, rows: rows.unwrap_or_default() },
            _ => Left::default(),
        }
    }

    /// True if a repetition met exactly the noted totals, and no row was collected between note and
    /// repetition. If false, the visited components are invalid.
    pub fn fits(&self) -> bool {
        !matches!(&self.action, Action::Repeat(r) if !r.fits || !r.is_over())
    }

    /// Visits a total. A repetition adds the growth in the period, once per repetition.
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

    /// Visits a word that must be equal at both ends of a repeated period. A repetition is refused otherwise.
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

    /// Refuses a repetition of the visited component. A digest of the component equals no digest: nodes must not be
    /// suspended for a repetition that is refused in the end.
    pub const fn refuse(&mut self) {
        match &mut self.action {
            Action::Digest(seen) => seen.is_refused = true,
            Action::Repeat(r) => r.fits = false,
            Action::Shift(_) | Action::Note(_) => {}
        }
    }

    /// Visits a list of totals. A repetition is refused if the length of the list changed in the period.
    pub fn total_each<'t, T: Total + 't>(&mut self, totals: impl ExactSizeIterator<Item = &'t mut T>) {
        self.same(totals.len() as u64);
        totals.for_each(|total| self.total(total));
    }

    /// Visits a maximum. Repetitions do not change the maximum. A copy keeps the larger of both maxima.
    pub fn peak<T: Total + Ord>(&mut self, peak: &mut T) {
        match &mut self.action {
            Action::Digest(_) | Action::Shift(_) => {}
            Action::Note(note) => note.totals.push(Kind::Peak, peak.word()),
            Action::Repeat(r) => *peak = r.next_aside().map_or(*peak, |[onto, _]| T::of(onto).max(*peak)),
        }
    }

    /// Visits a moment from which a total counts, such as the start of a pause. The moment is in no digest. A
    /// repetition moves the moment, unless the moment lies before the repeated period.
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

    /// Visits the start of an entry of a sequence, such as the operations of a program; `place` is the index of
    /// the entry. The start is only recorded. If the entry was the same at the start of the period, its start
    /// stays. Otherwise the start must be one period later than the start of the earlier entry, and moves
    /// ahead. In a busy period the start decides later events, and is visited as a moment.
    pub fn begun(&mut self, place: u32, at: &mut Moment) {
        if self.origin.kind() == PeriodKind::Busy {
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

    /// Visits recorded rows. Each repetition records the rows of the period again, with later times and
    /// higher counters.
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
                    let left = r
                        .onto
                        .as_mut()
                        .and_then(|onto| onto.rows.next())
                        .and_then(|rows| rows.downcast::<Vec<R>>().ok());
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

    /// A row with a time and a packet.
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

    /// Returns a component at `now`, with this many packets behind.
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

    /// Changes a component by the events of a period that starts at `now`.
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

    /// A copy from the end of a busy period that began at 100 replaces another component at 1000, 40 packets
    /// further.
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
        // In the second case the peak exceeds the peak of the period, and the quiet time starts in the
        // period.
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
        let changes: [fn(&mut Part); 3] =
            [|part| part.kept += 1, |part| part.marks.push(1), |part| part.lines.clear()];
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
