//! What of a part a later window depends on.
//!
//! Each part of a simulation says in one place, [`State::walk`], which of its words decide what it does from now on, and what each
//! of them means. One kind of [`Walk`] digests them relative to now: the same situation has the same digest at another moment and
//! further into its flows. The other kind shifts them, so that the simulation goes on as if so much time had passed and so many
//! packets of each flow had gone by. What was only counted or written down is no part of it, nor is what never changes.
//!
//! The macro [`state!`](crate::state!) names every field of a part, so that none can be forgotten: a field that is not named does
//! not compile. Invariants, each tested: a digest is the same after a shift; a run that was shifted goes on as one that was not.

use std::fmt;
use std::rc::Rc;

use xoff_units::Time;

use crate::random::{Stream, fold};

/// What has a future.
pub trait State {
    /// Shows each word that a later window depends on, in an order that depends on nothing else.
    fn walk(&mut self, walk: &mut Walk<'_>);
}

/// Goes through the state of parts: to digest it, or to shift it.
pub struct Walk<'a> {
    now: Time,
    /// Of each flow, the index of the packet that others are relative to; or how many packets to go on.
    packets: &'a dyn Fn(u32) -> u32,
    /// The same of the flow at hand.
    passed: u32,
    action: Action,
    /// Digests of what travels beside messages, by slot.
    pub(crate) sides: Rc<[u64]>,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Digest(u64),
    Shift(Time),
}

impl fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("now", &self.now).field("action", &self.action).finish_non_exhaustive()
    }
}

impl<'a> Walk<'a> {
    /// Digests what is seen at `now`; `packets` tells of each flow the packet that its others are relative to.
    pub fn digest(now: Time, packets: &'a dyn Fn(u32) -> u32) -> Self {
        Self { now, packets, passed: 0, action: Action::Digest(0), sides: Rc::default() }
    }

    /// Shifts what is seen at `now` by a time, and by so many packets of each flow.
    pub fn shift(now: Time, by: Time, packets: &'a dyn Fn(u32) -> u32) -> Self {
        Self { now, packets, passed: 0, action: Action::Shift(by), sides: Rc::default() }
    }

    /// The digest of all that was seen; zero of a shift.
    pub fn result(&self) -> u64 {
        match self.action {
            Action::Digest(hash) => hash,
            Action::Shift(_) => 0,
        }
    }

