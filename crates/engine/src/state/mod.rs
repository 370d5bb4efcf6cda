//! State: the words of each component that later events depend on.
//!
//! A *walk* is a visit of the state of components in a fixed order. A component implements the visit in
//! [`State::walk`]. The argument `walk`, a [`StateVisitor`], has one of four actions:
//!
//! - **Digest**: hashes all words that decide later events, relative to now and to the progress of flows and
//!   links ([`Offsets`]).
//! - **Shift**: moves the state ahead in time and progress. The simulation continues from there.
//! - **Note**: reads all totals.
//! - **Repeat**: moves the state ahead, and adds the growth of each total since the note; or replaces a
//!   component by a copy (see `totals.rs`).
//!
//! Example of a digest: at 50 us, a timer expires at 53 us. At 60 us, a timer expires at 63 us. In both
//! states the timer expires in 3 us, and the digests are equal.
//!
//! [`State::walk`] classifies every field of a component:
//!
//! - *constant*: never changes during a run;
//! - *future*: decides later events, such as a queue or a timer;
//! - *total*: is only counted or recorded, such as the bytes sent or the rows of a table.
//!
//! The macro [`state!`](crate::state!) names every field: a field without a class does not compile. Tests
//! hold three invariants. A shift does not change a digest. A shifted run continues like a run without a
//! shift. A run with a repetition has the totals of a full run.

mod repeat;
mod totals;

use std::fmt;

use xoff_units::{Duration, Moment};

pub use self::totals::{Left, Row, Totals};
use self::totals::{Note, Repetition};
pub use crate::offsets::{Counter, Offsets, PeriodKind};
use crate::random::fold;
pub use crate::word::{Total, Word};

/// A component with state that decides later events.
pub trait State {
    /// Visits each field that decides later events, and each total. The order must depend on the visited
    /// state alone, and not for example on the order of a hash map.
    fn walk(&mut self, walk: &mut StateVisitor<'_>);
}

/// A visitor of the state of components, with one of four actions: see the top of this module.
pub struct StateVisitor<'a> {
    now: Moment,
    /// Offsets for a digest; growth of the counters for a shift or repetition.
    origin: &'a dyn Offsets,
    /// Offsets of the present flow: packets passed, credit granted, credit requested. The present flow is the
    /// flow whose state is being visited.
    passed: u32,
    granted: u32,
    asked: u32,
    /// Index of the present named component in the snapshot.
    part: usize,
    action: Action,
    /// The node and link whose state is being visited.
    place: Place,
    /// Slots of the side records of the visited messages. The records are visited after the node.
    pub(crate) seen: Vec<u32>,
}

/// A node, and a link by which the visited data arrived (`leaves` is false) or will leave (`leaves` is true).
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    node: u32,
    link: u16,
    leaves: bool,
}

/// The digest of a visit, by named component.
#[derive(Debug)]
pub struct Snapshot {
    /// The hash of each named component. The first entry, without a name, contains all other state.
    pub parts: Vec<(&'static str, u64)>,
    /// Number of words visited.
    pub count: u64,
    /// The words, if the visitor kept the words.
    words: Option<Vec<u64>>,
    /// A component refused to be repeated.
    pub(crate) is_refused: bool,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { parts: vec![("", 0)], count: 0, words: None, is_refused: false }
    }
}

impl Snapshot {
    /// Returns a hash of all words.
    pub fn digest(&self) -> u64 {
        self.parts.iter().fold(0, |hash, part| fold(hash, part.1))
    }

    /// True if both snapshots have kept their words, all words are equal, and no component refused.
    pub fn is(&self, other: &Self) -> bool {
        !self.is_refused && self.words.is_some() && self.words == other.words
    }
}

#[derive(Debug)]
enum Action {
    Digest(Snapshot),
    Shift(Duration),
    Note(Note),
    Repeat(Repetition),
}

impl fmt::Debug for StateVisitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateVisitor")
            .field("now", &self.now)
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

impl<'a> StateVisitor<'a> {
    fn new(now: Moment, origin: &'a dyn Offsets, action: Action) -> Self {
        Self {
            now,
            origin,
            passed: 0,
            granted: 0,
            asked: 0,
            part: 0,
            action,
            place: Place::default(),
            seen: Vec::new(),
        }
    }

