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
    /// The same of the flow at hand, of what its receiver has granted, and of what its packets ask for.
    passed: u32,
    granted: u32,
    asked: u32,
    /// The part at hand, by its place in a situation.
    part: usize,
    action: Action,
    /// Where it is.
    place: Place,
    /// Slots of what travels beside messages that were shown.
    pub(crate) seen: Vec<u32>,
}

/// The node at hand, and the link by which what is shown came to it, or by which it will leave.
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

    /// Digests what is seen at `now`.
    pub fn digest(now: Moment, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Digest(Snapshot::default()))
    }

    /// Digests what is seen at `now`, and keeps the words of it.
    pub fn keep(now: Moment, origin: &'a dyn Offsets) -> Self {
        let situation = Snapshot { words: Some(Vec::new()), ..Snapshot::default() };
        Self { action: Action::Digest(situation), ..Self::digest(now, origin) }
    }

    /// Shifts what is seen at `now` by a time, and as far as `origin` says.
    pub fn shift(now: Moment, by: Duration, origin: &'a dyn Offsets) -> Self {
        Self::new(now, origin, Action::Shift(by))
    }

    /// The digest of all that was seen; zero of other walks.
    pub fn result(&self) -> u64 {
        if let Action::Digest(seen) = &self.action { seen.digest() } else { 0 }
    }

    /// All that was seen; nothing of other walks.
    pub fn snapshot(self) -> Snapshot {
        if let Action::Digest(seen) = self.action { seen } else { Snapshot::default() }
    }

    /// Shows a part that has a name.
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

    /// The moment of it.
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// By how much it moves what is to come.
    pub(crate) const fn by(&self) -> Duration {
        match &self.action {
            Action::Digest(_) | Action::Note(_) => Duration::ZERO,
            Action::Shift(by) | Action::Repeat(Repetition { by, .. }) => *by,
        }
    }

    /// Something that does not depend on when it is, or how far its flow is.
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

    /// A moment that matters as long as it is to come.
    pub fn due(&mut self, at: &mut Moment) {
        if let Action::Digest(_) = self.action {
            // Where it is past, it does not matter when it was.
            let left = if *at == Moment::NEVER { u64::MAX } else { at.0.saturating_sub(self.now.0) };
            self.value(left);
        } else {
            self.moment(at);
        }
    }

    /// A moment that matters even when it is past; [`Moment::NEVER`] stays.
    pub fn moment(&mut self, at: &mut Moment) {
        match self.action {
            Action::Digest(_) if *at == Moment::NEVER => self.value(u64::MAX),
            Action::Digest(_) => self.value(at.0.wrapping_sub(self.now.0)),
            _ if *at != Moment::NEVER => *at += self.by(),
            _ => {}
        }
    }

    /// A moment at which nothing happens but that something is looked at which is a part of its own: it is
    /// shifted, and in no digest. One that was before the stretch that is repeated stays.
    pub fn reminder(&mut self, at: &mut Moment) {
        match &self.action {
            Action::Digest(_) => {}
            Action::Repeat(r) if r.is_before(*at, self.now) => {}
            _ => self.moment(at),
        }
    }

    /// What comes from outside, at moments of its own: it is in no digest, a shift moves it, and a repetition
    /// leaves it where it is. Whoever repeats sees to it that nothing of it falls into that time.
    pub fn outside(&mut self, what: impl FnOnce(&mut Self)) {
        if let Action::Shift(_) = self.action {
            what(self);
        }
    }

    /// The moment of something that comes from outside.
    pub fn interruption(&mut self, at: &mut Moment) {
        match &mut self.action {
            Action::Note(note) => note.totals.outside = note.totals.outside.min(*at),
            Action::Shift(_) => self.moment(at),
            Action::Digest(_) | Action::Repeat(_) => {}
        }
    }

    /// Something happens at multiples of a time: where now is between two of them matters, and a shift that
    /// is no multiple of it leads to another situation.
    pub fn phase(&mut self, period: Duration) {
        self.value(self.now.0 % period.0.max(1));
        if let Action::Repeat(r) = &mut self.action {
            r.fits &= r.by.0.is_multiple_of(period.0.max(1));
        }
    }

    /// What follows belongs to a flow.
    pub fn of_flow(&mut self, flow: u32) {
        if let Action::Note(note) = &mut self.action {
            note.totals.about(u64::from(flow) << 32);
        }
        self.passed = self.count(Counter::Packets(flow));
        (self.granted, self.asked) = (self.count(Counter::Granted(flow)), self.count(Counter::Asked(flow)));
    }

    /// What was granted to the flow at hand, or is to be, since it began.
    pub fn granted(&mut self, count: &mut u32) {
        self.relative(count, self.granted);
    }

    /// What a packet of the flow at hand says beside its data: what the flow asks for in all, or something of
    /// its own.
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

    /// The index of a packet of the flow at hand.
    pub fn packet(&mut self, index: &mut u32) {
        self.relative(index, self.passed);
    }

    /// The index of a packet that matters as long as it is beyond those that have passed.
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

    /// The place of a message among those of its sender ([`Offsets::messages`]).
    pub fn message(&mut self, job: u32, number: u32, place: &mut u32) {
        self.relative(place, self.count(Counter::Messages(job, number, *place)));
    }

    /// How many messages the sender of one goes on.
    pub fn further(&self, job: u32, number: u32, place: u32) -> u32 {
        if self.by() > Duration::ZERO { self.count(Counter::Messages(job, number, place)) } else { 0 }
    }

    /// The place of an operation in the program of a rank ([`Offsets::operations`]).
    pub fn operation(&mut self, job: u32, rank: u32, place: &mut u32) {
        self.relative(place, self.count(Counter::Operations(job, rank)));
    }

    /// How many operations a rank goes on.
    pub fn further_operations(&self, job: u32, rank: u32) -> u32 {
        if self.by() > Duration::ZERO { self.count(Counter::Operations(job, rank)) } else { 0 }
    }

    /// The number of what several do together ([`Offsets::number`]).
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

    /// The moment at which an operation has computed, and the timer of it: what comes from outside, unless
    /// operations go by.
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

    /// Bytes that an output had sent at some moment.
    pub fn bytes(&mut self, node: u32, output: u16, sent: &mut u64) {
        let origin = self.origin.offset(Counter::Bytes(node, output));
        match self.action {
            Action::Digest(_) => self.value(sent.wrapping_sub(origin)),
            Action::Shift(_) | Action::Repeat(_) => *sent = sent.wrapping_add(origin),
            Action::Note(_) => {}
        }
    }

    /// What follows is at a node.
    pub const fn at_node(&mut self, node: u32) {
        self.place.node = node;
    }

    /// What follows is at the node at hand, and came by a link of it or will leave by it.
    pub const fn at_link(&mut self, link: u16, leaves: bool) {
        self.place = Place { link, leaves, ..self.place };
    }

    /// A count of a class ([`Counter::Class`]): of the node itself (`is_own`), or of the neighbour.
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

    /// Something travels beside a message: it is shown when all of the node has been.
    pub fn side(&mut self, slot: u32) {
        self.value(u64::MAX);
        self.seen.push(slot);
        self.is_shared();
    }

    /// Something of what is seen is not in it, so that a copy would have it in common with others.
    pub const fn is_shared(&mut self) {
        if let Action::Note(note) = &mut self.action {
            note.totals.is_shared = true;
        }
    }

    /// Parts under keys, which have no order of their own.
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
