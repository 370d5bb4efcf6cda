//! The event set of a node: its pending events.
//!
//! Each in-link and each output has a *slot*, as have the express messages and the timers. The key of a slot
//! is (time << 16 | slot). Slots are numbered in-links first, then express messages, timers, and outputs.
//! Comparing two keys thus compares time, kind of event, and source. The event with the smallest key is next.
//!
//! - **Arrivals** are sorted before a window begins. The event set holds only the key of the next arrival.
//! - **Express messages and timers** wait in a heap each. **Outputs** requested for a later moment have a key
//!   each. A tree of minima has one leaf for each heap and each output, and four children per inner node. An
//!   update goes from the leaf to the root, without branches.
//! - **Outputs requested for the present moment** wait in a set of bits. The set is cheaper than the tree,
//!   and many outputs are requested and served at one moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_units::Moment;

use crate::Timer;
use crate::state::{State, StateVisitor, Word};

pub(crate) const NO_EVENT: u64 = u64::MAX;
const SLOT_BITS: u32 = 16;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// Largest number of ports of a node. Each port has two slots, and slots are 16-bit numbers.
pub const MAX_PORTS: usize = 32_000;

/// Returns the key of a slot at a moment.
#[inline]
pub(crate) fn key_of(at: Moment, slot: usize) -> u64 {
    (at.0 << SLOT_BITS) | slot as u64
}

/// A message in flight to a node, with the key of its arrival (moment and in-link).
#[derive(Clone, Copy)]
pub(crate) struct Arrival<M> {
    pub key: u64,
    pub message: M,
}

/// A message in a heap. Only `turn` decides the order; the meaning of the two numbers depends on the heap.
#[derive(Clone)]
pub(crate) struct Waiting<M> {
    pub turn: (u64, u64),
    pub message: M,
}

impl<M> PartialEq for Waiting<M> {
    fn eq(&self, other: &Self) -> bool {
        self.turn == other.turn
    }
}
impl<M> Eq for Waiting<M> {}
impl<M> PartialOrd for Waiting<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<M> Ord for Waiting<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.turn.cmp(&other.turn)
    }
}

/// The event set of a node. The fields that every event needs come first.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct EventSet<M> {
    /// The root of the tree: the smallest key of timers, express messages, and outputs requested for later.
    first: u64,
    /// The key of the next arrival in this window.
    arrival: u64,
    /// The key of the first output in `due`.
    first_due: u64,
    in_links: usize,
    /// Difference between the index of a leaf among all children of the tree, and the slot of the leaf.
    /// Express messages, timers and outputs are leaves.
    leaves: usize,
    /// The tree. Inner node n holds the minima of its children, with the indices 4n + 1 to 4n + 4. Leaves
    /// follow the inner nodes.
    inner: Box<[[u64; 4]]>,
    /// Outputs requested for the present moment: one bit per output.
    due: Box<[u64]>,
    /// Arrivals many windows ahead, by key and sequence, which is the sending order.
    far: BinaryHeap<Reverse<Waiting<M>>>,
    /// Express messages, by arrival and in-link.
    express: BinaryHeap<Reverse<Waiting<M>>>,
    timers: BinaryHeap<Reverse<(Moment, u64, u64)>>,
    /// The sequence of the latest timer or far arrival.
    sequence: u64,
}

/// The source of an event.
pub(crate) enum Slot {
    Link(usize),
    Express,
    Timer,
    Output(usize),
}

