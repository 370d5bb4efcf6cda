//! State: the words of each component that later events depend on.
//!
//! Each component classifies every field in one place, [`State::walk`]: *constant*; *future*, a field with
//! influence on later events; or *total*, a field that is only counted or recorded. A [`StateVisitor`] has
//! one of four actions:
//!
//! - Digest the future, relative to now and to the offsets of flows and links. Equal states have equal
//!   digests at any moment.
//! - Shift the future: the simulation continues as if a time had passed, and packets of each flow.
//! - Note the totals.
//! - Repeat the events since the totals were noted: the future shifts, and each total grows again by the same
//!   amount. Or replace a component by a copy in which these events took place (`totals`).
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

/// A component with a future.
pub trait State {
    /// Shows each word that a later window depends on, in an order independent of all else.
    fn walk(&mut self, walk: &mut StateVisitor<'_>);
}

/// Visits the state of components: digests or shifts the future, notes totals, or repeats a stretch.
pub struct StateVisitor<'a> {
    now: Moment,
    /// Offsets of a digest, or growth of a shift or repetition.
    origin: &'a dyn Offsets,
    /// Offsets of the present flow: packets that have passed, credit granted, credit asked for.
    passed: u32,
    granted: u32,
    asked: u32,
    /// The present part, by its index in the snapshot.
    part: usize,
    action: Action,
    /// The present node and link.
    place: Place,
    /// Slots of side records of the visited messages.
    pub(crate) seen: Vec<u32>,
}

/// A node, and the link by which the visited data arrived or will leave.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    node: u32,
    link: u16,
    leaves: bool,
}

/// The words that decide later events.
#[derive(Debug)]
pub struct Snapshot {
    /// Hashes of named components, and of the rest.
    pub parts: Vec<(&'static str, u64)>,
    /// Number of words.
    pub count: u64,
    /// The words, if kept.
    words: Option<Vec<u64>>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { parts: vec![("", 0)], count: 0, words: None }
    }
}

impl Snapshot {
    /// Returns a hash of all words.
    pub fn digest(&self) -> u64 {
        self.parts.iter().fold(0, |hash, part| fold(hash, part.1))
    }