    /// Returns a visitor that digests the state at `now`.
    pub fn digest(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Digest(Snapshot::default()))
    }

    /// Returns a visitor that digests the state at `now`, and keeps all words for a comparison.
    pub fn keep(now: Moment, origin: &'a dyn Offsets) -> Self {
        let situation = Snapshot { words: Some(Vec::new()), ..Snapshot::default() };
        Self { action: Action::Digest(situation), ..Self::digest(now, origin) }
    }

    /// Returns a visitor that moves the state at `now` ahead by `by`, and each counter by its growth in
    /// `origin`.
    pub fn shift(now: Moment, by: Duration, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Shift(by))
    }

    /// Returns the digest of the visited state; zero for a visitor with another action.
    pub fn result(&self) -> u64 {
        if let Action::Digest(seen) = &self.action { seen.digest() } else { 0 }
    }

    /// Returns the snapshot of the visited state; empty for a visitor with another action.
    pub fn snapshot(self) -> Snapshot {
        if let Action::Digest(seen) = self.action { seen } else { Snapshot::default() }
    }

    /// Visits a named component, which has a hash of its own in the snapshot.
    pub fn within(&mut self, name: &'static str, what: impl FnOnce(&mut Self)) {
        let outer = self.part;
        if let Action::Digest(seen) = &mut self.action {
            self.part = seen.parts.iter().position(|part| part.0 == name).unwrap_or_else(|| {
                seen.parts.push((name, 0));
                seen.parts.len() - 1
            });
        }
        what(self);
        self.part = outer;
    }

    /// Returns the moment of the visit.
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// Returns the time by which the visitor moves the state ahead; zero for a digest or a note.
    pub(crate) const fn by(&self) -> Duration {
        match &self.action {
            Action::Digest(_) | Action::Note(_) => Duration::ZERO,
            Action::Shift(by) | Action::Repeat(Repetition { by, .. }) => *by,
        }
    }

    /// Visits a word as it is: the word depends neither on the present moment nor on the progress of a flow.
    /// Example: the length of a queue.
    #[inline]
    pub fn value(&mut self, value: u64) {
        if let Action::Digest(seen) = &mut self.action {
            let hash = &mut seen.parts[self.part].1;
            *hash = fold(*hash, value);
            seen.count += 1;
            if let Some(words) = &mut seen.words {
                words.push(value);
            }
        }
    }

    /// Visits a moment that decides later events only while the moment is ahead. In a digest all past moments
    /// are equal. Example: the deadline of a timeout.
    pub fn due(&mut self, at: &mut Moment) {
        if let Action::Digest(_) = self.action {
            // A past moment counts as now.
            let left = if *at == Moment::NEVER { u64::MAX } else { at.0.saturating_sub(self.now.0) };
            self.value(left);
        } else {
            self.moment(at);
        }
    }

    /// Visits a moment that decides later events also after the moment has passed. Example: the moment at
    /// which a queue became empty, from which a timeout counts. [`Moment::NEVER`] stays.
    pub fn moment(&mut self, at: &mut Moment) {
        match self.action {
            Action::Digest(_) if *at == Moment::NEVER => self.value(u64::MAX),
            Action::Digest(_) => self.value(at.0.wrapping_sub(self.now.0)),
            _ if *at != Moment::NEVER => *at += self.by(),
            _ => {}
        }
    }

    /// Visits the moment of a reminder: a timer that only makes a component read a deadline in a field of its
    /// own ([`Timer::Reminder`](crate::Timer::Reminder)). The moment is in no digest, and moves with the
    /// state. A repetition leaves a moment before the repeated period in place.
    pub fn reminder(&mut self, at: &mut Moment) {
        match &self.action {
            Action::Digest(_) => {}
            Action::Repeat(r) if r.is_before(*at, self.now) => {}
            _ => self.moment(at),
        }
    }

    /// Visits events from outside, which the input of the run sets: starts of flows, faults. The events are
    /// in no digest. A shift moves the events. A repetition leaves the events in place, and the caller ends
    /// the repetition before the first of the events.
    pub fn outside(&mut self, what: impl FnOnce(&mut Self)) {
        if let Action::Shift(_) = self.action {
            what(self);
        }
    }

    /// Visits the moment of one event from outside. A note collects the earliest of these moments
    /// ([`Totals::outside`]).
    pub fn interruption(&mut self, at: &mut Moment) {
        match &mut self.action {
            Action::Note(note) => note.totals.outside = note.totals.outside.min(*at),
            Action::Shift(_) => self.moment(at),
            Action::Digest(_) | Action::Repeat(_) => {}
        }
    }

    /// Visits the position of now between two multiples of `period`, for events at each multiple. A
    /// repetition must take a multiple of `period`, and is refused otherwise. Example: with events every 10
    /// us, 42 us and 52 us have the same phase of 2 us.
    pub fn phase(&mut self, period: Duration) {
        self.value(self.now.0 % period.0.max(1));
        if let Action::Repeat(r) = &mut self.action {
            r.fits &= r.by.0.is_multiple_of(period.0.max(1));
        }
    }

    /// Makes `flow` the present flow: the following calls visit its state.
    pub fn of_flow(&mut self, flow: u32) {
        if let Action::Note(note) = &mut self.action {
            note.totals.about(u64::from(flow) << 32);
        }
        self.passed = self.count(Counter::Packets(flow));
        (self.granted, self.asked) = (self.count(Counter::Granted(flow)), self.count(Counter::Asked(flow)));
    }

    /// Visits a count of the credit granted to the present flow since its start.
    pub fn granted(&mut self, count: &mut u32) {
        self.relative(count, self.granted);
    }

    /// Visits the tag of a packet of the present flow, if the tag is a count of the credit requested since
    /// the start of the flow.
    pub fn asked(&mut self, count: &mut u32) {
        self.relative(count, self.asked);
    }

    fn count(&self, counter: Counter) -> u32 {
        self.origin.offset(counter) as u32
    }

    fn relative(&mut self, count: &mut u32, origin: u32) {
        match self.action {
            Action::Digest(_) => self.value(u64::from(count.wrapping_sub(origin))),
            Action::Shift(_) | Action::Repeat(_) => *count = count.wrapping_add(origin),
            Action::Note(_) => {}
        }
    }

    /// Visits the index of a packet of the present flow.
    pub fn packet(&mut self, index: &mut u32) {
        self.relative(index, self.passed);
    }

    /// Visits the index of a packet of the present flow that decides later events only until the packet has
    /// passed. In a digest all earlier indices are equal.
    pub fn ahead(&mut self, index: &mut u32) {
        match self.action {
            Action::Digest(_) => self.value(u64::from(index.saturating_sub(self.passed))),
            _ => self.packet(index),
        }
    }

    /// Returns the kind of period ([`Offsets::kind`]).
    pub fn kind(&self) -> PeriodKind {
        self.origin.kind()
    }

    /// Visits a number that counts on from a counter.
    pub fn counted(&mut self, counter: Counter, number: &mut u32) {
        self.relative(number, self.count(counter));
    }

    /// Returns the growth of a counter by which a shift or repetition moves the state ahead; otherwise zero.
    pub fn further(&self, counter: Counter) -> u32 {
        if self.by() > Duration::ZERO { self.count(counter) } else { 0 }
    }

    /// Visits a number of a series ([`Offsets::number`]).
    pub fn number(&mut self, owner: u32, number: &mut u32) {
        match self.action {
            Action::Digest(_) => {
                let (series, place) = self.origin.turn(owner, *number);
                self.value(u64::from(series));
                self.value(u64::from(place.wrapping_sub(self.count(Counter::Series(owner, series)))));
            }
            Action::Shift(_) | Action::Repeat(_) => *number = self.origin.number(owner, *number),
            Action::Note(_) => {}
        }
    }

    /// Visits the end of a computation, and the token of its timer. In a period within computations the end is an
    /// event from outside.
    pub(crate) fn computed(&mut self, at: &mut Moment, token: &mut u64) {
        if matches!(self.origin.kind(), PeriodKind::Within(_)) {
            self.interruption(at);
            return;
        }
        self.moment(at);
        let origin = self.origin.offset(Counter::Timer(self.place.node, *token));
        match self.action {
            Action::Digest(_) => self.value(token.wrapping_sub(origin)),
            Action::Shift(_) | Action::Repeat(_) => *token += origin,
            Action::Note(_) => {}
        }
    }

    /// Visits a number of bytes that an output has sent, at present or at an earlier moment.
    pub fn bytes(&mut self, node: u32, output: u16, sent: &mut u64) {
        let origin = self.origin.offset(Counter::Bytes(node, output));
        match self.action {
            Action::Digest(_) => self.value(sent.wrapping_sub(origin)),
            Action::Shift(_) | Action::Repeat(_) => *sent = sent.wrapping_add(origin),
            Action::Note(_) => {}
        }
    }

    /// Makes `node` the present node.
    pub const fn at_node(&mut self, node: u32) {
        self.place.node = node;
    }

    /// Makes `link` the present link: the following calls visit data that arrived by the link, or (`leaves`)
    /// will leave by the link.
    pub const fn at_link(&mut self, link: u16, leaves: bool) {
        self.place = Place { link, leaves, ..self.place };
    }

    /// Visits a counter that both ends of the present link keep for traffic class `which`
    /// ([`Counter::Class`]). The counter belongs to the present node (`is_own`), or to the node at the other
    /// end.
    pub fn counter(&mut self, is_own: bool, which: u8, count: &mut u32) {
        let Place { node, link, leaves } = self.place;
        let (node, output) = if is_own == leaves { (node, link) } else { self.origin.far(node, link) };
        let counter = Counter::Class(node, output, which);
        let (origin, mask) = (self.origin.offset(counter), self.origin.mask(counter));
        match self.action {
            Action::Digest(_) => self.value(u64::from(count.wrapping_sub(origin as u32) & mask)),
            Action::Shift(_) | Action::Repeat(_) => *count = count.wrapping_add(origin as u32) & mask,
            Action::Note(_) => {}
        }
    }

    /// Visits the slot of a side record. The visitor visits the record after the node.
    pub fn side(&mut self, slot: u32) {
        self.value(u64::MAX);
        self.seen.push(slot);
        self.is_shared();
    }

    /// Notes that two components share data. A copy of one component would then share the data as well, and
    /// cannot replace another component.
    pub const fn is_shared(&mut self) {
        if let Action::Note(note) = &mut self.action {
            note.totals.is_shared = true;
        }
    }

    /// Visits the entries of a map in the order of their keys. `each` visits one entry.
    pub fn keyed<'s, K: Ord + Word + 's, V: 's>(
        &mut self,
        parts: impl IntoIterator<Item = (&'s K, &'s mut V)>,
        mut each: impl FnMut(&mut Self, &K, &mut V),
    ) {
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.sort_by_key(|part| part.0);
        self.value(parts.len() as u64);
        for (key, part) in parts {
            self.value(key.word());
            each(self, key, part);
        }
    }
}