impl<M> EventSet<M> {
    pub fn new(in_links: usize, outputs: usize) -> Self {
        let inner = (outputs + 2 - 1).div_ceil(3);
        Self {
            inner: vec![[NO_EVENT; 4]; inner].into(),
            // Slots of leaves begin at `in_links`.
            leaves: (inner - 1).wrapping_sub(in_links),
            first: NO_EVENT,
            arrival: NO_EVENT,
            first_due: NO_EVENT,
            due: vec![0; outputs.div_ceil(64)].into(),
            in_links,
            express: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Returns the index of the leaf of a slot among all children of the tree.
    #[inline]
    const fn child(&self, slot: usize) -> usize {
        self.leaves.wrapping_add(slot)
    }

    #[inline]
    fn set(&mut self, slot: usize, key: u64) {
        let mut child = self.child(slot);
        let inner = &mut self.inner[..];
        let mut least = key;
        loop {
            let node = &mut inner[child / 4];
            node[child % 4] = least;
            least = node[0].min(node[1]).min(node[2].min(node[3]));
            if child < 4 {
                break;
            }
            child = child / 4 - 1;
        }
        self.first = least;
    }

    /// Returns the number of leaves that can be outputs, which may exceed the number of outputs.
    fn outputs(&self) -> usize {
        3 * self.inner.len() + 1 - 2
    }

    #[inline]
    fn leaf(&mut self, slot: usize) -> &mut u64 {
        let child = self.child(slot);
        &mut self.inner[child / 4][child % 4]
    }

    /// Returns the key of the next event.
    #[inline]
    pub fn top(&self) -> u64 {
        self.first.min(self.first_due).min(self.arrival)
    }

    /// Reads the memory that the next event needs; returns a value that depends on all of the data read.
    #[inline]
    pub fn touch(&self) -> u64 {
        self.top() ^ self.inner[0][0] ^ self.due.first().copied().unwrap_or(0)
    }

    /// Returns the moment of a key. The moment of [`NO_EVENT`] is later than all events.
    #[inline]
    pub fn time_of(key: u64) -> Moment {
        Moment(key >> SLOT_BITS)
    }

    #[inline]
    pub fn slot_of(&self, key: u64) -> Slot {
        let slot = (key & SLOT_MASK) as usize;
        if slot < self.in_links {
            Slot::Link(slot)
        } else if slot >= self.in_links + 2 {
            Slot::Output(slot - self.in_links - 2)
        } else if slot == self.in_links {
            Slot::Express
        } else {
            Slot::Timer
        }
    }

    /// True if no arrival or timer is left at `now`, and no output with a lower number than `output`.
    #[inline]
    pub fn settled(&self, now: Moment, output: usize) -> bool {
        self.top() >= key_of(now, self.in_links + 2 + output)
    }

    /// Sets the key of the next arrival in this window.
    #[inline]
    pub fn set_arrival(&mut self, key: u64) {
        self.arrival = key;
    }

    pub fn push_far(&mut self, arrival: Arrival<M>) {
        self.sequence += 1;
        self.far.push(Reverse(Waiting { turn: (arrival.key, self.sequence), message: arrival.message }));
    }

    /// Takes the first far arrival if its key is below `end`.
    pub fn pop_far(&mut self, end: u64) -> Option<Arrival<M>> {
        if self.first_far() >= end {
            return None;
        }
        self.far.pop().map(|first| Arrival { key: first.0.turn.0, message: first.0.message })
    }

    /// Returns the key of the first far arrival.
    #[inline]
    pub fn first_far(&self) -> u64 {
        self.far.peek().map_or(NO_EVENT, |first| first.0.turn.0)
    }

    /// Returns the far arrivals and the express messages.
    pub fn under_way(&self) -> impl Iterator<Item = &M> {
        self.express.iter().chain(&self.far).map(|waiting| &waiting.0.message)
    }

    /// True if no event is pending except reminders.
    pub fn is_at_rest(&self, timer: fn(u64) -> Timer) -> bool {
        let outputs = self.in_links + 2..self.in_links + 2 + self.outputs();
        self.under_way().next().is_none()
            && self.timers.iter().all(|t| matches!(timer(t.0.2), Timer::Reminder))
            && outputs.map(|slot| self.child(slot)).all(|leaf| self.inner[leaf / 4][leaf % 4] == NO_EVENT)
    }

    /// Requests an output at a later moment.
    #[inline]
    pub fn set_output(&mut self, output: usize, at: Moment) {
        let slot = self.in_links + 2 + output;
        self.set(slot, key_of(at, slot));
    }

    /// Requests an output at the present moment.
    #[inline]
    pub fn set_output_due(&mut self, output: usize, now: Moment) {
        self.due[output / 64] |= 1 << (output % 64);
        self.first_due = self.first_due.min(key_of(now, self.in_links + 2 + output));
    }

    /// Takes the output with this key, which must be the smallest key. Returns true if the output was in the
    /// tree: the caller must then call [`Self::settle_output`] after the output has acted.
    #[inline]
    pub fn take_output(&mut self, output: usize, key: u64) -> bool {
        // An output is requested once at a time: in the set of bits or in the tree.
        if key == self.first_due {
            self.take_due(output, key);
            return false;
        }
        *self.leaf(self.in_links + 2 + output) = NO_EVENT;
        true
    }

    #[inline]
    fn take_due(&mut self, output: usize, key: u64) {
        let word = output / 64;
        self.due[word] &= !(1 << (output % 64));
        self.first_due = match self.due[word..].iter().position(|w| *w != 0) {
            None => NO_EVENT,
            Some(skip) => {
                let next = (word + skip) * 64 + self.due[word + skip].trailing_zeros() as usize;
                key - output as u64 + next as u64
            }
        };
    }

    /// Updates the tree after an output has acted. If the output was requested again, the tree is up to date.
    #[inline]
    pub fn settle_output(&mut self, output: usize) {
        let slot = self.in_links + 2 + output;
        if *self.leaf(slot) == NO_EVENT {
            self.set(slot, NO_EVENT);
        }
    }

    pub fn push_express(&mut self, express: Waiting<M>) {
        self.express.push(Reverse(express));
        self.refresh_express();
    }

    /// Takes the first express message, with its in-link.
    pub fn pop_express(&mut self) -> Option<(usize, M)> {
        let first = self.express.pop()?.0;
        self.refresh_express();
        Some((first.turn.1 as usize, first.message))
    }

    fn refresh_express(&mut self) {
        let slot = self.in_links;
        let key = self.express.peek().map_or(NO_EVENT, |e| key_of(Moment(e.0.turn.0), slot));
        self.set(slot, key);
    }

    pub fn push_timer(&mut self, at: Moment, token: u64) {
        self.sequence += 1;
        self.timers.push(Reverse((at, self.sequence, token)));
        self.refresh_timers();
    }

    pub fn pop_timer(&mut self) -> Option<u64> {
        let token = self.timers.pop()?.0.2;
        self.refresh_timers();
        Some(token)
    }

    /// Returns the moment of the first event, except messages in the inbox.
    pub fn first(&self) -> Moment {
        let key = self.top().min(self.first_far());
        if key == NO_EVENT { Moment::NEVER } else { Self::time_of(key) }
    }

    fn refresh_timers(&mut self) {
        let slot = self.in_links + 1;
        let key = self.timers.peek().map_or(NO_EVENT, |t| key_of(t.0.0, slot));
        self.set(slot, key);
    }
}

impl<M: State> EventSet<M> {
    /// Visits the pending events between two windows, together with the messages of the `inbox` (usual and
    /// express). `walk` is the visit ([`State::walk`]). The visited state is the same for a message in the
    /// inbox and in the event set.
    pub fn walk(
        &mut self,
        inbox: (&mut [Arrival<M>], &mut [Waiting<M>]),
        timer: fn(u64) -> Timer,
        walk: &mut StateVisitor<'_>,
    ) {
        debug_assert!(
            (self.arrival, self.first_due) == (NO_EVENT, NO_EVENT),
            "no event of the window is left"
        );
        let key = |walk: &mut StateVisitor<'_>, key: &mut u64| {
            let (mut at, slot) = (Moment(*key >> SLOT_BITS), *key & SLOT_MASK);
            if *key == NO_EVENT {
                walk.value(NO_EVENT);
            } else {
                walk.value(slot);
                walk.moment(&mut at);
                *key = key_of(at, slot as usize);
            }
        };
        let mut far = sorted(&mut self.far);
        let mut messages: Vec<_> = far.iter_mut().map(|w| (&mut w.turn.0, &mut w.message)).collect();
        messages.extend(inbox.0.iter_mut().map(|a| (&mut a.key, &mut a.message)));
        messages.sort_by_key(|m| *m.0);
        walk.value(messages.len() as u64);
        for (at, message) in messages {
            walk.at_link((*at & SLOT_MASK) as u16, false);
            key(walk, at);
            message.walk(walk);
        }
        self.far = far.into_iter().map(Reverse).collect();
        let mut express = sorted(&mut self.express);
        let mut messages: Vec<_> = express.iter_mut().chain(inbox.1).collect();
        messages.sort_by_key(|w| w.turn);
        walk.value(messages.len() as u64);
        for Waiting { turn: (at, link), message } in messages {
            let mut moment = Moment(*at);
            walk.moment(&mut moment);
            *at = moment.0;
            walk.value(*link);
            walk.at_link(*link as u16, false);
            message.walk(walk);
        }
        self.express = express.into_iter().map(Reverse).collect();
        let mut timers = sorted(&mut self.timers);
        let mut reminders = Vec::new();
        for (at, _, token) in &mut timers {
            match timer(*token) {
                Timer::Future => {
                    walk.moment(at);
                    walk.value(*token);
                }
                Timer::Reminder => {
                    walk.reminder(at);
                    reminders.push(*token);
                }
                Timer::Computation => walk.computed(at, token),
                Timer::Outside => walk.interruption(at),
            }
        }
        reminders.sort_unstable();
        walk.value(reminders.word());
        self.timers = timers.into_iter().map(Reverse).collect();
        // The outputs requested for later. All other words of the tree follow from these outputs and from the
        // heaps.
        let outputs = self.outputs();
        for slot in self.in_links + 2..self.in_links + 2 + outputs {
            let mut asked = *self.leaf(slot);
            key(walk, &mut asked);
            self.set(slot, asked);
        }
        self.refresh_express();
        self.refresh_timers();
    }
}

/// Empties a heap, and returns its content in order.
fn sorted<T: Ord>(heap: &mut BinaryHeap<Reverse<T>>) -> Vec<T> {
    let mut all: Vec<T> = std::mem::take(heap).into_iter().map(|one| one.0).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrival_timer_output_at_one_instant() {
        for ports in 1..70 {
            let mut c: EventSet<u8> = EventSet::new(ports, ports);
            let t = Moment(77);
            c.set_output(0, t);
            c.set_output(ports - 1, t);
            c.push_timer(t, 9);
            c.push_express(Waiting { turn: (t.0, 0), message: 1 });
            c.set_arrival(key_of(t, ports - 1));
            assert!(matches!(c.slot_of(c.top()), Slot::Link(l) if l == ports - 1));
            c.set_arrival(NO_EVENT);
            assert!(matches!(c.slot_of(c.top()), Slot::Express));
            assert!(!c.settled(t, 0));
            c.pop_express();
            assert!(matches!(c.slot_of(c.top()), Slot::Timer));
            assert_eq!(c.pop_timer(), Some(9));
            assert!(c.settled(t, 0));
            for output in [0, ports - 1] {
                let key = c.top();
                if key != NO_EVENT {
                    assert!(matches!(c.slot_of(key), Slot::Output(o) if o == output));
                    assert!(c.take_output(output, key));
                    c.settle_output(output);
                }
            }
            assert_eq!(c.top(), NO_EVENT);
        }
    }

    #[test]
    fn outputs_due_now_keep_their_turn_among_those_asked_for_earlier() {
        for outputs in [1, 3, 64, 65, 200] {
            let mut c: EventSet<u8> = EventSet::new(2, outputs);
            let now = Moment(5);
            for output in (0..outputs).rev() {
                if output % 3 == 0 { c.set_output(output, now) } else { c.set_output_due(output, now) }
            }
            for output in 0..outputs {
                let key = c.top();
                assert!(c.settled(now, output) && !c.settled(now, output + 1));
                assert!(matches!(c.slot_of(key), Slot::Output(o) if o == output));
                if c.take_output(output, key) {
                    c.settle_output(output);
                }
            }
            assert_eq!(c.top(), NO_EVENT);
        }
    }
}