    /// The moment of it.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// A walk of the same kind that has seen nothing.
    pub(crate) fn fresh(&self) -> Walk<'a> {
        let action = if let Action::Shift(by) = self.action { Action::Shift(by) } else { Action::Digest(0) };
        Walk { now: self.now, packets: self.packets, passed: 0, action, sides: Rc::default() }
    }

    /// By how much a shift moves what is to come; zero of a digest.
    pub(crate) fn by(&self) -> Time {
        match self.action {
            Action::Digest(_) => Time::ZERO,
            Action::Shift(by) => by,
        }
    }

    /// Something that does not depend on when it is, or how far its flow is.
    #[inline]
    pub fn value(&mut self, value: u64) {
        if let Action::Digest(hash) = &mut self.action {
            *hash = fold(*hash, value);
        }
    }

    /// A moment that matters as long as it is to come.
    pub fn due(&mut self, at: &mut Time) {
        if let Action::Digest(_) = self.action {
            let left = if *at == Time::NEVER { u64::MAX } else { at.0.saturating_sub(self.now.0) };
            self.value(left);
        } else {
            self.moment(at);
        }
    }

    /// A moment that matters even when it is past; [`Time::NEVER`] stays.
    pub fn moment(&mut self, at: &mut Time) {
        match self.action {
            Action::Digest(_) if *at == Time::NEVER => self.value(u64::MAX),
            Action::Digest(_) => self.value(at.0.wrapping_sub(self.now.0)),
            Action::Shift(by) if *at != Time::NEVER => *at += by,
            Action::Shift(_) => {}
        }
    }

    /// A moment at which nothing happens but that something is looked at which is a part of its own: it is shifted, and in no
    /// digest.
    pub fn reminder(&mut self, at: &mut Time) {
        if let Action::Shift(_) = self.action {
            self.moment(at);
        }
    }

    /// Something happens at multiples of a time: where now is between two of them matters, and a shift that is no multiple of it
    /// leads to another situation.
    pub fn phase(&mut self, period: Time) {
        self.value(self.now.0 % period.0.max(1));
    }

    /// What follows belongs to a flow.
    pub fn of_flow(&mut self, flow: u32) {
        self.passed = (self.packets)(flow);
    }

    /// The index of a packet of the flow at hand.
    pub fn packet(&mut self, index: &mut u32) {
        match self.action {
            Action::Digest(_) => self.value(u64::from(index.wrapping_sub(self.passed))),
            Action::Shift(_) => *index = index.wrapping_add(self.passed),
        }
    }

    /// What travels beside a message.
    pub fn side(&mut self, slot: u32) {
        if let Some(digest) = self.sides.get(slot as usize).copied() {
            self.value(digest);
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

/// A word that a [`Walk`] sees as it is.
pub trait Word {
    /// All of it in 64 bits, or a hash.
    fn word(&self) -> u64;
}

macro_rules! words {
    ($($type:ty)*) => {
        $(impl Word for $type {
            fn word(&self) -> u64 {
                *self as u64
            }
        })*
    };
}

words!(bool u8 u16 u32 u64 usize i32 i64);

impl Word for Time {
    fn word(&self) -> u64 {
        self.0
    }
}

impl Word for f64 {
    fn word(&self) -> u64 {
        self.to_bits()
    }
}

impl Word for () {
    fn word(&self) -> u64 {
        0
    }
}

impl<T: Word> Word for Option<T> {
    fn word(&self) -> u64 {
        self.as_ref().map_or(0, |word| fold(1, word.word()))
    }
}

impl<T: Word> Word for [T] {
    fn word(&self) -> u64 {
        self.iter().fold(self.len() as u64, |hash, word| fold(hash, word.word()))
    }
}

impl<T: Word, const N: usize> Word for [T; N] {
    fn word(&self) -> u64 {
        self.as_slice().word()
    }
}

impl<T: Word + ?Sized> Word for Box<T> {
    fn word(&self) -> u64 {
        (**self).word()
    }
}

impl<T: Word> Word for Vec<T> {
    fn word(&self) -> u64 {
        self.as_slice().word()
    }
}

impl<T: Word> Word for std::collections::VecDeque<T> {
    fn word(&self) -> u64 {
        self.iter().fold(self.len() as u64, |hash, word| fold(hash, word.word()))
    }
}

impl<A: Word, B: Word> Word for (A, B) {
    fn word(&self) -> u64 {
        fold(self.0.word(), self.1.word())
    }
}

impl Word for Stream {
    fn word(&self) -> u64 {
        self.word()
    }
}

impl<A: Word, B: Word, C: Word> Word for (A, B, C) {
    fn word(&self) -> u64 {
        fold(fold(self.0.word(), self.1.word()), self.2.word())
    }
}

impl State for () {
    fn walk(&mut self, _: &mut Walk<'_>) {}
}

impl State for Time {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.moment(self);
    }
}

macro_rules! parts {
    ($($type:ty)*) => {
        $(impl State for $type {
            fn walk(&mut self, walk: &mut Walk<'_>) {
                walk.value(self.word());
            }
        })*
    };
}

parts!(u32 u64 f64);

impl<T: State + ?Sized> State for Box<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        (**self).walk(walk);
    }
}

impl<T: State> State for Option<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(u64::from(self.is_some()));
        if let Some(part) = self {
            part.walk(walk);
        }
    }
}

impl<T: State> State for [T] {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(self.len() as u64);
        for part in self {
            part.walk(walk);
        }
    }
}

impl<T: State> State for Vec<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        self.as_mut_slice().walk(walk);
    }
}

impl<T: State> State for std::collections::VecDeque<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        self.make_contiguous().walk(walk);
    }
}

/// Says of every field of a part what it is:
///
/// - `due`, a moment that matters while it is to come, and `dues`, some of them;
/// - `moment` and `moments`, those that matter even when they are past;
/// - `flow`, the flow at hand from here on, and `packet` and `packets`, indices of packets of it;
/// - `value`, a word that is what it is;
/// - `part`, something with a state of its own, and `keyed`, a map of them;
/// - `still`, what no later window depends on: what never changes, and what is only counted.
///
/// A part without fields that matter is named alone.
#[macro_export]
macro_rules! state {
    ($part:ty { $($kind:ident: $($field:ident),+;)* }) => {
        impl $crate::state::State for $part {
            fn walk(&mut self, walk: &mut $crate::state::Walk<'_>) {
                let Self { $($($field,)+)* } = self;
                $($($crate::state!(@$kind walk $field);)+)*
            }
        }
    };
    ($part:ty) => {
        impl $crate::state::State for $part {
            fn walk(&mut self, _: &mut $crate::state::Walk<'_>) {}
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
    (@packets $walk:ident $field:ident) => {
        let many = $field.iter_mut().map(|index| $walk.packet(index)).count();
        $walk.value(many as u64);
    };
    (@value $walk:ident $field:ident) => { $walk.value($crate::state::Word::word($field)) };
    (@part $walk:ident $field:ident) => { $crate::state::State::walk($field, $walk) };
    (@keyed $walk:ident $field:ident) => { $walk.keyed($field.iter_mut(), |walk, _, part| $crate::state::State::walk(part, walk)) };
    (@still $walk:ident $field:ident) => { let _ = $field; };
}