impl State for () {
    fn walk(&mut self, _: &mut StateVisitor<'_>) {}
}

impl State for Moment {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.moment(self);
    }
}

macro_rules! parts {
    ($($type:ty)*) => {
        $(impl State for $type {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                walk.value(self.word());
            }
        })*
    };
}

parts!(u32 u64 f64 Duration);

impl<T: State + ?Sized> State for Box<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        (**self).walk(walk);
    }
}

impl<T: State> State for Option<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(u64::from(self.is_some()));
        if let Some(part) = self {
            part.walk(walk);
        }
    }
}

impl<T: State> State for [T] {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(self.len() as u64);
        for part in self {
            part.walk(walk);
        }
    }
}

impl<T: State> State for Vec<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        self.as_mut_slice().walk(walk);
    }
}

impl<T: State> State for std::collections::VecDeque<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        self.make_contiguous().walk(walk);
    }
}

/// Implements [`State`] for a component: names every field, with its kind. A field
/// without a kind does not compile.
///
/// Fields that decide later events:
///
/// | kind | field |
/// |---|---|
/// | `due`, `dues` | a moment that decides later events while the moment is ahead; a list |
/// | `moment`, `moments` | a moment that decides later events also after the moment; a list |
/// | `flow` | the number of a flow, which becomes the present flow for the following fields |
/// | `packet`, `packets` | the index of a packet of the present flow; a list |
/// | `ahead` | the index of a packet that decides later events until the packet has passed |
/// | `granted` | a count of the credit granted to the present flow |
/// | `value` | any word that depends neither on the present moment nor on progress |
/// | `part` | a field with a `State` |
/// | `keyed`, `flows` | a map of values with a `State`; a map by flow |
///
/// Fields that are only counted or recorded:
///
/// | kind | field |
/// |---|---|
/// | `total`, `totals` | a count: a repetition adds the growth in the period again; a list |
/// | `since`, `sinces` | a moment from which a total counts; a list |
/// | `peak`, `peaks` | a maximum, which a repetition leaves unchanged; a list |
/// | `rows` | a list of recorded rows: a repetition records the rows of the period again ([`state::Row`](Row)) |
///
/// Fields that never change in a run, or that are used within one event only, have the kind `constant`.
///
/// Example, with a field of each class:
///
/// ```ignore
/// state!(Counter { value: level; due: deadline; total: overflows; constant: limit; });
/// ```
///
/// A component without fields is named alone: `state!(Empty);`.
#[macro_export]
macro_rules! state {
    ($part:ty { $($kind:ident: $($field:ident),+;)* }) => {
        impl $crate::state::State for $part {
            fn walk(&mut self, walk: &mut $crate::state::StateVisitor<'_>) {
                let Self { $($($field,)+)* } = self;
                $($($crate::state!(@$kind walk $field);)+)*
            }
        }
    };
    ($part:ty) => {
        impl $crate::state::State for $part {
            fn walk(&mut self, _: &mut $crate::state::StateVisitor<'_>) {
                // Does not compile for a component with fields.
                let Self {} = self;
            }
        }
    };
    (@due $walk:ident $field:ident) => { $walk.due($field) };
    (@dues $walk:ident $field:ident) => {
        let many = $field.iter_mut().map(|at| $walk.due(at)).count();
        $walk.value(many as u64);
    };
    (@moment $walk:ident $field:ident) => { $walk.moment($field) };
    (@moments $walk:ident $field:ident) => {
        let many = $field.iter_mut().map(|at| $walk.moment(at)).count();
        $walk.value(many as u64);
    };
    (@flow $walk:ident $field:ident) => {
        $walk.of_flow(*$field);
        $walk.value(u64::from(*$field));
    };
    (@packet $walk:ident $field:ident) => { $walk.packet($field) };
    (@ahead $walk:ident $field:ident) => { $walk.ahead($field) };
    (@granted $walk:ident $field:ident) => { $walk.granted($field) };
    (@packets $walk:ident $field:ident) => {
        let many = $field.iter_mut().map(|index| $walk.packet(index)).count();
        $walk.value(many as u64);
    };
    (@value $walk:ident $field:ident) => { $walk.value($crate::state::Word::word($field)) };
    (@part $walk:ident $field:ident) => { $crate::state::State::walk($field, $walk) };
    (@keyed $walk:ident $field:ident) => { $walk.keyed($field.iter_mut(), |walk, _, part| $crate::state::State::walk(part, walk)) };
    (@flows $walk:ident $field:ident) => {
        $walk.keyed($field.iter_mut(), |walk, flow, part| {
            walk.of_flow(*flow);
            $crate::state::State::walk(part, walk);
        })
    };
    (@total $walk:ident $field:ident) => { $walk.total($field) };
    (@totals $walk:ident $field:ident) => { $walk.total_each($field.iter_mut()) };
    (@since $walk:ident $field:ident) => { $walk.since($field) };
    (@sinces $walk:ident $field:ident) => { for at in $field.iter_mut() { $walk.since(at); } };
    (@peak $walk:ident $field:ident) => { $walk.peak($field) };
    (@peaks $walk:ident $field:ident) => { for peak in $field.iter_mut() { $walk.peak(peak); } };
    (@rows $walk:ident $field:ident) => { $walk.rows($field) };
    (@constant $walk:ident $field:ident) => { let _ = $field; };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_map_are_visited_by_key() {
        let digest = |mut entries: [(u32, u64); 3]| {
            let mut walk = StateVisitor::digest(Moment::ZERO, &|_| 0);
            walk.keyed(entries.iter_mut().map(|(key, value)| (&*key, value)), |walk, _, value| {
                walk.value(*value);
            });
            walk.result()
        };
        let sorted = digest([(1, 10), (2, 20), (3, 30)]);
        assert_eq!(digest([(3, 30), (1, 10), (2, 20)]), sorted);
        assert_ne!(digest([(1, 20), (2, 10), (3, 30)]), sorted);
    }
}
