//! The pending events of one node.
//!
//! A tree of minima holds one slot per in-link (the head of its FIFO), one for the express heap, one for the timer heap and one
//! per output. A slot's key is (time << 16 | slot), so that comparing keys is comparing (time, class, source): in-links come
//! first, then express messages, then timers, then outputs. Updating a slot costs one walk to the root without branches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xoff_units::Time;

pub(crate) const NO_EVENT: u64 = u64::MAX;
const SLOT_BITS: u32 = 16;
const SLOT_MASK: u64 = (1 << SLOT_BITS) - 1;
/// Ports a node may have: two slots each, and two more, in 16 bits.
pub(crate) const MAX_PORTS: usize = 32_000;

/// A message that overtakes the FIFO of its link; ordered by (time, link).
pub(crate) struct Express<M> {
    pub at: Time,
    pub link: u32,
    pub message: M,
}

impl<M> Express<M> {
    fn key(&self) -> (Time, u32) {
        (self.at, self.link)
    }
}

impl<M> PartialEq for Express<M> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<M> Eq for Express<M> {}
impl<M> PartialOrd for Express<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<M> Ord for Express<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

pub(crate) struct Calendar<M> {
    /// Leaves at `leaves..2 * leaves`, the minimum of all at 1.
    tree: Vec<u64>,
    leaves: usize,
    in_links: usize,
    express: BinaryHeap<Reverse<Express<M>>>,
    timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    timer_sequence: u64,
}

/// What a slot stands for.
pub(crate) enum Slot {
    Link(usize),
    Express,
    Timer,
    Output(usize),
}

impl<M> Calendar<M> {
    pub fn new(in_links: usize, outputs: usize) -> Self {
        let leaves = in_links + outputs + 2;
        Self {
            tree: vec![NO_EVENT; 2 * leaves],
            leaves,
            in_links,
            express: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            timer_sequence: 0,
        }
    }

    #[inline]
    fn set(&mut self, slot: usize, key: u64) {
        let mut i = self.leaves + slot;
        let tree = &mut self.tree[..];
        let mut key = key;
        tree[i] = key;
        while i > 1 {
            key = key.min(tree[i ^ 1]);
            i >>= 1;
            tree[i] = key;
        }
    }

    #[inline]
    fn key(at: Time, slot: usize) -> u64 {
        (at.0 << SLOT_BITS) | slot as u64
    }

    /// The key of the next event.
    #[inline]
    pub fn top(&self) -> u64 {
        self.tree[1]
    }

    /// The time of a key; [`Time::NEVER`] shifted for [`NO_EVENT`].
    #[inline]
    pub fn time_of(key: u64) -> Time {
        Time(key >> SLOT_BITS)
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

    /// True when no arrival or timer is left at `now`, and no output before `output`.
    #[inline]
    pub fn settled(&self, now: Time, output: usize) -> bool {
        self.tree[1] >= Self::key(now, self.in_links + 2 + output)
    }

    #[inline]
    pub fn set_link(&mut self, link: usize, at: Option<Time>) {
        self.set(link, at.map_or(NO_EVENT, |t| Self::key(t, link)));
    }

    #[inline]
    pub fn set_output(&mut self, output: usize, at: Time) {
        let slot = self.in_links + 2 + output;
        self.set(slot, Self::key(at, slot));
    }

    #[inline]
    pub fn clear_output(&mut self, output: usize) {
        self.set(self.in_links + 2 + output, NO_EVENT);
    }

    pub fn push_express(&mut self, express: Express<M>) {
        self.express.push(Reverse(express));
        self.refresh_express();
    }

    pub fn pop_express(&mut self) -> Option<Express<M>> {
        let first = self.express.pop()?.0;
        self.refresh_express();
        Some(first)
    }

    fn refresh_express(&mut self) {
        let slot = self.in_links;
        let key = self.express.peek().map_or(NO_EVENT, |e| Self::key(e.0.at, slot));
        self.set(slot, key);
    }

    pub fn push_timer(&mut self, at: Time, token: u64) {
        self.timer_sequence += 1;
        self.timers.push(Reverse((at, self.timer_sequence, token)));
        self.refresh_timers();
    }

    pub fn pop_timer(&mut self) -> Option<u64> {
        let token = self.timers.pop()?.0.2;
        self.refresh_timers();
        Some(token)
    }

    fn refresh_timers(&mut self) {
        let slot = self.in_links + 1;
        let key = self.timers.peek().map_or(NO_EVENT, |t| Self::key(t.0.0, slot));
        self.set(slot, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrival_timer_output_at_one_instant() {
        for ports in 1..70 {
            let mut c: Calendar<u8> = Calendar::new(ports, ports);
            let t = Time(77);
            c.set_output(0, t);
            c.set_output(ports - 1, t);
            c.push_timer(t, 9);
            c.push_express(Express { at: t, link: 0, message: 1 });
            c.set_link(ports - 1, Some(t));
            assert!(matches!(c.slot_of(c.top()), Slot::Link(l) if l == ports - 1));
            c.set_link(ports - 1, None);
            assert!(matches!(c.slot_of(c.top()), Slot::Express));
            assert!(!c.settled(t, 0));
            c.pop_express();
            assert!(matches!(c.slot_of(c.top()), Slot::Timer));
            assert_eq!(c.pop_timer(), Some(9));
            assert!(c.settled(t, 0));
            assert!(matches!(c.slot_of(c.top()), Slot::Output(0)));
            c.clear_output(0);
            c.clear_output(ports - 1);
            assert_eq!(c.top(), NO_EVENT);
        }
    }
}