    /// True if all words are equal; both snapshots must have kept words.
    pub fn is(&self, other: &Self) -> bool {
        self.words.is_some() && self.words == other.words
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

    /// Returns a visitor that digests the state at `now`, and keeps the words.
    pub fn keep(now: Moment, origin: &'a dyn Offsets) -> Self {
        let situation = Snapshot { words: Some(Vec::new()), ..Snapshot::default() };
        Self { action: Action::Digest(situation), ..Self::digest(now, origin) }
    }

    /// Returns a visitor that shifts the state at `now` by a time, and counters by the growth of `origin`.
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

    /// Visits a named part.
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

    /// Returns the time by which the visitor moves the future.
    pub(crate) const fn by(&self) -> Duration {
        match &self.action {
            Action::Digest(_) | Action::Note(_) => Duration::ZERO,
            Action::Shift(by) | Action::Repeat(Repetition { by, .. }) => *by,
        }
    }

    /// Visits a word that depends neither on time nor on the progress of a flow.
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

    /// Visits a moment that matters until the moment has passed.
    pub fn due(&mut self, at: &mut Moment) {
        if let Action::Digest(_) = self.action {
            // All past moments are equal.
            let left = if *at == Moment::NEVER { u64::MAX } else { at.0.saturating_sub(self.now.0) };
            self.value(left);
        } else {
            self.moment(at);
        }
    }

    /// Visits a moment that matters after the moment has passed, too; [`Moment::NEVER`] stays.
    pub fn moment(&mut self, at: &mut Moment) {
        match self.action {
            Action::Digest(_) if *at == Moment::NEVER => self.value(u64::MAX),
            Action::Digest(_) => self.value(at.0.wrapping_sub(self.now.0)),
            _ if *at != Moment::NEVER => *at += self.by(),
            _ => {}
        }
    }

    /// Visits the moment of a reminder, which only makes a component look at state of its own. The moment is
    /// shifted, and is in no digest. A moment before the repeated stretch stays.
    pub fn reminder(&mut self, at: &mut Moment) {
        match &self.action {
            Action::Digest(_) => {}
            Action::Repeat(r) if r.is_before(*at, self.now) => {}
            _ => self.moment(at),
        }
    }

    /// Visits events from outside, such as flows to come. Events from outside are in no digest. A shift moves
    /// the events, and a repetition leaves the events in place: the caller ends the repetition before them.
    pub fn outside(&mut self, what: impl FnOnce(&mut Self)) {
        if let Action::Shift(_) = self.action {
            what(self);
        }
    }

    /// Visits the moment of an event from outside.
    pub fn interruption(&mut self, at: &mut Moment) {
        match &mut self.action {
            Action::Note(note) => note.totals.outside = note.totals.outside.min(*at),
            Action::Shift(_) => self.moment(at),
            Action::Digest(_) | Action::Repeat(_) => {}
        }
    }

    /// Visits the phase of events at multiples of `period`. A repetition by another time than a multiple of
    /// `period` is refused.
    pub fn phase(&mut self, period: Duration) {
        self.value(self.now.0 % period.0.max(1));
        if let Action::Repeat(r) = &mut self.action {
            r.fits &= r.by.0.is_multiple_of(period.0.max(1));
        }
    }

    /// Begins the state of a flow.
    pub fn of_flow(&mut self, flow: u32) {
        if let Action::Note(note) = &mut self.action {
            note.totals.about(u64::from(flow) << 32);
        }
        self.passed = self.count(Counter::Packets(flow));
        (self.granted, self.asked) = (self.count(Counter::Granted(flow)), self.count(Counter::Asked(flow)));
    }

    /// Visits the credit granted to the present flow since the start of the flow.
    pub fn granted(&mut self, count: &mut u32) {
        self.relative(count, self.granted);
    }

    /// Visits the tag of a packet of the present flow: the credit asked for since the start of the flow, or
    /// another word.
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

    /// Visits the index of a packet that matters until the packet has passed.
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

    /// Visits the index of a message of an operation.
    pub fn message(&mut self, job: u32, number: u32, place: &mut u32) {
        self.relative(place, self.count(Counter::Messages(job, number, *place)));
    }

    /// Returns the number of messages by which the sender of a message advances.
    pub fn further(&self, job: u32, number: u32, place: u32) -> u32 {
        if self.by() > Duration::ZERO { self.count(Counter::Messages(job, number, place)) } else { 0 }
    }

    /// Visits the index of an operation in the program of a rank.
    pub fn operation(&mut self, job: u32, rank: u32, place: &mut u32) {
        self.relative(place, self.count(Counter::Operations(job, rank)));
    }

    /// Returns the number of operations by which a rank advances.
    pub fn further_operations(&self, job: u32, rank: u32) -> u32 {
        if self.by() > Duration::ZERO { self.count(Counter::Operations(job, rank)) } else { 0 }
    }

    /// Visits the number of a shared operation ([`Offsets::number`]).
    pub fn number(&mut self, job: u32, number: &mut u32) {
        match self.action {
            Action::Digest(_) => {
                let (series, place) = self.origin.turn(job, *number);
                self.value(u64::from(series));
                self.value(u64::from(place.wrapping_sub(self.count(Counter::Series(job, series)))));
            }
            Action::Shift(_) | Action::Repeat(_) => *number = self.origin.number(job, *number),
            Action::Note(_) => {}
        }
    }

    /// Visits the end of a computation and its timer. The end is an event from outside for periods that are
    /// shorter than an operation.
    pub(crate) fn computed(&mut self, at: &mut Moment, token: &mut u64) {
        if self.origin.kind() < PeriodKind::Layers {
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

    /// Visits the number of bytes that an output had sent at some moment.
    pub fn bytes(&mut self, node: u32, output: u16, sent: &mut u64) {
        let origin = self.origin.offset(Counter::Bytes(node, output));
        match self.action {
            Action::Digest(_) => self.value(sent.wrapping_sub(origin)),
            Action::Shift(_) | Action::Repeat(_) => *sent = sent.wrapping_add(origin),
            Action::Note(_) => {}
        }
    }

    /// Begins the state of a node.
    pub const fn at_node(&mut self, node: u32) {
        self.place.node = node;
    }

    /// Begins the state of data that arrived by a link of the present node, or will leave by the link.
    pub const fn at_link(&mut self, link: u16, leaves: bool) {
        self.place = Place { link, leaves, ..self.place };
    }

    /// Visits a counter of a class ([`Counter::Class`]) of the present node (`is_own`), or of the neighbour.
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

    /// Visits the slot of a side record. The record itself is visited after the node.
    pub fn side(&mut self, slot: u32) {
        self.value(u64::MAX);
        self.seen.push(slot);
        self.is_shared();
    }

    /// Notes that a part shares data with another part, which a copy would share as well.
    pub const fn is_shared(&mut self) {
        if let Action::Note(note) = &mut self.action {
            note.totals.is_shared = true;
        }
    }

    /// Visits parts in the order of their keys.
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

/// Says of every field of a part what it is. What has a future:
///
/// - `due`, a moment that matters while it is to come, and `dues`, some of them;
/// - `moment` and `moments`, those that matter even when they are past;
/// - `flow`, the flow at hand from here on, `packet` and `packets`, indices of packets of it, and `ahead`,
///   one that matters as long as it is beyond those that have passed;
/// - `granted`, what the flow at hand was granted since it began;
/// - `value`, a word that is what it is;
/// - `part`, something with a state of its own, `keyed`, a map of them, and `flows`, one by flow.
///
/// What was counted or written down:
///
/// - `total` and `totals`, which grow again by as much when what happened happens again;
/// - `since` and `sinces`, moments from which on something is counted;
/// - `peak`, the most that there ever was, and `peaks`: what happens again changes it no more.
///
/// What is constant, or used within an event alone: `still`.
///
/// A part without fields that matter is named alone.
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
                // Does not compile for a part that has fields.
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
    (@constant $walk:ident $field:ident) => { let _ = $field; };
}
